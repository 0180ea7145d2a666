// What failed on a GPU, looked for once more: the first program that leaves a tensor, or the loop that does not end.
#ifndef TAD_GPU_RUNNER_EXECUTE_FAULT_H
#define TAD_GPU_RUNNER_EXECUTE_FAULT_H

#include "gpu-runner/execute/execution.h"

typedef struct FaultPlace {
    int64_t program[3];            // where the search ended
    const MemoryFinding *finding;  // of the first access outside of a tensor; NULL: there was none
    Error error;                   // why the search ended early, or NULL
    int loop_line;  // of the loop that it was in then, the one with the most iterations; 0: none
    int64_t iterations;  // that this loop had begun
} FaultPlace;

/// Runs the programs of one kernel in order: of the forward where `launch` is negative, else of that launch of the backward, behind
/// all that comes before it.
FaultPlace fault_seek(Executor *executor, int launch);

#endif
