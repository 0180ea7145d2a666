// Where the kernels of a backward are, and where their forward is: for lenses, `textDocument/implementation` and commands.
#ifndef TAD_SERVER_REQUESTS_REQUEST_PAIR_H
#define TAD_SERVER_REQUESTS_REQUEST_PAIR_H

#include "analysis/snapshot.h"
#include "server/queues/request.h"

/// Locations of the kernels that differentiate `forward`: in its file, else in the module beside it. Empty where there are none.
Json *pair_backwards(Request *request, const Snapshot *snapshot, const Kernel *forward);
/// The location of `forward`, a kernel of the request's file: in the file that this module was derived from, else here.
Json *pair_forward(Request *request, const Snapshot *snapshot, const Kernel *forward);
/// Has the client open the first location, where it can. On the loop.
void pair_show(Request *request, const Json *list);

#endif
