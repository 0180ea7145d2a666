// Addresses as affine forms, compared: along one dimension of the tiles an access ends where another one starts.
#include "autodiff/addresses/place.h"

#include <limits.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

Value *access_mask(const Op *op) {
    int index = op_parameter_index(op->code, STR("mask"));
    Value *mask = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return mask && value_is_none(mask) ? NULL : mask;
}

/// Whether the polynomial is the same in all programs and iterations.
static bool is_fixed(const Poly *poly) {
    for (int t = 0; poly && t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (!value_is_of_parameters(poly->terms[t].atoms[i])) return false;
    return poly != NULL;
}

static intptr_t bounds_lane(ValueWalk *walk, const Value *atom) {
    const Type type = *(const Type *)walk->context;
    for (int i = 0; i < type.rank; i++)
        if (type.dims[i] && poly_mentions(type.dims[i], atom)) return true;
    const Op *op = atom->type.is_constexpr ? atom->op : NULL;
    for (int i = 0; op && i < op->operand_count; i++)
        if (op->operands[i] && !op->operands[i]->constant && walk_ask(walk, op->operands[i]))
            return true;
    return false;
}

/// Whether a lane runs up to the value, or to what it is computed from; `unknown` where there is too much of that.
static bool bounds_a_lane(Type type, const Value *atom, bool unknown) {
    return walk_from(atom, bounds_lane, unknown, &type);
}

/// Whether a weight is a product with a size that no lane runs up to and that `distance` and `end` know nothing of: a
/// dimension of its own.
static bool is_other_dimension(Type type, const Poly *weight, const Poly *distance,
                               const Poly *end) {
    if (weight->count != 1 || weight->terms[0].coefficient < 1) return false;
    for (int i = 0; i < weight->terms[0].atom_count; i++) {
        const Value *atom = weight->terms[0].atoms[i];
        if (!bounds_a_lane(type, atom, true) && !poly_mentions(distance, atom) &&
            !poly_mentions(end, atom) && !atom->op && !atom->is_chosen)
            return true;
    }
    return false;
}

/* ---- one dimension of a tile ---- */

/// Parts of a mask that are looked at. Beyond: no bound, and the tile counts as a whole.
enum { MASK_STEPS = 200 };

static LaneBound mask_bound(Arena *arena, Value *mask, int lane, int *steps) {
    LaneBound none = {0};
    if (!mask || !mask->op || ++*steps > MASK_STEPS || lane < 0) return none;
    const Op *op = mask->op;
    int64_t axis;
    switch (op->code) {
    case OP_AND:
        for (int i = 0; i < 2; i++) {
            Value *side = op->operands[i];
            LaneBound found =
                mask_bound(arena, side, lane - (mask->type.rank - side->type.rank), steps);
            if (found.bound) return found;
        }
        return none;
    case OP_EXPAND_DIMS:
        if (!value_is_int(op->operands[1], &axis)) return none;
        if (axis < 0) axis += mask->type.rank;
        return axis == lane
                   ? none
                   : mask_bound(arena, op->operands[0], lane > axis ? lane - 1 : lane, steps);
    case OP_BROADCAST_TO: return mask_bound(arena, op->operands[0], lane, steps);
    case OP_LT: break;
    default: return none;
    }
    if (op->operands[1]->type.rank) return none;
    Affine index = affine_of(arena, op->operands[0]);
    if (!index.known || index.wrapped || lane >= index.rank) return none;
    int64_t one;
    for (int i = 0; i < index.rank; i++)
        if (i != lane && !poly_is_zero(index.lane[i])) return none;
    if (!poly_is_constant(index.lane[lane], &one) || one != 1) return none;
    if (!poly_is_nonnegative(arena, index.base)) return none;
    return (LaneBound){index.base, value_poly(arena, op->operands[1])};
}

LaneBound access_lane_bound(Arena *arena, const Op *access, int lane) {
    return mask_bound(arena, access_mask(access), lane, &(int){0});
}

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
    LaneBound bound = access_lane_bound(arena, access->op, lane);
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
        if (i == lane || poly_is_zero(weight)) continue;
        bool is_apart = is_other_dimension(access->op->operands[0]->type, weight, distance, end);
        if (!is_apart && !sizes_are_nonnegative(arena, poly_subtract(arena, weight, end)))
            return false;
    }
    return true;
}

