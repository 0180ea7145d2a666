// `tad-lsp` as a language server: opens the stream, starts the queues, runs until the client is gone; watched by a supervisor.

#include <stdio.h>
#include <unistd.h>

#include "server/crash/supervise.h"
#include "server/dispatch.h"
#include "server/gradients/asking.h"
#include "server/gradients/gradients.h"
#include "server/gradients/publish.h"
#include "server/gradients/timings.h"
#include "server/queues/fast_queue.h"
#include "server/queues/leave.h"
#include "server/queues/slow_queue.h"
#include "server/requests/request_session.h"
#include "server/requests/workspace.h"
#include "server/session/client.h"
#include "server/session/send.h"

/// Deep syntax and regions are walked by recursion.
enum { QUEUE_STACK_BYTES = 64 * 1024 * 1024 };

static void stream_data(void *context, const char *data, size_t size) {
    Server *server = context;
    ssize_t recorded = server->record < 0 ? 0 : write(server->record, data, size);
    if (recorded < 0) server->record = -1;
    dispatch_bytes(server, data, size);
}

static void stream_drained(void *context) {
    Server *server = context;
    if (server->is_ending)
        loop_stop(server->loop);
    else
        server_balance(server);
}

static void stream_is_gone(void *context, const char *why) {
    Server *server = context;
    enum { PATIENCE_MS = 5000 };
    if (why && !server->is_ending) say("the client is gone: %s", why);
    if (!why) {
        server_leave(server, PATIENCE_MS);
        return;
    }
    server_end(server);
    loop_stop(server->loop);
}

/// What is owed to the client, and what the client has told before, come before what it says now.
static void open_stream(Server *server, const Inheritance *inheritance) {
    StreamEvents events = {stream_data, stream_drained, stream_is_gone, server};
    const Connection *client = &inheritance->client;
    server->stream = stream_open(server->loop, server->arena, client->input, client->output,
                                 inheritance->journal, &events);
    stream_write(server->stream, inheritance->owed.data, inheritance->owed.size);
    server->is_retold = true;
    dispatch_bytes(server, inheritance->past.data, inheritance->past.size);
    server->is_retold = false;
    if (!server->is_paused) stream_resume(server->stream);
}

static void close_documents(Server *server) {
    for (int i = 0; i < server->documents.by_uri.count; i++) {
        Document *document = server->documents.by_uri.entries[i].value;
        if (!document) continue;
        queue_document_release(document->queue);
        documents_close(&server->documents, document);
    }
}

/// A queue that does not come to its end is not waited for: the process ends around it.
static void leave_stuck_queues(const Server *server, int status) {
    enum { LAST_JOBS_MS = 1000 };
    uint64_t until_ms = loop_now_ms(server->loop) + LAST_JOBS_MS;
    for (int queue = QUEUE_FAST; queue < QUEUE_COUNT; queue++) {
        if (worker_stop(server->workers[queue], until_ms)) continue;
        loop_kill_processes(server->loop);
        blackbox_end(server->blackbox);
        _exit(status);
    }
}

static int serve(Server *server) {
    loop_run(server->loop);
    server->is_ending = true;
    atomic_store(&server->is_closing, true);
    int status = server->state == SERVER_SHUT_DOWN && server->saw_exit ? STATUS_CLEAN : 1;
    leave_stuck_queues(server, status);
    workers_end(server->workers + QUEUE_FAST, QUEUE_COUNT - QUEUE_FAST);
    gradients_end(server->gradients);
    timings_end(server->timings);
    askings_end(server->askings);
    client_forget_all(server);
    close_documents(server);
    return status;
}

/// What the thread is given and gives back.
typedef struct Session {
    const Options *options;
    const Inheritance *inheritance;
    int status;
} Session;

/// Whichever knows the request lets go of it.
static void let_go(Server *server, const Request *request) {
    gradients_cancel_request(server, request);
    timings_cancel_request(server->timings, request);
    askings_cancel_request(server->askings, request);
}

static void serve_client(void *context) {
    Session *session = context;
    const Inheritance *inheritance = session->inheritance;
    Blackbox *box = inheritance->box;
    Arena *arena = arena_new();
    Server *server = ARENA_NEW(arena, Server);
    server->arena = arena;
    server->blackbox = box;
    server->record = inheritance->record;
    server->is_greeted = inheritance->is_greeted;
    blackbox_watch(box, inheritance->journal);
    // No answer to an earlier server is taken for one to this.
    server->last_outgoing = 1000000 * blackbox_generation(box);
    server->loop = loop_new();
    server->documents = documents_new(arena);
    server->reader = frame_reader_new();
    server->overlay = overlay_new();
    server->index = workspace_index_new();
    server->queue = fast_queue_new(arena, server->overlay, box);
    Error complaint;
    server->configuration = configuration_new(NULL, NULL, arena, &complaint);
    server->is_trusted = false;
    for (int queue = QUEUE_FAST; queue < QUEUE_COUNT; queue++) {
        server->workers[queue] = worker_new(server->loop, QUEUE_STACK_BYTES);
        if (queue != QUEUE_FAST) server->slow_queues[queue] = slow_queue_new(arena);
    }
    server->let_go = let_go;
    server->publish_held = publish_held;
    server->gradients = gradients_new(server);
    server->timings = timings_new(server);
    server->askings = askings_new(server);
    server_watch_client(server, session->options->client_process);
    open_stream(server, inheritance);
    session->status = serve(server);
    gradients_free(server->gradients);
    timings_free(server->timings);
    askings_free(server->askings);
    fast_queue_free(server->queue);
    for (int queue = QUEUE_SLOW; queue < QUEUE_COUNT; queue++)
        slow_queue_free(server->slow_queues[queue]);
    workspace_index_free(server->index);
    overlay_free(server->overlay);
    configuration_release(server->configuration);
    frame_reader_free(&server->reader);
    loop_free(server->loop);
    stream_close(server->stream);
    arena_free(arena);
    blackbox_end(box);
}

/// The loop's thread does work of the fast queue, too, and needs the same stack.
static int serve_on_thread(const Options *options, const Inheritance *inheritance) {
    Session session = {.options = options, .inheritance = inheritance, .status = STATUS_TROUBLE};
    thread_run(QUEUE_STACK_BYTES, serve_client, &session);
    return session.status;
}

int command_serve(const Options *options) { return supervise(options, serve_on_thread); }
