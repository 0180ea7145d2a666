// An abstract interpretation: each value is x -> x + a*c (additive) or x -> x * exp(w*c) (multiplicative), or neither.
#include "autodiff/addresses/shift.h"

#include <math.h>

#include "autodiff/rewrite/rewrite.h"

enum { MOST_FACTORS = 16 };  // of one number: beyond, it is a unit of its own

typedef enum ShiftKind {
    SHIFT_INVARIANT,
    SHIFT_ADDITIVE,        // by `amount`
    SHIFT_MULTIPLICATIVE,  // by exp(amount * c)
    SHIFT_ANY_SCALE,       // 0: scaled by anything it stays 0
    SHIFT_ANY_OFFSET,      // minus infinity: shifted by anything it stays
    SHIFT_BROKEN,
} ShiftKind;

/// The common c is a tile itself: one per row for the maxima of rows. `axes` are those along which it varies, counted
/// from the last (bit 0): nothing may be summed along them. A `symbol` is a number of the launch that the amount is
/// counted in, or NULL for 1: `m * scale` is shifted by scale * c.
typedef struct Shift {
    ShiftKind kind;
    double amount;
    unsigned axes;
    const Value *symbol;
} Shift;

typedef struct ShiftAnalysis {
    Arena *arena;
    Map shifts;
    const Map *seeds;
    const Map *relaxed;
    const Map *held;          // values that stay, or NULL
    const Function *forward;  // whose saved stores nobody sees; or NULL
    const Op *given;  // a loop whose results have their shifts already, whatever it does; or NULL
    bool visible;
} ShiftAnalysis;

static const Shift invariant = {.kind = SHIFT_INVARIANT};
static const Shift broken = {.kind = SHIFT_BROKEN};
static const Shift any_scale = {.kind = SHIFT_ANY_SCALE};
static const Shift any_offset = {.kind = SHIFT_ANY_OFFSET};

/// One like `shift`, by another amount.
static Shift shift_by(Shift shift, ShiftKind kind, double amount) {
    return fabs(amount) < 1e-12 ? invariant : (Shift){kind, amount, shift.axes, shift.symbol};
}

static unsigned all_axes(int rank) { return (1u << rank) - 1; }

/// The axes of a tile that have more than one element.
static unsigned long_axes(const Value *value) {
    unsigned axes = 0;
    int64_t length;
    for (int k = 0; k < value->type.rank; k++) {
        const Poly *dim = value->type.dims[k];
        if (!dim || !poly_is_constant(dim, &length) || length != 1)
            axes |= 1u << (value->type.rank - 1 - k);
    }
    return axes;
}

