// Values of host code: making them, folding scalar operations, computing them anew when the choice of inputs changes.
#include "analysis/host_values/host_value.h"

#include "analysis/host_values/host.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MAX_TREE = 400 };

HostValue *host_new(Host *host, HostKind kind) {
    HostValue *value = ARENA_NEW(host->arena, HostValue);
    value->kind = kind;
    return value;
}

const HostValue *host_unknown(Host *host, const char *format, ...) {
    HostValue *value = host_new(host, HOST_UNKNOWN);
    va_list arguments;
    va_start(arguments, format);
    value->note = arena_vprintf(host->arena, format, arguments);
    va_end(arguments);
    return value;
}

const HostValue *host_constant(Host *host, Constant constant) {
    HostValue *value = host_new(host, HOST_CONSTANT);
    value->is_concrete = true;
    value->constant = constant;
    return value;
}

const HostValue *host_of_int(Host *host, int64_t value) {
    return host_constant(host, constant_of_int(value));
}

const HostValue *host_of_bool(Host *host, bool value) {
    return host_constant(host, constant_of_bool(value));
}

const HostValue *host_of_float(Host *host, double value) {
    return host_constant(host, constant_of_float(value));
}

const HostValue *host_of_string(Host *host, Str value) {
    return host_constant(host, constant_of_string(value));
}

const HostValue *host_of_dtype(Host *host, DTypeCode code) {
    return host_constant(host, constant_of_dtype(code));
}

const HostValue *host_none(Host *host) {
    return host_constant(host, (Constant){.kind = CONSTANT_NONE});
}

const HostValue *host_object(Host *host, const char *name) {
    HostValue *value = host_new(host, HOST_OBJECT);
    value->note = name;
    return value;
}

const HostValue *host_of_jit(Host *host, const FunctionDefinition *function, Str name) {
    HostValue *value = host_new(host, HOST_OBJECT);
    value->note = str_dup(host->arena, name);
    value->is_concrete = true;
    value->constant =
        (Constant){.kind = CONSTANT_FUNCTION, .function = function, .op = OP_COUNT, .string = name};
    return value;
}

const HostValue *host_sequence(Host *host, const HostValue *const *items, int count) {
    HostValue *value = host_new(host, HOST_SEQUENCE);
    const HostValue **copy = ARENA_ARRAY(host->arena, const HostValue *, count ? count : 1);
    for (int i = 0; i < count; i++) copy[i] = items[i];
    value->items = copy;
    value->count = count;
    return value;
}

const HostValue *host_copy(Host *host, const HostValue *container) {
    HostValue *copy = host_new(host, container->kind);
    *copy = *container;
    return copy;
}

static void refresh(HostValue *value) {
    value->is_concrete = host_compute(value, &value->constant);
}

const HostValue *host_input_value(Host *host, HostInput *input) {
    HostValue *value = host_new(host, HOST_INPUT);
    value->input = input;
    refresh(value);
    return value;
}

const HostValue *host_input_property(Host *host, HostKind kind, HostInput *input, int axis) {
    HostValue *value = host_new(host, kind);
    value->input = input;
    value->axis = axis;
    refresh(value);
    return value;
}

static const struct {
    const char *text;
    int arity;
    OpCode code;
} operations[] = {
#define HOST_OPERATION(id, text, arity, code) {text, arity, OP_##code},
#include "analysis/host_values/host_operations.def"
#undef HOST_OPERATION
};

const char *host_operation_text(HostOperation operation, int *arity) {
    *arity = operations[operation].arity;
    return operations[operation].text;
}

static int64_t next_power_of_2(int64_t n) {
    int64_t power = 1;
    while (power < n && power < INT64_MAX / 2) power *= 2;
    return power;
}

/// Sizes beyond this are no sizes.
static const int64_t limit = (int64_t)1 << 52;

static bool is_beyond(const Constant *constant) {
    return constant_is_int(constant) && (constant->integer > limit || constant->integer < -limit);
}

static bool put_int(Constant *result, int64_t value) {
    *result = constant_of_int(value);
    return true;
}

/// A whole number from a float that is one.
static bool put_whole(Constant *result, double value) {
    return fabs(value) < 4e15 && put_int(result, (int64_t)value);
}

static bool put_float(Constant *result, double value) {
    *result = constant_of_float(value);
    return true;
}

static bool put_bool(Constant *result, bool value) {
    *result = constant_of_bool(value);
    return true;
}

