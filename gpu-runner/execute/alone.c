// Runs the backward once for each gradient that may be asked for alone, and compares that with what it was among the others.
#include "gpu-runner/execute/alone.h"

#include <math.h>

static const double SAME_VALUE =
    1e-9;  // sums in another order, relative to the largest of the gradient

/// Whether all elements that the whole backward wrote are the same; `*offset`: the first that is not.
static bool gradients_agree(const Execution *whole, const Execution *run, int parameter,
                            int64_t *offset) {
    MemoryBuffer *wanted = whole->gradients[parameter], *found = run->gradients[parameter];
    if (!wanted) return true;
    Offsets written = {0};
    double largest = 0;
    memory_touched(run->arena, wanted, true, &written);
    for (LIST_EACH(int, i, written))
        largest = fmax(largest, fabs(memory_peek(whole->memory, wanted, written.items[i])));
    for (LIST_EACH(int, i, written)) {
        *offset = written.items[i];
        double first = memory_peek(whole->memory, wanted, *offset),
               second = found ? memory_peek(run->memory, found, *offset) : 0;
        bool is_same = first == second || fabs(first - second) <= SAME_VALUE * largest;
        if (!is_same && !(isnan(first) && isnan(second))) return false;
    }
    return true;
}

const char *alone_fault(Arena *arena, const Executor *executor, const Execution *whole) {
    const Problem *problem = executor->problem;
    const char *fault = NULL;
    for (int i = 0; i < problem->alone_count && !fault; i++) {
        const GradientAlone *alone = &problem->alone[i];
        Problem one = *problem;
        one.launches = alone->launches;
        Executor own = *executor;
        own.problem = &one;
        own.traced = NULL;  // a launch on the GPU would cost the steps of the backward with all
        Execution run = execution_backward(&own, false, NULL);
        Str name = problem->configuration->arguments[alone->parameter].name;
        int64_t offset;
        if (run.error)
            fault = arena_printf(
                arena,
                "where only the gradient of %.*s is asked for, the backward does not run: %s",
                STR_ARGS(name), run.error);
        else if (!gradients_agree(whole, &run, alone->parameter, &offset))
            fault = arena_printf(arena,
                                 "the gradient of %.*s is another where no other is asked for "
                                 "(element %lld)",
                                 STR_ARGS(name), (long long)offset);
        execution_free(&run);
    }
    return fault;
}
