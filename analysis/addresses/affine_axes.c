// From an access to what each axis around it (program ids, loops) does to its address: free, owned or scattered.
//
// The offset is a polynomial. Its stride symbols (scalars of the program that bound no lane and step no loop) part it into
// dimensions; within one dimension an axis owns what it touches when everything finer fits below its weight, as the digits
// of a number do. `x // c` and `x % c` of an axis x are two such digits that together are x.
#include "analysis/addresses/affine_axes.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/axes_parts.h"
#include "analysis/addresses/loop_order.h"
#include "analysis/addresses/strides.h"

#include "analysis/build/infer.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"

enum { SPLIT_DEPTH = 4 };

static const Poly *negate(Arena *arena, const Poly *poly) {
    return poly_multiply(arena, poly, poly_constant(arena, -1));
}

/* ---- movers ---- */

static Mover *find_mover(Analysis *analysis, const Value *atom) {
    for (int i = 0; i < analysis->mover_count; i++)
        if (analysis->movers[i].atom == atom) return &analysis->movers[i];
    return NULL;
}

/// Whether the function's axes come with one of two numbers being a multiple of the other.
static bool is_multiple(const Analysis *analysis, const Poly *size, const Poly *of) {
    for (LIST_EACH(int, i, analysis->function->multiples)) {
        const MultipleSize *known = &analysis->function->multiples.items[i];
        if (poly_equal(size, poly_atom(analysis->arena, (Value *)(uintptr_t)known->size)) &&
            poly_equal(of, poly_atom(analysis->arena, (Value *)(uintptr_t)known->of)))
            return true;
    }
    return false;
}

/// Number of values of a loop variable, `*step` between them. NULL where it is not a fixed polynomial. Then `*span` is how far they go, or
/// NULL.
static const Poly *loop_extent(Analysis *analysis, const Op *loop, const Poly **step,
                               const Poly **span) {
    Affine lower = affine_by(analysis->former, loop->operands[0]);
    Affine upper = affine_by(analysis->former, loop->operands[1]);
    Affine stride = affine_by(analysis->former, loop->operands[2]);
    *step = stride.known && stride.rank == 0 ? stride.base : poly_constant(analysis->arena, 1);
    if (!lower.known || !upper.known || !stride.known) return NULL;
    const Poly *length = poly_subtract(analysis->arena, upper.base, lower.base);
    if (!poly_is_fixed(analysis->arena, length)) return NULL;
    int64_t n, s;
    if (poly_is_constant(length, &n) && poly_is_constant(stride.base, &s) && s > 0)
        return poly_constant(analysis->arena, (n + s - 1) / s);
    if (is_multiple(analysis, length, stride.base))
        *span = poly_subtract(analysis->arena, length, stride.base);
    return poly_divide_exact(analysis->arena, length, stride.base);
}

static void describe_axis(Analysis *analysis, Mover *mover) {
    mover->is_axis = true;
    mover->step = poly_constant(analysis->arena, 1);
    if (value_is_loop_variable(mover->atom)) {
        mover->extent =
            loop_extent(analysis, mover->atom->region->parent, &mover->step, &mover->span);
        return;
    }
    int64_t axis;
    if (mover->atom->op->code == OP_TILE_INDEX) {
        Affine extent = affine_by(analysis->former, mover->atom->op->operands[3]);
        if (mover->atom->op->operands[3] && extent.known && extent.rank == 0)
            mover->extent = extent.base;
        return;
    }
    if (!value_is_int(mover->atom->op->operands[0], &axis) || axis < 0 || axis >= PROGRAM_AXES)
        return;
    Value *count = analysis->function->program_counts[axis];
    if (count) mover->extent = poly_atom(analysis->arena, count);
}

static Mover *add_mover(Analysis *analysis, Value *atom) {
    Mover *mover = find_mover(analysis, atom);
    if (mover) return mover;
    if (analysis->mover_count == ADDRESS_MOST_MOVERS) {
        analysis->too_many = true;
        return NULL;
    }
    mover = &analysis->movers[analysis->mover_count++];
    *mover = (Mover){.atom = atom, .step = poly_constant(analysis->arena, 1)};
    if (value_is_axis(atom))
        describe_axis(analysis, mover);
    else
        mover->unbounded = axis_sources_of(analysis->arena, atom, NULL).carried_state;
    return mover;
}

/// Everything in the base that varies within a launch.
static void collect_movers(Analysis *analysis) {
    for (int t = 0; t < analysis->base->count; t++)
        for (int a = 0; a < analysis->base->terms[t].atom_count; a++) {
            Value *atom = analysis->base->terms[t].atoms[a];
            AxisSources sources = axis_sources_of(analysis->arena, atom, NULL);
            if (sources.any_axis || sources.carried_state) add_mover(analysis, atom);
        }
}

/* ---- digits: x // c and x % c ---- */

static bool is_digit_of(Analysis *analysis, const Value *atom, OpCode code, const Value *axis,
                        const Poly **divisor) {
    if (!atom->op || atom->op->code != code) return false;
    Affine x = affine_by(analysis->former, atom->op->operands[0]);
    Affine c = affine_by(analysis->former, atom->op->operands[1]);
    if (!x.known || x.rank || !c.known || c.rank) return false;
    if (!poly_equal(x.base, poly_atom(analysis->arena, (Value *)(uintptr_t)axis))) return false;
    *divisor = c.base;
    return poly_is_fixed(analysis->arena, c.base);
}

static Value *synthetic_atom(Analysis *analysis, const Value *like) {
    Value *atom = ARENA_NEW(analysis->arena, Value);
    atom->id = analysis->synthetic--;
    atom->type = like->type;
    atom->name = "digit";
    return atom;
}

