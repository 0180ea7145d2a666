// What a client has told a server and still waits for: enough to tell another server the same, and to answer what the first one
// cannot answer any more.
#ifndef TAD_SERVER_CRASH_RECOLLECTION_H
#define TAD_SERVER_CRASH_RECOLLECTION_H

#include "base/frames.h"
#include "server/text/documents.h"

typedef struct Recollection Recollection;

Recollection *recollection_new(void);
void recollection_free(Recollection *recollection);
/// A message of the client, or what is none.
void recollect_client(Recollection *recollection, const Json *message);
/// A message of the server, as it prints them.
void recollect_server(Recollection *recollection, Str body);
/// Whether the client has said that it ends.
bool recollection_is_over(const Recollection *recollection);

typedef void MessageSink(void *context, const Json *message);

/// To the client: answers to all that it waits for, and the end of all progress. Nothing is waited for any more but what is told
/// again.
void recollection_excuse(Recollection *recollection, MessageSink *client, void *context);
/// To another server: the session so far. Returns whether the client has the answer to `initialize`, which begins it.
bool recollection_replay(const Recollection *recollection, MessageSink *server, void *context);

#endif
