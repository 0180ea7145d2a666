// The backward once more, in memory in which a 0 gives way to the gradients of other programs, held against duals.
#include "gpu-runner/execute/zeros.h"

#include "gpu-runner/execute/derivative.h"

/// Whether the gradient of an input is its derivative along a direction.
static bool is_right(Executor *executor, const Execution *forward, Execution *backward, int input) {
    const Problem *problem = executor->problem;
    bool *active = ARENA_ARRAY(backward->arena, bool, problem->input_count + 1);
    active[input] = true;
    Perturbation perturbation = {.active = active, .seed = hash_mix(problem->seed + 31)};
    Error error = NULL;
    double size, actual = derivative_by_gradient(problem, forward, backward, &perturbation, &size);
    double wanted = derivative_by_duals(executor, perturbation, &error);
    return !error && relative_error(wanted, actual, size, 0) < DERIVATIVE_TOLERANCE;
}

bool zeros_overwrite(const Executor *executor, const Execution *forward) {
    Executor own = *executor;
    own.traced = NULL;
    own.zeros_yield = true;
    Execution run = execution_backward(&own, false, NULL);
    bool is_all = !run.error && run.memory->zeros_yielded > 0;
    for (int i = 0; i < executor->problem->input_count && is_all; i++)
        is_all = is_right(&own, forward, &run, i);
    execution_free(&run);
    return is_all;
}
