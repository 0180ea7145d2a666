// Bytes in; requests on their lanes; exactly one answer for each. Everything about methods is asked of the table.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/client.h"
#include "server/files.h"
#include "server/gradients.h"
#include "server/timings.h"

/// A client that does not read is not read from either.
enum { LARGEST_BACKLOG = 4 * 1024 * 1024, MOST_IN_FLIGHT = 1000 };
_Static_assert((int)LANE_COUNT == (int)BLACKBOX_LANES, "a note for each lane");

const MethodRow method_rows[METHOD_COUNT] = {
#define METHOD(id, name, kind, lane, subject, origin, handler, capability, value)                  \
    {name,      METHOD_##kind, LANE_##lane, SUBJECT_##subject, ORIGIN_##origin, handler,           \
     capability, value},
#include "server/methods.def"
#undef METHOD
};

// --- Out

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
    json_set_string(params, "message", text);
    server_notify(server, "window/logMessage", params);
    arena_free(arena);
}

static Json *error_json(Arena *arena, int code, const char *text) {
    Json *error = json_object(arena);
    json_set_number(error, "code", code);
    json_set_string(error, "message", text);
    return error;
}

static Json *id_json(Arena *arena, const Json *id) {
    if (!id || id->kind == JSON_NULL) return json_null(arena);
    return id->kind == JSON_STRING ? json_str(arena, id->string) : json_number(arena, id->number);
}

static Json *answer_new(Arena *arena, const Json *id) {
    Json *message = message_new(arena);
    json_set(message, "id", id_json(arena, id));
    return message;
}

static void send_error(Server *server, Arena *arena, const Json *id, int code, const char *text) {
    Json *message = answer_new(arena, id);
    json_set(message, "error", error_json(arena, code, text));
    server_send(server, arena, message);
}

// --- Requests

Request *request_new(Server *server, Arena *arena) {
    Request *request = ARENA_NEW(arena, Request);
    request->server = server;
    request->arena = arena;
    request->configuration = configuration_retain(server->configuration);
    atomic_init(&request->cancelled, false);
    return request;
}

void request_fail(Request *request, ErrorCode code, const char *format, ...) {
    if (request->error_code) return;
    va_list arguments;
    va_start(arguments, format);
    request->error = arena_vprintf(request->arena, format, arguments);
    va_end(arguments);
    request->error_code = code;
}

/// The answer as bytes, made where the result was made.
static void request_frame(Request *request) {
    if (!request->id) return;
    Json *message = answer_new(request->arena, request->id);
    if (request->error_code)
        json_set(message, "error", error_json(request->arena, request->error_code, request->error));
    else
        json_set(message, "result", request->result ? request->result : json_null(request->arena));
    request->framed = frame_write(request->arena, message);
}

static bool is_outdated(const Request *request) {
    return request->method && request->method->origin == ORIGIN_EDITOR && request->document &&
           request->text && atomic_load(&request->document->newest) != request->text->version;
}

/// Our own mistake is an InternalError for this request, and nothing else.
static void request_work(Request *request) {
    BugGuard guard;
    if (atomic_load(&request->cancelled)) {
        request_fail(request, ERROR_REQUEST_CANCELLED, "cancelled");
    } else if (is_outdated(request)) {
        request_fail(request, ERROR_CONTENT_MODIFIED, "the text has changed since");
    } else if (BUG_GUARD(&guard)) {
        Handler *handler = request->work ? request->work : request->method->handler;
        request->result = handler(request);
        bug_guard_end(&guard);
    } else {
        request_fail(request, ERROR_INTERNAL_ERROR, "internal error: %s", guard.message);
    }
    if (!request->finish && !request->is_moved) request_frame(request);
}

static void request_unlink(Request *request) {
    Request **link = &request->server->in_flight;
    while (*link && *link != request) link = &(*link)->next;
    if (!*link) return;
    *link = request->next;
    request->server->in_flight_count--;
}

