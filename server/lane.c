// The fast lane's side: each document's snapshot follows its text; features work on it in the order in which they were asked.
#include <stdio.h>

#include "analysis/module_scope.h"
#include "server/fault.h"
#include "server/files.h"
#include "server/notebook.h"
#include "server/session.h"

/// Modules that a resolver handed out live in the snapshots that were built with it.
typedef struct LaneResolver {
    Arena *arena;
    ImportResolver *imports;
    int users;    // documents, and the lane itself
    int listing;  // of the overlay when it was made
    int number;   // of all that were made, from 1
} LaneResolver;

/// A snapshot that is read on another lane: it and its modules live until that has ended.
typedef struct Held {
    LaneDocument *document;  // counted; NULL: nothing is held
    Snapshot *snapshot;
    LaneResolver *resolver;
    uint64_t imports;
} Held;

struct FastLane {
    Arena *arena;
    Overlay *overlay;
    const Blackbox *blackbox;
    LaneDocuments documents;  // the open ones
    LaneResolver *resolver;
    int resolver_count;
    Held ahead;
    Arena *settings_arena;
    Report report;  // of the settings: problems go to stderr
    SettingsCache *settings;
    int settings_generation;
};

static void resolver_release(LaneResolver *resolver) {
    if (!resolver || --resolver->users > 0) return;
    import_resolver_free(resolver->imports);
    arena_free(resolver->arena);
}

static LaneResolver *resolver_new(struct FastLane *lane) {
    Arena *arena = arena_new();
    Overlay *overlay = lane->overlay;
    LaneResolver *resolver = ARENA_NEW(arena, LaneResolver);
    *resolver = (LaneResolver){arena, import_resolver_new(overlay), 1, overlay_listing(overlay),
                               ++lane->resolver_count};
    return resolver;
}

static void settings_renew(struct FastLane *lane) {
    arena_free(lane->settings_arena);
    lane->settings_arena = arena_new();
    lane->report = (Report){.arena = lane->settings_arena};
    lane->settings = settings_cache_new(lane->settings_arena, &lane->report);
    lane->settings_generation++;
}

struct FastLane *fast_lane_new(Arena *arena, Overlay *overlay, const Blackbox *box) {
    struct FastLane *lane = ARENA_NEW(arena, struct FastLane);
    lane->arena = arena_new();  // its own: the main thread allocates from the session's
    lane->overlay = overlay;
    lane->blackbox = box;
    lane->resolver = resolver_new(lane);
    settings_renew(lane);
    return lane;
}

void fast_lane_let_go(struct FastLane *lane, bool is_read) {
    Held *held = &lane->ahead;
    if (is_read) {
        held->document->ahead_resolver = held->resolver->number;
        held->document->ahead_imports = held->imports;
    }
    snapshot_release(held->snapshot);
    resolver_release(held->resolver);
    lane_document_release(held->document);
    *held = (Held){0};
}

void fast_lane_free(struct FastLane *lane) {
    if (lane->ahead.document) fast_lane_let_go(lane, false);
    resolver_release(lane->resolver);
    arena_free(lane->settings_arena);
    arena_free(lane->arena);
}

void fast_lane_forget_settings(struct FastLane *lane) { settings_renew(lane); }

LaneDocument *lane_document_new(const char *uri) {
    Arena *arena = arena_new();
    LaneDocument *document = ARENA_NEW(arena, LaneDocument);
    document->arena = arena;
    atomic_init(&document->count, 1);
    atomic_init(&document->newest, 0);
    document->uri = arena_strdup(arena, uri);
    document->path = path_of_uri(arena, uri);
    document->source_path = uri_is_cell(uri) ? cell_path(arena, uri) : document->path;
    return document;
}

LaneDocument *lane_document_retain(LaneDocument *document) {
    if (document) atomic_fetch_add(&document->count, 1);
    return document;
}

void lane_document_release(LaneDocument *document) {
    if (!document || atomic_fetch_sub(&document->count, 1) > 1) return;
    snapshot_release(document->snapshot);
    resolver_release(document->resolver);
    text_release(document->text);
    token_memory_free(document->tokens);
    arena_free(document->arena);
}

