// Requests about whole folders: symbols and diagnostics of files that need not be open. On the slow queue.
#include "server/gradients/gradients.h"
#include "server/gradients/publish.h"
#include "server/queues/answer.h"
#include "server/queues/beside.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/requests/workspace.h"

static Json *symbols_work(Request *request) {
    const Json *query = json_get(request->params, "query");
    Str wanted = query && query->kind == JSON_STRING ? query->string : STR("");
    return workspace_symbols(request, request->server->index, wanted);
}

Json *handle_workspace_symbol(Request *request) {
    if (request_is_beside(request)) return json_array(request->arena);
    request_move(request, QUEUE_SLOW, symbols_work);
    return NULL;
}

static void write_all(Request *request, const Snapshot *snapshot, const Settings *settings,
                      Buffer *items) {
    Options options = request_options(request);
    Filter filter = filter_of(request->arena, settings, &options);
    diagnostics_write(request, snapshot, &filter, &snapshot->diagnostics, items);
    Diagnostics comments = filter_comments(&filter, request->arena, snapshot);
    diagnostics_write(request, snapshot, &filter, &comments, items);
}

static void push_diagnostics(Request *request, const Snapshot *snapshot, const Settings *settings,
                             void *context) {
    Arena *arena = request->arena;
    Json *list = context, *report = json_object(arena);
    Buffer items = buffer_new(arena);
    buffer_puts(&items, "[");
    if (configuration_for(request->configuration, request->document->path)->diagnostics)
        write_all(request, snapshot, settings, &items);
    buffer_puts(&items, "]");
    json_set_string(report, "uri", request->document->uri);
    json_set(report, "version", request_version_json(request));
    json_set_string(report, "kind", "full");
    json_set(report, "items", json_text(&items));
    json_push(list, report);
}

static Json *diagnostics_work(Request *request) {
    Json *list = json_array(request->arena), *result = json_object(request->arena);
    WorkspaceScan scan = {
        .visit = push_diagnostics, .context = list, .with_checks = true, .leaves_others = true};
    workspace_scan(request, &scan);
    json_set(result, "items", list);
    return result;
}

Json *handle_workspace_diagnostic(Request *request) {
    request_move(request, QUEUE_SLOW, diagnostics_work);
    return NULL;
}
