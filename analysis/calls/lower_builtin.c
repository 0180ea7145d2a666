// Python's own functions, and functions of other modules on constants (math.log2, triton.cdiv).
#include "analysis/calls/lower_builtin.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/build/build.h"
#include "analysis/calls/lower_operation.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/tuples.h"

static Value *first_of(const Arguments *arguments) {
    return arguments->positional.count ? arguments->positional.items[0] : NULL;
}

/// min(a, b, ...) and max(a, b, ...), also of one tuple.
static Value *lower_extreme(Lowering *lowering, OpCode code, const Arguments *arguments) {
    Value *const *items = arguments->positional.items;
    int count = arguments->positional.count;
    int inner;
    if (count == 1 && value_is_tuple(items[0], &inner)) {
        items = items[0]->op->operands;
        count = inner;
    }
    if (count == 0) return NULL;
    Value *result = items[0];
    for (int i = 1; i < count; i++)
        result = build_binary(&lowering->builder, code, result, items[i]);
    return result;
}

static Value *lower_float_of(Lowering *lowering, Value *value) {
    double number;
    if (value_is_number(value, &number)) return build_float(&lowering->builder, number);
    const Constant *constant = value->constant;
    if (constant && constant->kind == CONSTANT_STRING) {
        const char *text = str_dup(lowering->arena, str_trim(constant->string));
        char *end = NULL;
        number = strtod(text, &end);
        if (end && !*end && end != text) return build_float(&lowering->builder, number);
        return NULL;
    }
    if (value->type.is_constexpr && value->type.kind == TYPE_NUMBER) return value;
    Value *operands[] = {value, build_dtype(&lowering->builder, dtype_of(DTYPE_FLOAT32))};
    return build(&lowering->builder, OP_CAST, operands, 2);
}

static Value *lower_int_of(Lowering *lowering, Value *value) {
    double number;
    int64_t integer;
    if (value_is_int(value, &integer)) return build_int(&lowering->builder, integer);
    if (value_is_number(value, &number) && fabs(number) < 9e18)
        return build_int(&lowering->builder, (int64_t)number);
    if (value->type.is_constexpr) return value;
    Value *operands[] = {value, build_dtype(&lowering->builder, dtype_of(DTYPE_INT32))};
    return build(&lowering->builder, OP_CAST, operands, 2);
}

static Value *lower_length(Lowering *lowering, Value *value) {
    int count;
    if (value_is_tuple(value, &count)) return build_int(&lowering->builder, count);
    const Constant *constant = value->constant;
    if (constant && constant->kind == CONSTANT_STRING)
        return build_int(&lowering->builder, (int64_t)constant->string.size);
    tuple_asked_whole(lowering, value);
    Value *length = lowering_opaque(lowering, "a length that is not known");
    op_append_operand(lowering->builder.function, length->op, value);
    return length;
}

/// -1 when it is not known whether `value` is an instance of `class`.
static int instance_of(const Value *value, const Value *class) {
    const char *note = class->op ? class->op->note : NULL;
    bool is_operation =
        class->constant && class->constant->kind == CONSTANT_FUNCTION && !class->constant->function;
    if (is_operation) note = op_rows[class->constant->op].name;
    if (!note) return -1;
    Str name = str_from(note);
    if (text_contains(name, "constexpr")) return value->type.is_constexpr;
    if (text_contains(name, "tensor_descriptor"))
        return value->type.kind == TYPE_UNKNOWN ? -1 : value->type.kind == TYPE_DESCRIPTOR;
    if (text_contains(name, "tensor"))
        return value->type.kind == TYPE_UNKNOWN
                   ? -1
                   : (value->type.kind == TYPE_NUMBER || value->type.kind == TYPE_POINTER) &&
                         !value->type.is_constexpr;
    if (text_contains(name, "tuple") || text_contains(name, "list"))
        return value->type.kind == TYPE_UNKNOWN ? -1 : value->type.kind == TYPE_TUPLE;
    const Constant *constant = value->constant;
    if (!constant) return -1;
    if (text_contains(name, "float")) return constant->kind == CONSTANT_FLOAT;
    if (text_contains(name, "int"))
        return constant->kind == CONSTANT_INT || constant->kind == CONSTANT_BOOL;
    if (text_contains(name, "bool")) return constant->kind == CONSTANT_BOOL;
    if (text_contains(name, "str")) return constant->kind == CONSTANT_STRING;
    if (text_contains(name, "dtype")) return constant->kind == CONSTANT_DTYPE;
    return -1;
}

static Value *lower_isinstance(Lowering *lowering, const Value *value, Value *classes) {
    int count = 1;
    bool is_tuple = value_is_tuple(classes, &count);
    int answer = 0;
    for (int i = 0; i < count && answer != 1; i++) {
        int one = instance_of(value, is_tuple ? tuple_item(lowering, classes, i) : classes);
        if (one != 0) answer = one;
    }
    if (answer < 0) return lowering_opaque(lowering, "isinstance() of something that is not known");
    return build_bool(&lowering->builder, answer > 0);
}