/// Where the base holds x and x // c, x becomes (x // c) * c + (x % c).
static void split_direct_use(Analysis *analysis, Value *axis) {
    Value *quotient = NULL, *remainder = NULL;
    const Poly *divisor = NULL, *other;
    for (int i = 0; i < analysis->mover_count; i++) {
        Value *atom = analysis->movers[i].atom;
        if (!quotient && is_digit_of(analysis, atom, OP_FLOORDIV, axis, &divisor)) quotient = atom;
    }
    if (!quotient || !poly_mentions(analysis->base, axis)) return;
    for (int i = 0; i < analysis->mover_count; i++) {
        Value *atom = analysis->movers[i].atom;
        if (is_digit_of(analysis, atom, OP_MOD, axis, &other) && poly_equal(other, divisor))
            remainder = atom;
    }
    if (!remainder) remainder = synthetic_atom(analysis, axis);
    const Poly *whole =
        poly_add(analysis->arena,
                 poly_multiply(analysis->arena, poly_atom(analysis->arena, quotient), divisor),
                 poly_atom(analysis->arena, remainder));
    analysis->base = poly_substitute(analysis->arena, analysis->base, axis, whole);
    Mover *mover = add_mover(analysis, remainder);
    if (!mover) return;
    mover->is_axis = true;
    mover->unbounded = false;
    mover->extent = divisor;
    mover->digit_of = axis;
}

/* ---- dimensions ---- */

/// Whether the symbol says how many values a digit may have, or how often a loop runs.
static bool is_count_of(const Analysis *analysis, const Mover *mover, const Value *atom) {
    const Poly *count = mover->extent ? mover->extent : mover->span;
    if (!analysis->has_counts || !count || !poly_mentions(count, atom)) return false;
    return value_is_loop_variable(mover->atom) ? atom->type.is_constexpr
                                               : !value_is_axis(mover->atom);
}

/// Also what is computed from a block size (`BLOCK // 2`) is one, and how many programs there are: it is no stride of its own.
static intptr_t bounds_a_lane_or_step(ValueWalk *walk, const Value *atom) {
    const Analysis *analysis = walk->context;
    if (atom->op && atom->op->code == OP_NUM_PROGRAMS) return true;
    for (int i = 0; i < analysis->tile.rank; i++)
        if (analysis->tile.dims[i] && poly_mentions(analysis->tile.dims[i], atom)) return true;
    for (int i = 0; i < analysis->mover_count; i++)
        if (poly_mentions(analysis->movers[i].step, atom) ||
            is_count_of(analysis, &analysis->movers[i], atom))
            return true;
    const Op *op = atom->type.is_constexpr ? atom->op : NULL;
    for (int i = 0; op && i < op->operand_count; i++)
        if (op->operands[i] && !op->operands[i]->constant && walk_ask(walk, op->operands[i]))
            return true;
    return false;
}

/// The product of a term's stride symbols.
static const Poly *term_stride(Analysis *analysis, const Monomial *term) {
    const Poly *stride = poly_constant(analysis->arena, 1);
    for (int a = 0; a < term->atom_count; a++) {
        Value *atom = term->atoms[a];
        if (find_mover(analysis, atom) || walk_from(atom, bounds_a_lane_or_step, true, analysis))
            continue;
        stride = poly_multiply(analysis->arena, stride, poly_atom(analysis->arena, atom));
    }
    return stride;
}

/// The part of a coefficient that lies in the dimension of `stride`, divided by it.
static const Poly *part_in(Analysis *analysis, const Poly *coefficient, const Poly *stride) {
    const Poly *sum = poly_constant(analysis->arena, 0);
    for (int t = 0; t < coefficient->count; t++) {
        Poly one = {1, &coefficient->terms[t]};
        if (!poly_equal(term_stride(analysis, &coefficient->terms[t]), stride)) continue;
        const Poly *weight = poly_divide_exact(analysis->arena, &one, stride);
        if (weight) sum = poly_add(analysis->arena, sum, weight);
    }
    return sum;
}

/// |weight|, or NULL where its sign is not known.
static const Poly *magnitude(Arena *arena, const Poly *weight) {
    if (poly_is_nonnegative(arena, weight)) return weight;
    const Poly *negated = negate(arena, weight);
    return poly_is_nonnegative(arena, negated) ? negated : NULL;
}

/// How far a mover with a span goes where each of its steps moves by `weight`; NULL where that is not known.
static const Poly *reach_by_span(Analysis *analysis, const Mover *mover, const Poly *weight) {
    const Poly *unit = mover->span ? poly_divide_exact(analysis->arena, weight, mover->step) : NULL;
    return unit ? poly_multiply(analysis->arena, unit, mover->span) : NULL;
}

/// Whether a step goes over all that the mover reaches with steps of `weight`: it is a higher digit.
static bool is_higher_digit(Analysis *analysis, const Poly *step, const Mover *mover,
                            const Poly *weight) {
    const Poly *reach = reach_by_span(analysis, mover, weight);
    if (reach)
        return poly_is_nonnegative(
            analysis->arena,
            poly_subtract(analysis->arena, step, poly_add(analysis->arena, reach, weight)));
    if (!mover->extent) return false;
    const Poly *ratio = poly_divide_exact(analysis->arena, step, weight);
    if (ratio)
        return poly_is_nonnegative(analysis->arena,
                                   poly_subtract(analysis->arena, ratio, mover->extent));
    const Poly *all = poly_multiply(analysis->arena, weight, mover->extent);
    return analysis->function->parts.count > 0 &&
           poly_is_nonnegative_in_parts(analysis->arena, analysis->function,
                                        poly_subtract(analysis->arena, step, all));
}

