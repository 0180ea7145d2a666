// Requests that show what is there: hover, hints, tokens, outline, folding, selection. On the fast queue.
#include "server/session/token_memory.h"

#include <string.h>

#include "base/budget.h"
#include "features/features.h"
#include "server/gradients/gradients.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/timings.h"
#include "server/queues/answer.h"
#include "server/queues/beside.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/session/token_memory.h"

/// At the name of a kernel whose backward was derived in the background: by what its gradients are stored.
static const char *schedule_at(const Request *request, const Snapshot *snapshot, Range range) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range name = snapshot_range(snapshot, kernel->definition->name_range);
        if (name.start != range.start || name.end != range.end || !kernel->function) continue;
        return gradient_schedule(request->server->gradients, request->arena, request->document->uri,
                                 kernel->function->name, kernel_hash(snapshot, kernel));
    }
    return NULL;
}

Json *handle_hover(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    if (!request->configuration->hover) return NULL;
    Arena *arena = request->arena;
    Hover hover = request_is_beside_triton(request) ? hover_beside(arena, snapshot, offset)
                                                    : hover_at(arena, snapshot, offset);
    Range told;
    const char *taken =
        footprint_at(arena, snapshot, offset, request_settings(request)->card, &told);
    if (taken && !hover.markdown)
        hover = (Hover){.markdown = taken, .range = told};
    else if (taken)
        hover.markdown = arena_printf(arena, "%s\n\n%s", hover.markdown, taken);
    if (!hover.markdown) return NULL;
    Json *result = json_object(arena);
    const char *compiled = timing_of_line(request->server->timings, arena, request->document->uri,
                                          snapshot, range_line(hover.range));
    if (compiled)
        hover.markdown = arena_printf(arena, "%s\n\nCompiled, this line has %s (static counts)",
                                      hover.markdown, compiled);
    const char *schedule = schedule_at(request, snapshot, hover.range);
    if (schedule) hover.markdown = arena_printf(arena, "%s\n\n%s", hover.markdown, schedule);
    json_set(result, "contents", markup_json(request, hover.markdown));
    json_set(result, "range", request_range_json(request, snapshot, hover.range));
    return result;
}

// --- Inlay hints

static Json *hint_json(Request *request, const InlayHint *hint) {
    enum { KIND_TYPE = 1, KIND_PARAMETER = 2 };
    Arena *arena = request->arena;
    Json *json = json_object(arena), *data = json_object(arena);
    json_set(json, "position", offset_json(request, hint->offset));
    json_set_string(json, "label", hint->label);
    if (hint->is_cost)
        json_set_bool(json, "paddingLeft", true);
    else
        json_set_number(json, "kind", hint->is_parameter ? KIND_PARAMETER : KIND_TYPE);
    json_set_bool(data, "cost", hint->is_cost);
    json_set_string(data, "uri", request->document->uri);
    json_set_number(data, "offset", hint->offset);
    json_set_number(data, "version", request->text->version);
    json_set(json, "data", data);
    return json;
}

Json *handle_inlay_hint(Request *request) {
    uint32_t start, end;
    Arena *arena = request->arena;
    if (!request_range(request, json_get(request->params, "range"), &start, &end)) return NULL;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Json *list = json_array(arena);
    if (!request->configuration->inlay_hints) return list;
    InlayHints hints = inlay_hints(arena, snapshot, start, end);
    const Configuration *wanted = request->configuration;
    for (LIST_EACH(int, i, hints.list)) {
        const InlayHint *hint = &hints.list.items[i];
        if (hint->is_parameter ? wanted->parameter_hints : wanted->type_hints)
            json_push(list, hint_json(request, hint));
    }
    if (!request->configuration->cost_hints) return list;
    InlayHints costs = cost_hints(arena, snapshot, start, end);
    for (LIST_EACH(int, i, costs.list)) json_push(list, hint_json(request, &costs.list.items[i]));
    return list;
}

Json *handle_inlay_hint_resolve(Request *request) {
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Json *hint = json_copy(request->arena, request->params);
    const Json *data = json_get(request->params, "data");
    if (json_get_int(data, "version", -1) != request->text->version) {
        request_fail(request, ERROR_CONTENT_MODIFIED, "the text has changed since");
        return NULL;
    }
    uint32_t offset = (uint32_t)json_get_number(data, "offset", 0);
    if (offset > request->text->text.size) offset = (uint32_t)request->text->text.size;
    const char *tooltip = json_get_bool(data, "cost", false)
                              ? cost_hint_tooltip()
                              : inlay_hint_tooltip(request->arena, snapshot, offset);
    if (tooltip) json_set(hint, "tooltip", markup_json(request, tooltip));
    return hint;
}

// --- Semantic tokens

typedef struct Numbers {
    uint32_t *items;
    int count;
} Numbers;

