// Messages in; of each the part that still counts is kept, in an arena of its own.
#include "server/crash/recollection.h"

#include <string.h>

#include "base/list.h"

typedef struct Kept {
    Arena *arena;
    const Json *json;  // NULL: nothing
} Kept;

/// A request of the client that is not answered yet, or work that it shows as going on.
typedef struct Waiting {
    Arena *arena;
    const Json *name;     // the request's id, the work's token
    const char *printed;  // the name, as the server prints it
    const char *method;
    struct Waiting *next;
} Waiting;

struct Recollection {
    Arena *arena;
    Documents documents;
    Encoding encoding;
    Kept initialize, initialized, configuration, trace;
    LIST(Kept) folders;  // every change of them
    Waiting *requests, *progress;
    bool is_initialized;  // the client has the answer
    bool is_over;
};

Recollection *recollection_new(void) {
    Arena *arena = arena_new();
    Recollection *recollection = ARENA_NEW(arena, Recollection);
    *recollection = (Recollection){.arena = arena, .documents = documents_new(arena)};
    return recollection;
}

static void waiting_add(Waiting **list, const Json *name, const char *method) {
    Arena *arena = arena_new();
    Waiting *waiting = ARENA_NEW(arena, Waiting);
    *waiting = (Waiting){arena, json_copy(arena, name), json_print(arena, name, false),
                         arena_strdup(arena, method), *list};
    *list = waiting;
}

/// Takes the first of that name out of the list; NULL where there is none.
static Waiting *waiting_take(Waiting **list, Str printed) {
    for (Waiting **link = list; *link; link = &(*link)->next) {
        Waiting *waiting = *link;
        if (!str_is(printed, waiting->printed)) continue;
        *link = waiting->next;
        return waiting;
    }
    return NULL;
}

static void waiting_free(Waiting *waiting) {
    if (waiting) arena_free(waiting->arena);
}

static void waiting_free_all(Waiting **list) {
    while (*list) waiting_free(waiting_take(list, str_from((*list)->printed)));
}

void recollection_free(Recollection *recollection) {
    const Map *documents = &recollection->documents.by_uri;
    for (int i = 0; i < documents->count; i++)
        if (documents->entries[i].value)
            documents_close(&recollection->documents, documents->entries[i].value);
    waiting_free_all(&recollection->requests);
    waiting_free_all(&recollection->progress);
    arena_free(recollection->initialize.arena);
    arena_free(recollection->initialized.arena);
    arena_free(recollection->configuration.arena);
    arena_free(recollection->trace.arena);
    for (LIST_EACH(int, i, recollection->folders)) arena_free(recollection->folders.items[i].arena);
    arena_free(recollection->arena);
}

bool recollection_is_over(const Recollection *recollection) { return recollection->is_over; }

// --- What the client says

static void keep(Kept *kept, const Json *message) {
    arena_free(kept->arena);
    kept->arena = arena_new();
    kept->json = json_copy(kept->arena, message);
}

static void take_initialize(Recollection *recollection, const Json *message) {
    if (recollection->initialize.json) return;
    keep(&recollection->initialize, message);
    recollection->encoding = encoding_choose(json_get(json_get(message, "params"), "capabilities"));
}

static void take_initialized(Recollection *recollection, const Json *message) {
    keep(&recollection->initialized, message);
}

static void take_configuration(Recollection *recollection, const Json *message) {
    keep(&recollection->configuration, message);
}

static void take_trace(Recollection *recollection, const Json *message) {
    keep(&recollection->trace, message);
}

static void take_folders(Recollection *recollection, const Json *message) {
    Kept kept = {0};
    keep(&kept, message);
    LIST_PUSH(recollection->arena, &recollection->folders, kept);
}

static const Json *document_of(const Json *message) {
    return json_get(json_get(message, "params"), "textDocument");
}

static Document *find(const Recollection *recollection, const Json *message) {
    return documents_find(&recollection->documents,
                          json_get_string(document_of(message), "uri", ""));
}

static void take_open(Recollection *recollection, const Json *message) {
    const Json *item = document_of(message), *text = json_get(item, "text");
    const char *uri = json_get_string(item, "uri", NULL);
    if (!uri || !text || text->kind != JSON_STRING) return;
    Document *open = find(recollection, message);
    if (open) documents_close(&recollection->documents, open);
    Text *fresh = text_new(uri, text->string, json_get_int(item, "version", 0));
    documents_open(&recollection->documents, uri, fresh);
}

static void take_change(Recollection *recollection, const Json *message) {
    Document *document = find(recollection, message);
    if (!document) return;
    int version = json_get_int(document_of(message), "version", document->text->version + 1);
    Error error = NULL;
    Text *text = text_edit(document->text, json_get(json_get(message, "params"), "contentChanges"),
                           recollection->encoding, version, &error);
    if (!text) return;
    text_release(document->text);
    document->text = text;
}

static void take_close(Recollection *recollection, const Json *message) {
    Document *document = find(recollection, message);
    if (document) documents_close(&recollection->documents, document);
}

static void take_end(Recollection *recollection, const Json *message) {
    (void)message;
    recollection->is_over = true;
}

void recollect_client(Recollection *recollection, const Json *message) {
    static const struct {
        const char *method;
        void (*take)(Recollection *, const Json *);
    } rows[] = {
        {"initialize", take_initialize},
        {"initialized", take_initialized},
        {"textDocument/didOpen", take_open},
        {"textDocument/didChange", take_change},
        {"textDocument/didClose", take_close},
        {"workspace/didChangeConfiguration", take_configuration},
        {"workspace/didChangeWorkspaceFolders", take_folders},
        {"$/setTrace", take_trace},
        {"shutdown", take_end},
        {"exit", take_end},
    };
    const char *method = json_get_string(message, "method", NULL);
    const Json *id = json_get(message, "id");
    if (!method) return;
    if (id && (id->kind == JSON_NUMBER || id->kind == JSON_STRING))
        waiting_add(&recollection->requests, id, method);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].method, method) == 0) rows[i].take(recollection, message);
}

