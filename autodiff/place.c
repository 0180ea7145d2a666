// Addresses as affine forms, compared: along one dimension of the tiles an access ends where another one starts.
#include "autodiff/place.h"

#include "analysis/affine.h"
#include "analysis/infer.h"
#include "autodiff/rewrite.h"

Value *access_mask(const Op *op) {
    int index = op_parameter_index(op->code, STR("mask"));
    Value *mask = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return mask && value_is_none(mask) ? NULL : mask;
}

bool places_are_equal(Arena *arena, Op *a, Op *b) {
    if (a->operands[0] == b->operands[0]) return true;
    Access left = access_of(arena, a), right = access_of(arena, b);
    if (!left.parameter || left.parameter != right.parameter) return false;
    if (!left.offset.known || !right.offset.known || left.offset.rank != right.offset.rank)
        return false;
    if (!poly_equal(left.offset.base, right.offset.base)) return false;
    for (int i = 0; i < left.offset.rank; i++)
        if (!poly_equal(left.offset.lane[i], right.offset.lane[i])) return false;
    return true;
}

/* ---- inequalities ---- */

/// The numerator of `atom` = numerator // divisor where that is a single value, or NULL.
static Value *floor_numerator(const Value *atom, int64_t *divisor) {
    const Op *op = atom->op;
    if (!op || op->code != OP_FLOORDIV || !value_is_int(op->operands[1], divisor) || *divisor < 1)
        return NULL;
    return op->operands[0];
}

bool sizes_are_nonnegative(Arena *arena, const Poly *poly) {
    if (poly_is_nonnegative(arena, poly)) return true;
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            Value *atom = poly->terms[t].atoms[i];
            int64_t divisor;
            Value *numerator = floor_numerator(atom, &divisor);
            if (!numerator || !poly_mentions(poly, numerator)) continue;
            // numerator = divisor * atom + remainder, remainder = (a value that is at least 1) - 1
            Value *remainder = ARENA_NEW(arena, Value);
            *remainder = *atom;
            remainder->id = -1 - atom->id;
            remainder->op = NULL;
            const Poly *whole = poly_add(
                arena, poly_multiply(arena, poly_constant(arena, divisor), poly_atom(arena, atom)),
                poly_subtract(arena, poly_atom(arena, remainder), poly_constant(arena, 1)));
            const Poly *instead = poly_substitute(arena, poly, numerator, whole);
            if (poly_is_nonnegative(arena, instead)) return true;
        }
    return false;
}

static bool is_zero(const Poly *poly) { return poly->count == 0; }

/// Whether a value is made of the kernel's parameters alone.
static bool value_is_fixed(const Value *value, int depth) {
    if (value->constant || value->type.is_constexpr) return true;
    if (!value->op) return value->region && !value->region->parent;
    const Op *op = value->op;
    if (!op_is_pure(op) || op->operand_count == 0 || op->region_count || depth > 16) return false;
    if (op->code == OP_PROGRAM_ID) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !value_is_fixed(op->operands[i], depth + 1)) return false;
    return true;
}

/// Whether the polynomial is the same in all programs and iterations.
static bool is_fixed(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (!value_is_fixed(poly->terms[t].atoms[i], 0)) return false;
    return true;
}

static bool bounds_a_lane(Type type, const Value *atom, int depth) {
    for (int i = 0; i < type.rank; i++)
        if (type.dims[i] && poly_mentions(type.dims[i], atom)) return true;
    const Op *op = atom->type.is_constexpr ? atom->op : NULL;
    for (int i = 0; op && depth < 16 && i < op->operand_count; i++)
        if (op->operands[i] && !op->operands[i]->constant &&
            bounds_a_lane(type, op->operands[i], depth + 1))
            return true;
    return false;
}

/// Whether a weight is a product with a size that no lane runs up to and that `distance` and `end` know nothing of: a
/// dimension of its own.
static bool is_other_dimension(Type type, const Poly *weight, const Poly *distance,
                               const Poly *end) {
    if (weight->count != 1 || weight->terms[0].coefficient < 1) return false;
    for (int i = 0; i < weight->terms[0].atom_count; i++) {
        const Value *atom = weight->terms[0].atoms[i];
        if (!bounds_a_lane(type, atom, 0) && !poly_mentions(distance, atom) &&
            !poly_mentions(end, atom) && !atom->op && !atom->is_chosen)
            return true;
    }
    return false;
}

/* ---- one dimension of a tile ---- */

/// A conjunct `index < bound` of a mask that limits lane `lane` alone; `bound` NULL where there is none.
typedef struct LaneBound {
    const Poly *start;  // the index of lane 0
    const Poly *bound;
} LaneBound;

