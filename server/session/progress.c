// What a client may watch: progress of long work, and a trace of messages. On the loop's thread.
#include "server/session/progress.h"

#include <math.h>
#include <string.h>

#include "server/session/client.h"
#include "server/session/send.h"

// --- Progress

Progress progress_new(Arena *arena, const char *token) {
    return (Progress){json_string(arena, token), false};
}

static bool is_token(const Json *token) {
    return token && (token->kind == JSON_STRING || token->kind == JSON_NUMBER);
}

Progress progress_of_params(const Json *params) {
    const Json *token = json_get(params, "workDoneToken");
    return (Progress){is_token(token) ? token : NULL, true};
}

bool progress_has(Progress progress, const Json *token) {
    if (!progress.token || !is_token(token) || token->kind != progress.token->kind) return false;
    return token->kind == JSON_STRING ? str_equal(token->string, progress.token->string)
                                      : fabs(token->number - progress.token->number) < 0.5;
}

static bool is_watched(const Server *server, Progress progress) {
    return progress.token && (progress.is_clients || server->client.work_done_progress);
}

static Json *token_params(Arena *arena, Progress progress) {
    Json *params = json_object(arena);
    json_set(params, "token", json_copy(arena, progress.token));
    return params;
}

void progress_begin(Server *server, Progress progress, const char *title) {
    if (!is_watched(server, progress)) return;
    Arena *arena = arena_new();
    if (!progress.is_clients)
        client_request(server, "window/workDoneProgress/create", token_params(arena, progress),
                       NULL, NULL);
    Json *params = token_params(arena, progress), *value = json_object(arena);
    json_set_string(value, "kind", "begin");
    json_set_string(value, "title", title);
    json_set_bool(value, "cancellable", true);
    json_set_number(value, "percentage", 0);
    json_set(params, "value", value);
    server_notify(server, "$/progress", params);
    arena_free(arena);
}

void progress_report(Server *server, Progress progress, const char *text, double percentage) {
    if (!is_watched(server, progress)) return;
    Arena *arena = arena_new();
    Json *params = token_params(arena, progress), *value = json_object(arena);
    json_set_string(value, "kind", "report");
    json_set_string(value, "message", text);
    json_set_bool(value, "cancellable", true);
    json_set_number(value, "percentage", (double)(int)percentage);
    json_set(params, "value", value);
    server_notify(server, "$/progress", params);
    arena_free(arena);
}

void progress_end(Server *server, Progress progress, const char *text) {
    if (!is_watched(server, progress)) return;
    Arena *arena = arena_new();
    Json *params = token_params(arena, progress), *value = json_object(arena);
    json_set_string(value, "kind", "end");
    if (text) json_set_string(value, "message", text);
    json_set(params, "value", value);
    server_notify(server, "$/progress", params);
    arena_free(arena);
}

/// A command's, "" for none.
static const char *command_title(const char *name) {
    static const struct {
        const char *name, *title;
    } titles[] = {
#define SERVER_COMMAND(id, name, queue, handler, title) {name, title},
#include "server/session/commands.def"
#undef SERVER_COMMAND
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].name, name) == 0) return titles[i].title;
    return "";
}

const char *progress_title(const Request *request) {
    static const struct {
        MethodId method;
        const char *title;
    } titles[] = {
        {METHOD_REFERENCES, "Finding uses"},
        {METHOD_RENAME, "Renaming"},
        {METHOD_PREPARE_CALLS, "Finding calls"},
        {METHOD_CALLS_INTO, "Finding calls"},
        {METHOD_CALLS_FROM, "Finding calls"},
        {METHOD_CODE_ACTION, "Finding fixes"},
        {METHOD_CODE_ACTION_RESOLVE, "Making the edit"},
        {METHOD_WORKSPACE_SYMBOL, "Finding symbols"},
        {METHOD_WORKSPACE_DIAGNOSTIC, "Checking the workspace"},
    };
    if (request->method == &method_rows[METHOD_EXECUTE_COMMAND])
        return command_title(json_get_string(request->params, "command", ""));
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (request->method == &method_rows[titles[i].method]) return titles[i].title;
    return "Working";
}

// --- Trace

enum { TRACE_OFF, TRACE_MESSAGES, TRACE_VERBOSE };

static const char *id_text(Arena *arena, const Json *id) {
    return id ? arena_printf(arena, " (%s)", json_print(arena, id, false)) : "";
}

static void trace_send(Server *server, Arena *arena, const char *text, const Json *content) {
    enum { LONGEST = 8000 };
    Json *params = json_object(arena);
    json_set_string(params, "message", text);
    if (server->trace == TRACE_VERBOSE && content) {
        Str all = str_from(json_print(arena, content, false));
        size_t size = all.size > LONGEST ? LONGEST : all.size;
        while (size < all.size && ((unsigned char)all.data[size] & 0xC0) == 0x80) size--;
        json_set_string(
            params, "verbose",
            arena_printf(arena, "%.*s%s", (int)size, all.data, size < all.size ? "..." : ""));
    }
    server_notify(server, "$/logTrace", params);
}

void trace_message(Server *server, const char *direction, const char *method, const Json *id,
                   const Json *content) {
    if (server->trace == TRACE_OFF || strcmp(method, "$/logTrace") == 0) return;
    Arena *arena = arena_new();
    trace_send(server, arena, arena_printf(arena, "%s %s%s", direction, method, id_text(arena, id)),
               content);
    arena_free(arena);
}

void trace_answer(const Request *request) {
    Server *server = request->server;
    if (server->trace == TRACE_OFF || !request->method) return;
    Arena *arena = arena_new();
    double milliseconds = (double)(clock_ns() - request->started_ns) / 1e6;
    const char *failed =
        request->error_code ? arena_printf(arena, " failed: %s", request->error) : "";
    trace_send(server, arena,
               arena_printf(arena, "answered %s%s in %.1f ms%s", request->method->name,
                            id_text(arena, request->id), milliseconds, failed),
               request->result);
    arena_free(arena);
}
