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

/// Work-done progress that the server starts; nothing happens where the client has none.
void progress_begin(Server *server, const char *token, const char *title);
void progress_report(Server *server, const char *token, const char *text, double percentage);
void progress_end(Server *server, const char *token, const char *text);

#endif
