// A kernel alone: sizes that are no multiples of the blocks, strides far apart, every flag both ways.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_GUESS_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_GUESS_H

#include "gpu-runner/configure/spec.h"

/// spec_guess.c: fills what is open from the evidence in the kernel; several candidates.
Configurations spec_guess(Arena *arena, const SpecRequest *request, const PlanConfiguration *fixed,
                          Error *error);
/// Puts the made-up strides of the kernel alone in the place of the launcher's, so far apart that no two rows meet, and
/// forgets the extents. What callers choose counts where it is a stride of the tensors `wrong`, pointers by index.
Spread spec_spread(Arena *arena, const SpecRequest *request, ParameterSet wrong,
                   PlanConfiguration *configuration);
/// The stride that is 0, of a tensor that the launcher expands; NULL: there is none.
const char *spec_zero_stride(Arena *arena, const SpecRequest *request,
                             const PlanConfiguration *configuration);
/// What a buffer of that type holds, by how the kernel uses what it loads from it.
Content content_guess(const ParameterFacts *facts, DTypeCode dtype, uint64_t seed);
/// The element type that the kernel alone gives a pointer parameter.
DTypeCode pointee_guess(const Parameter *parameter, const ParameterFacts *facts);
/// Whether that is a float which could as well be another: nothing in the kernel tells.
bool pointee_is_open(const Parameter *parameter, const ParameterFacts *facts);

#endif