// --- What the server says

/// The server's messages begin with their id or their method: enough to know what they are.
typedef struct Head {
    Str id, method;  // as printed; empty for none
} Head;

/// The string or number at the beginning of `text`, as printed.
static Str value_at(Str text) {
    size_t end = 0;
    if (text.size && text.data[0] == '"') {
        for (end = 1; end < text.size && text.data[end] != '"'; end++)
            if (text.data[end] == '\\') end++;
        end++;
    } else {
        while (end < text.size && text.data[end] != ',' && text.data[end] != '}') end++;
    }
    return (Str){text.data, end < text.size ? end : text.size};
}

static bool skip(Str *text, const char *prefix) {
    size_t size = strlen(prefix);
    if (!str_starts(*text, prefix)) return false;
    *text = (Str){text->data + size, text->size - size};
    return true;
}

static Head head_of(Str body) {
    Head head = {{NULL, 0}, {NULL, 0}};
    skip(&body, "{\"jsonrpc\":\"2.0\",");
    if (skip(&body, "\"id\":")) {
        head.id = value_at(body);
        body = (Str){body.data + head.id.size, body.size - head.id.size};
        skip(&body, ",");
    }
    if (skip(&body, "\"method\":")) head.method = value_at(body);
    return head;
}

static void take_answer(Recollection *recollection, Str id) {
    Waiting *request = waiting_take(&recollection->requests, id);
    if (request && strcmp(request->method, "initialize") == 0) recollection->is_initialized = true;
    waiting_free(request);
}

static void take_progress(Recollection *recollection, Str body) {
    Arena *arena = arena_new();
    Error error = NULL;
    const Json *params = json_get(json_parse(arena, body, &error), "params");
    const Json *token = json_get(params, "token");
    const char *kind = json_get_string(json_get(params, "value"), "kind", "");
    if (token && strcmp(kind, "begin") == 0) waiting_add(&recollection->progress, token, "");
    if (token && strcmp(kind, "end") == 0)
        waiting_free(
            waiting_take(&recollection->progress, str_from(json_print(arena, token, false))));
    arena_free(arena);
}

void recollect_server(Recollection *recollection, Str body) {
    Head head = head_of(body);
    if (str_is(head.method, "\"$/progress\"")) take_progress(recollection, body);
    if (!head.method.size && head.id.size) take_answer(recollection, head.id);
}

// --- Between two servers

static Json *message_new(Arena *arena) {
    Json *message = json_object(arena);
    json_set_string(message, "jsonrpc", "2.0");
    return message;
}

static Json *excuse_of(Arena *arena, const Waiting *request) {
    Json *message = message_new(arena), *error = json_object(arena);
    json_set(message, "id", json_copy(arena, request->name));
    if (strcmp(request->method, "shutdown") == 0) {
        json_set(message, "result", json_null(arena));
        return message;
    }
    bool is_wanted = strcmp(request->method, "workspace/executeCommand") == 0;
    json_set_number(error, "code", is_wanted ? ERROR_INTERNAL_ERROR : ERROR_CONTENT_MODIFIED);
    json_set_string(error, "message", "the server crashed and was started again");
    json_set(message, "error", error);
    return message;
}

static Json *end_of_progress(Arena *arena, const Json *token) {
    Json *message = message_new(arena), *params = json_object(arena), *value = json_object(arena);
    json_set_string(value, "kind", "end");
    json_set_string(value, "message", "the server crashed");
    json_set(params, "token", json_copy(arena, token));
    json_set(params, "value", value);
    json_set_string(message, "method", "$/progress");
    json_set(message, "params", params);
    return message;
}

void recollection_excuse(Recollection *recollection, MessageSink *client, void *context) {
    Arena *arena = arena_new();
    for (const Waiting *work = recollection->progress; work; work = work->next)
        client(context, end_of_progress(arena, work->name));
    waiting_free_all(&recollection->progress);
    Waiting *told_again = NULL;
    while (recollection->requests) {
        Waiting *request =
            waiting_take(&recollection->requests, str_from(recollection->requests->printed));
        if (strcmp(request->method, "initialize") == 0 && !recollection->is_over) {
            request->next = told_again;
            told_again = request;
        } else {
            client(context, excuse_of(arena, request));
            waiting_free(request);
        }
    }
    recollection->requests = told_again;
    arena_free(arena);
}

static Json *open_message(Arena *arena, const Document *document) {
    Json *message = message_new(arena), *params = json_object(arena), *item = json_object(arena);
    json_set_string(item, "uri", document->uri);
    json_set_string(item, "languageId", "python");
    json_set_number(item, "version", document->text->version);
    json_set(item, "text", json_str(arena, document->text->text));
    json_set(params, "textDocument", item);
    json_set_string(message, "method", "textDocument/didOpen");
    json_set(message, "params", params);
    return message;
}

bool recollection_replay(const Recollection *recollection, MessageSink *server, void *context) {
    const Kept *kept[] = {&recollection->initialize, &recollection->initialized,
                          &recollection->configuration, &recollection->trace};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i]->json) server(context, kept[i]->json);
    for (LIST_EACH(int, i, recollection->folders))
        server(context, recollection->folders.items[i].json);
    const Map *documents = &recollection->documents.by_uri;
    for (int i = 0; i < documents->count; i++) {
        if (!documents->entries[i].value) continue;
        Arena *arena = arena_new();
        server(context, open_message(arena, documents->entries[i].value));
        arena_free(arena);
    }
    return recollection->is_initialized;
}
