// From steps and how many there are of each to whether each steps over all that smaller ones reach.
#include "analysis/addresses/nested_steps.h"

#include "analysis/build/infer.h"

typedef struct StepOrder {
    Arena *arena;
    const NestedStep *steps;
    int count;
    NonnegativeTest *is_nonnegative;
} StepOrder;

/// Steps backwards are those onwards from the last one.
static const Poly *onwards(Arena *arena, const Poly *step) {
    for (int t = 0; t < step->count; t++)
        if (step->terms[t].coefficient > 0) return step;
    return poly_multiply(arena, step, poly_constant(arena, -1));
}

/// `left`: a bit for each step that is not in order yet; `reach`: how far the others go.
static bool is_nested(const StepOrder *order, unsigned left, const Poly *reach) {
    Arena *arena = order->arena;
    const Poly *one = poly_constant(arena, 1);
    for (int i = 0; i < order->count; i++) {
        const NestedStep *step = &order->steps[i];
        if (!(left >> i & 1)) continue;
        const Poly *by = onwards(arena, step->by);
        const Poly *gap = poly_subtract(arena, poly_subtract(arena, by, reach), one);
        if (!order->is_nonnegative(arena, gap)) continue;
        unsigned others = left & ~(1U << i);
        if (!others) return true;
        if (!step->count) continue;
        const Poly *more = poly_multiply(arena, by, poly_subtract(arena, step->count, one));
        if (more && is_nested(order, others, poly_add(arena, reach, more))) return true;
    }
    return false;
}

bool steps_are_nested(Arena *arena, const NestedStep *steps, int count,
                      NonnegativeTest *is_nonnegative) {
    if (count > NESTED_MOST_STEPS) return false;
    const StepOrder order = {arena, steps, count, is_nonnegative};
    return count == 0 || is_nested(&order, (1U << count) - 1, poly_constant(arena, 0));
}
