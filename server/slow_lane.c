// One snapshot at a time: requests of these lanes come in runs for one file.
#include "server/slow_lane.h"

#include "server/fault.h"
#include "server/files.h"
#include "server/proof.h"

struct SlowLane {
    Text *text;
    int generation, listing;  // of the overlay
    ImportResolver *imports;
    Snapshot *snapshot;
};

struct SlowLane *slow_lane_new(Arena *arena) { return ARENA_NEW(arena, struct SlowLane); }

void slow_lane_free(struct SlowLane *lane) {
    snapshot_release(lane->snapshot);
    import_resolver_free(lane->imports);
    text_release(lane->text);
    *lane = (struct SlowLane){0};
}

static bool is_current(struct SlowLane *lane, const Overlay *overlay, const char *path) {
    int generation = overlay_generation(overlay);
    if (lane->generation == generation) return true;
    if (lane->listing != overlay_listing(overlay) || import_resolver_is_stale(lane->imports, path))
        return false;
    lane->generation = generation;
    return true;
}

const Snapshot *slow_snapshot(Request *request) {
    struct SlowLane *lane = request->slow;
    Overlay *overlay = request->server->overlay;
    const char *path = request->document->source_path;
    if (lane->snapshot && lane->text == request->text && is_current(lane, overlay, path))
        return lane->snapshot;
    slow_lane_free(lane);
    const char *refusal = blackbox_refusal(request->server->blackbox, (int)request->lane,
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
    lane->generation = overlay_generation(overlay);
    lane->listing = overlay_listing(overlay);
    lane->imports = import_resolver_new(overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(lane->imports)};
    lane->snapshot = snapshot_build(path, request->text->analysed, &options);
    lane->text = text_retain(request->text);
    return lane->snapshot;
}

Imports slow_imports(Request *request) {
    return import_resolver_closure(request->slow->imports, request->arena,
                                   request->document->source_path);
}

Json *slow_proof_params(Request *request, const Kernel *kernel, const Backward *backward,
                        const char *text, double limit_s) {
    Arena *arena = request->arena;
    Report report = {.arena = arena};
    const Settings *settings =
        settings_for(settings_cache_new(arena, &report), request->document->source_path);
    ProofFile file = {request->slow->snapshot->source, settings, slow_imports(request)};
    ProofPlan plan = proof_plan(arena, kernel, backward, text, settings);
    return proof_params(arena, &file, &plan, 0, limit_s);
}
