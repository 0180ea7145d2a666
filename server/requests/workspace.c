// Folders, and open files outside of them, in; snapshots for a visitor out. Symbols are kept with what tells a changed file.
#include "server/requests/workspace.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "features/features.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"
#include "server/system/files.h"
#include "server/text/sieve.h"

bool file_is_same(const char *a, const char *b) {
    if (strcmp(a, b) == 0) return true;
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

bool workspace_holds(const Request *request, const char *path) {
    const char *real = path_real(request->arena, path);
    if (overlay_is_open(request->server->overlay, real)) return true;
    return configuration_for(request->configuration, path)->folder &&
           !strstr(path, "/site-packages/") && !strstr(path, "/.");
}

// --- Which files

typedef struct Paths {
    LIST(const char *) list;
    Map seen;  // by real path
} Paths;

static void path_add(Arena *arena, Paths *paths, const char *path) {
    Str real = str_from(path_real(arena, path));
    if (map_has(&paths->seen, real)) return;
    map_set(&paths->seen, real, paths);
    LIST_PUSH(arena, &paths->list, path);
}

static Paths workspace_paths(Request *request, const char *own, bool leaves_others) {
    Arena *arena = request->arena;
    Paths paths = {.seen = map_new(arena)};
    Report report = {.arena = arena};
    Names folders = configuration_folders(request->configuration, arena);
    FileList files = files_collect(arena, &report, folders.items, folders.count);
    if (own) path_add(arena, &paths, own);
    for (LIST_EACH(int, i, files.items)) path_add(arena, &paths, files.items.items[i].path);
    if (leaves_others) return paths;
    OpenPaths open = overlay_open_paths(request->server->overlay, arena);
    for (LIST_EACH(int, i, open)) path_add(arena, &paths, open.items[i]);
    return paths;
}

// --- One file

/// The present text, counted, and the client's name of the file; NULL where it cannot be read.
static Text *text_of_file(const Request *request, Arena *scratch, const char *path,
                          const char **uri) {
    *uri = NULL;
    Text *open =
        overlay_open_text(request->server->overlay, scratch, path_real(scratch, path), uri);
    if (open) return open;
    Str text;
    if (file_read(scratch, path, &text)) return NULL;
    *uri = uri_of_path(scratch, path);
    return text_new("", text, VERSION_ON_DISK);
}

static bool text_holds(Str text, Str word) {
    const char *at = text.data, *end = text.data + text.size;
    while (at + word.size <= end) {
        at = memchr(at, word.data[0], (size_t)(end - at) - word.size + 1);
        if (!at) return false;
        if (memcmp(at, word.data, word.size) == 0) return true;
        at++;
    }
    return false;
}

static bool is_wanted(const WorkspaceScan *scan, const Text *text) {
    if (text->text.size > FILE_LARGEST_BYTES) return false;
    if (scan->word.size) return text_holds(text->text, scan->word);
    return text_may_concern_kernels(text->analysed.data);
}

typedef struct Visit {
    const WorkspaceScan *scan;
    ImportResolver *imports;
    SettingsCache *settings;
} Visit;

static void visit_snapshot(Request *request, const Visit *visit, const char *path,
                           const Settings *settings) {
    Snapshot *volatile snapshot = NULL;
    SnapshotOptions options = {.resolver = import_resolver_interface(visit->imports),
                               .skip_checks = !visit->scan->with_checks};
    Blackbox *box = request->server->blackbox;
    const char *uri = request->document->uri;
    if (blackbox_refusal(box, (int)request->queue, uri, request->text->version)) return;
    blackbox_enter(box, (int)request->queue, uri, request->text->version);
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        snapshot = snapshot_build(path, request->text->analysed, &options);
        visit->scan->visit(request, snapshot, settings, visit->scan->context);
        bug_guard_end(&guard);
    }
    snapshot_release(snapshot);
}

static void visit_file(Request *request, const Visit *visit, const char *path) {
    const Settings *settings = settings_for(visit->settings, path);
    if (settings_exclude(settings, request->arena, path)) return;
    Arena *scratch = arena_new();
    QueueDocument *document = request->document;
    Text *text = request->text;
    const char *uri;
    request->text = text_of_file(request, scratch, path, &uri);
    if (request->text && is_wanted(visit->scan, request->text)) {
        request->document = queue_document_new(uri);
        visit_snapshot(request, visit, path, settings);
        queue_document_release(request->document);
    }
    text_release(request->text);
    request->document = document;
    request->text = text;
    arena_free(scratch);
}

void workspace_scan(Request *request, const WorkspaceScan *scan) {
    Report report = {.arena = request->arena};
    Visit visit = {scan, import_resolver_new(request->server->overlay),
                   settings_cache_new(request->arena, &report)};
    Paths paths = workspace_paths(request, scan->path, scan->leaves_others);
    for (LIST_EACH(int, i, paths.list)) {
        if (atomic_load(&request->cancelled) || atomic_load(&request->server->is_closing)) break;
        visit_file(request, &visit, paths.list.items[i]);
    }
    import_resolver_free(visit.imports);
}

// --- Symbols

