// Requests about whole folders: symbols and diagnostics of files that need not be open. On the slow lane, file by file.
#include <ctype.h>
#include <string.h>

#include "features/features.h"
#include "server/answer.h"
#include "server/check.h"
#include "server/files.h"
#include "server/gradients.h"
#include "server/slow_lane.h"

/// What the loop's thread hands over, because folders may change meanwhile.
typedef struct Scan {
    const char **folders;
    int folder_count;
    Handler *file;  // for each file, which is the request's document then; appends to `list`
    Json *list;
    const Snapshot *snapshot;
    const Settings *settings;
} Scan;

/// Whether the letters of `query` come in `name` in this order.
static bool name_matches(const char *name, Str query) {
    size_t at = 0;
    for (; *name && at < query.size; name++)
        if (tolower((unsigned char)*name) == tolower((unsigned char)query.data[at])) at++;
    return at == query.size;
}

static Json *push_symbols(Request *request) {
    Scan *scan = request->context;
    const Json *query = json_get(request->params, "query");
    Str wanted = query && query->kind == JSON_STRING ? query->string : STR("");
    Symbols symbols = document_symbols(request->arena, scan->snapshot);
    for (LIST_EACH(int, i, symbols.list)) {
        const Symbol *symbol = symbols.list.items[i];
        bool is_kernel = symbol->kind == SYMBOL_KERNEL || symbol->kind == SYMBOL_HELPER;
        if (!is_kernel || !name_matches(symbol->name, wanted)) continue;
        Json *json = json_object(request->arena);
        json_set_string(json, "name", symbol->name);
        json_set_number(json, "kind", symbol_kind_number(symbol->kind));
        json_set(json, "location", location_json(request, scan->snapshot, symbol->selection));
        json_push(scan->list, json);
    }
    return NULL;
}

static Json *push_diagnostics(Request *request) {
    Arena *arena = request->arena;
    Scan *scan = request->context;
    Json *items = json_array(arena), *report = json_object(arena);
    diagnostics_push(request, scan->snapshot, scan->settings, &scan->snapshot->diagnostics, items);
    json_set_string(report, "uri", request->document->uri);
    json_set(report, "version", json_null(arena));
    json_set_string(report, "kind", "full");
    json_set(report, "items", items);
    json_push(scan->list, report);
    return NULL;
}

/// One file is the request's document while `scan->file` looks at it. A fault of ours skips the file.
static void scan_file(Request *request, ImportResolver *imports, const char *path) {
    Scan *scan = request->context;
    Arena *scratch = arena_new();
    Str text;
    Snapshot *volatile snapshot = NULL;
    Error error = file_read(scratch, path, &text);
    bool is_interesting = !error && text_may_concern_kernels(text.data);
    BugGuard guard;
    if (is_interesting && BUG_GUARD(&guard)) {
        SnapshotOptions options = {.resolver = import_resolver_interface(imports),
                                   .skip_checks = scan->file == push_symbols};
        request->document = lane_document_new(uri_of_path(scratch, path));
        request->text = text_new(text, 0);
        snapshot = snapshot_build(path, request->text->analysed, &options);
        scan->snapshot = snapshot;
        scan->file(request);
        bug_guard_end(&guard);
    }
    snapshot_release(snapshot);
    lane_document_release(request->document);
    text_release(request->text);
    request->document = NULL;
    request->text = NULL;
    arena_free(scratch);
}

static Json *scan_work(Request *request) {
    Scan *scan = request->context;
    Arena *arena = request->arena;
    Report report = {.arena = arena};
    SettingsCache *settings = settings_cache_new(arena, &report);
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    FileList files = files_collect(arena, &report, scan->folders, scan->folder_count);
    for (LIST_EACH(int, i, files.items)) {
        const char *path = files.items.items[i].path;
        if (atomic_load(&request->cancelled) || atomic_load(&request->server->is_closing)) break;
        scan->settings = settings_for(settings, path);
        if (!settings_exclude(scan->settings, arena, path)) scan_file(request, imports, path);
    }
    import_resolver_free(imports);
    if (scan->file == push_symbols) return scan->list;
    Json *result = json_object(arena);
    json_set(result, "items", scan->list);
    return result;
}

static Json *scan_start(Request *request, Handler *file) {
    const Server *server = request->server;
    Scan *scan = ARENA_NEW(request->arena, Scan);
    *scan = (Scan){
        .folders = ARENA_ARRAY(request->arena, const char *, server->folders.count + 1),
        .folder_count = server->folders.count,
        .file = file,
        .list = json_array(request->arena),
    };
    for (int i = 0; i < scan->folder_count; i++)
        scan->folders[i] = arena_strdup(request->arena, server->folders.items[i]);
    request->context = scan;
    request_move(request, LANE_SLOW, scan_work);
    return NULL;
}

Json *handle_workspace_symbol(Request *request) { return scan_start(request, push_symbols); }
Json *handle_workspace_diagnostic(Request *request) {
    return scan_start(request, push_diagnostics);
}
