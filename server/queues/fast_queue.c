// The fast queue's side: each document's snapshot follows its text; features work on it in the order in which they were asked.
#include "server/queues/fast_queue.h"

#include <stdio.h>

#include "analysis/module/module_scope.h"
#include "base/budget.h"
#include "server/queues/request.h"
#include "server/session/session.h"
#include "server/session/token_memory.h"
#include "server/system/fault.h"
#include "server/system/files.h"
#include "server/text/notebook.h"

/// Of imports that are to be looked at again.
enum { NO_GENERATION = -1 };

/// Modules that a resolver handed out live in the snapshots that were built with it.
typedef struct QueueResolver {
    Arena *arena;
    ImportResolver *imports;
    int users;    // documents, and the queue itself
    int listing;  // of the overlay when it was made
    int number;   // of all that were made, from 1
} QueueResolver;

/// A snapshot that is read on another queue: it and its modules live until that has ended.
typedef struct Held {
    QueueDocument *document;  // counted; NULL: nothing is held
    Snapshot *snapshot;
    QueueResolver *resolver;
    uint64_t imports;
} Held;

struct FastQueue {
    Arena *arena;
    Overlay *overlay;
    const Blackbox *blackbox;
    QueueDocuments documents;  // the open ones
    QueueResolver *resolver;
    int resolver_count;
    Held ahead;
    Arena *settings_arena;
    Report report;  // of the settings: problems go to stderr
    SettingsCache *settings;
    int settings_generation;
};

static void resolver_release(QueueResolver *resolver) {
    if (!resolver || --resolver->users > 0) return;
    import_resolver_free(resolver->imports);
    arena_free(resolver->arena);
}

static QueueResolver *resolver_new(struct FastQueue *queue) {
    Arena *arena = arena_new();
    Overlay *overlay = queue->overlay;
    QueueResolver *resolver = ARENA_NEW(arena, QueueResolver);
    *resolver = (QueueResolver){arena, import_resolver_new(overlay), 1, overlay_listing(overlay),
                                ++queue->resolver_count};
    return resolver;
}

static void settings_renew(struct FastQueue *queue) {
    arena_free(queue->settings_arena);
    queue->settings_arena = arena_new();
    queue->report = (Report){.arena = queue->settings_arena};
    queue->settings = settings_cache_new(queue->settings_arena, &queue->report);
    queue->settings_generation++;
}

struct FastQueue *fast_queue_new(Arena *arena, Overlay *overlay, const Blackbox *box) {
    struct FastQueue *queue = ARENA_NEW(arena, struct FastQueue);
    queue->arena = arena_new();  // its own: the main thread allocates from the session's
    queue->overlay = overlay;
    queue->blackbox = box;
    queue->resolver = resolver_new(queue);
    settings_renew(queue);
    return queue;
}

void fast_queue_let_go(struct FastQueue *queue, bool is_read) {
    Held *held = &queue->ahead;
    if (is_read) {
        held->document->ahead_resolver = held->resolver->number;
        held->document->ahead_imports = held->imports;
    }
    snapshot_release(held->snapshot);
    resolver_release(held->resolver);
    queue_document_release(held->document);
    *held = (Held){0};
}

void fast_queue_free(struct FastQueue *queue) {
    if (queue->ahead.document) fast_queue_let_go(queue, false);
    resolver_release(queue->resolver);
    arena_free(queue->settings_arena);
    arena_free(queue->arena);
}

void fast_queue_forget_settings(struct FastQueue *queue) { settings_renew(queue); }

QueueDocument *queue_document_new(const char *uri) {
    Arena *arena = arena_new();
    QueueDocument *document = ARENA_NEW(arena, QueueDocument);
    document->arena = arena;
    atomic_init(&document->count, 1);
    atomic_init(&document->newest, 0);
    atomic_init(&document->analysis_ns, 0);
    document->uri = arena_strdup(arena, uri);
    document->path = path_of_uri(arena, uri);
    document->source_path = uri_is_cell(uri) ? cell_path(arena, uri) : document->path;
    return document;
}

