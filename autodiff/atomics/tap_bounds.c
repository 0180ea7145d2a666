// A mask of a reader bounds what it reads, or itself. Of `e = r + d`, a bound on `e` holds for the owner of `e`, and so does one on
// `r` that `d` only helps to meet.
#include "autodiff/atomics/tap_bounds.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"

/* ---- signs ---- */

typedef struct DivisorSearch {
    const Value *atom;
    bool is_divisor;
} DivisorSearch;

static bool visit_divisor(void *context, Op *op) {
    DivisorSearch *search = context;
    bool divides = op->code == OP_MOD || op->code == OP_FLOORDIV || op->code == OP_CDIV;
    search->is_divisor = divides && op->operands[1] == search->atom;
    return !search->is_divisor;
}

/// Whether the number is 1 or more wherever the read takes place: a loop runs up to it, something is divided by it, or launches say so.
static bool is_positive(const Taps *taps, const TapRead *read, const Value *atom) {
    int64_t zero;
    for (int i = 0; i < read->depth; i++)
        if (read->loops[i]->operands[1] == atom &&
            value_is_int(read->loops[i]->operands[0], &zero) && zero >= 0)
            return true;
    DivisorSearch search = {atom, false};
    region_walk(taps->state->backward->body, visit_divisor, &search);
    return search.is_divisor || launches_pass_positive(taps->state, atom);
}

static bool is_at_least_zero(const Taps *taps, const TapRead *read, const Poly *number);

/// `whole // 2`, or by more: a number from 0 on that is below what is divided, or 0 as that is. NULL: the polynomial has no such number.
static Value *half_in(const Poly *number, Value **whole) {
    int64_t by;
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++) {
            Value *atom = number->terms[t].atoms[i];
            const Op *op = atom->op;
            if (!op || op->code != OP_FLOORDIV || !value_is_int(op->operands[1], &by) || by < 2)
                continue;
            *whole = op->operands[0];
            return atom;
        }
    return NULL;
}

/// The same of a number that grows by equal steps, or falls, with a half: it is 0 or more for the least and for the largest of these.
static bool is_at_least_zero_for_halves(const Taps *taps, const TapRead *read, const Poly *number,
                                        Value *half, const Poly *whole) {
    const Poly *slope, *rest, *zero = poly_constant(taps->arena, 0);
    const Poly *below = poly_subtract(taps->arena, whole, poly_constant(taps->arena, 1));
    const Poly *most = is_at_least_zero(taps, read, below) ? below : whole;
    return poly_split(taps->arena, number, half, &slope, &rest) && !poly_mentions(whole, half) &&
           is_at_least_zero(taps, read, most) &&
           is_at_least_zero(taps, read, poly_substitute(taps->arena, number, half, zero)) &&
           is_at_least_zero(taps, read, poly_substitute(taps->arena, number, half, most));
}

static bool is_at_least_zero(const Taps *taps, const TapRead *read, const Poly *number) {
    Value *whole;
    Value *half = half_in(number, &whole);
    if (poly_is_zero(number)) return true;
    if (half)
        return is_at_least_zero_for_halves(taps, read, number, half,
                                           value_poly(taps->arena, whole));
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!is_positive(taps, read, number->terms[t].atoms[i])) return false;
    return poly_is_nonnegative(taps->arena, number);
}

/// Whether it is 0 or more at both ends of each loop: it grows by equal steps, or falls.
static bool is_nonnegative_from(const Taps *taps, const TapRead *read, const Poly *number,
                                int loop) {
    Arena *arena = taps->arena;
    if (loop == read->depth) return is_at_least_zero(taps, read, number);
    Value *variable = tap_variable(read, loop);
    const Poly *slope, *rest;
    if (!poly_mentions(number, variable)) return is_nonnegative_from(taps, read, number, loop + 1);
    if (!poly_split(arena, number, variable, &slope, &rest)) return false;
    const Poly *first = value_poly(arena, read->loops[loop]->operands[0]);
    const Poly *last = poly_subtract(arena, value_poly(arena, read->loops[loop]->operands[1]),
                                     poly_constant(arena, 1));
    for (int end = 0; end < 2; end++) {
        const Poly *there = poly_substitute(arena, number, variable, end ? last : first);
        if (!is_nonnegative_from(taps, read, there, loop + 1)) return false;
    }
    return true;
}

