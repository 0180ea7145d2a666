// The life of a session: initialize, documents, shutdown, exit. On the loop's thread.
#include "server/requests/request_session.h"

#include "server/queues/answer.h"
#include "server/session/client.h"

#include <stdio.h>
#include <string.h>

#include "server/gradients/publish.h"
#include "server/queues/fast_queue.h"
#include "server/queues/leave.h"
#include "server/queues/request.h"
#include "server/requests/request_command.h"
#include "server/requests/request_configuration.h"
#include "server/session/send.h"
#include "server/system/files.h"

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
    const Json *completion = json_get(document, "completion");
    const Json *item = json_get(completion, "completionItem");
    const Json *defaults = json_get(json_get(completion, "completionList"), "itemDefaults");
    const Json *resolved = json_get(json_get(item, "resolveSupport"), "properties");
    const Json *action = json_get(json_get(document, "codeAction"), "resolveSupport");
    return (Client){
        .encoding = encoding_choose(capabilities),
        .configuration = json_get_bool(workspace, "configuration", false),
        .configuration_changes =
            can(capabilities, "workspace", "didChangeConfiguration", "dynamicRegistration"),
        .watched_files =
            can(capabilities, "workspace", "didChangeWatchedFiles", "dynamicRegistration"),
        .work_done_progress = json_get_bool(window, "workDoneProgress", false),
        .show_document = can(capabilities, "window", "showDocument", "support"),
        .related_information =
            can(capabilities, "textDocument", "publishDiagnostics", "relatedInformation"),
        .code_description =
            can(capabilities, "textDocument", "publishDiagnostics", "codeDescriptionSupport"),
        .diagnostic_data = can(capabilities, "textDocument", "publishDiagnostics", "dataSupport"),
        .lenses = json_get(document, "codeLens") || json_get(workspace, "codeLens"),
        .lens_refresh = refreshes(capabilities, "codeLens"),
        .hint_refresh = refreshes(capabilities, "inlayHint"),
        .token_refresh = refreshes(capabilities, "semanticTokens"),
        .diagnostic_refresh = refreshes(capabilities, "diagnostics"),
        .default_edit_range = lists(defaults, "editRange"),
        .resolves_detail = lists(resolved, "detail"),
        .snippets = json_get_bool(item, "snippetSupport", false),
        .markdown = !hover || lists(hover, "markdown"),
        .document_changes = json_get_bool(edit, "documentChanges", false),
        .annotations = json_get(edit, "changeAnnotationSupport") != NULL,
        .resource_create = lists(json_get(edit, "resourceOperations"), "create"),
        .disabled_actions = can(capabilities, "textDocument", "codeAction", "disabledSupport"),
        .resolves_edits = lists(json_get(action, "properties"), "edit"),
        .links = can(capabilities, "textDocument", "definition", "linkSupport"),
        .hierarchical_symbols = can(capabilities, "textDocument", "documentSymbol",
                                    "hierarchicalDocumentSymbolSupport"),
    };
}

static Json *names_json(Arena *arena, const char *const *names, int count) {
    Json *list = json_array(arena);
    for (int i = 0; i < count; i++) json_push(list, json_string(arena, names[i]));
    return list;
}

static Json *tokens_capability(Arena *arena) {
    static const char *const types[] = {
#define TOKEN(id, name) name,
        TOKEN_TYPES(TOKEN)
#undef TOKEN
    };
    static const char *const modifiers[] = {
#define MODIFIER(id, name) name,
        TOKEN_MODIFIERS(MODIFIER)
#undef MODIFIER
    };
    Json *json = json_object(arena), *legend = json_object(arena), *full = json_object(arena);
    json_set(legend, "tokenTypes", names_json(arena, types, (int)(sizeof types / sizeof *types)));
    json_set(legend, "tokenModifiers",
             names_json(arena, modifiers, (int)(sizeof modifiers / sizeof *modifiers)));
    json_set_bool(full, "delta", true);
    json_set(json, "legend", legend);
    json_set(json, "full", full);
    json_set_bool(json, "range", true);
    return json;
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
    Json *commands = json_object(arena);
    json_set(commands, "commands", command_names_json(arena));
    json_set_bool(commands, "workDoneProgress", true);
    json_set(capabilities, "executeCommandProvider", commands);
    json_set(capabilities, "semanticTokensProvider", tokens_capability(arena));
    if (server->client.pulls_diagnostics) {
        Json *pull = json_object(arena);
        json_set_string(pull, "identifier", "tad");
        json_set_bool(pull, "interFileDependencies", true);
        json_set_bool(pull, "workspaceDiagnostics", true);
        json_set_bool(pull, "workDoneProgress", true);
        json_set(capabilities, "diagnosticProvider", pull);
    }
    return capabilities;
}

