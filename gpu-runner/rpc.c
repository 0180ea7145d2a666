// The request loop. Requests are done one at a time in order; each has its own arena.
#include "gpu-runner/rpc.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/frames.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/prove/launch_plan.h"
#include "gpu-runner/prove/request.h"
#include "gpu-runner/run.h"
#include "gpu-runner/sandbox/sandbox.h"
#include "gpu-runner/triton/own_tiles.h"
#include "gpu-runner/triton/time.h"
#include "gpu-runner/verdict/gradcheck.h"

enum {
    RPC_PARSE = -32700,
    RPC_METHOD = -32601,
    RPC_FAILED = -32000,
    RPC_INTERNAL = -32603,
    RPC_CANCELLED = -32800
};

enum { STATUS_ABANDONED = 2 };

/// The next body, copied. False at the end of the input or, with `*error`, where it is malformed.
static bool body_read(int input, FrameReader *reader, Arena *arena, Str *body, Error *error) {
    static char chunk[64 * 1024];  // of the one thread that reads
    while (!frame_reader_next(reader, body, error)) {
        if (*error) return false;
        ssize_t size = read(input, chunk, sizeof chunk);
        if (size <= 0) return false;
        frame_reader_add(reader, chunk, (size_t)size);
    }
    *body = (Str){arena_strndup(arena, body->data, body->size), body->size};
    return true;
}

typedef struct RpcRequest {
    Arena *arena;  // freed when it is answered
    const Json *id;
    const char *method;
    const Json *params;
    bool is_cancelled;  // while it waited
    struct RpcRequest *next;
} RpcRequest;

typedef struct RpcServer {
    FILE *output;
    pthread_mutex_t lock;  // of the queue
    pthread_mutex_t writing;
    pthread_cond_t changed;
    RpcRequest *first, *last;
    RpcRequest *current;
    atomic_bool cancelled;  // the current request
    bool is_ending;
    atomic_bool has_ended;  // the worker thread
} RpcServer;

static void server_send(RpcServer *server, Arena *arena, const Json *message) {
    Str framed = frame_write(arena, message);
    pthread_mutex_lock(&server->writing);
    fwrite(framed.data, 1, framed.size, server->output);
    fflush(server->output);
    pthread_mutex_unlock(&server->writing);
}

static Json *message_new(Arena *arena) {
    Json *message = json_object(arena);
    json_set_string(message, "jsonrpc", "2.0");
    return message;
}

static void send_error(RpcServer *server, Arena *arena, const Json *id, int code,
                       const char *text) {
    Json *message = message_new(arena), *error = json_object(arena);
    json_set_number(error, "code", code);
    json_set_string(error, "message", text);
    if (id && id->kind == JSON_STRING)
        json_set(message, "id", json_str(arena, id->string));
    else
        json_set(message, "id", id ? json_number(arena, id->number) : json_null(arena));
    json_set(message, "error", error);
    server_send(server, arena, message);
}

static void send_result(RpcServer *server, Arena *arena, const Json *id, Json *result) {
    Json *message = message_new(arena);
    if (id->kind == JSON_STRING)
        json_set(message, "id", json_str(arena, id->string));
    else
        json_set(message, "id", json_number(arena, id->number));
    json_set(message, "result", result);
    server_send(server, arena, message);
}

static void send_progress(void *context, const char *kernel, int done, int of, const char *text) {
    RpcServer *server = context;
    Arena *arena = arena_new();
    Json *message = message_new(arena), *params = json_object(arena);
    json_set_string(message, "method", "progress");
    json_set_string(params, "kernel", kernel);
    json_set_number(params, "done", done);
    json_set_number(params, "of", of);
    json_set_string(params, "message", text);
    json_set(message, "params", params);
    server_send(server, arena, message);
    arena_free(arena);
}

/// What there is: {"version", "backends", "sandbox"}.
static Json *probe(Arena *arena) {
    Json *result = request_probe(arena);
    json_set(result, "sandbox", sandbox_json(arena));
    return result;
}

