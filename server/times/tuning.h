// One kernel tuned: variants are planned, compiled, held against the kernel as it is, and timed, by one worker that stays warm.
#ifndef TAD_SERVER_TIMES_TUNING_H
#define TAD_SERVER_TIMES_TUNING_H

#include "analysis/snapshot.h"
#include "server/proofs/proof.h"
#include "server/proofs/runner_client.h"
#include "server/times/timed_kernel.h"

/// One variant that was tried.
typedef struct TunedVariant {
    const char *text;   // "BLOCK=128, num_warps=4"
    const int *blocks;  // values of the names of the result, in their order
    int warps, stages;  // stages 0: nothing is fetched ahead
    double median_ms, low_ms, high_ms;
    const char *problem;  // why it has no time, or NULL
} TunedVariant;

typedef struct TuningResult {
    const char *kernel, *line, *device, *triton;
    const char *const *names;  // of the blocks
    int name_count;
    const Json *plan;  // of the kernel as it is
    int tried;
    bool is_derived;                  // a kernel of a backward
    bool was_cut;                     // the search was not at its end
    const TunedVariant *first;        // the kernel as it is
    const TunedVariant *const *best;  // those that have a time, the fastest first
    int best_count;
    const TunedVariant *const *dropped;  // tried, and without a time
    int dropped_count;
    int pruned;                // not tried: their tiles do not fit
    const char *const *fixed;  // lengths that stay, each with the reason
    int fixed_count;
} TuningResult;

typedef struct TuningEvents {
    /// Before each trial.
    void (*progress)(void *context, int done, const char *text);
    /// Exactly once, from the loop: a result that lives until it returns, or one sentence. After it the tuning is gone.
    void (*done)(void *context, const TuningResult *result, const char *problem);
    void *context;
} TuningEvents;

/// A kernel of the forward's backward, to be tuned in its stead: its warps and stages.
typedef struct TuningLaunch {
    const Kernel *kernel;  // in the module that has it, whose snapshot lives as long as the tuning
    const TimedKernel *timed;  // the forward with that backward
    const Json *passed;        // numbers that its launch passes, by name
} TuningLaunch;

typedef struct Tuning Tuning;
/// `launch`: or NULL for the kernel itself. Holds the snapshot while it lasts. `runner`, `python`: commands, as runner_command makes them. `jobs` workers compile, one of them times. After `seconds` no trial is begun.
Tuning *tuning_start(Loop *loop, const Snapshot *snapshot, const Kernel *kernel,
                     const TuningLaunch *launch, const ProofFile *file, const char *const *runner,
                     const char *const *python, int jobs, double seconds, TuningEvents events);
/// Ends it; `done` comes with "cancelled".
void tuning_cancel(Tuning *tuning);

#endif
