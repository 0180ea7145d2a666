// `tad-lsp` as a language server: opens the stream, starts the lanes, runs until the client is gone.
#include <stdio.h>

#include "server/client.h"
#include "server/gradients.h"
#include "server/slow_lane.h"
#include "server/timings.h"
#include "server/workspace.h"

/// Deep syntax and regions are walked by recursion.
enum { LANE_STACK_BYTES = 64 * 1024 * 1024, LAST_WRITES_MS = 1000 };

static void stream_data(void *context, const char *data, size_t size) {
    Server *server = context;
    if (server->record) {
        fwrite(data, 1, size, server->record);
        fflush(server->record);
    }
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

static Error open_stream(Server *server, const Options *options) {
    StreamEvents events = {stream_data, stream_drained, stream_is_gone, server};
    if (options->pipe)
        server->stream = stream_connect_pipe(server->loop, options->pipe, &events);
    else if (options->socket)
        server->stream = stream_connect_port(server->loop, options->socket, &events);
    else
        return stream_open_stdio(server->loop, server->arena, &events, &server->stream);
    return NULL;
}

static Error open_record(Server *server, const char *path) {
    if (!path) return NULL;
    server->record = fopen(path, "wb");
    return server->record ? NULL : arena_printf(server->arena, "%s cannot be written", path);
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

int command_serve(const Options *options) {
    Arena *arena = arena_new();
    Server *server = ARENA_NEW(arena, Server);
    server->arena = arena;
    server->loop = loop_new();
    server->documents = documents_new(arena);
    server->reader = frame_reader_new();
    server->overlay = overlay_new();
    server->index = workspace_index_new();
    server->lane = fast_lane_new(arena, server->overlay);
    Error complaint;
    server->configuration = configuration_new(NULL, NULL, arena, &complaint);
    server->is_trusted = true;
    for (int lane = LANE_FAST; lane < LANE_COUNT; lane++) {
        server->workers[lane] = worker_new(server->loop, LANE_STACK_BYTES);
        if (lane != LANE_FAST) server->slow_lanes[lane] = slow_lane_new(arena);
    }
    server->gradients = gradients_new(server);
    server->timings = timings_new(server);
    if (stdin_is_terminal() && !options->pipe && !options->socket)
        say("waiting for an editor on stdin (`tad-lsp --help` lists the other uses)");
    server_watch_client(server, options->client_process);
    Error error = open_record(server, options->record);
    if (!error) error = open_stream(server, options);
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
    if (server->record) fclose(server->record);
    loop_free(server->loop);
    arena_free(arena);
    return status;
}
