// Messages of the server: framed, traced, written.
#include "server/session/send.h"

#include "server/session/session.h"

#include <stdarg.h>

#include "base/escape.h"
#include "server/session/client.h"
#include "server/session/progress.h"

/// A client that does not read is not read from either.
enum { LARGEST_BACKLOG = 4 * 1024 * 1024, MOST_IN_FLIGHT = 1000 };

void server_balance(Server *server) {
    bool is_too_much = stream_backlog(server->stream) > LARGEST_BACKLOG ||
                       server->in_flight_count > MOST_IN_FLIGHT || server->saw_exit;
    if (is_too_much == server->is_paused) return;
    server->is_paused = is_too_much;
    if (is_too_much)
        stream_pause(server->stream);
    else
        stream_resume(server->stream);
}

static void send_framed(Server *server, Str framed) {
    stream_write(server->stream, framed.data, framed.size);
    server_balance(server);
}

void server_send(Server *server, Arena *arena, const Json *message) {
    send_framed(server, frame_write(arena, message));
}

static Json *message_new(Arena *arena) {
    Json *message = json_object(arena);
    json_set_string(message, "jsonrpc", "2.0");
    return message;
}

Str notification_frame(Arena *arena, const char *method, Json *params) {
    Json *message = message_new(arena);
    json_set_string(message, "method", method);
    json_set(message, "params", params);
    return frame_write(arena, message);
}

void server_notify_framed(Server *server, const char *method, const Json *params, Str framed) {
    trace_message(server, "sent", method, NULL, params);
    send_framed(server, framed);
}

void server_notify(Server *server, const char *method, Json *params) {
    server_notify_framed(server, method, params, notification_frame(params->arena, method, params));
}

void server_log(Server *server, int type, const char *format, ...) {
    Arena *arena = arena_new();
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    Json *params = json_object(arena);
    json_set_number(params, "type", type);
    json_set_string(params, "message", lines_visible(arena, text));
    server_notify(server, "window/logMessage", params);
    arena_free(arena);
}

Json *error_json(Arena *arena, int code, const char *text) {
    Json *error = json_object(arena);
    json_set_number(error, "code", code);
    json_set_string(error, "message", lines_visible(arena, text));
    return error;
}

static Json *id_json(Arena *arena, const Json *id) {
    if (!id || id->kind == JSON_NULL) return json_null(arena);
    return id->kind == JSON_STRING ? json_str(arena, id->string) : json_number(arena, id->number);
}

Json *answer_new(Arena *arena, const Json *id) {
    Json *message = message_new(arena);
    json_set(message, "id", id_json(arena, id));
    return message;
}

void server_send_error(Server *server, Arena *arena, const Json *id, int code, const char *text) {
    Json *message = answer_new(arena, id);
    json_set(message, "error", error_json(arena, code, text));
    server_send(server, arena, message);
}
