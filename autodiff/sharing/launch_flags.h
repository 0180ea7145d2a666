// Inside autodiff/: conditions that a launch decides, as `and`, `or` and `not` of flags.
#ifndef TAD_AUTODIFF_SHARING_LAUNCH_FLAGS_H
#define TAD_AUTODIFF_SHARING_LAUNCH_FLAGS_H

#include "analysis/ir/ir.h"
#include "analysis/ir/limits.h"

/// Flags of a launch, each once, however it is spelled.
typedef struct LaunchFlagList {
    const Value *items[FLAGS_MOST];
    int count;
} LaunchFlagList;

/// Adds the flags that a condition is made of. Where there is no room for all of them, the condition is a flag itself; without room for
/// that, nothing.
void launch_flags_add(LaunchFlagList *flags, const Value *condition);
/// Whether a condition holds where flag `i` is bit `i` of `values`: 0, 1, or -1 where other values decide.
int launch_condition_value(const LaunchFlagList *flags, unsigned values, const Value *condition);
/// Whether one launch never has both: `a` as `a_holds` says and `b` as `b_holds` says.
bool launch_conditions_exclude(const Value *a, bool a_holds, const Value *b, bool b_holds);

#endif
