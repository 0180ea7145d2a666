// Python text in, syntax trees out: one of tree-sitter's for each piece of the text that stands on its own, under a root
// that shows them as one. The one file that includes tree-sitter.
#include "analysis/syntax.h"

#include <stdatomic.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "analysis/split.h"
#include "base/list.h"

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_toml(void);

/// One piece. Offsets of its nodes count from `start`, so that the tree serves wherever the piece moves.
typedef struct Piece {
    SyntaxTree *owner;
    TSTree *tree;
    uint32_t start;
    uint32_t end;
    bool shows_root;  // its root is an error: a child of the whole; else the root's children are
    uint32_t named_count;  // of children of the whole
    uint32_t all_count;
    uint32_t named_before;  // of children in the pieces before
    uint32_t all_before;
    int former;  // the piece of the tree before the edit that this one is, or -1
} Piece;

struct SyntaxTree {
    Arena *arena;
    LIST(Piece) pieces;  // at least one
    const TSLanguage *language;
    bool has_error;
};

static const Piece *piece_of(SyntaxNode node) { return node.tree; }

/// The root above the pieces is no node of tree-sitter's.
static bool is_whole(SyntaxNode node) { return node.id && node.id == piece_of(node)->owner; }

static SyntaxNode whole_of(const SyntaxTree *tree) {
    return (SyntaxNode){.id = tree, .tree = tree->pieces.items};
}

static TSNode node_inner(SyntaxNode node) {
    TSNode inner;
    memcpy(inner.context, node.context, sizeof inner.context);
    inner.id = node.id;
    inner.tree = piece_of(node)->tree;
    return inner;
}

static SyntaxNode node_outer(const Piece *piece, TSNode inner) {
    SyntaxNode node = {.id = inner.id, .tree = piece};
    memcpy(node.context, inner.context, sizeof inner.context);
    return node;
}

static const char *const kind_names[SYNTAX_COUNT] = {
    [SYNTAX_OTHER] = "",
#define NODE(id, name) [SYNTAX_##id] = name,
#include "analysis/syntax.def"
#undef NODE
};

// Kinds by grammar symbol and fields by first letter, filled on first use; racing fillers write the same values.
enum { SYMBOL_LIMIT = 1024, LETTER_LIMIT = 128 };
static _Atomic unsigned char symbol_kinds[SYMBOL_LIMIT];
static _Atomic unsigned char first_fields[LETTER_LIMIT];
static atomic_bool names_ready;

static void names_fill(void) {
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
    for (uint32_t id = ts_language_field_count(language); id > 0; id--) {
        const char *name = ts_language_field_name_for_id(language, (TSFieldId)id);
        atomic_store_explicit(&first_fields[name[0] % LETTER_LIMIT], (unsigned char)id,
                              memory_order_relaxed);
    }
    atomic_store(&names_ready, true);
}

/// The number of a field, 0 for none. Numbers are in the order of the names.
static TSFieldId field_find(const TSLanguage *language, const char *field) {
    if (language != tree_sitter_python())
        return ts_language_field_id_for_name(language, field, (uint32_t)strlen(field));
    if (!atomic_load_explicit(&names_ready, memory_order_acquire)) names_fill();
    TSFieldId id =
        atomic_load_explicit(&first_fields[field[0] % LETTER_LIMIT], memory_order_relaxed);
    for (; id; id++) {
        const char *name = ts_language_field_name_for_id(language, id);
        if (!name || name[0] != field[0]) return 0;
        if (strcmp(name, field) == 0) return id;
    }
    return 0;
}

/// Fills in what the root above the pieces asks of this one.
static void piece_describe(Piece *piece) {
    TSNode root = ts_tree_root_node(piece->tree);
    piece->shows_root = ts_node_is_error(root);
    piece->named_count = piece->shows_root ? 1 : ts_node_named_child_count(root);
    piece->all_count = piece->shows_root ? 1 : ts_node_child_count(root);
}

static void tree_add(SyntaxTree *tree, Piece piece) {
    piece.owner = tree;
    const Piece *last = tree->pieces.count ? &tree->pieces.items[tree->pieces.count - 1] : NULL;
    piece.named_before = last ? last->named_before + last->named_count : 0;
    piece.all_before = last ? last->all_before + last->all_count : 0;
    tree->has_error = tree->has_error || ts_node_has_error(ts_tree_root_node(piece.tree));
    LIST_PUSH(tree->arena, &tree->pieces, piece);
}

static void tree_parse(SyntaxTree *tree, TSParser *parser, Str text, uint32_t start, uint32_t end) {
    Piece piece = {.start = start, .end = end, .former = -1};
    piece.tree = ts_parser_parse_string(parser, NULL, text.data + start, end - start);
    piece_describe(&piece);
    tree_add(tree, piece);
}

