// An abstract interpretation: each value is x -> x + a*c (additive) or x -> x * exp(w*c) (multiplicative), or neither.
#include "autodiff/shift.h"

#include <math.h>

typedef enum ShiftKind {
    SHIFT_INVARIANT,
    SHIFT_ADDITIVE,        // by `amount`
    SHIFT_MULTIPLICATIVE,  // by exp(amount * c)
    SHIFT_ANY_SCALE,       // 0: scaled by anything it stays 0
    SHIFT_ANY_OFFSET,      // minus infinity: shifted by anything it stays
    SHIFT_BROKEN,
} ShiftKind;

typedef struct Shift {
    ShiftKind kind;
    double amount;
} Shift;

typedef struct ShiftAnalysis {
    Arena *arena;
    Map shifts;
    const Map *seeds;
    const Map *relaxed;
    bool visible;
} ShiftAnalysis;

static const Shift invariant = {SHIFT_INVARIANT, 0};
static const Shift broken = {SHIFT_BROKEN, 0};

static Shift shift_make(ShiftKind kind, double amount) {
    return fabs(amount) < 1e-12 ? invariant : (Shift){kind, amount};
}

static Shift shift_get(const ShiftAnalysis *analysis, const Value *value) {
    if (!value) return invariant;
    if (map_has_pointer(analysis->seeds, value)) return (Shift){SHIFT_ADDITIVE, 1};
    double number;
    if (value_is_number(value, &number)) {
        if (number == 0) return (Shift){SHIFT_ANY_SCALE, 0};
        if (isinf(number)) return (Shift){SHIFT_ANY_OFFSET, 0};
        return invariant;
    }
    Shift *shift = map_get_pointer(&analysis->shifts, value);
    return shift ? *shift : invariant;
}

static void shift_set(ShiftAnalysis *analysis, const Value *value, Shift shift) {
    Shift *copy = ARENA_NEW(analysis->arena, Shift);
    *copy = shift;
    map_set_pointer(&analysis->shifts, value, copy);
}

static bool is_still(Shift shift) {
    return shift.kind == SHIFT_INVARIANT || shift.kind == SHIFT_ANY_SCALE ||
           shift.kind == SHIFT_ANY_OFFSET;
}

/// The common shift of two values of which either may be the result.
static Shift shift_join(Shift a, Shift b) {
    if (a.kind == b.kind && fabs(a.amount - b.amount) < 1e-9) return a;
    if (a.kind == SHIFT_ANY_SCALE && (b.kind == SHIFT_MULTIPLICATIVE || b.kind == SHIFT_INVARIANT))
        return b;
    if (b.kind == SHIFT_ANY_SCALE && (a.kind == SHIFT_MULTIPLICATIVE || a.kind == SHIFT_INVARIANT))
        return a;
    if (a.kind == SHIFT_ANY_OFFSET && (b.kind == SHIFT_ADDITIVE || b.kind == SHIFT_INVARIANT))
        return b;
    if (b.kind == SHIFT_ANY_OFFSET && (a.kind == SHIFT_ADDITIVE || a.kind == SHIFT_INVARIANT))
        return a;
    return broken;
}

static Shift shift_sum(Shift a, Shift b, double sign) {
    if (a.kind == SHIFT_ANY_OFFSET || b.kind == SHIFT_ANY_OFFSET)
        return (Shift){SHIFT_ANY_OFFSET, 0};
    bool additive =
        (a.kind == SHIFT_ADDITIVE || is_still(a)) && (b.kind == SHIFT_ADDITIVE || is_still(b));
    if (additive) {
        if (a.kind == SHIFT_ANY_SCALE && b.kind == SHIFT_ANY_SCALE) return a;
        return shift_make(SHIFT_ADDITIVE, (a.kind == SHIFT_ADDITIVE ? a.amount : 0) +
                                              sign * (b.kind == SHIFT_ADDITIVE ? b.amount : 0));
    }
    return shift_join(a, b);  // both scaled alike
}

