// Bytes in; messages to their methods. Everything about methods is asked of the table.
#include "server/dispatch.h"

#include <math.h>
#include <string.h>

#include "server/queues/request.h"
#include "server/session/client.h"
#include "server/session/progress.h"
#include "server/session/send.h"

const MethodRow method_rows[METHOD_COUNT] = {
#define METHOD(id, name, kind, queue, subject, origin, handler, capability, value)                  \
    {name,      METHOD_##kind, QUEUE_##queue, SUBJECT_##subject, ORIGIN_##origin, handler,           \
     capability, value},
#include "server/session/methods.def"
#undef METHOD
};

// --- Cancelling

static bool same_id(const Json *a, const Json *b) {
    if (!a || !b || a->kind != b->kind) return false;
    return a->kind == JSON_STRING ? str_equal(a->string, b->string)
                                  : !(a->number < b->number || a->number > b->number);
}

Json *handle_cancel(Request *request) {
    const Json *id = json_get(request->params, "id");
    for (Request *other = request->server->in_flight; other; other = other->next) {
        if (other->is_answered || !same_id(other->id, id)) continue;
        request_cancel(other);
        return NULL;
    }
    return NULL;
}

// --- In

static const MethodRow *method_find(const char *name) {
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(method_rows[i].name, name) == 0) return &method_rows[i];
    return NULL;
}

/// What the session's state has against the method, or 0.
static int state_refuses(const Server *server, const MethodRow *row, const char **why) {
    bool initializes = row == &method_rows[METHOD_INITIALIZE];
    if (row == &method_rows[METHOD_EXIT]) return 0;
    if (server->state == SERVER_SHUT_DOWN) {
        *why = "the server was shut down";
        return ERROR_INVALID_REQUEST;
    }
    if (server->state == SERVER_NEW && !initializes) {
        *why = "the first request is `initialize`";
        return ERROR_SERVER_NOT_INITIALIZED;
    }
    if (server->state == SERVER_RUNNING && initializes) {
        *why = "the server is initialized already";
        return ERROR_INVALID_REQUEST;
    }
    return 0;
}

/// Where a document's URI stands in the params of the methods that have one.
static const char *params_uri(const Json *params) {
    const char *uri = json_get_string(json_get(params, "textDocument"), "uri", NULL);
    if (!uri) uri = json_get_string(json_get(params, "item"), "uri", NULL);
    if (!uri) uri = json_get_string(json_get(params, "data"), "uri", NULL);
    return uri ? uri : json_get_string(params, "uri", NULL);
}

static bool request_bind(Request *request) {
    const char *uri = params_uri(request->params);
    if (!uri) {
        request_fail(request, ERROR_INVALID_PARAMS, "`%s` names a document; the params do not",
                     request->method->name);
        return false;
    }
    if (request->method->subject == SUBJECT_FILE) return request_bind_file(request, uri);
    const Document *document = documents_find(&request->server->documents, uri);
    if (!document) {
        request_fail(request, ERROR_INVALID_PARAMS, "%s is not open", uri);
        return false;
    }
    request_set_document(request, document->queue, document->text);
    return true;
}

static void request_dispatch(Request *request, const char *name) {
    Server *server = request->server;
    const MethodRow *row = request->method = method_find(name);
    const char *why = NULL;
    static const MethodRow unknown = {.name = "", .kind = METHOD_REQUEST};
    int refusal = state_refuses(server, row ? row : &unknown, &why);
    bool is_request = request->id != NULL;
    if (refusal) {
        request_fail(request, (ErrorCode)refusal, "%s", why);
    } else if (!row) {
        request_fail(request, ERROR_METHOD_NOT_FOUND, "the method `%s` is not known", name);
    } else if (is_request != (row->kind == METHOD_REQUEST)) {
        request_fail(request, ERROR_INVALID_REQUEST, "`%s` is a %s", name,
                     is_request ? "notification and has no id" : "request and has an id");
    } else if (row->subject == SUBJECT_NOTHING || request_bind(request)) {
        request_begin_progress(request);
        request_start(request, row->queue);
        return;
    }
    request_refuse(request);
}

/// A number that is answered digit for digit, or a string.
static bool id_is_valid(const Json *id) {
    static const double largest_exact = 9007199254740992;  // 2^53
    if (!id || id->kind == JSON_STRING) return true;
    return id->kind == JSON_NUMBER && fabs(id->number) < largest_exact;
}

/// Takes over the arena that the message lives in.
static void message_take(Server *server, Arena *arena, const Json *message) {
    const Json *id = json_get(message, "id");
    const char *method = json_get_string(message, "method", NULL);
    if (message->kind != JSON_OBJECT || !id_is_valid(id) || (!method && !id)) {
        bool has_id = id_is_valid(id);
        server_send_error(server, arena, has_id ? id : NULL, ERROR_INVALID_REQUEST,
                          has_id ? "no message of JSON-RPC 2.0"
                                 : "an id is a string, or a number of at most 2^53");
        arena_free(arena);
        return;
    }
    if (!method) {
        server_take_answer(server, id, message);
        arena_free(arena);
        return;
    }
    Request *request = request_new(server, arena);
    request->id = id;
    request->params = json_get(message, "params");
    request->started_ns = clock_ns();
    trace_message(server, "received", method, id, request->params);
    request_dispatch(request, method);
}

static void take_body(Server *server, Str body) {
    Arena *arena = arena_new();
    Error error = NULL;
    const Json *message = frame_parse(&server->reader, arena, body, &error);
    if (message) {
        message_take(server, arena, message);
        return;
    }
    server_send_error(server, arena, NULL, ERROR_PARSE_ERROR, error);
    arena_free(arena);
}

static void take_bodies(Server *server) {
    while (!server->is_ending && !server->saw_exit) {
        Str body;
        Error error = NULL;
        if (frame_reader_next(&server->reader, &body, &error)) {
            take_body(server, body);
            continue;
        }
        if (!error) return;
        Arena *arena = arena_new();
        server_send_error(server, arena, NULL, ERROR_PARSE_ERROR, error);
        arena_free(arena);
    }
}

void dispatch_bytes(Server *server, const char *data, size_t size) {
    frame_reader_add(&server->reader, data, size);
    server->is_taking = true;
    take_bodies(server);
    server->is_taking = false;
    requests_run_quick(server);
}
