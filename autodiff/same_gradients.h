// An emitted kernel in; out which of its gradients are one, or the upstream one: those of the terms of a sum, a residual and what it is added to.
#ifndef TAD_AUTODIFF_SAME_GRADIENTS_H
#define TAD_AUTODIFF_SAME_GRADIENTS_H

#include "autodiff/state/result.h"

/// Fills `same_as` of the launch's ARGUMENT_GRADIENTs that the kernel takes None for; `launch` is in the order of the parameters of
/// `backward`, and their `stored` is filled.
void same_gradients_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                             BackwardLaunch *launch);

/// A gradient that several launches take is the same as no other.
void same_gradients_settle(Backward *result);

#endif
