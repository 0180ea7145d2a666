// A kernel that calls a constexpr, or takes one apart: derived once for each jit function or length of a tuple that a launch passes, the
// backwards merged below comparisons.
#ifndef TAD_AUTODIFF_FUNCTION_VARIANTS_H
#define TAD_AUTODIFF_FUNCTION_VARIANTS_H

#include "autodiff/variants.h"

/// function_variants.c: the same for the jit functions that launches pass for a constexpr. Where one of them has no backward,
/// the reason names it.
void variants_derive_functions(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                               Variant *variant);

/// Where a value of a constexpr decides whether a tensor holds integers or floats (packed weights beside plain ones), derives
/// the kernel for that value by itself, in which the tensor may have a gradient, and puts both below an `if`. Where that cannot be
/// done, the variant is refused: a gradient would be lost.
void variants_derive_kinds(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant);

#endif
