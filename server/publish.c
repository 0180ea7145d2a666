// Diagnostics to the client: made on the fast lane from the newest text, sent unless a newer one has come.
#include <string.h>

#include "server/check.h"
#include "server/session.h"

static Json *related_json(Request *request, const Snapshot *snapshot,
                          const Diagnostic *diagnostic) {
    Arena *arena = request->arena;
    Json *list = json_array(arena);
    for (int i = 0; i < diagnostic->related_count; i++) {
        const Related *related = &diagnostic->related[i];
        if (!related->range.source) continue;
        Json *json = json_object(arena);
        json_set(json, "location", location_json(request, snapshot, related->range));
        json_set_string(json, "message", related->message);
        json_push(list, json);
    }
    return list;
}

/// DiagnosticTag: 1 unnecessary (shown faded), 2 deprecated (struck out).
static int tag_of(DiagnosticId id) {
    switch (id) {
    case DIAGNOSTIC_UNUSED_LOAD:
    case DIAGNOSTIC_MASK_ALWAYS_TRUE: return 1;
    case DIAGNOSTIC_REMOVED_OPERATION: return 2;
    default: return 0;
    }
}

static Json *diagnostic_json(Request *request, const Snapshot *snapshot,
                             const Diagnostic *diagnostic) {
    static const int severities[] = {1, 2, 3, 4};
    Arena *arena = request->arena;
    const DiagnosticRow *row = &diagnostic_rows[diagnostic->id];
    const Client *client = &request->server->client;
    Json *json = json_object(arena), *data = json_object(arena);
    json_set(json, "range", request_range_json(request, snapshot, diagnostic->range));
    json_set_number(json, "severity", severities[diagnostic->severity]);
    json_set_string(json, "code", row->name);
    json_set_string(json, "source", "tad");
    json_set_string(json, "message", diagnostic->message);
    if (client->related_information && diagnostic->related_count)
        json_set(json, "relatedInformation", related_json(request, snapshot, diagnostic));
    if (tag_of(diagnostic->id)) {
        Json *tags = json_array(arena);
        json_push(tags, json_number(arena, tag_of(diagnostic->id)));
        json_set(json, "tags", tags);
    }
    json_set_string(data, "family", row->family);
    if (client->diagnostic_data) json_set(json, "data", data);
    return json;
}

Json *diagnostics_json(Request *request, const Snapshot *snapshot) {
    static const Settings no_settings;
    static const Options no_options;
    Json *list = json_array(request->arena);
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        Diagnostic diagnostic = snapshot->diagnostics.list.items[i];
        diagnostic.range = snapshot_range(snapshot, diagnostic.range);
        bool suppressed;
        if (diagnostic_is_wanted(&diagnostic, &no_settings, &no_options, &suppressed))
            json_push(list, diagnostic_json(request, snapshot, &diagnostic));
    }
    return list;
}

static Json *publish_params(Arena *arena, const char *uri, Json *diagnostics) {
    Json *params = json_object(arena);
    json_set_string(params, "uri", uri);
    json_set(params, "diagnostics", diagnostics);
    return params;
}

static Json *publish_work(Request *request) {
    if (atomic_load(&request->document->newest) != request->text->version) return NULL;
    const Snapshot *snapshot = request_snapshot(request);
    Json *list = snapshot ? diagnostics_json(request, snapshot) : json_array(request->arena);
    Json *params = publish_params(request->arena, request->document->uri, list);
    json_set_number(params, "version", request->text->version);
    return params;
}

static void publish_finish(Request *request) {
    Server *server = request->server;
    const Document *document = documents_find(&server->documents, request->document->uri);
    bool is_newest =
        document && document->lane == request->document && document->text == request->text;
    if (request->error) server_log(server, 1, "%s", request->error);
    if (is_newest && request->result)
        server_notify(server, "textDocument/publishDiagnostics", request->result);
}

void publish_document(Server *server, Document *document) {
    Request *request = request_new(server, arena_new());
    request->document = lane_document_retain(document->lane);
    request->text = text_retain(document->text);
    request->work = publish_work;
    request->finish = publish_finish;
    request_start(request, LANE_FAST);
}

void publish_nothing(Server *server, const char *uri) {
    Arena *arena = arena_new();
    server_notify(server, "textDocument/publishDiagnostics",
                  publish_params(arena, uri, json_array(arena)));
    arena_free(arena);
}
