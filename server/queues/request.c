// The life of a request: made, run on its queue, moved, held, answered exactly once, freed.
#include "server/queues/request.h"

#include "server/session/session.h"

#include <stdarg.h>
#include <string.h>

#include "analysis/ir/limits.h"
#include "base/budget.h"
#include "server/queues/fast_queue.h"
#include "server/queues/leave.h"
#include "server/session/client.h"
#include "server/session/progress.h"
#include "server/session/send.h"
#include "server/system/files.h"

_Static_assert((int)QUEUE_COUNT == (int)BLACKBOX_QUEUES, "a note for each queue");

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

static bool is_for_newest(const Request *request) {
    return request->is_for_newest || (request->method && request->method->origin == ORIGIN_EDITOR);
}

static bool is_outdated(const Request *request) {
    return is_for_newest(request) && request->document && request->text &&
           atomic_load(&request->document->newest) != request->text->version;
}

/// What is asked while a request is worked on. A scan puts each file in the place of the request's own document, so that is noted.
typedef struct WantedText {
    const Request *request;
    const QueueDocument *document;  // whose newest version has to be `version`; NULL: any will do
    int version;
} WantedText;

/// From any thread that works on the request.
static bool is_wanted(const void *context) {
    const WantedText *question = context;
    const Request *request = question->request;
    bool is_newest =
        !question->document || atomic_load(&question->document->newest) == question->version;
    return is_newest && !atomic_load(&request->cancelled) &&
           !atomic_load(&request->server->is_closing);
}

static WantedText wanted_text(const Request *request) {
    bool is_any = !is_for_newest(request) || !request->document || !request->text;
    return (WantedText){request, is_any ? NULL : request->document,
                        is_any ? 0 : request->text->version};
}

/// Work that ended in the middle, since its result was not wanted any longer.
static void fail_unwanted(Request *request) {
    if (!request->method) return;  // our own: nobody is to be told
    if (is_outdated(request) && !atomic_load(&request->cancelled))
        request_fail(request, ERROR_CONTENT_MODIFIED, "the text has changed since");
    else
        request_fail(request, ERROR_REQUEST_CANCELLED, "cancelled");
}

/// What somebody asked of a snapshot has steps of its own, so that the next request is served; our own work has those of what it does.
static Json *handle(Request *request) {
    Handler *handler = request->work ? request->work : request->method->handler;
    bool is_bounded = request->method && request->queue == QUEUE_FAST;
    if (!is_bounded) return handler(request);
    StepBudget budget;
    budget_start(&budget, REQUEST_MOST_STEPS);
    Json *result = handler(request);
    budget_stop(&budget);
    return result;
}

/// Our own mistake is an InternalError for this request, and nothing else.
static void request_work(Request *request) {
    BugGuard guard;
    WantedText question = wanted_text(request);
    if (atomic_load(&request->cancelled) || is_outdated(request)) {
        fail_unwanted(request);
    } else if (BUG_GUARD(&guard)) {
        wanted_set((Wanted){is_wanted, &question});
        request->result = handle(request);
        bug_guard_end(&guard);
    } else if (guard.cause == BUG_UNWANTED) {
        fail_unwanted(request);
    } else if (guard.cause == BUG_SPENT) {
        request_fail(request, ERROR_REQUEST_FAILED,
                     "%s takes more steps here than a request has; divide the file or the kernel",
                     request->method ? request->method->name : "this");
    } else {
        request_fail(request, ERROR_INTERNAL_ERROR, "internal error: %s", guard.message);
    }
    wanted_set((Wanted){0});
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
    queue_document_release(request->document);
    text_release(request->text);
    configuration_release(request->configuration);
    arena_free(request->arena);
}

/// Under the client's token, which holds until the answer.
void request_begin_progress(Request *request) {
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
    blackbox_enter(box, (int)request->queue, request->document ? request->document->uri : NULL,
                   request->text ? request->text->version : VERSION_ON_DISK);
    request_work(request);
    blackbox_leave(box, (int)request->queue);
}

static void request_post(Request *request, Queue queue);

