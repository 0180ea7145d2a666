// Diagnostics to the client: made on the fast queue from the newest text, sent unless a newer one has come.
#include "server/gradients/publish.h"

#include <string.h>

#include "base/escape.h"
#include "server/gradients/gradients.h"
#include "server/queues/ahead.h"
#include "server/queues/beside.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/session/client.h"
#include "server/session/send.h"
#include "server/settings/wanted.h"

#define PUBLISH "textDocument/publishDiagnostics"

static Json *related_json(Request *request, const Snapshot *snapshot,
                          const Diagnostic *diagnostic) {
    Arena *arena = request->arena;
    Json *list = json_array(arena);
    for (int i = 0; i < diagnostic->related_count; i++) {
        const Related *related = &diagnostic->related[i];
        if (!related->range.source) continue;
        Json *json = json_object(arena);
        json_set(json, "location", location_json(request, snapshot, related->range));
        json_set_string(json, "message", lines_visible(arena, related->message));
        json_push(list, json);
    }
    return list;
}

/// DiagnosticTag: 1 unnecessary (shown faded), 2 deprecated (struck out).
static int tag_of(DiagnosticId id) {
    switch (id) {
    case DIAGNOSTIC_UNUSED_LOAD:
    case DIAGNOSTIC_UNUSED_IGNORE:
    case DIAGNOSTIC_MASK_ALWAYS_TRUE: return 1;
    case DIAGNOSTIC_REMOVED_OPERATION: return 2;
    default: return 0;
    }
}

/// `"code"` and `"codeDescription"`, the name and the page of the diagnostic.
static void code_write(const Request *request, const DiagnosticRow *row, Buffer *text) {
    const char *docs_url = request->configuration->docs_url;
    buffer_puts(text, ",\"code\":\"");
    buffer_puts(text, row->name);
    buffer_puts(text, "\"");
    if (!request->server->client.code_description || !*docs_url) return;
    buffer_puts(text, ",\"codeDescription\":{\"href\":");
    json_add_string(text, str_from(docs_url));
    text->size--;  // the page is named within the string
    buffer_puts(text, row->name);
    buffer_puts(text, ".md\"}");
}

/// One Diagnostic. Written as text: there may be hundreds of them at each key.
static void diagnostic_write(Request *request, const Snapshot *snapshot,
                             const Diagnostic *diagnostic, Buffer *text) {
    static const int severities[] = {1, 2, 3, 4};
    const DiagnosticRow *row = &diagnostic_rows[diagnostic->id];
    const Client *client = &request->server->client;
    buffer_puts(text, "{\"range\":");
    request_range_write(request, snapshot, diagnostic->range, text);
    buffer_puts(text, ",\"severity\":");
    buffer_put_int(text, severities[diagnostic->severity]);
    code_write(request, row, text);
    buffer_puts(text, ",\"source\":\"tad\",\"message\":");
    json_add_string(text, str_from(lines_visible(request->arena, diagnostic->message)));
    if (client->related_information && diagnostic->related_count) {
        buffer_puts(text, ",\"relatedInformation\":");
        json_add(text, related_json(request, snapshot, diagnostic), false);
    }
    if (tag_of(diagnostic->id)) {
        buffer_puts(text, ",\"tags\":[");
        buffer_put_int(text, tag_of(diagnostic->id));
        buffer_puts(text, "]");
    }
    if (client->diagnostic_data) {
        buffer_puts(text, ",\"data\":{\"family\":\"");
        buffer_puts(text, row->family);
        buffer_puts(text, "\"}");
    }
    buffer_puts(text, "}");
}

Json *diagnostic_json(Request *request, const Snapshot *snapshot, const Diagnostic *diagnostic) {
    Buffer text = buffer_new(request->arena);
    diagnostic_write(request, snapshot, diagnostic, &text);
    return json_text(&text);
}

