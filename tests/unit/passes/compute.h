// What a function of a derivation computes on drawn inputs: the tile IR as it is between two passes, interpreted in double precision.
#ifndef TAD_TESTS_UNIT_PASSES_COMPUTE_H
#define TAD_TESTS_UNIT_PASSES_COMPUTE_H

#include "autodiff/state/differentiation.h"
#include "gpu-runner/configure/plan.h"

/// A forward in one configuration. `forward` has open constexprs; the configuration binds them when it runs.
typedef struct Subject {
    const Function *forward;
    const PlanConfiguration *configuration;  // per parameter of `forward`, with a grid
    const int *joined;  // per parameter the one whose tensor it is passed, or -1; or NULL
    uint64_t seed;
} Subject;

/// An edit of the copy of a function that is about to run. False where it changed nothing.
typedef struct FunctionEdit {
    bool (*edit)(Function *copy, uint64_t seed);
    uint64_t seed;
} FunctionEdit;

typedef struct ComputedElement {
    const char *buffer;  // "gradient x"
    int64_t offset;
    double value;
} ComputedElement;

/// What lies in memory after a run: outputs of a primal, gradients of a backward.
typedef struct Computed {
    Error error;  // why it could not run; then there are no elements
    LIST(ComputedElement) elements;
    Map places;     // buffer and offset -> ComputedElement
    bool is_plain;  // the memory noted no race, no undefined value, no access out of bounds
    bool is_unedited;
} Computed;

/// Memory in which the forward has run once, for the kernels of a backward.
typedef struct BackwardRun BackwardRun;

/// Runs a primal. `state` says what its parameters stand for; NULL: `function` is the forward. `edit` may be NULL.
Computed primal_compute(Arena *arena, const Subject *subject, const Differentiation *state,
                        const Function *function, const FunctionEdit *edit);

BackwardRun *backward_run_new(Arena *arena, const Subject *subject);
/// Runs one kernel of a backward behind those before it.
void backward_run_add(BackwardRun *run, const Differentiation *state, const Function *function,
                      const FunctionEdit *edit);
Computed backward_run_gradients(BackwardRun *run);

/// Derivative of the loss (each stored element times a drawn weight) in a drawn direction, once by dual numbers through the
/// forward and once by the gradients. False where either has no number.
bool slopes_compute(Arena *arena, const Subject *subject, const Differentiation *state,
                    const Computed *gradients, double *dual, double *gradient, double *size);

typedef enum Likeness { ALIKE_BITS, ALIKE_VALUES, ALIKE_FINITE, ALIKE_NUMBERS } Likeness;
/// Where the second is not like the first, one sentence; NULL: it is.
const char *computed_difference(Arena *arena, const Computed *before, const Computed *after,
                                Likeness likeness);

#endif
