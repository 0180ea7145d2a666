// Parameters of operations and what they may be, from values.def.
#include "features/names/values.h"

typedef struct ArgumentRow {
    const char *parameter;
    const char *doc;
} ArgumentRow;

static const ArgumentRow argument_rows[] = {
#define ARGUMENT(parameter, doc) {parameter, doc},
#define VALUE_OF(parameter, effect, text, doc)
#include "features/names/values.def"
#undef ARGUMENT
#undef VALUE_OF
};

typedef struct ValueRow {
    const char *parameter;
    int effect;
    ArgumentValue value;
} ValueRow;

static const ValueRow value_rows[] = {
#define ARGUMENT(parameter, doc)
#define VALUE_OF(parameter, effect, text, doc) {parameter, EFFECT_##effect, {text, doc}},
#include "features/names/values.def"
#undef ARGUMENT
#undef VALUE_OF
};

ArgumentValues argument_values(Arena *arena, OpCode code, Str parameter) {
    ArgumentValues values = {0};
    if (op_parameter_index(code, parameter) < 0) return values;
    int effects = op_rows[code].effects;
    for (size_t i = 0; i < sizeof value_rows / sizeof *value_rows; i++) {
        const ValueRow *row = &value_rows[i];
        bool fits = row->effect == EFFECT_PURE || (effects & row->effect);
        if (fits && str_is(parameter, row->parameter)) LIST_PUSH(arena, &values.list, row->value);
    }
    return values;
}

const char *argument_documentation(OpCode code, Str parameter) {
    if (op_parameter_index(code, parameter) < 0) return NULL;
    for (size_t i = 0; i < sizeof argument_rows / sizeof *argument_rows; i++)
        if (str_is(parameter, argument_rows[i].parameter)) return argument_rows[i].doc;
    return NULL;
}
