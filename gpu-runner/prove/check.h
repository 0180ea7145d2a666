// The verdict on one configuration: is the gradient that the backward computes the derivative of the forward?
#ifndef TAD_GPU_RUNNER_PROVE_CHECK_H
#define TAD_GPU_RUNNER_PROVE_CHECK_H

#include "gpu-runner/configure/problem.h"

typedef enum CheckStatus {
    CHECK_PROVED,
    CHECK_FAILED,
    CHECK_UNPROVED,
    CHECK_INVALID,    // the forward itself does not run in this configuration
    CHECK_REDUNDANT,  // the forward shows nothing that others have not shown
} CheckStatus;

/// What a configuration that proves nothing suffers from, for those that other values may cure.
typedef enum CheckCause {
    CHECK_CAUSE_OTHER,
    CHECK_CAUSE_UNDEFINED,      // what masked-off loads left undefined is stored
    CHECK_CAUSE_PROGRAMS_MEET,  // two programs store one element
    CHECK_CAUSE_READERS_MEET,  // the same of gradients, just where two programs of the forward read
    CHECK_CAUSE_NOT_FINITE,
    CHECK_CAUSE_ROUNDING,  // the gradient is as small as rounding
    CHECK_CAUSE_LAUNCH,    // programs of a launch of the file meet, or leave its tensors
} CheckCause;

typedef struct InputResult {
    int parameter;
    double error;  // worst relative error over directions
    int directions;
    bool has_worst;
    int64_t worst_offset;
    double expected, actual;
    double slope_expected, slope_actual;  // along the last direction
    bool
        is_unsettled;  // no step was small enough for differences to agree with duals, or with themselves
} InputResult;

typedef struct CheckResult {
    CheckStatus status;
    CheckCause cause;
    const char *reason;
    InputResult *inputs;
    double error;     // the worst of all directions
    double together;  // of the directions along several inputs at once
    int together_directions;
    double dot_error;      // the same against forward-mode duals alone
    bool has_kink;         // central differences of two step sizes disagree somewhere
    bool is_contradicted;  // a gradient was measured as wrong, whatever the status
    bool
        stores_twice;  // one program of the forward stores an element twice without reading it between
    bool
        overwrites;  // the gradient is wrong because programs store zeros over those of others, and for nothing else
    bool is_in_part;      // programs of a grid that no size decides store to a part of a tensor
    bool is_alone;        // of several programs one stores
    bool is_ragged;       // the forward leaves tensors of these sizes, as it counts on whole blocks
    bool is_kernels_own;  // several programs meet in any launch, so that it is made for fewer
    double slope;         // the largest derivative along a direction
    int64_t excluded;     // stored elements that are not finite, and so not in the loss,
    int64_t stored;       // of so many
    const char *excluded_names;  // the outputs that have them
    bool is_large;               // checked on the GPU alone (check_large)
    Findings findings;
    int64_t forward_steps, backward_steps;  // of one run; the backward's with its forward
    int loop_line;  // of the forward's loop that the steps ended in, after so many iterations; 0: in none
    int64_t loop_iterations;
} CheckResult;

/// Checks one configuration on the GPU alone (execute/large.h). False where it cannot; `*result` has its inputs and is as it was then.
bool check_large(Arena *arena, const Problem *problem, CheckResult *result);
/// Checks one configuration. The forward's grid must be known. Results live in `arena`.
CheckResult check_configuration(Arena *arena, const Problem *problem);
/// Whether programs of a forward that does not run met: one stored what another one reads or stores.
bool check_met(const CheckResult *result);
/// Where a program of a forward that does not run reads what another one stores; NULL: none was seen to. In `arena`.
const MemoryFinding *check_crossing(Arena *arena, const CheckResult *result);

#endif
