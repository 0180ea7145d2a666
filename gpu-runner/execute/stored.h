// What a request says that a backward stores of a gradient for certain, so that nobody zeroes it; held against what it stored.
#ifndef TAD_GPU_RUNNER_EXECUTE_STORED_H
#define TAD_GPU_RUNNER_EXECUTE_STORED_H

#include "gpu-runner/execute/execution.h"

/// `[(step, length), ...]` over the configuration's arguments and `grid.0`, `grid.1`, `grid.2`, in numbers. `*stored` is NULL
/// where a number that is not whole keeps it from ever being a tensor's layout: the launcher sets all elements to 0 then.
/// False: it is no such list, or has a name that the configuration does not know.
bool stored_read(Arena *arena, const PlanConfiguration *configuration, Str text,
                 const StoredRanges **stored);
/// Whether ranges are all of a tensor, as the launcher compares them with it; of one whose size nobody knows, whether no element is in them
/// twice.
bool stored_covers(const StoredRanges *stored, const PlanArgument *tensor);
/// How many programs share sums: all of `programs`, which is over `grid.0` and so on, up to `most`. NULL: it is not known.
int64_t slices_read(Arena *arena, const PlanConfiguration *configuration, const char *programs,
                    int64_t most);
/// Whether the written Function refuses a launch because of a tensor's gradient: by what is said of it, the launch stores an element of it
/// twice, and not by a step of 0, which a launcher passes on purpose. Nothing is said of parts, nor where it takes long to tell.
bool stored_is_refused(const Problem *problem, int parameter);
/// A sentence on an element that should have been stored and was not, or NULL.
const char *stored_fault(Arena *arena, const Problem *problem, const Execution *backward);

#endif
