// From the address and the mask of a store to whether two of its lanes may write to one element.
//
// An affine address is seen by its weights. Of any other one each operation is asked whether it maps different lanes to
// different numbers: `x // c` and `x % c` together do, `minimum(x, n - 1)` does where the mask keeps x below n.
#include "autodiff/programs/store_lanes.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/programs/stores.h"

enum { DEPTH_MAX = 64 };

/// A comparison of integers: base + the lanes' weights (those that are not 0, in order) >= 0.
typedef struct Margin {
    bool known;
    const Poly *base;
    int count;
    const Poly *lanes[TYPE_MAX_RANK];
    int rank, axes[TYPE_MAX_RANK];  // whose they are, counted from the right: the last is 1
} Margin;

/// Which of the pointer's axes those of a value are, both from 1, from the right; 0: not known.
typedef struct StoreAxes {
    int of[TYPE_MAX_RANK + 1];
} StoreAxes;

/// A condition that a mask holds.
typedef struct Conjunct {
    Value *condition;
    StoreAxes axes;
} Conjunct;

/// `x // weight`, or `x // weight % count`: digits of x.
typedef struct LaneDigit {
    Value *whole;
    StoreAxes axes;
    const Poly *weight, *count;  // count NULL: the topmost
    Value *modulus;              // of `whole % modulus` alone
} LaneDigit;

typedef struct LaneWalk {
    Arena *arena;
    Value *mask;
    LIST(Conjunct) conjuncts;  // of the mask
    LIST(LaneDigit) digits;
    StoreAxes axes;  // of what is visited
    Map seen;
    Map lanes;          // value -> what lanes_of found, plus 1
    LaneMeeting found;  // `besides` and its reason: of all notes but those of wraps
    LaneWrap wraps[TYPE_MAX_RANK];
    int wrap_count;
} LaneWalk;

static void note_meeting(LaneWalk *walk, Meeting meeting, const char *why) {
    if (meeting <= walk->found.meeting) return;
    walk->found.meeting = meeting;
    walk->found.why = why;
}

static void note(LaneWalk *walk, Meeting meeting, const char *why) {
    note_meeting(walk, meeting, why);
    if (meeting <= walk->found.besides) return;
    walk->found.besides = meeting;
    walk->found.besides_why = why;
}

static bool is_one(const Poly *dim) {
    int64_t number;
    return dim && poly_is_constant(dim, &number) && number == 1;
}

/* ---- along which dimensions a value varies ---- */

static unsigned all_lanes(const Value *value) { return (1u << value->type.rank) - 1; }

static unsigned lanes_of(LaneWalk *walk, const Value *value, int depth);

static unsigned operand_lanes(LaneWalk *walk, const Value *value, int index, int depth) {
    const Value *operand = value->op->operands[index];
    if (!operand || operand->type.rank > value->type.rank) return 0;
    return lanes_of(walk, operand, depth + 1) << (value->type.rank - operand->type.rank);
}

static unsigned compute_lanes(LaneWalk *walk, const Value *value, int depth) {
    const Op *op = value->op;
    int64_t axis;
    if (value->type.rank == 0) return 0;
    if (!op || op->region_count || depth > DEPTH_MAX) return all_lanes(value);
    switch (op->code) {
    case OP_FULL: return 0;
    case OP_EXPAND_DIMS: {
        if (!value_is_int(op->operands[1], &axis)) return all_lanes(value);
        if (axis < 0) axis += value->type.rank;
        unsigned inner = lanes_of(walk, op->operands[0], depth + 1);
        unsigned below = inner & ((1u << axis) - 1);
        return below | (inner & ~((1u << axis) - 1)) << 1;
    }
    case OP_BROADCAST_TO:
    case OP_CAST:
    case OP_LOAD:
    case OP_WHERE: break;
    default:
        if (op_has(op->code, TRAIT_LAYOUT))
            return lanes_of(walk, op->operands[0], depth + 1) ? all_lanes(value) : 0;
        if (!op_rows[op->code].has_value) return all_lanes(value);
    }
    unsigned lanes = 0;
    int count = op->code == OP_BROADCAST_TO || op->code == OP_CAST ? 1 : op->operand_count;
    for (int i = 0; i < count; i++) lanes |= operand_lanes(walk, value, i, depth);
    return lanes;
}

