// Inputs whose elements may share memory: expanded ones, windows of `unfold`. Each element has a gradient of its own.
#ifndef TAD_AUTODIFF_LAYOUTS_EXPANDED_INPUTS_H
#define TAD_AUTODIFF_LAYOUTS_EXPANDED_INPUTS_H

#include "analysis/lowering/lower.h"
#include "autodiff/plan/launch_plan.h"

/// Sets `input` and `axis` of arguments that all launches of the file make strides of an input, where the kernel addresses nothing
/// but that input and its gradient with them: then a dense copy of the input does as well.
/// `backward`: the kernel, its parameters in the order of the arguments.
void expanded_inputs_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                              BackwardLaunch *launch);

/// Takes back what is not so for all kernels of a backward.
void expanded_inputs_settle(Backward *backward);

/// The forward's parameter that is the stride of the input `of` along `axis`, where a copy in place of the input has its own; or NULL.
const char *expanded_input_stride(const Backward *backward, const char *of, int axis);

/// How many axes it has to have: as many as the launches suggest, or fewer where the kernel has no index along the last ones.
int expanded_input_rank(const Backward *backward, const char *of);
int expanded_input_least_rank(Arena *arena, const Backward *backward, const char *of);
/// How far kernels go along its axes, as far as no launch shows that it is as long: `(axis, length)`, in Python over the forward's
/// arguments and `grid.0`.
Texts expanded_input_reads(Arena *arena, const Backward *backward, const char *of);

#endif
