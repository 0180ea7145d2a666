// What we ask of the client. On the loop's thread.
#ifndef TAD_SERVER_SESSION_CLIENT_H
#define TAD_SERVER_SESSION_CLIENT_H

#include "server/session/session.h"

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
/// window/showMessage (type: 1 error, 2 warning, 3 info).
void client_show_message(Server *server, int type, const char *text);

/// Work-done progress: under a token that we make, or under that of a request, which the client shows for as long as it waits.
typedef struct Progress {
    const Json *token;  // NULL: nobody is told
    bool is_clients;
} Progress;

/// An answer of the client to a request of ours.
void server_take_answer(Server *server, const Json *id, const Json *message);

#endif
