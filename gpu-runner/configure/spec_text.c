// The language of `# tad:` lines: assignments of numbers, flags, texts, element types, buffers and the grid.
#include "gpu-runner/configure/spec_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-runner/configure/spec.h"

enum { DEEPEST = 40 };

typedef struct SpecValue {
    enum { SPEC_NUMBER, SPEC_CONSTANT, SPEC_BUFFER, SPEC_TUPLE } kind;
    double number;
    bool is_integer;
    const Constant *constant;
    PlanArgument buffer;
    double items[CONFIGURATION_MOST_ITEMS];
    int count;
} SpecValue;

typedef struct SpecItem {
    Str name;
    Str text;
    bool is_done;
} SpecItem;

typedef struct SpecParser {
    Arena *arena;
    const SpecRequest *request;
    Map names;  // helper and parameter values: SpecValue
    Str item;   // whose value is read
    Str text;
    size_t at;
    int depth;
    Error error;
    bool is_unknown_name;  // the error is a name that may be known later
} SpecParser;

static void parse_value(SpecParser *parser, SpecValue *value);

static void fail(SpecParser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(SpecParser *parser, const char *format, ...) {
    if (parser->error) return;
    va_list arguments;
    va_start(arguments, format);
    parser->error = arena_vprintf(parser->arena, format, arguments);
    va_end(arguments);
}

static void skip_space(SpecParser *parser) {
    while (parser->at < parser->text.size && isspace((unsigned char)parser->text.data[parser->at]))
        parser->at++;
}

static bool accept(SpecParser *parser, const char *token) {
    skip_space(parser);
    size_t size = strlen(token);
    if (parser->text.size - parser->at < size ||
        memcmp(parser->text.data + parser->at, token, size) != 0)
        return false;
    char next = parser->at + size < parser->text.size ? parser->text.data[parser->at + size] : ' ';
    if (isalpha((unsigned char)token[0]) && byte_is_word(next)) return false;
    parser->at += size;
    return true;
}

static void expect(SpecParser *parser, const char *token) {
    if (!parser->error && !accept(parser, token))
        fail(parser, "`%s` is expected in `%.*s`", token, STR_ARGS(parser->text));
}

static Str accept_name(SpecParser *parser) {
    skip_space(parser);
    size_t start = parser->at;
    while (parser->at < parser->text.size) {
        char c = parser->text.data[parser->at];
        if (!byte_is_word(c) && c != '.') break;
        parser->at++;
    }
    Str name = {parser->text.data + start, parser->at - start};
    static const char *const prefixes[] = {"tl.", "triton.", "language.", "torch."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(name, prefixes[i]))
            name = (Str){name.data + strlen(prefixes[i]), name.size - strlen(prefixes[i])};
    return name;
}

static double parse_number(SpecParser *parser) {
    SpecValue *value = ARENA_NEW(parser->arena, SpecValue);
    parse_value(parser, value);
    if (!parser->error && value->kind != SPEC_NUMBER)
        fail(parser, "a number is expected in `%.*s`", STR_ARGS(parser->text));
    return value->number;
}

static void set_number(SpecValue *value, double number, bool is_integer) {
    value->kind = SPEC_NUMBER;
    value->number = number;
    value->is_integer = is_integer;
}

/// Numbers in brackets up to `close`.
static int parse_list(SpecParser *parser, const char *close, double *items) {
    int count = 0;
    while (!parser->error && !accept(parser, close)) {
        if (count == CONFIGURATION_MOST_ITEMS)
            fail(parser, "more than %d items", CONFIGURATION_MOST_ITEMS);
        else
            items[count++] = parse_number(parser);
        if (!accept(parser, ",")) {
            expect(parser, close);
            break;
        }
    }
    return count;
}

static void parse_contents(SpecParser *parser, PlanArgument *buffer) {
    double bounds[CONFIGURATION_MOST_ITEMS];
    uint64_t seed = buffer->content.seed;
    if (accept(parser, "zeros")) {
        buffer->content = (Content){.kind = CONTENT_ZERO};
    } else if (accept(parser, "distinct")) {
        buffer->content = (Content){.kind = CONTENT_DISTINCT};
    } else if (accept(parser, "range")) {
        expect(parser, "(");
        int count = parse_list(parser, ")", bounds);
        if (count != 1 && count != 2) fail(parser, "range() takes one or two numbers");
        buffer->content = (Content){.kind = CONTENT_SMALL,
                                    .seed = seed,
                                    .low = count == 2 ? bounds[0] : 0,
                                    .high = count == 2 ? bounds[1] : bounds[0]};
        buffer->content.has_mark = accept(parser, "or");
        if (buffer->content.has_mark) buffer->content.mark = (int64_t)parse_number(parser);
    } else if (accept(parser, "growing")) {
        expect(parser, "(");
        if (parse_list(parser, ")", bounds) != 1) fail(parser, "growing() takes one number");
        buffer->content = (Content){.kind = CONTENT_MONOTONE, .seed = seed, .high = bounds[0]};
    } else if (accept(parser, "parts")) {
        expect(parser, "(");
        Content content = {.kind = CONTENT_PARTS};
        if (!part_list_named(accept_name(parser), &content.part))
            fail(parser, "parts() takes starts, ends, lengths, rows or bounds");
        expect(parser, ")");
        buffer->content = content;
    } else if (accept(parser, "uniform")) {
        expect(parser, "(");
        if (parse_list(parser, ")", bounds) != 2) fail(parser, "uniform() takes two numbers");
        buffer->content =
            (Content){.kind = CONTENT_RANDOM, .seed = seed, .low = bounds[0], .high = bounds[1]};
    } else if (accept(parser, "(")) {
        int count = parse_list(parser, ")", bounds);
        double *values = ARENA_ARRAY(parser->arena, double, count + 1);
        memcpy(values, bounds, sizeof(double) * (size_t)count);
        buffer->content = (Content){.kind = CONTENT_VALUES, .values = values, .value_count = count};
    } else {
        fail(
            parser,
            "`in` is followed by zeros, distinct, range(n), range(n) or m, growing(n), parts(list), uniform(a, b) or (values...)");
    }
}

/// No two buffers hold the same numbers: a gradient that reads the one for the other would be proved.
static uint64_t buffer_seed(const SpecParser *parser) {
    uint64_t seed = hash_mix(parser->request->seed + 1);
    for (size_t i = 0; i < parser->item.size; i++)
        seed = hash_mix(seed ^ (unsigned char)parser->item.data[i]);
    return seed;
}

/// `f32[M, N] strides (s, 1) in ...`: after the element type.
static void parse_buffer(SpecParser *parser, SpecValue *value, DTypeCode dtype) {
    double numbers[CONFIGURATION_MOST_ITEMS];
    PlanArgument *buffer = &value->buffer;
    value->kind = SPEC_BUFFER;
    value->constant = constant_dtype(parser->arena, dtype);
    buffer->kind = ARGUMENT_POINTER;
    buffer->dtype = dtype;
    uint64_t seed = buffer_seed(parser);
    buffer->content =
        dtype_code_is_float(dtype)
            ? (Content){.kind = CONTENT_NORMAL, .seed = seed}
            : (Content){.kind = CONTENT_SMALL, .seed = seed, .high = dtype == DTYPE_INT1 ? 2 : 5};
    if (accept(parser, "[")) {
        int64_t dims[TYPE_MAX_RANK];
        int count = parse_list(parser, "]", numbers);
        if (count > TYPE_MAX_RANK) fail(parser, "more than %d dims", TYPE_MAX_RANK);
        for (int i = 0; i < count && i < TYPE_MAX_RANK; i++) {
            bool fits = numbers[i] >= 0 && numbers[i] <= 1e12;
            if (!fits) fail(parser, "a dim of %g", numbers[i]);
            dims[i] = fits ? (int64_t)numbers[i] : 0;
        }
        if (!parser->error) argument_set_shape(buffer, count, dims);
    }
    if (accept(parser, "strides")) {
        expect(parser, "(");
        int count = parse_list(parser, ")", numbers);
        if (count != buffer->rank) fail(parser, "%d strides for %d dims", count, buffer->rank);
        buffer->extent = 1;
        for (int i = 0; i < count && i < buffer->rank; i++) {
            if (!(fabs(numbers[i]) <= 1e12)) fail(parser, "a stride of %g", numbers[i]);
            if (parser->error) break;
            buffer->strides[i] = (int64_t)numbers[i];
            if (buffer->dims[i] > 0 && numbers[i] > 0)
                buffer->extent += size_product(buffer->dims[i] - 1, buffer->strides[i]);
        }
    }
    if (accept(parser, "in")) parse_contents(parser, buffer);
}

static void parse_call(SpecParser *parser, Str name, SpecValue *value) {
    double numbers[CONFIGURATION_MOST_ITEMS];
    int count = parse_list(parser, ")", numbers);
    if (parser->error) return;
    double a = count > 0 ? numbers[0] : 0, b = count > 1 ? numbers[1] : 0;
    if (str_is(name, "cdiv") && count == 2 && (b > 0 || b < 0))
        set_number(value, ceil(a / b), true);
    else if (str_is(name, "min") && count == 2)
        set_number(value, fmin(a, b), true);
    else if (str_is(name, "max") && count == 2)
        set_number(value, fmax(a, b), true);
    else if (str_is(name, "next_power_of_2") && count == 1 && a < 1e15) {
        double power = 1;
        while (power < a) power *= 2;
        set_number(value, power, true);
    } else
        fail(parser, "`%.*s(...)` is not known here: cdiv, min, max and next_power_of_2 are",
             STR_ARGS(name));
}

static void parse_named(SpecParser *parser, SpecValue *value) {
    Str name = accept_name(parser);
    value->kind = SPEC_CONSTANT;
    if (str_is(name, "True") || str_is(name, "true"))
        value->constant = constant_bool(parser->arena, true);
    else if (str_is(name, "False") || str_is(name, "false"))
        value->constant = constant_bool(parser->arena, false);
    else if (str_is(name, "None") || str_is(name, "null"))
        value->constant = constant_none(parser->arena);
    else if (accept(parser, "("))
        parse_call(parser, name, value);
    else if (map_has(&parser->names, name))
        *value = *(SpecValue *)map_get(&parser->names, name);
    else if (dtype_from_name(name) != DTYPE_UNKNOWN)
        parse_buffer(parser, value, dtype_from_name(name));
    else {
        const FunctionDefinition *function =
            parser->request->module ? module_find_function(parser->request->module, name) : NULL;
        if (function) {
            Constant *constant = ARENA_NEW(parser->arena, Constant);
            *constant = (Constant){
                .kind = CONSTANT_FUNCTION, .function = function, .string = name, .op = OP_COUNT};
            value->constant = constant;
            return;
        }
        parser->is_unknown_name = true;
        fail(parser, "`%.*s` is not known", STR_ARGS(name));
    }
}

static void parse_digits(SpecParser *parser, SpecValue *value) {
    char digits[64] = {0};
    size_t size = 0;
    bool is_integer = true;
    while (parser->at < parser->text.size && size + 1 < sizeof digits) {
        char c = parser->text.data[parser->at];
        bool sign =
            (c == '+' || c == '-') && size && (digits[size - 1] == 'e' || digits[size - 1] == 'E');
        if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !sign) break;
        if (c == '.' || ((c == 'e' || c == 'E') && digits[1] != 'x')) is_integer = false;
        if (c != '_') digits[size++] = c;
        parser->at++;
    }
    char *end;
    double number = strtod(digits, &end);
    if (*end || end == digits) fail(parser, "`%s` is no number", digits);
    set_number(value, number, is_integer);
}