bool tap_is_never_negative(const Taps *taps, const TapRead *read, const Poly *number) {
    return is_nonnegative_from(taps, read, number, 0);
}

bool tap_is_never_positive(const Taps *taps, const TapRead *read, const Poly *number) {
    const Poly *zero = poly_constant(taps->arena, 0);
    return is_nonnegative_from(taps, read, poly_subtract(taps->arena, zero, number), 0);
}

const Poly *tap_at_own(const Taps *taps, const Poly *number) {
    const TapRead *own = &taps->reads[taps->own];
    for (int i = 0; i < own->depth; i++)
        number = poly_substitute(taps->arena, number, tap_variable(own, i), taps->at[i]);
    return number;
}

/* ---- bounds ---- */

TapConditions tap_conditions(Arena *arena, Value *mask) {
    TapConditions all = {0};
    if (mask) LIST_PUSH(arena, &all, mask);
    for (int i = 0; i < all.count;) {
        const Op *op = all.items[i]->op;
        if (!op || !op_has(op->code, TRAIT_BOTH)) {
            i++;
            continue;
        }
        all.items[i] = op->operands[0];
        LIST_PUSH(arena, &all, op->operands[1]);
    }
    return all;
}

static Value *unspread(Value *value) {
    for (const Op *op; (op = value->op);) {
        bool spreads = op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO;
        if (!spreads && !op_keeps_numbers(op)) break;
        value = op->operands[0];
    }
    return value;
}

/// `base + sum of weight * coordinate`, which is more than 0, or 0 or more.
typedef struct TapBound {
    const Poly *base;
    const Poly *weights[MOST_COORDINATES];
    bool is_strict;
} TapBound;

static int coordinate_of_lanes(const Taps *taps, const Poly *dim) {
    for (int c = 0; c < taps->count; c++)
        if (taps->coordinates[c].size && poly_equal(taps->coordinates[c].size, dim)) return c;
    return -1;
}

static bool add_lanes(const Taps *taps, Value *value, int sign, TapBound *bound) {
    Affine form = affine_of(taps->arena, value);
    if (value->type.kind != TYPE_NUMBER || !form.known || form.wrapped) return false;
    const Poly *factor = poly_constant(taps->arena, sign);
    bound->base = poly_add(taps->arena, bound->base, poly_multiply(taps->arena, factor, form.base));
    for (int k = 0; k < form.rank; k++) {
        if (poly_is_zero(form.lane[k])) continue;
        int c = coordinate_of_lanes(taps, value->type.dims[k]);
        if (c < 0) return false;
        bound->weights[c] = poly_add(taps->arena, bound->weights[c],
                                     poly_multiply(taps->arena, factor, form.lane[k]));
    }
    return true;
}

/// What a comparison says, in terms of the coordinates. False where it is none of that kind.
static bool bound_of(const Taps *taps, Value *condition, TapBound *bound) {
    const Op *op = unspread(condition)->op;
    if (!op || op->operand_count < 2) return false;
    bool is_less = op->code == OP_LT || op->code == OP_LE;
    if (!is_less && op->code != OP_GT && op->code != OP_GE) return false;
    *bound = (TapBound){.base = poly_constant(taps->arena, 0),
                        .is_strict = op->code == OP_LT || op->code == OP_GT};
    for (int c = 0; c < taps->count; c++) bound->weights[c] = poly_constant(taps->arena, 0);
    for (int i = 0; i < 2; i++)
        if (!add_lanes(taps, op->operands[i], (i == 0) == is_less ? -1 : 1, bound)) return false;
    for (int c = 0; c < taps->count; c++) {
        const Coordinate *coordinate = &taps->coordinates[c];
        const Poly *weight, *rest;
        if (!coordinate->program) continue;
        if (!poly_split(taps->arena, bound->base, coordinate->program, &weight, &rest))
            return false;
        bound->base = rest;
        if (!coordinate->size)
            bound->weights[c] = weight;
        else if (!poly_equal(weight,
                             poly_multiply(taps->arena, coordinate->size, bound->weights[c])))
            return false;
    }
    return true;
}

