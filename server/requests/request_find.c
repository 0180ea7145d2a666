// Requests that go somewhere: definitions, uses, renames, calls. On the fast queue; what other files may know goes on
// over the workspace, on the slow one.
#include <string.h>

#include "features/features.h"
#include "server/gradients/written.h"
#include "server/queues/answer.h"
#include "server/queues/beside.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/requests/workspace.h"

typedef Links LinkFinder(Arena *arena, const Snapshot *snapshot, uint32_t offset);

static Json *links_json(Request *request, const Snapshot *snapshot, const Links *links) {
    Arena *arena = request->arena;
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, links->list)) {
        const Link *link = &links->list.items[i];
        Json *location = location_json(request, snapshot, link->target);
        if (!request->server->client.links) {
            json_push(list, location_json(request, snapshot, link->selection));
            continue;
        }
        Json *json = json_object(arena);
        Json *selection = location_json(request, snapshot, link->selection);
        if (link->origin.source)
            json_set(json, "originSelectionRange",
                     request_range_json(request, snapshot, link->origin));
        json_set(json, "targetUri", json_get(location, "uri"));
        json_set(json, "targetRange", json_get(location, "range"));
        json_set(json, "targetSelectionRange", json_get(selection, "range"));
        json_push(list, json);
    }
    return list;
}

static Json *links_answer(Request *request, LinkFinder *find) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Links links = find(request->arena, snapshot, offset);
    if (!links.is_ours_alone && request_is_beside(request)) return NULL;
    return links_json(request, snapshot, &links);
}

Json *handle_definition(Request *request) { return links_answer(request, definition_at); }

/// Whether a name of the snapshot leads to what makes it, and no further.
static bool leads_home(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                       const Links *links) {
    Links home = definition_at(arena, snapshot, offset);
    if (!home.list.count || !links->list.count) return !links->list.count;
    const Range *a = &home.list.items[0].target, *b = &links->list.items[0].target;
    return a->source == b->source && a->start == b->start;
}

/// To the lines of the backward in the module that was written beside the file; NULL where there are none.
static Json *written_links(Request *request, const Snapshot *snapshot, uint32_t offset) {
    const Kernel *kernel = snapshot_kernel_at(snapshot, offset);
    Neighbour module = kernel ? written_backward(request, kernel) : (Neighbour){0};
    if (!module.name) return NULL;
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(imports)};
    Snapshot *written = snapshot_build(module.path, module.text, &options);
    const Kernel *copy = snapshot_find_kernel(written, kernel->definition->name);
    Range here = snapshot_range(snapshot, kernel->definition->range);
    Range there = copy ? snapshot_range(written, copy->definition->range) : (Range){0};
    Json *list = NULL;
    if (copy && str_equal(source_slice(here), source_slice(there))) {
        uint32_t place = there.start + (offset - here.start);
        Links links = declaration_at(request->arena, written, place);
        if (!leads_home(request->arena, written, place, &links)) {
            for (LIST_EACH(int, i, links.list)) links.list.items[i].origin = (Range){0};
            list = links_json(request, snapshot, &links);
        }
    }
    snapshot_release(written);
    import_resolver_free(imports);
    return list;
}

Json *handle_declaration(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Links links = declaration_at(request->arena, snapshot, offset);
    bool is_home = leads_home(request->arena, snapshot, offset, &links);
    Json *list = is_home ? written_links(request, snapshot, offset) : NULL;
    if (!list && !links.is_ours_alone && request_is_beside(request)) return NULL;
    return list ? list : links_json(request, snapshot, &links);
}

Json *handle_type_definition(Request *request) { return links_answer(request, type_definition_at); }

// --- Uses, here and in other files

/// A search over the workspace, begun on the fast queue.
typedef struct SharedSearch {
    SharedName name;
    bool with_declaration;
    Json *list;
    EditWriter writer;  // of a rename
    Str text;
} SharedSearch;

