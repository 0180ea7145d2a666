// One derivation, held after each pass to what its row in autodiff/passes.def says that it keeps.
#ifndef TAD_TESTS_UNIT_PASSES_VALIDATE_H
#define TAD_TESTS_UNIT_PASSES_VALIDATE_H

#include "autodiff/passes.h"
#include "tests/unit/passes/compute.h"

enum { MOST_PASSES = 64 };

/// Of one row, over all derivations.
typedef struct PassTally {
    int runs;
    int changes;      // it rewrote something, noted something or refused the kernel
    int comparisons;  // what was computed before and after it
    int mistakes;     // planted in what it left
    int found;        // of these, those that the comparison saw
} PassTally;

typedef struct Validation {
    PassTally tallies[MOST_PASSES];  // per row of pass_rows
    int derivations;
    int slopes;  // backwards that were held against the primal's derivative
    int failures;
    bool plants_mistakes;
    /// Breaks what the pass of this name leaves, as if the pass did; NULL: none is broken.
    const char *broken_pass;
    uint64_t broken_seed;
    bool is_silent;  // failures are counted and not said
} Validation;

/// Derives the backward of `kernel` pass by pass and interprets it in between, in this configuration. Whether it could run; it is
/// derived in any case.
bool validate_kernel(Validation *validation, const Kernel *kernel,
                     const PlanConfiguration *configuration, uint64_t seed);

#endif