static void tree_reuse(SyntaxTree *tree, const SyntaxTree *old, int index, uint32_t start) {
    Piece piece = old->pieces.items[index];
    piece.end = start + (piece.end - piece.start);
    piece.start = start;
    piece.former = index;
    piece.tree = ts_tree_copy(piece.tree);
    tree_add(tree, piece);
}

static SyntaxTree *tree_new(const TSLanguage *language) {
    Arena *arena = arena_new();
    SyntaxTree *tree = ARENA_NEW(arena, SyntaxTree);
    tree->arena = arena;
    tree->language = language;
    return tree;
}

static TSParser *parser_new(const TSLanguage *language) {
    TSParser *parser = ts_parser_new();
    ts_parser_set_language(parser, language);
    return parser;
}

SyntaxTree *syntax_parse(const Source *source) {
    SyntaxTree *tree = tree_new(tree_sitter_python());
    TSParser *parser = parser_new(tree->language);
    uint32_t start = 0;
    do {
        uint32_t end = (uint32_t)split_next(source->text, start);
        tree_parse(tree, parser, source->text, start, end);
        start = end;
    } while (start < source->text.size);
    ts_parser_delete(parser);
    return tree;
}

SyntaxTree *syntax_parse_toml(const Source *source) {
    SyntaxTree *tree = tree_new(tree_sitter_toml());
    TSParser *parser = parser_new(tree->language);
    tree_parse(tree, parser, source->text, 0, (uint32_t)source->text.size);
    ts_parser_delete(parser);
    return tree;
}

