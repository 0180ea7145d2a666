// The life of a request: made, run on its queue, moved, held, answered exactly once, freed.
#ifndef TAD_SERVER_QUEUES_REQUEST_H
#define TAD_SERVER_QUEUES_REQUEST_H

#include "server/session/session.h"

/// Fails the request; the handler then returns NULL.
void request_fail(Request *request, ErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// A request that failed before it had a queue: answers and frees it.
void request_refuse(Request *request);
/// Under the client's token, which holds until the answer.
void request_begin_progress(Request *request);
/// What was put off until the bytes at hand are taken: runs it here, or posts it when it takes long.
void requests_run_quick(Server *server);
/// Runs `request` on its queue, or at once. Takes it over.
void request_start(Request *request, Queue queue);
Request *request_new(Server *server, Arena *arena);
/// The document, counted, and the text that the request is about; its settings with it.
void request_set_document(Request *request, QueueDocument *document, const Text *text);
/// A file that is not open is read from disk. False and a failed request where it cannot be.
bool request_bind_file(Request *request, const char *uri);
/// The version of the request's text, null for a file on disk.
Json *request_version_json(Request *request);
/// From a handler on the loop's thread or on a queue: goes on with `work` on another queue.
void request_move(Request *request, Queue queue, Handler *work);
/// From a handler on the loop's thread: will be answered by request_complete.
void request_hold(Request *request);
void request_complete(Request *request);
/// Answers RequestCancelled at once, whatever the queue is doing; what it comes to is thrown away.
void request_cancel(Request *request);
/// The client waits no longer, for the request whose progress has this token. False where there is none.
bool request_cancel_token(Server *server, const Json *token);
/// Lets go of a held request without an answer: the session ends.
void request_drop(Request *request);

#endif