static void job_done(Job *job, bool has_run) {
    Request *request = (Request *)job;
    bool is_over = request->is_moved && atomic_load(&request->server->is_closing);
    if (!has_run || is_over) {
        request_drop(request);  // the queue that it would go on may be gone
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
    if (request->queue == QUEUE_FAST) request->server->posted_count--;
    if (request->is_patient) request->server->patient_count--;
    if (request->is_patient && request->document) request->document->patient_count--;
    job_done(job, has_run);
}

/// What waits for a long analysis lets work on other documents pass. Behind it, all of the same document stays in order.
static bool must_be_patient(const Request *request) {
    const QueueDocument *document = request->document;
    if (request->queue != QUEUE_FAST) return false;
    if (!document) return request->server->patient_count > 0;  // it may be about any of them
    return (document->patient_count > 0 || queue_document_is_long(document));
}

static void queue_post(Request *request) {
    Server *server = request->server;
    if (request->queue == QUEUE_FAST) server->posted_count++;
    request->job = (Job){.run = job_run, .done = posted_done};
    request->is_patient = must_be_patient(request);
    if (!request->is_patient) {
        worker_post(server->workers[request->queue], &request->job);
        return;
    }
    server->patient_count++;
    if (request->document) request->document->patient_count++;
    worker_post_patient(server->workers[request->queue], &request->job);
}

/// Short work for an idle queue waits only until the bytes at hand are taken: to wake the queue's thread would cost more.
static bool is_quick(const Request *request) {
    const Server *server = request->server;
    return request->queue == QUEUE_FAST && server->is_taking && server->posted_count == 0 &&
           request->document && queue_document_is_quick(request->document);
}

/// The order of the fast queue's work stays what it is.
static void quick_post(Server *server) {
    for (LIST_EACH(int, i, server->quick)) queue_post(server->quick.items[i]);
    server->quick.count = 0;
}

/// What is short one by one may be long together: then the queue goes on, so that the client is heard.
void requests_run_quick(Server *server) {
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

static void request_post(Request *request, Queue queue) {
    Server *server = request->server;
    request_track(request);
    request->slow = server->slow_queues[queue];
    request->queue = queue;
    if (is_quick(request)) {
        LIST_PUSH(server->arena, &server->quick, request);
        return;
    }
    if (queue == QUEUE_FAST) quick_post(server);
    queue_post(request);
}

void request_start(Request *request, Queue queue) {
    if (queue != QUEUE_LOOP) {
        request_post(request, queue);
        return;
    }
    request_work(request);
    Queue next = request->moved_to;
    if (!request->is_moved) {
        request_end(request);
    } else if (next != QUEUE_LOOP) {
        request->is_moved = false;
        request_post(request, next);
    }
}

void request_move(Request *request, Queue queue, Handler *work) {
    request->work = work;
    request->is_moved = true;
    request->moved_to = queue;
}

void request_hold(Request *request) {
    request->is_moved = true;
    request_track(request);
}

void request_complete(Request *request) {
    request_frame(request);
    request_end(request);
}

void request_cancel(Request *request) {
    Arena *arena = arena_new();
    Server *server = request->server;
    request->is_answered = true;
    atomic_store(&request->cancelled, true);
    request_end_progress(request, "cancelled");
    server_send_error(server, arena, request->id, ERROR_REQUEST_CANCELLED, "cancelled");
    arena_free(arena);
    server->let_go(server, request);
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

void request_set_document(Request *request, QueueDocument *document, const Text *text) {
    request->document = queue_document_retain(document);
    request->text = text_retain(text);
    const Configuration *own = configuration_for(request->configuration, document->path);
    Configuration *held = configuration_retain(own);
    configuration_release(request->configuration);
    request->configuration = held;
}

bool request_bind_file(Request *request, const char *uri) {
    const Document *open = documents_find(&request->server->documents, uri);
    if (open) {
        request_set_document(request, open->queue, open->text);
        return true;
    }
    Str content;
    const char *path = path_of_uri(request->arena, uri);
    Error error = *path ? file_read(request->arena, path, &content) : "it is not open";
    if (error) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s: %s", uri, error);
        return false;
    }
    QueueDocument *document = queue_document_new(uri);
    Text *text = text_new(uri, content, VERSION_ON_DISK);
    request_set_document(request, document, text);
    queue_document_release(document);
    text_release(text);
    return true;
}

Json *request_version_json(Request *request) {
    int version = request->text->version;
    return version == VERSION_ON_DISK ? json_null(request->arena)
                                      : json_number(request->arena, version);
}

/// A request that failed before it had a queue.
void request_refuse(Request *request) {
    request_frame(request);
    trace_answer(request);
    if (request->id)
        stream_write(request->server->stream, request->framed.data, request->framed.size);
    request_free(request);
}