static LaneBound mask_bound(Arena *arena, Value *mask, int lane, int depth) {
    LaneBound none = {0};
    if (!mask || !mask->op || depth > 32 || lane < 0) return none;
    const Op *op = mask->op;
    int64_t axis;
    switch (op->code) {
    case OP_AND:
        for (int i = 0; i < 2; i++) {
            Value *side = op->operands[i];
            LaneBound found =
                mask_bound(arena, side, lane - (mask->type.rank - side->type.rank), depth + 1);
            if (found.bound) return found;
        }
        return none;
    case OP_EXPAND_DIMS:
        if (!value_is_int(op->operands[1], &axis)) return none;
        if (axis < 0) axis += mask->type.rank;
        return axis == lane
                   ? none
                   : mask_bound(arena, op->operands[0], lane > axis ? lane - 1 : lane, depth + 1);
    case OP_BROADCAST_TO: return mask_bound(arena, op->operands[0], lane, depth + 1);
    case OP_LT: break;
    default: return none;
    }
    if (op->operands[1]->type.rank) return none;
    Affine index = affine_of(arena, op->operands[0]);
    if (!index.known || index.wrapped || lane >= index.rank) return none;
    int64_t one;
    for (int i = 0; i < index.rank; i++)
        if (i != lane && !is_zero(index.lane[i])) return none;
    if (!poly_is_constant(index.lane[lane], &one) || one != 1) return none;
    if (!poly_is_nonnegative(arena, index.base)) return none;
    return (LaneBound){index.base, value_poly(arena, op->operands[1])};
}

/// Addresses along a lane: from `start` to below `start + reach`.
typedef struct Span {
    const Poly *start;
    const Poly *reach;  // NULL: not known
} Span;

/// As many lanes as the tile has.
static Span tile_span(Arena *arena, const Access *access, int lane) {
    Span span = {.start = access->offset.base};
    Type type = access->op->operands[0]->type;
    if (lane < type.rank && type.dims[lane])
        span.reach = poly_multiply(arena, access->offset.lane[lane], type.dims[lane]);
    return span;
}

/// Up to the bound that the mask sets, where it sets one.
static Span lane_span(Arena *arena, const Access *access, int lane) {
    LaneBound bound = mask_bound(arena, access_mask(access->op), lane, 0);
    if (!bound.bound) return tile_span(arena, access, lane);
    const Poly *weight = access->offset.lane[lane];
    return (Span){
        poly_subtract(arena, access->offset.base, poly_multiply(arena, weight, bound.start)),
        poly_multiply(arena, weight, bound.bound)};
}

/// Whether the other lanes step over all of a dimension that reaches up to `end`.
static bool others_step_over(Arena *arena, const Access *access, int lane, const Poly *distance,
                             const Poly *end) {
    for (int i = 0; i < access->offset.rank; i++) {
        const Poly *weight = access->offset.lane[i];
        if (i == lane || is_zero(weight)) continue;
        bool is_apart = is_other_dimension(access->op->operands[0]->type, weight, distance, end);
        if (!is_apart && !sizes_are_nonnegative(arena, poly_subtract(arena, weight, end)))
            return false;
    }
    return true;
}

static bool lies_before(Arena *arena, const Access *a, int lane_a, const Access *b, int lane_b) {
    Span first = lane_span(arena, a, lane_a), second = lane_span(arena, b, lane_b);
    if (!first.reach || !second.reach) return false;
    const Poly *distance = poly_subtract(arena, second.start, first.start);
    if (!is_fixed(distance) || !is_fixed(first.reach) || !is_fixed(second.reach)) return false;
    if (!sizes_are_nonnegative(arena, poly_subtract(arena, distance, first.reach))) return false;
    const Poly *end = poly_add(arena, distance, second.reach);
    return others_step_over(arena, a, lane_a, distance, end) &&
           others_step_over(arena, b, lane_b, distance, end);
}

static int64_t divisor_of(const Affine *offset, int64_t divisor) {
    for (int i = 0; i < offset->rank; i++)
        for (int t = 0; t < offset->lane[i]->count; t++) {
            int64_t other = offset->lane[i]->terms[t].coefficient;
            while (other) {
                int64_t rest = divisor % other;
                divisor = other;
                other = rest;
            }
        }
    return divisor < 0 ? -divisor : divisor;
}

/// Every second element against those between: the lanes step over a constant distance.
static bool lie_between(Arena *arena, const Access *a, const Access *b) {
    int64_t distance;
    int64_t divisor = divisor_of(&b->offset, divisor_of(&a->offset, 0));
    return divisor > 1 &&
           poly_is_constant(poly_subtract(arena, a->offset.base, b->offset.base), &distance) &&
           distance % divisor != 0;
}