/// Of a list whose closing bracket was just read: `(a,)` is a tuple, `(a)` and `(min(a, b))` are not.
static bool ends_in_comma(const SpecParser *parser) {
    size_t at = parser->at - 1;
    while (at > 0 && isspace((unsigned char)parser->text.data[at - 1])) at--;
    return at > 0 && parser->text.data[at - 1] == ',';
}

static void parse_primary(SpecParser *parser, SpecValue *value) {
    skip_space(parser);
    char c = parser->at < parser->text.size ? parser->text.data[parser->at] : '\0';
    if (c == '(' || c == '[') {
        parser->at++;
        double items[CONFIGURATION_MOST_ITEMS];
        int count = parse_list(parser, c == '(' ? ")" : "]", items);
        if (parser->error) return;
        if (count == 1 && c == '(' && !ends_in_comma(parser)) {
            set_number(value, items[0], items[0] == floor(items[0]));
            return;
        }
        value->kind = SPEC_TUPLE;
        value->count = count;
        memcpy(value->items, items, sizeof(double) * (size_t)count);
    } else if (c == '"' || c == '\'') {
        const char *start = parser->text.data + parser->at + 1;
        const char *end = memchr(start, c, parser->text.size - parser->at - 1);
        if (!end) {
            fail(parser, "a text without its closing %c", c);
            return;
        }
        value->kind = SPEC_CONSTANT;
        value->constant = constant_text(parser->arena, (Str){start, (size_t)(end - start)});
        parser->at = (size_t)(end + 1 - parser->text.data);
    } else if (isdigit((unsigned char)c) || c == '.') {
        parse_digits(parser, value);
    } else if (isalpha((unsigned char)c) || c == '_') {
        parse_named(parser, value);
    } else if (c == '-') {
        parser->at++;
        parse_primary(parser, value);
        if (!parser->error && value->kind != SPEC_NUMBER)
            fail(parser, "a minus before what is no number");
        value->number = -value->number;
    } else {
        fail(parser, "a value is expected in `%.*s`", STR_ARGS(parser->text));
    }
}

