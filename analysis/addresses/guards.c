// Comparisons as sums that are not positive where they hold: `a < b` is a - b + 1, `a >= b` is b - a.
#include "analysis/addresses/guards.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/limits.h"
#include "analysis/ir/poly.h"

/// The sum that is not positive where the ordering comparison comes to `truth`. Of floats it is not known.
static Affine excess_of(Arena *arena, const Op *op, bool truth) {
    Affine unknown = {.known = false};
    Value *a = op->operands[0], *b = op->operands[1];
    if (!op_is_ordering(op->code) || !a || !b || dtype_is_float(a->type.element) ||
        dtype_is_float(b->type.element))
        return unknown;
    const bool is_less = op->code == OP_LT || op->code == OP_LE;
    const bool is_strict = (op->code == OP_LT || op->code == OP_GT) == truth;
    const bool is_kept = is_less == truth;  // a - b, else b - a
    Affine from = affine_of(arena, is_kept ? a : b), what = affine_of(arena, is_kept ? b : a);
    if (!from.known || !what.known || from.wrapped || what.wrapped) return unknown;
    const Poly *zero = poly_constant(arena, 0);
    Affine excess = {.known = true, .rank = from.rank > what.rank ? from.rank : what.rank};
    excess.base = poly_add(arena, poly_subtract(arena, from.base, what.base),
                           poly_constant(arena, is_strict));
    for (int k = 0; k < excess.rank; k++) {
        int of = k - (excess.rank - from.rank), by = k - (excess.rank - what.rank);
        excess.lane[k] =
            poly_subtract(arena, of < 0 ? zero : from.lane[of], by < 0 ? zero : what.lane[by]);
    }
    return excess;
}

/// `excess` of the lane where it is largest. NULL: not known.
static const Poly *largest_of(Arena *arena, const Affine *excess, Type tile) {
    const Poly *sum = excess->base, *one = poly_constant(arena, 1);
    for (int k = 0; k < excess->rank; k++) {
        int axis = k + tile.rank - excess->rank;
        int64_t step;
        if (!poly_is_constant(excess->lane[k], &step)) return NULL;
        if (step <= 0) continue;
        if (axis < 0 || !tile.dims[axis]) return NULL;
        sum = poly_add(
            arena, sum,
            poly_multiply(arena, excess->lane[k], poly_subtract(arena, tile.dims[axis], one)));
    }
    return sum;
}

/// The next axis from `k` on along which lanes differ; the rank where none does.
static int next_lane(const Affine *form, int k) {
    int64_t step;
    while (k < form->rank && poly_is_constant(form->lane[k], &step) && !step) k++;
    return k;
}

bool guard_is_same(Arena *arena, const Op *a, const Op *b) {
    Affine one = excess_of(arena, a, true), other = excess_of(arena, b, true);
    if (!one.known || !other.known || !poly_equal(one.base, other.base)) return false;
    int i = next_lane(&one, 0), k = next_lane(&other, 0);
    while (i < one.rank && k < other.rank && poly_equal(one.lane[i], other.lane[k])) {
        i = next_lane(&one, i + 1);
        k = next_lane(&other, k + 1);
    }
    return i == one.rank && k == other.rank;
}

/// Whether a condition that came to `truth` leaves `largest` no more than zero.
static bool condition_covers(Arena *arena, const Value *condition, bool truth,
                             const Poly *largest) {
    const Value *parts[MASK_MOST_PARTS] = {condition};
    int count = 1;
    for (int i = 0; i < count; i++) {
        const Op *op = parts[i] ? parts[i]->op : NULL;
        int64_t rest;
        if (!op) continue;
        if (truth && op_has(op->code, TRAIT_BOTH) && count + 2 <= MASK_MOST_PARTS) {
            parts[count++] = op->operands[0];
            parts[count++] = op->operands[1];
        }
        if (!op_is_ordering(op->code)) continue;
        Affine excess = excess_of(arena, op, truth);
        if (excess.known && excess.rank == 0 &&
            poly_is_constant(poly_subtract(arena, largest, excess.base), &rest) && rest <= 0)
            return true;
    }
    return false;
}

static bool is_in_branch(const Op *op) {
    const Op *outer = op->parent->parent;
    while (outer && outer->code != OP_IF) outer = outer->parent->parent;
    return outer != NULL;
}

bool guard_covers(Arena *arena, const Op *op, const Op *comparison) {
    if (!is_in_branch(op)) return false;
    Affine excess = excess_of(arena, comparison, true);
    const Poly *largest =
        excess.known ? largest_of(arena, &excess, comparison->results[0]->type) : NULL;
    for (const Region *region = op->parent; largest && region->parent;
         region = region->parent->parent) {
        const Op *outer = region->parent;
        if (outer->code == OP_IF &&
            condition_covers(arena, outer->operands[0], region == outer->regions[0], largest))
            return true;
    }
    return false;
}

/* ---- loops along whole tiles ---- */

/// The loop from zero up that counts with the value; NULL: none.
static const Op *loop_of_counter(const Value *value) {
    const Op *loop =
        !value->op && value->region && value->index == 0 ? value->region->parent : NULL;
    int64_t first;
    bool is_counted = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR);
    return is_counted && value_is_int(loop->operands[0], &first) && first == 0 ? loop : NULL;
}

/// At most as much, without the quotients: `n // b * b` is no more than `n`. NULL: there is none.
static const Poly *without_quotient(Arena *arena, const Poly *sum) {
    for (int t = 0; t < sum->count; t++)
        for (int a = 0; a < sum->terms[t].atom_count; a++) {
            const Op *op = sum->terms[t].atoms[a]->op;
            const Poly *times, *rest;
            if (op && op->code == OP_FLOORDIV &&
                poly_split(arena, sum, sum->terms[t].atoms[a], &times, &rest) &&
                poly_equal(times, value_poly(arena, op->operands[1])))
                return poly_add(arena, rest, value_poly(arena, op->operands[0]));
        }
    return NULL;
}

bool guard_always_holds(Arena *arena, const Op *comparison) {
    Affine excess = excess_of(arena, comparison, true);
    const Poly *largest =
        excess.known ? largest_of(arena, &excess, comparison->results[0]->type) : NULL;
    int64_t room;
    if (largest && poly_is_constant(largest, &room) && room <= 0) return true;
    for (int t = 0; largest && t < largest->count; t++)
        for (int a = 0; a < largest->terms[t].atom_count; a++) {
            Value *counter = largest->terms[t].atoms[a];
            const Op *loop = loop_of_counter(counter);
            const Poly *each, *rest;
            int64_t most;
            if (!loop || !poly_split(arena, largest, counter, &each, &rest) ||
                !poly_is_nonnegative(arena, each))
                continue;
            const Poly *end = poly_multiply(arena, each, value_poly(arena, loop->operands[1]));
            const Poly *last = end ? without_quotient(arena, end) : NULL;
            if (!last) continue;
            // the last iteration begins a step before the end
            last = poly_subtract(arena, last,
                                 poly_multiply(arena, each, value_poly(arena, loop->operands[2])));
            if (poly_is_constant(poly_add(arena, last, rest), &most) && most <= 0) return true;
        }
    return false;
}
