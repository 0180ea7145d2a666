// From all launches of a kernel to what they say of its parameters: which numbers are chosen, and which tensors may hold
// something before the launch whose gradient somebody wants.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_CONTENTS_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_CONTENTS_H

#include "analysis/host/launch.h"

/// Sets `may_have_contents` of the tensors that the kernel stores to where the launch passes what is not certainly new.
void launch_note_contents(const HostLaunch *launch, Function *function);
/// All three for all launches of the kernel in its module.
void launches_note(Arena *arena, const FunctionDefinition *kernel, Function *function);

#endif