/// The dimensions (bit k for dimension k) along which a value may differ from lane to lane.
static unsigned lanes_of(LaneWalk *walk, const Value *value, int depth) {
    uintptr_t known = (uintptr_t)map_get_pointer(&walk->lanes, value);
    if (known) return (unsigned)known - 1;
    unsigned lanes = compute_lanes(walk, value, depth);
    map_set_pointer(&walk->lanes, value, (void *)((uintptr_t)lanes + 1));
    return lanes;
}

static bool varies(LaneWalk *walk, const Value *value) { return lanes_of(walk, value, 0) != 0; }

/// Axes of what an OP_EXPAND_DIMS expands.
static StoreAxes axes_within(StoreAxes axes, const Value *value) {
    int64_t axis;
    if (!value_is_int(value->op->operands[1], &axis)) return (StoreAxes){0};
    int rank = value->type.rank, added = (int)(axis < 0 ? -axis : rank - axis);
    for (int i = added; i < rank; i++) axes.of[i] = axes.of[i + 1];
    return axes;
}

static bool are_same_axes(const StoreAxes *a, const StoreAxes *b, int rank) {
    for (int i = 1; i <= rank; i++)
        if (!a->of[i] || a->of[i] != b->of[i]) return false;
    return true;
}

/* ---- what the mask says ---- */

static void add_conjuncts(LaneWalk *walk, Conjunct mask, int depth) {
    Value *value = mask.condition;
    if (!value || depth > DEPTH_MAX) return;
    OpCode code = value->op ? value->op->code : OP_CONSTANT;
    if (code == OP_AND) {
        for (int i = 0; i < 2; i++) {
            mask.condition = value->op->operands[i];
            add_conjuncts(walk, mask, depth + 1);
        }
    } else if (code == OP_BROADCAST_TO) {
        mask.condition = value->op->operands[0];
        add_conjuncts(walk, mask, depth + 1);
    } else if (code == OP_EXPAND_DIMS) {
        mask.axes = axes_within(mask.axes, value);
        mask.condition = value->op->operands[0];
        add_conjuncts(walk, mask, depth + 1);
    } else {
        LIST_PUSH(walk->arena, &walk->conjuncts, mask);
    }
}

/// high - low - slack >= 0
static Margin margin(Arena *arena, const Affine *low, const Affine *high, int64_t slack) {
    Margin result = {.known = low->known && high->known && !low->wrapped && !high->wrapped};
    if (!result.known) return result;
    result.base = poly_subtract(arena, poly_subtract(arena, high->base, low->base),
                                poly_constant(arena, slack));
    result.known = result.base != NULL;
    result.rank = low->rank > high->rank ? low->rank : high->rank;
    for (int i = result.rank; i > 0; i--) {  // axes from the right
        const Poly *weight = poly_constant(arena, 0);
        if (i <= high->rank) weight = poly_add(arena, weight, high->lane[high->rank - i]);
        if (i <= low->rank) weight = poly_subtract(arena, weight, low->lane[low->rank - i]);
        if (poly_is_zero(weight)) continue;
        result.known = result.known && weight;
        result.axes[result.count] = i;
        result.lanes[result.count++] = weight;
    }
    return result;
}

/// What a comparison, or its contrary, comes to.
static Margin margin_of(Arena *arena, const Value *condition, bool holds) {
    const Op *op = condition->op;
    if (!op || op->operand_count < 2) return (Margin){0};
    Affine left = affine_of(arena, op->operands[0]), right = affine_of(arena, op->operands[1]);
    switch (op->code) {
    case OP_LT: return holds ? margin(arena, &left, &right, 1) : margin(arena, &right, &left, 0);
    case OP_LE: return holds ? margin(arena, &left, &right, 0) : margin(arena, &right, &left, 1);
    case OP_GT: return holds ? margin(arena, &right, &left, 1) : margin(arena, &left, &right, 0);
    case OP_GE: return holds ? margin(arena, &right, &left, 0) : margin(arena, &left, &right, 1);
    default: return (Margin){0};
    }
}

