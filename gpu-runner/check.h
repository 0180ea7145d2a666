// The numbers behind a proof: runs forward and backward in one configuration and compares the gradients three ways.
#ifndef TAD_RUNNER_CHECK_H
#define TAD_RUNNER_CHECK_H

#include "gpu-runner/plan.h"

/// Where an argument of a backward kernel comes from.
typedef enum ActualKind {
    ACTUAL_SAME,      // the forward's argument
    ACTUAL_UPSTREAM,  // the gradient of an output
    ACTUAL_GRADIENT,  // the gradient buffer of an input, zero at first
    ACTUAL_RUNNING,  // the gradient of a buffer updated in place: upstream at first, the input's at the end
    ACTUAL_BEFORE,   // the forward's argument as it was before the forward ran
    ACTUAL_SCRATCH,  // memory of `extent` elements, shared by name; nobody wrote to it before
    ACTUAL_CONSTANT,
    ACTUAL_PROGRAMS,  // programs of the forward's grid along an axis
} ActualKind;

typedef struct Actual {
    ActualKind kind;
    int parameter;  // of the forward
    const char *name;
    DTypeCode dtype;
    const Constant *constant;
    int axis;
    int64_t extent;  // of scratch; 0: not known
} Actual;

typedef struct GradientLaunch {
    const Function *function;
    const Actual *actuals;  // per parameter of `function`
    bool has_grid;          // else the forward's
    int64_t grid[3];
} GradientLaunch;

typedef struct Problem {
    const Function *forward;
    const Configuration *configuration;
    const GradientLaunch *launches;
    int launch_count;
    const int *inputs;  // parameters of the forward: float pointers or float scalars
    int input_count;
    const int *outputs;
    int output_count;
    uint64_t seed;
    double deadline;
    const atomic_bool *cancelled;
} Problem;

typedef enum CheckStatus {
    CHECK_PROVED,
    CHECK_FAILED,
    CHECK_UNPROVED,
    CHECK_INVALID,  // the forward itself does not run in this configuration
} CheckStatus;

typedef struct InputResult {
    int parameter;
    double error;       // worst relative error over directions
    double dual_error;  // the same against forward-mode duals alone
    int directions;
    bool has_worst;
    int64_t worst_offset;
    double expected, actual;
} InputResult;

typedef struct CheckResult {
    CheckStatus status;
    const char *reason;
    InputResult *inputs;
    double error;
    double dot_error;
    bool has_kink;  // central differences of two step sizes disagree: the duals decide
    Findings findings;
    int64_t elements;  // of inputs that were compared
} CheckResult;

/// Checks one configuration. The forward's grid must be known. Results live in `arena`.
CheckResult check_configuration(Arena *arena, const Problem *problem);

/// Chooses the grid of a configuration by running programs along each axis until they add nothing.
/// A sentence where not even the first program runs.
Error check_find_grid(Arena *arena, const Function *forward, Configuration *configuration,
                      const Problem *problem);

/// Runs the forward alone; a sentence where it does not. `memory` and the buffer of each parameter come back.
Error check_run_forward(Arena *arena, const Problem *problem, bool own_types, Memory **memory,
                        MemoryBuffer ***buffers);

/// Runs only the programs at the corners of the grid: enough to see how far each buffer reaches.
Error check_run_corners(Arena *arena, const Problem *problem, Memory **memory,
                        MemoryBuffer ***buffers);

#endif
