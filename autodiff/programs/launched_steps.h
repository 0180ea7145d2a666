// Stores of a kernel that the file launches: whether the launches show that its programs, iterations and lanes keep apart.
#ifndef TAD_AUTODIFF_PROGRAMS_LAUNCHED_STEPS_H
#define TAD_AUTODIFF_PROGRAMS_LAUNCHED_STEPS_H

#include "autodiff/extents/element_ranges.h"
#include "autodiff/state/differentiation.h"

/// Whether the sizes that the launches of the kernel pass, under each value of their flags, say that no two sums of the ranges are one.
/// `parameter`: of the primal, whose elements these are. False where there is no launch.
bool launches_keep_apart(const Differentiation *state, const StoredSearch *coverage,
                         const char *parameter, const ElementRanges *ranges);
/// Of a store that takes an upstream gradient: where neither the kernel nor its launches show that no element is stored twice (rows a
/// `hop` apart that the caller picks, `n // 2`), `stores.steps` gets what the Function checks. Nothing of a kernel without a
/// launch in its file (steps.h), and of places that are not understood. False where it is understood but for how long
/// some of its ranges are.
bool launched_steps_note(Differentiation *state, Op *store);
/// The same of two stores to one tensor: that no program stores by one of them what another one stores by the other. Where the
/// kernel stores to it in an order that counts (a running gradient), one program may do so.
void launched_pair_note(Differentiation *state, Op *first, Op *second);

#endif