static bool lies_before(Arena *arena, const AccessPlace *a, int lane_a, const AccessPlace *b,
                        int lane_b) {
    Span first = a->lanes[lane_a], second = b->lanes[lane_b];
    if (!first.reach || !second.reach) return false;
    const Poly *distance = poly_subtract(arena, second.start, first.start);
    if (!is_fixed(distance) || !is_fixed(first.reach) || !is_fixed(second.reach)) return false;
    // a mask bounds a lane from above alone: it begins where the tile does (`ROT + arange < size`)
    const Poly *low = poly_subtract(arena, b->access.offset.base, first.start);
    if (!sizes_are_nonnegative(arena, poly_subtract(arena, distance, first.reach)) &&
        (!is_fixed(low) || !sizes_are_nonnegative(arena, poly_subtract(arena, low, first.reach))))
        return false;
    const Poly *end = poly_add(arena, distance, second.reach);
    return others_step_over(arena, &a->access, lane_a, distance, end) &&
           others_step_over(arena, &b->access, lane_b, distance, end);
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

/// How far apart two elements of a lane and of that lane `distance` further are at most, and 1 more; NULL where that is not known.
static const Poly *reach_between(Arena *arena, const AccessPlace *place, int lane, int64_t step,
                                 int64_t distance) {
    const Poly *reach = place->lanes[lane].reach;
    if (!reach || !is_fixed(reach)) return NULL;
    int64_t more = (distance < 0 ? -distance : distance) + 1 - step;
    return poly_add(arena, reach, poly_constant(arena, more));
}

/// The same along one lane that a mask ends, where all others step over what it reaches: pairs in rows of a length that is even or not.
static bool lie_between_in_rows(Arena *arena, const AccessPlace *a, int lane_a,
                                const AccessPlace *b, int lane_b) {
    int64_t distance, step;
    const Affine *left = &a->access.offset, *right = &b->access.offset;
    const Poly *apart = poly_subtract(arena, right->base, left->base);
    if (!poly_is_constant(left->lane[lane_a], &step) || step < 2 ||
        !poly_is_constant(apart, &distance) || distance % step == 0)
        return false;
    const Poly *first = reach_between(arena, a, lane_a, step, distance),
               *second = reach_between(arena, b, lane_b, step, distance);
    return first && second && others_step_over(arena, &a->access, lane_a, apart, first) &&
           others_step_over(arena, &b->access, lane_b, apart, second) &&
           others_step_over(arena, &a->access, lane_a, apart, second) &&
           others_step_over(arena, &b->access, lane_b, apart, first);
}

/// From the first element that an access may touch to behind the last one. `reach` NULL where it is not known.
static Span access_span(Arena *arena, const Access *access, bool by_mask) {
    Span all = {.start = access->offset.base, .reach = poly_constant(arena, 1)};
    for (int i = 0; i < access->offset.rank; i++) {
        const Poly *weight = access->offset.lane[i];
        if (poly_is_zero(weight)) continue;
        Span span = by_mask ? lane_span(arena, access, i) : tile_span(arena, access, i);
        if (!span.reach || !sizes_are_nonnegative(arena, weight)) return (Span){0};
        all.start =
            poly_add(arena, all.start, poly_subtract(arena, span.start, access->offset.base));
        all.reach = poly_add(arena, all.reach, poly_subtract(arena, span.reach, weight));
    }
    return all;
}

static bool spans_are_apart(Arena *arena, Span first, Span second) {
    if (!first.reach || !second.reach) return false;
    const Poly *distance = poly_subtract(arena, second.start, first.start);
    return is_fixed(distance) && is_fixed(first.reach) &&
           sizes_are_nonnegative(arena, poly_subtract(arena, distance, first.reach));
}

AccessPlace place_from(Arena *arena, const Access *access) {
    AccessPlace place = {.access = *access};
    const Affine *offset = &place.access.offset;
    if (!place.access.parameter || !offset->known || offset->wrapped) return place;
    for (int i = 0; i < offset->rank; i++) place.lanes[i] = lane_span(arena, &place.access, i);
    for (int by_mask = 0; by_mask < 2; by_mask++)
        place.whole[by_mask] = access_span(arena, &place.access, by_mask);
    return place;
}

AccessPlace place_of_access(Arena *arena, Op *op) {
    const Access access = access_of(arena, op);
    return place_from(arena, &access);
}

/// What an access had for an address when it was looked at.
typedef struct KnownPlace {
    const Value *pointer;
    AccessPlace place;
} KnownPlace;

Places places_new(Arena *arena) { return (Places){arena, map_new(arena)}; }

const AccessPlace *places_find(Places *places, Op *op) {
    KnownPlace *known = map_get_pointer(&places->known, op);
    if (known && known->pointer == op->operands[0]) return &known->place;
    known = ARENA_NEW(places->arena, KnownPlace);
    *known = (KnownPlace){op->operands[0], place_of_access(places->arena, op)};
    map_set_pointer(&places->known, op, known);
    return &known->place;
}

bool place_is_apart(Arena *arena, const AccessPlace *a, const AccessPlace *b) {
    const Affine *left = &a->access.offset, *right = &b->access.offset;
    if (!a->access.parameter || a->access.parameter != b->access.parameter) return false;
    if (!left->known || !right->known || left->wrapped || right->wrapped) return false;
    if (left->rank == 0 && right->rank == 0) {
        int64_t distance;
        return poly_is_constant(poly_subtract(arena, left->base, right->base), &distance) &&
               distance != 0;
    }
    if (lie_between(arena, &a->access, &b->access)) return true;
    for (int i = 0; i < left->rank; i++)
        for (int k = 0; k < right->rank; k++) {
            if (poly_is_zero(left->lane[i]) || !poly_equal(left->lane[i], right->lane[k])) continue;
            if (lies_before(arena, a, i, b, k) || lies_before(arena, b, k, a, i) ||
                lie_between_in_rows(arena, a, i, b, k))
                return true;
        }
    for (int by_mask = 0; by_mask < 2; by_mask++) {
        Span first = a->whole[by_mask], second = b->whole[by_mask];
        if (spans_are_apart(arena, first, second) || spans_are_apart(arena, second, first))
            return true;
    }
    return false;
}

bool places_are_apart(Arena *arena, Op *a, Op *b) {
    AccessPlace left = place_of_access(arena, a), right = place_of_access(arena, b);
    return place_is_apart(arena, &left, &right);
}

bool place_equals(const AccessPlace *a, const AccessPlace *b) {
    if (a->access.op->operands[0] == b->access.op->operands[0]) return true;
    const Affine *left = &a->access.offset, *right = &b->access.offset;
    if (!a->access.parameter || a->access.parameter != b->access.parameter) return false;
    if (!left->known || !right->known || left->rank != right->rank) return false;
    if (!poly_equal(left->base, right->base)) return false;
    for (int i = 0; i < left->rank; i++)
        if (!poly_equal(left->lane[i], right->lane[i])) return false;
    return true;
}

bool places_are_equal(Arena *arena, Op *a, Op *b) {
    AccessPlace left = {.access = access_of(arena, a)}, right = {.access = access_of(arena, b)};
    return place_equals(&left, &right);
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
    AccessPlace left = place_of_access(arena, a), right = place_of_access(arena, b);
    if (left.access.parameter != right.access.parameter) return false;
    for (int by_mask = 0; by_mask < 2; by_mask++)
        if (spans_fit(arena, left.whole[by_mask], right.whole[by_mask], window)) return true;
    return false;
}

/* ---- two accesses as one ---- */

enum { CHOICE_ID = INT_MIN / 2, MOST_CHOICES = 4 };

/// A loop variable from `first` to below `end`, the `index`-th one. `last`, or NULL: a number of the kernel's in place of `end`.
static Value *choice_from(Arena *arena, int index, int64_t first, int64_t end, Value *last) {
    Constant *numbers = ARENA_ARRAY(arena, Constant, 3);
    const int64_t bounds[] = {first, end, 1};
    for (int i = 0; i < 3; i++) numbers[i] = (Constant){.kind = CONSTANT_INT, .integer = bounds[i]};
    Op *loop = ARENA_NEW(arena, Op);
    Region *body = ARENA_NEW(arena, Region);
    Value *choice = ARENA_NEW(arena, Value);
    *loop = (Op){.code = OP_FOR,
                 .operands = ARENA_ARRAY(arena, Value *, 3),
                 .operand_count = 3,
                 .regions = ARENA_ARRAY(arena, Region *, 1),
                 .region_count = 1};
    loop->regions[0] = body;
    *body =
        (Region){.parent = loop, .arguments = ARENA_ARRAY(arena, Value *, 1), .argument_count = 1};
    body->arguments[0] = choice;
    *choice = (Value){.id = CHOICE_ID - 4 * index, .type.kind = TYPE_NUMBER, .region = body};
    for (int i = 0; i < 3; i++) {
        loop->operands[i] = ARENA_NEW(arena, Value);
        *loop->operands[i] = (Value){
            .id = CHOICE_ID - 4 * index - 1 - i, .type.kind = TYPE_NUMBER, .constant = &numbers[i]};
    }
    if (last) loop->operands[1] = last;
    return choice;
}

/// A loop variable of 0 and 1, the `index`-th one.
static Value *choice_between_two(Arena *arena, int index) {
    return choice_from(arena, index, 0, 2, NULL);
}

static bool is_counted(const Op *op) { return op->code == OP_FOR || op->code == OP_STATIC_FOR; }

/// The loop around `op`, below `level`, that counts as `loop` does, or NULL.
static Op *loop_like(const Op *loop, Op *op, const Op *level) {
    for (; op != level; op = op->parent->parent)
        if (is_counted(op) && op->operands[0] == loop->operands[0] &&
            op->operands[1] == loop->operands[1] && op->operands[2] == loop->operands[2])
            return op;
    return NULL;
}

/// The start with a loop counted from its end, where it falls with the loop's variable: what all its turns touch is the same.
static const Poly *ascending(Arena *arena, const Op *loop, const Poly *start) {
    Value *variable = loop->regions[0]->arguments[0];
    const Poly *weight, *rest, *one = poly_constant(arena, 1);
    int64_t lower, step;
    if (!poly_split(arena, start, variable, &weight, &rest) || poly_is_zero(weight)) return start;
    const Poly *fall = poly_subtract(arena, poly_constant(arena, 0), weight);
    bool counts = value_is_int(loop->operands[0], &lower) && lower == 0 &&
                  value_is_int(loop->operands[2], &step) && step == 1;
    if (!counts || !poly_is_nonnegative(arena, fall)) return start;
    const Poly *last = poly_subtract(arena, value_poly(arena, loop->operands[1]), one);
    const Poly *iteration = poly_subtract(arena, last, poly_atom(arena, variable));
    return poly_add(arena, rest, poly_multiply(arena, weight, iteration));
}

static const Poly *ascending_below(Arena *arena, Op *op, const Op *level, const Poly *start) {
    for (; op != level; op = op->parent->parent)
        if (is_counted(op)) start = ascending(arena, op, start);
    return start;
}

/// What is between the two starts, but for the variables of loops that hold only one of them; `base` is the start of `a` and
/// the variables of `b`'s own loops, where they are not those of a loop of `a` that counts alike. NULL where it moves with
/// anything else.
static const Poly *fixed_distance(Arena *arena, const Access *a, const Access *b, Op *in_a,
                                  Op *in_b, const Poly **base) {
    const Op *level = in_a->parent->parent;
    const Poly *weight, *rest;
    const Poly *from = *base = ascending_below(arena, a->op, level, a->offset.base);
    const Poly *start = ascending_below(arena, b->op, in_b->parent->parent, b->offset.base);
    for (Op *op = b->op; op != in_b->parent->parent; op = op->parent->parent) {
        if (!is_counted(op)) continue;
        Value *variable = op->regions[0]->arguments[0];
        Op *like = loop_like(op, a->op, level);
        if (like) {
            start = poly_substitute(arena, start, variable,
                                    poly_atom(arena, like->regions[0]->arguments[0]));
            continue;
        }
        if (!poly_split(arena, start, variable, &weight, &rest) || !is_fixed(weight)) return NULL;
        *base = poly_add(arena, *base, poly_multiply(arena, weight, poly_atom(arena, variable)));
        start = rest;
    }
    const Poly *distance = poly_subtract(arena, start, from);
    for (Op *op = a->op; op != level; op = op->parent->parent) {
        if (!is_counted(op)) continue;
        Value *variable = op->regions[0]->arguments[0];
        if (poly_mentions(start, variable)) continue;  // as often in both, or the distance is none
        if (!poly_split(arena, distance, variable, &weight, &rest)) return NULL;
        distance = rest;
    }
    return is_fixed(distance) ? distance : NULL;
}

/// Whether the distance is so many elements or tiles. By a stride or a size of the caller's, one program's elements may become
/// another's.
static bool is_plain(const Poly *distance, const Access *a, const Access *b) {
    for (int t = 0; t < distance->count; t++)
        for (int i = 0; i < distance->terms[t].atom_count; i++) {
            const Value *atom = distance->terms[t].atoms[i];
            if (!bounds_a_lane(a->op->operands[0]->type, atom, false) &&
                !bounds_a_lane(b->op->operands[0]->type, atom, false))
                return false;
        }
    return true;
}

/// One tile with the lanes of both, where they differ.
static bool join_lanes(Arena *arena, Access *joint, Type *type, const Access *b) {
    Type other = b->op->operands[0]->type;
    bool equal = joint->offset.rank == b->offset.rank && type->rank == other.rank;
    for (int i = 0; equal && i < joint->offset.rank; i++)
        equal = poly_equal(joint->offset.lane[i], b->offset.lane[i]) &&
                (i >= type->rank || poly_equal(type->dims[i], other.dims[i]));
    if (equal) return true;
    if (type->rank != joint->offset.rank || other.rank != b->offset.rank ||
        type->rank + other.rank > TYPE_MAX_RANK)
        return false;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, type->rank + other.rank + 1);
    for (int i = 0; i < type->rank; i++) dims[i] = type->dims[i];
    for (int i = 0; i < other.rank; i++) {
        joint->offset.lane[joint->offset.rank++] = b->offset.lane[i];
        dims[type->rank + i] = other.dims[i];
    }
    type->dims = dims;
    type->rank += other.rank;
    return true;
}