static bool apply_to_int(HostOperation operation, int64_t n, Constant *result) {
    switch (operation) {
    // of a negative number it is no length
    case HOST_OP_NEXT_POWER_OF_2: return n >= 0 && n < limit && put_int(result, next_power_of_2(n));
    case HOST_OP_PREVIOUS_POWER_OF_2: {
        if (n >= limit || n < 0) return false;
        int64_t power = next_power_of_2(n);
        return put_int(result, power == n ? n : power / 2);
    }
    case HOST_OP_IS_POWER_OF_2: return put_bool(result, n > 0 && (n & (n - 1)) == 0);
    case HOST_OP_BIT_LENGTH: {
        int64_t bits = 0;
        for (int64_t rest = n; rest > 0; rest >>= 1) bits++;
        return n >= 0 && put_int(result, bits);
    }
    case HOST_OP_ABSOLUTE: return n != INT64_MIN && put_int(result, n < 0 ? -n : n);
    case HOST_OP_INT: return put_int(result, n);
    default: return false;
    }
}

static bool apply_unary(HostOperation operation, const Constant *a, Constant *result) {
    if (operation == HOST_OP_BOOL) return put_bool(result, constant_truth(a));
    if (!constant_is_number(a)) return false;
    if (constant_is_int(a) && apply_to_int(operation, a->integer, result)) return true;
    double x = constant_number(a);
    switch (operation) {
    case HOST_OP_ABSOLUTE: return put_float(result, fabs(x));
    case HOST_OP_INT: return put_whole(result, x);
    case HOST_OP_FLOAT: return put_float(result, x);
    case HOST_OP_CEIL: return put_whole(result, ceil(x));
    case HOST_OP_FLOOR: return put_whole(result, floor(x));
    case HOST_OP_ROUND: return put_whole(result, nearbyint(x));
    case HOST_OP_SQRT: return x >= 0 && put_float(result, sqrt(x));
    case HOST_OP_RSQRT: return x > 0 && put_float(result, 1 / sqrt(x));
    case HOST_OP_EXP: return x < 700 && put_float(result, exp(x));
    case HOST_OP_LOG: return x > 0 && put_float(result, log(x));
    case HOST_OP_LOG2: return x > 0 && put_float(result, log2(x));
    default: return false;
    }
}

/// A quotient of whole numbers, rounded up.
static bool apply_cdiv(int64_t a, int64_t b, Constant *result) {
    return b != 0 && put_int(result, a / b + (a % b != 0 && (a < 0) == (b < 0)));
}

static bool apply_gcd(int64_t a, int64_t b, Constant *result) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return put_int(result, a < 0 ? -a : a);
}

/// What `operation` makes of constants; false where that is not known. `b` is NULL where it takes one.
static bool operation_apply(HostOperation operation, const Constant *a, const Constant *b,
                            Constant *result) {
    OpCode code = operations[operation].code;
    bool known;
    switch (operation) {  // conditions, whatever they are made of
    case HOST_OP_AND: return put_bool(result, constant_truth(a) && constant_truth(b));
    case HOST_OP_OR: return put_bool(result, constant_truth(a) || constant_truth(b));
    case HOST_OP_EQUAL: return put_bool(result, constant_equal(a, b, &known));
    case HOST_OP_UNEQUAL: return put_bool(result, !constant_equal(a, b, &known));
    default: break;
    }
    if (b && (is_beyond(a) || is_beyond(b))) return false;
    if (code != OP_COUNT) return constant_apply(code, a, b, result);
    if (!b) return apply_unary(operation, a, result);
    if (!constant_is_int(a) || !constant_is_int(b)) return false;
    return operation == HOST_OP_CDIV ? apply_cdiv(a->integer, b->integer, result)
                                     : apply_gcd(a->integer, b->integer, result);
}

bool host_compute(const HostValue *value, Constant *result) {
    const HostInput *input = value->input;
    switch (value->kind) {
    case HOST_CONSTANT: *result = value->constant; return true;
    case HOST_SIZE: *result = constant_of_int(input->dims[value->axis]); return true;
    case HOST_RANK: *result = constant_of_int(input->rank); return true;
    case HOST_IS_NONE: *result = constant_of_bool(input->kind == INPUT_NONE); return true;
    case HOST_DTYPE:  // what is not said counts as float32 where the host code asks
        *result = constant_of_dtype(input->dtype ? input->dtype : DTYPE_FLOAT32);
        return true;
    case HOST_INPUT:
        if (input->kind == INPUT_NONE) return *result = (Constant){.kind = CONSTANT_NONE}, true;
        if (input->kind == INPUT_DTYPE) {
            *result = constant_of_dtype(input->dtype);
            return input->dtype != DTYPE_UNKNOWN;
        }
        *result = input->constant;
        return input->kind >= INPUT_INT && input->kind <= INPUT_STRING;
    case HOST_OPERATION: {
        Constant operands[2];
        for (int i = 0; i < value->count; i++)
            if (!host_compute(value->items[i], &operands[i])) return false;
        return operation_apply(value->operation, &operands[0],
                               value->count > 1 ? &operands[1] : NULL, result);
    }
    default: return false;
    }
}

