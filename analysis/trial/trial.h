// A launch tried with numbers: which elements its programs touch. Whole numbers and addresses are computed, contents of memory are not.
#ifndef TAD_ANALYSIS_TRIAL_TRIAL_H
#define TAD_ANALYSIS_TRIAL_TRIAL_H

#include "analysis/host/launch.h"
#include "analysis/ir/ir.h"

/// What one operation did to memory, over all programs that were run.
typedef struct TrialAccess {
    const Op *op;
    int buffer;          // of the launch; -1: not known, or not always the same one
    bool is_of_several;  // programs, or iterations, touch different buffers
    bool is_open;        // in some program its place or its mask is not known
    unsigned bounded;    // a bit for each axis of the tile that the mask has, too
    unsigned wide;       // a bit for each axis of more than one lane
    int64_t outside;     // elements touched beyond the buffer
    int64_t inside;      // elements touched within it
    uint8_t *seen;       // of a load: a bit for each element of the buffer that it has touched
    int seen_of;         // the buffer
    int64_t distinct;    // of a load: how many of these there are
    int64_t element;     // the first of those beyond
    int64_t program[3];  // that touched it
} TrialAccess;

typedef struct TrialBuffer {
    int64_t numel;
    int32_t *writer;  // by element: 1 + the number of the program that stored there last, or 0
    bool is_open;     // what is stored there is not known
    int64_t written;  // elements that were stored to
    int64_t
        twice;  // stores to an element that another program, or another operation, had stored to
} TrialBuffer;

typedef struct LaunchTrial {
    LIST(TrialAccess) accesses;
    TrialBuffer *buffers;
    int buffer_count;
    int64_t programs, idle;  // that were run, and those of them that stored nothing
    bool is_cut;             // the steps ended: nothing holds
    int64_t turns;           // most iterations of a loop; -1: no loop was run
    struct TrialState *state;
} LaunchTrial;

/// `function` is lowered with the launch's constexprs. NULL where the grid is not known. `steps`: elements that may be computed.
/// In `arena`.
LaunchTrial *trial_new(Arena *arena, const Function *function, const ConcreteLaunch *launch,
                       int64_t steps);
/// Runs one program, which may lie beyond the grid.
void trial_run_program(LaunchTrial *trial, const int64_t program[3]);
/// Runs the whole grid.
void trial_run_all(LaunchTrial *trial);

#endif
