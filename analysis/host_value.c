// Values of host code: making them, folding scalar operations, computing them anew when the choice of inputs changes.
#include "analysis/host.h"

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
    return host_constant(
        host, (Constant){.kind = CONSTANT_INT, .integer = value, .number = (double)value});
}

const HostValue *host_of_bool(Host *host, bool value) {
    return host_constant(host,
                         (Constant){.kind = CONSTANT_BOOL, .integer = value, .number = value});
}

const HostValue *host_of_float(Host *host, double value) {
    return host_constant(host, (Constant){.kind = CONSTANT_FLOAT, .number = value});
}

const HostValue *host_of_string(Host *host, Str value) {
    return host_constant(host, (Constant){.kind = CONSTANT_STRING, .string = value});
}

const HostValue *host_of_dtype(Host *host, DTypeCode code) {
    return host_constant(host, (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(code)});
}

const HostValue *host_none(Host *host) {
    return host_constant(host, (Constant){.kind = CONSTANT_NONE});
}

const HostValue *host_object(Host *host, const char *name) {
    HostValue *value = host_new(host, HOST_OBJECT);
    value->note = name;
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
} operations[] = {
#define HOST_OPERATION(id, text, arity) {text, arity},
#include "analysis/host_operations.def"
#undef HOST_OPERATION
};

const char *host_operation_text(HostOperation operation, int *arity) {
    *arity = operations[operation].arity;
    return operations[operation].text;
}

bool constant_truth(const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: return false;
    case CONSTANT_BOOL:
    case CONSTANT_INT: return constant->integer != 0;
    case CONSTANT_FLOAT: return constant->number != 0;
    case CONSTANT_STRING: return constant->string.size > 0;
    default: return true;
    }
}

static bool is_integral(const Constant *c) {
    return c->kind == CONSTANT_INT || c->kind == CONSTANT_BOOL;
}
static bool is_numeric(const Constant *c) { return is_integral(c) || c->kind == CONSTANT_FLOAT; }
static double number_of(const Constant *c) {
    return c->kind == CONSTANT_FLOAT ? c->number : (double)c->integer;
}

static Constant make_int(int64_t value) {
    return (Constant){.kind = CONSTANT_INT, .integer = value, .number = (double)value};
}
static Constant make_bool(bool value) {
    return (Constant){.kind = CONSTANT_BOOL, .integer = value, .number = value};
}
static Constant make_float(double value) {
    return (Constant){.kind = CONSTANT_FLOAT, .number = value};
}

static bool constant_equal(const Constant *a, const Constant *b) {
    if (is_numeric(a) && is_numeric(b)) return number_of(a) == number_of(b);
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case CONSTANT_NONE: return true;
    case CONSTANT_STRING: return str_equal(a->string, b->string);
    case CONSTANT_DTYPE: return dtype_equal(a->dtype, b->dtype);
    default: return false;
    }
}

