// From the text of launchers to the jit functions that a kernel's constexpr can be: every way that a name, a table or a caller brings one.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_FUNCTIONS_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_FUNCTIONS_H

#include "analysis/host/launch.h"

/// All that the launches of a kernel in its module, its default and its `# tad:` lines pass, by their text, and what callers bring;
/// None alone where no function is among them and the kernel asks whether it is None; empty where it does not ask, or does not call the
/// parameter. Others may come from outside of the module.
LaunchFunctions launches_functions(Arena *arena, const Function *function, int parameter);
/// How many whole numbers the launches pass in a tuple for a constexpr that the kernel takes apart; empty where none is known to.
LaunchLengths launches_lengths(Arena *arena, const Function *function, int parameter);
Constant launch_function_constant(const LaunchFunction *function);

#endif
