// Files that a document imports are read while nobody waits, so that the first hover over what they define finds them. What is
// read is what semantic tokens ask for: every name that kernels use, and every import.
#include "server/queues/ahead.h"

#include "features/features.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/session/session.h"

static Json *ahead_end(Request *request) {
    fast_queue_let_go(request->server->queue, request->context != NULL);
    return NULL;
}

static Json *ahead_read(Request *request) {
    const Snapshot *snapshot = request->context;
    request->context = NULL;
    request_move(request, QUEUE_FAST, ahead_end);  // also after a fault of ours
    bool is_newest = atomic_load(&request->document->newest) == request->text->version;
    if (!is_newest || atomic_load(&request->server->is_closing)) return NULL;
    semantic_tokens(request->arena, snapshot, 0, (uint32_t)snapshot->source->text.size);
    request->context = request;  // all is read
    return NULL;
}

static Json *ahead_begin(Request *request) {
    request->context = (void *)(uintptr_t)fast_queue_hold(request->server->queue, request);
    if (request->context)
        request_move(request, QUEUE_BACKGROUND, ahead_read);  // else it was closed, or changes
    return NULL;
}

static void ahead_next(Server *server);

static void ahead_finish(Request *request) {
    request->server->is_reading_ahead = false;
    ahead_next(request->server);
}

static void ahead_start(Server *server, const Document *document) {
    server->is_reading_ahead = true;
    Request *request = request_new(server, arena_new());
    request_set_document(request, document->queue, document->text);
    request->work = ahead_begin;
    request->finish = ahead_finish;
    request_start(request, QUEUE_FAST);
}

/// One document after the other.
static void ahead_next(Server *server) {
    for (int i = 0; i < server->documents.by_uri.count && !server->is_reading_ahead; i++) {
        Document *document = server->documents.by_uri.entries[i].value;
        if (!document || !document->is_unread) continue;
        document->is_unread = false;
        ahead_start(server, document);
    }
}

static void ahead_due(void *context) {
    Server *server = context;
    timer_stop(server->ahead_pause);
    server->ahead_pause = NULL;
    ahead_next(server);
}

void ahead_watch(Server *server, Document *document, ReadingAhead when) {
    enum { PAUSE_MS = 400 };
    if (when == AHEAD_NEVER || server->is_leaving) return;
    document->is_unread = true;
    timer_stop(server->ahead_pause);
    uint64_t pause_ms = when == AHEAD_NOW ? 0 : PAUSE_MS;
    server->ahead_pause = timer_start(server->loop, pause_ms, 0, ahead_due, server);
}
