// Python's arithmetic on constants: whole numbers within 64 bits, floats, bools.
#include "analysis/ir/constant.h"

#include <math.h>

const Constant *constant_new(Arena *arena, Constant constant) {
    Constant *copy = ARENA_NEW(arena, Constant);
    *copy = constant;
    return copy;
}

bool constant_is_int(const Constant *constant) {
    return constant->kind == CONSTANT_INT || constant->kind == CONSTANT_BOOL;
}

bool constant_is_number(const Constant *constant) {
    return constant_is_int(constant) || constant->kind == CONSTANT_FLOAT;
}

double constant_number(const Constant *constant) {
    return constant->kind == CONSTANT_FLOAT ? constant->number : (double)constant->integer;
}

bool constant_is_beyond_int64(const Constant *constant) {
    return constant->kind == CONSTANT_INT && constant->integer < 0 && constant->number > 0;
}

bool constant_truth(const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: return false;
    case CONSTANT_BOOL:
    case CONSTANT_INT: return constant->integer != 0;
    case CONSTANT_FLOAT: return constant->number != 0;
    case CONSTANT_STRING: return constant->string.size > 0;
    case CONSTANT_DTYPE:
    case CONSTANT_FUNCTION: return true;
    case CONSTANT_TUPLE: return constant->item_count > 0;
    }
    return true;
}

bool constant_equal(const Constant *a, const Constant *b, bool *known) {
    *known = true;
    if (constant_is_int(a) && constant_is_int(b)) return a->integer == b->integer;
    if (constant_is_number(a) && constant_is_number(b))
        return constant_number(a) == constant_number(b);
    if (a->kind != b->kind) {
        // Triton lets a dtype be compared with its name.
        const Constant *dtype = a->kind == CONSTANT_DTYPE   ? a
                                : b->kind == CONSTANT_DTYPE ? b
                                                            : NULL;
        const Constant *other = dtype == a ? b : a;
        if (dtype && other->kind == CONSTANT_STRING) *known = false;
        return false;
    }
    switch (a->kind) {
    case CONSTANT_TUPLE: {
        bool equal = a->item_count == b->item_count;
        for (int i = 0; equal && *known && i < a->item_count; i++)
            equal = constant_equal(&a->items[i], &b->items[i], known);
        return equal;
    }
    case CONSTANT_STRING: return str_equal(a->string, b->string);
    case CONSTANT_FUNCTION: return a->function == b->function && a->op == b->op;
    case CONSTANT_DTYPE: {
        bool abstract = a->dtype.code <= DTYPE_OF_PARAMETER || b->dtype.code <= DTYPE_OF_PARAMETER;
        bool equal = dtype_equal(a->dtype, b->dtype) && a->is_pointer == b->is_pointer;
        bool same_parameter = equal && a->dtype.code == DTYPE_OF_PARAMETER;
        *known = !abstract || same_parameter;
        return equal;
    }
    default: return true;
    }
}

static bool put_int(Constant *result, int64_t value) {
    *result = constant_of_int(value);
    return true;
}

static bool put_bool(Constant *result, bool value) {
    *result = constant_of_bool(value);
    return true;
}

static bool put_float(Constant *result, double value) {
    *result = constant_of_float(value);
    return true;
}

static bool float_power(double base, double exponent, Constant *result) {
    // beyond the range of floats, 0 to a negative power, and roots of negative numbers
    return put_float(result, pow(base, exponent)) && isfinite(result->number);
}

static bool int_power(int64_t base, int64_t exponent, Constant *result) {
    if (exponent < 0) return float_power((double)base, (double)exponent, result);
    int64_t power = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(power, base, &power)) return false;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
    }
    return put_int(result, power);
}

/// Python's: the quotient rounds down, the remainder has the divisor's sign.
static bool int_division(OpCode code, int64_t a, int64_t b, Constant *result) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
    int64_t quotient = a / b;
    int64_t rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return put_int(result, code == OP_FLOORDIV ? quotient : rest);
}

static bool int_shift(OpCode code, int64_t a, int64_t b, Constant *result) {
    if (b < 0) return false;
    if (code == OP_SHR) return put_int(result, b > 62 ? (a < 0 ? -1 : 0) : a >> b);
    if (b > 62) return a == 0 && put_int(result, 0);
    int64_t shifted;
    return !__builtin_mul_overflow(a, (int64_t)1 << b, &shifted) && put_int(result, shifted);
}

