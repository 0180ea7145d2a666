// A later phase of a session: a backward rewritten by a model body by body, each candidate judged, the best one kept.
#ifndef TAD_SERVER_PHASES_PHASE_H
#define TAD_SERVER_PHASES_PHASE_H

#include "server/model/asker.h"
#include "server/phases/backward_time.h"

typedef enum PhaseId {
#define PHASE(id, name, task, gain) PHASE_##id,
#include "server/phases/phases.def"
#undef PHASE
    PHASE_COUNT
} PhaseId;

/// PHASE_COUNT where there is none of that name.
PhaseId phase_find(const char *name);
const char *phase_name(PhaseId id);
/// "complete, faster, tidy".
const char *phase_names(Arena *arena);

typedef struct PhaseTry {
    const char *words;  // what became of it
    const char *diff;   // against the best text so far; "" where it could not be taken
    bool is_kept;
} PhaseTry;

typedef struct PhaseRun {
    Arena *arena;
    PhaseId id;
    Asker *asker;
    Gate gate;
    Judged base, best;                  // `best` is `base` until something better is found
    BackwardTime base_time, best_time;  // for phases that a clock judges
    Chat chat;
    LIST(PhaseTry) tries;
    const char *stopped;  // why nothing more is asked
    int stalls;           // answers since the last gain
    bool is_failed;       // no answer came
} PhaseRun;

/// Judges the text, and prepares the first question. An error where it holds no proved backward of `forward`; for PHASE_REPAIR, no backward
/// whose proof fails. `run` is to be ended.
Error phase_begin(Arena *arena, const Options *options, const char *path, const char *text,
                  const char *forward, PhaseId id, Asker *asker, PhaseRun *run);
/// Asks until the budget is spent, or nothing better has come for a while.
void phase_run(PhaseRun *run);
/// The best text; that of the beginning where none was better.
Str phase_text(const PhaseRun *run);
bool phase_has_gain(const PhaseRun *run);
/// What the phase came to, in one line.
const char *phase_summary(const PhaseRun *run);
void phase_end(PhaseRun *run);

/// The text with the backward of `forward` in it: as it is, or with the derived one below the kernel. NULL and `*why` where there is none.
const char *phase_with_backward(Arena *arena, const char *path, const char *text,
                                const char *forward, const char **why);

#endif
