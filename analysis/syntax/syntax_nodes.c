// Questions to the nodes of a syntax tree, answered from its records. Above the roots of the pieces stands one of the whole,
// which is no record.
#include "analysis/syntax/syntax_nodes.h"

#include "analysis/syntax/syntax_records.h"
#include "base/budget.h"

static const Piece *piece_of(SyntaxNode node) { return node.tree; }

static const SyntaxRecord *record_of(SyntaxNode node) { return node.id; }

static bool is_whole(SyntaxNode node) { return node.id && node.id == piece_of(node)->owner; }

static SyntaxNode whole_of(const SyntaxTree *tree) {
    return (SyntaxNode){.id = tree, .tree = tree->pieces.items};
}

/// What stands at the top of a piece belongs to the whole.
static SyntaxNode node_shown(const Piece *piece, const SyntaxRecord *record) {
    bool is_hidden = record == piece->records->items && !piece->shows_root;
    return is_hidden ? whole_of(piece->owner) : record_node(piece, record);
}

SyntaxNode syntax_root(const SyntaxTree *tree) { return whole_of(tree); }

/* ---- pieces ---- */

int syntax_piece_count(const SyntaxTree *tree) { return tree->pieces.count; }

Range syntax_piece_range(const SyntaxTree *tree, const Source *source, int piece) {
    return (Range){source, tree->pieces.items[piece].start, tree->pieces.items[piece].end};
}

int syntax_piece_former(const SyntaxTree *tree, int piece) {
    return tree->pieces.items[piece].former;
}

bool syntax_piece_has_error(const SyntaxTree *tree, int piece) {
    return tree->pieces.items[piece].records->items->has_error;
}

int node_piece(SyntaxNode node) {
    return (int)(piece_of(node) - piece_of(node)->owner->pieces.items);
}

SyntaxNode node_moved(SyntaxNode node, const SyntaxTree *tree, int piece) {
    if (!node_is_null(node)) node.tree = &tree->pieces.items[piece];
    return node;
}

/* ---- one node ---- */

bool node_is_null(SyntaxNode node) { return node.id == NULL; }

SyntaxKind node_kind(SyntaxNode node) {
    if (node_is_null(node)) return SYNTAX_OTHER;
    return is_whole(node) ? SYNTAX_MODULE : (SyntaxKind)record_of(node)->kind;
}

const char *node_kind_name(SyntaxNode node) {
    if (node_is_null(node)) return "";
    const SyntaxTree *tree = piece_of(node)->owner;
    return is_whole(node) ? tree->root_name : syntax_symbol_name(tree, record_of(node)->symbol);
}

bool node_is_error(SyntaxNode node) {
    if (node_is_null(node) || is_whole(node)) return false;
    return record_of(node)->is_error || record_of(node)->is_missing;
}

bool node_has_error(SyntaxNode node) {
    if (node_is_null(node)) return false;
    return is_whole(node) ? piece_of(node)->owner->has_error : record_of(node)->has_error;
}

Range node_range(const Source *source, SyntaxNode node) {
    if (node_is_null(node)) return (Range){source, 0, 0};
    if (is_whole(node)) {
        const SyntaxTree *tree = node.id;
        return (Range){source, 0, tree->pieces.items[tree->pieces.count - 1].end};
    }
    uint32_t start = piece_of(node)->start;
    return (Range){source, start + record_of(node)->start, start + record_of(node)->end};
}

Str node_text(const Source *source, SyntaxNode node) {
    return source_slice(node_range(source, node));
}

/* ---- above ---- */

SyntaxNode node_parent(SyntaxNode node) {
    if (node_is_null(node)) return node;
    if (is_whole(node)) return (SyntaxNode){0};
    const SyntaxRecord *record = record_of(node);
    if (record->above == 0) return whole_of(piece_of(node)->owner);
    return node_shown(piece_of(node), record - record->above);
}

/* ---- children ---- */

/// The child with this number, among the named ones or all; NULL when there are fewer.
static const SyntaxRecord *record_child(const Piece *piece, const SyntaxRecord *record,
                                        uint32_t index, bool is_named) {
    const WideRecord *wide = record_wide(piece->records, record);
    if (wide && index >= (is_named ? wide->named_count : wide->all_count)) return NULL;
    if (wide) return record + (is_named ? wide->named : wide->all)[index];
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size)
        if ((!is_named || child->is_named) && index-- == 0) return child;
    return NULL;
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
    const SyntaxRecord *root = piece->records->items;
    return record_node(piece,
                       piece->shows_root ? root : record_child(piece, root, inside, is_named));
}

