// Lanes beyond a mask through the operations of a kernel: numbers that are known there, what may be 0, infinite or no number.
#include "autodiff/padding.h"

PadAxis pad_join(PadAxis a, PadAxis b) {
    if (a.kind > b.kind) {
        PadAxis swapped = a;
        a = b;
        b = swapped;
    }
    Value *label = a.label == b.label || pad_is_nothing(a) ? b.label : NULL;
    Slope slope = a.slope == b.slope ? a.slope : SLOPE_ANY;
    PadAxis result = b;
    if (a.kind == PAD_CONSTANT && b.kind == PAD_CONSTANT && a.number != b.number)
        result = pad_ordinary;
    else if (a.kind == PAD_ORDINARY && b.kind == PAD_KNOWN)
        result = isinf(b.number) ? (PadAxis){.kind = PAD_UNBOUNDED}
                 : b.number == 0 ? pad_odd
                                 : pad_ordinary;
    else if (a.kind == PAD_KNOWN && b.kind == PAD_KNOWN && a.number != b.number)
        result = isinf(a.number) || isinf(b.number) ? (PadAxis){.kind = PAD_UNBOUNDED} : pad_odd;
    else if (a.kind == PAD_KNOWN && isinf(a.number) && b.kind == PAD_ODD)
        result.kind = PAD_UNBOUNDED;
    result.label = label;
    result.beyond = a.beyond == b.beyond ? a.beyond : NULL;
    result.slope = slope;
    return result;
}

static PadAxis pad_folded(OpCode code, PadAxis a, PadAxis b) {
    PadKind kind = a.kind == PAD_KNOWN || b.kind == PAD_KNOWN ? PAD_KNOWN : PAD_CONSTANT;
    double x = a.number, y = b.number;
    switch (code) {
    case OP_ADD: return pad_number(kind, x + y);
    case OP_SUB: return pad_number(kind, x - y);
    case OP_MUL: return pad_number(kind, x * y);
    case OP_DIV:
    case OP_FDIV:
    case OP_DIV_RN: return pad_number(kind, x / y);
    case OP_MAXIMUM: return pad_number(kind, fmax(x, y));
    case OP_MINIMUM: return pad_number(kind, fmin(x, y));
    case OP_POW: return pad_number(kind, pow(x, y));
    case OP_EQ: return pad_number(kind, x == y);
    case OP_NE: return pad_number(kind, x != y);
    case OP_LT: return pad_number(kind, x < y);
    case OP_LE: return pad_number(kind, x <= y);
    case OP_GT: return pad_number(kind, x > y);
    case OP_GE: return pad_number(kind, x >= y);
    default: return kind == PAD_CONSTANT ? pad_ordinary : pad_odd;
    }
}

static PadAxis pad_sum(PadAxis a, PadAxis b, bool minus, bool b_is_uniform) {
    if (pad_is_infinite(a)) return b.kind == PAD_UNBOUNDED || pad_is_infinite(b) ? pad_bad : a;
    if (pad_is_infinite(b)) {
        if (a.kind == PAD_UNBOUNDED) return pad_bad;
        if (minus) b.number = -b.number;
        return b;
    }
    if (a.kind == PAD_UNBOUNDED || b.kind == PAD_UNBOUNDED)
        return a.kind == b.kind ? pad_bad : (PadAxis){.kind = PAD_UNBOUNDED};
    if (a.kind == PAD_ODD && b_is_uniform && !minus && !pad_is_zero(b))
        return pad_ordinary;  // an epsilon
    return a.kind == PAD_ODD || b.kind == PAD_ODD ? pad_odd : pad_ordinary;
}

PadAxis pad_product(PadAxis a, PadAxis b) {
    if (a.kind > b.kind) {
        PadAxis swapped = a;
        a = b;
        b = swapped;
    }
    if (pad_is_zero(a) || pad_is_zero(b)) {
        PadAxis zero = pad_is_zero(a) ? a : b, other = pad_is_zero(a) ? b : a;
        return other.kind == PAD_UNBOUNDED || pad_is_infinite(other) ? pad_bad : zero;
    }
    if (b.kind == PAD_UNBOUNDED) return a.kind == PAD_ODD ? pad_bad : b;
    if (pad_is_infinite(a) || pad_is_infinite(b)) {
        PadAxis infinite = pad_is_infinite(a) ? a : b, other = pad_is_infinite(a) ? b : a;
        return other.kind == PAD_ODD ? pad_bad : infinite;
    }
    return b.kind == PAD_ODD ? pad_odd : pad_ordinary;
}