static void apply_operator(SpecParser *parser, SpecValue *left, const char *symbol,
                           const SpecValue *right) {
    if (parser->error) return;
    if (left->kind != SPEC_NUMBER || right->kind != SPEC_NUMBER) {
        fail(parser, "`%s` between what are no numbers", symbol);
        return;
    }
    double a = left->number, b = right->number;
    bool integers = left->is_integer && right->is_integer,
         divides = symbol[0] == '/' || symbol[0] == '%';
    if (divides && !(b > 0 || b < 0))
        fail(parser, "a division by zero");
    else if (strcmp(symbol, "**") == 0)
        set_number(left, pow(a, b), integers && b >= 0);
    else if (strcmp(symbol, "//") == 0)
        set_number(left, floor(a / b), integers);
    else if (symbol[0] == '*')
        set_number(left, a * b, integers);
    else if (symbol[0] == '/')
        set_number(left, a / b, false);
    else if (symbol[0] == '%')
        set_number(left, a - floor(a / b) * b, integers);
    else if (symbol[0] == '+')
        set_number(left, a + b, integers);
    else
        set_number(left, a - b, integers);
}

static void parse_operators(SpecParser *parser, SpecValue *value, int level) {
    static const char *const symbols[3][4] = {
        {"+", "-", NULL, NULL}, {"//", "/", "*", "%"}, {"**", NULL, NULL, NULL}};
    if (level == 3) {
        parse_primary(parser, value);
        return;
    }
    parse_operators(parser, value, level + 1);
    for (bool found = true; found && !parser->error;) {
        found = false;
        for (int i = 0; i < 4 && symbols[level][i] && !found; i++) {
            skip_space(parser);
            bool power = parser->text.size - parser->at >= 2 &&
                         memcmp(parser->text.data + parser->at, "**", 2) == 0;
            if ((power && level != 2) || !accept(parser, symbols[level][i])) continue;
            found = true;
            SpecValue *right = ARENA_NEW(parser->arena, SpecValue);
            parse_operators(parser, right, level + 1);
            apply_operator(parser, value, symbols[level][i], right);
        }
    }
}