static Shift shift_product(Shift a, Shift b, double sign) {
    if (a.kind == SHIFT_ANY_SCALE || (b.kind == SHIFT_ANY_SCALE && sign > 0))
        return (Shift){SHIFT_ANY_SCALE, 0};
    bool scaled = (a.kind == SHIFT_MULTIPLICATIVE || is_still(a)) &&
                  (b.kind == SHIFT_MULTIPLICATIVE || is_still(b));
    if (!scaled) return broken;
    return shift_make(SHIFT_MULTIPLICATIVE,
                      (a.kind == SHIFT_MULTIPLICATIVE ? a.amount : 0) +
                          sign * (b.kind == SHIFT_MULTIPLICATIVE ? b.amount : 0));
}

static const double LOG_2 = 0.69314718055994530942;

static Shift shift_of_exp(Shift x, double base_log) {
    if (x.kind == SHIFT_ADDITIVE) return shift_make(SHIFT_MULTIPLICATIVE, x.amount * base_log);
    if (x.kind == SHIFT_ANY_OFFSET) return (Shift){SHIFT_ANY_SCALE, 0};
    return is_still(x) ? invariant : broken;
}

static Shift shift_of_log(Shift x, double base_log) {
    if (x.kind == SHIFT_MULTIPLICATIVE) return shift_make(SHIFT_ADDITIVE, x.amount / base_log);
    if (x.kind == SHIFT_ANY_SCALE) return (Shift){SHIFT_ANY_OFFSET, 0};
    return is_still(x) ? invariant : broken;
}

/// Additive by a known constant factor: x * 1.44 shifts by 1.44 times as much.
static Shift shift_of_product(const ShiftAnalysis *analysis, const Op *op) {
    Shift a = shift_get(analysis, op->operands[0]), b = shift_get(analysis, op->operands[1]);
    double factor;
    double sign = op->code == OP_MUL ? 1 : -1;
    if (a.kind == SHIFT_ADDITIVE && value_is_number(op->operands[1], &factor) && factor != 0)
        return shift_make(SHIFT_ADDITIVE, sign > 0 ? a.amount * factor : a.amount / factor);
    if (sign > 0 && b.kind == SHIFT_ADDITIVE && value_is_number(op->operands[0], &factor))
        return shift_make(SHIFT_ADDITIVE, b.amount * factor);
    return shift_product(a, b, sign);
}

static bool all_still(const ShiftAnalysis *analysis, const Op *op, int from) {
    for (int i = from; i < op->operand_count; i++)
        if (!is_still(shift_get(analysis, op->operands[i]))) return false;
    return true;
}

static Shift shift_of_op(const ShiftAnalysis *analysis, const Op *op) {
    Shift first = op->operand_count ? shift_get(analysis, op->operands[0]) : invariant;
    Shift second = op->operand_count > 1 ? shift_get(analysis, op->operands[1]) : invariant;
    switch (op->code) {
    case OP_ADD: return shift_sum(first, second, 1);
    case OP_SUB: return shift_sum(first, second, -1);
    case OP_MUL:
    case OP_DIV:
    case OP_FDIV:
    case OP_DIV_RN: return shift_of_product(analysis, op);
    case OP_NEG:
        if (first.kind == SHIFT_ADDITIVE) first.amount = -first.amount;
        return first;
    case OP_EXP: return shift_of_exp(first, 1);
    case OP_EXP2: return shift_of_exp(first, LOG_2);
    case OP_LOG: return shift_of_log(first, 1);
    case OP_LOG2: return shift_of_log(first, LOG_2);
    case OP_WHERE:
        if (!is_still(first)) return broken;
        return shift_join(second, shift_get(analysis, op->operands[2]));
    case OP_MAXIMUM:
    case OP_MINIMUM: {
        Shift joined = shift_join(first, second);
        return joined.kind == SHIFT_MULTIPLICATIVE || joined.kind == SHIFT_ADDITIVE ||
                       is_still(joined)
                   ? joined
                   : broken;
    }
    case OP_SUM: return first.kind == SHIFT_MULTIPLICATIVE || is_still(first) ? first : broken;
    case OP_MAX:
    case OP_MIN: return op->result_count == 1 ? first : is_still(first) ? invariant : broken;
    case OP_DOT: {
        Shift product = shift_product(first, second, 1);
        return op->operands[2] && !value_is_none(op->operands[2])
                   ? shift_join(product, shift_get(analysis, op->operands[2]))
                   : product;
    }
    case OP_FULL: return second;
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_RESHAPE:
    case OP_VIEW:
    case OP_TRANS:
    case OP_PERMUTE:
    case OP_MULTIPLE_OF:
    case OP_MAX_CONTIGUOUS: return first;
    case OP_UNDEFINED: return (Shift){SHIFT_ANY_SCALE, 0};
    default: return all_still(analysis, op, 0) ? invariant : broken;
    }
}

