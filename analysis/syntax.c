// Python text in, tree-sitter's syntax tree out. The one file that includes tree-sitter.
#include "analysis/syntax.h"

#include <stdatomic.h>
#include <string.h>
#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_toml(void);

_Static_assert(sizeof(SyntaxNode) == sizeof(TSNode), "SyntaxNode has the layout of TSNode");

static TSNode node_inner(SyntaxNode node) {
    TSNode inner;
    memcpy(&inner, &node, sizeof inner);
    return inner;
}

static SyntaxNode node_outer(TSNode inner) {
    SyntaxNode node;
    memcpy(&node, &inner, sizeof node);
    return node;
}

static const char *const kind_names[SYNTAX_COUNT] = {
    [SYNTAX_OTHER] = "",
#define NODE(id, name) [SYNTAX_##id] = name,
#include "analysis/syntax.def"
#undef NODE
};

// Kinds by grammar symbol, filled on first use; racing fillers write the same values.
enum { SYMBOL_LIMIT = 1024 };
static _Atomic unsigned char symbol_kinds[SYMBOL_LIMIT];
static atomic_bool symbol_kinds_ready;

static void symbol_kinds_fill(void) {
    const TSLanguage *language = tree_sitter_python();
    uint32_t count = ts_language_symbol_count(language);
    for (uint32_t symbol = 0; symbol < count && symbol < SYMBOL_LIMIT; symbol++) {
        if (ts_language_symbol_type(language, (TSSymbol)symbol) != TSSymbolTypeRegular) continue;
        const char *name = ts_language_symbol_name(language, (TSSymbol)symbol);
        for (int kind = 1; name && kind < SYNTAX_COUNT; kind++)
            if (strcmp(name, kind_names[kind]) == 0)
                atomic_store_explicit(&symbol_kinds[symbol], (unsigned char)kind,
                                      memory_order_relaxed);
    }
    atomic_store(&symbol_kinds_ready, true);
}

static SyntaxTree *tree_parse(const Source *source, const TSLanguage *language, const TSTree *old) {
    TSParser *parser = ts_parser_new();
    ts_parser_set_language(parser, language);
    TSTree *tree =
        ts_parser_parse_string(parser, old, source->text.data, (uint32_t)source->text.size);
    ts_parser_delete(parser);
    return (SyntaxTree *)tree;
}

SyntaxTree *syntax_parse(const Source *source) {
    return tree_parse(source, tree_sitter_python(), NULL);
}

SyntaxTree *syntax_parse_toml(const Source *source) {
    return tree_parse(source, tree_sitter_toml(), NULL);
}

static TSPoint offset_point(const Source *source, uint32_t offset) {
    int line;
    int column;
    source_position(source, offset, &line, &column);
    return (TSPoint){(uint32_t)line, (uint32_t)column};
}

SyntaxTree *syntax_reparse(const SyntaxTree *old, const Source *source, uint32_t start,
                           uint32_t old_end, uint32_t new_end) {
    TSTree *edited = ts_tree_copy((const TSTree *)old);
    // The old text is gone; the row of the old end only guides reuse, bytes decide.
    TSPoint start_point = offset_point(source, start);
    TSPoint old_point = ts_node_end_point(
        ts_node_descendant_for_byte_range(ts_tree_root_node(edited), start, old_end));
    TSInputEdit edit = {start,       old_end,   new_end,
                        start_point, old_point, offset_point(source, new_end)};
    ts_tree_edit(edited, &edit);
    SyntaxTree *tree = tree_parse(source, tree_sitter_python(), edited);
    ts_tree_delete(edited);
    return tree;
}

void syntax_free(SyntaxTree *tree) {
    if (tree) ts_tree_delete((TSTree *)tree);
}

SyntaxNode syntax_root(const SyntaxTree *tree) {
    return node_outer(ts_tree_root_node((const TSTree *)tree));
}

bool node_is_null(SyntaxNode node) { return node.id == NULL; }