bool places_are_owned_together(Arena *arena, const FunctionAxes *around, Op *a, Op *b,
                               bool by_program) {
    Access joint = access_of(arena, a), other = access_of(arena, b);
    Op *in_a, *in_b;
    ops_common_level(a, b, &in_a, &in_b);
    if (!in_a || !joint.parameter || joint.parameter != other.parameter) return false;
    if (!joint.offset.known || !other.offset.known) return false;
    if (!places_are_equal(arena, a, b)) {
        if (joint.offset.wrapped || other.offset.wrapped) return false;
        const Poly *base;
        const Poly *distance = fixed_distance(arena, &joint, &other, in_a, in_b, &base);
        if (!distance) return false;
        if (!is_plain(distance, &joint, &other) && !places_are_apart(arena, a, b)) return false;
        const Poly *choice = poly_atom(arena, choice_between_two(arena, 0));
        joint.offset.base = poly_add(arena, base, poly_multiply(arena, choice, distance));
    }
    Op *op = ARENA_NEW(arena, Op);
    Value *pointer = ARENA_NEW(arena, Value);
    *op = *a;
    *pointer = *a->operands[0];
    if (!join_lanes(arena, &joint, &pointer->type, &other)) return false;
    op->operands = ARENA_ARRAY(arena, Value *, 1);
    op->operands[0] = pointer;
    op->operand_count = 1;
    op->parent = in_a->parent;
    joint.op = op;
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count = access_axes(arena, around, &joint, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (dependence[i] != AXIS_OWNED && (axes[i].is_program || !by_program)) return false;
    return true;
}

/// The start of what a loop's iterations touch, and one more, which is where `beside` starts: channel 3 beside those from 0 to 2. The variable
/// of such a loop in `*wider`. NULL: it is no further iteration.
static const Poly *with_iteration(Arena *arena, const Op *loop, const Poly *start,
                                  const Poly *beside, Value **wider) {
    int64_t first, step, at, behind;
    const Poly *weight, *rest;
    if (!is_counted(loop) || !value_is_int(loop->operands[0], &first) ||
        !value_is_int(loop->operands[2], &step) || step != 1 ||
        !poly_split(arena, start, loop->regions[0]->arguments[0], &weight, &rest) ||
        poly_is_zero(weight))
        return NULL;
    const Poly *iteration = poly_divide_exact(arena, poly_subtract(arena, beside, rest), weight);
    if (!iteration) return NULL;
    const Poly *past = poly_subtract(arena, iteration, value_poly(arena, loop->operands[1]));
    int64_t more = 0;  // iterations in front of the first
    if (poly_is_constant(iteration, &at) && at < first) more = first - at;
    const bool is_behind = poly_is_constant(past, &behind) && behind >= 0;
    if (!more && !is_behind) return NULL;
    if (!more) more = behind + 1;
    *wider = choice_from(arena, 0, first - more, 0, loop->operands[1]);
    const Poly *counted =
        poly_add(arena, poly_atom(arena, *wider), poly_constant(arena, is_behind ? more : 0));
    return poly_add(arena, rest, poly_multiply(arena, weight, counted));
}

/// Whether iterations of a loop touch elements of their own with an access, its operation in `region` in the place of its own. `by_strides`:
/// symbols that it steps by may be taken for strides.
static bool iterations_are_owned(Arena *arena, const FunctionAxes *around, Access access,
                                 Region *region, const Op *loop, bool by_strides) {
    Op *op = ARENA_NEW(arena, Op);
    *op = *access.op;
    op->parent = region;
    access.op = op;
    if (access_iterations_are_digits(arena, around, &access)) return true;
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count =
        by_strides ? access_axes(arena, around, &access, axes, dependence, ACCESS_MOST_AXES) : 0;
    for (int i = 0; i < count; i++)
        if (!axes[i].is_program && axes[i].loop == loop) return dependence[i] == AXIS_OWNED;
    return false;
}

/// The same of a joint access, of which the half that a choice adds `distance` to is the other access.
static bool choice_is_owned(Arena *arena, const FunctionAxes *around, Access joint,
                            const Poly *distance, Region *region, const Op *loop) {
    Value *choice = choice_between_two(arena, 0);
    Op *chosen = choice->region->parent;
    chosen->parent = region;
    const Poly *moved = poly_multiply(arena, poly_atom(arena, choice), distance);
    joint.offset.base = poly_add(arena, joint.offset.base, moved);
    return iterations_are_owned(arena, around, joint, choice->region, loop ? loop : chosen,
                                is_plain(distance, &joint, &joint));
}

/// The same of `b` in a loop beside `a`: `a` is where a further iteration of it begins, or a distance from where the first, the last or the next one
/// does.
static bool is_beside_loop(Arena *arena, const FunctionAxes *around, const Access *a,
                           const Access *b, const Op *loop) {
    const Op *inner = b->op->parent->parent;
    const Poly *weight, *rest, *one = poly_constant(arena, 1);
    if (!inner || inner->parent != a->op->parent || !is_counted(inner) ||
        !poly_split(arena, b->offset.base, inner->regions[0]->arguments[0], &weight, &rest) ||
        !is_fixed(weight))
        return false;
    Value *wider;
    Access joint = *b;
    joint.offset.base = with_iteration(arena, inner, b->offset.base, a->offset.base, &wider);
    if (joint.offset.base) {
        Op *counting = wider->region->parent;
        counting->parent = inner->parent;
        if (iterations_are_owned(arena, around, joint, wider->region, loop ? loop : counting, true))
            return true;
    }
    const Poly *end = value_poly(arena, inner->operands[1]);
    const Poly *const beside[] = {value_poly(arena, inner->operands[0]),
                                  poly_subtract(arena, end, one), end};
    for (int i = 0; i < 3; i++) {
        const Poly *begin = poly_multiply(arena, weight, beside[i]);
        if (!begin) continue;
        begin = poly_add(arena, rest, begin);
        const Poly *left = poly_subtract(arena, a->offset.base, begin);
        if (!is_fixed(left) || poly_is_zero(left)) continue;
        Region *region = b->op->parent;
        joint.offset.base = b->offset.base;
        if (beside[i] == end) {
            joint.offset.base = with_iteration(arena, inner, b->offset.base, begin, &wider);
            if (!joint.offset.base) continue;
            region = wider->region;
            region->parent->parent = inner->parent;
        }
        if (choice_is_owned(arena, around, joint, left, region, loop)) return true;
    }
    return false;
}

bool accesses_never_meet(Arena *arena, const FunctionAxes *around, const Access *a, const Access *b,
                         const Op *loop) {
    if (!a->parameter || a->parameter != b->parameter || !a->offset.known || !b->offset.known ||
        a->offset.wrapped || b->offset.wrapped)
        return false;
    Access joint = *a;
    Type type = a->op->operands[0]->type;
    const int rank = type.rank;
    if (!join_lanes(arena, &joint, &type, b) || type.rank != rank) return false;
    if (a->op->parent != b->op->parent)
        return is_beside_loop(arena, around, a, b, loop) ||
               is_beside_loop(arena, around, b, a, loop);
    const Poly *distance = poly_subtract(arena, b->offset.base, a->offset.base);
    return is_fixed(distance) && !poly_is_zero(distance) &&
           choice_is_owned(arena, around, joint, distance, a->op->parent, loop);
}

/// Whether the address moves along a stride by more than a distance along it, with something that varies: it is a dimension's. Of elements
/// that lie side by side, lanes are what varies.
static bool is_step_of_dimension(Arena *arena, const Affine *offset, const Monomial *distance) {
    const Poly along = {1, distance}, *base = offset->base;
    int64_t size = distance->coefficient < 0 ? -distance->coefficient : distance->coefficient, step;
    for (int i = 0; i < offset->rank && !distance->atom_count; i++)
        if (poly_is_constant(offset->lane[i], &step) && step > size) return true;
    const Poly *unit =
        poly_divide_exact(arena, &along, poly_constant(arena, distance->coefficient));
    for (int t = 0; unit && distance->atom_count && t < base->count; t++) {
        const Poly term = {1, &base->terms[t]};
        const Poly *index = poly_divide_exact(arena, &term, unit);
        bool varies = index && base->terms[t].coefficient > size;
        for (int i = 0; varies && i < index->terms[0].atom_count; i++)
            if (!value_is_of_parameters(index->terms[0].atoms[i])) return true;
    }
    return false;
}

/// Whether a distance is a number of steps of a dimension: `C` rows of a stride that something varying steps by, as the second half
/// of `2 * C` rows has it.
static bool is_multiple_of_step(Arena *arena, const Affine *offset, const Monomial *distance) {
    const Poly along = {1, distance};
    for (int t = 0; t < offset->base->count; t++) {
        const Monomial *term = &offset->base->terms[t];
        const Poly *step = poly_constant(arena, 1);
        int varying = 0;
        for (int i = 0; i < term->atom_count; i++) {
            if (value_is_of_parameters(term->atoms[i]))
                step = poly_multiply(arena, step, poly_atom(arena, term->atoms[i]));
            else
                varying++;
        }
        const Poly *steps = poly_divide_exact(arena, &along, step);
        if (varying != 1 || term->atom_count < 2 || term->coefficient != 1 || !steps) continue;
        bool is_number = steps->count == 1 && steps->terms[0].atom_count > 0;
        for (int i = 0; is_number && i < steps->terms[0].atom_count; i++)
            is_number = value_is_of_parameters(steps->terms[0].atoms[i]);
        if (is_number) return true;
    }
    return false;
}

/// Whether an access, its operation in `region` in the place of its own, touches no element twice: in no two programs, iterations or lanes.
static bool is_owned_within(Arena *arena, const FunctionAxes *around, Access access,
                            Region *region) {
    Op *own = access.op, *op = ARENA_NEW(arena, Op);
    *op = *own;
    op->parent = region;
    access.op = op;
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count = access_axes(arena, around, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (dependence[i] != AXIS_OWNED) return false;
    return count > 0 && lanes_are_apart(arena, own);
}

/// Whether an access, its operation in `region` in the place of its own, touches other elements for each value of what it moves with.
static bool are_digits_within(Arena *arena, const FunctionAxes *around, Access access,
                              Region *region) {
    Op *op = ARENA_NEW(arena, Op);
    *op = *access.op;
    op->parent = region;
    access.op = op;
    return access_places_are_digits(arena, around, &access);
}

bool places_are_apart_by_strides(Arena *arena, const FunctionAxes *around, Op *a, Op *b) {
    Access joint = access_of(arena, a), other = access_of(arena, b);
    Type type = a->operands[0]->type;
    if (a->parent != b->parent || !joint.parameter || joint.parameter != other.parameter ||
        !joint.offset.known || !other.offset.known || joint.offset.wrapped ||
        other.offset.wrapped || !join_lanes(arena, &joint, &type, &other) ||
        type.rank != a->operands[0]->type.rank)
        return false;
    const Poly *distance = poly_subtract(arena, other.offset.base, joint.offset.base);
    if (!is_fixed(distance) || distance->count < 1 || distance->count > MOST_CHOICES) return false;
    Region *around_a = a->parent;
    const Poly *base = joint.offset.base;
    bool by_strides = true;
    for (int t = 0; t < distance->count; t++) {
        const Poly part = {1, &distance->terms[t]};
        by_strides &= is_step_of_dimension(arena, &joint.offset, part.terms) ||
                      is_multiple_of_step(arena, &joint.offset, part.terms);
        Value *choice = choice_between_two(arena, t);
        choice->region->parent->parent = around_a;
        around_a = choice->region;
        base = poly_add(arena, base, poly_multiply(arena, poly_atom(arena, choice), &part));
    }
    joint.offset.base = base;
    return (by_strides && is_owned_within(arena, around, joint, around_a)) ||
           are_digits_within(arena, around, joint, around_a);
}

bool places_are_iterations(Arena *arena, const FunctionAxes *around, Op *a, Op *b) {
    const Op *loop = a->parent->parent;
    if (!loop || loop->parent != b->parent) {
        loop = b->parent->parent;
        if (!loop || loop->parent != a->parent) return false;
        Op *inner = b;
        b = a;
        a = inner;
    }
    Access joint = access_of(arena, a), other = access_of(arena, b);
    Type type = a->operands[0]->type;
    Value *wider;
    if (!joint.parameter || joint.parameter != other.parameter || !joint.offset.known ||
        !other.offset.known || joint.offset.wrapped || other.offset.wrapped ||
        !join_lanes(arena, &joint, &type, &other) || type.rank != a->operands[0]->type.rank)
        return false;
    const Poly *base = with_iteration(arena, loop, joint.offset.base, other.offset.base, &wider);
    if (!base) return false;
    joint.offset.base = base;
    wider->region->parent->parent = loop->parent;
    return is_owned_within(arena, around, joint, wider->region);
}

/* ---- lanes ---- */

/// Whether a lane's weight holds something that is no block size: a stride.
static bool holds_stride(Type type, const Poly *weight) {
    for (int t = 0; t < weight->count; t++)
        for (int i = 0; i < weight->terms[t].atom_count; i++)
            if (!bounds_a_lane(type, weight->terms[t].atoms[i], false)) return true;
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
    return access.offset.known ? offset_lanes_are_apart(arena, type, &access) : type.rank == 0;
}

bool offset_lanes_are_apart(Arena *arena, Type type, const Access *given) {
    Access access = *given;
    // Lanes past the end repeat elements (`offsets % n`, `where(offsets < n, offsets, n - 1)`): the last store would win.
    if (access.offset.wrapped) return false;
    for (int i = 0; i < access.offset.rank; i++) {
        int64_t one;
        const Poly *dim = i < type.rank ? type.dims[i] : NULL;
        if (dim && poly_is_constant(dim, &one) && one == 1) continue;
        if (poly_is_zero(access.offset.lane[i]) || stride_may_vanish(access.offset.lane[i]))
            return false;
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

/* ---- apart whatever strides are ---- */

/// The one number of a launch, no constexpr, in what an address steps by; `*several`: there is more than one.
static const Value *stride_in(const Monomial *term, bool *several) {
    const Value *stride = NULL;
    for (int i = 0; i < term->atom_count; i++) {
        const Value *atom = term->atoms[i];
        bool is_parameter = !atom->op && atom->region && !atom->region->parent;
        if (!is_parameter || atom->type.is_constexpr) continue;
        *several = *several || stride;
        stride = atom;
    }
    return stride;
}

static bool holds_index(const Monomial *term) {
    for (int i = 0; i < term->atom_count; i++) {
        const Value *atom = term->atoms[i];
        if (atom->op || (atom->region && atom->region->parent)) return true;
    }
    return false;
}

bool address_needs_no_strides(Arena *arena, Op *op) {
    Access access = access_of(arena, op);
    if (!access.parameter || !access.offset.known) return false;
    const Value *first = NULL;
    bool several = false, any = false;
    for (int i = -1; i < access.offset.rank; i++) {
        const Poly *poly = i < 0 ? access.offset.base : access.offset.lane[i];
        for (int t = 0; t < poly->count; t++) {
            if (i < 0 && !holds_index(&poly->terms[t])) continue;
            const Value *stride = stride_in(&poly->terms[t], &several);
            several = several || (any && stride != first);
            first = stride;
            any = true;
        }
    }
    return !several;
}
