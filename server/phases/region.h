// Lines of a kernel that the rules refuse, rewritten by a model: what they compute stays, and the rules derive what is there then. All other
// lines are locked.
#ifndef TAD_SERVER_PHASES_REGION_H
#define TAD_SERVER_PHASES_REGION_H

#include "server/model/asker.h"
#include "server/model/trial.h"

/// One answer, and what became of it.
typedef struct RegionTry {
    const char *words;
    const char *diff;  // against the text that it was asked about; "" where it could not be taken
    bool is_kept;
} RegionTry;

typedef struct RegionRun {
    Arena *arena;
    const Options *options;
    Asker *asker;
    const char *path, *kernel;
    const char *before;    // the text of the file, whose kernel has to compute the same
    const char *text;      // with the answers that led the derivation further
    uint32_t start, end;   // of the open lines in `text`, without the last one's end
    const char *function;  // that they stand in
    const char *refusal;
    int refused_again;  // answers for these lines that the rules refuse, too
    Trial best;         // of the answers for these lines
    int stalls;         // answers since the last one that was better
    Chat chat;
    LIST(RegionTry) tries;
    const char *result;  // proved; NULL: none yet
    double worst_error;
    const char *last;     // the code of the answer before
    const char *stopped;  // why nothing more is asked
    bool is_failed;       // no answer came
    bool moves_on;        // with `text` something is refused that is no statement of this file
} RegionRun;

/// The lines that refuse the kernel's gradient in this text, and the first question. An error where there are none of this file.
Error region_begin(Arena *arena, const Options *options, Asker *asker, const char *path,
                   const char *text, const char *kernel, RegionRun *run);
/// Asks until the kernel computes what it did and its gradients are proved, or the budget is spent.
void region_run(RegionRun *run);

#endif
