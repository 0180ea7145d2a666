// The values that the constexprs of a kernel are tried with, to see which calls of a rule's helper other launches make.
#ifndef TAD_GPU_RUNNER_RULES_VALUES_H
#define TAD_GPU_RUNNER_RULES_VALUES_H

#include "analysis/module/given_rules.h"
#include "gpu-runner/configure/plan.h"

/// Numbers and texts that a branch may compare with: those that stand in jit functions and in rules.
typedef struct RuleLiterals {
    LIST(int64_t) wholes;  // each with its neighbours
    LIST(Str) texts;
} RuleLiterals;

typedef LIST(const Constant *) RuleValues;

/// Adds what stands in the rule and in its helper, then in the jit functions of a file. Allocates in `arena`; the texts are the
/// sources' own.
void rule_literals_add(Arena *arena, RuleLiterals *literals, const GivenRule *rule,
                       const FunctionDefinition *helper);
void rule_literals_add_module(Arena *arena, RuleLiterals *literals, const Module *module);
/// What a constexpr that has `own` in the proof is tried with: its own value first, then the literals. None but its own where no
/// other is known of its kind.
RuleValues rule_values(Arena *arena, const RuleLiterals *literals, const Constant *own);

#endif