bool places_are_apart(Arena *arena, Op *a, Op *b) {
    Access left = access_of(arena, a), right = access_of(arena, b);
    if (!left.parameter || left.parameter != right.parameter) return false;
    if (!left.offset.known || !right.offset.known || left.offset.wrapped || right.offset.wrapped)
        return false;
    if (left.offset.rank == 0 && right.offset.rank == 0) {
        int64_t distance;
        return poly_is_constant(poly_subtract(arena, left.offset.base, right.offset.base),
                                &distance) &&
               distance != 0;
    }
    if (lie_between(arena, &left, &right)) return true;
    for (int i = 0; i < left.offset.rank; i++)
        for (int k = 0; k < right.offset.rank; k++) {
            if (is_zero(left.offset.lane[i]) ||
                !poly_equal(left.offset.lane[i], right.offset.lane[k]))
                continue;
            if (lies_before(arena, &left, i, &right, k) || lies_before(arena, &right, k, &left, i))
                return true;
        }
    return false;
}

/// From the first element that an access may touch to behind the last one. `reach` NULL where it is not known.
static Span access_span(Arena *arena, const Access *access, bool by_mask) {
    Span all = {.start = access->offset.base, .reach = poly_constant(arena, 1)};
    for (int i = 0; i < access->offset.rank; i++) {
        const Poly *weight = access->offset.lane[i];
        if (is_zero(weight)) continue;
        Span span = by_mask ? lane_span(arena, access, i) : tile_span(arena, access, i);
        if (!span.reach || !sizes_are_nonnegative(arena, weight)) return (Span){0};
        all.start =
            poly_add(arena, all.start, poly_subtract(arena, span.start, access->offset.base));
        all.reach = poly_add(arena, all.reach, poly_subtract(arena, span.reach, weight));
    }
    return all;
}

static bool spans_fit(Arena *arena, Span first, Span second, const Poly *window) {
    if (!first.reach || !second.reach) return false;
    const Poly *distance = poly_subtract(arena, second.start, first.start);
    if (!is_fixed(distance) || !is_fixed(first.reach) || !is_fixed(second.reach)) return false;
    if (!sizes_are_nonnegative(arena, distance)) {
        Span swapped = first;
        first = second;
        second = swapped;
        distance = poly_multiply(arena, distance, poly_constant(arena, -1));
        if (!sizes_are_nonnegative(arena, distance)) return false;
    }
    const Poly *end = poly_add(arena, distance, second.reach);
    return sizes_are_nonnegative(arena, poly_subtract(arena, window, first.reach)) &&
           sizes_are_nonnegative(arena, poly_subtract(arena, window, end));
}

bool places_fit(Arena *arena, Op *a, Op *b, const Poly *window) {
    Access left = access_of(arena, a), right = access_of(arena, b);
    if (!left.parameter || left.parameter != right.parameter || left.offset.wrapped ||
        right.offset.wrapped || !left.offset.known || !right.offset.known)
        return false;
    for (int by_mask = 0; by_mask < 2; by_mask++)
        if (spans_fit(arena, access_span(arena, &left, by_mask),
                      access_span(arena, &right, by_mask), window))
            return true;
    return false;
}

/* ---- lanes ---- */

/// Whether a lane's weight holds something that is no block size: a stride.
static bool holds_stride(Type type, const Poly *weight) {
    for (int t = 0; t < weight->count; t++)
        for (int i = 0; i < weight->terms[t].atom_count; i++)
            if (!bounds_a_lane(type, weight->terms[t].atoms[i], 0)) return true;
    return false;
}

static bool steps_over(Arena *arena, const Access *access, int coarse, int fine) {
    Span span = lane_span(arena, access, fine);
    return span.reach && sizes_are_nonnegative(
                             arena, poly_subtract(arena, access->offset.lane[coarse], span.reach));
}

bool lanes_are_apart(Arena *arena, Op *op) {
    Access access = access_of(arena, op);
    Type type = op->operands[0]->type;
    if (!access.offset.known) return type.rank == 0;
    // Lanes past the end repeat elements (`offsets % n`, `where(offsets < n, offsets, n - 1)`): the last store would win.
    if (access.offset.wrapped) return false;
    for (int i = 0; i < access.offset.rank; i++) {
        int64_t one;
        const Poly *dim = i < type.rank ? type.dims[i] : NULL;
        if (dim && poly_is_constant(dim, &one) && one == 1) continue;
        if (is_zero(access.offset.lane[i])) return false;
        for (int k = 0; k < i; k++) {
            const Poly *other = k < type.rank ? type.dims[k] : NULL;
            if (other && poly_is_constant(other, &one) && one == 1) continue;
            bool strides = !poly_equal(access.offset.lane[i], access.offset.lane[k]) &&
                           !strides_may_meet(arena, access.offset.lane[i], access.offset.lane[k]) &&
                           (holds_stride(type, access.offset.lane[i]) ||
                            holds_stride(type, access.offset.lane[k]));
            if (!strides && !steps_over(arena, &access, i, k) && !steps_over(arena, &access, k, i))
                return false;
        }
    }
    return true;
}
