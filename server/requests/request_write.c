// Requests of somebody who types: completion and signature help. On the fast queue.
#include <string.h>

#include "features/features.h"
#include "server/queues/answer.h"
#include "server/queues/beside.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/settings/settings_completion.h"

static int completion_kind_number(CompletionKind kind) {
    // CompletionItemKind of the protocol.
    static const int numbers[] = {
        [COMPLETION_OPERATION] = 3,  [COMPLETION_METHOD] = 2,   [COMPLETION_DTYPE] = 22,
        [COMPLETION_NAMESPACE] = 9,  [COMPLETION_VARIABLE] = 6, [COMPLETION_KEYWORD_ARGUMENT] = 5,
        [COMPLETION_CONSTEXPR] = 21, [COMPLETION_FUNCTION] = 3, [COMPLETION_VALUE] = 12,
        [COMPLETION_DIRECTIVE] = 14,
    };
    return numbers[kind];
}

/// A snippet's text without its `$1` and `${1:name}`.
static const char *snippet_plain(Arena *arena, const char *snippet) {
    Buffer plain = buffer_new(arena);
    for (const char *at = snippet; *at; at++) {
        if (*at == '\\' && at[1]) {
            buffer_putc(&plain, *++at);
        } else if (*at == '$' && at[1] == '{') {
            const char *colon = at + strcspn(at, ":}");
            at = *colon == ':' ? colon : colon - (*colon == 0);
        } else if (*at == '$') {
            while (at[1] >= '0' && at[1] <= '9') at++;
        } else if (*at != '}') {
            buffer_putc(&plain, *at);
        }
    }
    return buffer_text(&plain);
}

/// What the item puts in place of `replace`, as briefly as the client understands it.
static void set_edit(Request *request, Json *json, const CompletionItem *item, Json *replace) {
    Arena *arena = request->arena;
    const Client *client = &request->server->client;
    const char *text = item->insert ? item->insert : item->label;
    if (item->is_snippet && !client->snippets) text = snippet_plain(arena, text);
    if (client->default_edit_range) {
        if (strcmp(text, item->label) != 0) json_set_string(json, "textEditText", text);
        return;
    }
    Json *edit = json_object(arena);
    json_set(edit, "range", replace);
    json_set_string(edit, "newText", text);
    json_set(json, "textEdit", edit);
}

static Json *completion_json(Request *request, const CompletionItem *item, Json *replace) {
    enum { FORMAT_SNIPPET = 2, TAG_DEPRECATED = 1 };
    Arena *arena = request->arena;
    const Client *client = &request->server->client;
    Json *json = json_object(arena);
    json_set_string(json, "label", item->label);
    json_set_number(json, "kind", completion_kind_number(item->kind));
    bool is_operation = item->kind == COMPLETION_OPERATION || item->kind == COMPLETION_METHOD;
    if (item->detail && !(is_operation && client->resolves_detail))
        json_set_string(json, "detail", item->detail);
    if (item->sort) json_set_string(json, "sortText", item->sort);
    if (item->is_snippet && client->snippets)
        json_set_number(json, "insertTextFormat", FORMAT_SNIPPET);
    if (item->is_deprecated) {
        Json *tags = json_array(arena);
        json_push(tags, json_number(arena, TAG_DEPRECATED));
        json_set(json, "tags", tags);
    }
    set_edit(request, json, item, replace);
    if (item->key) {
        Json *data = json_object(arena);
        json_set_string(data, "key", item->key);
        json_set(json, "data", data);
    }
    return json;
}

/// Words of `[tool.tad]`.
static Json *complete_settings(Request *request) {
    enum { KIND_PROPERTY = 10, KIND_VALUE = 12 };
    Arena *arena = request->arena;
    uint32_t offset;
    if (!position_offset(request, json_get(request->params, "position"), &offset)) return NULL;
    SettingsWords words = settings_words(arena, request->text->text, offset);
    Json *range = json_object(arena), *items = json_array(arena), *result = json_object(arena);
    json_set(range, "start", offset_json(request, words.start));
    json_set(range, "end", offset_json(request, words.end));
    for (LIST_EACH(int, i, words.list)) {
        const SettingsWord *word = &words.list.items[i];
        Json *item = json_object(arena), *edit = json_object(arena);
        json_set_string(item, "label", word->label);
        json_set_number(item, "kind", word->is_key ? KIND_PROPERTY : KIND_VALUE);
        if (*word->detail) json_set_string(item, "detail", word->detail);
        json_set(edit, "range", range);
        json_set_string(edit, "newText", word->insert);
        json_set(item, "textEdit", edit);
        json_push(items, item);
    }
    json_set_bool(result, "isIncomplete", false);
    json_set(result, "items", items);
    return result;
}

