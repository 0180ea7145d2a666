// Constant folding of what Triton computes at compile time, with Python's semantics for ints, floats, bools and strings.
#include <math.h>

#include "analysis/infer_rules.h"

static const Constant *constant_copy(Arena *arena, Constant constant) {
    Constant *copy = ARENA_NEW(arena, Constant);
    *copy = constant;
    return copy;
}

static const Constant *fold_int(Arena *arena, int64_t value) {
    return constant_copy(
        arena, (Constant){.kind = CONSTANT_INT, .integer = value, .number = (double)value});
}

static const Constant *fold_bool(Arena *arena, bool value) {
    return constant_copy(arena,
                         (Constant){.kind = CONSTANT_BOOL, .integer = value, .number = value});
}

static const Constant *fold_float(Arena *arena, double value) {
    return constant_copy(arena, (Constant){.kind = CONSTANT_FLOAT, .number = value});
}

static bool constant_is_int(const Constant *constant) {
    return constant->kind == CONSTANT_INT || constant->kind == CONSTANT_BOOL;
}

static bool constant_is_number(const Constant *constant) {
    return constant_is_int(constant) || constant->kind == CONSTANT_FLOAT;
}

static double constant_number(const Constant *constant) {
    return constant->kind == CONSTANT_FLOAT ? constant->number : (double)constant->integer;
}

static bool constant_truth(const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: return false;
    case CONSTANT_BOOL:
    case CONSTANT_INT: return constant->integer != 0;
    case CONSTANT_FLOAT: return constant->number != 0;
    case CONSTANT_STRING: return constant->string.size > 0;
    case CONSTANT_DTYPE:
    case CONSTANT_FUNCTION: return true;
    }
    return true;
}

static const Constant *fold_int_power(Arena *arena, int64_t base, int64_t exponent) {
    if (exponent < 0) return base ? fold_float(arena, pow((double)base, (double)exponent)) : NULL;
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return NULL;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return NULL;
    }
    return fold_int(arena, result);
}

/// Python's: the quotient rounds down, the remainder has the divisor's sign.
static const Constant *fold_int_division(Arena *arena, OpCode code, int64_t a, int64_t b) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return NULL;
    int64_t quotient = a / b;
    int64_t rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return fold_int(arena, code == OP_FLOORDIV ? quotient : rest);
}

static const Constant *fold_shift(Arena *arena, OpCode code, int64_t a, int64_t b) {
    if (b < 0) return NULL;
    if (code == OP_SHR) return fold_int(arena, b > 62 ? (a < 0 ? -1 : 0) : a >> b);
    if (b > 62) return a == 0 ? fold_int(arena, 0) : NULL;
    int64_t result;
    return __builtin_mul_overflow(a, (int64_t)1 << b, &result) ? NULL : fold_int(arena, result);
}

static const Constant *fold_ints(Arena *arena, OpCode code, int64_t a, int64_t b) {
    int64_t result;
    switch (code) {
    case OP_ADD: return __builtin_add_overflow(a, b, &result) ? NULL : fold_int(arena, result);
    case OP_SUB: return __builtin_sub_overflow(a, b, &result) ? NULL : fold_int(arena, result);
    case OP_MUL: return __builtin_mul_overflow(a, b, &result) ? NULL : fold_int(arena, result);
    case OP_DIV: return b == 0 ? NULL : fold_float(arena, (double)a / (double)b);
    case OP_FLOORDIV:
    case OP_MOD: return fold_int_division(arena, code, a, b);
    case OP_POW: return fold_int_power(arena, a, b);
    case OP_SHL:
    case OP_SHR: return fold_shift(arena, code, a, b);
    case OP_AND: return fold_int(arena, a & b);
    case OP_OR: return fold_int(arena, a | b);
    case OP_XOR: return fold_int(arena, a ^ b);
    case OP_MINIMUM: return fold_int(arena, a < b ? a : b);
    case OP_MAXIMUM: return fold_int(arena, a > b ? a : b);
    case OP_EQ: return fold_bool(arena, a == b);
    case OP_NE: return fold_bool(arena, a != b);
    case OP_LT: return fold_bool(arena, a < b);
    case OP_LE: return fold_bool(arena, a <= b);
    case OP_GT: return fold_bool(arena, a > b);
    case OP_GE: return fold_bool(arena, a >= b);
    default: return NULL;
    }
}