/// `axes` are those of what is wanted.
static bool implies(Arena *arena, const Conjunct *conjunct, const Margin *wanted,
                    const StoreAxes *axes) {
    Margin known = margin_of(arena, conjunct->condition, true);
    if (!known.known || !wanted->known || known.count != wanted->count) return false;
    for (int i = 0; i < known.count; i++) {
        int axis = conjunct->axes.of[known.axes[i]];
        if (!axis || axis != axes->of[wanted->axes[i]] ||
            !poly_equal(known.lanes[i], wanted->lanes[i]))
            return false;
    }
    return poly_is_nonnegative(arena, poly_subtract(arena, wanted->base, known.base));
}

/// Whether nothing is subtracted: sizes, ids and lanes are not negative.
static bool is_plain_sum(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        if (poly->terms[t].coefficient < 0) return false;
    return true;
}

/// Whether all lanes that are stored keep within the margin.
static bool mask_keeps(LaneWalk *walk, Margin wanted) {
    bool always = wanted.known && is_plain_sum(wanted.base);
    for (int i = 0; always && i < wanted.count; i++) always = is_plain_sum(wanted.lanes[i]);
    if (always) return true;
    for (LIST_EACH(int, i, walk->conjuncts))
        if (implies(walk->arena, &walk->conjuncts.items[i], &wanted, &walk->axes)) return true;
    return false;
}

/// Whether `condition` is as `holds` says in all lanes that are stored.
static bool mask_decides(LaneWalk *walk, Value *condition, bool holds, int depth) {
    const Op *op = condition->op;
    for (LIST_EACH(int, i, walk->conjuncts))
        if (holds && walk->conjuncts.items[i].condition == condition &&
            are_same_axes(&walk->conjuncts.items[i].axes, &walk->axes, condition->type.rank))
            return true;
    if (!op || depth > DEPTH_MAX) return false;
    if (op->code == (holds ? OP_AND : OP_OR))
        return mask_decides(walk, op->operands[0], holds, depth + 1) &&
               mask_decides(walk, op->operands[1], holds, depth + 1);
    if (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO)
        return mask_decides(walk, op->operands[0], holds, depth + 1);
    return mask_keeps(walk, margin_of(walk->arena, condition, holds));
}

/// Whether the mask leaves one lane along a dimension: `lanes == number`.
static bool mask_picks_one(LaneWalk *walk, int lane, int rank) {
    for (LIST_EACH(int, i, walk->conjuncts)) {
        const Conjunct *conjunct = &walk->conjuncts.items[i];
        const Value *condition = conjunct->condition;
        if (!condition->op || condition->op->code != OP_EQ) continue;
        Affine left = affine_of(walk->arena, condition->op->operands[0]);
        Affine right = affine_of(walk->arena, condition->op->operands[1]);
        Margin difference = margin(walk->arena, &left, &right, 0);
        if (difference.known && difference.count == 1 &&
            rank - conjunct->axes.of[difference.axes[0]] == lane)
            return true;
    }
    return false;
}

/* ---- operations that may map two lanes to one number ---- */

static void visit(LaneWalk *walk, Value *value, int depth);

/// x, limited: harmless where the mask keeps x within the limits.
static void visit_limited(LaneWalk *walk, Value *value, bool is_kept, int depth) {
    if (is_kept)
        visit(walk, value, depth + 1);
    else
        note(walk, walk->mask ? MEETING_POSSIBLE : MEETING_CERTAIN,
             "lanes past the end repeat elements");
}

static const char *const computed = "their places are computed";

/// Which operand of a minimum or maximum is the index; the other one is a limit. -1 where both move with the lanes.
static int limited_operand(LaneWalk *walk, const Op *op) {
    int which = varies(walk, op->operands[0]) ? 0 : 1;
    return varies(walk, op->operands[1 - which]) ? -1 : which;
}

/// What other limits are around: `minimum(maximum(x, 0), n - 1)` keeps x where x is within both.
static Value *without_limits(LaneWalk *walk, Value *value) {
    for (int depth = 0; value->op && depth < DEPTH_MAX; depth++) {
        if (value->op->code != OP_MINIMUM && value->op->code != OP_MAXIMUM) break;
        int which = limited_operand(walk, value->op);
        if (which < 0) break;
        value = value->op->operands[which];
    }
    return value;
}

