// From what an access moves with to whether these are digits of one number.
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/axes_parts.h"
#include "analysis/addresses/nested_steps.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/ir/loops.h"

static bool is_of_program(const Value *value) {
    return value_is_axis(value) && !value_is_loop_variable(value);
}

/// Whether some step counts nothing where the number is 0: no element is touched then.
static bool ends_all(Arena *arena, const NestedStep *steps, int count, Value *number) {
    for (int i = 0; i < count; i++)
        if (steps[i].count && poly_divide_exact(arena, steps[i].count, poly_atom(arena, number)))
            return true;
    return false;
}

/// Whether steps that are computed (`n // 2`) may be 0 where something is touched: parameters are sizes of at least 1, and quotients of them need
/// not be.
static bool steps_may_vanish(Arena *arena, const NestedStep *steps, int count) {
    for (int i = 0; i < count; i++)
        for (int t = 0; t < steps[i].by->count; t++)
            for (int a = 0; a < steps[i].by->terms[t].atom_count; a++) {
                Value *atom = steps[i].by->terms[t].atoms[a];
                if (atom->op && !ends_all(arena, steps, count, atom)) return true;
            }
    return false;
}

bool axes_steps_are_digits(const Analysis *analysis, bool within_program) {
    Arena *arena = analysis->arena;
    const Affine *offset = &analysis->access->offset;
    NestedStep steps[ADDRESS_MOST_MOVERS + TYPE_MAX_RANK];
    int count = 0;
    if (offset->wrapped || offset->wrap_count) return false;
    for (int k = 0; k < offset->rank; k++) {
        if (!poly_is_fixed(arena, offset->lane[k])) return false;
        if (!poly_is_zero(offset->lane[k]))
            steps[count++] = (NestedStep){offset->lane[k],
                                          k < analysis->tile.rank ? analysis->tile.dims[k] : NULL};
    }
    for (int i = 0; i < analysis->mover_count; i++) {
        const Mover *mover = &analysis->movers[i];
        const Poly *coefficient, *rest;
        if (within_program && is_of_program(mover->atom)) continue;
        if (!mover->is_axis || mover->unbounded ||
            !poly_split(arena, analysis->base, mover->atom, &coefficient, &rest))
            return false;
        if (poly_is_zero(coefficient)) continue;
        const Poly *by = poly_multiply(arena, coefficient, mover->step);
        if (!by || !poly_is_fixed(arena, by)) return false;
        steps[count++] = (NestedStep){by, mover->extent};
    }
    return !steps_may_vanish(arena, steps, count) &&
           steps_are_nested(arena, steps, count, sizes_are_nonnegative);
}

bool access_places_are_digits(Arena *arena, const FunctionAxes *function, const Access *access) {
    Analysis *analysis = ARENA_NEW(arena, Analysis);
    Access ordered;
    Op *loops[LOOPS_MOST_NESTED];
    axes_begin(analysis, arena, function, access, &ordered, loops);
    return access->offset.known && !analysis->too_many && axes_steps_are_digits(analysis, false);
}

bool access_iterations_are_digits(Arena *arena, const FunctionAxes *function,
                                  const Access *access) {
    Analysis *analysis = ARENA_NEW(arena, Analysis);
    Access ordered;
    Op *loops[LOOPS_MOST_NESTED];
    int count = axes_begin(analysis, arena, function, access, &ordered, loops);
    const Poly *by, *rest;
    if (!access->offset.known || analysis->too_many) return false;
    for (int i = 0; i < count; i++)
        if (!poly_split(arena, analysis->base, loops[i]->regions[0]->arguments[0], &by, &rest) ||
            poly_is_zero(by))
            return false;
    return axes_steps_are_digits(analysis, true);
}
