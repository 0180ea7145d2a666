// The rules by hand that a kernel's gradients rest on, tried alone with what the proof of the kernel did not vary.
#ifndef TAD_GPU_RUNNER_RULES_TRIED_H
#define TAD_GPU_RUNNER_RULES_TRIED_H

#include "gpu-runner/rules/calls.h"

typedef struct RulesTried {
    const char *
        doubt;  // where a rule is another than its helper's derivative, or none could be tried; or NULL
    bool is_wrong;  // it was measured
    const char *
        words;  // with which constexprs rules were tried, where the kernel's launch decides; or NULL
} RulesTried;

/// `kernel` as its file has it; `symbolic` the same with open constexprs. What differs from the calls of the proved configurations,
/// which are right: constexprs that follow from those of the kernel, types and shapes of tiles, whole numbers, program ids, and how
/// large the upstream gradient is.
RulesTried rules_try(Arena *arena, const FunctionDefinition *kernel,
                     const ProvedConfigurations *proved, uint64_t seed, Budget *budget);

#endif