/// How far the lanes reach within the dimension, or NULL. Not those whose steps go over all that `mover` (or NULL) reaches.
static const Poly *lanes_reach(Analysis *analysis, const Poly *stride, const Mover *mover,
                               const Poly *mover_weight) {
    const Affine *offset = &analysis->access->offset;
    const Poly *reach = poly_constant(analysis->arena, 0);
    const Poly *one = poly_constant(analysis->arena, 1);
    for (int k = 0; k < offset->rank; k++) {
        const Poly *weight = part_in(analysis, offset->lane[k], stride);
        if (poly_is_zero(weight)) continue;
        weight = magnitude(analysis->arena, weight);
        const Poly *dim = k < analysis->tile.rank ? analysis->tile.dims[k] : NULL;
        if (!weight || !dim) return NULL;
        if (mover && is_higher_digit(analysis, weight, mover, mover_weight)) continue;
        reach = poly_add(
            analysis->arena, reach,
            poly_multiply(analysis->arena, weight, poly_subtract(analysis->arena, dim, one)));
    }
    return reach;
}

static bool is_crossed(Analysis *analysis, const Poly *own, const Poly *other, const Poly *bound) {
    if (poly_is_zero(other)) return false;
    const Poly *own_stride = term_stride(analysis, &own->terms[0]);
    const Poly *other_stride = term_stride(analysis, &other->terms[0]);
    if (poly_equal(own_stride, other_stride)) return false;
    // A flat index below `rows * columns`: the larger stride is a dimension after all.
    bool own_is_inner = poly_divide_exact(analysis->arena, other_stride, own_stride) != NULL;
    bool other_is_inner = poly_divide_exact(analysis->arena, own_stride, other_stride) != NULL;
    const Poly *outer = own_is_inner ? other_stride : own_stride;
    return !(own_is_inner || other_is_inner) || !poly_divide_exact(analysis->arena, bound, outer);
}

/// Tiles side by side, `i * BLOCK + lane`: one step goes over all lanes of the comparison.
static bool is_tiled(Analysis *analysis, const Poly *own, const Poly *lane, Type type, int axis) {
    const Poly *dim = axis < type.rank ? type.dims[axis] : NULL;
    if (!dim) return false;
    const Poly *reach = poly_multiply(analysis->arena, lane, dim);
    return poly_is_nonnegative(analysis->arena, poly_subtract(analysis->arena, own, reach));
}

/// Whether the sum of `op`, a comparison, is of `mover` and of something of another stride.
static bool compares_across(Analysis *analysis, const Mover *mover, const Op *op) {
    for (int side = 0; side < 2; side++) {
        Affine form = affine_by(analysis->former, op->operands[side]);
        Affine bound = affine_by(analysis->former, op->operands[1 - side]);
        const Poly *own, *other, *rest;
        if (!form.known || !bound.known ||
            !poly_split(analysis->arena, form.base, mover->atom, &own, &rest) || poly_is_zero(own))
            continue;
        for (int i = 0; i < analysis->mover_count; i++)
            if (&analysis->movers[i] != mover &&
                poly_split(analysis->arena, form.base, analysis->movers[i].atom, &other, &rest) &&
                is_crossed(analysis, own, other, bound.base))
                return true;
        for (int k = 0; k < form.rank; k++)
            if (!is_tiled(analysis, own, form.lane[k], op->operands[side]->type, k) &&
                is_crossed(analysis, own, form.lane[k], bound.base))
                return true;
    }
    return false;
}

/// Whether the mover shares a dimension with something of another stride, as `position * stride + tap * dilation` of a
/// convolution does: the kernel itself compares their sum with one bound.
static bool shares_a_dimension(Analysis *analysis, const Mover *mover) {
    for (LIST_EACH(int, i, analysis->function->comparisons))
        if (compares_across(analysis, mover, analysis->function->comparisons.items[i])) return true;
    return false;
}

/// Whether something else moves by a stride that is told from `stride` only by a number that a caller chooses: hops of a
/// transform and the samples of its frames.
static bool meets_others(Analysis *analysis, const Mover *mover, const Poly *stride) {
    const Affine *offset = &analysis->access->offset;
    const Poly *moved[ADDRESS_MOST_MOVERS + TYPE_MAX_RANK], *rest;
    int count = 0;
    for (int k = 0; k < offset->rank; k++) moved[count++] = offset->lane[k];
    for (int i = 0; i < analysis->mover_count; i++)
        if (&analysis->movers[i] != mover &&
            poly_split(analysis->arena, analysis->base, analysis->movers[i].atom, &moved[count],
                       &rest))
            count++;
    for (int i = 0; i < count; i++)
        for (int t = 0; t < moved[i]->count; t++) {
            const Poly *other = term_stride(analysis, &moved[i]->terms[t]);
            if (!poly_equal(other, stride) && strides_may_meet(analysis->arena, other, stride))
                return true;
        }
    return false;
}

/// Whether a step of `weight` elements goes over as many lanes as there are in another dimension, and nothing fills the gap:
/// `ptrs = base + lanes * stride`, `ptrs += BLOCK`. It is meant for a stride of 1; with any other its tiles overlap.
static bool steps_over_lanes(Analysis *analysis, const Poly *stride, const Poly *weight) {
    const Affine *offset = &analysis->access->offset;
    int64_t number;
    if (!poly_is_constant(stride, &number)) return false;
    if (poly_is_constant(weight, &number) && number == 1) return false;
    for (int k = 0; k < offset->rank && k < analysis->tile.rank; k++) {
        const Poly *lane = offset->lane[k], *dim = analysis->tile.dims[k];
        if (lane->count != 1 || !dim) continue;
        const Poly *other = term_stride(analysis, &lane->terms[0]);
        if (!poly_equal(other, stride) && poly_equal(lane, other) &&
            poly_is_nonnegative(analysis->arena, poly_subtract(analysis->arena, weight, dim)))
            return true;
    }
    return false;
}