static bool is_scalar(const HostValue *value) {
    return value->kind >= HOST_CONSTANT && value->kind <= HOST_OPERATION;
}

static bool is_exactly(const HostValue *value, int64_t number) {
    return value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT &&
           value->constant.integer == number;
}

const HostValue *host_apply(Host *host, HostOperation operation, const HostValue *a,
                            const HostValue *b) {
    int arity = operations[operation].arity;
    const HostValue *items[2] = {a, b};
    bool constant = true;
    for (int i = 0; i < arity; i++) {
        if (items[i]->kind == HOST_UNKNOWN) return items[i];
        if (!is_scalar(items[i]))
            return host_unknown(host, "'%s' of what is no number", operations[operation].text);
        constant = constant && items[i]->kind == HOST_CONSTANT;
    }
    if (constant) {
        Constant folded;
        if (operation_apply(operation, &a->constant, b ? &b->constant : NULL, &folded))
            return host_constant(host, folded);
        return host_unknown(host, "'%s' has no value here", operations[operation].text);
    }
    for (int i = 0; i < arity && arity == 2; i++) {  // 1 * x, x + 0
        bool unit = (operation == HOST_OP_MULTIPLY && is_exactly(items[i], 1)) ||
                    (operation == HOST_OP_ADD && is_exactly(items[i], 0));
        if (unit) return items[1 - i];
    }
    int size = 1 + a->size + (arity == 2 ? b->size : 0);
    HostValue *value = host_new(host, HOST_OPERATION);
    const HostValue **copy = ARENA_ARRAY(host->arena, const HostValue *, 2);
    memcpy(copy, items, sizeof items);
    value->operation = operation;
    value->items = copy;
    value->count = arity;
    value->size = size;
    refresh(value);
    if (size <= MAX_TREE) return value;
    return value->is_concrete ? host_constant(host, value->constant)
                              : host_unknown(host, "a computation that is too long");
}

const HostValue *host_equal(Host *host, const HostValue *a, const HostValue *b) {
    if (a->kind == HOST_SEQUENCE && b->kind == HOST_SEQUENCE) {
        if (a->count != b->count) {
            const HostValue *shape = a->shape_of && !a->shape_of->is_rank_certain ? a : b;
            if (!shape->shape_of || shape->shape_of->is_rank_certain)
                return host_of_bool(host, false);
            const HostValue *rank = NULL;
            for (int i = 0; i < host->inputs.count; i++)
                if (host->inputs.items[i] == shape->shape_of)
                    rank = host_input_property(host, HOST_RANK, host->inputs.items[i], 0);
            if (!rank) return host_of_bool(host, false);
            const HostValue *other = shape == a ? b : a;
            return host_apply(
                host, HOST_OP_EQUAL, rank,
                host_of_int(host, shape->shape_of->rank + other->count - shape->count));
        }
        const HostValue *all = host_of_bool(host, true);
        for (int i = 0; i < a->count; i++) {
            const HostValue *same = host_equal(host, a->items[i], b->items[i]);
            all = all->kind == HOST_CONSTANT && all->constant.integer
                      ? same
                      : host_apply(host, HOST_OP_AND, all, same);
        }
        return all;
    }
    if (a->kind == HOST_OBJECT && b->kind == HOST_OBJECT)
        return host_of_bool(host, strcmp(a->note, b->note) == 0);
    return host_apply(host, HOST_OP_EQUAL, a, b);
}

bool host_truth(const HostValue *value, bool *known) {
    *known = true;
    switch (value->kind) {
    case HOST_SEQUENCE:
    case HOST_DICTIONARY: return value->count > 0;
    case HOST_FUNCTION: return true;
    default:
        *known = value->is_concrete;
        return value->is_concrete && constant_truth(&value->constant);
    }
}

bool host_is_none(const HostValue *value) {
    return value->is_concrete && value->constant.kind == CONSTANT_NONE;
}

bool host_int(const HostValue *value, int64_t *integer) {
    if (!value || !value->is_concrete || !constant_is_int(&value->constant)) return false;
    *integer = value->constant.integer;
    return true;
}

bool host_number(const HostValue *value, double *number) {
    if (!value || !value->is_concrete || !constant_is_number(&value->constant)) return false;
    *number = constant_number(&value->constant);
    return true;
}