static Value *lower_zip(Lowering *lowering, const Arguments *arguments, bool enumerates) {
    int length = -1;
    for (LIST_EACH(int, i, arguments->positional)) {
        int count;
        if (!value_is_tuple(arguments->positional.items[i], &count)) return NULL;
        if (length < 0 || count < length) length = count;
    }
    LIST(Value *) rows = {0};
    for (int row = 0; row < length; row++) {
        LIST(Value *) items = {0};
        if (enumerates) LIST_PUSH(lowering->arena, &items, build_int(&lowering->builder, row));
        for (LIST_EACH(int, i, arguments->positional))
            LIST_PUSH(lowering->arena, &items,
                      tuple_item(lowering, arguments->positional.items[i], row));
        LIST_PUSH(lowering->arena, &rows,
                  build_tuple(&lowering->builder, items.items, items.count));
    }
    return build_tuple(&lowering->builder, rows.items, rows.count);
}

static Value *lower_fold(Lowering *lowering, Str name, Value *items) {
    int count;
    if (!items || !value_is_tuple(items, &count)) return NULL;
    bool is_sum = str_is(name, "sum");
    OpCode code = is_sum ? OP_ADD : str_is(name, "all") ? OP_LOGICAL_AND : OP_LOGICAL_OR;
    Value *result = is_sum ? build_int(&lowering->builder, 0)
                           : build_bool(&lowering->builder, code == OP_LOGICAL_AND);
    for (int i = 0; i < count; i++)
        result = build_binary(&lowering->builder, code, result, tuple_item(lowering, items, i));
    return result;
}

static Value *lower_reversed(Lowering *lowering, Value *items) {
    int count;
    if (!items || !value_is_tuple(items, &count)) return NULL;
    Value **turned = ARENA_ARRAY(lowering->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) turned[i] = tuple_item(lowering, items, count - 1 - i);
    return build_tuple(&lowering->builder, turned, count);
}

static Value *builtin_value(Lowering *lowering, Str name, const Arguments *arguments) {
    Builder *builder = &lowering->builder;
    Value *first = first_of(arguments);
    Value *second = arguments->positional.count > 1 ? arguments->positional.items[1] : NULL;
    if (str_is(name, "min")) return lower_extreme(lowering, OP_MINIMUM, arguments);
    if (str_is(name, "max")) return lower_extreme(lowering, OP_MAXIMUM, arguments);
    if (str_is(name, "print")) {
        Value *operands[] = {
            build_string(builder, "print"),
            build_tuple(builder, arguments->positional.items, arguments->positional.count)};
        build(builder, OP_DEVICE_PRINT, operands, 2);
        return build_none(builder);
    }
    if (str_is(name, "tuple") && !first) return build_tuple(builder, NULL, 0);
    if (!first) return NULL;
    bool truth;
    bool converts = str_is(name, "float") || str_is(name, "int");
    if (converts && value_is_runtime(first) && !lowering->global_depth)
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, (SyntaxNode){0},
                        "Triton cannot compile `%.*s` of a run-time value; use `.to(tl.%s32)`.",
                        STR_ARGS(name), str_is(name, "int") ? "int" : "float");
    if (str_is(name, "float")) return lower_float_of(lowering, first);
    if (str_is(name, "int")) return lower_int_of(lowering, first);
    if (str_is(name, "len")) return lower_length(lowering, first);
    if (str_is(name, "abs")) return build_unary(builder, OP_ABS, first);
    if (str_is(name, "bool"))
        return value_truth(first, &truth)
                   ? build_bool(builder, truth)
                   : build_binary(builder, OP_NE, first, build_int(builder, 0));
    if (str_is(name, "isinstance") && second) return lower_isinstance(lowering, first, second);
    if (str_is(name, "tuple") || str_is(name, "list"))
        return value_is_tuple(first, &(int){0}) ? first : NULL;
    if (str_is(name, "zip")) return lower_zip(lowering, arguments, false);
    if (str_is(name, "enumerate")) return lower_zip(lowering, arguments, true);
    if (str_is(name, "reversed")) return lower_reversed(lowering, first);
    if (str_is(name, "sum") || str_is(name, "all") || str_is(name, "any"))
        return lower_fold(lowering, name, first);
    if (str_is(name, "pow") && second) return build_binary(builder, OP_POW, first, second);
    if (str_is(name, "str") && first->constant && first->constant->kind == CONSTANT_STRING)
        return first;
    if (str_is(name, "type") || str_is(name, "getattr") || str_is(name, "hasattr") ||
        str_is(name, "str"))
        return lowering_opaque(lowering, "a question about Python objects");
    return NULL;
}

