// The life of a session: initialize, documents, shutdown, exit. On the loop's thread.
#include "server/session.h"

#include <stdio.h>
#include <string.h>

static bool can(const Json *capabilities, const char *area, const char *feature, const char *what) {
    return json_get_bool(json_get(json_get(capabilities, area), feature), what, false);
}

static bool refreshes(const Json *capabilities, const char *what) {
    return can(capabilities, "workspace", what, "refreshSupport");
}

/// "workspace.workspaceEdit.resourceOperations" and the like are lists of words.
static bool lists(const Json *array, const char *word) {
    for (int i = 0; array && array->kind == JSON_ARRAY && i < array->count; i++)
        if (array->items[i]->kind == JSON_STRING && str_is(array->items[i]->string, word))
            return true;
    return false;
}

static Client client_read(const Json *capabilities) {
    const Json *workspace = json_get(capabilities, "workspace");
    const Json *document = json_get(capabilities, "textDocument");
    const Json *window = json_get(capabilities, "window");
    const Json *edit = json_get(workspace, "workspaceEdit");
    const Json *hover = json_get(json_get(document, "hover"), "contentFormat");
    const Json *item = json_get(json_get(document, "completion"), "completionItem");
    return (Client){
        .encoding = encoding_choose(capabilities),
        .configuration = json_get_bool(workspace, "configuration", false),
        .watched_files =
            can(capabilities, "workspace", "didChangeWatchedFiles", "dynamicRegistration"),
        .work_done_progress = json_get_bool(window, "workDoneProgress", false),
        .show_document = can(capabilities, "window", "showDocument", "support"),
        .related_information =
            can(capabilities, "textDocument", "publishDiagnostics", "relatedInformation"),
        .code_description =
            can(capabilities, "textDocument", "publishDiagnostics", "codeDescriptionSupport"),
        .diagnostic_data = can(capabilities, "textDocument", "publishDiagnostics", "dataSupport"),
        .lens_refresh = refreshes(capabilities, "codeLens"),
        .hint_refresh = refreshes(capabilities, "inlayHint"),
        .token_refresh = refreshes(capabilities, "semanticTokens"),
        .diagnostic_refresh = refreshes(capabilities, "diagnostics"),
        .snippets = json_get_bool(item, "snippetSupport", false),
        .markdown = !hover || lists(hover, "markdown"),
        .document_changes = json_get_bool(edit, "documentChanges", false),
        .annotations = json_get(edit, "changeAnnotationSupport") != NULL,
        .resource_create = lists(json_get(edit, "resourceOperations"), "create"),
        .disabled_actions = can(capabilities, "textDocument", "codeAction", "disabledSupport"),
        .hierarchical_symbols = can(capabilities, "textDocument", "documentSymbol",
                                    "hierarchicalDocumentSymbolSupport"),
    };
}

static Json *capabilities_json(Arena *arena, const Server *server) {
    Json *capabilities = json_object(arena);
    json_set_string(capabilities, "positionEncoding", encoding_name(server->client.encoding));
    for (int i = 0; i < METHOD_COUNT; i++) {
        if (!*method_rows[i].capability) continue;
        Error error = NULL;
        Json *value = json_parse(arena, str_from(method_rows[i].capability_value), &error);
        if (error) BUG("capability of %s: %s", method_rows[i].name, error);
        json_set(capabilities, method_rows[i].capability, value);
    }
    return capabilities;
}

static void watch_client(void *context) {
    Server *server = context;
    if (!process_exists(server->client_process)) server_end(server);
}

void server_watch_client(Server *server, int process) {
    enum { EVERY_MS = 2000 };
    if (process <= 0 || server->client_process) return;
    server->client_process = process;
    timer_start(server->loop, EVERY_MS, EVERY_MS, watch_client, server);
}

Json *handle_initialize(Request *request) {
    Server *server = request->server;
    Arena *arena = request->arena;
    const Json *params = request->params;
    if (!params || params->kind != JSON_OBJECT) {
        request_fail(request, ERROR_INVALID_PARAMS, "`initialize` has params");
        return NULL;
    }
    server->client = client_read(json_get(params, "capabilities"));
    server_watch_client(server, (int)json_get_number(params, "processId", 0));
    server->state = SERVER_RUNNING;
    Json *result = json_object(arena), *info = json_object(arena);
    json_set_string(info, "name", "tad-lsp");
    json_set_string(info, "version", TAD_VERSION);
    json_set(result, "capabilities", capabilities_json(arena, server));
    json_set(result, "serverInfo", info);
    return result;
}

Json *handle_initialized(Request *request) {
    (void)request;
    return NULL;
}

Json *handle_shutdown(Request *request) {
    request->server->state = SERVER_SHUT_DOWN;
    return NULL;
}

Json *handle_exit(Request *request) {
    request->server->saw_exit = true;
    server_end(request->server);
    return NULL;
}

Json *handle_set_trace(Request *request) {
    static const char *const names[] = {"off", "messages", "verbose"};
    const char *value = json_get_string(request->params, "value", "");
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], value) == 0) request->server->trace = i;
    return NULL;
}

// --- Documents

static void document_set(Server *server, Document *document, Text *text) {
    if (document->text != text) text_release(document->text);
    document->text = text;
    atomic_store(&document->lane->newest, text->version);
    publish_document(server, document);
}

Json *handle_did_open(Request *request) {
    Server *server = request->server;
    const Json *item = json_get(request->params, "textDocument");
    const Json *text = json_get(item, "text");
    const char *uri = json_get_string(item, "uri", NULL);
    if (!uri || !text || text->kind != JSON_STRING) {
        server_log(server, 2, "textDocument/didOpen without a uri or a text was ignored");
        return NULL;
    }
    Text *fresh = text_new(text->string, (int)json_get_number(item, "version", 0));
    Document *document = documents_find(&server->documents, uri);
    if (!document) {
        document = documents_open(&server->documents, uri, fresh);
        document->lane = lane_document_new(uri);
    }
    document_set(server, document, fresh);
    return NULL;
}

static Document *find_open(Request *request) {
    const char *uri = json_get_string(json_get(request->params, "textDocument"), "uri", "");
    Document *document = documents_find(&request->server->documents, uri);
    if (!document)
        server_log(request->server, 2, "`%s` of a document that is not open: %s",
                   request->method->name, uri);
    return document;
}

Json *handle_did_change(Request *request) {
    Server *server = request->server;
    Document *document = find_open(request);
    if (!document) return NULL;
    int version = (int)json_get_number(json_get(request->params, "textDocument"), "version",
                                       document->text->version + 1);
    Error error = NULL;
    Text *text = text_edit(document->text, json_get(request->params, "contentChanges"),
                           server->client.encoding, version, &error);
    if (text)
        document_set(server, document, text);
    else
        server_log(server, 1, "textDocument/didChange of %s was ignored: %s", document->uri, error);
    return NULL;
}

Json *handle_did_save(Request *request) {
    find_open(request);
    return NULL;
}

Json *handle_did_close(Request *request) {
    Document *document = find_open(request);
    if (!document) return NULL;
    publish_nothing(request->server, document->uri);
    lane_document_release(document->lane);
    documents_close(&request->server->documents, document);
    return NULL;
}

/// Answers of the client to our requests.
void server_take_answer(Server *server, const Json *id, const Json *message) {
    (void)server;
    (void)id;
    (void)message;
}