static SyntaxNode node_child_of(SyntaxNode node, uint32_t index, bool is_named) {
    if (node_is_null(node)) return node;
    if (is_whole(node)) return whole_child(node.id, index, is_named);
    return record_node(piece_of(node),
                       record_child(piece_of(node), record_of(node), index, is_named));
}

uint32_t node_child_count(SyntaxNode node) {
    if (node_is_null(node)) return 0;
    if (!is_whole(node)) {
        const WideRecord *wide = record_wide(piece_of(node)->records, record_of(node));
        return wide ? wide->named_count : record_count_children(record_of(node), true);
    }
    const SyntaxTree *tree = node.id;
    const Piece *last = &tree->pieces.items[tree->pieces.count - 1];
    return last->named_before + last->named_count;
}

SyntaxNode node_child(SyntaxNode node, uint32_t index) { return node_child_of(node, index, true); }

uint32_t node_all_child_count(SyntaxNode node) {
    if (node_is_null(node)) return 0;
    if (!is_whole(node)) {
        const WideRecord *wide = record_wide(piece_of(node)->records, record_of(node));
        return wide ? wide->all_count : record_of(node)->child_count;
    }
    const SyntaxTree *tree = node.id;
    const Piece *last = &tree->pieces.items[tree->pieces.count - 1];
    return last->all_before + last->all_count;
}

SyntaxNode node_all_child(SyntaxNode node, uint32_t index) {
    return node_child_of(node, index, false);
}

int node_all_children(Arena *arena, SyntaxNode node, SyntaxNode **children) {
    int capacity = (int)node_all_child_count(node);
    int count = 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, capacity + 1);
    if (node_is_null(node) || is_whole(node)) {
        for (; count < capacity; count++)
            (*children)[count] = node_all_child(node, (uint32_t)count);
        return count;
    }
    const SyntaxRecord *record = record_of(node);
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size)
        (*children)[count++] = record_node(piece_of(node), child);
    return count;
}

static int collect_children(const Piece *piece, const SyntaxRecord *record, SyntaxNode *children) {
    int count = 0;
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size)
        if (child->is_named && (!child->is_extra || child->is_error))
            children[count++] = record_node(piece, child);
    return count;
}

/// Those of the whole that lie in the piece.
static int collect_shown(const Piece *piece, SyntaxNode *children) {
    const SyntaxRecord *root = piece->records->items;
    if (!piece->shows_root) return collect_children(piece, root, children);
    children[0] = record_node(piece, root);
    return 1;
}

int syntax_piece_children(Arena *arena, const SyntaxTree *tree, int piece, SyntaxNode **children) {
    const Piece *at = &tree->pieces.items[piece];
    *children = NULL;
    if (at->named_count == 0) return 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, at->named_count);
    return collect_shown(at, *children);
}

int node_children(Arena *arena, SyntaxNode node, SyntaxNode **children) {
    uint32_t capacity = node_child_count(node);
    *children = NULL;
    if (capacity == 0) return 0;
    *children = ARENA_ARRAY(arena, SyntaxNode, capacity);
    if (!is_whole(node)) return collect_children(piece_of(node), record_of(node), *children);
    const SyntaxTree *tree = node.id;
    int count = 0;
    for (LIST_EACH(int, i, tree->pieces))
        count += collect_shown(&tree->pieces.items[i], *children + count);
    return count;
}

SyntaxNode node_field(SyntaxNode node, const char *field) {
    if (node_is_null(node) || is_whole(node)) return (SyntaxNode){0};
    uint8_t id = syntax_field_find(piece_of(node)->owner, field);
    if (!id) return (SyntaxNode){0};
    const SyntaxRecord *record = record_of(node);
    const WideRecord *wide = record_wide(piece_of(node)->records, record);
    for (uint32_t i = 0; wide && i < wide->field_count; i++)
        if (record[wide->fields[i]].field == id)
            return record_node(piece_of(node), record + wide->fields[i]);
    if (wide) return (SyntaxNode){0};
    for (const SyntaxRecord *child = record_first(record); child < record_end(record);
         child += child->size)
        if (child->field == id) return record_node(piece_of(node), child);
    return (SyntaxNode){0};
}