static bool is_set(SpecParser *parser, const SpecValue *flag) {
    bool is_number = flag->kind == SPEC_NUMBER;
    const Constant *constant = flag->kind == SPEC_CONSTANT ? flag->constant : NULL;
    if (is_number) return flag->number < 0 || flag->number > 0;
    if (constant && constant->kind == CONSTANT_NONE) return false;
    if (constant && constant_is_int(constant)) return constant->integer != 0;
    fail(parser, "a flag is expected after `if` in `%.*s`", STR_ARGS(parser->text));
    return false;
}

/// `... if flag else other`: after the first value.
static void parse_choice(SpecParser *parser, SpecValue *value) {
    SpecValue *flag = ARENA_NEW(parser->arena, SpecValue),
              *other = ARENA_NEW(parser->arena, SpecValue);
    parse_operators(parser, flag, 0);
    expect(parser, "else");
    if (!parser->error) parse_value(parser, other);
    if (!parser->error && !is_set(parser, flag)) *value = *other;
}

static void parse_value(SpecParser *parser, SpecValue *value) {
    if (++parser->depth > DEEPEST) fail(parser, "brackets nested too deeply");
    if (!parser->error) parse_operators(parser, value, 0);
    if (!parser->error && accept(parser, "if")) parse_choice(parser, value);
    parser->depth--;
}