static bool apply_ints(OpCode code, int64_t a, int64_t b, Constant *result) {
    int64_t value;
    switch (code) {
    case OP_ADD: return !__builtin_add_overflow(a, b, &value) && put_int(result, value);
    case OP_SUB: return !__builtin_sub_overflow(a, b, &value) && put_int(result, value);
    case OP_MUL: return !__builtin_mul_overflow(a, b, &value) && put_int(result, value);
    case OP_DIV: return b != 0 && put_float(result, (double)a / (double)b);
    case OP_FLOORDIV:
    case OP_MOD: return int_division(code, a, b, result);
    case OP_POW: return int_power(a, b, result);
    case OP_SHL:
    case OP_SHR: return int_shift(code, a, b, result);
    case OP_AND: return put_int(result, a & b);
    case OP_OR: return put_int(result, a | b);
    case OP_XOR: return put_int(result, a ^ b);
    case OP_MINIMUM: return put_int(result, a < b ? a : b);
    case OP_MAXIMUM: return put_int(result, a > b ? a : b);
    case OP_LT: return put_bool(result, a < b);
    case OP_LE: return put_bool(result, a <= b);
    case OP_GT: return put_bool(result, a > b);
    case OP_GE: return put_bool(result, a >= b);
    default: return false;
    }
}

static double float_remainder(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool apply_floats(OpCode code, double a, double b, Constant *result) {
    switch (code) {
    case OP_ADD: return put_float(result, a + b);
    case OP_SUB: return put_float(result, a - b);
    case OP_MUL: return put_float(result, a * b);
    case OP_DIV: return b != 0 && put_float(result, a / b);
    case OP_FLOORDIV: return b != 0 && put_float(result, floor(a / b));
    case OP_MOD: return b != 0 && put_float(result, float_remainder(a, b));
    case OP_POW: return float_power(a, b, result);
    case OP_MINIMUM: return put_float(result, b < a ? b : a);
    case OP_MAXIMUM: return put_float(result, b > a ? b : a);
    case OP_LT: return put_bool(result, a < b);
    case OP_LE: return put_bool(result, a <= b);
    case OP_GT: return put_bool(result, a > b);
    case OP_GE: return put_bool(result, a >= b);
    default: return false;
    }
}

static bool apply_one(OpCode code, const Constant *a, Constant *result) {
    switch (code) {
    case OP_LOGICAL_NOT: return put_bool(result, !constant_truth(a));
    case OP_NEG:
        if (a->kind == CONSTANT_FLOAT) return put_float(result, -a->number);
        return constant_is_int(a) && a->integer != INT64_MIN && put_int(result, -a->integer);
    case OP_INVERT: return constant_is_int(a) && put_int(result, ~a->integer);
    default: return false;
    }
}

bool constant_apply(OpCode code, const Constant *a, const Constant *b, Constant *result) {
    if (!b) return apply_one(code, a, result);
    if (code == OP_EQ || code == OP_NE) {
        bool known, equal = constant_equal(a, b, &known);
        return known && put_bool(result, equal == (code == OP_EQ));
    }
    if (!constant_is_number(a) || !constant_is_number(b)) return false;
    if (!constant_is_int(a) || !constant_is_int(b))
        return apply_floats(code, constant_number(a), constant_number(b), result);
    bool both_bools = a->kind == CONSTANT_BOOL && b->kind == CONSTANT_BOOL;
    if (!apply_ints(code, a->integer, b->integer, result)) return false;
    if (both_bools && (code == OP_AND || code == OP_OR || code == OP_XOR))
        return put_bool(result, result->integer != 0);
    return true;
}

void constant_write_tuple(Buffer *out, const Constant *tuple, ConstantWriter *write) {
    buffer_putc(out, '(');
    for (int i = 0; i < tuple->item_count; i++) {
        if (i) buffer_puts(out, ", ");
        write(out, &tuple->items[i]);
    }
    buffer_puts(out, tuple->item_count == 1 ? ",)" : ")");
}