static void visit_extremum(LaneWalk *walk, const Op *op, int depth) {
    int which = limited_operand(walk, op);
    if (which < 0) {
        note(walk, MEETING_POSSIBLE, computed);
        return;
    }
    Value *x = op->operands[which], *limit = op->operands[1 - which];
    Affine inner = affine_of(walk->arena, without_limits(walk, x));
    Affine bound = affine_of(walk->arena, limit);
    Margin wanted = op->code == OP_MINIMUM ? margin(walk->arena, &inner, &bound, 0)
                                           : margin(walk->arena, &bound, &inner, 0);
    visit_limited(walk, x, mask_keeps(walk, wanted), depth);
}

static void visit_clamp(LaneWalk *walk, const Op *op, int depth) {
    Affine inner = affine_of(walk->arena, op->operands[0]);
    Affine low = affine_of(walk->arena, op->operands[1]);
    Affine high = affine_of(walk->arena, op->operands[2]);
    bool is_kept = mask_keeps(walk, margin(walk->arena, &low, &inner, 0)) &&
                   mask_keeps(walk, margin(walk->arena, &inner, &high, 0));
    visit_limited(walk, op->operands[0], is_kept, depth);
}

static void visit_where(LaneWalk *walk, const Op *op, int depth) {
    bool first = varies(walk, op->operands[1]), second = varies(walk, op->operands[2]);
    if (first && second) {
        note(walk, MEETING_POSSIBLE, computed);
        return;
    }
    if (!first && !second) {  // one of two places
        note(walk, walk->mask ? MEETING_POSSIBLE : MEETING_CERTAIN, "they have the same address");
        return;
    }
    Value *x = op->operands[first ? 1 : 2];
    visit_limited(walk, x, mask_decides(walk, op->operands[0], first, 0), depth);
}

static Value *yielded(const Value *value, int branch) {
    const Op *end = region_terminator(value->op->regions[branch]);
    return end && value->index < end->operand_count ? end->operands[value->index] : NULL;
}

static bool is_missing(const Value *value) {
    return !value || value_is_none(value) || (value->op && value->op->code == OP_UNDEFINED);
}

/// What a branch leaves, either of them.
static void visit_branches(LaneWalk *walk, const Value *value, int depth) {
    for (int r = 0; r < 2; r++) {
        Value *left = yielded(value, r);
        if (is_missing(left)) continue;
        if (left->type.rank == value->type.rank && !varies(walk, left))
            note(walk, MEETING_POSSIBLE, computed);
        visit(walk, left, depth + 1);
    }
}

/// What a loop carries: as it starts, and as an iteration leaves it.
static void visit_carried(LaneWalk *walk, const Value *value, const Op *loop, int depth) {
    bool counted = loop->code != OP_WHILE;
    int index = value->op ? value->index : value->index - (counted ? 1 : 0);
    const Op *end = region_terminator(loop->regions[counted ? 0 : 1]);
    if (index < 0 || !end || index >= end->operand_count) {
        note(walk, MEETING_POSSIBLE, computed);
        return;
    }
    visit(walk, loop->operands[index + (counted ? 3 : 0)], depth + 1);
    visit(walk, end->operands[index], depth + 1);
}

static void visit_region(LaneWalk *walk, Value *value, int depth) {
    const Op *owner = value->op ? value->op : value->region ? value->region->parent : NULL;
    OpCode code = owner ? owner->code : OP_UNKNOWN;
    if (depth > DEPTH_MAX)
        note(walk, MEETING_POSSIBLE, computed);
    else if (code == OP_IF && value->op)
        visit_branches(walk, value, depth);
    else if (op_is_loop(code))
        visit_carried(walk, value, owner, depth);
    else
        note(walk, MEETING_POSSIBLE, computed);
}

