// Inside autodiff/: programs that have the elements between two neighbouring offsets, `offsets[program]` and `offsets[program + 1]`.
#ifndef TAD_AUTODIFF_ADDRESSES_SEGMENTS_H
#define TAD_AUTODIFF_ADDRESSES_SEGMENTS_H

#include "analysis/addresses/affine.h"

/// The parameter of the offsets where programs along `program_axis` touch only what lies from their offset to below the next,
/// as a mask or the bounds of a loop say. So no two of them touch one element, if the offsets do not decrease. NULL: it is
/// something else. `around`: of `function`, in which the access is.
Value *segments_of_programs(Arena *arena, const Function *function, const FunctionAxes *around,
                            const Access *access, int program_axis);

#endif