/// The plan; its launches in tiles of their own where the request names a GPU by its "card", or means this worker's by true.
static Json *plan_for_card(RpcServer *server, const RpcRequest *request, Error *error) {
    Arena *arena = request->arena;
    const Json *wish = json_get(request->params, "card");
    Json *plan = request_plan(arena, request->params, &server->cancelled, error);
    if (*error || !wish) return plan;
    TileCard card = {(int64_t)json_get_number(wish, "processors", 0),
                     (int64_t)json_get_number(wish, "shared_bytes", 0)};
    if (wish->kind == JSON_BOOL && device_is_wanted() && !device_missing(device_open()))
        card = device_card(device_open());
    return card.processors > 0 ? json_copy(arena, own_tiles_chosen(arena, plan, card)) : plan;
}

static Json *request_result(RpcServer *server, const RpcRequest *request, Error *error, int *code) {
    *code = RPC_FAILED;
    sandbox_grant_seconds(request_seconds(request->params));
    device_choose(json_get_int(request->params, "device", 0));
    if (strcmp(request->method, "gradcheck") == 0)
        return request_gradcheck(request->arena, request->params, &server->cancelled, send_progress,
                                 server, error);
    if (strcmp(request->method, "run") == 0)
        return request_run(request->arena, request->params, &server->cancelled, error);
    if (strcmp(request->method, "plan") == 0) return plan_for_card(server, request, error);
    if (strcmp(request->method, "time") == 0 && device_is_wanted())
        return request_time(request->arena, request->params, &server->cancelled, error);
    if (strcmp(request->method, "compile") == 0 && device_is_wanted())
        return request_compile(request->arena, request->params, &server->cancelled, error);
    if (strcmp(request->method, "probe") == 0) return probe(request->arena);
    if (strcmp(request->method, "shutdown") == 0) return json_null(request->arena);
    *code = RPC_METHOD;
    *error = arena_printf(request->arena, "the method `%s` is not known", request->method);
    return NULL;
}

static void request_answer(RpcServer *server, const RpcRequest *request) {
    BugGuard guard;
    if (request->is_cancelled) {
        send_error(server, request->arena, request->id, RPC_CANCELLED, "cancelled");
    } else if (BUG_GUARD(&guard)) {
        Error error = NULL;
        int code;
        Json *result = request_result(server, request, &error, &code);
        bug_guard_end(&guard);
        if (!request->id) return;
        if (result && !error)
            send_result(server, request->arena, request->id, result);
        else
            send_error(server, request->arena, request->id,
                       atomic_load(&server->cancelled) ? RPC_CANCELLED : code,
                       error ? error : "no result");
    } else if (request->id) {
        send_error(server, request->arena, request->id, RPC_INTERNAL, guard.message);
    }
}