/// Whether the caret is behind all that its line says, and `start` before it on the line.
static bool is_at_end_of_line(Str text, uint32_t caret, uint32_t start) {
    uint32_t end = caret;
    while (end < text.size && (text.data[end] == ' ' || text.data[end] == '\t')) end++;
    if (end < text.size && text.data[end] != '\n' && text.data[end] != '\r') return false;
    return start <= caret && !memchr(text.data + start, '\n', caret - start);
}

/// Half a name, or half a line, is no mistake: what is wrong with the word that is being typed, with the call around the caret
/// or with a line that is not ended yet waits for a pause.
static bool is_held(const Request *request, const Diagnostic *diagnostic) {
    uint32_t caret = request->text->caret;
    const Range *range = &diagnostic->range;
    Str text = request->text->text;
    if (!request->holds_caret || caret == NO_CARET || caret > text.size || range->end > text.size)
        return false;
    bool is_word = caret && caret == range->end && byte_is_word(text.data[caret - 1]);
    bool is_line = is_at_end_of_line(text, caret, range->start);
    if (diagnostic->severity == SEVERITY_WARNING)
        return is_word || (is_line && diagnostic->id == DIAGNOSTIC_UNDEFINED_NAME);
    bool is_around = range->start < caret && caret < range->end;
    return diagnostic->severity == SEVERITY_ERROR && (is_word || is_around || is_line);
}

/// Whether the last line that says something up to the caret is a decorator: what it stands above is still to come.
static bool is_decorating(Str text, uint32_t caret) {
    while (caret && strchr(" \t\r\n", text.data[caret - 1])) caret--;
    uint32_t start = caret;
    while (start && text.data[start - 1] != '\n') start--;
    while (start < caret && (text.data[start] == ' ' || text.data[start] == '\t')) start++;
    return start < caret && text.data[start] == '@';
}

/// Whether the text is one that only somebody who types passes through: a line that is not ended takes the next one with it.
static bool is_between(const Request *request, const Snapshot *snapshot) {
    uint32_t caret = request->text->caret;
    Str text = request->text->text;
    if (!request->holds_caret || caret == NO_CARET || caret > text.size) return false;
    // The parser takes the word after a point from the next line, too.
    bool is_at_point = caret && text.data[caret - 1] == '.';
    return is_at_point || snapshot->module->has_syntax_errors || is_decorating(text, caret);
}

static uint64_t said_name(const Diagnostic *diagnostic) {
    return map_hash(str_from(diagnostic->message)) + (uint64_t)diagnostic->id;
}

static bool was_said(const Said *said, const Diagnostic *diagnostic) {
    uint64_t name = said_name(diagnostic);
    for (int i = 0; i < said->count; i++)
        if (said->names[i] == name) return true;
    return false;
}

static void said_add(Said *said, const Diagnostic *diagnostic) {
    if (diagnostic->severity > SEVERITY_WARNING || said->count == SAID_MOST) return;
    said->names[said->count++] = said_name(diagnostic);
}

void diagnostics_write(Request *request, const Snapshot *snapshot, const Filter *filter,
                       const Diagnostics *diagnostics, Buffer *list) {
    bool between = is_between(request, snapshot);
    for (LIST_EACH(int, i, diagnostics->list)) {
        Diagnostic diagnostic = diagnostics->list.items[i];
        diagnostic.range = snapshot_range(snapshot, diagnostic.range);
        bool suppressed;
        if (diagnostic.is_of_python && request_is_beside(request)) continue;
        if (!filter_take(filter, &diagnostic, &suppressed)) continue;
        bool is_news = between && diagnostic.severity <= SEVERITY_WARNING &&
                       !was_said(&request->document->said, &diagnostic);
        if (is_news || is_held(request, &diagnostic)) {
            request->has_held = true;
            continue;
        }
        if (request->saying) said_add(request->saying, &diagnostic);
        if (list->size > 1) buffer_puts(list, ",");
        diagnostic_write(request, snapshot, &diagnostic, list);
    }
}

