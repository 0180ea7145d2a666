// What a launcher does with a tensor that a launch writes, before the launch and behind it.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_LATER_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_LATER_H

#include "analysis/host/launch.h"

/// Whether the launch passes, for its parameter of this number, a tensor by a name that the launcher binds to new memory alone, which is
/// no view; and the text behind the launch leaves it as it is: no operation in place, no other launch that gets it, no function of the file.
bool launch_leaves(const HostLaunch *launch, int parameter);
/// The same, where the launch itself does not come again for this memory: that is allocated in each loop around the launch.
bool launch_writes_last(const HostLaunch *launch, int parameter);
/// Whether a parameter is scratch memory: the kernel stores there and loads, and each launch of the module passes what its launcher has
/// allocated for that alone, by a name that stands nowhere else in the launcher, and in no loop. Nobody reads what the kernel leaves in it. False without
/// a launch.
bool parameter_is_scratch(Arena *arena, const Function *function, int parameter);

#endif