/// The search for what is at `offset`; NULL where only this file knows it.
static SharedSearch *search_new(Request *request, const Snapshot *snapshot, uint32_t offset) {
    Arena *arena = request->arena;
    SharedName name = shared_name_at(arena, snapshot, offset);
    if (!name.path || !*request->document->path) return NULL;
    SharedSearch *search = request->context = ARENA_NEW(arena, SharedSearch);
    search->name = (SharedName){.path = arena_strdup(arena, name.path),
                                .name = str_from(str_dup(arena, name.name)),
                                .parameter = str_from(str_dup(arena, name.parameter)),
                                .is_alias = name.is_alias,
                                .same_file = file_is_same};
    search->list = json_array(arena);
    return search;
}

static void search_files(Request *request, FileVisitor *visit) {
    SharedSearch *search = request->context;
    WorkspaceScan scan = {
        .visit = visit, .context = search, .word = search->name.name, .path = search->name.path};
    workspace_scan(request, &scan);
}

static void push_references(Request *request, const Snapshot *snapshot, const Settings *settings,
                            void *context) {
    (void)settings;
    SharedSearch *search = context;
    Ranges ranges =
        shared_references(request->arena, snapshot, &search->name, search->with_declaration);
    for (LIST_EACH(int, i, ranges.list))
        json_push(search->list, location_json(request, snapshot, ranges.list.items[i]));
}

static Json *references_work(Request *request) {
    search_files(request, push_references);
    return ((const SharedSearch *)request->context)->list;
}

Json *handle_references(Request *request) {
    Arena *arena = request->arena;
    uint32_t offset;
    if (request_is_beside(request)) return NULL;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    bool with_declaration =
        json_get_bool(json_get(request->params, "context"), "includeDeclaration", true);
    SharedSearch *search = search_new(request, snapshot, offset);
    if (search) {
        search->with_declaration = with_declaration;
        request_move(request, QUEUE_SLOW, references_work);
        return NULL;
    }
    Ranges ranges = references_at(arena, snapshot, offset, with_declaration);
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, ranges.list))
        json_push(list, location_json(request, snapshot, ranges.list.items[i]));
    return list;
}

Json *handle_document_highlight(Request *request) {
    enum { KIND_READ = 2, KIND_WRITE = 3 };
    Arena *arena = request->arena;
    uint32_t offset;
    if (request_is_beside(request)) return NULL;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Highlights highlights = highlights_at(arena, snapshot, offset);
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, highlights.list)) {
        const Highlight *highlight = &highlights.list.items[i];
        Json *json = json_object(arena);
        json_set(json, "range", request_range_json(request, snapshot, highlight->range));
        json_set_number(json, "kind", highlight->is_write ? KIND_WRITE : KIND_READ);
        json_push(list, json);
    }
    return list;
}

// --- Rename

/// Whether the definition of what is shared may be changed.
static bool may_change(Request *request, const SharedSearch *search) {
    if (workspace_holds(request, search->name.path)) return true;
    request_fail(request, ERROR_REQUEST_FAILED, "It is defined in `%s`, outside of the workspace.",
                 search->name.path);
    return false;
}

Json *handle_prepare_rename(Request *request) {
    uint32_t offset;
    if (request_is_beside(request)) return NULL;  // an editor then asks the other server
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    const char *refusal = NULL;
    Range range = rename_prepare(request->arena, snapshot, offset, &refusal);
    if (!range.source) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s",
                     refusal ? refusal : "there is no name here");
        return NULL;
    }
    const SharedSearch *search = search_new(request, snapshot, offset);
    if (search && !search->name.is_alias && !may_change(request, search)) return NULL;
    Json *json = json_object(request->arena);
    json_set(json, "range", request_range_json(request, snapshot, range));
    Range shown = snapshot_range(snapshot, range);
    Str name = {snapshot->source->text.data + shown.start, shown.end - shown.start};
    json_set(json, "placeholder", json_str(request->arena, name));
    return json;
}

static void write_edits(EditWriter *writer, const Snapshot *snapshot, const Ranges *ranges,
                        Str text) {
    for (LIST_EACH(int, i, ranges->list))
        edit_replace(writer, snapshot, ranges->list.items[i], text);
}

static void push_edits(Request *request, const Snapshot *snapshot, const Settings *settings,
                       void *context) {
    (void)settings;
    SharedSearch *search = context;
    const char *refusal = NULL;
    Ranges ranges = shared_rename(request->arena, snapshot, &search->name, search->text, &refusal);
    if (refusal)
        request_fail(request, ERROR_REQUEST_FAILED, "%s: %s", request->document->path, refusal);
    write_edits(&search->writer, snapshot, &ranges, search->text);
}

