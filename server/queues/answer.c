// Offsets and texts of features as JSON.
#include "server/queues/answer.h"

#include <string.h>

#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/report/ours.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/text/overlay.h"

bool position_offset(Request *request, const Json *json, uint32_t *offset) {
    LinePosition position;
    if (!position_read(json, &position)) {
        request_fail(request, ERROR_INVALID_PARAMS, "a position has a line and a character");
        return false;
    }
    *offset = lines_offset(&request->text->lines, request->text->text,
                           request->server->client.encoding, position);
    return true;
}

const Snapshot *request_snapshot_at(Request *request, uint32_t *offset) {
    if (!position_offset(request, json_get(request->params, "position"), offset)) return NULL;
    return request_snapshot(request);
}

Json *offset_json(Request *request, uint32_t offset) {
    return position_json(request->arena, lines_position(&request->text->lines, request->text->text,
                                                        request->server->client.encoding, offset));
}

/// Our own Markdown without its signs: fences, emphasis, rules and the spaces that break lines. Code keeps its stars.
static const char *plain_text(Arena *arena, const char *markdown) {
    Buffer out = buffer_new(arena);
    bool in_fence = false;
    for (const char *line = markdown, *next; *line; line = next) {
        const char *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        if (strncmp(line, "```", 3) == 0) {
            in_fence = !in_fence;
            continue;
        }
        if (!in_fence && strncmp(line, "---", 3) == 0) continue;
        bool in_code = in_fence;
        while (end > line && end[-1] == ' ') end--;
        for (const char *at = line; at < end; at++) {
            bool is_tick = !in_fence && *at == '`';
            if (is_tick)
                in_code = !in_code;
            else if (!in_code && at[0] == '*' && at[1] == '*')
                at++;
            else
                buffer_putc(&out, *at);
        }
        buffer_putc(&out, '\n');
    }
    return str_dup(arena, str_trim((Str){buffer_text(&out), out.size}));
}

Json *markup_json(Request *request, const char *markdown) {
    Json *json = json_object(request->arena);
    bool is_markdown = request->server->client.markdown;
    json_set_string(json, "kind", is_markdown ? "markdown" : "plaintext");
    json_set_string(json, "value", is_markdown ? markdown : plain_text(request->arena, markdown));
    return json;
}

int symbol_kind_number(SymbolKind kind) {
    enum { KIND_FUNCTION = 12, KIND_VARIABLE = 13, KIND_CONSTANT = 14 };
    static const int numbers[] = {
        [SYMBOL_KERNEL] = KIND_FUNCTION,    [SYMBOL_HELPER] = KIND_FUNCTION,
        [SYMBOL_LAUNCHER] = KIND_FUNCTION,  [SYMBOL_CONSTANT] = KIND_CONSTANT,
        [SYMBOL_PARAMETER] = KIND_VARIABLE, [SYMBOL_TILE] = KIND_VARIABLE,
    };
    return numbers[kind];
}

// --- Edits

static const char ANNOTATION[] = "tad";

EditWriter edit_writer_new(Request *request) {
    return (EditWriter){.request = request, .files = json_array(request->arena)};
}

void edit_annotate(EditWriter *writer, const char *label, const char *description,
                   bool needs_confirmation) {
    const Client *client = &writer->request->server->client;
    if (!client->annotations || !client->document_changes || !label) return;
    Arena *arena = writer->request->arena;
    Json *annotation = json_object(arena);
    json_set_string(annotation, "label", label);
    if (description) json_set_string(annotation, "description", description);
    json_set_bool(annotation, "needsConfirmation", needs_confirmation);
    writer->annotations = json_object(arena);
    json_set(writer->annotations, ANNOTATION, annotation);
    writer->annotation = ANNOTATION;
}

static Json *text_edit_json(const EditWriter *writer, Json *range, Str text) {
    Arena *arena = writer->request->arena;
    Json *json = json_object(arena);
    json_set(json, "range", range);
    json_set(json, "newText", json_str(arena, text));
    if (writer->annotation) json_set_string(json, "annotationId", writer->annotation);
    return json;
}

static Json *edits_of_document(EditWriter *writer) {
    Request *request = writer->request;
    const char *uri = request->document->uri;
    for (LIST_EACH(int, i, writer->documents))
        if (strcmp(writer->documents.items[i].uri, uri) == 0)
            return writer->documents.items[i].edits;
    DocumentEdits document = {arena_strdup(request->arena, uri), request_version_json(request),
                              json_array(request->arena)};
    LIST_PUSH(request->arena, &writer->documents, document);
    return document.edits;
}

