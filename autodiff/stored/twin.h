// Inside autodiff/: values that are the same as others of another loop over the same range.
#ifndef TAD_AUTODIFF_STORED_TWIN_H
#define TAD_AUTODIFF_STORED_TWIN_H

#include "autodiff/state/differentiation.h"

/// What two places of a function have in common.
typedef struct LoopTwin {
    Arena *arena;
    Map variables;  // of the loops around one place -> those of the loops around the other
    const Value
        *mask;  // elements of the first place that this leaves out need not be the same; or NULL
} LoopTwin;

/// Whether each time that ops of `there` run, those of `region` ran, or run, with the same values of the variables of loops: as
/// `twin->variables` says then.
bool regions_are_twins(LoopTwin *twin, const Region *region, const Region *there);
/// Whether `there` is `value` at the other place.
bool values_are_twins(const LoopTwin *twin, const Value *value, const Value *there);

#endif
