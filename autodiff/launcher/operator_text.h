// Inside autodiff/: `--wrapper triton_op`: the launch of one kernel as a functional torch.library.triton_op with its gradient.
#ifndef TAD_AUTODIFF_LAUNCHER_OPERATOR_TEXT_H
#define TAD_AUTODIFF_LAUNCHER_OPERATOR_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// What the launches of one kernel have in common, read off the module's launchers.
typedef struct OperatorPlan {
    const LaunchPlan *launch;
    const char *name;  // of the Python function
    const char *grid;  // Python over the kernel's parameters; NULL: the operator is told the grid
    LIST(const char *) free;  // what else of the launcher `grid` reads: whole numbers
    LIST(Str) options;        // num_warps and the like, in the order of the first launch
    const char **types;       // annotation per kernel parameter
    bool *is_filled;          // per kernel parameter that is written: what it held before matters
    const char *refusal;      // why there is no operator; NULL: there is one
} OperatorPlan;

/// Never fails: `refusal` says what an operator cannot express. `kernel` is the lowered forward.
OperatorPlan operator_plan(Arena *arena, const Module *module, const LaunchPlan *launch);
/// The two operators, forward and backward, in the namespace `space`, and what connects them.
const char *operator_text(Arena *arena, const OperatorPlan *plan, const char *space);

#endif