/// Whether a number is in the weight of the one, and in how many values the other has, but not in the other's weight.
static bool counts_by_weight(const Poly *outer, const Poly *inner, const Poly *extent) {
    for (int t = 0; t < outer->count; t++)
        for (int a = 0; a < outer->terms[t].atom_count; a++) {
            const Value *atom = outer->terms[t].atoms[a];
            if (poly_mentions(extent, atom) && !poly_mentions(inner, atom)) return true;
        }
    return false;
}

/// Whether what the inner mover and the lanes of its dimension go over lies below the outer one's weight.
static bool fits_below(Analysis *analysis, const Mover *mover, const Poly *outer,
                       const Poly *inner) {
    Arena *arena = analysis->arena;
    const Affine *offset = &analysis->access->offset;
    const Poly *one = poly_constant(arena, 1), *reach = one;
    outer = magnitude(arena, outer);
    inner = magnitude(arena, inner);
    if (!outer || !inner) return false;
    reach = poly_add(arena, reach,
                     poly_multiply(arena, inner, poly_subtract(arena, mover->extent, one)));
    const Poly *stride = term_stride(analysis, &inner->terms[0]);
    const Poly *all = poly_multiply(arena, inner, mover->extent);
    for (int k = 0; k < offset->rank; k++) {
        const Poly *weight = magnitude(arena, offset->lane[k]);
        const Poly *dim = k < analysis->tile.rank ? analysis->tile.dims[k] : NULL;
        if (!weight || !dim) return false;
        if (poly_is_zero(weight)) continue;
        // Lanes that step over all that the inner mover goes over (`(row * HEADS + head) * SIZE`) are of the dimension above it.
        bool is_above =
            poly_divide_exact(arena, weight, outer) || poly_divide_exact(arena, weight, all);
        if (is_above || !poly_equal(term_stride(analysis, &weight->terms[0]), stride))
            continue;  // of a dimension above, or below
        reach =
            poly_add(arena, reach, poly_multiply(arena, weight, poly_subtract(arena, dim, one)));
    }
    return poly_is_nonnegative(arena, poly_subtract(arena, outer, reach));
}

/// The stride symbols of a weight but those that a number of values is made of.
static const Poly *stride_but(Analysis *analysis, const Poly *weight, const Poly *extent) {
    const Poly *stride = term_stride(analysis, &weight->terms[0]),
               *rest = poly_constant(analysis->arena, 1);
    for (int a = 0; a < stride->terms[0].atom_count; a++) {
        Value *atom = stride->terms[0].atoms[a];
        if (!poly_mentions(extent, atom))
            rest = poly_multiply(analysis->arena, rest, poly_atom(analysis->arena, atom));
    }
    return rest;
}

/// Whether no mover outruns another one that is weighted by how often it runs: `pid * COUNT * B + i * B` of `range(COUNT + 1)` does.
static bool counts_fit(Analysis *analysis) {
    Arena *arena = analysis->arena;
    for (int i = 0; i < analysis->mover_count; i++)
        for (int k = 0; k < analysis->mover_count; k++) {
            const Mover *high = &analysis->movers[i], *low = &analysis->movers[k];
            const Poly *outer, *inner, *rest;
            if (i == k || !low->extent ||
                !poly_split(arena, analysis->base, high->atom, &outer, &rest) ||
                !poly_split(arena, analysis->base, low->atom, &inner, &rest))
                continue;
            outer = poly_multiply(arena, outer, high->step);
            inner = poly_multiply(arena, inner, low->step);
            bool is_one_dimension = !poly_is_zero(inner) && !poly_is_zero(outer) &&
                                    poly_equal(stride_but(analysis, outer, low->extent),
                                               stride_but(analysis, inner, low->extent));
            if (is_one_dimension && counts_by_weight(outer, inner, low->extent) &&
                !fits_below(analysis, low, outer, inner))
                return false;
        }
    return true;
}

/// Whether different values of `atom`, a mover that stands in the base by itself, touch different elements.
static bool owns_directly(Analysis *analysis, const Mover *mover) {
    Arena *arena = analysis->arena;
    const Poly *coefficient, *rest;
    if (!poly_split(arena, analysis->base, mover->atom, &coefficient, &rest)) return false;
    if (poly_is_zero(coefficient) || !poly_is_fixed(arena, coefficient)) return false;
    if (stride_may_vanish(coefficient)) return false;
    const Poly *stride = term_stride(analysis, &coefficient->terms[0]);
    const Poly *weight = part_in(analysis, coefficient, stride);
    if (!poly_equal(poly_multiply(arena, weight, stride), coefficient)) return false;  // a diagonal
    weight = magnitude(arena, poly_multiply(arena, weight, mover->step));
    const Poly *reach = weight ? lanes_reach(analysis, stride, mover, weight) : NULL;
    if (!reach || shares_a_dimension(analysis, mover)) return false;
    if (meets_others(analysis, mover, stride) || !counts_fit(analysis)) return false;
    if (poly_is_zero(reach) && steps_over_lanes(analysis, stride, weight)) return false;
    const Poly *one = poly_constant(arena, 1);
    for (int i = 0; i < analysis->mover_count; i++) {
        const Mover *other = &analysis->movers[i];
        const Poly *other_coefficient, *other_rest;
        if (other == mover) continue;
        if (!poly_split(arena, analysis->base, other->atom, &other_coefficient, &other_rest))
            return false;
        const Poly *other_weight = part_in(analysis, other_coefficient, stride);
        if (poly_is_zero(other_weight)) continue;
        if (other->unbounded) return false;
        // A start read from memory: the owner is meant relative to it, its own axes count as scattered.
        if (!other->is_axis) continue;
        other_weight = magnitude(arena, poly_multiply(arena, other_weight, other->step));
        if (!other_weight) return false;
        if (is_higher_digit(analysis, other_weight, mover, weight)) continue;
        const Poly *further = reach_by_span(analysis, other, other_weight);
        if (!further && !other->extent) return false;
        if (!further)
            further = poly_multiply(arena, other_weight, poly_subtract(arena, other->extent, one));
        reach = poly_add(arena, reach, further);
    }
    return poly_is_nonnegative_in_parts(
        arena, analysis->function, poly_subtract(arena, poly_subtract(arena, weight, reach), one));
}