static bool bounds_equal(const Taps *taps, const TapBound *a, const TapBound *b) {
    for (int c = 0; c < taps->count; c++)
        if (!poly_equal(a->weights[c], b->weights[c])) return false;
    return a->is_strict == b->is_strict && poly_equal(a->base, b->base);
}

static bool is_free_of_loops(const TapRead *read, const Poly *number) {
    for (int i = 0; i < read->depth; i++)
        if (poly_mentions(number, tap_variable(read, i))) return false;
    return true;
}

/// What a bound on the reader, or on what it reads, says of the element. How many of at most two bounds.
static int bounds_of_element(const Taps *taps, const TapRead *read, Value *condition,
                             TapBound found[2]) {
    TapBound bound;
    int count = 0;
    if (!bound_of(taps, condition, &bound)) return 0;
    const Poly *moved = poly_constant(taps->arena, 0);
    for (int c = 0; c < taps->count; c++)
        moved = poly_add(taps->arena, moved,
                         poly_multiply(taps->arena, bound.weights[c], read->distance[c]));
    const Poly *there = poly_subtract(taps->arena, bound.base, moved);
    if (is_free_of_loops(read, there)) {
        found[count] = bound;
        found[count++].base = there;
    }
    if (is_free_of_loops(read, bound.base) && tap_is_never_negative(taps, read, moved))
        found[count++] = bound;
    return count;
}

/// The bound along one coordinate alone: 1 from below, -1 from above, 0 neither.
static int side_of(const Taps *taps, const TapBound *bound, int coordinate) {
    int64_t number;
    for (int c = 0; c < taps->count; c++)
        if (c != coordinate && !poly_is_zero(bound->weights[c])) return 0;
    bool is_one = poly_is_constant(bound->weights[coordinate], &number);
    return is_one && (number == 1 || number == -1) ? (int)number : 0;
}

/// Whether the bound keeps a coordinate from being negative.
static bool is_from_zero(const Taps *taps, const TapRead *read, const TapBound *bound) {
    const Poly *least =
        poly_subtract(taps->arena, poly_constant(taps->arena, bound->is_strict), bound->base);
    return is_at_least_zero(taps, read, least);
}

static bool bound_is_idle(const Taps *taps, const TapBound *bound) {
    const Poly *slack =
        poly_subtract(taps->arena, bound->base, poly_constant(taps->arena, bound->is_strict));
    for (int c = 0; c < taps->count; c++)
        if (side_of(taps, bound, c) == 1)
            return is_at_least_zero(taps, &taps->reads[taps->own], slack);
    return false;
}

bool tap_condition_is_idle(const Taps *taps, Value *condition) {
    TapBound bound;
    if (!bound_of(taps, condition, &bound)) return false;
    bound.base = tap_at_own(taps, bound.base);
    return bound_is_idle(taps, &bound);
}

bool tap_condition_is_owners(const Taps *taps, Value *condition, const TapRead *read) {
    const Op *own = taps->reads[taps->own].statement->op;
    TapConditions conditions = tap_conditions(taps->arena, access_mask(own));
    TapBound bound, wanted;
    if (!bound_of(taps, condition, &bound)) return false;
    for (int c = 0; c < taps->count; c++)
        bound.base = poly_subtract(taps->arena, bound.base,
                                   poly_multiply(taps->arena, bound.weights[c], read->distance[c]));
    if (!is_free_of_loops(read, bound.base)) return false;
    if (bound_is_idle(taps, &bound)) return true;
    for (LIST_EACH(int, i, conditions)) {
        if (!bound_of(taps, conditions.items[i], &wanted)) continue;
        wanted.base = tap_at_own(taps, wanted.base);
        if (bounds_equal(taps, &bound, &wanted)) return true;
    }
    return false;
}