static int64_t floor_divide(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t next_power_of_2(int64_t n) {
    int64_t power = 1;
    while (power < n && power < INT64_MAX / 2) power *= 2;
    return power;
}

/// Sizes beyond this are no sizes; the arithmetic below cannot overflow under it.
static const int64_t limit = (int64_t)1 << 52;

static bool apply_integers(HostOperation operation, int64_t a, int64_t b, Constant *result) {
    if (a > limit || a < -limit || b > limit || b < -limit) return false;
    switch (operation) {
    case HOST_OP_ADD: *result = make_int(a + b); return true;
    case HOST_OP_SUBTRACT: *result = make_int(a - b); return true;
    case HOST_OP_MULTIPLY: {
        int64_t product = 0;
        if (__builtin_mul_overflow(a, b, &product)) return false;
        *result = make_int(product);
        return true;
    }
    case HOST_OP_FLOOR_DIVIDE:
        if (b == 0) return false;
        *result = make_int(floor_divide(a, b));
        return true;
    case HOST_OP_MODULO:
        if (b == 0) return false;
        *result = make_int(a - floor_divide(a, b) * b);
        return true;
    case HOST_OP_CDIV:
        if (b == 0) return false;
        *result = make_int(-floor_divide(-a, b));
        return true;
    case HOST_OP_POWER: {
        if (b < 0 || b > 62) return false;
        int64_t power = 1;
        for (int64_t i = 0; i < b; i++)
            if (__builtin_mul_overflow(power, a, &power)) return false;
        *result = make_int(power);
        return true;
    }
    case HOST_OP_SHIFT_LEFT:
        if (b < 0 || b > 50 || a < 0 || a > (limit >> b)) return false;
        *result = make_int(a << b);
        return true;
    case HOST_OP_SHIFT_RIGHT:
        if (b < 0 || b > 62) return false;
        *result = make_int(floor_divide(a, (int64_t)1 << b));
        return true;
    case HOST_OP_BIT_AND: *result = make_int(a & b); return true;
    case HOST_OP_BIT_OR: *result = make_int(a | b); return true;
    case HOST_OP_BIT_XOR: *result = make_int(a ^ b); return true;
    case HOST_OP_MINIMUM: *result = make_int(a < b ? a : b); return true;
    case HOST_OP_MAXIMUM: *result = make_int(a > b ? a : b); return true;
    case HOST_OP_GCD:
        while (b != 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        *result = make_int(a < 0 ? -a : a);
        return true;
    default: return false;
    }
}

static bool apply_floats(HostOperation operation, double a, double b, Constant *result) {
    switch (operation) {
    case HOST_OP_ADD: *result = make_float(a + b); return true;
    case HOST_OP_SUBTRACT: *result = make_float(a - b); return true;
    case HOST_OP_MULTIPLY: *result = make_float(a * b); return true;
    case HOST_OP_FLOOR_DIVIDE:
        if (b == 0) return false;
        *result = make_float(floor(a / b));
        return true;
    case HOST_OP_MODULO:
        if (b == 0) return false;
        *result = make_float(a - floor(a / b) * b);
        return true;
    case HOST_OP_POWER: *result = make_float(pow(a, b)); return isfinite(result->number);
    case HOST_OP_MINIMUM: *result = make_float(a < b ? a : b); return true;
    case HOST_OP_MAXIMUM: *result = make_float(a > b ? a : b); return true;
    default: return false;
    }
}

static bool apply_unary(HostOperation operation, const Constant *a, Constant *result) {
    if (operation == HOST_OP_NOT) return *result = make_bool(!constant_truth(a)), true;
    if (operation == HOST_OP_BOOL) return *result = make_bool(constant_truth(a)), true;
    if (!is_numeric(a)) return false;
    double x = number_of(a);
    bool integral = is_integral(a);
    int64_t n = a->integer;
    bool fits = fabs(x) < 4e15;
    switch (operation) {
    case HOST_OP_NEGATE: *result = integral ? make_int(-n) : make_float(-x); return true;
    case HOST_OP_ABSOLUTE:
        *result = integral ? make_int(n < 0 ? -n : n) : make_float(fabs(x));
        return true;
    case HOST_OP_INVERT: *result = make_int(~n); return integral;
    case HOST_OP_INT:
        *result = integral ? make_int(n) : make_int(fits ? (int64_t)x : 0);
        return integral || fits;
    case HOST_OP_FLOAT: *result = make_float(x); return true;
    case HOST_OP_CEIL: *result = make_int(fits ? (int64_t)ceil(x) : 0); return fits;
    case HOST_OP_FLOOR: *result = make_int(fits ? (int64_t)floor(x) : 0); return fits;
    case HOST_OP_ROUND: *result = make_int(fits ? (int64_t)nearbyint(x) : 0); return fits;
    case HOST_OP_SQRT: *result = make_float(sqrt(x)); return x >= 0;
    case HOST_OP_RSQRT: *result = make_float(1 / sqrt(x)); return x > 0;
    case HOST_OP_EXP: *result = make_float(exp(x)); return x < 700;
    case HOST_OP_LOG: *result = make_float(log(x)); return x > 0;
    case HOST_OP_LOG2: *result = make_float(log2(x)); return x > 0;
    case HOST_OP_NEXT_POWER_OF_2:
        *result = make_int(next_power_of_2(n));
        return integral && n < limit;
    case HOST_OP_PREVIOUS_POWER_OF_2: {
        if (!integral || n >= limit || n < 0) return false;
        int64_t power = next_power_of_2(n);
        *result = make_int(power == n ? n : power / 2);
        return true;
    }
    case HOST_OP_IS_POWER_OF_2: *result = make_bool(n > 0 && (n & (n - 1)) == 0); return integral;
    case HOST_OP_BIT_LENGTH: {
        if (!integral || n < 0) return false;
        int64_t bits = 0;
        for (; n > 0; n >>= 1) bits++;
        *result = make_int(bits);
        return true;
    }
    default: return false;
    }
}

bool constant_apply(HostOperation operation, const Constant *a, const Constant *b,
                    Constant *result) {
    if (operations[operation].arity == 1) return apply_unary(operation, a, result);
    switch (operation) {
    case HOST_OP_EQUAL: *result = make_bool(constant_equal(a, b)); return true;
    case HOST_OP_UNEQUAL: *result = make_bool(!constant_equal(a, b)); return true;
    case HOST_OP_AND: *result = make_bool(constant_truth(a) && constant_truth(b)); return true;
    case HOST_OP_OR: *result = make_bool(constant_truth(a) || constant_truth(b)); return true;
    default: break;
    }
    if (!is_numeric(a) || !is_numeric(b)) return false;
    double x = number_of(a), y = number_of(b);
    switch (operation) {
    case HOST_OP_LESS: *result = make_bool(x < y); return true;
    case HOST_OP_LESS_EQUAL: *result = make_bool(x <= y); return true;
    case HOST_OP_GREATER: *result = make_bool(x > y); return true;
    case HOST_OP_GREATER_EQUAL: *result = make_bool(x >= y); return true;
    case HOST_OP_DIVIDE:
        if (y == 0) return false;
        *result = make_float(x / y);
        return true;
    default: break;
    }
    if (operation == HOST_OP_POWER && is_integral(a) && is_integral(b) && b->integer < 0)
        return apply_floats(operation, x, y, result);
    if (is_integral(a) && is_integral(b))
        return apply_integers(operation, a->integer, b->integer, result);
    return apply_floats(operation, x, y, result);
}

bool host_compute(const HostValue *value, Constant *result) {
    const HostInput *input = value->input;
    switch (value->kind) {
    case HOST_CONSTANT: *result = value->constant; return true;
    case HOST_SIZE: *result = make_int(input->dims[value->axis]); return true;
    case HOST_RANK: *result = make_int(input->rank); return true;
    case HOST_IS_NONE: *result = make_bool(input->kind == INPUT_NONE); return true;
    case HOST_DTYPE:  // what is not said counts as float32 where the host code asks
        *result = (Constant){.kind = CONSTANT_DTYPE,
                             .dtype = dtype_of(input->dtype ? input->dtype : DTYPE_FLOAT32)};
        return true;
    case HOST_INPUT:
        if (input->kind == INPUT_NONE) return *result = (Constant){.kind = CONSTANT_NONE}, true;
        if (input->kind == INPUT_DTYPE) {
            *result = (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(input->dtype)};
            return input->dtype != DTYPE_UNKNOWN;
        }
        *result = input->constant;
        return input->kind >= INPUT_INT && input->kind <= INPUT_STRING;
    case HOST_OPERATION: {
        Constant operands[2];
        for (int i = 0; i < value->count; i++)
            if (!host_compute(value->items[i], &operands[i])) return false;
        return constant_apply(value->operation, &operands[0],
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
        if (constant_apply(operation, &a->constant, b ? &b->constant : NULL, &folded))
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

bool host_is_string(const HostValue *value, const char *text) {
    return value->is_concrete && value->constant.kind == CONSTANT_STRING &&
           str_is(value->constant.string, text);
}

bool host_int(const HostValue *value, int64_t *integer) {
    if (!value || !value->is_concrete || !is_integral(&value->constant)) return false;
    *integer = value->constant.integer;
    return true;
}

bool host_number(const HostValue *value, double *number) {
    if (!value || !value->is_concrete || !is_numeric(&value->constant)) return false;
    *number = number_of(&value->constant);
    return true;
}
