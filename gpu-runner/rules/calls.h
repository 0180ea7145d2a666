// Which calls of helpers with a rule by hand a kernel makes, under the launches of its proof and under others.
#ifndef TAD_GPU_RUNNER_RULES_CALLS_H
#define TAD_GPU_RUNNER_RULES_CALLS_H

#include "gpu-runner/configure/plan.h"
#include "gpu-runner/rules/alone.h"

typedef LIST(const PlanConfiguration *) ProvedConfigurations;
typedef LIST(RuleCall) RuleCalls;

/// Each call once: calls that differ in a constexpr, a type or a shape are different.
typedef struct KernelCalls {
    RuleCalls list;
    int proved;        // so many of the first are of proved configurations
    bool is_complete;  // false: there are more, which are not in the list
} KernelCalls;

/// Constexprs are varied one by one, then by twos: each pair of values of each two of them occurs in some launch. Tensors whose types
/// nobody says have each type of floats. A launch that Triton would refuse is left out.
KernelCalls kernel_calls(Arena *arena, const FunctionDefinition *kernel,
                         const ProvedConfigurations *proved);

#endif
