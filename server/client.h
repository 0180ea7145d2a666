// What we ask of the client. On the loop's thread.
#ifndef TAD_SERVER_CLIENT_H
#define TAD_SERVER_CLIENT_H

#include "server/session.h"

/// `result` is NULL where the client refused or the session ended.
typedef void ClientAnswer(Server *server, void *context, const Json *result);

/// `params` and `answer` may be NULL.
void client_request(Server *server, const char *method, Json *params, ClientAnswer *answer,
                    void *context);
/// The session ends: nobody will answer.
void client_forget_all(Server *server);

/// Asks the client to ask again: for lenses; or for hints, tokens and pulled diagnostics too.
void client_refresh(Server *server, bool lenses, bool everything);
void client_register(Server *server);
void client_ask_configuration(Server *server);
/// window/showMessage (type: 1 error, 2 warning, 3 info).
void client_show_message(Server *server, int type, const char *text);

/// Work-done progress: under a token that we make, or under that of a request, which the client shows for as long as it waits.
typedef struct Progress {
    const Json *token;  // NULL: nobody is told
    bool is_clients;
} Progress;

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
/// A command's, "" for none.
const char *command_title(const char *name);

/// `$/logTrace`, as far as the client asked for it by `trace` and `$/setTrace`. `content` is told to those who want all of it.
void trace_message(Server *server, const char *direction, const char *method, const Json *id,
                   const Json *content);
/// The answer to a request is on its way.
void trace_answer(const Request *request);

#endif