bool lane_document_is_quick(const LaneDocument *document) {
    enum { QUICK_NS = 4000000 };
    return document->snapshot && document->analysis_ns < QUICK_NS;
}

/// Whether the document may keep what it imported.
static bool imports_are_current(const struct FastLane *lane, LaneDocument *document) {
    const LaneResolver *resolver = document->resolver;
    if (!resolver) return false;
    int generation = overlay_generation(lane->overlay);
    if (document->imports_generation == generation) return true;
    if (resolver->listing != overlay_listing(lane->overlay) ||
        import_resolver_is_stale(resolver->imports, document->source_path))
        return false;
    document->imports_generation = generation;
    return true;
}

/// The document's own while it may keep it, so that little is analysed anew; else the lane's, a fresh one if need be.
static LaneResolver *resolver_for(struct FastLane *lane, LaneDocument *document) {
    if (imports_are_current(lane, document)) return document->resolver;
    document->imports_generation = overlay_generation(lane->overlay);
    if (lane->resolver->listing != overlay_listing(lane->overlay) ||
        import_resolver_is_outdated(lane->resolver->imports)) {
        resolver_release(lane->resolver);
        lane->resolver = resolver_new(lane);
    }
    return lane->resolver;
}

static void document_build(struct FastLane *lane, LaneDocument *document, Text *text) {
    LaneResolver *resolver = resolver_for(lane, document), *old_resolver = document->resolver;
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver->imports)};
    Snapshot *old = document->snapshot;
    uint64_t started_ns = clock_ns();
    fault_provoke("fast", text->analysed);
    document->snapshot = old && old_resolver == resolver
                             ? snapshot_update(old, text->analysed, &options)
                             : snapshot_build(document->source_path, text->analysed, &options);
    document->analysis_ns = clock_ns() - started_ns;
    snapshot_release(old);
    resolver->users++;
    document->resolver = resolver;
    resolver_release(old_resolver);
}

/// Brings the document's snapshot to `text`. A fault of ours leaves it without one, until the next text.
static void document_follow(struct FastLane *lane, LaneDocument *document, Text *text) {
    if (document->text == text && imports_are_current(lane, document)) return;
    text_release(document->text);
    document->text = text_retain(text);
    BugGuard guard;
    const char *refusal = blackbox_refusal(lane->blackbox, LANE_FAST, document->uri, text->version);
    if (refusal) {
        snprintf(document->failure, sizeof document->failure, "%s", refusal);
    } else if (text->text.size > FILE_LARGEST_BYTES) {
        snprintf(document->failure, sizeof document->failure, "the file is over 10 MB");
    } else if (BUG_GUARD(&guard)) {
        document_build(lane, document, text);
        bug_guard_end(&guard);
        return;
    } else {
        snprintf(document->failure, sizeof document->failure, "internal error: %s", guard.message);
    }
    snapshot_release(document->snapshot);
    document->snapshot = NULL;
}

// --- Reading ahead

static uint64_t import_hash(const ScopeEntry *entry) {
    enum { FACTOR = 31 };
    return (map_hash(entry->dotted) * FACTOR + map_hash(entry->name)) * FACTOR +
           (uint64_t)entry->level;
}

/// What the module imports, as one number.
static uint64_t imports_of(const Module *module) {
    const ModuleScope *scope = module->scope;
    uint64_t sum = 0;
    for (int i = 0; i < scope->names.count; i++)
        for (const ScopeEntry *entry = scope->names.entries[i].value; entry; entry = entry->next)
            if (entry->kind == SCOPE_IMPORTED) sum += import_hash(entry);
    for (LIST_EACH(int, i, scope->stars)) sum += import_hash(&scope->stars.items[i]);
    return sum;
}

ReadingAhead lane_document_unread(const LaneDocument *document) {
    const Snapshot *snapshot = document->snapshot;
    if (!snapshot || (!snapshot->kernels.count && !snapshot->module->launches.count))
        return AHEAD_NEVER;
    if (!document->ahead_resolver) return AHEAD_NOW;
    bool is_read = document->ahead_resolver == document->resolver->number &&
                   document->ahead_imports == imports_of(snapshot->module);
    return is_read ? AHEAD_NEVER : AHEAD_LATER;
}