/// Whether the condition is the same value for the reader and the owner.
static bool is_same_for_all(const Taps *taps, const TapRead *read, Value *condition) {
    if (read->depth && condition->op && op_is_within(condition->op, read->loops[0])) return false;
    for (int c = 0; c < taps->count; c++)
        if (!poly_is_zero(read->distance[c]) &&
            value_has_coordinate(taps->arena, &taps->coordinates[c], condition))
            return false;
    return true;
}

/// A digit of a coordinate that a mask ends `room` in front of its last value: `number // low % extent + room < extent`.
typedef struct DigitBound {
    const Poly *low, *extent, *room;
} DigitBound;

/// `digit + added < end`, from what a comparison says; or `digit != last`.
static bool digit_bound(const Taps *taps, int c, Value *condition, DigitBound *bound) {
    Arena *arena = taps->arena;
    const Op *op = unspread(condition)->op;
    if (!op || op->operand_count < 2 || op->operands[1]->type.rank ||
        (op->code != OP_LT && op->code != OP_NE))
        return false;
    int64_t added = 0;
    Value *digit = unspread(op->operands[0]);
    if (digit->op && digit->op->code == OP_ADD && op->code == OP_LT &&
        value_is_int(digit->op->operands[1], &added))
        digit = unspread(digit->op->operands[0]);
    const Op *part = digit->op;
    if (!part || part->code != OP_MOD) return false;
    *bound = (DigitBound){.low = poly_constant(arena, 1),
                          .extent = value_poly(arena, part->operands[1])};
    Value *number = unspread(part->operands[0]);
    if (number->op && number->op->code == OP_FLOORDIV) {
        bound->low = value_poly(arena, number->op->operands[1]);
        number = unspread(number->op->operands[0]);
    }
    const Poly *end = value_poly(arena, op->operands[1]);
    bound->room =
        poly_add(arena, poly_subtract(arena, bound->extent, end), poly_constant(arena, added));
    bool is_last = poly_equal(bound->room, poly_constant(arena, 1));
    return value_is_coordinate(arena, &taps->coordinates[c], number) &&
           (op->code == OP_LT || is_last);
}

/// Whether the read's mask keeps the reader below `end`, and what it reads as well: it ends a digit early enough, of which `end` has whole
/// ones (`w < W - 1` of `x[i + 1]`, `i < n`, where n is a multiple of W).
static bool stays_below_whole(const Taps *taps, const TapRead *read, int c, const Poly *end) {
    Arena *arena = taps->arena;
    TapConditions conditions = tap_conditions(arena, access_mask(read->statement->op));
    bool is_below = false, is_early = false;
    for (LIST_EACH(int, i, conditions)) {
        TapBound own;
        DigitBound digit;
        is_below |= bound_of(taps, conditions.items[i], &own) && side_of(taps, &own, c) == -1 &&
                    own.is_strict && poly_equal(own.base, end);
        if (is_early || !digit_bound(taps, c, conditions.items[i], &digit)) continue;
        const Poly *steps = poly_multiply(arena, digit.room, digit.low),
                   *whole = poly_multiply(arena, digit.extent, digit.low);
        is_early =
            steps && whole &&
            tap_is_never_negative(taps, read, poly_subtract(arena, steps, read->distance[c])) &&
            (poly_divide_exact(arena, end, whole) ||
             launches_pass_multiple(taps->state, end, whole));
    }
    return is_below && is_early;
}

