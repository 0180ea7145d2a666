// Imports of names that an import before them has brought already, in a file that was put together of several.
#include "autodiff/module/repeated_imports.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"

/// What a statement imports a name from: `torch` of `from torch import nn`; empty for `import torch`.
static Str imported_from(const Source *source, const Item *item) {
    bool is_from = node_kind(item->node) == SYNTAX_IMPORT_FROM;
    return is_from ? node_text(source, node_child(item->node, 0)) : STR("");
}

/// `nn`, `nn as n`: one name of an import. A null node: there are no more.
static SyntaxNode import_part(const Item *item, uint32_t index) {
    uint32_t first = node_kind(item->node) == SYNTAX_IMPORT_FROM ? 1 : 0;
    for (uint32_t i = first; i < node_child_count(item->node); i++) {
        SyntaxNode child = node_child(item->node, i);
        SyntaxKind kind = node_kind(child);
        if ((kind == SYNTAX_DOTTED_NAME || kind == SYNTAX_ALIASED_IMPORT) && index-- == 0)
            return child;
    }
    return (SyntaxNode){0};
}

/// The name that it gives a value: `a` of `import a.b`.
static Str bound_name(const Source *source, SyntaxNode part) {
    bool has_alias = node_kind(part) == SYNTAX_ALIASED_IMPORT;
    Str name = node_text(source, has_alias ? node_field(part, "alias") : part);
    const char *dot = memchr(name.data, '.', name.size);
    return dot ? (Str){name.data, (size_t)(dot - name.data)} : name;
}

static bool brings(const Source *source, const Item *item, Str from, Str text) {
    if (!item_is_import(item) || !str_equal(imported_from(source, item), from)) return false;
    for (uint32_t i = 0; !node_is_null(import_part(item, i)); i++)
        if (str_equal(node_text(source, import_part(item, i)), text)) return true;
    return false;
}

/// Whether the name stands for the same already: an import before it says so, and nothing since has bound the name.
static bool is_repeated(const Source *source, const Items *items, int index, SyntaxNode part) {
    Str name = bound_name(source, part), text = node_text(source, part);
    Str from = imported_from(source, &items->items[index]);
    for (int i = index - 1; i >= 0; i--) {
        const Item *item = &items->items[i];
        if (!item->is_included) continue;
        if (brings(source, item, from, text)) return true;
        if (map_has(&item->binds, name) || map_has(&item->changes, name)) return false;
    }
    return false;
}

Str import_without_repeats(Arena *arena, const Source *source, const Items *items, int index) {
    const Item *item = &items->items[index];
    Str text = source_slice(item->range);
    if (!item_is_import(item)) return text;
    Buffer left = buffer_new(arena);
    uint32_t count = 0, kept = 0;
    for (;; count++) {
        SyntaxNode part = import_part(item, count);
        if (node_is_null(part)) break;
        if (is_repeated(source, items, index, part)) continue;
        Str name = node_text(source, part);
        buffer_printf(&left, "%s%.*s", kept++ ? ", " : "", STR_ARGS(name));
    }
    if (kept == count) return text;
    if (!kept) return STR("");
    Str from = imported_from(source, item);
    if (!from.size) return str_from(arena_printf(arena, "import %s", buffer_text(&left)));
    return str_from(arena_printf(arena, "from %.*s import %s", STR_ARGS(from), buffer_text(&left)));
}
