// A rule by hand, alone: with numbers of a kind, is what it gives the derivative of its helper?
#ifndef TAD_GPU_RUNNER_RULES_ALONE_H
#define TAD_GPU_RUNNER_RULES_ALONE_H

#include "analysis/module/given_rules.h"
#include "gpu-runner/interp/interp.h"

/// A call of a helper in a kernel whose constexprs are bound: the types of its arguments, and those that are constants.
typedef struct RuleCall {
    const FunctionDefinition *helper;
    const GivenRule *rule;
    Value *const *values;  // per parameter of the helper
    Type result;
    const char *text;  // "x: fp32[16], K = 3"
} RuleCall;

/// The numbers that a helper gets.
typedef struct RuleNumbers {
    double low, high;    // floats
    int64_t from, to;    // whole numbers
    double upstream;     // how large the gradient of the result is
    int64_t program[3];  // which the program's ids are
    uint64_t seed;
    bool is_one;  // each element gets what that of `lane` gets
    int64_t lane;
} RuleNumbers;

/// Where the rule is another than the derivative.
typedef struct RuleFault {
    double expected, actual;  // along a direction
    bool is_apart;            // at one element; else of all together
    int64_t lane;
} RuleFault;

typedef enum RuleVerdict {
    RULE_AGREES,
    RULE_DIFFERS,
    RULE_OPEN,  // not finite, beyond the budget, or not to be run alone
} RuleVerdict;

typedef struct RuleAlone RuleAlone;

/// NULL where helper or rule do not lower alone.
RuleAlone *rule_alone_new(Arena *arena, const RuleCall *call, Budget *budget);
/// By dual numbers, or `by_differences` of the helper's values, for helpers that have no dual numbers.
RuleVerdict rule_alone_try(RuleAlone *alone, const RuleNumbers *numbers, bool by_differences,
                           RuleFault *fault);
/// Whether helper and rule come to the same operations and numbers for both calls, whatever types and shapes they have.
bool rule_alone_is_same(const RuleAlone *a, const RuleAlone *b);
/// Whether helper or rule read which program runs.
bool rule_alone_reads_programs(const RuleAlone *alone);

#endif