bool tap_condition_holds(const Taps *taps, Value *condition, const TapRead *read) {
    TapConditions conditions = tap_conditions(taps->arena, access_mask(read->statement->op));
    TapBound wanted, found[2];
    bool is_bound = bound_of(taps, condition, &wanted);
    if (is_bound) wanted.base = tap_at_own(taps, wanted.base);
    for (int c = 0; c < taps->count && is_bound && wanted.is_strict; c++)
        if (side_of(taps, &wanted, c) == -1 && stays_below_whole(taps, read, c, wanted.base))
            return true;
    for (LIST_EACH(int, i, conditions)) {
        Value *other = conditions.items[i];
        if (other == condition && is_same_for_all(taps, read, other)) return true;
        int count = is_bound ? bounds_of_element(taps, read, other, found) : 0;
        for (int k = 0; k < count; k++)
            if (bounds_equal(taps, &found[k], &wanted)) return true;
    }
    return false;
}

/// The least that a coordinate of the reader is, where a digit of it is not 0; NULL: not that.
static const Poly *least_by_digit(const Taps *taps, int coordinate, Value *condition) {
    const Op *op = unspread(condition)->op;
    int64_t number;
    if (!op || op->operand_count < 2 || !value_is_int(op->operands[1], &number)) return NULL;
    bool is_some = ((op->code == OP_GT || op->code == OP_NE) && number == 0) ||
                   (op->code == OP_GE && number == 1);
    const Poly *least = poly_constant(taps->arena, 1);
    Value *digit = unspread(op->operands[0]);
    while (is_some && !value_is_coordinate(taps->arena, &taps->coordinates[coordinate], digit)) {
        const Op *part = digit->op;
        is_some = part && (part->code == OP_MOD || part->code == OP_FLOORDIV);
        if (is_some && part->code == OP_FLOORDIV)
            least = poly_multiply(taps->arena, least, value_poly(taps->arena, part->operands[1]));
        if (is_some) digit = unspread(part->operands[0]);
    }
    return is_some ? least : NULL;
}

static bool starts_at_owner(const Taps *taps, const TapRead *read, int c) {
    TapConditions conditions = tap_conditions(taps->arena, access_mask(read->statement->op));
    TapBound found[2];
    if (tap_is_never_negative(taps, read, read->distance[c])) return true;
    for (LIST_EACH(int, i, conditions)) {
        int count = bounds_of_element(taps, read, conditions.items[i], found);
        for (int k = 0; k < count; k++)
            if (side_of(taps, &found[k], c) == 1 && is_from_zero(taps, read, &found[k]))
                return true;
        const Poly *least = least_by_digit(taps, c, conditions.items[i]);
        if (least &&
            tap_is_never_negative(taps, read, poly_add(taps->arena, least, read->distance[c])))
            return true;
    }
    return false;
}

static bool ends_at_owner(const Taps *taps, const TapRead *read, int c) {
    TapConditions conditions = tap_conditions(taps->arena, access_mask(read->statement->op));
    TapBound found[2];
    if (tap_is_never_positive(taps, read, read->distance[c])) return true;
    for (LIST_EACH(int, i, conditions)) {
        int count = bounds_of_element(taps, read, conditions.items[i], found);
        for (int k = 0; k < count; k++)
            if (side_of(taps, &found[k], c) == -1 && found[k].is_strict &&
                launches_cover(taps->state, &taps->coordinates[c], found[k].base))
                return true;
        TapBound own;
        if (bound_of(taps, conditions.items[i], &own) && own.is_strict &&
            side_of(taps, &own, c) == -1 && stays_below_whole(taps, read, c, own.base) &&
            launches_cover(taps->state, &taps->coordinates[c], own.base))
            return true;
    }
    return false;
}

bool tap_has_owners(const Taps *taps, const TapRead *read) {
    for (int c = 0; c < taps->count; c++)
        if (!starts_at_owner(taps, read, c) || !ends_at_owner(taps, read, c)) return false;
    return true;
}
