// Inside autodiff/: a parameter that comes to an emitted kernel, and to its launch, at the end.
#ifndef TAD_AUTODIFF_TOGETHER_LAUNCH_PARAMETER_H
#define TAD_AUTODIFF_TOGETHER_LAUNCH_PARAMETER_H

#include "autodiff/state/differentiation.h"

/// One parameter more of `state->backward`, a whole number, with what the launch binds it to: the last, in front of constexprs. One
/// that is constexpr itself comes behind them, and is 1 by default.
Value *launch_add_parameter(Differentiation *state, BackwardLaunch *launch, const char *name,
                            BackwardArgument argument);

#endif