/// Makes movers of the quotients and remainders of `axis` that are in the base by their own digits alone: `x // c` of `x // c // d` and
/// `x // c % d`.
static void add_divided_digits(Analysis *analysis, const Value *axis) {
    const Poly *divisor;
    for (int i = 0; i < analysis->mover_count; i++) {
        const Op *op = analysis->movers[i].atom->op;
        for (int depth = 0; depth < SPLIT_DEPTH && op; depth++) {
            if (op->code != OP_FLOORDIV && op->code != OP_MOD) break;
            Affine x = affine_by(analysis->former, op->operands[0]);
            if (!x.known || x.rank || x.base->count != 1 || x.base->terms[0].atom_count != 1) break;
            Value *atom = x.base->terms[0].atoms[0];
            if (!poly_equal(x.base, poly_atom(analysis->arena, atom))) break;
            if (is_digit_of(analysis, atom, OP_FLOORDIV, axis, &divisor) ||
                is_digit_of(analysis, atom, OP_MOD, axis, &divisor))
                add_mover(analysis, atom);
            op = atom->op;
        }
    }
}

/// Whether different values of `axis` touch different elements: directly, or by both of its digits.
static bool owns(Analysis *analysis, Value *axis, int depth) {
    Value *quotient = NULL, *remainder = NULL;
    const Poly *divisor = NULL, *other = NULL;
    if (depth > SPLIT_DEPTH) return false;
    split_direct_use(analysis, axis);
    add_divided_digits(analysis, axis);
    for (int i = 0; i < analysis->mover_count; i++) {
        Value *atom = analysis->movers[i].atom;
        if (is_digit_of(analysis, atom, OP_FLOORDIV, axis, &divisor)) {
            if (quotient) return false;  // split in two ways
            quotient = atom;
        }
    }
    for (int i = 0; i < analysis->mover_count && quotient; i++) {
        Value *atom = analysis->movers[i].atom;
        if (analysis->movers[i].digit_of == axis ||
            (is_digit_of(analysis, atom, OP_MOD, axis, &other) && poly_equal(other, divisor)))
            remainder = atom;
    }
    if (quotient && remainder) {
        Mover *low = find_mover(analysis, remainder);
        Mover *high = find_mover(analysis, quotient);
        low->is_axis = high->is_axis = true;
        low->extent = divisor;
        const Mover *whole = find_mover(analysis, axis);
        if (whole && whole->extent)
            high->extent = poly_divide_exact(analysis->arena, whole->extent, divisor);
        return owns(analysis, quotient, depth + 1) && owns(analysis, remainder, depth + 1);
    }
    // Any other atom that is made of the axis: a shared owner (x // c alone), or data.
    for (int i = 0; i < analysis->mover_count; i++) {
        Value *atom = analysis->movers[i].atom;
        if (atom != axis && atom->id >= 0 && value_depends_on_axis(analysis->arena, atom, axis))
            return false;
    }
    const Mover *mover = find_mover(analysis, axis);
    return mover && owns_directly(analysis, mover);
}

/* ---- steps over more than one row ---- */

/// The stride symbols of the term whose own go into no other's, all of whose numbers are positive: `L * N` of `L * N + N`. NULL where
/// there is one stride alone, where one may be 0, or where the caller chooses one.
static const Poly *coarsest_stride(Analysis *analysis, const Poly *coefficient) {
    const Poly *coarsest = term_stride(analysis, &coefficient->terms[0]);
    bool is_single = true;
    for (int t = 0; t < coefficient->count; t++) {
        const Poly *stride = term_stride(analysis, &coefficient->terms[t]);
        if (coefficient->terms[t].coefficient <= 0) return NULL;
        for (int a = 0; a < coefficient->terms[t].atom_count; a++)
            if (coefficient->terms[t].atoms[a]->is_chosen) return NULL;
        is_single = is_single && poly_equal(stride, coarsest);
        if (poly_divide_exact(analysis->arena, stride, coarsest)) coarsest = stride;
    }
    for (int t = 0; t < coefficient->count; t++)
        if (!poly_divide_exact(analysis->arena, coarsest,
                               term_stride(analysis, &coefficient->terms[t])))
            return NULL;
    return is_single ? NULL : coarsest;
}

/// Whether all that something moves by is of dimensions within the stride.
static bool moves_within(Analysis *analysis, const Poly *coefficient, const Poly *stride) {
    for (int t = 0; t < coefficient->count; t++) {
        const Poly *own = term_stride(analysis, &coefficient->terms[t]);
        if (poly_equal(own, stride) || !poly_divide_exact(analysis->arena, stride, own))
            return false;
    }
    return true;
}

