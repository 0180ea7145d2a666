// One derivation of one function: the passes, and what they came to as a variant.
#ifndef TAD_AUTODIFF_DERIVE_H
#define TAD_AUTODIFF_DERIVE_H

#include "autodiff/variants.h"

/// Derives one part of a function's backward. `keeps_loads`: what loads see and the kernel overwrites later is saved.
/// Whether that would help where this did not.
bool variant_try(Arena *arena, const Kernel *kernel, const Function *forward,
                 const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                 Variant *variant);
/// Derives one function, in several kernels where programs share gradients. `variant` is overwritten.
void variant_derive(Arena *arena, const Kernel *kernel, const Function *forward,
                    const BackwardOptions *options, Variant *variant);
/// Runs what may do better, with three quarters of the steps that are left. False where these do not do: what was derived before stays.
bool variant_attempt(Arena *arena, void (*run)(void *context, Variant *variant), void *context,
                     Variant *variant);

#endif