static const Poly *divisor_of(LaneWalk *walk, const Op *op) {
    int64_t number;
    Value *right = op->operands[1];
    if (varies(walk, right)) return NULL;
    bool is_int = value_is_int(right, &number);
    switch (op->code) {
    case OP_SHR:
        return is_int && number >= 0 && number < 31
                   ? poly_constant(walk->arena, (int64_t)1 << number)
                   : NULL;
    case OP_AND:
        return is_int && number > 0 && (number & (number + 1)) == 0
                   ? poly_constant(walk->arena, number + 1)
                   : NULL;
    default:
        return right->type.rank ? affine_of(walk->arena, right).base
                                : value_poly(walk->arena, right);
    }
}

static bool is_quotient(const Value *value) {
    return value->op && (value->op->code == OP_FLOORDIV || value->op->code == OP_SHR);
}

static void add_digit(LaneWalk *walk, Value *value) {
    const Poly *divisor = divisor_of(walk, value->op);
    if (!divisor) {
        note(walk, MEETING_POSSIBLE, computed);
        return;
    }
    LaneDigit digit = {.whole = value->op->operands[0], .axes = walk->axes, .weight = divisor};
    if (!is_quotient(value)) {
        digit.weight = poly_constant(walk->arena, 1);
        digit.count = divisor;
        if (value->op->code == OP_MOD && !is_quotient(digit.whole))
            digit.modulus = value->op->operands[1];
    }
    while (is_quotient(digit.whole)) {
        const Poly *finer = divisor_of(walk, digit.whole->op);
        if (!finer) break;
        digit.weight = poly_multiply(walk->arena, digit.weight, finer);
        digit.whole = digit.whole->op->operands[0];
    }
    LIST_PUSH(walk->arena, &walk->digits, digit);
}

/// A value may be in an address along several axes.
static uint64_t visit_key(const LaneWalk *walk, const Value *value) {
    uint64_t key = (uintptr_t)value;
    for (int i = 1; i <= TYPE_MAX_RANK; i++)
        key = key * (TYPE_MAX_RANK + 1) + (uint64_t)(i <= value->type.rank ? walk->axes.of[i] : 0);
    return key;
}

static void visit_within(LaneWalk *walk, Value *value, StoreAxes axes, int depth) {
    StoreAxes outer = walk->axes;
    walk->axes = axes;
    visit(walk, value, depth);
    walk->axes = outer;
}

static void visit(LaneWalk *walk, Value *value, int depth) {
    if (!value || !varies(walk, value)) return;
    uint64_t key = visit_key(walk, value);
    if (map_has_number(&walk->seen, key)) return;
    map_set_number(&walk->seen, key, (void *)1);
    const Op *op = value->op;
    if (!op || op->region_count || depth > DEPTH_MAX) {
        visit_region(walk, value, depth);
        return;
    }
    if (value_may_wrap(value)) note(walk, MEETING_POSSIBLE, computed);
    switch (op->code) {
    case OP_MUL:
    case OP_SUB:  // i * j, i - j
        if (varies(walk, op->operands[0]) && varies(walk, op->operands[1]))
            note(walk, MEETING_POSSIBLE, computed);
        // fall through
    case OP_ADD:
    case OP_OR:
    case OP_XOR:
        for (int i = 0; i < 2; i++) visit(walk, op->operands[i], depth + 1);
        return;
    case OP_JOIN:
    case OP_INTERLEAVE:
    case OP_CAT:
        for (int i = 0; i < 2; i++) visit_within(walk, op->operands[i], (StoreAxes){0}, depth + 1);
        return;
    case OP_ARANGE: return;
    case OP_NEG:
    case OP_SHL:
    case OP_BROADCAST_TO: visit(walk, op->operands[0], depth + 1); return;
    case OP_EXPAND_DIMS:
        visit_within(walk, op->operands[0], axes_within(walk->axes, value), depth + 1);
        return;
    case OP_CAST:
        if (dtype_is_float(op->operands[0]->type.element)) note(walk, MEETING_POSSIBLE, computed);
        visit(walk, op->operands[0], depth + 1);
        return;
    case OP_LOAD: note(walk, MEETING_POSSIBLE, "their places are read from memory"); return;
    case OP_FLOORDIV:
    case OP_SHR:
    case OP_MOD:
    case OP_AND: add_digit(walk, value); return;
    case OP_MINIMUM:
    case OP_MAXIMUM: visit_extremum(walk, op, depth); return;
    case OP_CLAMP: visit_clamp(walk, op, depth); return;
    case OP_WHERE: visit_where(walk, op, depth); return;
    default: break;
    }
    if (op_has(op->code, TRAIT_LAYOUT))
        visit_within(walk, op->operands[0], (StoreAxes){0}, depth + 1);
    else if (op_rows[op->code].kind == KIND_HINT)
        visit(walk, op->operands[0], depth + 1);
    else
        note(walk, MEETING_POSSIBLE, computed);
}

