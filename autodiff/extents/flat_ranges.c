// A store by digits of a flat index in; steps and lengths of what it stores for certain out.
#include "autodiff/extents/flat_ranges.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/digits.h"

/// The axis of the grid whose programs number the blocks of a flat index, and are all that the kernel's ids are; -1: there is none.
static int axis_of(const StoredSearch *coverage, Value *number, const Poly *size) {
    Arena *arena = coverage->arena;
    const FunctionAxes axes = function_axes(arena, coverage->function);
    const Affine form = affine_of(arena, number);
    int64_t one;
    int found = -1;
    if (!form.known || form.wrapped || form.rank != 1 || !poly_is_constant(form.lane[0], &one) ||
        one != 1)
        return -1;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!axes.programs[axis]) continue;
        const Poly *first = poly_multiply(arena, poly_atom(arena, coverage->programs[axis]), size);
        if (found >= 0 || !first || !poly_equal(with_programs(coverage, form.base), first))
            return -1;
        found = axis;
    }
    return found;
}

/// How many numbers, from 0 on, are stored, as Python; NULL where that is not known.
static const char *count_of(const StoredSearch *coverage, const Op *store, Value *number, int axis,
                            const Poly *size) {
    Arena *arena = coverage->arena;
    const Poly *all = poly_multiply(arena, poly_atom(arena, coverage->extents[axis]), size);
    const char *lanes = all ? poly_text(coverage, all) : NULL;
    const Value *mask = access_mask(store);
    if (!lanes || !mask) return lanes;
    const Op *op = mask->op;
    if (!op || op->code != OP_LT || op->operands[0] != number || op->operands[1]->type.rank)
        return NULL;
    const char *end = poly_text(coverage, value_poly(arena, op->operands[1]));
    return end ? arena_printf(arena, "min(%s, %s)", lanes, end) : NULL;
}

bool flat_ranges(const StoredSearch *coverage, Op *store, ElementRanges *cover) {
    Arena *arena = coverage->arena;
    const Type type = store->operands[0]->type;
    DigitStep steps[STORED_MOST_DIGITS], loops[STORED_MOST_DIGITS];
    int count = 0, loop_count = 0;
    *cover = (ElementRanges){0};
    bool is_plain = !coverage->most && store->parent && type.rank == 1 && type.dims[0];
    Value *number = is_plain ? digits_number_in_loops(arena, store) : NULL;
    if (number)
        count = digits_steps_in_loops(arena, store, steps, STORED_MOST_DIGITS, &cover->base, loops,
                                      STORED_MOST_DIGITS, &loop_count);
    int axis = count > 1 && count <= STORED_MOST_DIGITS && !steps[count - 1].extent
                   ? axis_of(coverage, number, type.dims[0])
                   : -1;
    const char *all = axis < 0 ? NULL : count_of(coverage, store, number, axis, type.dims[0]);
    if (!all) return false;
    for (int i = 0; i < loop_count; i++)
        if (!add_range(cover, poly_text(coverage, loops[i].weight),
                       poly_text(coverage, loops[i].extent)))
            return false;
    const Poly *lower = poly_constant(arena, 1);
    for (int i = 0; i < count - 1; i++) {
        if (!steps[i].extent || !add_range(cover, poly_text(coverage, steps[i].weight),
                                           poly_text(coverage, steps[i].extent)))
            return false;
        lower = poly_multiply(arena, lower, steps[i].extent);
    }
    const char *each = lower ? factor_text(coverage, lower) : NULL;
    return each && add_range(cover, poly_text(coverage, steps[count - 1].weight),
                             arena_printf(arena, "%s // max(%s, 1)", all, each));
}
