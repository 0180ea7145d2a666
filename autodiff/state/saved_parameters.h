// A parameter of a kernel in; what it has to do with what the forward stores for its backward alone, out.
#ifndef TAD_AUTODIFF_STATE_SAVED_PARAMETERS_H
#define TAD_AUTODIFF_STATE_SAVED_PARAMETERS_H

#include "analysis/snapshot.h"

/// The parameter beside the pointer that says how far programs along an axis of the grid, from 1 on, lie apart.
const char *saved_step_name(Arena *arena, const char *pointer, int axis);
/// NULL: nothing. Else the value, and `*axis`: that of the step; 0: the parameter is the pointer itself.
const SavedValue *saved_parameter(const SavedValues *values, const char *kernel, Str name,
                                  int *axis);

/// What it takes: `4 bytes for each program`.
const char *saved_size_text(const SavedValue *value);

#endif
