// Requests that go somewhere: definitions, uses, renames, calls. On the fast lane.
#include <string.h>

#include "features/features.h"
#include "server/answer.h"

typedef Links LinkFinder(Arena *arena, const Snapshot *snapshot, uint32_t offset);

static Json *links_answer(Request *request, LinkFinder *find) {
    Arena *arena = request->arena;
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Links links = find(arena, snapshot, offset);
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, links.list)) {
        const Link *link = &links.list.items[i];
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

Json *handle_definition(Request *request) { return links_answer(request, definition_at); }
Json *handle_declaration(Request *request) { return links_answer(request, declaration_at); }
Json *handle_type_definition(Request *request) { return links_answer(request, type_definition_at); }

Json *handle_references(Request *request) {
    Arena *arena = request->arena;
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    bool with_declaration =
        json_get_bool(json_get(request->params, "context"), "includeDeclaration", true);
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

Json *handle_prepare_rename(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    const char *refusal = NULL;
    Range range = rename_prepare(request->arena, snapshot, offset, &refusal);
    if (!range.source) {
        request_fail(request, ERROR_REQUEST_FAILED, "%s",
                     refusal ? refusal : "there is no name here");
        return NULL;
    }
    Json *json = json_object(request->arena);
    json_set(json, "range", request_range_json(request, snapshot, range));
    Range shown = snapshot_range(snapshot, range);
    Str name = {snapshot->source->text.data + shown.start, shown.end - shown.start};
    json_set(json, "placeholder", json_str(request->arena, name));
    return json;
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
    EditWriter writer = edit_writer_new(request);
    for (LIST_EACH(int, i, ranges.list))
        edit_replace(&writer, snapshot, ranges.list.items[i], name->string);
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

static Json *calls_answer(Request *request, Calls find(Arena *, const Snapshot *, uint32_t),
                          const char *end) {
    Arena *arena = request->arena;
    const Json *item = json_get(request->params, "item");
    uint32_t offset;
    if (!position_offset(request, json_get(json_get(item, "selectionRange"), "start"), &offset))
        return NULL;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Calls calls = find(arena, snapshot, offset);
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, calls.list)) {
        const Call *call = &calls.list.items[i];
        Json *json = json_object(arena), *places = json_array(arena);
        json_set(json, end, call_item_json(request, snapshot, &call->item));
        for (LIST_EACH(int, k, call->places.list))
            json_push(places, request_range_json(request, snapshot, call->places.list.items[k]));
        json_set(json, "fromRanges", places);
        json_push(list, json);
    }
    return list;
}

Json *handle_incoming_calls(Request *request) { return calls_answer(request, calls_into, "from"); }
Json *handle_outgoing_calls(Request *request) { return calls_answer(request, calls_from, "to"); }