static Shift shift_get(const ShiftAnalysis *analysis, const Value *value) {
    if (!value) return invariant;
    if (map_has_pointer(analysis->seeds, value))
        return (Shift){SHIFT_ADDITIVE, .amount = 1, .axes = long_axes(value)};
    if (analysis->held && map_has_pointer(analysis->held, value)) return invariant;
    double number;
    if (value_is_number(value, &number)) {
        if (number == 0) return any_scale;
        if (isinf(number)) return any_offset;
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
    if (a.kind == b.kind && fabs(a.amount - b.amount) < 1e-9 && a.symbol == b.symbol)
        return (Shift){a.kind, a.amount, a.axes | b.axes, a.symbol};
    if (is_still(a) && is_still(b)) return invariant;  // `where(seen, 0, -inf)`
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

/// Whether both vary, along different axes or in different units: what one adds for a row the other does not take away.
static bool varies_apart(Shift a, Shift b) {
    return !is_still(a) && !is_still(b) && (a.axes != b.axes || a.symbol != b.symbol);
}

/// Of two that do not vary apart: their axes and units.
static Shift shift_of_both(Shift a, Shift b, ShiftKind kind, double amount) {
    a.axes |= b.axes;
    if (!a.symbol) a.symbol = b.symbol;
    return shift_by(a, kind, amount);
}

static Shift shift_sum(Shift a, Shift b, double sign) {
    if (a.kind == SHIFT_ANY_OFFSET || b.kind == SHIFT_ANY_OFFSET) return any_offset;
    if (varies_apart(a, b)) return broken;
    bool additive =
        (a.kind == SHIFT_ADDITIVE || is_still(a)) && (b.kind == SHIFT_ADDITIVE || is_still(b));
    if (additive) {
        if (a.kind == SHIFT_ANY_SCALE && b.kind == SHIFT_ANY_SCALE) return a;
        return shift_of_both(a, b, SHIFT_ADDITIVE,
                             (a.kind == SHIFT_ADDITIVE ? a.amount : 0) +
                                 sign * (b.kind == SHIFT_ADDITIVE ? b.amount : 0));
    }
    return shift_join(a, b);  // both scaled alike
}

static Shift shift_product(Shift a, Shift b, double sign) {
    if (a.kind == SHIFT_ANY_SCALE || (b.kind == SHIFT_ANY_SCALE && sign > 0)) return any_scale;
    bool scaled = (a.kind == SHIFT_MULTIPLICATIVE || is_still(a)) &&
                  (b.kind == SHIFT_MULTIPLICATIVE || is_still(b));
    if (!scaled || varies_apart(a, b)) return broken;
    return shift_of_both(a, b, SHIFT_MULTIPLICATIVE,
                         (a.kind == SHIFT_MULTIPLICATIVE ? a.amount : 0) +
                             sign * (b.kind == SHIFT_MULTIPLICATIVE ? b.amount : 0));
}

static const double LOG_2 = 0.69314718055994530942;

static Shift shift_of_exp(Shift x, double base_log) {
    if (x.kind == SHIFT_ADDITIVE) return shift_by(x, SHIFT_MULTIPLICATIVE, x.amount * base_log);
    if (x.kind == SHIFT_ANY_OFFSET) return any_scale;
    return is_still(x) ? invariant : broken;
}

static Shift shift_of_log(Shift x, double base_log) {
    if (x.kind == SHIFT_MULTIPLICATIVE) return shift_by(x, SHIFT_ADDITIVE, x.amount / base_log);
    if (x.kind == SHIFT_ANY_SCALE) return any_offset;
    return is_still(x) ? invariant : broken;
}

static const Value *bare(const Value *value) {
    while (value && value->op && (value->op->code == OP_FULL || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[value->op->code == OP_FULL ? 1 : 0];
    return value;
}

bool value_as_unit(const Value *value, double *number, const Value **unit) {
    *number = 1;
    value = bare(value);
    for (int steps = 0; value && steps < MOST_FACTORS; steps++) {
        const Op *op = value->op;
        double factor;
        if (value_is_number(value, &factor)) {
            *number *= factor;
            *unit = NULL;
            return isfinite(*number) && *number != 0;
        }
        bool is_product = op && op->code == OP_MUL;
        bool is_quotient = op && (op->code == OP_DIV || op->code == OP_FDIV);
        if ((is_product || is_quotient) && value_is_number(op->operands[1], &factor)) {
            *number = is_product ? *number * factor : *number / factor;
            value = op->operands[0];
        } else if (is_product && value_is_number(op->operands[0], &factor)) {
            *number *= factor;
            value = op->operands[1];
        } else if (op && op->code == OP_CAST) {
            value = op->operands[0];
        } else {
            break;
        }
    }
    *unit = value;
    if (!value) return false;
    const Region *region = value->op ? value->op->parent : value->region;
    return (!region || !region->parent) && value->type.kind == TYPE_NUMBER &&
           value->type.rank == 0 && !dtype_is_integer(value->type.element) && isfinite(*number) &&
           *number != 0;
}

/// Additive by a factor that is one number in all lanes and iterations: x * 1.44 shifts by 1.44 times as much.
static Shift shift_scaled(const ShiftAnalysis *analysis, Shift x, const Value *factor,
                          bool divides) {
    double number;
    const Value *unit;
    if (!value_as_unit(factor, &number, &unit) || !is_still(shift_get(analysis, factor)))
        return broken;
    if (unit && divides && x.symbol != unit) return broken;
    if (unit && !divides && x.symbol) return broken;
    if (unit) x.symbol = divides ? NULL : unit;
    return shift_by(x, SHIFT_ADDITIVE, divides ? x.amount / number : x.amount * number);
}

static Shift shift_of_product(const ShiftAnalysis *analysis, const Op *op) {
    Shift a = shift_get(analysis, op->operands[0]), b = shift_get(analysis, op->operands[1]);
    bool divides = op->code != OP_MUL;
    bool is_zero = a.kind == SHIFT_ANY_SCALE || (b.kind == SHIFT_ANY_SCALE && !divides);
    if (is_zero) return any_scale;
    if (a.kind == SHIFT_ADDITIVE) return shift_scaled(analysis, a, op->operands[1], divides);
    if (b.kind == SHIFT_ADDITIVE && !divides)
        return shift_scaled(analysis, b, op->operands[0], false);
    return shift_product(a, b, divides ? -1 : 1);
}

static bool all_still(const ShiftAnalysis *analysis, const Op *op, int from) {
    for (int i = from; i < op->operand_count; i++)
        if (!is_still(shift_get(analysis, op->operands[i]))) return false;
    return true;
}

/// Of a reduction: along its axis the shift must not vary.
static Shift shift_reduced(const Op *op, Shift x) {
    if (is_still(x) || x.kind == SHIFT_BROKEN || x.axes == 0) return x;
    const Value *tile = op->operands[0], *result = op->results[0];
    int64_t axis;
    if (op->operand_count < 2 || !op->operands[1] || !value_is_int(op->operands[1], &axis))
        return broken;  // over all axes
    if (axis < 0) axis += tile->type.rank;
    if (axis < 0 || axis >= tile->type.rank) return broken;
    unsigned bit = 1u << (tile->type.rank - 1 - (int)axis);
    if (x.axes & bit) return broken;
    if (result->type.rank < tile->type.rank)
        x.axes = (x.axes & (bit - 1)) | (x.axes / 2 & ~(bit - 1));
    return x;
}

/// Of a product whose sides are scaled along the inner dim alone, one as the other is not: each term stays as it is.
static bool scales_cancel(Shift a, Shift b) {
    return a.kind == SHIFT_MULTIPLICATIVE && b.kind == SHIFT_MULTIPLICATIVE && a.axes == 1 &&
           b.axes == 2 && fabs(a.amount + b.amount) < 1e-12 && a.symbol == b.symbol;
}

static Shift shift_of_dot(const ShiftAnalysis *analysis, const Op *op) {
    Shift a = shift_get(analysis, op->operands[0]), b = shift_get(analysis, op->operands[1]);
    bool is_still_inside = scales_cancel(a, b);
    if (!is_still_inside && ((a.axes & 1) || (b.axes & 2))) return broken;  // along the inner dim
    if ((a.axes | b.axes) & ~3u) return broken;
    // A side that is scaled by rows and one that is scaled by columns make another scale for each element.
    Shift product = is_still_inside ? invariant : shift_product(a, b, 1);
    return op->operands[2] && !value_is_none(op->operands[2])
               ? shift_join(product, shift_get(analysis, op->operands[2]))
               : product;
}

/// Whether a transposition is one of both axes of a matrix: without numbers of axes.
static bool swaps_axes(const Op *op) {
    for (int i = 1; i < op->operand_count; i++)
        if (op->operands[i] && !value_is_none(op->operands[i])) return false;
    return true;
}

/// Of an operation that moves elements.
static Shift shift_moved(const Op *op, Shift x) {
    int64_t axis;
    int rank = op->results[0]->type.rank;
    if (x.axes == 0) return x;
    if (op->code == OP_EXPAND_DIMS && value_is_int(op->operands[1], &axis)) {
        if (axis < 0) axis += rank;
        unsigned bit = 1u << (rank - 1 - (int)axis);
        x.axes = (x.axes & (bit - 1)) | ((x.axes & ~(bit - 1)) << 1);
    } else if (op->code == OP_TRANS && rank == 2 && swaps_axes(op)) {
        x.axes = (x.axes & 1) << 1 | (x.axes >> 1 & 1);
    } else if (op->code != OP_BROADCAST_TO) {
        x.axes = all_axes(rank);
    }
    return x;
}

/// `x == -inf` of what is shifted, `x == 0` and `x > 0` of what is scaled: they stay as they are.
static bool is_comparison_kept(const ShiftAnalysis *analysis, const Op *op) {
    bool is_equality = op->code == OP_EQ || op->code == OP_NE;
    if (!is_equality && !op_is_ordering(op->code)) return false;
    for (int i = 0; i < 2; i++) {
        double number;
        Shift other = shift_get(analysis, op->operands[1 - i]);
        if (!value_is_number(bare(op->operands[i]), &number)) continue;
        if (other.kind == SHIFT_ADDITIVE && isinf(number)) return true;
        if (other.kind == SHIFT_MULTIPLICATIVE && number == 0) return true;
    }
    return false;
}

/// `where(x == -inf, 0, x)` and `where(x == 0, 1, x)`: where nothing was seen, exponentials are 0 whatever is taken from
/// them, and sums of them are 0 whatever divides them. So it is x. -1: something else, else the branch that is x.
static int kept_branch(const ShiftAnalysis *analysis, const Op *op) {
    const Value *condition = op->operands[0];
    double number;
    if (!condition->op || !is_comparison_kept(analysis, condition->op)) return -1;
    for (int branch = 1; branch < 3; branch++)
        for (int i = 0; i < 2; i++)
            if (condition->op->operands[i] == op->operands[branch] &&
                value_is_number(bare(op->operands[3 - branch]), &number) && isfinite(number))
                return branch;
    return -1;
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
    case OP_WHERE: {
        int kept = kept_branch(analysis, op);
        if (kept > 0) return shift_get(analysis, op->operands[kept]);
        if (!is_still(first)) return broken;
        return shift_join(second, shift_get(analysis, op->operands[2]));
    }
    case OP_MAXIMUM:
    case OP_MINIMUM: {
        Shift joined = shift_join(first, second);
        return joined.kind == SHIFT_MULTIPLICATIVE || joined.kind == SHIFT_ADDITIVE ||
                       is_still(joined)
                   ? joined
                   : broken;
    }
    case OP_SUM:
        return first.kind == SHIFT_MULTIPLICATIVE || is_still(first) ? shift_reduced(op, first)
                                                                     : broken;
    case OP_MAX:
    case OP_MIN:
        if (op->result_count == 1) return shift_reduced(op, first);
        return is_still(first) ? invariant : broken;
    case OP_DOT: return shift_of_dot(analysis, op);
    case OP_FULL: return second;
    case OP_CAST: return first;
    case OP_UNDEFINED: return any_scale;
    default:
        if (op_has(op->code, TRAIT_LAYOUT)) return shift_moved(op, first);
        if (op_has(op->code, TRAIT_MOVES) && op_rows[op->code].kind == KIND_HINT) return first;
        return all_still(analysis, op, 0) || is_comparison_kept(analysis, op) ? invariant : broken;
    }
}

static void shift_region(ShiftAnalysis *analysis, const Region *region);

static bool shift_same(Shift a, Shift b) {
    return a.kind == b.kind && fabs(a.amount - b.amount) < 1e-9 && a.axes == b.axes &&
           a.symbol == b.symbol;
}

static bool is_inside(const Op *loop, const Value *value) {
    const Region *region = value->op ? value->op->parent : value->region;
    for (; region && region->parent; region = region->parent->parent)
        if (region->parent == loop) return true;
    return false;
}

/// Whether every iteration of the loop has another c: a seed is made in the body and not carried by the loop.
static bool seeds_are_of_an_iteration(const ShiftAnalysis *analysis, const Op *loop) {
    const Region *body = loop->regions[loop->region_count - 1];
    for (int i = 0; i < body->argument_count; i++)
        if (map_has_pointer(analysis->seeds, body->arguments[i])) return false;
    for (int i = 0; i < analysis->seeds->count; i++)
        if (is_inside(loop, (const Value *)(uintptr_t)analysis->seeds->entries[i].number))
            return true;
    return false;
}

/// Carried values: guess from the initial value, correct by what the body yields, give up where it does not settle.
static void shift_loop(ShiftAnalysis *analysis, const Op *op) {
    bool is_while = op->code == OP_WHILE;
    int first = is_while ? 0 : 3, argument = is_while ? 0 : 1;
    const Region *body = op->regions[is_while ? 1 : 0];
    for (int i = 0; i < op->result_count; i++) {
        bool relaxed =
            analysis->relaxed && map_has_pointer(analysis->relaxed, op->operands[first + i]);
        Shift start = relaxed ? any_scale : shift_get(analysis, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++)
            shift_set(analysis, op->regions[r]->arguments[argument + i], start);
    }
    for (int round = 0; round < 4; round++) {
        for (int r = 0; r < op->region_count; r++) shift_region(analysis, op->regions[r]);
        const Op *yield = region_terminator(body);
        bool settled = true, of_an_iteration = seeds_are_of_an_iteration(analysis, op);
        for (int i = 0; i < op->result_count; i++) {
            if (of_an_iteration && !is_still(shift_get(analysis, yield->operands[i])))
                analysis->visible = true;  // the next iteration has another c
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
            if (op == analysis->given) continue;
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
        bool is_saved = analysis->forward && op->code == OP_STORE &&
                        root_is_saved(analysis->forward, pointer_root(op->operands[0]));
        bool leaves = !is_saved && op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES |
                                                                EFFECT_ATOMIC | EFFECT_ORDERED);
        if (leaves && !all_still(analysis, op, 0)) analysis->visible = true;
        Shift shift = shift_of_op(analysis, op);
        for (int i = 0; i < op->result_count; i++) shift_set(analysis, op->results[i], shift);
    }
}

bool shift_is_invisible(Arena *arena, const Function *function, const Map *seeds,
                        const Map *relaxed, const Map *held) {
    ShiftAnalysis analysis = {.arena = arena,
                              .shifts = map_new(arena),
                              .seeds = seeds,
                              .relaxed = relaxed,
                              .held = held,
                              .forward = function};
    shift_region(&analysis, function->body);
    return !analysis.visible;
}

static void shift_results(ShiftAnalysis *analysis, const Op *loop, const StateShift *states) {
    static const ShiftKind kinds[] = {[STATE_STAYS] = SHIFT_INVARIANT,
                                      [STATE_SHIFTED] = SHIFT_ADDITIVE,
                                      [STATE_SCALED] = SHIFT_MULTIPLICATIVE};
    analysis->given = loop;
    for (int i = 0; i < loop->result_count; i++)
        shift_set(analysis, loop->results[i],
                  (Shift){kinds[states[i].kind], states[i].amount, states[i].axes, states[i].unit});
}

bool states_may_be_scaled(Arena *arena, const Function *function, const Op *loop,
                          const StateShift *states) {
    const Map none = map_new(arena);
    ShiftAnalysis analysis = {.arena = arena, .shifts = map_new(arena), .seeds = &none};
    shift_results(&analysis, loop, states);
    shift_region(&analysis, function->body);
    return !analysis.visible;
}

/* ---- of one value ---- */

struct ShiftedValues {
    ShiftAnalysis analysis;
    Map seeds;
};

/// The results of a loop when one of them is shifted; false where another has other axes.
static bool shift_loop_of(ShiftAnalysis *analysis, const Value *seed, double base) {
    const Op *loop = seed->op;
    StateShift *states = ARENA_ARRAY(analysis->arena, StateShift, loop->result_count);
    for (int i = 0; i < loop->result_count; i++) {
        const Value *result = loop->results[i];
        if (dtype_is_integer(result->type.element)) continue;  // it stays
        if (result->type.rank != seed->type.rank || long_axes(result) != long_axes(seed))
            return false;
        states[i] = (StateShift){STATE_SCALED, -base, long_axes(seed), NULL};
        if (result == seed) states[i] = (StateShift){STATE_SHIFTED, 1, long_axes(seed), NULL};
    }
    shift_results(analysis, loop, states);
    return true;
}

const ShiftedValues *values_when_shifted(Arena *arena, const Function *function, const Value *seed,
                                         double base, const Map *held) {
    ShiftedValues *shifted = ARENA_NEW(arena, ShiftedValues);
    *shifted = (ShiftedValues){.analysis = {.arena = arena, .shifts = map_new(arena), .held = held},
                               .seeds = map_new(arena)};
    shifted->analysis.seeds = &shifted->seeds;
    if (base == 0)
        map_set_pointer(&shifted->seeds, seed, &shifted->seeds);
    else if (!shift_loop_of(&shifted->analysis, seed, base))
        return NULL;
    shift_region(&shifted->analysis, function->body);
    return shifted->analysis.visible ? NULL : shifted;
}

bool value_when_shifted(const ShiftedValues *shifted, const Value *value, StateShift *shift) {
    const Shift found = shift_get(&shifted->analysis, value);
    *shift = (StateShift){STATE_STAYS, found.amount, found.axes, found.symbol};
    if (found.kind == SHIFT_ADDITIVE) shift->kind = STATE_SHIFTED;
    if (found.kind == SHIFT_MULTIPLICATIVE) shift->kind = STATE_SCALED;
    return found.kind != SHIFT_BROKEN;
}