/// `name=text` pairs, split at commas outside brackets and quotes.
static int split_items(Arena *arena, Str text, SpecItem *items, Error *error) {
    int count = 0, depth = 0;
    char quote = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size; i++) {
        char c = i < text.size ? text.data[i] : ',';
        if (quote && i < text.size) {
            if (c == quote) quote = 0;
            continue;
        }
        if (c == '"' || c == '\'') quote = c;
        if (c == '(' || c == '[') depth++;
        if (c == ')' || c == ']') depth--;
        if (c != ',' || (depth > 0 && i < text.size)) continue;
        Str item = str_trim((Str){text.data + start, i - start});
        start = i + 1;
        if (item.size == 0) continue;
        const char *equals = memchr(item.data, '=', item.size);
        if (!equals || count == CONFIGURATION_MOST_ITEMS) {
            *error = arena_printf(arena, "`%.*s` is not of the form NAME=value", STR_ARGS(item));
            return 0;
        }
        size_t at = (size_t)(equals - item.data);
        items[count++] = (SpecItem){str_trim((Str){item.data, at}),
                                    str_trim((Str){equals + 1, item.size - at - 1}), false};
    }
    return count;
}

static void set_argument(SpecParser *parser, PlanArgument *argument, const Parameter *parameter,
                         const SpecValue *value) {
    Str name = argument->name;
    bool constexpr_parameter = parameter && parameter->is_constexpr;
    if (value->kind == SPEC_CONSTANT || (value->kind == SPEC_BUFFER && constexpr_parameter)) {
        const Constant *constant = value->constant;
        if (constant->kind == CONSTANT_BOOL && !constexpr_parameter)
            *argument = (PlanArgument){
                .kind = ARGUMENT_INTEGER, .dtype = DTYPE_INT1, .integer = constant->integer};
        else
            *argument = (PlanArgument){.kind = ARGUMENT_CONSTANT, .constant = constant};
    } else if (value->kind == SPEC_BUFFER) {
        *argument = value->buffer;
    } else if (value->kind == SPEC_NUMBER && constexpr_parameter) {
        argument->kind = ARGUMENT_CONSTANT;
        argument->constant = value->is_integer ? constant_int(parser->arena, (int64_t)value->number)
                                               : constant_float(parser->arena, value->number);
    } else if (value->kind == SPEC_NUMBER) {
        bool is_float =
            !value->is_integer || (parameter && dtype_is_float(parameter->value->type.element));
        bool wide = fabs(value->number) > 2147483647.0;
        *argument = is_float ? (PlanArgument){.kind = ARGUMENT_FLOAT,
                                              .dtype = DTYPE_FLOAT32,
                                              .number = value->number}
                             : (PlanArgument){.kind = ARGUMENT_INTEGER,
                                              .dtype = wide ? DTYPE_INT64 : DTYPE_INT32,
                                              .integer = (int64_t)value->number};
    } else if (value->kind == SPEC_TUPLE && parameter &&
               (constexpr_parameter || parameter->value->type.kind == TYPE_TUPLE)) {
        Constant *items = ARENA_ARRAY(parser->arena, Constant, value->count + 1);
        for (int i = 0; i < value->count; i++)
            items[i] = value->items[i] == floor(value->items[i])
                           ? constant_of_int((int64_t)value->items[i])
                           : constant_of_float(value->items[i]);
        Constant tuple = {.kind = CONSTANT_TUPLE, .items = items, .item_count = value->count};
        *argument = (PlanArgument){.kind = ARGUMENT_CONSTANT,
                                   .constant = constant_new(parser->arena, tuple)};
    } else {
        fail(parser, "a tuple for `%.*s`", STR_ARGS(name));
    }
    argument->name = name;
}

