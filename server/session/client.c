// Our own requests to the client: configuration, registration, refreshes, edits, progress. On the loop's thread.
#include "server/session/client.h"
#include "base/escape.h"
#include "server/session/progress.h"
#include "server/session/send.h"

#include <string.h>

typedef struct Outgoing {
    Arena *arena;
    int id;
    ClientAnswer *answer;  // or NULL
    void *context;
    struct Outgoing *next;
} Outgoing;

void client_request(Server *server, const char *method, Json *params, ClientAnswer *answer,
                    void *context) {
    Arena *arena = arena_new();
    Outgoing *outgoing = ARENA_NEW(arena, Outgoing);
    *outgoing = (Outgoing){arena, ++server->last_outgoing, answer, context, server->outgoing};
    server->outgoing = outgoing;
    Json *message = json_object(arena);
    json_set_string(message, "jsonrpc", "2.0");
    json_set_number(message, "id", outgoing->id);
    json_set_string(message, "method", method);
    if (params) json_set(message, "params", params);
    trace_message(server, "sent", method, json_get(message, "id"), params);
    server_send(server, arena, message);
}

void server_take_answer(Server *server, const Json *id, const Json *message) {
    for (Outgoing **link = &server->outgoing; *link; link = &(*link)->next) {
        Outgoing *outgoing = *link;
        if (id->kind != JSON_NUMBER || (int)id->number != outgoing->id) continue;
        *link = outgoing->next;
        const Json *error = json_get(message, "error");
        if (error && error->kind == JSON_OBJECT)
            server_log(server, 2, "the client refused: %s",
                       json_get_string(error, "message", "no reason given"));
        if (outgoing->answer)
            outgoing->answer(server, outgoing->context,
                             error && error->kind == JSON_OBJECT ? NULL
                                                                 : json_get(message, "result"));
        arena_free(outgoing->arena);
        return;
    }
}

void client_forget_all(Server *server) {
    for (Outgoing *outgoing = server->outgoing, *next; outgoing; outgoing = next) {
        next = outgoing->next;
        if (outgoing->answer) outgoing->answer(server, outgoing->context, NULL);
        arena_free(outgoing->arena);
    }
    server->outgoing = NULL;
}

// --- Refreshes

void client_refresh(Server *server, bool lenses, bool everything) {
    const Client *client = &server->client;
    if (client->lens_refresh && lenses)
        client_request(server, "workspace/codeLens/refresh", NULL, NULL, NULL);
    if (!everything) return;
    if (client->hint_refresh)
        client_request(server, "workspace/inlayHint/refresh", NULL, NULL, NULL);
    if (client->token_refresh)
        client_request(server, "workspace/semanticTokens/refresh", NULL, NULL, NULL);
    if (client->diagnostic_refresh && client->pulls_diagnostics)
        client_request(server, "workspace/diagnostic/refresh", NULL, NULL, NULL);
}

// --- Registration and configuration

static Json *registration(Arena *arena, const char *method, Json *options) {
    Json *json = json_object(arena);
    json_set_string(json, "id", method);
    json_set_string(json, "method", method);
    if (options) json_set(json, "registerOptions", options);
    return json;
}

static Json *watchers(Arena *arena) {
    static const char *const globs[] = {"**/*.py", "**/pyproject.toml"};
    Json *options = json_object(arena), *list = json_array(arena);
    for (size_t i = 0; i < sizeof globs / sizeof *globs; i++) {
        Json *watcher = json_object(arena);
        json_set_string(watcher, "globPattern", globs[i]);
        json_push(list, watcher);
    }
    json_set(options, "watchers", list);
    return options;
}

void client_register(Server *server) {
    if (blackbox_generation(server->blackbox)) return;  // the client has it from the first server
    Arena *arena = arena_new();
    Json *params = json_object(arena), *list = json_array(arena);
    if (server->client.watched_files)
        json_push(list, registration(arena, "workspace/didChangeWatchedFiles", watchers(arena)));
    if (server->client.configuration_changes) {
        Json *options = json_object(arena);
        json_set_string(options, "section", "tad");
        json_push(list, registration(arena, "workspace/didChangeConfiguration", options));
    }
    json_set(params, "registrations", list);
    if (list->count) client_request(server, "client/registerCapability", params, NULL, NULL);
    arena_free(arena);
}

// --- Messages

void client_show_message(Server *server, int type, const char *text) {
    Arena *arena = arena_new();
    Json *params = json_object(arena);
    json_set_number(params, "type", type);
    json_set_string(params, "message", lines_visible(arena, text));
    server_notify(server, "window/showMessage", params);
    arena_free(arena);
}
