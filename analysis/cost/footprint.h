// Shared memory and registers that a program of a launch takes, as Triton's compiler for NVIDIA cards lays them out: an estimate from the
// tiles alone. tests/triton/test_footprint.py holds it against the compiler.
#ifndef TAD_ANALYSIS_COST_FOOTPRINT_H
#define TAD_ANALYSIS_COST_FOOTPRINT_H

#include "analysis/cost/count.h"

typedef struct FootprintOptions {
    int capability;  // of the card: 80 for 8.0
    int warps, stages;
} FootprintOptions;

typedef struct Footprint {
    bool is_known;   // false: some tile has a length that is not known
    int64_t shared;  // bytes of a program
    int registers;   // of a thread
    bool is_capped;  // it wants more than there are, and spills
} Footprint;

enum {
    FOOTPRINT_WARPS_UNASKED = 4,  // Triton's own
    FOOTPRINT_STAGES_UNASKED = 3,
    FOOTPRINT_LANES = 32,             // of a warp
    FOOTPRINT_LEAST_CAPABILITY = 80,  // what it was held against
    FOOTPRINT_MOST_CAPABILITY = 90,
};

/// `function` with its constexprs bound; of `launch` the numbers and bits. Sizes and strides that it does not say are multiples of 16,
/// and the last axis of a tile whose strides are not known is contiguous.
Footprint footprint_of(Arena *arena, const Function *function, const CountedLaunch *launch,
                       FootprintOptions options);

#endif