static void set_grid(SpecParser *parser, PlanConfiguration *configuration, const SpecValue *value) {
    int count = value->kind == SPEC_TUPLE ? value->count : value->kind == SPEC_NUMBER ? 1 : 0;
    if (count < 1 || count > 3) {
        fail(parser, "the grid is one to three numbers");
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        double programs = axis >= count               ? 1
                          : value->kind == SPEC_TUPLE ? value->items[axis]
                                                      : value->number;
        if (programs < 0 || programs > 1e6)
            fail(parser, "%g programs along axis %d", programs, axis);
        configuration->grid[axis] = (int64_t)programs;
    }
    configuration->grid_is_known = true;
}

static void take_item(SpecParser *parser, SpecItem *item, PlanConfiguration *configuration) {
    SpecValue *value = ARENA_NEW(parser->arena, SpecValue);
    parser->item = item->name;
    parser->text = item->text;
    parser->at = 0;
    parser->depth = 0;
    parse_value(parser, value);
    skip_space(parser);
    if (!parser->error && parser->at < item->text.size)
        fail(parser, "`%.*s` is left over after the value of `%.*s`",
             (int)(item->text.size - parser->at), item->text.data + parser->at,
             STR_ARGS(item->name));
    if (parser->error) return;
    item->is_done = true;
    if (value->kind == SPEC_NUMBER) map_set(&parser->names, item->name, value);
    if (str_is(item->name, "grid")) {
        set_grid(parser, configuration, value);
        return;
    }
    bool is_option = value->kind == SPEC_NUMBER && value->number >= 1 && value->number <= 64;
    if (is_option && str_is(item->name, "num_warps")) configuration->warps = (int)value->number;
    if (is_option && str_is(item->name, "num_stages")) configuration->stages = (int)value->number;
    const Function *function = parser->request->symbolic;
    for (int i = 0; i < configuration->argument_count; i++)
        if (str_equal(configuration->arguments[i].name, item->name))
            set_argument(
                parser, &configuration->arguments[i],
                function && i < function->parameter_count ? &function->parameters[i] : NULL, value);
}

Error spec_parse(Arena *arena, const SpecRequest *request, Str text,
                 PlanConfiguration *configuration) {
    SpecItem *items = ARENA_ARRAY(arena, SpecItem, CONFIGURATION_MOST_ITEMS);
    Error error = NULL;
    int count = split_items(arena, text, items, &error);
    if (error) return error;
    SpecParser parser = {.arena = arena, .request = request, .names = map_new(arena)};
    for (bool progress = true; progress;) {  // names may be used before the item that sets them
        progress = false;
        error = NULL;
        for (int i = 0; i < count; i++) {
            if (items[i].is_done) continue;
            parser.error = NULL;
            parser.is_unknown_name = false;
            take_item(&parser, &items[i], configuration);
            if (items[i].is_done) progress = true;
            if (parser.error && !parser.is_unknown_name) return parser.error;
            if (parser.error && !error) error = parser.error;
        }
    }
    return error;
}

double spec_number(Arena *arena, const PlanConfiguration *configuration, Str text, Error *error) {
    SpecRequest request = {0};
    SpecParser parser = {
        .arena = arena, .request = &request, .names = map_new(arena), .text = text};
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        bool is_constant =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT;
        bool is_flag =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_BOOL;
        if (argument->kind != ARGUMENT_INTEGER && !is_constant && !is_flag) continue;
        SpecValue *value = ARENA_NEW(arena, SpecValue);
        if (is_flag)
            *value = (SpecValue){.kind = SPEC_CONSTANT, .constant = argument->constant};
        else
            set_number(value,
                       (double)(is_constant ? argument->constant->integer : argument->integer),
                       true);
        map_set(&parser.names, argument->name, value);
    }
    double number = parse_number(&parser);
    skip_space(&parser);
    if (parser.at < text.size) fail(&parser, "`%.*s` is no expression", STR_ARGS(text));
    *error = parser.error;
    return parser.error ? 0 : number;
}
