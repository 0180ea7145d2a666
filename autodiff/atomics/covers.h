// Inside autodiff/: whether a launch has a program, or a lane, for each number below a bound.
#ifndef TAD_AUTODIFF_ATOMICS_COVERS_H
#define TAD_AUTODIFF_ATOMICS_COVERS_H

#include "autodiff/atomics/readers.h"

/// Whether each launch of the file has as many programs, lanes, or both, as `bound` says: a grid of the bound itself, of
/// `cdiv(bound, BLOCK)`, a block of `next_power_of_2(bound)`. False where that does not follow from what the launches pass.
bool launches_cover(const Differentiation *state, const Coordinate *coordinate, const Poly *bound);
/// Whether each launch of the file passes for `whole` the product of what it passes for the two others.
bool launches_pass_product(const Differentiation *state, const Poly *whole, const Poly *a,
                           const Poly *b);
/// Whether each launch of the file passes for `whole` a multiple of the product of what it passes for the parameters that `part` is made of.
bool launches_pass_multiple(const Differentiation *state, const Poly *whole, const Poly *part);
/// Whether the number is small, as far as the launches of the file tell: a number of the kernel's, or one that a caller chooses apart from
/// the sizes of tensors, as the factor of an enlarged image.
bool launches_pass_few(const Differentiation *state, const Poly *number);
/// Whether the number is 1 or more in each launch of the file, as far as these tell. `atom`: of the backward.
bool launches_pass_positive(const Differentiation *state, const Value *atom);

#endif