static Numbers tokens_encode(Request *request, const Tokens *tokens) {
    enum { NUMBERS_PER_TOKEN = 5 };
    const Text *text = request->text;
    Encoding encoding = request->server->client.encoding;
    Numbers numbers = {
        ARENA_ARRAY(request->arena, uint32_t, tokens->list.count *NUMBERS_PER_TOKEN + 1), 0};
    LinePosition last = {0, 0};
    for (LIST_EACH(int, i, tokens->list)) {
        const Token *token = &tokens->list.items[i];
        LinePosition start = lines_position(&text->lines, text->text, encoding, token->start);
        LinePosition end = lines_position(&text->lines, text->text, encoding, token->end);
        if (end.line != start.line || end.character <= start.character) continue;
        uint32_t *at = numbers.items + numbers.count;
        at[0] = start.line - last.line;
        at[1] = at[0] ? start.character : start.character - last.character;
        at[2] = end.character - start.character;
        at[3] = (uint32_t)token->type;
        at[4] = token->modifiers;
        numbers.count += NUMBERS_PER_TOKEN;
        last = start;
    }
    return numbers;
}

/// Replaces what is remembered of the document. Returns the new result's id.
static int tokens_remember(QueueDocument *document, const Numbers *numbers) {
    struct TokenMemory *old = document->tokens;
    StepBudget *paused = budget_pause();  // it outlives the request
    Arena *arena = arena_new();
    struct TokenMemory *memory = ARENA_NEW(arena, struct TokenMemory);
    *memory = (struct TokenMemory){arena, old ? old->id + 1 : 1,
                                   ARENA_ARRAY(arena, uint32_t, numbers->count + 1), numbers->count,
                                   true};
    memcpy(memory->numbers, numbers->items, sizeof(uint32_t) * (size_t)numbers->count);
    token_memory_free(old);
    document->tokens = memory;
    budget_resume(paused);
    return memory->id;
}

static bool tokens_of(Request *request, uint32_t start, uint32_t end, Numbers *numbers) {
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return false;
    Tokens tokens = {0};
    if (request->configuration->semantic_tokens)
        tokens = semantic_tokens(request->arena, snapshot, start, end);
    *numbers = tokens_encode(request, &tokens);
    return true;
}

static const char *result_id(Arena *arena, int id) { return arena_printf(arena, "%d", id); }

Json *handle_tokens_full(Request *request) {
    Numbers numbers;
    if (!tokens_of(request, 0, (uint32_t)request->text->text.size, &numbers)) return NULL;
    Json *result = json_object(request->arena);
    int id = tokens_remember(request->document, &numbers);
    json_set_string(result, "resultId", result_id(request->arena, id));
    json_set(result, "data", json_numbers(request->arena, numbers.items, numbers.count));
    return result;
}

/// One edit: what lies between the common beginning and the common end.
static Json *tokens_difference(Arena *arena, const struct TokenMemory *old, const Numbers *fresh) {
    int start = 0, end = 0;
    int least = old->count < fresh->count ? old->count : fresh->count;
    while (start < least && old->numbers[start] == fresh->items[start]) start++;
    while (end < least - start &&
           old->numbers[old->count - 1 - end] == fresh->items[fresh->count - 1 - end])
        end++;
    Json *edits = json_array(arena);
    int deleted = old->count - start - end, inserted = fresh->count - start - end;
    if (!deleted && !inserted) return edits;
    Json *edit = json_object(arena);
    json_set_number(edit, "start", start);
    json_set_number(edit, "deleteCount", deleted);
    json_set(edit, "data", json_numbers(arena, fresh->items + start, inserted));
    json_push(edits, edit);
    return edits;
}

Json *handle_tokens_delta(Request *request) {
    Arena *arena = request->arena;
    Numbers numbers;
    if (!tokens_of(request, 0, (uint32_t)request->text->text.size, &numbers)) return NULL;
    const struct TokenMemory *old = request->document->tokens;
    const char *previous = json_get_string(request->params, "previousResultId", "");
    bool is_known = old && old->is_kept && strcmp(result_id(arena, old->id), previous) == 0;
    Json *result = json_object(arena);
    Json *edits = is_known ? tokens_difference(arena, old, &numbers) : NULL;
    int id = tokens_remember(request->document, &numbers);
    json_set_string(result, "resultId", result_id(arena, id));
    if (is_known)
        json_set(result, "edits", edits);
    else
        json_set(result, "data", json_numbers(arena, numbers.items, numbers.count));
    return result;
}