/* ---- below ---- */

static void walk_records(const Piece *piece, const SyntaxRecord *from, const SyntaxRecord *end,
                         SyntaxVisitor *visit, void *context) {
    for (const SyntaxRecord *record = from; record < end;) {
        bool below = record->is_named && visit(context, record_node(piece, record));
        record += below ? 1 : record->size;
    }
}

void syntax_walk_piece(const SyntaxTree *tree, int piece, SyntaxVisitor *visit, void *context) {
    const Piece *at = &tree->pieces.items[piece];
    const SyntaxRecord *root = at->records->items;
    walk_records(at, at->shows_root ? root : root + 1, record_end(root), visit, context);
}

void syntax_walk(SyntaxNode node, SyntaxVisitor *visit, void *context) {
    if (node_is_null(node)) return;
    if (!is_whole(node)) {
        const SyntaxRecord *record = record_of(node);
        walk_records(piece_of(node), record, record_end(record), visit, context);
        return;
    }
    const SyntaxTree *tree = node.id;
    if (!visit(context, node)) return;
    for (LIST_EACH(int, i, tree->pieces)) syntax_walk_piece(tree, i, visit, context);
}

/// The first child that ends at `end` or behind it.
static const SyntaxRecord *record_first_to(const Piece *piece, const SyntaxRecord *record,
                                           uint32_t end) {
    const WideRecord *wide = record_wide(piece->records, record);
    if (!wide) return record_first(record);
    uint32_t low = 0;
    for (uint32_t high = wide->all_count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (record[wide->all[middle]].end < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < wide->all_count ? record + wide->all[low] : record_end(record);
}

/// The child that covers the bytes; an empty one only when it stands at their start.
static const SyntaxRecord *record_child_at(const Piece *piece, const SyntaxRecord *record,
                                           uint32_t start, uint32_t end) {
    for (const SyntaxRecord *child = record_first_to(piece, record, end);
         child < record_end(record); child += child->size) {
        bool is_empty = child->start == child->end;
        if (child->end < end || (is_empty ? child->end < start : child->end <= start)) continue;
        return child->start <= start ? child : NULL;
    }
    return NULL;
}

SyntaxNode node_at(SyntaxNode node, uint32_t start, uint32_t end) {
    if (node_is_null(node)) return node;
    const Piece *piece = piece_of(node);
    const SyntaxRecord *record = record_of(node);
    if (is_whole(node)) {
        const SyntaxTree *tree = node.id;
        piece = &tree->pieces.items[syntax_piece_at(tree, start)];
        if (end > piece->end) return node;
        record = piece->records->items;
    }
    if (start < piece->start) return node_shown(piece, record);
    if (start > end) return (SyntaxNode){0};
    const SyntaxRecord *smallest = record;
    for (; record;
         record = record_child_at(piece, record, start - piece->start, end - piece->start)) {
        budget_take(1);
        if (record->is_named) smallest = record;
    }
    return node_shown(piece, smallest);
}

enum { PATTERN_LIMIT = 200 };

static void targets_below(SyntaxNode target, TargetVisitor *visit, void *context, int depth) {
    if (depth > PATTERN_LIMIT) return;
    switch (node_kind(target)) {
    case SYNTAX_IDENTIFIER: visit(context, target, depth > 0); break;
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_LIST_SPLAT_PATTERN:
    case SYNTAX_AS_PATTERN_TARGET:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_TUPLE:
        for (uint32_t i = 0; i < node_child_count(target); i++)
            targets_below(node_child(target, i), visit, context, depth + 1);
        break;
    default: break;
    }
}

bool node_binds_names(SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_LIST_SPLAT_PATTERN:
    case SYNTAX_AS_PATTERN_TARGET:
    case SYNTAX_GLOBAL:
    case SYNTAX_NONLOCAL:
    case SYNTAX_DELETE: return true;
    default: return false;
    }
}

void syntax_targets(SyntaxNode target, TargetVisitor *visit, void *context) {
    targets_below(target, visit, context, 0);
}
