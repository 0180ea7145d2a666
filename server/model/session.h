// One kernel from refusal to proof: the helper in the way, what a model is asked about it, its answers tried, its mistakes said back.
#ifndef TAD_SERVER_MODEL_SESSION_H
#define TAD_SERVER_MODEL_SESSION_H

#include "server/model/asker.h"
#include "server/model/candidate.h"
#include "server/model/trial.h"

typedef struct SessionTry {
    const char *rules;  // a line each; "" where the answer had none
    Trial trial;
} SessionTry;

typedef struct ModelSession {
    Arena *arena;
    const Options *options;
    const char *path;
    const Snapshot *snapshot;  // of the file as it is
    const char *kernel;
    OpenHelpers helpers;
    Chat chat;
    LIST(SessionTry) tries;
    OpenHelpers best;  // the rules of the best try
    Trial best_trial;
    int stalls;           // answers since the last one that was better
    const char *stopped;  // why nothing more is asked; NULL: it is proved
    bool is_failed;       // no answer came
    bool is_foreign;      // the first helper stands in another file
    bool moves_on;  // with these rules something else is refused, which is no helper of this file
} ModelSession;

/// A refused kernel, and what would be asked first. An error where no rule for a helper can help: the operation stands in the kernel itself,
/// or has an effect, or nothing is refused.
Error session_begin(Arena *arena, const Options *options, const Snapshot *snapshot,
                    const char *path, const Kernel *kernel, ModelSession *session);
/// Asks until the gradients are proved, until nothing can tell, or until the budget is spent.
void session_run(ModelSession *session, Asker *asker);
/// The file's text with the rules that `moves_on` is about, marked as proved: who goes on with it has yet to prove it.
const char *session_text_so_far(const ModelSession *session, const ModelSettings *settings);
/// The file's text with the best rules, marked as a model's.
const char *session_text(const ModelSession *session, const ModelSettings *settings);

#endif
