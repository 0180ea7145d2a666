// Upstream gradients that a kernel reads in the layout that they come in.
#ifndef TAD_AUTODIFF_LAYOUTS_UPSTREAM_STRIDES_H
#define TAD_AUTODIFF_LAYOUTS_UPSTREAM_STRIDES_H

#include "analysis/lowering/lower.h"
#include "autodiff/state/result.h"

/// Sets `upstream` and `axis` of arguments that all launches of the file make strides of an output, where the kernel addresses
/// nothing but that output's upstream gradient with them, by an index along each axis that stays within the tensor.
/// `backward`: the kernel, its parameters in the order of the arguments.
void upstream_strides_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                               BackwardLaunch *launch);

/// Takes back what is not so for all kernels that read the same upstream gradient.
void upstream_strides_settle(Backward *backward);

/// Whether the kernels that read the upstream gradient of the output `of` are given its stride along `axis`.
bool upstream_has_stride(const Backward *backward, const char *of, int axis);
/// Whether they are given one along any axis.
bool upstream_has_strides(const Backward *backward, const char *of);

#endif
