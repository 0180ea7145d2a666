// Gradients that nobody may ask for: the backward with one of them alone, held against the backward with all.
#ifndef TAD_GPU_RUNNER_PROVE_ALONE_H
#define TAD_GPU_RUNNER_PROVE_ALONE_H

#include "gpu-runner/prove/beside.h"

/// Adds all runs that these functions will ask for, `executor` being what they are given.
void alone_beside(Beside *beside, const Executor *executor);
/// A sentence on the first gradient that is another where it is asked for alone, `whole` being the backward with all; or NULL.
const char *alone_fault(Arena *arena, const Executor *executor, Beside *beside,
                        const Execution *whole);
/// A sentence on the first gradient that is another where the upstream gradient of an output is None, and not 0; or NULL.
const char *absent_fault(Arena *arena, const Executor *executor, Beside *beside);
/// The same of the launches for rows that a block holds, which are asked for gradients alone, too.
const char *whole_rows_fault(Arena *arena, const Executor *executor, Beside *beside,
                             const Execution *whole);
/// The same of tiles of its own, with programs that run from the last to the first.
const char *tiles_fault(Arena *arena, const Executor *executor, Beside *beside,
                        const Execution *whole);

#endif