Json *diagnostics_json(Request *request, const Snapshot *snapshot, StaleList *stale) {
    enum { USUAL_BYTES = 300 };  // of one
    Arena *arena = request->arena;
    const Settings *settings = request_settings(request);
    Diagnostics checks = {.arena = arena};
    gradients_diagnose(request->server->gradients, arena, snapshot, request->document->uri, &checks,
                       stale);
    size_t count = (size_t)snapshot->diagnostics.list.count;
    Buffer list = buffer_sized(arena, 2 + USUAL_BYTES * count);
    buffer_puts(&list, "[");
    if (request->configuration->diagnostics &&
        !settings_exclude(settings, arena, request->document->path)) {
        Options options = request_options(request);
        Filter filter = filter_of(arena, settings, &options);
        diagnostics_write(request, snapshot, &filter, &snapshot->diagnostics, &list);
        diagnostics_write(request, snapshot, &filter, &checks, &list);
        Diagnostics comments = filter_comments(&filter, arena, snapshot);
        diagnostics_write(request, snapshot, &filter, &comments, &list);
    }
    buffer_puts(&list, "]");
    return json_text(&list);
}

struct LateDocument {
    Server *server;
    Document *document;
};
typedef struct LateDocument LateDocument;

static Json *publish_params(Arena *arena, const char *uri, Json *diagnostics) {
    Json *params = json_object(arena);
    json_set_string(params, "uri", uri);
    json_set(params, "diagnostics", diagnostics);
    return params;
}

/// Said at the first line of a text that was not analysed.
static Json *failure_json(Request *request) {
    enum { SEVERITY_IS_INFORMATION = 3 };
    Arena *arena = request->arena;
    Json *list = json_array(arena), *json = json_object(arena);
    LinePosition start = {0, 0};
    json_set(json, "range", span_json(arena, start, start));
    json_set_number(json, "severity", SEVERITY_IS_INFORMATION);
    json_set_string(json, "source", "tad");
    const char *failure = lines_visible(arena, request->document->failure);
    json_set_string(json, "message", arena_printf(arena, "not analysed: %s", failure));
    json_push(list, json);
    return list;
}

static Json *publish_work(Request *request) {
    fast_queue_adopt(request->server->queue, request->document);
    request->tries_launches = !request->holds_caret;
    const Snapshot *snapshot = request_snapshot(request);
    request->has_held = snapshot && snapshot->lacks_trials;
    request->ahead = queue_document_unread(request->document);
    StaleList *stale = request->context = ARENA_NEW(request->arena, StaleList);
    Said saying = {0};
    request->saying = &saying;
    Json *list = snapshot ? diagnostics_json(request, snapshot, stale) : failure_json(request);
    request->saying = NULL;
    request->document->said = saying;
    Json *params = publish_params(request->arena, request->document->uri, list);
    json_set_number(params, "version", request->text->version);
    request->framed = notification_frame(request->arena, PUBLISH, params);
    return params;
}

static void publish_late(void *context);

static void publish_finish(Request *request) {
    enum { PAUSE_MS = 700 };
    Server *server = request->server;
    Document *document = documents_find(&server->documents, request->document->uri);
    bool is_newest =
        document && document->queue == request->document && document->text == request->text;
    if (request->error) server_log(server, 1, "%s", request->error);
    if (is_newest && request->context)
        gradients_tell_stale(server, request->document->uri, request->text->version,
                             request->context);
    uint64_t shown = map_hash(request->framed);
    bool is_news = is_newest && !(request->is_for_news && document->shown == shown);
    if (is_newest) document->shown = shown;
    if (is_news && request->result && !server->client.pulls_diagnostics)
        server_notify_framed(server, PUBLISH, request->result, request->framed);
    if (is_newest) ahead_watch(server, document, request->ahead);
    if (is_newest && request->has_held && !document->late) {
        if (!document->late_context)
            document->late_context = ARENA_NEW(document->arena, LateDocument);
        *document->late_context = (LateDocument){server, document};
        document->late =
            timer_start(server->loop, PAUSE_MS, 0, publish_late, document->late_context);
    }
}

