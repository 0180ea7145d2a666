// The fast lane's side: each document's snapshot follows its text; features work on it in the order in which they were asked.
#include "server/files.h"
#include "server/session.h"

struct FastLane {
    ImportResolver *resolver;
    int generation;  // counts resolvers: what was built with an older one is built anew
};

struct FastLane *fast_lane_new(Arena *arena) {
    struct FastLane *lane = ARENA_NEW(arena, struct FastLane);
    lane->resolver = import_resolver_new();
    return lane;
}

void fast_lane_free(struct FastLane *lane) { import_resolver_free(lane->resolver); }

LaneDocument *lane_document_new(const char *uri) {
    Arena *arena = arena_new();
    LaneDocument *document = ARENA_NEW(arena, LaneDocument);
    document->arena = arena;
    atomic_init(&document->count, 1);
    atomic_init(&document->newest, 0);
    document->uri = arena_strdup(arena, uri);
    document->path = path_of_uri(arena, uri);
    return document;
}

LaneDocument *lane_document_retain(LaneDocument *document) {
    if (document) atomic_fetch_add(&document->count, 1);
    return document;
}

void lane_document_release(LaneDocument *document) {
    if (!document || atomic_fetch_sub(&document->count, 1) > 1) return;
    snapshot_release(document->snapshot);
    text_release(document->text);
    arena_free(document->arena);
}

static void document_build(struct FastLane *lane, LaneDocument *document, Text *text) {
    SnapshotOptions options = {.resolver = import_resolver_interface(lane->resolver)};
    Snapshot *old = document->snapshot;
    bool is_current = old && document->generation == lane->generation;
    document->snapshot = is_current ? snapshot_update(old, text->text, &options)
                                    : snapshot_build(document->path, text->text, &options);
    document->generation = lane->generation;
    snapshot_release(old);
}

/// Brings the document's snapshot to `text`. A fault of ours leaves it without one, until the next text.
static void document_follow(struct FastLane *lane, LaneDocument *document, Text *text) {
    if (document->text == text && document->generation == lane->generation) return;
    text_release(document->text);
    document->text = text_retain(text);
    document->failure = NULL;
    BugGuard guard;
    if (text->text.size > FILE_LARGEST_BYTES) {
        document->failure = "the file is over 10 MB";
    } else if (BUG_GUARD(&guard)) {
        document_build(lane, document, text);
        bug_guard_end(&guard);
        return;
    } else {
        document->failure = arena_printf(document->arena, "internal error: %s", guard.message);
    }
    snapshot_release(document->snapshot);
    document->snapshot = NULL;
}

const Snapshot *request_snapshot(Request *request) {
    LaneDocument *document = request->document;
    document_follow(request->server->lane, document, request->text);
    if (!document->snapshot)
        request_fail(request, ERROR_REQUEST_FAILED, "%s was not analysed: %s", document->uri,
                     document->failure);
    return document->snapshot;
}

bool request_offset(Request *request, uint32_t *offset) {
    LinePosition position;
    if (!position_read(json_get(request->params, "position"), &position)) {
        request_fail(request, ERROR_INVALID_PARAMS, "`position` has a line and a character");
        return false;
    }
    *offset = lines_offset(&request->text->lines, request->text->text,
                           request->server->client.encoding, position);
    return true;
}

bool request_range(Request *request, const Json *range, uint32_t *start, uint32_t *end) {
    LinePosition first, last;
    if (!position_read(json_get(range, "start"), &first) ||
        !position_read(json_get(range, "end"), &last)) {
        request_fail(request, ERROR_INVALID_PARAMS, "`range` has a start and an end");
        return false;
    }
    Encoding encoding = request->server->client.encoding;
    *start = lines_offset(&request->text->lines, request->text->text, encoding, first);
    *end = lines_offset(&request->text->lines, request->text->text, encoding, last);
    if (*end < *start) *end = *start;
    return true;
}

/// The range as two positions in the text that it is of.
static Json *range_in(Request *request, const Lines *lines, Str text, Range range) {
    Encoding encoding = request->server->client.encoding;
    uint32_t end = range.end < range.start ? range.start : range.end;
    return span_json(request->arena, lines_position(lines, text, encoding, range.start),
                     lines_position(lines, text, encoding, end));
}

Json *request_range_json(Request *request, const Snapshot *snapshot, Range range) {
    range = snapshot_range(snapshot, range);
    return range_in(request, &request->text->lines, request->text->text, range);
}

Json *location_json(Request *request, const Snapshot *snapshot, Range range) {
    Arena *arena = request->arena;
    Json *json = json_object(arena);
    range = snapshot_range(snapshot, range);
    if (!range.source || range.source == snapshot->source) {
        json_set_string(json, "uri", request->document->uri);
        json_set(json, "range",
                 range_in(request, &request->text->lines, request->text->text, range));
        return json;
    }
    Lines lines = lines_of(arena, range.source->text);
    json_set_string(json, "uri", uri_of_path(arena, range.source->path));
    json_set(json, "range", range_in(request, &lines, range.source->text, range));
    return json;
}