/// Whether lanes go along a dimension that a step goes along besides its own: rows that also move along their columns are none.
static bool moves_along_lanes(Analysis *analysis, const Poly *coefficient) {
    const Affine *offset = &analysis->access->offset;
    for (int t = 0; t < coefficient->count; t++) {
        const Poly *stride = term_stride(analysis, &coefficient->terms[t]);
        for (int k = 0; k < offset->rank; k++)
            if (!poly_is_zero(part_in(analysis, offset->lane[k], stride))) return true;
    }
    return false;
}

/// Rows may lie further apart than all that they hold, `(b * (L + 1) + l) * N`: where everything else moves within `L * N`, that step is a
/// stride of its own, as `L * N` would be.
static void widen_strides(Analysis *analysis) {
    for (int i = 0; i < analysis->mover_count; i++) {
        const Poly *coefficient, *rest, *other, *others;
        Value *atom = analysis->movers[i].atom;
        if (!poly_split(analysis->arena, analysis->base, atom, &coefficient, &rest) ||
            !poly_is_fixed(analysis->arena, coefficient) || stride_may_vanish(coefficient))
            continue;
        const Poly *stride = coarsest_stride(analysis, coefficient);
        bool is_outermost = stride && !moves_along_lanes(analysis, coefficient);
        for (int k = 0; k < analysis->access->offset.rank && is_outermost; k++)
            is_outermost = moves_within(analysis, analysis->access->offset.lane[k], stride);
        for (int k = 0; k < analysis->mover_count && is_outermost; k++)
            is_outermost = k == i || (poly_split(analysis->arena, analysis->base,
                                                 analysis->movers[k].atom, &other, &others) &&
                                      moves_within(analysis, other, stride));
        if (!is_outermost) continue;
        const Poly *step = poly_atom(analysis->arena, synthetic_atom(analysis, atom));
        analysis->base =
            poly_add(analysis->arena, rest,
                     poly_multiply(analysis->arena, step, poly_atom(analysis->arena, atom)));
        return;
    }
}

/* ---- wraps ---- */

/// Whether two forms are the same up to where their lanes stand.
static bool same_up_to_shape(const Affine *a, const Affine *b) {
    if (!a->known || !b->known || !poly_equal(a->base, b->base)) return false;
    const Poly *lanes_a = NULL, *lanes_b = NULL;
    for (int i = 0; i < a->rank; i++)
        if (!poly_is_zero(a->lane[i])) {
            if (lanes_a) return false;
            lanes_a = a->lane[i];
        }
    for (int i = 0; i < b->rank; i++)
        if (!poly_is_zero(b->lane[i])) {
            if (lanes_b) return false;
            lanes_b = b->lane[i];
        }
    return poly_equal(lanes_a, lanes_b);
}

static bool is_compared_with(Analysis *analysis, const Affine *wrapped, const Poly *modulus) {
    for (LIST_EACH(int, i, analysis->function->comparisons)) {
        const Op *op = analysis->function->comparisons.items[i];
        if (op->code != OP_LT && op->code != OP_GT) continue;
        int side = op->code == OP_LT ? 0 : 1;
        Affine x = affine_by(analysis->former, op->operands[side]);
        Affine bound = affine_by(analysis->former, op->operands[1 - side]);
        if (!bound.known || bound.rank || x.wrapped) continue;
        if (poly_equal(bound.base, modulus) && same_up_to_shape(&x, wrapped)) return true;
    }
    return false;
}

/// Whether every wrapped value is elsewhere compared with its modulus, so that wrapped lanes are padding.
static bool wraps_are_padding(Analysis *analysis) {
    const Affine *offset = &analysis->access->offset;
    for (int i = 0; i < offset->wrap_count; i++) {
        Affine wrapped = affine_by(analysis->former, offset->wraps[i].value);
        if (!is_compared_with(analysis, &wrapped, offset->wraps[i].modulus)) return false;
    }
    return true;
}

/// Whether a wrapped value in the address moves with the axis.
static bool axis_is_wrapped(Analysis *analysis, const Value *axis) {
    const Affine *offset = &analysis->access->offset;
    for (int i = 0; i < offset->wrap_count; i++)
        if (value_depends_on_axis(analysis->arena, offset->wraps[i].value, axis)) return true;
    return false;
}

/* ---- the axes around an access ---- */

/// Whether the loop's tiles line up whatever the bounds: step and each varying part of `lower` are multiples of a tile.
static bool loop_is_aligned(Analysis *analysis, const Mover *mover) {
    Arena *arena = analysis->arena;
    const Op *loop = mover->atom->region->parent;
    Affine lower = affine_by(analysis->former, loop->operands[0]);
    if (!lower.known) return false;
    const Poly *unit = mover->step;
    const Poly *coefficient, *rest;
    if (poly_split(arena, analysis->base, mover->atom, &coefficient, &rest) && coefficient->count) {
        const Poly *stride = term_stride(analysis, &coefficient->terms[0]);
        const Poly *reach = lanes_reach(analysis, stride, NULL, NULL);
        const Poly *tile = reach ? poly_add(arena, reach, poly_constant(arena, 1)) : NULL;
        if (tile && poly_equal(coefficient, stride) && poly_divide_exact(arena, unit, tile))
            unit = tile;
    }
    for (int t = 0; t < lower.base->count; t++) {
        Poly term = {1, &lower.base->terms[t]};
        if (poly_is_fixed(arena, &term)) continue;
        if (!poly_divide_exact(arena, &term, unit)) return false;
    }
    return true;
}