static void folders_add(Server *server, const Json *folders) {
    for (int i = 0; folders && folders->kind == JSON_ARRAY && i < folders->count; i++) {
        const char *path =
            path_of_uri(server->arena, json_get_string(folders->items[i], "uri", ""));
        if (*path) LIST_PUSH(server->arena, &server->folders, path);
    }
}

/// Older clients have one root, older still its path.
static void folders_begin(Server *server, const Json *params) {
    folders_add(server, json_get(params, "workspaceFolders"));
    if (server->folders.count) return;
    const char *root = path_of_uri(server->arena, json_get_string(params, "rootUri", ""));
    if (!*root) root = arena_strdup(server->arena, json_get_string(params, "rootPath", ""));
    if (*root == '/') LIST_PUSH(server->arena, &server->folders, root);
}

static void folders_remove(Server *server, const Json *folders) {
    Arena *arena = arena_new();
    for (int i = 0; folders && folders->kind == JSON_ARRAY && i < folders->count; i++) {
        const char *path = path_of_uri(arena, json_get_string(folders->items[i], "uri", ""));
        int kept = 0;
        for (LIST_EACH(int, k, server->folders))
            if (strcmp(server->folders.items[k], path) != 0)
                server->folders.items[kept++] = server->folders.items[k];
        server->folders.count = kept;
    }
    arena_free(arena);
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
    const Json *options = json_get(params, "initializationOptions");
    server->client = client_read(json_get(params, "capabilities"));
    server->client.pulls_diagnostics =
        strcmp(json_get_string(options, "diagnostics", "push"), "pull") == 0;
    server->is_trusted = json_get_bool(options, "trusted", false);
    server->initial_settings = json_get(options, "settings");
    if (server->initial_settings)
        server->initial_settings = json_copy(server->arena, server->initial_settings);
    folders_begin(server, params);
    server_configure(server, NULL, NULL, 0);
    const char *trace = json_get_string(params, "trace", "off");
    server->trace = strcmp(trace, "verbose") == 0 ? 2 : strcmp(trace, "messages") == 0;
    server_watch_client(server, json_get_int(params, "processId", 0));
    server->state = SERVER_RUNNING;
    Json *result = json_object(arena), *info = json_object(arena);
    json_set_string(info, "name", "tad-lsp");
    json_set_string(info, "version", TAD_VERSION);
    json_set(result, "capabilities", capabilities_json(arena, server));
    json_set(result, "serverInfo", info);
    return result;
}

Json *handle_initialized(Request *request) {
    client_register(request->server);
    client_ask_configuration(request->server);
    if (blackbox_generation(request->server->blackbox)) client_refresh(request->server, true, true);
    return NULL;
}

// --- Settings

void server_recheck(Server *server) {
    for (int i = 0; i < server->documents.by_uri.count; i++) {
        Document *document = server->documents.by_uri.entries[i].value;
        if (document) publish_document(server, document);
    }
}

static const Json *section_of(const char *path, const FolderSection *sections, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(sections[i].path, path) == 0) return sections[i].section;
    return NULL;
}

void server_configure(Server *server, const Json *section, const FolderSection *folders,
                      int folder_count) {
    Arena *arena = arena_new();
    Error complaint = NULL;
    const Json *initial = server->initial_settings;
    Configuration *fresh = configuration_new(section, initial, arena, &complaint);
    for (LIST_EACH(int, i, server->folders)) {
        const char *path = server->folders.items[i];
        FolderSection folder = {path, section_of(path, folders, folder_count)};
        configuration_add_folder(fresh, folder, section, initial, arena, &complaint);
    }
    if (!server->is_trusted) configuration_distrust(fresh);
    configuration_release(server->configuration);
    server->configuration = fresh;
    if (complaint) client_show_message(server, 2, complaint);
    arena_free(arena);
    if (!server->documents.open_count) return;
    server_recheck(server);
    client_refresh(server, true, true);
}

/// With the settings as they were, for other folders.
static void configure_again(Server *server) {
    const Configuration *old = server->configuration;
    Arena *arena = arena_new();
    FolderSection *sections = ARENA_ARRAY(arena, FolderSection, old->folders.count + 1);
    for (LIST_EACH(int, i, old->folders))
        sections[i] = (FolderSection){arena_strdup(arena, old->folders.items[i]->folder),
                                      old->folders.items[i]->section};
    server_configure(server, old->section, sections, old->folders.count);
    arena_free(arena);
}

Json *handle_did_change_configuration(Request *request) {
    const Json *settings = json_get(request->params, "settings");
    const Json *section = json_get(settings, "tad");
    if (request->server->client.configuration)
        client_ask_configuration(request->server);
    else
        server_configure(request->server, section ? section : settings, NULL, 0);
    return NULL;
}

