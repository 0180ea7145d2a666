// Messages of the server: framed, traced, written.
#ifndef TAD_SERVER_SESSION_SEND_H
#define TAD_SERVER_SESSION_SEND_H

#include "server/session/session.h"

/// The answer to `id` without result or error yet; and the error of an answer.
Json *answer_new(Arena *arena, const Json *id);
Json *error_json(Arena *arena, int code, const char *text);
void server_send_error(Server *server, Arena *arena, const Json *id, int code, const char *text);
/// Writes a message to the client. On the loop's thread.
void server_send(Server *server, Arena *arena, const Json *message);
void server_notify(Server *server, const char *method, Json *params);
/// A notification as bytes, on any thread; written by the second, which is given the same method and params.
Str notification_frame(Arena *arena, const char *method, Json *params);
void server_notify_framed(Server *server, const char *method, const Json *params, Str framed);
/// window/logMessage (type: 1 error, 2 warning, 3 info, 4 log).
void server_log(Server *server, int type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Reads from the client, unless it does not take its answers or has asked for too much at once.
void server_balance(Server *server);

#endif
