// Zeros that a backward stores over gradients: whether a gradient is wrong for their sake alone.
#ifndef TAD_GPU_RUNNER_EXECUTE_ZEROS_H
#define TAD_GPU_RUNNER_EXECUTE_ZEROS_H

#include "gpu-runner/execute/execution.h"

/// Whether the gradients are right once no program stores a 0 over what another one stored, or has it overwritten. Then no sizes that
/// are made up explain what is wrong: rows that overlap have gradients of several programs to add.
bool zeros_overwrite(const Executor *executor, const Execution *forward);

#endif