const Snapshot *fast_lane_hold(struct FastLane *lane, const Request *request) {
    LaneDocument *document = request->document;
    bool is_current = document->snapshot && document->text == request->text;
    if (lane->ahead.document || !is_current) return NULL;
    lane->ahead = (Held){lane_document_retain(document), snapshot_retain(document->snapshot),
                         document->resolver, imports_of(document->snapshot->module)};
    document->resolver->users++;
    return lane->ahead.snapshot;
}

void fast_lane_adopt(struct FastLane *lane, LaneDocument *document) {
    if (document->is_adopted) return;
    document->is_adopted = true;
    LIST_PUSH(lane->arena, &lane->documents, document);
}

static void document_leave(struct FastLane *lane, const LaneDocument *document) {
    int kept = 0;
    for (LIST_EACH(int, i, lane->documents))
        if (lane->documents.items[i] != document)
            lane->documents.items[kept++] = lane->documents.items[i];
    lane->documents.count = kept;
}

LaneDocuments fast_lane_stale(struct FastLane *lane, Arena *arena) {
    LaneDocuments stale = {0};
    for (LIST_EACH(int, i, lane->documents)) {
        LaneDocument *document = lane->documents.items[i];
        if (document->resolver && !imports_are_current(lane, document))
            LIST_PUSH(arena, &stale, document);
    }
    return stale;
}

static Json *close_work(Request *request) {
    LaneDocument *document = request->document;
    document_leave(request->server->lane, document);
    snapshot_release(document->snapshot);
    resolver_release(document->resolver);
    text_release(document->text);
    document->snapshot = NULL;
    document->resolver = NULL;
    document->text = NULL;
    return NULL;
}

void lane_document_close(Request *request) {
    request->work = close_work;
    request_start(request, LANE_FAST);
}

const Snapshot *request_snapshot(Request *request) {
    LaneDocument *document = request->document;
    document_follow(request->server->lane, document, request->text);
    if (!document->snapshot)
        request_fail(request, ERROR_REQUEST_FAILED, "%s was not analysed: %s", document->uri,
                     document->failure);
    return document->snapshot;
}

const Settings *request_settings(Request *request) {
    struct FastLane *lane = request->server->lane;
    LaneDocument *document = request->document;
    static const Settings none;
    if (!*document->source_path) return &none;
    if (document->settings_generation != lane->settings_generation)
        document->settings = settings_for(lane->settings, document->source_path);
    document->settings_generation = lane->settings_generation;
    return document->settings;
}

Options request_options(const Request *request) {
    const Configuration *configuration = request->configuration;
    return (Options){.select = configuration->select,
                     .ignore = configuration->ignore,
                     .quiet = !configuration->hints};
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
static void range_write(const Request *request, const Lines *lines, Str text, Range range,
                        Buffer *to) {
    Encoding encoding = request->server->client.encoding;
    uint32_t end = range.end < range.start ? range.start : range.end;
    span_write(to, lines_position(lines, text, encoding, range.start),
               lines_position(lines, text, encoding, end));
}

static Json *range_in(const Request *request, const Lines *lines, Str text, Range range) {
    Buffer json = buffer_new(request->arena);
    range_write(request, lines, text, range, &json);
    return json_text(&json);
}

Json *request_range_json(Request *request, const Snapshot *snapshot, Range range) {
    range = snapshot_range(snapshot, range);
    return range_in(request, &request->text->lines, request->text->text, range);
}

void request_range_write(const Request *request, const Snapshot *snapshot, Range range,
                         Buffer *text) {
    const Text *own = request->text;
    range_write(request, &own->lines, own->text, snapshot_range(snapshot, range), text);
}

const char *request_uri_of(Request *request, const char *path) {
    Arena *arena = request->arena;
    const char *uri = NULL;
    text_release(overlay_open_text(request->server->overlay, arena, path_real(arena, path), &uri));
    return uri ? uri : uri_of_path(arena, path);
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
    json_set_string(json, "uri", request_uri_of(request, range.source->path));
    json_set(json, "range", range_in(request, &lines, range.source->text, range));
    return json;
}