static void shift_region(ShiftAnalysis *analysis, const Region *region);

static bool shift_same(Shift a, Shift b) {
    return a.kind == b.kind && fabs(a.amount - b.amount) < 1e-9;
}

/// Carried values: guess from the initial value, correct by what the body yields, give up where it does not settle.
static void shift_loop(ShiftAnalysis *analysis, const Op *op) {
    bool is_while = op->code == OP_WHILE;
    int first = is_while ? 0 : 3, argument = is_while ? 0 : 1;
    const Region *body = op->regions[is_while ? 1 : 0];
    for (int i = 0; i < op->result_count; i++) {
        bool relaxed =
            analysis->relaxed && map_has_pointer(analysis->relaxed, op->operands[first + i]);
        Shift start =
            relaxed ? (Shift){SHIFT_ANY_SCALE, 0} : shift_get(analysis, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++)
            shift_set(analysis, op->regions[r]->arguments[argument + i], start);
    }
    for (int round = 0; round < 4; round++) {
        for (int r = 0; r < op->region_count; r++) shift_region(analysis, op->regions[r]);
        const Op *yield = region_terminator(body);
        bool settled = true;
        for (int i = 0; i < op->result_count; i++) {
            Shift now = shift_get(analysis, body->arguments[argument + i]);
            Shift next = shift_join(now, shift_get(analysis, yield->operands[i]));
            if (map_has_pointer(analysis->seeds, body->arguments[argument + i])) next = now;
            if (!shift_same(now, next)) settled = false;
            for (int r = 0; r < op->region_count; r++)
                shift_set(analysis, op->regions[r]->arguments[argument + i], next);
            shift_set(analysis, op->results[i], next);
        }
        if (settled) return;
    }
    for (int i = 0; i < op->result_count; i++) shift_set(analysis, op->results[i], broken);
}

static void shift_region(ShiftAnalysis *analysis, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        switch (op->code) {
        case OP_YIELD: continue;
        case OP_FOR:
        case OP_STATIC_FOR:
            if (!is_still(shift_get(analysis, op->operands[0])) ||
                !is_still(shift_get(analysis, op->operands[1])))
                analysis->visible = true;
            shift_loop(analysis, op);
            continue;
        case OP_WHILE: shift_loop(analysis, op); continue;
        case OP_CONDITION:
            if (!is_still(shift_get(analysis, op->operands[0]))) analysis->visible = true;
            continue;
        case OP_IF:
            if (!is_still(shift_get(analysis, op->operands[0]))) analysis->visible = true;
            for (int r = 0; r < 2; r++) shift_region(analysis, op->regions[r]);
            for (int i = 0; i < op->result_count; i++)
                shift_set(analysis, op->results[i],
                          shift_join(
                              shift_get(analysis, region_terminator(op->regions[0])->operands[i]),
                              shift_get(analysis, region_terminator(op->regions[1])->operands[i])));
            continue;
        default: break;
        }
        bool leaves = op_rows[op->code].effects &
                      (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
        if (leaves && !all_still(analysis, op, 0)) analysis->visible = true;
        Shift shift = shift_of_op(analysis, op);
        for (int i = 0; i < op->result_count; i++) shift_set(analysis, op->results[i], shift);
    }
}

bool shift_is_invisible(Arena *arena, const Function *function, const Map *seeds,
                        const Map *relaxed) {
    ShiftAnalysis analysis = {
        .arena = arena, .shifts = map_new(arena), .seeds = seeds, .relaxed = relaxed};
    shift_region(&analysis, function->body);
    return !analysis.visible;
}
