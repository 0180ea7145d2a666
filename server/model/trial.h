// A candidate tried: the text with it is analysed in memory, the backward derived, and proved by a worker. The file is left alone.
#ifndef TAD_SERVER_MODEL_TRIAL_H
#define TAD_SERVER_MODEL_TRIAL_H

#include "analysis/snapshot.h"
#include "server/settings/options.h"

/// What is said of a candidate whose proof was cut short by a signal (interrupts_hold).
#define TRIAL_CANCELLED "cancelled before its proof came to an end"

/// From the worst to the best.
typedef enum TrialOutcome {
    TRIAL_UNUSABLE,   // the rule cannot be read or used
    TRIAL_REFUSED,    // something else of the kernel has no derivative
    TRIAL_REFUTED,    // the gradient is wrong
    TRIAL_UNCHECKED,  // nothing can tell whether the rule is right
    TRIAL_OPEN,       // the proof came to no end
    TRIAL_PROVED,
} TrialOutcome;

typedef struct Trial {
    TrialOutcome outcome;
    const char *words;  // what the front end or the worker says of it
    double worst_error;
    Range refused;  // TRIAL_REFUSED: where, in the text of the trial
} Trial;

/// Whether the one is nearer to a proof, or its error is the smaller.
bool trial_is_better(const Trial *a, const Trial *b);
/// Tries `text` in the place of the file at `path`, for one kernel of it. `before`: a text whose kernel of that name has to compute the same; or
/// NULL. Ranges of the trial lie in `*snapshot`, which the caller
/// releases; NULL after an error of ours.
Trial trial_run(Arena *arena, const Options *options, const char *path, const char *text,
                const char *kernel, const char *before, const Snapshot **snapshot);
/// Why the file must not have this text: a gradient of any of its kernels that rests on a rule by hand is wrong. NULL: it may.
const char *trial_whole(Arena *arena, const Options *options, const char *path, const char *text);

#endif
