// A backward in one kernel in; out the same in several, where programs share gradients that gradient-reduction kernels can sum (reductions.h).
#ifndef TAD_AUTODIFF_PARTS_H
#define TAD_AUTODIFF_PARTS_H

#include "autodiff/variants.h"

/// parts.c: sets the gradients that programs share, as far as gradient-reduction kernels can sum them, apart from the rest. Leaves the
/// variant, which is of the whole, as it is where none can.
void variant_split(Arena *arena, const Kernel *kernel, const Function *forward,
                   const BackwardOptions *options, bool keeps_loads, BackwardPart like,
                   Variant *variant);
/// Where the variant is of several kernels that walk rows in blocks: finds the one kernel that does all of their work for rows that one
/// block holds.
void variant_find_whole_rows(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options, bool keeps_loads, Variant *variant);
/// Makes one kernel of a variant whose tiles number elements, with owners for the digits that gradients are numbered by. Leaves it as it is
/// where that cannot be, or atomics would be left.
void variant_flatten(Arena *arena, const Kernel *kernel, const Function *forward,
                     const BackwardOptions *options, bool keeps_loads, Variant *variant);
/// Of two launches the arguments of the first, then those that the second has besides.
BackwardLaunch launch_join(Arena *arena, const BackwardLaunch *a, const BackwardLaunch *b);
/// Whether a program reads there what programs of an earlier launch left in memory, or the launch keeps states.
bool launch_reads_scratch(const BackwardLaunch *launch);

#endif