/// Whether different values of the axis touch different elements: with each symbol for a stride, with counts of iterations and digits
/// for numbers, or with all symbols for these.
static bool owns_in_some_way(Analysis *analysis, Value *axis) {
    const Analysis before = *analysis;  // splitting changes the movers
    if (before.too_many) return false;
    for (int way = 0; way < 2; way++) {
        *analysis = before;
        analysis->has_counts = way == 1;
        if (owns(analysis, axis, 0)) return true;
    }
    *analysis = before;
    const Poly *by, *rest;
    return poly_split(before.arena, before.base, axis, &by, &rest) && !poly_is_zero(by) &&
           axes_steps_are_digits(analysis, false);
}

static AxisDependence depend(Analysis *analysis, Axis *axis, Value *atom) {
    const Access *access = analysis->access;
    if (!access->offset.known) {
        bool moves = value_depends_on_axis(analysis->arena, access->op->operands[0], atom);
        int offsets = op_parameter_index(access->op->code, STR("offsets"));
        if (offsets >= 0 && offsets < access->op->operand_count && access->op->operands[offsets])
            moves |= value_depends_on_axis(analysis->arena, access->op->operands[offsets], atom);
        return moves ? AXIS_SCATTERED : AXIS_FREE;
    }
    bool in_lanes = false;
    for (int k = 0; k < access->offset.rank; k++)
        in_lanes |= poly_depends_on_axis(analysis->arena, access->offset.lane[k], atom);
    if (!in_lanes && !poly_depends_on_axis(analysis->arena, access->offset.base, atom) &&
        !axis_is_wrapped(analysis, atom))
        return AXIS_FREE;
    if (in_lanes || analysis->too_many || !access->parameter) return AXIS_SCATTERED;
    if (axis_is_wrapped(analysis, atom) && !wraps_are_padding(analysis)) return AXIS_SCATTERED;
    Analysis trial = *analysis;  // splitting changes the movers
    if (!poly_mentions(trial.base, atom)) {
        // Only digits of it may be there; they still need the whole's extent.
        add_mover(&trial, atom);
    }
    if (!owns_in_some_way(&trial, atom)) return AXIS_SCATTERED;
    const Mover *mover = find_mover(&trial, atom);
    axis->aligned = !mover || axis->is_program || loop_is_aligned(&trial, mover);
    return AXIS_OWNED;
}

/// The loops around an operation, the innermost first; -1 where there are more than LOOPS_MOST_NESTED.
static int loops_around(const Op *inner, Op **loops) {
    int count = 0;
    for (Op *op = inner->parent->parent; op; op = op->parent ? op->parent->parent : NULL) {
        if (op->code != OP_FOR && op->code != OP_STATIC_FOR) continue;
        if (count == LOOPS_MOST_NESTED) return -1;
        loops[count++] = op;
    }
    return count;
}

/// By the id along one axis of the grid; where it numbers tiles, and the address has only their row and column, by each of these.
static int depend_on_programs(Analysis *analysis, int program_axis, Axis *axes,
                              AxisDependence *dependence) {
    Value *id = analysis->function->programs[program_axis];
    Value *const *tiles = analysis->function->tiles[program_axis];
    if (!id) return 0;
    const int digits = analysis->function->digits[program_axis];
    bool is_by_digits = false;
    for (int digit = 0; digit < digits; digit++) {
        axes[digit] = (Axis){true, program_axis, digit, NULL, true};
        dependence[digit] = tiles[digit] ? depend(analysis, &axes[digit], tiles[digit]) : AXIS_FREE;
        is_by_digits |= dependence[digit] != AXIS_FREE;
    }
    Axis whole = {true, program_axis, AXIS_WHOLE, NULL, true};
    AxisDependence on_id = depend(analysis, &whole, id);
    if (digits && on_id == AXIS_FREE) return digits;
    if (is_by_digits) on_id = AXIS_SCATTERED;
    axes[0] = whole;
    dependence[0] = on_id;
    return 1;
}

/* ---- programs that share out the numbers of a loop ---- */

/// The side of a bound that is told apart by the id, of `minimum(side, end)` where all programs have one end.
static const Poly *bound_by_id(Analysis *analysis, Value *bound) {
    const Op *op = bound->op;
    while (op && op_keeps_numbers(op)) op = op->operands[0]->op;
    for (int i = 0; op && op->code == OP_MINIMUM && i < 2; i++) {
        Affine side = affine_by(analysis->former, op->operands[i]);
        Affine end = affine_by(analysis->former, op->operands[1 - i]);
        bool is_cut = end.known && end.rank == 0 && poly_is_fixed(analysis->arena, end.base);
        if (is_cut && side.known && side.rank == 0) return side.base;
    }
    Affine form = affine_by(analysis->former, bound);
    return form.known && form.rank == 0 ? form.base : NULL;
}

/// The least distance of two numbers that a loop runs through in any programs along the id's axis, where no two programs, and no two
/// iterations, have one number: the programs go through them in strides (`range(id * B, n, programs * B)`), or each has
/// so many in a row (`range(id * PER, (id + 1) * PER)`). NULL where that is not known.
static const Poly *shared_out(Analysis *analysis, const Op *loop, Value *id, Value *count) {
    Arena *arena = analysis->arena;
    Affine lower = affine_by(analysis->former, loop->operands[0]);
    Affine step = affine_by(analysis->former, loop->operands[2]);
    const Poly *share, *start;
    if (!lower.known || lower.rank || !step.known || step.rank) return NULL;
    if (!poly_split(arena, lower.base, id, &share, &start) || poly_is_zero(share)) return NULL;
    if (!poly_is_fixed(arena, share) || !poly_is_fixed(arena, start) ||
        !poly_is_fixed(arena, step.base) || !poly_is_nonnegative(arena, share))
        return NULL;
    Affine programs = count ? affine_by(analysis->former, count) : (Affine){0};
    if (programs.known && poly_equal(step.base, poly_multiply(arena, share, programs.base)))
        return share;
    const Poly *end = bound_by_id(analysis, loop->operands[1]);
    if (!end || !poly_equal(end, poly_add(arena, lower.base, share))) return NULL;
    if (!poly_is_nonnegative(arena, step.base)) return NULL;
    return poly_divide_exact(arena, share, step.base) ? step.base : poly_constant(arena, 1);
}

