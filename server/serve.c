// `tad-lsp` as a language server: opens the stream, starts the lanes, runs until the client is gone; watched by a supervisor.
#include <stdio.h>

#include "server/client.h"
#include "server/gradients.h"
#include "server/slow_lane.h"
#include "server/supervise.h"
#include "server/timings.h"
#include "server/workspace.h"

/// Deep syntax and regions are walked by recursion.
enum { LANE_STACK_BYTES = 64 * 1024 * 1024, LAST_WRITES_MS = 1000 };

static void stream_data(void *context, const char *data, size_t size) {
    dispatch_bytes(context, data, size);
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
    if (why && !server->is_ending) say("the client is gone: %s", why);
    server->is_ending = true;
    loop_stop(server->loop);
}

static void last_writes_late(void *context) { loop_stop(((Server *)context)->loop); }

void server_end(Server *server) {
    if (server->is_ending) return;
    server->is_ending = true;
    if (stream_backlog(server->stream) == 0)
        loop_stop(server->loop);
    else
        timer_start(server->loop, LAST_WRITES_MS, 0, last_writes_late, server);
}

/// To the supervisor, or without one to the client.
static Error open_stream(Server *server, const Options *options) {
    StreamEvents events = {stream_data, stream_drained, stream_is_gone, server};
    if (server->blackbox)
        return stream_open_stdio(server->loop, server->arena, &events, &server->stream);
    return stream_open_client(server->loop, server->arena, options, &events, &server->stream);
}

static void close_documents(Server *server) {
    for (int i = 0; i < server->documents.by_uri.count; i++) {
        Document *document = server->documents.by_uri.entries[i].value;
        if (!document) continue;
        lane_document_release(document->lane);
        documents_close(&server->documents, document);
    }
}

static int serve(Server *server) {
    loop_run(server->loop);
    server->is_ending = true;
    atomic_store(&server->is_closing, true);
    for (int lane = LANE_FAST; lane < LANE_COUNT; lane++) worker_end(server->workers[lane]);
    gradients_end(server->gradients);
    timings_end(server->timings);
    client_forget_all(server);
    close_documents(server);
    return server->state == SERVER_SHUT_DOWN && server->saw_exit ? STATUS_CLEAN : 1;
}

static int serve_client(const Options *options, Blackbox *box) {
    Arena *arena = arena_new();
    Server *server = ARENA_NEW(arena, Server);
    server->arena = arena;
    server->blackbox = box;
    blackbox_watch(box);
    // No answer to an earlier server is taken for one to this.
    server->last_outgoing = 1000000 * blackbox_generation(box);
    server->loop = loop_new();
    server->documents = documents_new(arena);
    server->reader = frame_reader_new();
    server->overlay = overlay_new();
    server->index = workspace_index_new();
    server->lane = fast_lane_new(arena, server->overlay, box);
    Error complaint;
    server->configuration = configuration_new(NULL, NULL, arena, &complaint);
    server->is_trusted = true;
    for (int lane = LANE_FAST; lane < LANE_COUNT; lane++) {
        server->workers[lane] = worker_new(server->loop, LANE_STACK_BYTES);
        if (lane != LANE_FAST) server->slow_lanes[lane] = slow_lane_new(arena);
    }
    server->gradients = gradients_new(server);
    server->timings = timings_new(server);
    server_watch_client(server, options->client_process);
    Error error = open_stream(server, options);
    if (error) {
        say("%s", error);
        server->is_ending = true;
    }
    int status = error ? STATUS_TROUBLE : serve(server);
    gradients_free(server->gradients);
    timings_free(server->timings);
    fast_lane_free(server->lane);
    for (int lane = LANE_SLOW; lane < LANE_COUNT; lane++) slow_lane_free(server->slow_lanes[lane]);
    workspace_index_free(server->index);
    overlay_free(server->overlay);
    configuration_release(server->configuration);
    frame_reader_free(&server->reader);
    loop_free(server->loop);
    arena_free(arena);
    blackbox_end(box);
    return status;
}

int command_serve(const Options *options) { return supervise(options, serve_client); }
