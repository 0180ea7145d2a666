// Runs of backwards that a check will ask for one after the other, made beside each other on further processors.
#ifndef TAD_GPU_RUNNER_PROVE_BESIDE_H
#define TAD_GPU_RUNNER_PROVE_BESIDE_H

#include "gpu-runner/execute/execution.h"

typedef struct Beside Beside;

/// Of runs like those of `executor`, which lives longer; `steps` is what one takes, about. NULL: they are not worth it, or too large to be there at once.
Beside *beside_new(Arena *arena, const Executor *executor, int64_t steps);
/// A run of this problem's backward in the interpreter will be asked for. The problem lives as long, and so does what it points to.
void beside_add(Beside *beside, const Problem *problem, bool reversed);
/// Makes them all, if there are several, and returns when they are there.
void beside_run(Beside *beside);
/// Makes them all beside `work`, which is called in any case.
void beside_run_with(Beside *beside, void (*work)(void *context), void *context);
void beside_free(Beside *beside);

/// execution_backward of `executor` without a perturbation and in the interpreter: the run that was made ahead, where there is one that would
/// have been the same here; its steps are paid for now. `beside` may be NULL.
Execution beside_backward(Beside *beside, Executor *executor, bool reversed);

#endif