/// Whether a mask leaves out lanes at and beyond the end of the loop: it compares `variable + lane` with that, along the one axis of the
/// tile whose lanes step as the variable does.
static bool mask_ends(Analysis *analysis, const Value *mask, const Op *loop) {
    const Op *op = mask ? mask->op : NULL;
    if (!op) return false;
    if (op_has(op->code, TRAIT_BOTH))
        return mask_ends(analysis, op->operands[0], loop) ||
               mask_ends(analysis, op->operands[1], loop);
    if (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO || op->code == OP_CAST)
        return mask_ends(analysis, op->operands[0], loop);
    if (op->code != OP_LT && op->code != OP_GT) return false;
    int side = op->code == OP_LT ? 0 : 1;
    Affine number = affine_by(analysis->former, op->operands[side]);
    Affine bound = affine_by(analysis->former, op->operands[1 - side]);
    Affine end = affine_by(analysis->former, loop->operands[1]);
    Value *variable = loop->regions[0]->arguments[0];
    if (!number.known || number.wrapped || !bound.known || bound.rank || !end.known ||
        !poly_equal(number.base, poly_atom(analysis->arena, variable)) ||
        !poly_equal(bound.base, end.base))
        return false;
    const Poly *weight, *rest;
    const Affine *offset = &analysis->access->offset;
    if (!poly_split(analysis->arena, offset->base, variable, &weight, &rest)) return false;
    int lanes = 0, alike = 0;
    for (int i = 0; i < number.rank; i++) {
        int64_t step;
        if (poly_is_zero(number.lane[i])) continue;
        const Poly *dim = op->operands[side]->type.dims[i];
        if (!poly_is_constant(number.lane[i], &step) || step != 1 || !dim) return false;
        lanes++;
        for (int k = 0; k < offset->rank; k++)
            alike += poly_equal(offset->lane[k], weight) && analysis->tile.dims[k] &&
                     poly_equal(analysis->tile.dims[k], dim);
    }
    return lanes == 1 && alike == 1;
}

/// Whether programs along the axis touch different elements because of the iterations that they take of a loop around the access.
static bool loop_owns(Analysis *analysis, int program_axis, const Op *loop) {
    Value *id = analysis->function->programs[program_axis];
    Value *count = analysis->function->program_counts[program_axis];
    const Poly *distance = shared_out(analysis, loop, id, count);
    Affine step = affine_by(analysis->former, loop->operands[2]);
    int64_t one;
    bool is_least = distance && poly_is_constant(distance, &one) && one == 1;
    if (is_least && mask_ends(analysis, analysis->access->mask, loop)) distance = step.base;
    if (!distance || !analysis->access->offset.known || analysis->too_many) return false;
    Value *variable = loop->regions[0]->arguments[0];
    if (axis_is_wrapped(analysis, variable)) return false;
    Analysis trial = *analysis;
    Mover *mover = add_mover(&trial, variable);
    if (!mover || trial.too_many) return false;
    mover->step = distance;
    mover->extent = NULL;
    return owns(&trial, variable, 0);
}

int axes_begin(Analysis *analysis, Arena *arena, const FunctionAxes *function, const Access *access,
               Access *ordered, Op **loops) {
    *analysis = (Analysis){.arena = arena,
                           .former = former_new(arena),
                           .function = function,
                           .tile = access->op->operands[0]->type,
                           .synthetic = -1};
    int count = loops_around(access->op, loops);
    *ordered = *access;
    for (int i = 0; i < count && access->offset.known; i++)
        ordered->offset.base = poly_in_order(analysis->former, ordered->offset.base, loops[i]);
    analysis->access = ordered;
    analysis->base = ordered->offset.base;
    analysis->too_many = count < 0;
    if (access->offset.known) collect_movers(analysis);
    return count;
}

int access_axes(Arena *arena, const FunctionAxes *function, const Access *access, Axis *axes,
                AxisDependence *dependence, int capacity) {
    Analysis *analysis = ARENA_NEW(arena, Analysis);
    Access ordered;
    Op *loops[LOOPS_MOST_NESTED];
    int count = 0, loop_count = axes_begin(analysis, arena, function, access, &ordered, loops);
    if (access->offset.known) widen_strides(analysis);
    if (loop_count < 0) loop_count = 0;
    for (int i = 0; i < PROGRAM_AXES && count + TILE_MOST_DIGITS <= capacity; i++)
        count += depend_on_programs(analysis, i, &axes[count], &dependence[count]);
    while (loop_count-- > 0 && count < capacity) {
        axes[count] = (Axis){.loop = loops[loop_count]};
        dependence[count] =
            depend(analysis, &axes[count], loops[loop_count]->regions[0]->arguments[0]);
        count++;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count && axes[i].is_program && dependence[i] == AXIS_FREE; k++)
            if (axes[k].loop && loop_owns(analysis, axes[i].program_axis, axes[k].loop))
                dependence[i] = AXIS_OWNED;
    return count;
}
