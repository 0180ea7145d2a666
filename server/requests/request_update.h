// "Generate backward" where there is one already: what a hand has edited in the module stays.
#ifndef TAD_SERVER_REQUESTS_REQUEST_UPDATE_H
#define TAD_SERVER_REQUESTS_REQUEST_UPDATE_H

#include "codeactions/codeactions.h"
#include "server/session/session.h"

/// What became of a module that was there. All zero where there was none.
typedef struct UpdateNews {
    int first_change;    // line from 1; 0: nothing changed
    int first_conflict;  // line from 1; 0: no conflict
    int conflicts, kept;
    const char *words;  // what to tell the user; NULL: nothing
} UpdateNews;

/// The edit that gives the kernel its backward: below it, in a new module, or in the one that is there, merged. On the slow queue.
ActionEdit backward_edit(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                         bool is_below, UpdateNews *news);
/// Puts the news into a preview.
void update_json(Request *request, Json *json, const UpdateNews *news);

#endif
