// How much a launch does, in numbers: what each program moves and computes, summed over all programs. Loops and branches are followed
// with the launch's numbers; nothing is loaded, so what hangs on memory is told as open.
#ifndef TAD_ANALYSIS_COST_COUNT_H
#define TAD_ANALYSIS_COST_COUNT_H

#include "analysis/cost/work.h"

typedef struct CountedLaunch {
    const double *numbers;  // per parameter; NaN: not known, or no number
    const int
        *bits;  // per parameter: of what it points to, where the kernel does not say; 0: not known
    int64_t grid[PROGRAM_AXES];
    int64_t most_steps;  // operations that may be followed; beyond, the count is open
} CountedLaunch;

typedef struct Counts {
    int64_t work[WORK_KINDS];       // bytes of the first three, operations of the others
    int64_t on[WORK_MEMORY_KINDS];  // bytes of lanes that masks let through
    bool is_open;       // a branch or a loop hangs on what is not known: `work` is no exact number
    bool is_on_open;    // a mask does: `on` counts all its lanes
    bool is_wide_open;  // a length or an element type is not known: the numbers mean nothing
} Counts;

/// `function` with all its constexprs bound, but for what only the launch's `numbers` say.
Counts count_launch(Arena *arena, const Function *function, const CountedLaunch *launch);

#endif