/// Whether a server for Python completes that as well: what is in scope, and the language's names where it finds Triton.
static bool others_have(const Request *request, const CompletionItem *item, bool has_triton) {
    switch (item->kind) {
    case COMPLETION_VARIABLE:
    case COMPLETION_CONSTEXPR:
    case COMPLETION_FUNCTION: return request_is_beside(request);
    case COMPLETION_OPERATION:
    case COMPLETION_DTYPE:
    case COMPLETION_NAMESPACE:
    case COMPLETION_KEYWORD_ARGUMENT: return has_triton;
    case COMPLETION_METHOD:
    case COMPLETION_VALUE:
    case COMPLETION_DIRECTIVE: return false;
    }
    return false;
}

Json *handle_completion(Request *request) {
    Arena *arena = request->arena;
    uint32_t offset;
    if (!request->configuration->completion) return NULL;
    if (request->text->is_settings) return complete_settings(request);
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Completions completions = completions_at(arena, snapshot, offset);
    bool has_triton = request_is_beside_triton(request);
    Json *result = json_object(arena), *items = json_array(arena);
    Range range = completions.replace;
    if (!range.source) range = (Range){snapshot->source, offset, offset};
    Json *replace = request_range_json(request, snapshot, range);
    for (LIST_EACH(int, i, completions.list))
        if (!others_have(request, &completions.list.items[i], has_triton))
            json_push(items, completion_json(request, &completions.list.items[i], replace));
    json_set_bool(result, "isIncomplete", false);
    if (request->server->client.default_edit_range) {
        Json *defaults = json_object(arena);
        json_set(defaults, "editRange", replace);
        json_set(result, "itemDefaults", defaults);
    }
    json_set(result, "items", items);
    return result;
}

Json *handle_completion_resolve(Request *request) {
    const char *key = json_get_string(json_get(request->params, "data"), "key", NULL);
    if (!request->params || request->params->kind != JSON_OBJECT) {
        request_fail(request, ERROR_INVALID_PARAMS, "the params are a completion item");
        return NULL;
    }
    Json *item = json_copy(request->arena, request->params);
    const char *detail = key ? completion_detail(request->arena, key) : NULL;
    if (detail) json_set_string(item, "detail", detail);
    const char *documentation = key ? completion_documentation(request->arena, key) : NULL;
    if (documentation) json_set(item, "documentation", markup_json(request, documentation));
    return item;
}

/// Offsets in a label count as the agreed encoding counts.
static Json *label_offset(Request *request, const char *label, uint32_t bytes) {
    Str text = str_from(label);
    uint32_t start = 0;
    Lines line = {&start, 1};
    Encoding encoding = request->server->client.encoding;
    return json_number(request->arena, lines_position(&line, text, encoding, bytes).character);
}

static Json *parameter_json(Request *request, const Signature *signature,
                            const SignatureParameter *parameter) {
    Arena *arena = request->arena;
    Json *json = json_object(arena), *label = json_array(arena);
    json_push(label, label_offset(request, signature->label, parameter->start));
    json_push(label, label_offset(request, signature->label, parameter->end));
    json_set(json, "label", label);
    if (parameter->documentation)
        json_set(json, "documentation", markup_json(request, parameter->documentation));
    return json;
}

Json *handle_signature_help(Request *request) {
    Arena *arena = request->arena;
    uint32_t offset;
    if (!request->configuration->signatures) return NULL;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    Signature signature = signature_at(arena, snapshot, offset);
    if (!signature.label) return NULL;
    bool is_of_language = str_starts(str_from(signature.label), "tl.");
    if (is_of_language && request_is_beside_triton(request)) return NULL;
    Json *json = json_object(arena), *parameters = json_array(arena);
    json_set_string(json, "label", signature.label);
    if (signature.documentation)
        json_set(json, "documentation", markup_json(request, signature.documentation));
    for (LIST_EACH(int, i, signature.parameters))
        json_push(parameters, parameter_json(request, &signature, &signature.parameters.items[i]));
    json_set(json, "parameters", parameters);
    Json *result = json_object(arena), *signatures = json_array(arena);
    json_push(signatures, json);
    json_set(result, "signatures", signatures);
    json_set_number(result, "activeSignature", 0);
    // Without an active parameter: one past the last, which clients show as none.
    int active = signature.active >= 0 ? signature.active : signature.parameters.count;
    json_set_number(result, "activeParameter", active);
    return result;
}