/* ---- digits ---- */

static bool is_same_index(Arena *arena, Value *a, Value *b) {
    if (a == b) return true;
    Affine left = affine_of(arena, a), right = affine_of(arena, b);
    Margin difference = margin(arena, &left, &right, 0);
    return difference.known && difference.count == 0 && poly_is_zero(difference.base);
}

/// Whether the whole stays below weight * count by itself: as many lanes as that, counted from 0.
static bool whole_is_below(LaneWalk *walk, const LaneDigit *digit, const Poly *limit) {
    Affine whole = affine_of(walk->arena, digit->whole);
    Affine bound = {.known = true, .base = limit};
    if (mask_keeps(walk, margin(walk->arena, &whole, &bound, 1))) return true;
    if (!whole.known || whole.wrapped || !poly_is_zero(whole.base)) return false;
    int64_t one;
    const Poly *lanes = NULL;
    for (int i = 0; i < whole.rank; i++) {
        if (poly_is_zero(whole.lane[i])) continue;
        if (lanes || !poly_is_constant(whole.lane[i], &one) || one != 1) return false;
        lanes = digit->whole->type.dims[i];
    }
    return lanes && poly_is_nonnegative(walk->arena, poly_subtract(walk->arena, limit, lanes));
}

/// Whether the digit below and the digit above are in the address as well.
static bool digit_is_joined(LaneWalk *walk, const LaneDigit *digit) {
    bool low = is_one(digit->weight), high = !digit->count;
    const Poly *limit =
        digit->count ? poly_multiply(walk->arena, digit->weight, digit->count) : NULL;
    for (LIST_EACH(int, i, walk->digits)) {
        const LaneDigit *other = &walk->digits.items[i];
        int rank = digit->whole->type.rank < other->whole->type.rank ? digit->whole->type.rank
                                                                     : other->whole->type.rank;
        if (other == digit || !is_same_index(walk->arena, digit->whole, other->whole) ||
            !are_same_axes(&digit->axes, &other->axes, rank))
            continue;
        if (limit && poly_equal(other->weight, limit)) high = true;
        if (other->count &&
            poly_equal(poly_multiply(walk->arena, other->weight, other->count), digit->weight))
            low = true;
    }
    return low && (high || whole_is_below(walk, digit, limit));
}

/// Looks on in the index that a digit is of, where all of its digits are there; false where a neighbour is missing.
static bool settle_joined(LaneWalk *walk, int i) {
    LaneDigit digit = walk->digits.items[i];
    walk->axes = digit.axes;
    if (map_has_number(&walk->seen, visit_key(walk, digit.whole))) return true;
    if (!digit_is_joined(walk, &walk->digits.items[i])) return false;
    bool last = true;
    for (int k = 0; k < walk->digits.count; k++)
        if (k != i && walk->digits.items[k].whole == digit.whole &&
            !digit_is_joined(walk, &walk->digits.items[k]))
            last = false;
    if (last) visit(walk, digit.whole, 0);
    return true;
}

static void note_alone(LaneWalk *walk, const LaneDigit *digit) {
    const bool is_added = digit->modulus && walk->wrap_count < TYPE_MAX_RANK;
    if (is_added) {
        LaneWrap *wrap = &walk->wraps[walk->wrap_count++];
        *wrap = (LaneWrap){.index = digit->whole, .count = digit->modulus};
        memcpy(wrap->axes, digit->axes.of, sizeof wrap->axes);
    }
    bool is_wrap = digit->count && is_one(digit->weight) && walk->digits.count == 1;
    (is_added ? note_meeting
              : note)(walk, is_wrap && !walk->mask ? MEETING_CERTAIN : MEETING_POSSIBLE,
                      is_wrap ? "lanes past the end repeat elements"
                              : "only a part of each lane's index is in its address");
}

