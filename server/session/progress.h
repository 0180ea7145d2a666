// What a client may watch: progress of long work, and a trace of messages. On the loop's thread.
#ifndef TAD_SERVER_SESSION_PROGRESS_H
#define TAD_SERVER_SESSION_PROGRESS_H

#include "server/session/client.h"

/// A token of our own. Nothing happens where the client has no such progress.
Progress progress_new(Arena *arena, const char *token);
/// The `workDoneToken` of a request's params.
Progress progress_of_params(const Json *params);
bool progress_has(Progress progress, const Json *token);
void progress_begin(Server *server, Progress progress, const char *title);
void progress_report(Server *server, Progress progress, const char *text, double percentage);
void progress_end(Server *server, Progress progress, const char *text);
/// What a request's progress is called.
const char *progress_title(const Request *request);
/// `$/logTrace`, as far as the client asked for it by `trace` and `$/setTrace`. `content` is told to those who want all of it.
void trace_message(Server *server, const char *direction, const char *method, const Json *id,
                   const Json *content);
/// The answer to a request is on its way.
void trace_answer(const Request *request);

#endif
