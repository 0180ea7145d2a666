// A store by digits of a flat index in; steps and lengths of what it stores for certain out.
#include "autodiff/extents/flat_ranges.h"

#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "autodiff/digits/digits.h"
#include "autodiff/extents/mask_cuts.h"

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

/// Whether the branches around a store only ask for its buffer.
static bool is_always_reached(const Op *store) {
    for (const Op *op = store; op->parent->parent; op = op->parent->parent) {
        const Op *around = op->parent->parent;
        if (around->code == OP_IF &&
            (op->parent != around->regions[0] || !asks_for_buffer(around->operands[0], store)))
            return false;
    }
    return true;
}

/// How many numbers, from 0 on, are stored, as Python; NULL where that is not known.
static const char *count_of(const StoredSearch *coverage, const DigitsByMask *digits, int axis,
                            const Poly *size) {
    Arena *arena = coverage->arena;
    const Poly *all = poly_multiply(arena, poly_atom(arena, coverage->extents[axis]), size);
    const char *lanes = all ? poly_text(coverage, all) : NULL;
    if (!lanes || !digits->end) return lanes;
    const char *end = poly_text(coverage, digits->end);
    return end ? arena_printf(arena, "min(%s, %s)", lanes, end) : NULL;
}

/// The numbers of a digit, of which there are `all`, that the mask leaves. None, where they would begin below 0.
static bool add_digit_range(const StoredSearch *coverage, const DigitStep *step, const char *all,
                            ElementRanges *cover) {
    Arena *arena = coverage->arena;
    const char *length = all;
    int64_t first_number = 0, end_number, extent;
    const Poly *end = step->end ? step->end : step->extent;
    if (step->extent && (step->end || step->first) && poly_is_constant(end, &end_number) &&
        poly_is_constant(step->extent, &extent) && end_number <= extent &&
        (!step->first || poly_is_constant(step->first, &first_number)) && first_number >= 0 &&
        first_number <= end_number) {
        const Poly *first = poly_constant(arena, first_number);
        cover->base = poly_add(arena, cover->base, poly_multiply(arena, step->weight, first));
        long long left = (long long)(end_number - first_number);
        return left == 1 || add_range(cover, poly_text(coverage, step->weight),
                                      arena_printf(arena, "%lld", left));
    }
    if (step->end) {
        const char *text = poly_text(coverage, step->end);
        if (!text || !all) return false;
        length = strcmp(text, all) ? arena_printf(arena, "min(%s, %s)", all, text) : all;
    }
    if (step->first) {
        const char *first = factor_text(coverage, step->first);
        int64_t number;
        bool is_known = poly_is_constant(step->first, &number) && number >= 0;
        if (!first || !length ||
            (!is_known &&
             !add_range(cover, "0", arena_printf(arena, "min(max(%s + 1, 0), 1)", first))))
            return false;
        cover->base = poly_add(arena, cover->base, poly_multiply(arena, step->weight, step->first));
        length = arena_printf(arena, "%s - %s", length, first);
    }
    bool may_be_none = step->first || step->end;
    if (may_be_none && length) length = arena_printf(arena, "max(%s, 0)", length);
    return add_range(cover, poly_text(coverage, step->weight), length);
}

bool flat_ranges(const StoredSearch *coverage, Op *store, ElementRanges *cover) {
    Arena *arena = coverage->arena;
    const Type type = store->operands[0]->type;
    *cover = (ElementRanges){0};
    if (coverage->most || !store->parent || type.rank != 1 || !type.dims[0] ||
        !is_always_reached(store))
        return false;
    const DigitsByMask digits = digits_by_mask(arena, store);
    const int count = digits.count;
    int axis =
        count > 1 && digits.loop_count >= 0 && digits.is_exact && !digits.steps[count - 1].extent
            ? axis_of(coverage, digits.number, type.dims[0])
            : -1;
    const char *all = axis < 0 ? NULL : count_of(coverage, &digits, axis, type.dims[0]);
    if (!all) return false;
    cover->base = digits.base;
    for (int i = 0; i < digits.loop_count; i++)
        if (!add_digit_range(coverage, &digits.loops[i],
                             poly_text(coverage, digits.loops[i].extent), cover))
            return false;
    const Poly *lower = poly_constant(arena, 1);
    for (int i = 0; i < count - 1; i++) {
        const DigitStep *step = &digits.steps[i];
        if (!step->extent ||
            !add_digit_range(coverage, step, poly_text(coverage, step->extent), cover))
            return false;
        lower = poly_multiply(arena, lower, step->extent);
    }
    const char *each = lower ? factor_text(coverage, lower) : NULL;
    return each && add_digit_range(coverage, &digits.steps[count - 1],
                                   arena_printf(arena, "%s // max(%s, 1)", all, each), cover);
}