Json *handle_tokens_range(Request *request) {
    uint32_t start, end;
    Numbers numbers;
    if (!request_range(request, json_get(request->params, "range"), &start, &end)) return NULL;
    if (!tokens_of(request, start, end, &numbers)) return NULL;
    // Neovim 0.12 replaces the whole result by a range's and then asks for a difference from the
    // whole one, which it no longer has: the next answer is whole.
    if (request->document->tokens) request->document->tokens->is_kept = false;
    Json *result = json_object(request->arena);
    json_set(result, "data", json_numbers(request->arena, numbers.items, numbers.count));
    return result;
}

// --- Outline, folding, selection

static Json *symbol_json(Request *request, const Snapshot *snapshot, const Symbol *symbol) {
    Arena *arena = request->arena;
    Json *json = json_object(arena);
    json_set_string(json, "name", symbol->name);
    if (symbol->detail && *symbol->detail) json_set_string(json, "detail", symbol->detail);
    json_set_number(json, "kind", symbol_kind_number(symbol->kind));
    json_set(json, "range", request_range_json(request, snapshot, symbol->range));
    json_set(json, "selectionRange", request_range_json(request, snapshot, symbol->selection));
    Json *children = json_array(arena);
    for (LIST_EACH(int, i, symbol->children))
        json_push(children, symbol_json(request, snapshot, symbol->children.items[i]));
    if (children->count) json_set(json, "children", children);
    return json;
}

/// For clients without a tree: SymbolInformation, one level.
static void symbol_flatten(Request *request, const Snapshot *snapshot, const Symbol *symbol,
                           const char *container, Json *list) {
    Arena *arena = request->arena;
    Json *json = json_object(arena);
    json_set_string(json, "name", symbol->name);
    json_set_number(json, "kind", symbol_kind_number(symbol->kind));
    json_set(json, "location", location_json(request, snapshot, symbol->range));
    if (container) json_set_string(json, "containerName", container);
    json_push(list, json);
    for (LIST_EACH(int, i, symbol->children))
        symbol_flatten(request, snapshot, symbol->children.items[i], symbol->name, list);
}

Json *handle_document_symbol(Request *request) {
    if (request_is_beside(request)) return json_array(request->arena);
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Symbols symbols = document_symbols(request->arena, snapshot);
    Json *list = json_array(request->arena);
    for (LIST_EACH(int, i, symbols.list)) {
        const Symbol *symbol = symbols.list.items[i];
        if (request->server->client.hierarchical_symbols)
            json_push(list, symbol_json(request, snapshot, symbol));
        else
            symbol_flatten(request, snapshot, symbol, NULL, list);
    }
    return list;
}

Json *handle_folding_range(Request *request) {
    Arena *arena = request->arena;
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    Folds folds = folding_ranges(arena, snapshot);
    Json *list = json_array(arena);
    const Text *text = request->text;
    for (LIST_EACH(int, i, folds.list)) {
        const Fold *fold = &folds.list.items[i];
        LinePosition start = lines_position(&text->lines, text->text, ENCODING_UTF8, fold->start);
        LinePosition end = lines_position(&text->lines, text->text, ENCODING_UTF8, fold->end);
        if (end.line <= start.line) continue;
        Json *json = json_object(arena);
        json_set_number(json, "startLine", start.line);
        json_set_number(json, "endLine", end.line);
        if (fold->is_comment || fold->is_imports)
            json_set_string(json, "kind", fold->is_comment ? "comment" : "imports");
        json_push(list, json);
    }
    return list;
}

/// Outermost last in `ranges`, so the chain of parents is built from its end.
static Json *selection_json(Request *request, const Snapshot *snapshot, const Ranges *ranges,
                            uint32_t offset) {
    Arena *arena = request->arena;
    Json *chain = NULL;
    for (int i = ranges->list.count - 1; i >= 0; i--) {
        Json *json = json_object(arena);
        json_set(json, "range", request_range_json(request, snapshot, ranges->list.items[i]));
        if (chain) json_set(json, "parent", chain);
        chain = json;
    }
    if (chain) return chain;
    chain = json_object(arena);
    Range nothing = {snapshot->source, offset, offset};
    json_set(chain, "range", request_range_json(request, snapshot, nothing));
    return chain;
}

Json *handle_selection_range(Request *request) {
    Arena *arena = request->arena;
    const Json *positions = json_get(request->params, "positions");
    const Snapshot *snapshot = request_snapshot(request);
    if (!snapshot) return NULL;
    if (!positions || positions->kind != JSON_ARRAY) {
        request_fail(request, ERROR_INVALID_PARAMS, "`positions` is a list");
        return NULL;
    }
    Json *list = json_array(arena);
    for (int i = 0; i < positions->count; i++) {
        uint32_t offset;
        if (!position_offset(request, positions->items[i], &offset)) return NULL;
        Ranges ranges = selection_ranges(arena, snapshot, offset);
        json_push(list, selection_json(request, snapshot, &ranges, offset));
    }
    return list;
}
