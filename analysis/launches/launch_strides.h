// From the text around a launch to the strides that may be 0 there: `stride = 0 if w.numel() == 1 else w.stride(0)`.
//
// A launcher is evaluated on one way through its conditions; what the other ways pass is read here, by name.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_STRIDES_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_STRIDES_H

#include "analysis/host/launch.h"

/// Whether, by its text, the launcher passes 0 for the parameter on one of its ways.
HostZero host_argument_zero(const HostLaunch *launch, int parameter);

/// The axis along which the launch passes for `parameter`, by its text, the stride of the tensor that it passes for `tensor`:
/// `y, ..., y.stride(0)` or `y, ..., *y.stride()`. -1: none, or not known.
int host_argument_stride_axis(const HostLaunch *launch, int parameter, int tensor);

/// Whether a launch's value is a parameter of its launcher for which each call of that function in its file passes what it has asked a
/// tensor for that it passes as well: `x.stride(0)`, `x.shape[1]`, or a name of such a number. False where nobody calls it there.
bool callers_ask_tensors(const HostLaunch *launch, const HostValue *value);

#endif