/// The last piece that starts at or before the byte.
static int piece_index_at(const SyntaxTree *tree, uint32_t offset) {
    int low = 0;
    int high = tree->pieces.count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (tree->pieces.items[middle].start <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

SyntaxTree *syntax_reparse(const SyntaxTree *old, const Source *source, uint32_t start,
                           uint32_t old_end, uint32_t new_end) {
    SyntaxTree *tree = tree_new(old->language);
    TSParser *parser = NULL;
    uint32_t size = (uint32_t)source->text.size;
    if (start == old_end && start == new_end) {
        for (LIST_EACH(int, i, old->pieces)) tree_reuse(tree, old, i, old->pieces.items[i].start);
        return tree;
    }
    // Where a piece ends may depend on the one behind it.
    int touched = piece_index_at(old, start);
    int next = touched > 0 ? touched - 1 : 0;
    for (int i = 0; i < next; i++) tree_reuse(tree, old, i, old->pieces.items[i].start);
    uint32_t at = old->pieces.items[next].start;
    do {
        int same = at >= new_end ? piece_index_at(old, at - new_end + old_end) : -1;
        if (same >= 0 && old->pieces.items[same].start == at - new_end + old_end && at < size) {
            for (int i = same; i < old->pieces.count; i++)
                tree_reuse(tree, old, i, old->pieces.items[i].start - old_end + new_end);
            break;
        }
        uint32_t end = (uint32_t)split_next(source->text, at);
        const Piece *former = &old->pieces.items[next];
        if (next < touched && former->start == at && former->end == end && end <= start) {
            tree_reuse(tree, old, next++, at);
        } else {
            if (!parser) parser = parser_new(tree->language);
            tree_parse(tree, parser, source->text, at, end);
        }
        at = end;
    } while (at < size);
    if (parser) ts_parser_delete(parser);
    return tree;
}

void syntax_free(SyntaxTree *tree) {
    if (!tree) return;
    for (LIST_EACH(int, i, tree->pieces)) ts_tree_delete(tree->pieces.items[i].tree);
    arena_free(tree->arena);
}

SyntaxNode syntax_root(const SyntaxTree *tree) { return whole_of(tree); }

// --- Pieces

int syntax_piece_count(const SyntaxTree *tree) { return tree->pieces.count; }

Range syntax_piece_range(const SyntaxTree *tree, const Source *source, int piece) {
    return (Range){source, tree->pieces.items[piece].start, tree->pieces.items[piece].end};
}

int syntax_piece_former(const SyntaxTree *tree, int piece) {
    return tree->pieces.items[piece].former;
}

int syntax_piece_at(const SyntaxTree *tree, uint32_t offset) {
    return piece_index_at(tree, offset);
}

bool syntax_piece_has_error(const SyntaxTree *tree, int piece) {
    return ts_node_has_error(ts_tree_root_node(tree->pieces.items[piece].tree));
}

int node_piece(SyntaxNode node) {
    return (int)(piece_of(node) - piece_of(node)->owner->pieces.items);
}

SyntaxNode node_moved(SyntaxNode node, const SyntaxTree *tree, int piece) {
    if (node_is_null(node)) return node;
    const Piece *to = &tree->pieces.items[piece];
    // Nodes are shared by the copies of a tree; only its root is kept in each.
    if (node.id == ts_tree_root_node(piece_of(node)->tree).id)
        return node_outer(to, ts_tree_root_node(to->tree));
    node.tree = to;
    return node;
}

// --- Nodes

bool node_is_null(SyntaxNode node) { return node.id == NULL; }

SyntaxKind node_kind(SyntaxNode node) {
    if (node_is_null(node)) return SYNTAX_OTHER;
    if (is_whole(node)) return SYNTAX_MODULE;
    TSSymbol symbol = ts_node_symbol(node_inner(node));
    if (symbol == (TSSymbol)-1) return SYNTAX_ERROR;
    if (!atomic_load_explicit(&names_ready, memory_order_acquire)) names_fill();
    return symbol < SYMBOL_LIMIT
               ? (SyntaxKind)atomic_load_explicit(&symbol_kinds[symbol], memory_order_relaxed)
               : SYNTAX_OTHER;
}

const char *node_kind_name(SyntaxNode node) {
    if (node_is_null(node)) return "";
    if (!is_whole(node)) return ts_node_type(node_inner(node));
    return piece_of(node)->owner->language == tree_sitter_python() ? "module" : "document";
}

bool node_is_error(SyntaxNode node) {
    if (node_is_null(node) || is_whole(node)) return false;
    TSNode inner = node_inner(node);
    return ts_node_is_error(inner) || ts_node_is_missing(inner);
}

bool node_has_error(SyntaxNode node) {
    if (node_is_null(node)) return false;
    return is_whole(node) ? piece_of(node)->owner->has_error : ts_node_has_error(node_inner(node));
}

Range node_range(const Source *source, SyntaxNode node) {
    if (node_is_null(node)) return (Range){source, 0, 0};
    if (is_whole(node)) {
        const SyntaxTree *tree = node.id;
        return (Range){source, 0, tree->pieces.items[tree->pieces.count - 1].end};
    }
    TSNode inner = node_inner(node);
    uint32_t start = piece_of(node)->start;
    return (Range){source, start + ts_node_start_byte(inner), start + ts_node_end_byte(inner)};
}

Str node_text(const Source *source, SyntaxNode node) {
    return source_slice(node_range(source, node));
}

/// What stands at the top of a piece belongs to the whole.
static SyntaxNode node_shown(const Piece *piece, TSNode inner) {
    if (inner.id == ts_tree_root_node(piece->tree).id && !piece->shows_root)
        return whole_of(piece->owner);
    return node_outer(piece, inner);
}

SyntaxNode node_parent(SyntaxNode node) {
    if (node_is_null(node)) return node;
    if (is_whole(node)) return (SyntaxNode){0};
    TSNode parent = ts_node_parent(node_inner(node));
    if (ts_node_is_null(parent)) return whole_of(piece_of(node)->owner);
    return node_shown(piece_of(node), parent);
}

/// The child of a piece's root, or that root where it is shown itself.
static SyntaxNode piece_child(const Piece *piece, uint32_t index, bool is_named) {
    TSNode root = ts_tree_root_node(piece->tree);
    if (piece->shows_root) return node_outer(piece, root);
    return node_outer(piece,
                      is_named ? ts_node_named_child(root, index) : ts_node_child(root, index));
}

static SyntaxNode whole_child(const SyntaxTree *tree, uint32_t index, bool is_named) {
    int low = 0;
    int high = tree->pieces.count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        const Piece *piece = &tree->pieces.items[middle];
        if ((is_named ? piece->named_before : piece->all_before) <= index)
            low = middle;
        else
            high = middle - 1;
    }
    const Piece *piece = &tree->pieces.items[low];
    uint32_t inside = index - (is_named ? piece->named_before : piece->all_before);
    if (inside >= (is_named ? piece->named_count : piece->all_count)) return (SyntaxNode){0};
    return piece_child(piece, inside, is_named);
}

uint32_t node_child_count(SyntaxNode node) {
    if (node_is_null(node)) return 0;
    if (!is_whole(node)) return ts_node_named_child_count(node_inner(node));
    const SyntaxTree *tree = node.id;
    const Piece *last = &tree->pieces.items[tree->pieces.count - 1];
    return last->named_before + last->named_count;
}

SyntaxNode node_child(SyntaxNode node, uint32_t index) {
    if (node_is_null(node)) return node;
    if (is_whole(node)) return whole_child(node.id, index, true);
    return node_outer(piece_of(node), ts_node_named_child(node_inner(node), index));
}

static int collect_children(const Piece *piece, TSNode inner, SyntaxNode *children,
                            uint32_t capacity) {
    int count = 0;
    TSTreeCursor cursor = ts_tree_cursor_new(inner);
    bool more = ts_tree_cursor_goto_first_child(&cursor);
    while (more && (uint32_t)count < capacity) {
        TSNode child = ts_tree_cursor_current_node(&cursor);
        if (ts_node_is_named(child) && (!ts_node_is_extra(child) || ts_node_is_error(child)))
            children[count++] = node_outer(piece, child);
        more = ts_tree_cursor_goto_next_sibling(&cursor);
    }
    ts_tree_cursor_delete(&cursor);
    return count;
}

int syntax_piece_children(Arena *arena, const SyntaxTree *tree, int piece, SyntaxNode **children) {
    const Piece *at = &tree->pieces.items[piece];
    *children = NULL;
    if (at->named_count == 0) return 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, at->named_count);
    TSNode root = ts_tree_root_node(at->tree);
    if (!at->shows_root) return collect_children(at, root, *children, at->named_count);
    (*children)[0] = node_outer(at, root);
    return 1;
}

