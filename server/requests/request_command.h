// workspace/executeCommand: the commands behind the lenses, the Testing view and the panels. Rows: commands.def.
#ifndef TAD_SERVER_REQUESTS_REQUEST_COMMAND_H
#define TAD_SERVER_REQUESTS_REQUEST_COMMAND_H

#include "server/queues/answer.h"
#include "server/session/client.h"

/// The commands of commands.def.
Json *command_names_json(Arena *arena);

/// docs/server.md: which elements the lanes of the access at `offset` touch; null where there is none. On the slow queue.
Json *access_json(Request *request, const Snapshot *snapshot, uint32_t offset);

#endif