static void publish(Server *server, Document *document, bool holds_caret, bool is_for_news) {
    Request *request = request_new(server, arena_new());
    request->is_for_news = is_for_news;
    request_set_document(request, document->queue, document->text);
    request->is_for_newest = true;
    request->holds_caret = holds_caret && !server->client.pulls_diagnostics;
    request->work = publish_work;
    request->finish = publish_finish;
    request_start(request, QUEUE_FAST);
}

void publish_document(Server *server, Document *document) {
    publish(server, document, !document->is_late, false);
}

static void publish_late(void *context) {
    const LateDocument *late = context;
    publish_forget_late(late->document);
    late->document->is_late = true;  // until the next text
    publish(late->server, late->document, false, true);
}

bool publish_held(Server *server) {
    bool has_any = false;
    for (int i = 0; i < server->documents.by_uri.count; i++) {
        const Document *document = server->documents.by_uri.entries[i].value;
        if (!document || !document->late) continue;
        has_any = true;
        publish_late(document->late_context);
    }
    return has_any;
}

void publish_forget_late(Document *document) {
    timer_stop(document->late);
    document->late = NULL;
    document->is_late = false;
}

/// The result lists the URIs of documents to publish anew.
static Json *recheck_work(Request *request) {
    Json *list = json_array(request->arena);
    QueueDocuments stale = fast_queue_stale(request->server->queue, request->arena);
    for (LIST_EACH(int, i, stale))
        json_push(list, json_string(request->arena, stale.items[i]->uri));
    return list;
}

static void refresh_late(void *context) {
    Server *server = context;
    timer_stop(server->refresh_pause);
    server->refresh_pause = NULL;
    client_refresh(server, true, true);
}

static void recheck_finish(Request *request) {
    enum { PAUSE_MS = 300 };
    Server *server = request->server;
    const Json *list = request->result;
    for (int i = 0; list && i < list->count; i++) {
        Document *document =
            documents_find(&server->documents, str_dup(request->arena, list->items[i]->string));
        if (document) publish_document(server, document);
    }
    if (list && list->count && !server->refresh_pause)
        server->refresh_pause = timer_start(server->loop, PAUSE_MS, 0, refresh_late, server);
}

void server_recheck_importers(Server *server) {
    Request *request = request_new(server, arena_new());
    request->work = recheck_work;
    request->finish = recheck_finish;
    request_start(request, QUEUE_FAST);
}

void publish_nothing(Server *server, const char *uri) {
    Arena *arena = arena_new();
    server_notify(server, PUBLISH, publish_params(arena, uri, json_array(arena)));
    arena_free(arena);
}

// --- Pulled

/// Equal diagnostics have equal names.
static const char *result_name(Arena *arena, const Json *list) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *at = json_print(arena, list, false); *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);  // FNV-1a
    return arena_printf(arena, "%016llx", (unsigned long long)hash);
}

static void tell_stale(Request *request) {
    if (request->context)
        gradients_tell_stale(request->server, request->document->uri, request->text->version,
                             request->context);
}

Json *handle_pull_diagnostics(Request *request) {
    Arena *arena = request->arena;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    StaleList *stale = request->context = ARENA_NEW(arena, StaleList);
    request->finish = tell_stale;
    Json *list = diagnostics_json(request, snapshot, stale), *result = json_object(arena);
    const char *name = result_name(arena, list);
    const char *previous = json_get_string(request->params, "previousResultId", "");
    bool is_unchanged = strcmp(name, previous) == 0;
    json_set_string(result, "kind", is_unchanged ? "unchanged" : "full");
    json_set_string(result, "resultId", name);
    if (!is_unchanged) json_set(result, "items", list);
    return result;
}