static Json *rename_work(Request *request) {
    SharedSearch *search = request->context;
    search->writer = edit_writer_new(request);
    search_files(request, push_edits);
    return request->error_code ? NULL : edit_finish(&search->writer);
}

Json *handle_rename(Request *request) {
    Arena *arena = request->arena;
    uint32_t offset;
    const Json *name = json_get(request->params, "newName");
    if (!name || name->kind != JSON_STRING) {
        request_fail(request, ERROR_INVALID_PARAMS, "`newName` is a string");
        return NULL;
    }
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    const char *refusal = NULL;
    Ranges ranges = rename_at(arena, snapshot, offset, name->string, &refusal);
    if (refusal) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s", refusal);
        return NULL;
    }
    SharedSearch *search = search_new(request, snapshot, offset);
    if (search && !search->name.is_alias && ranges.list.count) {
        search->text = name->string;
        if (may_change(request, search)) request_move(request, QUEUE_SLOW, rename_work);
        return NULL;
    }
    EditWriter writer = edit_writer_new(request);
    write_edits(&writer, snapshot, &ranges, name->string);
    return edit_finish(&writer);
}

// --- Calls

static Json *call_item_json(Request *request, const Snapshot *snapshot, const CallItem *item) {
    Arena *arena = request->arena;
    Json *json = json_object(arena), *data = json_object(arena);
    Json *place = location_json(request, snapshot, item->range);
    Json *selection = location_json(request, snapshot, item->selection);
    json_set_string(json, "name", item->name);
    json_set_number(json, "kind", symbol_kind_number(item->kind));
    if (item->detail && *item->detail) json_set_string(json, "detail", item->detail);
    json_set(json, "uri", json_get(place, "uri"));
    json_set(json, "range", json_get(place, "range"));
    json_set(json, "selectionRange", json_get(selection, "range"));
    json_set(json, "data", data);
    return json;
}

Json *handle_prepare_call_hierarchy(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    CallItem item = call_item_at(request->arena, snapshot, offset);
    if (!item.selection.source) return NULL;
    Json *list = json_array(request->arena);
    json_push(list, call_item_json(request, snapshot, &item));
    return list;
}

static void push_calls(Request *request, const Snapshot *snapshot, const Calls *calls,
                       const char *end, Json *list) {
    for (LIST_EACH(int, i, calls->list)) {
        const Call *call = &calls->list.items[i];
        Json *json = json_object(request->arena), *places = json_array(request->arena);
        json_set(json, end, call_item_json(request, snapshot, &call->item));
        for (LIST_EACH(int, k, call->places.list))
            json_push(places, request_range_json(request, snapshot, call->places.list.items[k]));
        json_set(json, "fromRanges", places);
        json_push(list, json);
    }
}

/// The snapshot of the item's file, and where its name stands in it.
static const Snapshot *snapshot_of_item(Request *request, uint32_t *offset) {
    const Json *item = json_get(request->params, "item");
    const Json *start = json_get(json_get(item, "selectionRange"), "start");
    return position_offset(request, start, offset) ? slow_snapshot(request) : NULL;
}

static void push_incoming(Request *request, const Snapshot *snapshot, const Settings *settings,
                          void *context) {
    (void)settings;
    SharedSearch *search = context;
    Calls calls = shared_calls_into(request->arena, snapshot, &search->name);
    push_calls(request, snapshot, &calls, "from", search->list);
}

Json *handle_incoming_calls(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = snapshot_of_item(request, &offset);
    if (!snapshot) return NULL;
    SharedSearch *search = search_new(request, snapshot, offset);
    if (search) {
        search_files(request, push_incoming);
        return search->list;
    }
    Calls calls = calls_into(request->arena, snapshot, offset);
    Json *list = json_array(request->arena);
    push_calls(request, snapshot, &calls, "from", list);
    return list;
}

Json *handle_outgoing_calls(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = snapshot_of_item(request, &offset);
    if (!snapshot) return NULL;
    Calls calls = calls_from(request->arena, snapshot, offset);
    Json *list = json_array(request->arena);
    push_calls(request, snapshot, &calls, "to", list);
    return list;
}