int node_children(Arena *arena, SyntaxNode node, SyntaxNode **children) {
    uint32_t capacity = node_child_count(node);
    *children = NULL;
    if (capacity == 0) return 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, capacity);
    if (!is_whole(node))
        return collect_children(piece_of(node), node_inner(node), *children, capacity);
    const SyntaxTree *tree = node.id;
    int count = 0;
    for (LIST_EACH(int, i, tree->pieces)) {
        const Piece *piece = &tree->pieces.items[i];
        TSNode root = ts_tree_root_node(piece->tree);
        if (piece->shows_root)
            (*children)[count++] = node_outer(piece, root);
        else
            count += collect_children(piece, root, *children + count, piece->named_count);
    }
    return count;
}

/// Walks what stands below `inner`, and `inner` itself unless it is the root of a piece that is not shown.
static void walk_inner(const Piece *piece, TSNode inner, bool is_shown, SyntaxVisitor *visit,
                       void *context) {
    TSTreeCursor cursor = ts_tree_cursor_new(inner);
    int depth = 0;
    bool running = true;
    while (running) {
        TSNode current = ts_tree_cursor_current_node(&cursor);
        bool is_hidden = depth == 0 && !is_shown;
        bool below =
            is_hidden || (ts_node_is_named(current) && visit(context, node_outer(piece, current)));
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

void syntax_walk_piece(const SyntaxTree *tree, int piece, SyntaxVisitor *visit, void *context) {
    const Piece *at = &tree->pieces.items[piece];
    walk_inner(at, ts_tree_root_node(at->tree), at->shows_root, visit, context);
}

void syntax_walk(SyntaxNode node, SyntaxVisitor *visit, void *context) {
    if (node_is_null(node)) return;
    if (!is_whole(node)) {
        walk_inner(piece_of(node), node_inner(node), true, visit, context);
        return;
    }
    const SyntaxTree *tree = node.id;
    if (!visit(context, node)) return;
    for (LIST_EACH(int, i, tree->pieces)) syntax_walk_piece(tree, i, visit, context);
}

uint32_t node_all_child_count(SyntaxNode node) {
    if (node_is_null(node)) return 0;
    if (!is_whole(node)) return ts_node_child_count(node_inner(node));
    const SyntaxTree *tree = node.id;
    const Piece *last = &tree->pieces.items[tree->pieces.count - 1];
    return last->all_before + last->all_count;
}

SyntaxNode node_all_child(SyntaxNode node, uint32_t index) {
    if (node_is_null(node)) return node;
    if (is_whole(node)) return whole_child(node.id, index, false);
    return node_outer(piece_of(node), ts_node_child(node_inner(node), index));
}

SyntaxNode node_field(SyntaxNode node, const char *field) {
    if (node_is_null(node) || is_whole(node)) return (SyntaxNode){0};
    TSFieldId id = field_find(piece_of(node)->owner->language, field);
    return node_outer(piece_of(node), ts_node_child_by_field_id(node_inner(node), id));
}

SyntaxNode node_at(SyntaxNode node, uint32_t start, uint32_t end) {
    if (node_is_null(node)) return node;
    const Piece *piece = piece_of(node);
    if (is_whole(node)) {
        const SyntaxTree *tree = node.id;
        piece = &tree->pieces.items[piece_index_at(tree, start)];
        if (end > piece->end) return node;
        node = node_outer(piece, ts_tree_root_node(piece->tree));
    }
    if (start < piece->start) return node_shown(piece, node_inner(node));
    return node_shown(piece, ts_node_named_descendant_for_byte_range(
                                 node_inner(node), start - piece->start, end - piece->start));
}