void edit_replace(EditWriter *writer, const Snapshot *snapshot, Range range, Str text) {
    Json *place = request_range_json(writer->request, snapshot, range);
    json_push(edits_of_document(writer), text_edit_json(writer, place, text));
}

static Json *document_edit_json(Arena *arena, const char *uri, Json *version, Json *edits) {
    Json *json = json_object(arena), *document = json_object(arena);
    json_set_string(document, "uri", uri);
    json_set(document, "version", version);
    json_set(json, "textDocument", document);
    json_set(json, "edits", edits);
    return json;
}

/// What the file holds: the text of an open one, which gives its URI, or the one on disk. From start to start where there is none.
static Json *whole_file_json(const Request *request, const char *path, const char **uri) {
    Arena *arena = request->arena;
    const Server *server = request->server;
    Text *open = overlay_open_text(server->overlay, arena, path, uri);
    Str held = {"", 0};
    if (open)
        held = open->text;
    else if (file_read(arena, path, &held))
        held = (Str){"", 0};
    Lines lines = lines_of(arena, held);
    LinePosition end = lines_position(&lines, held, server->client.encoding, (uint32_t)held.size);
    text_release(open);
    return span_json(arena, (LinePosition){0, 0}, end);
}

Error edit_refuse_file(const Request *request, const char *path) {
    static const char way_out[] = "move it away, or generate the backward below the kernel instead";
    Arena *arena = request->arena;
    const char *uri, *real, *own = request->document->path;
    Text *open = overlay_open_text(request->server->overlay, arena, path_real(arena, path), &uri);
    bool is_ours = open && (!open->text.size || module_is_ours(arena, open->text));
    bool is_open = open != NULL;
    text_release(open);
    if (is_open && !is_ours)
        return arena_printf(arena, "%s: exists and was not written by tad-lsp; %s", path, way_out);
    const char *folder = configuration_for(request->configuration, own)->folder;
    Output output = {.path = path,
                     .root = folder ? folder : path_folder(arena, own),
                     .is_ours = module_is_ours,
                     .is_forced = is_open,
                     .inputs = &own,
                     .input_count = 1,
                     .way_out = way_out};
    return output_refuse(arena, &output, &real);
}

void edit_new_file(EditWriter *writer, const char *path, const char *text) {
    const Client *client = &writer->request->server->client;
    Arena *arena = writer->request->arena;
    const char *uri = uri_of_path(arena, path);
    Json *range = whole_file_json(writer->request, path, &uri), *edits = json_array(arena);
    // What is there is ours and gets another text; what is not there must still not be there when the editor makes it.
    if (client->resource_create && client->document_changes && !file_exists(path)) {
        Json *create = json_object(arena), *options = json_object(arena);
        json_set_string(create, "kind", "create");
        json_set_string(create, "uri", uri);
        json_set_bool(options, "overwrite", false);
        json_set_bool(options, "ignoreIfExists", false);
        json_set(create, "options", options);
        if (writer->annotation) json_set_string(create, "annotationId", writer->annotation);
        json_push(writer->files, create);
        range = span_json(arena, (LinePosition){0, 0}, (LinePosition){0, 0});
    }
    json_push(edits, text_edit_json(writer, range, str_from(text)));
    DocumentEdits document = {uri, json_null(arena), edits};
    if (client->document_changes)
        json_push(writer->files,
                  document_edit_json(arena, document.uri, document.version, document.edits));
    else
        LIST_PUSH(arena, &writer->documents, document);
}

Json *edit_finish(EditWriter *writer) {
    const Request *request = writer->request;
    Arena *arena = request->arena;
    Json *json = json_object(arena), *changes = json_object(arena);
    bool has_versions = request->server->client.document_changes;
    for (LIST_EACH(int, i, writer->documents)) {
        const DocumentEdits *document = &writer->documents.items[i];
        if (has_versions)
            json_push(writer->files,
                      document_edit_json(arena, document->uri, document->version, document->edits));
        else
            json_set(changes, document->uri, document->edits);
    }
    json_set(json, has_versions ? "documentChanges" : "changes",
             has_versions ? writer->files : changes);
    if (has_versions && writer->annotations)
        json_set(json, "changeAnnotations", writer->annotations);
    return json;
}