QueueDocument *queue_document_retain(QueueDocument *document) {
    if (document) atomic_fetch_add(&document->count, 1);
    return document;
}

void queue_document_release(QueueDocument *document) {
    if (!document || atomic_fetch_sub(&document->count, 1) > 1) return;
    snapshot_release(document->snapshot);
    resolver_release(document->resolver);
    text_release(document->text);
    token_memory_free(document->tokens);
    arena_free(document->arena);
}

bool queue_document_is_quick(const QueueDocument *document) {
    enum { QUICK_NS = 4000000 };
    return document->snapshot && atomic_load(&document->analysis_ns) < QUICK_NS;
}

bool queue_document_is_long(const QueueDocument *document) {
    enum { LONG_NS = 20000000 };
    return atomic_load(&document->analysis_ns) >= LONG_NS;
}

/// Whether the document may keep what it imported.
static bool imports_are_current(const struct FastQueue *queue, QueueDocument *document) {
    const QueueResolver *resolver = document->resolver;
    if (!resolver) return false;
    int generation = overlay_generation(queue->overlay);
    if (document->imports_generation == generation) return true;
    if (resolver->listing != overlay_listing(queue->overlay) ||
        import_resolver_is_stale(resolver->imports, document->source_path))
        return false;
    document->imports_generation = generation;
    return true;
}

/// The document's own while it may keep it, so that little is analysed anew; else the queue's, a fresh one if need be.
static QueueResolver *resolver_for(struct FastQueue *queue, QueueDocument *document) {
    if (imports_are_current(queue, document)) return document->resolver;
    document->imports_generation = overlay_generation(queue->overlay);
    if (queue->resolver->listing != overlay_listing(queue->overlay) ||
        import_resolver_is_outdated(queue->resolver->imports)) {
        resolver_release(queue->resolver);
        queue->resolver = resolver_new(queue);
    }
    return queue->resolver;
}

static void note_time(QueueDocument *document, uint64_t started_ns) {
    atomic_store(&document->analysis_ns, clock_ns() - started_ns);
}

/// The folder's, read when it is asked for the first time.
static const Settings *settings_of(struct FastQueue *queue, QueueDocument *document) {
    static const Settings none;
    if (!*document->source_path) return &none;
    if (document->settings_generation != queue->settings_generation)
        document->settings = settings_for(queue->settings, document->source_path);
    document->settings_generation = queue->settings_generation;
    return document->settings;
}

static void document_build(struct FastQueue *queue, QueueDocument *document, Text *text,
                           bool tries) {
    QueueResolver *resolver = resolver_for(queue, document), *old_resolver = document->resolver;
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver->imports),
                               .skip_trials = !tries,
                               .card = settings_of(queue, document)->card};
    Snapshot *old = document->snapshot;
    uint64_t started_ns = clock_ns();
    fault_provoke("fast", text->analysed);
    bool is_update = old && old_resolver == resolver;
    document->snapshot = is_update
                             ? snapshot_update(old, text->analysed, &options)
                             : snapshot_build(document->source_path, text->analysed, &options);
    if (!tries) note_time(document, started_ns);
    snapshot_release(old);
    resolver->users++;
    document->resolver = resolver;
    resolver_release(old_resolver);
}

/// An analysis that was interrupted leaves what was known of the text before.
static void document_go_back(QueueDocument *document, Text *former, uint64_t started_ns) {
    text_release(document->text);
    document->text = former;
    document->imports_generation = NO_GENERATION;
    if (clock_ns() - started_ns > atomic_load(&document->analysis_ns))
        note_time(document, started_ns);
}