/// Under the lock: until there is a request, or none will come. Who waits for long gives memory of the GPU back.
static void wait_for_request(RpcServer *server) {
    enum { REST_SECONDS = 2 };
    while (!server->first && !server->is_ending) {
        struct timespec until;
        if (!device_holds_spare()) {
            pthread_cond_wait(&server->changed, &server->lock);
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += REST_SECONDS;
        if (pthread_cond_timedwait(&server->changed, &server->lock, &until) == 0) continue;
        pthread_mutex_unlock(&server->lock);
        device_rest();
        pthread_mutex_lock(&server->lock);
    }
}

static void *work(void *context) {
    RpcServer *server = context;
    for (;;) {
        pthread_mutex_lock(&server->lock);
        wait_for_request(server);
        RpcRequest *request = server->first;
        if (request) server->first = request->next;
        if (!server->first) server->last = NULL;
        server->current = request;
        atomic_store(&server->cancelled, false);
        pthread_mutex_unlock(&server->lock);
        if (!request) {
            atomic_store(&server->has_ended, true);
            return NULL;
        }
        request_answer(server, request);
        pthread_mutex_lock(&server->lock);
        server->current = NULL;
        pthread_mutex_unlock(&server->lock);
        arena_free(request->arena);
    }
}

static void request_push(RpcServer *server, RpcRequest *request) {
    pthread_mutex_lock(&server->lock);
    if (server->last)
        server->last->next = request;
    else
        server->first = request;
    server->last = request;
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static bool same_id(const Json *a, const Json *b) {
    if (!a || !b || a->kind != b->kind) return false;
    return a->kind == JSON_STRING ? str_equal(a->string, b->string)
                                  : !(a->number < b->number || a->number > b->number);
}

/// {"id": n}: stops the request with that id, running or waiting.
static void request_cancel(RpcServer *server, const Json *id) {
    pthread_mutex_lock(&server->lock);
    if (server->current && same_id(server->current->id, id)) atomic_store(&server->cancelled, true);
    for (RpcRequest *request = server->first; request; request = request->next)
        if (same_id(request->id, id)) request->is_cancelled = true;
    pthread_mutex_unlock(&server->lock);
}

/// Takes one message; false when it was the last.
static bool message_take(RpcServer *server, Arena *arena, Str body) {
    Error error = NULL;
    Json *message = json_parse(arena, body, &error);
    const char *method = json_get_string(message, "method", NULL);
    if (error || !method) {
        send_error(server, arena, NULL, RPC_PARSE, error ? error : "a message without a method");
        arena_free(arena);
        return true;
    }
    if (strcmp(method, "cancel") == 0 || strcmp(method, "exit") == 0) {
        bool goes_on = strcmp(method, "cancel") == 0;
        request_cancel(server, json_get(json_get(message, "params"), "id"));
        if (goes_on && json_get(message, "id"))
            send_result(server, arena, json_get(message, "id"), json_null(arena));
        arena_free(arena);
        return goes_on;
    }
    RpcRequest *request = ARENA_NEW(arena, RpcRequest);
    *request = (RpcRequest){.arena = arena,
                            .id = json_get(message, "id"),
                            .method = method,
                            .params = json_get(message, "params")};
    bool last = strcmp(method, "shutdown") == 0;
    request_push(server, request);
    return !last;
}

/// Whether nobody reads the answers any more: who asked has died, and not only ended its requests.
static bool output_is_gone(FILE *output) {
    enum { PATIENCE_MS = 100 };  // the other end's files are closed one after the other
    struct pollfd file = {.fd = fileno(output)};
    return poll(&file, 1, PATIENCE_MS) > 0 && (file.revents & (POLLERR | POLLHUP));
}

static void server_abandon(RpcServer *server) {
    pthread_mutex_lock(&server->lock);
    atomic_store(&server->cancelled, true);
    for (RpcRequest *request = server->first; request; request = request->next)
        request->is_cancelled = true;
    pthread_mutex_unlock(&server->lock);
}

/// Lets the worker thread do what was asked, as long as somebody may read it; then it has a second to stop by itself.
static void server_finish(RpcServer *server) {
    enum { LAST_STEPS = 100, STEP_NS = 10 * 1000 * 1000 };
    pthread_mutex_lock(&server->lock);
    server->is_ending = true;
    pthread_cond_signal(&server->changed);
    pthread_mutex_unlock(&server->lock);
    while (!atomic_load(&server->has_ended) && !output_is_gone(server->output)) continue;
    server_abandon(server);
    for (int i = 0; i < LAST_STEPS && !atomic_load(&server->has_ended); i++)
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    if (!atomic_load(&server->has_ended)) _exit(STATUS_ABANDONED);
}

int rpc_serve(FILE *input, FILE *output) {
    RpcServer server = {.output = output};
    pthread_mutex_init(&server.lock, NULL);
    pthread_mutex_init(&server.writing, NULL);
    pthread_cond_init(&server.changed, NULL);
    atomic_init(&server.cancelled, false);
    atomic_init(&server.has_ended, false);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)64 << 20);  // deep syntax and regions
    pthread_t worker;
    if (pthread_create(&worker, &attributes, work, &server) != 0) {
        fprintf(stderr, "tad-runner: cannot start its worker thread\n");
        return 2;
    }
    Error error = NULL;
    FrameReader reader = frame_reader_new();
    for (bool goes_on = true; goes_on;) {
        Arena *arena = arena_new();
        Str body;
        goes_on = body_read(fileno(input), &reader, arena, &body, &error);
        if (!goes_on)
            arena_free(arena);
        else
            goes_on = message_take(&server, arena, body);
    }
    if (error) fprintf(stderr, "tad-runner: %s\n", error);
    frame_reader_free(&reader);
    server_finish(&server);
    pthread_join(worker, NULL);
    pthread_attr_destroy(&attributes);
    return error ? 2 : 0;
}
