// The whole backward in; the gradient-reduction kernel, or what it leaves, out.
#include "autodiff/schedule/part.h"

#include "autodiff/rewrite/rewrite.h"
#include "autodiff/schedule/reduction_kernel.h"
#include "autodiff/schedule/reduction_plan.h"
#include "autodiff/schedule/reductions.h"

void part_settle(Differentiation *state) {
    const BackwardPart *part = &state->parts.part;
    if (part->kind == PART_WHOLE) return;
    const TileOrders orders = tile_orders_open(state->arena, state->backward);
    ReductionPlans plans = reductions_plan(state, &orders);
    state->parts.reduction_kernels = plans.count;
    ReductionPlan together;
    state->parts.fits_one_pass = reductions_fit_one_pass(state, &orders, &plans, &together);
    bool is_made = true;
    if (part->kind == PART_PROGRAMS)
        reductions_leave(state, &plans, part->moved);
    else if (part->kind == PART_ONE_PASS)
        is_made = state->parts.fits_one_pass && reductions_join(state, &together);
    else
        is_made = part->index < plans.count && reduction_take(state, &plans, part->index);
    if (!is_made) {  // it may be half made: nobody reads it any more
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no owners");
        return;
    }
    tile_orders_close(state->backward);
    function_clean(state->backward);
}
