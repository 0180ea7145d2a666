// From a launch to the kernel's parameters that are free numbers (a convolution's stride, the hop of a transform): no
// tensor's sizes say them, and nothing in the kernel is bounded by them. So are those that are less than a size of the launch,
// or asked of a view that it does not pass.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_CHOSEN_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_CHOSEN_H

#include "analysis/host/launch.h"

/// Whether a scalar is what somebody chose (`stride=2`), not what follows from the sizes of tensors.
bool host_argument_is_chosen(const HostArgument *argument);
/// Whether some parameter is an integer that bounds nothing in the kernel.
bool function_may_have_chosen(Arena *arena, const Function *function);
/// Marks the parameters of the kernel whose value a launcher's caller picks and that bound nothing in it, as the stride of a
/// convolution, and what is less than a size or a stride (`x.stride(0) // 2`): they do not tell how far apart the rows of a tensor are.
void launch_note_chosen(Arena *arena, const HostLaunch *launch, Function *function);

/// Adds the inputs that sizes of the launch's tensors are made of, by multiplication: keys of `sizes`.
void launch_note_dimensions(Map *sizes, const HostLaunch *launch);
/// Whether a value is a whole number of the kernel's caller that bounds nothing in it: no size.
bool number_is_free(Arena *arena, const Function *function, const Value *value);

#endif