static Json *forget_settings_work(Request *request) {
    fast_queue_forget_settings(request->server->queue);
    return NULL;
}

/// What the overlay and the queues are told of files on disk.
typedef struct FileNews {
    bool has_changed;   // Python files
    bool has_appeared;  // some that were missed
    bool has_settings;
} FileNews;

static void news_tell(Server *server, FileNews news) {
    if (news.has_settings) {
        overlay_relist(server->overlay);  // packages may be elsewhere now
        Request *request = request_new(server, arena_new());
        request->work = forget_settings_work;
        request_start(request, QUEUE_FAST);
    }
    if (news.has_appeared || news.has_settings)
        server_recheck(server);
    else if (news.has_changed)
        server_recheck_importers(server);
}

/// A text that is left alone is tried again; not where it is only told again.
static void file_is_new(Server *server, const char *uri) {
    if (!server->is_retold) blackbox_forget(server->blackbox, uri);
}

static void news_add(Server *server, FileNews *news, const char *uri, bool is_new) {
    if (!documents_find(&server->documents, uri)) file_is_new(server, uri);
    Arena *scratch = arena_new();
    const char *path = path_real(scratch, path_of_uri(scratch, uri));
    if (*path && str_ends(str_from(uri), ".py")) {
        overlay_touch(server->overlay, path);
        news->has_changed = true;
        if (is_new && overlay_appear(server->overlay, path)) news->has_appeared = true;
    }
    if (str_ends(str_from(uri), "/pyproject.toml")) news->has_settings = true;
    arena_free(scratch);
}

Json *handle_did_change_watched_files(Request *request) {
    enum { TYPE_CREATED = 1 };
    const Json *changes = json_get(request->params, "changes");
    FileNews news = {0};
    for (int i = 0; changes && changes->kind == JSON_ARRAY && i < changes->count; i++)
        news_add(request->server, &news, json_get_string(changes->items[i], "uri", ""),
                 json_get_int(changes->items[i], "type", 0) == TYPE_CREATED);
    news_tell(request->server, news);
    return NULL;
}

Json *handle_did_change_workspace_folders(Request *request) {
    Server *server = request->server;
    const Json *event = json_get(request->params, "event");
    folders_remove(server, json_get(event, "removed"));
    folders_add(server, json_get(event, "added"));
    configure_again(server);
    client_ask_configuration(server);  // for what the new ones have of their own
    return NULL;
}

Json *handle_shutdown(Request *request) {
    request->server->state = SERVER_SHUT_DOWN;
    return NULL;
}

Json *handle_exit(Request *request) {
    enum { PATIENCE_MS = 1000 };
    request->server->saw_exit = true;
    server_leave(request->server, PATIENCE_MS);
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

/// Those that import the file see its new text, or for NULL what is on disk.
static void document_show(Server *server, const Document *document, Text *text) {
    if (!*document->file) return;
    overlay_set(server->overlay, document->file, document->uri, text);
    if (overlay_is_imported(server->overlay, document->file)) server_recheck_importers(server);
}

static void document_set(Server *server, Document *document, Text *text) {
    publish_forget_late(document);
    if (document->text != text) text_release(document->text);
    document->text = text;
    atomic_store(&document->queue->newest, text->version);
    publish_document(server, document);
    document_show(server, document, text);
}

/// A module that is not on disk is there for its importers while it is open.
static void document_appear(Server *server, const Document *document) {
    if (!*document->file || file_exists(document->file)) return;
    if (overlay_appear(server->overlay, document->file)) server_recheck(server);
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
    file_is_new(server, uri);
    Text *fresh = text_new(uri, text->string, json_get_int(item, "version", 0));
    Document *document = documents_find(&server->documents, uri);
    if (!document) {
        document = documents_open(&server->documents, uri, fresh);
        document->queue = queue_document_new(uri);
        document->file = path_real(document->arena, document->queue->path);
    }
    document_set(server, document, fresh);
    document_appear(server, document);
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
    int version = json_get_int(json_get(request->params, "textDocument"), "version",
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

/// Watched files tell the same, where the client watches them; else any file may have changed meanwhile.
Json *handle_did_save(Request *request) {
    const Document *document = find_open(request);
    if (!document || request->server->client.watched_files) return NULL;
    overlay_relist(request->server->overlay);
    server_recheck(request->server);
    return NULL;
}

Json *handle_did_close(Request *request) {
    Document *document = find_open(request);
    if (!document) return NULL;
    file_is_new(request->server, document->uri);
    publish_forget_late(document);
    publish_nothing(request->server, document->uri);
    document_show(request->server, document, NULL);
    Request *close = request_new(request->server, arena_new());
    close->document = document->queue;  // its count goes with the request
    queue_document_close(close);
    documents_close(&request->server->documents, document);
    return NULL;
}