Value *lower_builtin(Lowering *lowering, Str name, Arguments *arguments, SyntaxNode node) {
    Value *value = builtin_value(lowering, name, arguments);
    if (value) return value;
    return lowering_unknown(lowering, node, "This use of `%.*s` is not understood.",
                            STR_ARGS(name));
}

// --- Other modules

typedef struct MathRow {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
    bool gives_integer;
} MathRow;

static const MathRow math_rows[] = {
    {"math.log2", log2, NULL, false},   {"math.log", log, NULL, false},
    {"math.log10", log10, NULL, false}, {"math.sqrt", sqrt, NULL, false},
    {"math.exp", exp, NULL, false},     {"math.ceil", ceil, NULL, true},
    {"math.floor", floor, NULL, true},  {"math.pow", NULL, pow, false},
    {"math.sin", sin, NULL, false},     {"math.cos", cos, NULL, false},
    {"math.fabs", fabs, NULL, false},   {"math.tanh", tanh, NULL, false},
    {"numpy.log2", log2, NULL, false},  {"numpy.log", log, NULL, false},
    {"numpy.sqrt", sqrt, NULL, false},  {"numpy.exp", exp, NULL, false}};

/// A constexpr that only an instance of the kernel knows, made of `value`.
static Value *constexpr_of(Lowering *lowering, Value *value, DTypeCode code, const char *note) {
    Op *op = op_append(&lowering->builder, OP_UNKNOWN, &value, 1, 1);
    op->note = note;
    op->results[0]->type =
        (Type){.kind = TYPE_NUMBER, .element = dtype_of(code), .is_constexpr = true};
    return op->results[0];
}

/// The call itself, for the instance of the kernel to make.
static Value *python_call(Lowering *lowering, const char *name, Value *value) {
    return build_binary(&lowering->builder, OP_PYTHON_CALL, build_string(&lowering->builder, name),
                        value);
}

static Value *math_call(Lowering *lowering, Str dotted, const Arguments *arguments) {
    double a;
    double b;
    Value *first = first_of(arguments);
    for (size_t i = 0; i < sizeof math_rows / sizeof *math_rows; i++) {
        const MathRow *row = &math_rows[i];
        if (!str_is(dotted, row->name) || !first) continue;
        bool is_open = !first->constant && first->type.is_constexpr;
        if (is_open && row->one && str_starts(dotted, "math."))
            return python_call(lowering, row->name, first);
        if (is_open)
            return constexpr_of(lowering, first, DTYPE_FLOAT32,
                                arena_printf(lowering->arena, "%s of a constexpr", row->name));
        if (!value_is_number(first, &a)) continue;
        if (row->two && (arguments->positional.count < 2 ||
                         !value_is_number(arguments->positional.items[1], &b)))
            continue;
        double result = row->one ? row->one(a) : row->two(a, b);
        return row->gives_integer && fabs(result) < 9e18
                   ? build_int(&lowering->builder, (int64_t)result)
                   : build_float(&lowering->builder, result);
    }
    return NULL;
}

static Value *next_power_of_2(Lowering *lowering, Value *value) {
    int64_t n;
    if (!value) return NULL;
    if (!value_is_int(value, &n) || n > ((int64_t)1 << 62))
        return value->type.is_constexpr && !value->constant
                   ? python_call(lowering, "triton.next_power_of_2", value)
                   : constexpr_of(lowering, value, DTYPE_INT32,
                                  "triton.next_power_of_2 of a value");
    int64_t power = 1;
    while (power < n) power *= 2;
    return build_int(&lowering->builder, power);
}

/// How often 2 divides a size, as triton.language.standard asks it.
static Value *standard_log2(Lowering *lowering, Value *value) {
    int64_t n;
    if (!value) return NULL;
    if (!value_is_int(value, &n)) return build_unary(&lowering->builder, OP_INTEGER_LOG2, value);
    int64_t log = 0;
    while (n > 1) {
        n /= 2;
        log++;
    }
    return build_int(&lowering->builder, log);
}

static Value *dtype_named(Lowering *lowering, const Value *value) {
    const Constant *constant = value ? value->constant : NULL;
    DTypeCode code = constant && constant->kind == CONSTANT_STRING
                         ? dtype_from_name(constant->string)
                         : DTYPE_UNKNOWN;
    if (code != DTYPE_UNKNOWN) return build_dtype(&lowering->builder, dtype_of(code));
    Value *symbolic = lowering_opaque(lowering, "an element type by name");
    symbolic->type = (Type){.kind = TYPE_DTYPE, .is_constexpr = true};
    return symbolic;
}

