// Files that a document imports are read while nobody waits, so that the first hover over what they define finds them. What is
// read is what semantic tokens ask for: every name that kernels use, and every import.
#ifndef TAD_SERVER_QUEUES_AHEAD_H
#define TAD_SERVER_QUEUES_AHEAD_H

#include "server/session/session.h"

/// The documents' imports are read ahead: soon, or after a pause. On the loop's thread.
void ahead_watch(Server *server, Document *document, ReadingAhead when);

#endif
