// Statements of one gradient that programs along some axes share, each with a share of its own: whether the others meet there.
#ifndef TAD_AUTODIFF_SHARING_NUMBERED_H
#define TAD_AUTODIFF_SHARING_NUMBERED_H

#include "analysis/addresses/axis.h"
#include "autodiff/state/differentiation.h"

/// Whether no program touches with one statement what another one touches with another statement, where programs with another number
/// have other memory. `stride`: elements between two shares.
bool numbered_are_apart(Differentiation *state, const FunctionAxes *axes,
                        const SharedStatement *shared, int count, Value *const *numbers,
                        int number_count, Value *stride);

#endif
