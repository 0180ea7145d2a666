// A gradient whose buffer has to be set to 0 for what one part of a mask leaves out in; a kernel that stores these zeros itself, where
// the launch says that the rest of the mask has all of the tensor, out.
#ifndef TAD_AUTODIFF_EXTENTS_FILLS_H
#define TAD_AUTODIFF_EXTENTS_FILLS_H

#include "autodiff/state/differentiation.h"

/// Gives the one plain store of a gradient, of the first that has such, a wider mask under a constexpr flag (ARGUMENT_FILL), and 0 for what that has more.
/// Only where each element of the wider mask is that of one program, iteration and lane, if they are the elements of a tensor.
/// `launch`: arguments in the order of the backward's parameters, as far as their names say which numbers its caller knows.
void fills_add(Differentiation *state, const BackwardLaunch *launch);
/// The same where the zeros take another order of lanes: under the flag what stands from `around` on in front of the store `own` takes its place,
/// with the store `whole` in it. False, and nothing is changed, where it does not have all of a tensor for certain.
bool fills_choose(Differentiation *state, const BackwardLaunch *launch, Op *own, Op *whole,
                  Op *around);
/// What is stored under the flag, as `stored` of an argument.
void fills_describe(const Differentiation *state, BackwardLaunch *launch);

#endif
