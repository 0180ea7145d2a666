// One snapshot at a time: requests of these queues come in runs for one file.
#include "server/queues/slow_queue.h"

#include "server/proofs/proof.h"
#include "server/queues/request.h"
#include "server/system/fault.h"
#include "server/system/files.h"

struct SlowQueue {
    Text *text;
    int generation, listing;  // of the overlay
    ImportResolver *imports;
    Snapshot *snapshot;
};

struct SlowQueue *slow_queue_new(Arena *arena) { return ARENA_NEW(arena, struct SlowQueue); }

void slow_queue_free(struct SlowQueue *queue) {
    snapshot_release(queue->snapshot);
    import_resolver_free(queue->imports);
    text_release(queue->text);
    *queue = (struct SlowQueue){0};
}

static bool is_current(struct SlowQueue *queue, const Overlay *overlay, const char *path) {
    int generation = overlay_generation(overlay);
    if (queue->generation == generation) return true;
    if (queue->listing != overlay_listing(overlay) ||
        import_resolver_is_stale(queue->imports, path))
        return false;
    queue->generation = generation;
    return true;
}

const Snapshot *slow_snapshot(Request *request) {
    struct SlowQueue *queue = request->slow;
    Overlay *overlay = request->server->overlay;
    const char *path = request->document->source_path;
    if (queue->snapshot && queue->text == request->text && is_current(queue, overlay, path))
        return queue->snapshot;
    slow_queue_free(queue);
    const char *refusal = blackbox_refusal(request->server->blackbox, (int)request->queue,
                                           request->document->uri, request->text->version);
    if (refusal) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s was not analysed: %s",
                     request->document->uri, refusal);
        return NULL;
    }
    if (request->text->text.size > FILE_LARGEST_BYTES) {
        request_fail(request, ERROR_REQUEST_FAILED, "the file is over 10 MB");
        return NULL;
    }
    fault_provoke("slow", request->text->analysed);
    queue->generation = overlay_generation(overlay);
    queue->listing = overlay_listing(overlay);
    queue->imports = import_resolver_new(overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(queue->imports),
                               .card = slow_settings(request)->card};
    queue->snapshot = snapshot_build(path, request->text->analysed, &options);
    queue->text = text_retain(request->text);
    return queue->snapshot;
}

Imports slow_imports(Request *request) {
    return import_resolver_closure(request->slow->imports, request->arena,
                                   request->document->source_path);
}

const Settings *slow_settings(const Request *request) {
    Report report = {.arena = request->arena};
    return settings_for(settings_cache_new(request->arena, &report),
                        request->document->source_path);
}

Json *slow_proof_params(Request *request, const Snapshot *snapshot, Imports imports,
                        const Kernel *kernel, const Backward *backward, const char *text,
                        double limit_s) {
    Arena *arena = request->arena;
    const Settings *settings = slow_settings(request);
    ProofFile file = {snapshot->source, settings, imports};
    ProofPlan plan = proof_plan(arena, kernel, backward, text, settings);
    return proof_params(arena, &file, &plan, 0, limit_s);
}