/// (3, 9, 0) of "3.9.0".
static Value *version_parts(Lowering *lowering, const Value *value) {
    const Constant *constant = value ? value->constant : NULL;
    if (!constant || constant->kind != CONSTANT_STRING) return NULL;
    LIST(Value *) parts = {0};
    const char *text = str_dup(lowering->arena, constant->string);
    while (*text >= '0' && *text <= '9') {
        char *end;
        LIST_PUSH(lowering->arena, &parts, build_int(&lowering->builder, strtol(text, &end, 10)));
        text = *end == '.' ? end + 1 : end;
    }
    return build_tuple(&lowering->builder, parts.items, parts.count);
}

/// tl.core.get_int_dtype(bitwidth, signed)
static Value *lower_int_dtype(Lowering *lowering, const Arguments *arguments) {
    Value *given[2] = {NULL, NULL};
    for (LIST_EACH(int, i, arguments->positional))
        if (i < 2) given[i] = arguments->positional.items[i];
    for (LIST_EACH(int, i, arguments->keywords))
        given[str_is(STR("signed"), arguments->keywords.items[i].name)] =
            arguments->keywords.items[i].value;
    int64_t bits;
    bool is_signed;
    if (!given[0] || !given[1] || !value_is_int(given[0], &bits) ||
        !value_truth(given[1], &is_signed))
        return dtype_named(lowering, NULL);
    const char *name = arena_printf(lowering->arena, "%sint%d", is_signed ? "" : "u", (int)bits);
    return dtype_named(lowering, build_string(&lowering->builder, name));
}

static bool arguments_are_runtime(const Arguments *arguments) {
    for (LIST_EACH(int, i, arguments->positional))
        if (value_is_runtime(arguments->positional.items[i])) return true;
    return false;
}

/// triton.language.target_info: what is compiled for.
static Value *lower_target_question(Lowering *lowering, Str name, const Arguments *arguments) {
    if (str_is(name, "target_info.is_cuda")) return build_bool(&lowering->builder, true);
    if (str_starts(name, "target_info.is_hip")) return build_bool(&lowering->builder, false);
    if (!str_is(name, "target_info.cuda_capability_geq"))
        return lowering_opaque(lowering, "a question about the target");
    return constexpr_of(lowering, first_of(arguments), DTYPE_INT1, "the capability of the target");
}

Value *lower_external_call(Lowering *lowering, Str dotted, Arguments *arguments, SyntaxNode node) {
    Str language;
    if (scope_language_name(dotted, &language)) {
        if (str_is(language, "constexpr")) return first_of(arguments);
        if (str_starts(language, "target_info."))
            return lower_target_question(lowering, language, arguments);
        if (str_is(language, "dtype")) return dtype_named(lowering, first_of(arguments));
        if (str_is(language, "_log2")) return standard_log2(lowering, first_of(arguments));
        if (str_is(language, "get_int_dtype")) return lower_int_dtype(lowering, arguments);
        if (str_is(language, "_unwrap_if_constexpr")) return first_of(arguments);
        if (str_is(language, "tuple")) return builtin_value(lowering, STR("tuple"), arguments);
        if (str_is(language, "pointer_type") && first_of(arguments)) {
            const Constant *element = first_of(arguments)->constant;
            // A pointer to pointers stays open: what it points to has no element type.
            if (element && element->kind == CONSTANT_DTYPE && !element->is_pointer)
                return build_constant(&lowering->builder, (Constant){.kind = CONSTANT_DTYPE,
                                                                     .dtype = element->dtype,
                                                                     .is_pointer = true});
            Value *symbolic =
                build_unary(&lowering->builder, OP_POINTER_TYPE_NAME, first_of(arguments));
            symbolic->type = (Type){.kind = TYPE_DTYPE, .is_constexpr = true};
            return symbolic;
        }
        return NULL;
    }
    if (str_ends(dotted, "version.parse") || str_ends(dotted, "version.Version"))
        return version_parts(lowering, first_of(arguments));
    bool is_helper = str_is(dotted, "triton.cdiv") || str_is(dotted, "triton.next_power_of_2");
    if (is_helper && !lowering->global_depth && arguments_are_runtime(arguments))
        lowering_report(lowering, DIAGNOSTIC_UNSUPPORTED_PYTHON, node,
                        "`%.*s` works on constexprs only%s.", STR_ARGS(dotted),
                        str_ends(dotted, "cdiv") ? "; use `tl.cdiv`" : "");
    if (str_is(dotted, "triton.cdiv"))
        return lower_operation(lowering, op_find(STR("cdiv")), arguments, node);
    if (str_is(dotted, "triton.next_power_of_2"))
        return next_power_of_2(lowering, first_of(arguments));
    // The environment is taken to be empty.
    bool is_environment = str_is(dotted, "os.environ.get") || str_is(dotted, "os.getenv");
    if (is_environment && arguments->positional.count == 2) return arguments->positional.items[1];
    if (is_environment) return build_none(&lowering->builder);
    return math_call(lowering, dotted, arguments);
}
