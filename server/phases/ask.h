// What the parts of `--ask` share. Private to server/phases/ask*.c.
#ifndef TAD_SERVER_PHASES_ASK_H
#define TAD_SERVER_PHASES_ASK_H

#include "server/model/asker.h"
#include "server/settings/options.h"
#include "server/system/target.h"

typedef struct Ask {
    Arena *arena;
    const Options *options;
    CommandTarget target;
    const char *workspace;
    Str text;                // of the file, as it is
    const char *best;        // with what is proved
    ModelSettings settings;  // those of the phase at hand
    ModelSettings all;       // as the user has said them
    Asker asker;
    Buffer out;
    Names done;  // kernels that were asked about, or cannot be
    int refused, proved;
    int regions;        // of these, proved with other lines in the kernel
    int phases, gains;  // that were run, and that found something better
    bool is_failed;     // the model, or the way to it
    const char *last;   // why there was no proof, the last time
    uint64_t told_ns;
} Ask;

/// The request as a person sees it.
const char *ask_request(Ask *ask, const Chat *chat);
/// Whether what is asked may leave this machine. `scope`: what it holds beyond the text of a helper, or NULL; agreed to apart.
/// `later`: what later requests add.
bool ask_is_agreed(Ask *ask, const char *requests, const char *scope, const char *later);
/// A diff as part of the report.
void ask_put_diff(Buffer *out, const char *diff);
/// The same for a first question. Where it may not, that is noted as a failure; `where`: a clause on why it has to hold that.
bool ask_may_send(Ask *ask, const Chat *chat, const char *where, const char *scope,
                  const char *later);
/// Asks about the refused lines of a kernel of the text. False where there are none that a model could write. `*next`: the text to go on
/// with, where something else of the kernel is refused then; else NULL.
bool ask_region(Ask *ask, const char *kernel, int line, const char *text, const char **next);
/// Whether the phase is wanted.
bool ask_wants(const Ask *ask, const char *phase);
/// From now on the settings of this phase hold.
void ask_use_settings(Ask *ask, const char *phase);
/// The phases behind the first, for each forward kernel that was named. A failure is said, and noted in `ask`.
void ask_phases(Ask *ask);

#endif