/// A digit's neighbour may come to light behind it: `x // (P * Q)` beside `x % (P * Q) // Q` and `x % (P * Q) % Q`. So those
/// that lack one are asked again until nothing new is found.
static void check_digits(LaneWalk *walk) {
    LIST(int) alone = {0};
    for (int i = 0; i < walk->digits.count; i++)  // the list grows
        if (!settle_joined(walk, i)) LIST_PUSH(walk->arena, &alone, i);
    for (bool changed = true; changed;) {
        int left = 0, known = walk->digits.count;
        for (LIST_EACH(int, k, alone))
            if (!settle_joined(walk, alone.items[k])) alone.items[left++] = alone.items[k];
        changed = left < alone.count;
        alone.count = left;
        for (int i = known; i < walk->digits.count; i++)
            if (!settle_joined(walk, i)) LIST_PUSH(walk->arena, &alone, i);
    }
    for (LIST_EACH(int, k, alone)) note_alone(walk, &walk->digits.items[alone.items[k]]);
}

/* ---- the address as a whole ---- */

/// True where the address has all dimensions that have lanes.
static bool check_missing_lanes(LaneWalk *walk, Type type, unsigned lanes) {
    bool has_all = true;
    for (int k = 0; k < type.rank; k++) {
        if (is_one(type.dims[k]) || (lanes >> k & 1)) continue;
        has_all = false;
        unsigned masked =
            walk->mask ? lanes_of(walk, walk->mask, 0) << (type.rank - walk->mask->type.rank) : 0;
        if (!(masked >> k & 1))
            note(walk, MEETING_CERTAIN, "they have the same address");
        else if (!mask_picks_one(walk, k, type.rank))
            note(walk, MEETING_POSSIBLE, "they have the same address");
    }
    return has_all;
}

/// Dimensions that step by the same number meet wherever both have two lanes.
static bool is_diagonal(const Access *access, Type type) {
    int64_t a, b;
    for (int i = 0; i < access->offset.rank; i++)
        for (int k = 0; k < i; k++)
            if (!is_one(type.dims[i]) && !is_one(type.dims[k]) &&
                poly_is_constant(access->offset.lane[i], &a) &&
                poly_is_constant(access->offset.lane[k], &b) && (a == b || a == -b))
                return true;
    return false;
}

LaneMeeting store_lanes(Arena *arena, Op *store) {
    Value *pointer = store->operands[0];
    LaneWalk walk = {.arena = arena,
                     .mask = access_mask(store),
                     .seen = map_new(arena),
                     .lanes = map_new(arena)};
    if (pointer->type.kind != TYPE_POINTER || pointer->type.rank == 0) return walk.found;
    Access access = access_of(arena, store);
    bool is_affine = access.offset.known && !access.offset.wrapped;
    if (is_affine && lanes_are_apart(arena, store)) return walk.found;
    if (walk.mask && walk.mask->type.rank > pointer->type.rank) walk.mask = NULL;
    for (int i = 0; i <= TYPE_MAX_RANK; i++) walk.axes.of[i] = i;
    add_conjuncts(&walk, (Conjunct){walk.mask, walk.axes}, 0);
    unsigned lanes = is_affine ? 0 : lanes_of(&walk, pointer, 0);
    int shift = pointer->type.rank - access.offset.rank;
    for (int i = 0; is_affine && i < access.offset.rank; i++)
        if (!poly_is_zero(access.offset.lane[i])) lanes |= 1u << (i + shift);
    bool has_all = check_missing_lanes(&walk, pointer->type, lanes);
    if (!is_affine) {
        visit(&walk, pointer, 0);
        check_digits(&walk);
    } else if (has_all) {
        bool is_certain = !walk.mask && is_diagonal(&access, pointer->type);
        note(&walk, is_certain ? MEETING_CERTAIN : MEETING_POSSIBLE,
             "its rows may reach into each other");
    }
    memcpy(walk.found.wraps, walk.wraps, sizeof walk.wraps);
    walk.found.wrap_count = walk.wrap_count;
    return walk.found;
}