typedef struct IndexedSymbol {
    const char *name;
    SymbolKind kind;
    LinePosition start, end;
} IndexedSymbol;

typedef struct IndexedFile {
    Arena *arena;
    int64_t seconds, nanoseconds, size;  // on disk
    int stamp;                           // in the overlay
    LIST(IndexedSymbol) symbols;
} IndexedFile;

struct WorkspaceIndex {
    Arena *arena;
    Map by_path;  // -> IndexedFile
};

WorkspaceIndex *workspace_index_new(void) {
    Arena *arena = arena_new();
    WorkspaceIndex *index = ARENA_NEW(arena, WorkspaceIndex);
    *index = (WorkspaceIndex){arena, map_new(arena)};
    return index;
}

void workspace_index_free(WorkspaceIndex *index) {
    for (int i = 0; i < index->by_path.count; i++) {
        IndexedFile *file = index->by_path.entries[i].value;
        arena_free(file->arena);
    }
    arena_free(index->arena);
}

static IndexedFile indexed_now(const Request *request, const char *path) {
    IndexedFile now = {
        .stamp = overlay_stamp(request->server->overlay, path_real(request->arena, path))};
    struct stat info;
    if (stat(path, &info) == 0) {
        now.seconds = (int64_t)info.st_mtim.tv_sec;
        now.nanoseconds = (int64_t)info.st_mtim.tv_nsec;
        now.size = (int64_t)info.st_size;
    }
    return now;
}

static bool is_as_it_was(const IndexedFile *known, const IndexedFile *now) {
    return known && known->seconds == now->seconds && known->nanoseconds == now->nanoseconds &&
           known->size == now->size && known->stamp == now->stamp;
}

static void index_symbols(Request *request, const Snapshot *snapshot, const Settings *settings,
                          void *context) {
    (void)settings;
    IndexedFile *file = context;
    const Text *text = request->text;
    Encoding encoding = request->server->client.encoding;
    Symbols symbols = document_symbols(request->arena, snapshot);
    for (LIST_EACH(int, i, symbols.list)) {
        const Symbol *symbol = symbols.list.items[i];
        if (symbol->kind != SYMBOL_KERNEL && symbol->kind != SYMBOL_HELPER) continue;
        Range range = snapshot_range(snapshot, symbol->selection);
        IndexedSymbol indexed = {arena_strdup(file->arena, symbol->name), symbol->kind,
                                 lines_position(&text->lines, text->text, encoding, range.start),
                                 lines_position(&text->lines, text->text, encoding, range.end)};
        LIST_PUSH(file->arena, &file->symbols, indexed);
    }
}

static const IndexedFile *index_file(Request *request, WorkspaceIndex *index, const Visit *visit,
                                     const char *path) {
    IndexedFile *known = map_get(&index->by_path, str_from(path));
    IndexedFile now = indexed_now(request, path);
    if (is_as_it_was(known, &now)) return known;
    Arena *arena = arena_new();
    IndexedFile *fresh = ARENA_NEW(arena, IndexedFile);
    *fresh = now;
    fresh->arena = arena;
    const char *key = known ? path : arena_strdup(index->arena, path);
    if (known) arena_free(known->arena);
    map_set(&index->by_path, str_from(key), fresh);
    WorkspaceScan scan = {.visit = index_symbols, .context = fresh};
    Visit one = {&scan, visit->imports, visit->settings};
    visit_file(request, &one, path);
    return fresh;
}

/// Whether the letters of `query` come in `name` in this order.
static bool name_matches(const char *name, Str query) {
    size_t at = 0;
    for (; *name && at < query.size; name++)
        if (tolower((unsigned char)*name) == tolower((unsigned char)query.data[at])) at++;
    return at == query.size;
}

static Json *symbol_json(Request *request, const char *path, const IndexedSymbol *symbol) {
    Arena *arena = request->arena;
    Json *json = json_object(arena), *location = json_object(arena);
    json_set_string(location, "uri", request_uri_of(request, path));
    json_set(location, "range", span_json(arena, symbol->start, symbol->end));
    json_set_string(json, "name", symbol->name);
    json_set_number(json, "kind", symbol_kind_number(symbol->kind));
    json_set(json, "location", location);
    return json;
}

Json *workspace_symbols(Request *request, WorkspaceIndex *index, Str query) {
    Arena *arena = request->arena;
    Report report = {.arena = arena};
    Visit visit = {NULL, import_resolver_new(request->server->overlay),
                   settings_cache_new(arena, &report)};
    Json *list = json_array(arena);
    Paths paths = workspace_paths(request, NULL, false);
    for (LIST_EACH(int, i, paths.list)) {
        const char *path = paths.list.items[i];
        if (atomic_load(&request->cancelled) || atomic_load(&request->server->is_closing)) break;
        if (settings_exclude(settings_for(visit.settings, path), arena, path)) continue;
        const IndexedFile *file = index_file(request, index, &visit, path);
        for (LIST_EACH(int, k, file->symbols))
            if (name_matches(file->symbols.items[k].name, query))
                json_push(list, symbol_json(request, path, &file->symbols.items[k]));
    }
    import_resolver_free(visit.imports);
    return list;
}