SyntaxKind node_kind(SyntaxNode node) {
    if (node_is_null(node)) return SYNTAX_OTHER;
    TSSymbol symbol = ts_node_symbol(node_inner(node));
    if (symbol == (TSSymbol)-1) return SYNTAX_ERROR;
    if (!atomic_load_explicit(&symbol_kinds_ready, memory_order_acquire)) symbol_kinds_fill();
    return symbol < SYMBOL_LIMIT
               ? (SyntaxKind)atomic_load_explicit(&symbol_kinds[symbol], memory_order_relaxed)
               : SYNTAX_OTHER;
}

const char *node_kind_name(SyntaxNode node) {
    return node_is_null(node) ? "" : ts_node_type(node_inner(node));
}

bool node_is_error(SyntaxNode node) {
    if (node_is_null(node)) return false;
    TSNode inner = node_inner(node);
    return ts_node_is_error(inner) || ts_node_is_missing(inner);
}

bool node_has_error(SyntaxNode node) {
    return !node_is_null(node) && ts_node_has_error(node_inner(node));
}

Range node_range(const Source *source, SyntaxNode node) {
    if (node_is_null(node)) return (Range){source, 0, 0};
    TSNode inner = node_inner(node);
    return (Range){source, ts_node_start_byte(inner), ts_node_end_byte(inner)};
}

Str node_text(const Source *source, SyntaxNode node) {
    return source_slice(node_range(source, node));
}

SyntaxNode node_parent(SyntaxNode node) {
    return node_is_null(node) ? node : node_outer(ts_node_parent(node_inner(node)));
}

uint32_t node_child_count(SyntaxNode node) {
    return node_is_null(node) ? 0 : ts_node_named_child_count(node_inner(node));
}

SyntaxNode node_child(SyntaxNode node, uint32_t index) {
    if (node_is_null(node)) return node;
    return node_outer(ts_node_named_child(node_inner(node), index));
}

int node_children(Arena *arena, SyntaxNode node, SyntaxNode **children) {
    uint32_t capacity = node_child_count(node);
    *children = NULL;
    if (capacity == 0) return 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, capacity);
    int count = 0;
    TSTreeCursor cursor = ts_tree_cursor_new(node_inner(node));
    bool more = ts_tree_cursor_goto_first_child(&cursor);
    while (more && (uint32_t)count < capacity) {
        TSNode child = ts_tree_cursor_current_node(&cursor);
        if (ts_node_is_named(child) && (!ts_node_is_extra(child) || ts_node_is_error(child)))
            (*children)[count++] = node_outer(child);
        more = ts_tree_cursor_goto_next_sibling(&cursor);
    }
    ts_tree_cursor_delete(&cursor);
    return count;
}

void syntax_walk(SyntaxNode node, SyntaxVisitor *visit, void *context) {
    if (node_is_null(node)) return;
    TSTreeCursor cursor = ts_tree_cursor_new(node_inner(node));
    int depth = 0;
    bool running = true;
    while (running) {
        TSNode current = ts_tree_cursor_current_node(&cursor);
        bool below = ts_node_is_named(current) && visit(context, node_outer(current));
        if (below && ts_tree_cursor_goto_first_child(&cursor)) {
            depth++;
            continue;
        }
        while (depth > 0 && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            ts_tree_cursor_goto_parent(&cursor);
            depth--;
        }
        running = depth > 0;
    }
    ts_tree_cursor_delete(&cursor);
}

uint32_t node_all_child_count(SyntaxNode node) {
    return node_is_null(node) ? 0 : ts_node_child_count(node_inner(node));
}

SyntaxNode node_all_child(SyntaxNode node, uint32_t index) {
    return node_is_null(node) ? node : node_outer(ts_node_child(node_inner(node), index));
}

SyntaxNode node_field(SyntaxNode node, const char *field) {
    if (node_is_null(node)) return node;
    return node_outer(
        ts_node_child_by_field_name(node_inner(node), field, (uint32_t)strlen(field)));
}

SyntaxNode node_at(SyntaxNode root, uint32_t start, uint32_t end) {
    if (node_is_null(root)) return root;
    return node_outer(ts_node_named_descendant_for_byte_range(node_inner(root), start, end));
}