/// Brings the document's snapshot to `text`. A fault of ours leaves it without one, until the next text. `tries`: with launches tried.
static void document_follow(struct FastQueue *queue, QueueDocument *document, Text *text,
                            bool tries) {
    bool is_enough = !tries || !document->snapshot || !document->snapshot->lacks_trials;
    if (document->text == text && is_enough && imports_are_current(queue, document)) return;
    Text *former = document->text;
    document->text = text_retain(text);
    uint64_t started_ns = clock_ns();
    BugGuard guard;
    const char *refusal =
        blackbox_refusal(queue->blackbox, QUEUE_FAST, document->uri, text->version);
    if (refusal) {
        snprintf(document->failure, sizeof document->failure, "%s", refusal);
    } else if (text->text.size > FILE_LARGEST_BYTES) {
        snprintf(document->failure, sizeof document->failure, "the file is over 10 MB");
    } else if (BUG_GUARD(&guard)) {
        document_build(queue, document, text, tries);
        bug_guard_end(&guard);
        text_release(former);
        return;
    } else if (guard.cause == BUG_UNWANTED) {
        document_go_back(document, former, started_ns);
        bug_raise_again(&guard);
    } else {
        snprintf(document->failure, sizeof document->failure, "internal error: %s", guard.message);
    }
    text_release(former);
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

ReadingAhead queue_document_unread(const QueueDocument *document) {
    const Snapshot *snapshot = document->snapshot;
    if (!snapshot || (!snapshot->kernels.count && !snapshot->module->launches.count))
        return AHEAD_NEVER;
    if (!document->ahead_resolver) return AHEAD_NOW;
    bool is_read = document->ahead_resolver == document->resolver->number &&
                   document->ahead_imports == imports_of(snapshot->module);
    return is_read ? AHEAD_NEVER : AHEAD_LATER;
}

const Snapshot *fast_queue_hold(struct FastQueue *queue, const Request *request) {
    QueueDocument *document = request->document;
    bool is_current = document->snapshot && document->text == request->text;
    if (queue->ahead.document || !is_current) return NULL;
    queue->ahead = (Held){queue_document_retain(document), snapshot_retain(document->snapshot),
                          document->resolver, imports_of(document->snapshot->module)};
    document->resolver->users++;
    return queue->ahead.snapshot;
}

void fast_queue_adopt(struct FastQueue *queue, QueueDocument *document) {
    if (document->is_adopted) return;
    document->is_adopted = true;
    LIST_PUSH(queue->arena, &queue->documents, document);
}

static void document_leave(struct FastQueue *queue, const QueueDocument *document) {
    int kept = 0;
    for (LIST_EACH(int, i, queue->documents))
        if (queue->documents.items[i] != document)
            queue->documents.items[kept++] = queue->documents.items[i];
    queue->documents.count = kept;
}

QueueDocuments fast_queue_stale(struct FastQueue *queue, Arena *arena) {
    QueueDocuments stale = {0};
    for (LIST_EACH(int, i, queue->documents)) {
        QueueDocument *document = queue->documents.items[i];
        if (document->resolver && !imports_are_current(queue, document))
            LIST_PUSH(arena, &stale, document);
    }
    return stale;
}

static Json *close_work(Request *request) {
    QueueDocument *document = request->document;
    document_leave(request->server->queue, document);
    snapshot_release(document->snapshot);
    resolver_release(document->resolver);
    text_release(document->text);
    document->snapshot = NULL;
    document->resolver = NULL;
    document->text = NULL;
    return NULL;
}

void queue_document_close(Request *request) {
    request->work = close_work;
    request_start(request, QUEUE_FAST);
}

const Snapshot *request_snapshot(Request *request) {
    QueueDocument *document = request->document;
    StepBudget *paused = budget_pause();  // an analysis has budgets of its own
    bool tries = request->tries_launches || request->server->client.pulls_diagnostics;
    document_follow(request->server->queue, document, request->text, tries);
    budget_resume(paused);
    if (!document->snapshot)
        request_fail(request, ERROR_REQUEST_FAILED, "%s was not analysed: %s", document->uri,
                     document->failure);
    return document->snapshot;
}

const Settings *request_settings(Request *request) {
    StepBudget *paused = budget_pause();  // others have them, too
    const Settings *settings = settings_of(request->server->queue, request->document);
    budget_resume(paused);
    return settings;
}

Options request_options(const Request *request) {
    const Configuration *configuration = request->configuration;
    return (Options){.select = configuration->select,
                     .ignore = configuration->ignore,
                     .severity = configuration->severity,
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
