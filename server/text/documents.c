// Edits are made in a scratch copy whose line index is patched; the result is frozen.
#include "server/text/documents.h"

#include <string.h>

#include "server/settings/settings_completion.h"
#include "server/text/notebook.h"

/// Offsets stay what they are.
static Str with_line_feeds(Arena *arena, Str text) {
    char *copy = NULL;
    const char *at = text.data, *end = text.data + text.size;
    while (at < end && (at = memchr(at, '\r', (size_t)(end - at)))) {
        bool is_lone = at + 1 == end || at[1] != '\n';
        if (is_lone && !copy) copy = arena_strndup(arena, text.data, text.size);
        if (is_lone) copy[at - text.data] = '\n';
        at++;
    }
    return copy ? (Str){copy, text.size} : text;
}

static Str text_copy(Arena *arena, Str text) {
    return (Str){arena_strndup(arena, text.data, text.size), text.size};
}

static Lines lines_copy(Arena *arena, Lines lines) {
    size_t bytes = sizeof *lines.starts * (size_t)lines.count;
    return (Lines){arena_grow(arena, lines.starts, bytes, bytes), lines.count};
}

/// Of a text and lines that live in `arena`, which it takes over.
static Text *text_frozen(Arena *arena, Str text, Lines lines, int version, bool is_cell,
                         bool is_settings) {
    Text *result = ARENA_NEW(arena, Text);
    result->arena = arena;
    atomic_init(&result->count, 1);
    result->version = version;
    result->caret = NO_CARET;
    result->text = text;
    Str python = is_cell ? cell_python(arena, text) : text;
    result->analysed = is_settings ? STR("") : with_line_feeds(arena, python);
    result->is_cell = is_cell;
    result->is_settings = is_settings;
    result->lines = lines;
    return result;
}

Text *text_new(const char *uri, Str text, int version) {
    Arena *arena =
        arena_new_sized(text.size + text.size / 4);  // the text and where its lines start
    Str copy = text_copy(arena, text);
    return text_frozen(arena, copy, lines_of(arena, copy), version, uri_is_cell(uri),
                       uri_is_settings(uri));
}

Text *text_retain(const Text *text) {
    Text *held = (Text *)(uintptr_t)text;
    if (held) atomic_fetch_add(&held->count, 1);
    return held;
}

void text_release(Text *text) {
    if (text && atomic_fetch_sub(&text->count, 1) == 1) arena_free(text->arena);
}

/// The text while it is edited.
typedef struct Draft {
    Arena *arena;
    Str text;
    Lines lines;
    uint32_t caret;  // of the last change
} Draft;

/// A new line, as an editor indents it.
static bool is_new_line(Str with) {
    size_t at = 0;
    while (at < with.size && strchr("\r\n \t", with.data[at]) && with.data[at]) at++;
    return with.size && at == with.size && strchr("\r\n", with.data[0]);
}

/// One character typed, also over a selection, something taken away, a pair of brackets or quotes that an editor completes, or a new line.
static uint32_t caret_after(uint32_t start, uint32_t end, Str with) {
    if (start == end && is_new_line(with)) return start + (uint32_t)with.size;
    bool is_pair = with.size == 2 && strchr("([{\"'", with.data[0]) && with.data[0];
    if (is_pair || with.size <= 1) return start + (with.size > 0);
    return NO_CARET;
}

static void draft_replace(Draft *draft, uint32_t start, uint32_t end, Str with) {
    size_t size = draft->text.size - (end - start) + with.size;
    char *data = arena_grow(draft->arena, draft->text.data, start, size + 1);
    if (with.size) memcpy(data + start, with.data, with.size);
    memcpy(data + start + with.size, draft->text.data + end, draft->text.size - end);
    draft->text = (Str){data, size};
    draft->lines =
        lines_edit(draft->arena, &draft->lines, draft->text, start, end, (uint32_t)with.size);
}

/// Leaves what came before behind.
static void draft_compact(Draft *draft) {
    Arena *fresh = arena_new();
    draft->text = text_copy(fresh, draft->text);
    draft->lines = lines_copy(fresh, draft->lines);
    arena_free(draft->arena);
    draft->arena = fresh;
}

static bool draft_change(Draft *draft, const Json *change, Encoding encoding) {
    const Json *text = json_get(change, "text"), *range = json_get(change, "range");
    if (!text || text->kind != JSON_STRING) return false;
    uint32_t start = 0, end = (uint32_t)draft->text.size;
    if (range && range->kind != JSON_NULL) {
        LinePosition first, last;
        if (!position_read(json_get(range, "start"), &first) ||
            !position_read(json_get(range, "end"), &last))
            return false;
        start = lines_offset(&draft->lines, draft->text, encoding, first);
        end = lines_offset(&draft->lines, draft->text, encoding, last);
    }
    if (start > end) {
        uint32_t swap = start;
        start = end;
        end = swap;
    }
    draft->caret = caret_after(start, end, text->string);
    draft_replace(draft, start, end, text->string);
    return true;
}

Text *text_edit(const Text *old, const Json *changes, Encoding encoding, int version,
                Error *error) {
    enum { COMPACT_EVERY = 16 };  // edits, each of which leaves a copy behind
    *error = NULL;
    if (!changes || changes->kind != JSON_ARRAY) {
        *error = "`contentChanges` is no list";
        return NULL;
    }
    size_t size = old->text.size + old->text.size / 4;
    Draft draft = {arena_new_sized(size), old->text, old->lines, NO_CARET};
    for (int i = 0; i < changes->count && !*error; i++) {
        if (i && i % COMPACT_EVERY == 0) draft_compact(&draft);
        if (!draft_change(&draft, changes->items[i], encoding))
            *error = "a change has no `text`, or a `range` that is none";
    }
    if (*error) {
        arena_free(draft.arena);
        return NULL;
    }
    if (changes->count != 1) draft_compact(&draft);
    Text *result =
        text_frozen(draft.arena, draft.text, draft.lines, version, old->is_cell, old->is_settings);
    if (changes->count == 1) result->caret = draft.caret;
    return result;
}

Documents documents_new(Arena *arena) { return (Documents){arena, map_new(arena), 0}; }

Document *documents_find(const Documents *documents, const char *uri) {
    return map_get(&documents->by_uri, str_from(uri));
}

Document *documents_open(Documents *documents, const char *uri, Text *text) {
    Arena *arena = arena_new();
    Document *document = ARENA_NEW(arena, Document);
    *document = (Document){.arena = arena, .uri = arena_strdup(arena, uri), .text = text};
    // The map's keys outlive the document, which may come back: one copy for each name ever opened.
    bool is_known = map_has(&documents->by_uri, str_from(uri));
    map_set(&documents->by_uri, str_from(is_known ? uri : arena_strdup(documents->arena, uri)),
            document);
    documents->open_count++;
    return document;
}

void documents_close(Documents *documents, Document *document) {
    map_set(&documents->by_uri, str_from(document->uri), NULL);
    documents->open_count--;
    text_release(document->text);
    arena_free(document->arena);
}