static void request_free(Request *request) {
    lane_document_release(request->document);
    text_release(request->text);
    configuration_release(request->configuration);
    arena_free(request->arena);
}

/// Under the client's token, which holds until the answer.
static void request_begin_progress(Request *request) {
    Progress progress = progress_of_params(request->params);
    if (!progress.token || !request->id) return;
    request->has_progress = true;
    progress_begin(request->server, progress, progress_title(request));
}

static void request_end_progress(Request *request, const char *text) {
    if (request->has_progress)
        progress_end(request->server, progress_of_params(request->params), text);
    request->has_progress = false;
}

static void request_end(Request *request) {
    Server *server = request->server;
    request_unlink(request);
    if (request->finish) {
        request->finish(request);
        request_frame(request);
    }
    request_end_progress(request, NULL);
    bool is_known = server->is_greeted && request->method == &method_rows[METHOD_INITIALIZE];
    if (is_known) server->is_greeted = false;
    if (request->id && !request->is_answered && !is_known) {
        trace_answer(request);
        stream_write(server->stream, request->framed.data, request->framed.size);
    }
    server_balance(server);
    request_free(request);
    server_leave_on(server);
}

static void job_run(Job *job) {
    Request *request = (Request *)job;
    Blackbox *box = request->server->blackbox;
    blackbox_enter(box, (int)request->lane, request->document ? request->document->uri : NULL,
                   request->text ? request->text->version : VERSION_ON_DISK);
    request_work(request);
    blackbox_leave(box, (int)request->lane);
}

static void request_post(Request *request, Lane lane);

static void job_done(Job *job, bool has_run) {
    Request *request = (Request *)job;
    bool is_over = request->is_moved && atomic_load(&request->server->is_closing);
    if (!has_run || is_over) {
        request_drop(request);  // the lane that it would go on may be gone
    } else if (request->is_moved) {
        request->is_moved = false;
        request_unlink(request);
        request_post(request, request->moved_to);
    } else {
        request_end(request);
    }
}

static void request_track(Request *request) {
    request->next = request->server->in_flight;
    request->server->in_flight = request;
    request->server->in_flight_count++;
    server_balance(request->server);
}

void request_drop(Request *request) {
    request_unlink(request);
    request_free(request);
}

static void posted_done(Job *job, bool has_run) {
    const Request *request = (Request *)job;
    if (request->lane == LANE_FAST) request->server->posted_count--;
    job_done(job, has_run);
}

static void lane_post(Request *request) {
    Server *server = request->server;
    if (request->lane == LANE_FAST) server->posted_count++;
    request->job = (Job){.run = job_run, .done = posted_done};
    worker_post(server->workers[request->lane], &request->job);
}

/// Short work for an idle lane waits only until the bytes at hand are taken: to wake the lane's thread would cost more.
static bool is_quick(const Request *request) {
    const Server *server = request->server;
    return request->lane == LANE_FAST && server->is_taking && server->posted_count == 0 &&
           request->document && lane_document_is_quick(request->document);
}

/// The order of the fast lane's work stays what it is.
static void quick_post(Server *server) {
    for (LIST_EACH(int, i, server->quick)) lane_post(server->quick.items[i]);
    server->quick.count = 0;
}

/// What is short one by one may be long together: then the lane goes on, so that the client is heard.
static void quick_run(Server *server) {
    enum { LONGEST_NS = 10000000 };
    uint64_t started_ns = clock_ns();
    while (server->quick.count) {
        if (clock_ns() - started_ns > LONGEST_NS) {
            quick_post(server);
            return;
        }
        Request *first = server->quick.items[0];
        memmove(server->quick.items, server->quick.items + 1,
                sizeof first * (size_t)--server->quick.count);
        first->job = (Job){.run = job_run, .done = job_done};
        job_run(&first->job);
        job_done(&first->job, true);
    }
}

