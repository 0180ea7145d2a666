// Loads, stores and atomics of a trial: the elements that they touch.
#ifndef TAD_ANALYSIS_TRIAL_TRIAL_MEMORY_H
#define TAD_ANALYSIS_TRIAL_TRIAL_MEMORY_H

#include "analysis/trial/trial_tile.h"

typedef struct TrialState {
    LaunchTrial *trial;
    Arena *arena;  // of the trial
    TrialPool pool;
    const Function *function;
    const ConcreteLaunch *launch;
    const TrialTile **values;  // by id, of the program that runs
    int64_t program[3], number;
    bool stores;    // the program has stored something
    bool is_stuck;  // what is not known decides what the program does next
    Map accesses;   // Op -> its place in the trial's list + 1
} TrialState;

const TrialTile *trial_value(TrialState *state, const Value *value);
/// `tl.make_block_ptr` and `tl.make_tensor_descriptor`, or `tl.advance` of one.
const TrialTile *trial_block(TrialState *state, const Op *op);
/// A load, a store or an atomic.
void trial_touch(TrialState *state, const Op *op);
/// The same where it is not known whether the program comes by.
void trial_leave_open(TrialState *state, const Op *op);

#endif