static double python_float_mod(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static const Constant *fold_floats(Arena *arena, OpCode code, double a, double b) {
    switch (code) {
    case OP_ADD: return fold_float(arena, a + b);
    case OP_SUB: return fold_float(arena, a - b);
    case OP_MUL: return fold_float(arena, a * b);
    case OP_DIV: return b == 0 ? NULL : fold_float(arena, a / b);
    case OP_FLOORDIV: return b == 0 ? NULL : fold_float(arena, floor(a / b));
    case OP_MOD: return b == 0 ? NULL : fold_float(arena, python_float_mod(a, b));
    case OP_POW: return a < 0 || (a == 0 && b < 0) ? NULL : fold_float(arena, pow(a, b));
    case OP_MINIMUM: return fold_float(arena, b < a ? b : a);
    case OP_MAXIMUM: return fold_float(arena, b > a ? b : a);
    case OP_EQ: return fold_bool(arena, a == b);
    case OP_NE: return fold_bool(arena, a != b);
    case OP_LT: return fold_bool(arena, a < b);
    case OP_LE: return fold_bool(arena, a <= b);
    case OP_GT: return fold_bool(arena, a > b);
    case OP_GE: return fold_bool(arena, a >= b);
    default: return NULL;
    }
}

/// Whether two constants are equal in Python; false in `*known` where that depends on the run-time kernel arguments.
static bool constants_equal(const Constant *a, const Constant *b, bool *known) {
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

static const Constant *fold_text(Arena *arena, OpCode code, Str a, Str b) {
    if (code == OP_ADD) {
        char *text = arena_printf(arena, "%.*s%.*s", STR_ARGS(a), STR_ARGS(b));
        return constant_copy(
            arena, (Constant){.kind = CONSTANT_STRING, .string = {text, a.size + b.size}});
    }
    return NULL;
}

static const Constant *fold_two(Arena *arena, OpCode code, const Constant *a, const Constant *b) {
    if (code == OP_LOGICAL_AND) return constant_truth(a) ? b : a;
    if (code == OP_LOGICAL_OR) return constant_truth(a) ? a : b;
    if (code == OP_EQ || code == OP_NE) {
        bool known;
        bool equal = constants_equal(a, b, &known);
        return known ? fold_bool(arena, equal == (code == OP_EQ)) : NULL;
    }
    if (a->kind == CONSTANT_STRING && b->kind == CONSTANT_STRING)
        return fold_text(arena, code, a->string, b->string);
    if (constant_is_int(a) && constant_is_int(b)) {
        bool both_bools = a->kind == CONSTANT_BOOL && b->kind == CONSTANT_BOOL;
        if (both_bools && (code == OP_AND || code == OP_OR || code == OP_XOR)) {
            const Constant *bits = fold_ints(arena, code, a->integer, b->integer);
            return fold_bool(arena, bits->integer != 0);
        }
        return fold_ints(arena, code, a->integer, b->integer);
    }
    if (constant_is_number(a) && constant_is_number(b))
        return fold_floats(arena, code, constant_number(a), constant_number(b));
    return NULL;
}

static const Constant *fold_log2(Arena *arena, const Constant *a) {
    if (!constant_is_int(a) || a->integer <= 0) return NULL;
    int64_t log = 0;
    while (a->integer >> (log + 1)) log++;
    return fold_int(arena, log);
}

static const Constant *fold_one(Arena *arena, OpCode code, const Constant *a) {
    switch (code) {
    case OP_LOGICAL_NOT: return fold_bool(arena, !constant_truth(a));
    case OP_IS_NONE: return fold_bool(arena, a->kind == CONSTANT_NONE);
    case OP_NEG:
        if (a->kind == CONSTANT_FLOAT) return fold_float(arena, -a->number);
        return constant_is_int(a) && a->integer != INT64_MIN ? fold_int(arena, -a->integer) : NULL;
    case OP_INTEGER_LOG2: return fold_log2(arena, a);
    case OP_INVERT: return constant_is_int(a) ? fold_int(arena, ~a->integer) : NULL;
    default: return NULL;
    }
}

/// `x is None` for what is certainly something; a kernel's own parameter may be given None.
static bool is_never_none(const Value *value) {
    if (value->region && !value->region->parent) return false;
    switch (value->type.kind) {
    case TYPE_NUMBER:
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER:
    case TYPE_DESCRIPTOR: return !value->type.is_constexpr;
    case TYPE_TUPLE: return true;
    default: return false;
    }
}

static const Constant *fold_dtype(Arena *arena, OpCode code, const Value *value) {
    Type type = value->type;
    bool pointer = type.kind == TYPE_POINTER;
    if (code == OP_ELEMENT_TYPE_OF) {
        // The operand is the pointer itself or its dtype.
        const Constant *dtype = value->constant;
        bool of_dtype = dtype && dtype->kind == CONSTANT_DTYPE && dtype->is_pointer;
        if (of_dtype)
            return constant_copy(arena, (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype->dtype});
        if (!pointer && type.kind != TYPE_BLOCK_POINTER) return NULL;
        pointer = false;
    } else if (!pointer && type.kind != TYPE_NUMBER && type.kind != TYPE_DESCRIPTOR) {
        return NULL;
    }
    if (type.is_constexpr || type.element.code == DTYPE_UNKNOWN) return NULL;
    bool abstract = type.element.code > DTYPE_UNKNOWN && type.element.code < DTYPE_OF_PARAMETER;
    if (abstract) return NULL;
    return constant_copy(
        arena, (Constant){.kind = CONSTANT_DTYPE, .dtype = type.element, .is_pointer = pointer});
}

const Constant *fold_op(Arena *arena, OpCode code, Value *const *operands, int operand_count) {
    Value *first = operand_count > 0 ? operands[0] : NULL;
    if (!first) return NULL;
    if (code == OP_DTYPE_OF || code == OP_ELEMENT_TYPE_OF) return fold_dtype(arena, code, first);
    if (code == OP_IS_NONE && !first->constant)
        return is_never_none(first) ? fold_bool(arena, false) : NULL;
    if (!op_stays_constexpr(code) && code != OP_IS_NONE) return NULL;
    if (!first->constant || constant_is_beyond_int64(first->constant)) return NULL;
    Value *second = operand_count > 1 ? operands[1] : NULL;
    if (!second) return fold_one(arena, code, first->constant);
    if (!second->constant || constant_is_beyond_int64(second->constant)) return NULL;
    return fold_two(arena, code, first->constant, second->constant);
}