static void request_post(Request *request, Lane lane) {
    Server *server = request->server;
    request_track(request);
    request->slow = server->slow_lanes[lane];
    request->lane = lane;
    if (is_quick(request)) {
        LIST_PUSH(server->arena, &server->quick, request);
        return;
    }
    if (lane == LANE_FAST) quick_post(server);
    lane_post(request);
}

void request_start(Request *request, Lane lane) {
    if (lane != LANE_LOOP) {
        request_post(request, lane);
        return;
    }
    request_work(request);
    Lane next = request->moved_to;
    if (!request->is_moved) {
        request_end(request);
    } else if (next != LANE_LOOP) {
        request->is_moved = false;
        request_post(request, next);
    }
}

void request_move(Request *request, Lane lane, Handler *work) {
    request->work = work;
    request->is_moved = true;
    request->moved_to = lane;
}

void request_hold(Request *request) {
    request->is_moved = true;
    request_track(request);
}

void request_complete(Request *request) {
    request_frame(request);
    request_end(request);
}

static bool same_id(const Json *a, const Json *b) {
    if (!a || !b || a->kind != b->kind) return false;
    return a->kind == JSON_STRING ? str_equal(a->string, b->string)
                                  : !(a->number < b->number || a->number > b->number);
}

void request_cancel(Request *request) {
    Arena *arena = arena_new();
    Server *server = request->server;
    request->is_answered = true;
    atomic_store(&request->cancelled, true);
    request_end_progress(request, "cancelled");
    send_error(server, arena, request->id, ERROR_REQUEST_CANCELLED, "cancelled");
    arena_free(arena);
    // Whichever knows the request lets go of it.
    gradients_cancel_request(server, request);
    timings_cancel_request(server->timings, request);
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

bool request_cancel_token(Server *server, const Json *token) {
    for (Request *other = server->in_flight; other; other = other->next) {
        bool is_it = other->has_progress && !other->is_answered &&
                     progress_has(progress_of_params(other->params), token);
        if (!is_it) continue;
        request_cancel(other);
        return true;
    }
    return false;
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

void request_set_document(Request *request, LaneDocument *document, const Text *text) {
    request->document = lane_document_retain(document);
    request->text = text_retain(text);
    const Configuration *own = configuration_for(request->configuration, document->path);
    Configuration *held = configuration_retain(own);
    configuration_release(request->configuration);
    request->configuration = held;
}

bool request_bind_file(Request *request, const char *uri) {
    const Document *open = documents_find(&request->server->documents, uri);
    if (open) {
        request_set_document(request, open->lane, open->text);
        return true;
    }
    Str content;
    const char *path = path_of_uri(request->arena, uri);
    Error error = *path ? file_read(request->arena, path, &content) : "it is not open";
    if (error) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s: %s", uri, error);
        return false;
    }
    LaneDocument *document = lane_document_new(uri);
    Text *text = text_new(uri, content, VERSION_ON_DISK);
    request_set_document(request, document, text);
    lane_document_release(document);
    text_release(text);
    return true;
}

Json *request_version_json(Request *request) {
    int version = request->text->version;
    return version == VERSION_ON_DISK ? json_null(request->arena)
                                      : json_number(request->arena, version);
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
    request_set_document(request, document->lane, document->text);
    return true;
}

/// A request that failed before it had a lane.
static void request_refuse(Request *request) {
    request_frame(request);
    trace_answer(request);
    if (request->id)
        stream_write(request->server->stream, request->framed.data, request->framed.size);
    request_free(request);
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
        request_start(request, row->lane);
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
        send_error(server, arena, has_id ? id : NULL, ERROR_INVALID_REQUEST,
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
    send_error(server, arena, NULL, ERROR_PARSE_ERROR, error);
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
        send_error(server, arena, NULL, ERROR_PARSE_ERROR, error);
        arena_free(arena);
    }
}

void dispatch_bytes(Server *server, const char *data, size_t size) {
    frame_reader_add(&server->reader, data, size);
    server->is_taking = true;
    take_bodies(server);
    server->is_taking = false;
    quick_run(server);
}