static PadAxis pad_quotient(PadAxis a, PadAxis b) {
    if (pad_is_zero(b) || b.kind == PAD_ODD) return pad_bad;
    if (b.kind == PAD_UNBOUNDED || pad_is_infinite(b))
        return a.kind == PAD_UNBOUNDED || pad_is_infinite(a) ? pad_bad : pad_odd;
    if (a.kind == PAD_KNOWN && !pad_is_zero(a) && !pad_is_infinite(a)) return pad_ordinary;
    return a.kind == PAD_CONSTANT ? pad_ordinary : a;
}

static PadAxis pad_extreme(PadAxis a, PadAxis b, bool is_maximum) {
    if (a.kind > b.kind) {
        PadAxis swapped = a;
        a = b;
        b = swapped;
    }
    if (pad_is_infinite(a) && is_maximum && a.number < 0) return b;
    if (pad_is_infinite(b) && is_maximum && b.number < 0) return a;
    if (a.kind == PAD_CONSTANT) return pad_ordinary;  // kept away from what lies beyond it
    if (b.kind == PAD_UNBOUNDED && is_maximum) return a.kind == PAD_KNOWN ? pad_odd : a;
    return pad_join(a, b);
}

PadAxis pad_of_comparison(OpCode code, PadAxis a, PadAxis b) {
    if (a.slope != SLOPE_NONE || b.slope != SLOPE_NONE) {
        bool up = (a.slope == SLOPE_UP && (b.slope == SLOPE_NONE || b.slope == SLOPE_DOWN)) ||
                  (a.slope == SLOPE_NONE && b.slope == SLOPE_DOWN);
        bool down = (a.slope == SLOPE_DOWN && (b.slope == SLOPE_NONE || b.slope == SLOPE_UP)) ||
                    (a.slope == SLOPE_NONE && b.slope == SLOPE_UP);
        // lanes beyond have the larger index: what holds for the last that counts holds for them
        bool holds =
            (up && (code == OP_GT || code == OP_GE)) || (down && (code == OP_LT || code == OP_LE));
        return holds ? pad_ordinary : pad_odd;
    }
    return a.kind <= PAD_ORDINARY && b.kind <= PAD_ORDINARY ? pad_ordinary : pad_odd;
}

static PadAxis pad_conjunction(PadAxis a, PadAxis b) {
    if (pad_is_zero(a)) return a;
    if (pad_is_zero(b)) return b;
    if (a.kind == PAD_KNOWN) return b;
    if (b.kind == PAD_KNOWN) return a;
    return a.kind <= PAD_ORDINARY && b.kind <= PAD_ORDINARY ? pad_ordinary : pad_odd;
}

static PadAxis pad_disjunction(PadAxis a, PadAxis b) {
    if (pad_has_number(a) && a.number != 0) return a;
    if (pad_has_number(b) && b.number != 0) return b;
    if (a.kind == PAD_KNOWN) return b;
    if (b.kind == PAD_KNOWN) return a;
    return a.kind <= PAD_ORDINARY && b.kind <= PAD_ORDINARY ? pad_ordinary : pad_odd;
}

/// `where(x == 0, 1, x)` and its like: the author's own guard.
static bool is_guarded(const Op *op) {
    const Value *condition = op->operands[0];
    for (int arm = 1; arm < 3; arm++) {
        double number;
        const Value *kept = op->operands[arm], *other = op->operands[3 - arm];
        if (!condition->op || condition->op->operand_count < 2 || !other) continue;
        while (other->op && (other->op->code == OP_FULL || other->op->code == OP_BROADCAST_TO))
            other = other->op->operands[other->op->code == OP_FULL ? 1 : 0];
        if (!value_is_number(other, &number) || isinf(number)) continue;
        if (op_is_comparison(condition->op->code) &&
            (condition->op->operands[0] == kept || condition->op->operands[1] == kept))
            return true;
    }
    return false;
}

