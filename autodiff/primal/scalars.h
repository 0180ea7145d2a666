// Inside autodiff/: gradients of a kernel's floating-point scalars, one sum a program.
#ifndef TAD_AUTODIFF_PRIMAL_SCALARS_H
#define TAD_AUTODIFF_PRIMAL_SCALARS_H

#include "autodiff/state/differentiation.h"

/// Whether the parameter is a number at run time that may have a derivative: no constexpr, no integer.
bool parameter_is_float_scalar(const Parameter *parameter);
/// Whether somebody asked for the scalar's gradient: by name, or a launcher passes a tensor's number for it.
bool scalar_is_asked(const BackwardOptions *options, const Parameter *parameter);
/// After the sweep, at the end of the backward: each program stores the sums of its scalars. `outermost`: the adjoints there.
void scalars_store(Differentiation *state, const AdjointFrame *outermost);

#endif