PadAxis pad_chosen(const Op *op, PadAxis condition, PadAxis x, PadAxis y) {
    if (pad_has_number(condition)) return condition.number != 0 ? x : y;
    if (condition.kind <= PAD_ORDINARY) return pad_join(x, y);
    if (is_guarded(op)) return pad_ordinary;
    if (x.kind == PAD_BAD || y.kind == PAD_BAD) return pad_bad;
    if (x.kind == PAD_UNBOUNDED || y.kind == PAD_UNBOUNDED || pad_is_infinite(x) ||
        pad_is_infinite(y))
        return (PadAxis){.kind = PAD_UNBOUNDED};
    bool fine = !pad_is_zero(x) && !pad_is_zero(y) && x.kind <= PAD_KNOWN && y.kind <= PAD_KNOWN;
    if (pad_is_zero(x) && pad_is_zero(y)) return pad_join(x, y);
    return fine ? pad_ordinary : pad_odd;
}

PadAxis pad_of_unary(OpCode code, PadAxis a) {
    bool known = pad_has_number(a);
    switch (code) {
    case OP_EXP:
    case OP_EXP2:
        if (known) return pad_number(a.kind, code == OP_EXP ? exp(a.number) : exp2(a.number));
        if (a.kind == PAD_UNBOUNDED) return pad_odd;
        return a.kind == PAD_BAD ? pad_bad : pad_ordinary;
    case OP_LOG:
    case OP_LOG2:
        if (known) return pad_number(a.kind, log(a.number) / (code == OP_LOG ? 1 : log(2)));
        if (a.kind == PAD_ODD) return (PadAxis){.kind = PAD_UNBOUNDED};
        return a.kind > PAD_ODD ? pad_bad : a;
    case OP_SQRT:
    case OP_SQRT_RN: return known ? pad_number(a.kind, sqrt(a.number)) : a;
    case OP_RSQRT:
        if (known) return pad_number(a.kind, 1 / sqrt(a.number));
        return a.kind >= PAD_ODD ? pad_bad : a;
    case OP_NEG:
        a.number = -a.number;
        if (a.slope == SLOPE_UP || a.slope == SLOPE_DOWN)
            a.slope = a.slope == SLOPE_UP ? SLOPE_DOWN : SLOPE_UP;
        return a;
    case OP_ABS: a.number = fabs(a.number); return a;
    case OP_INVERT:
    case OP_LOGICAL_NOT: a.number = a.number == 0; return a;
    default:
        if (a.kind == PAD_UNBOUNDED) return pad_odd;
        return a.kind == PAD_KNOWN ? pad_odd : a;
    }
}

Slope slope_of_binary(OpCode code, Slope a, Slope b) {
    if (code == OP_SUB && (b == SLOPE_UP || b == SLOPE_DOWN))
        b = b == SLOPE_UP ? SLOPE_DOWN : SLOPE_UP;
    switch (code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MAXIMUM:
    case OP_MINIMUM: return a == b || b == SLOPE_NONE ? a : a == SLOPE_NONE ? b : SLOPE_ANY;
    case OP_MUL: return b == SLOPE_NONE ? a : a == SLOPE_NONE ? b : SLOPE_ANY;
    case OP_FLOORDIV: return b == SLOPE_NONE ? a : SLOPE_ANY;
    default: return a == SLOPE_NONE && b == SLOPE_NONE ? SLOPE_NONE : SLOPE_ANY;
    }
}

PadAxis pad_of_binary(OpCode code, PadAxis a, PadAxis b, bool a_uniform, bool b_uniform) {
    if (a.kind == PAD_BAD || b.kind == PAD_BAD) return pad_bad;
    if (pad_has_number(a) && pad_has_number(b)) return pad_folded(code, a, b);
    switch (code) {
    case OP_ADD: return b_uniform ? pad_sum(a, b, false, true) : pad_sum(b, a, false, a_uniform);
    case OP_SUB: return pad_sum(a, b, true, false);
    case OP_MUL: return pad_product(a, b);
    case OP_DIV:
    case OP_FDIV:
    case OP_DIV_RN: return pad_quotient(a, b);
    case OP_MAXIMUM:
    case OP_MINIMUM: return pad_extreme(a, b, code == OP_MAXIMUM);
    case OP_AND:
    case OP_LOGICAL_AND: return pad_conjunction(a, b);
    case OP_OR:
    case OP_LOGICAL_OR: return pad_disjunction(a, b);
    default: break;
    }
    if (a.kind == PAD_UNBOUNDED || b.kind == PAD_UNBOUNDED) return pad_bad;
    return a.kind <= PAD_ORDINARY && b.kind <= PAD_ORDINARY ? pad_ordinary : pad_odd;
}
