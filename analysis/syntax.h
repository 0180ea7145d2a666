// Python syntax trees: the one door to tree-sitter. Nodes are small values; the tree must outlive them.
#ifndef TAD_ANALYSIS_SYNTAX_H
#define TAD_ANALYSIS_SYNTAX_H

#include "analysis/source.h"

typedef struct SyntaxTree SyntaxTree;

/// Only analysis/syntax*.c look inside; `id` tells nodes of a piece apart.
typedef struct SyntaxNode {
    const void *id;
    const void *tree;
} SyntaxNode;

// NODE(ID, "tree-sitter-python kind"): named kinds the front end switches over.
typedef enum SyntaxKind {
    SYNTAX_OTHER,
#define NODE(id, name) SYNTAX_##id,
#include "analysis/syntax.def"
#undef NODE
    SYNTAX_COUNT
} SyntaxKind;

/// Parses; never fails. `source` must outlive the tree. Freed with syntax_free (not by the arena).
SyntaxTree *syntax_parse(const Source *source);
/// The same for a TOML document; its nodes are told apart by node_kind_name (node_kind is for Python).
SyntaxTree *syntax_parse_toml(const Source *source);
/// Bytes [start, old_end) of the former text became [start, new_end).
typedef struct Edit {
    uint32_t start;
    uint32_t old_end;
    uint32_t new_end;
} Edit;

/// The tree of an edited text, equal to syntax_parse of it. Shares with `old`, whose text is still there, what the edit left
/// alone; each is freed on its own.
SyntaxTree *syntax_reparse(const SyntaxTree *old, const Source *source, Edit edit);
void syntax_free(SyntaxTree *tree);
SyntaxNode syntax_root(const SyntaxTree *tree);

// A tree consists of pieces: runs of top-level statements (split.h), each parsed on its own, so that what is wrong in one
// does not reach the next. At least one; in order, without gaps.
int syntax_piece_count(const SyntaxTree *tree);
Range syntax_piece_range(const SyntaxTree *tree, const Source *source, int piece);
/// The piece of the tree before the edit that is shared as this one; -1 for a new one.
int syntax_piece_former(const SyntaxTree *tree, int piece);
/// The piece that holds the byte.
int syntax_piece_at(const SyntaxTree *tree, uint32_t offset);
bool syntax_piece_has_error(const SyntaxTree *tree, int piece);
/// The children of the root that lie in the piece, without comments.
int syntax_piece_children(Arena *arena, const SyntaxTree *tree, int piece, SyntaxNode **children);
int node_piece(SyntaxNode node);
/// The same node in another tree that shares its piece. Its `id` stays the same.
SyntaxNode node_moved(SyntaxNode node, const SyntaxTree *tree, int piece);

bool node_is_null(SyntaxNode node);
/// Whether both are the same place of one tree.
static inline bool node_same(SyntaxNode a, SyntaxNode b) {
    return a.id == b.id && a.tree == b.tree;
}
SyntaxKind node_kind(SyntaxNode node);
const char *node_kind_name(SyntaxNode node);
bool node_is_error(SyntaxNode node);   // an ERROR or MISSING node
bool node_has_error(SyntaxNode node);  // or below it
Range node_range(const Source *source, SyntaxNode node);
Str node_text(const Source *source, SyntaxNode node);
SyntaxNode node_parent(SyntaxNode node);
uint32_t node_child_count(SyntaxNode node);  // named children; comments included
SyntaxNode node_child(SyntaxNode node, uint32_t index);
/// The named children without comments, found in one pass; returns how many.
int node_children(Arena *arena, SyntaxNode node, SyntaxNode **children);
uint32_t node_all_child_count(SyntaxNode node);  // anonymous tokens too
SyntaxNode node_all_child(SyntaxNode node, uint32_t index);
/// All children, found in one pass; returns how many.
int node_all_children(Arena *arena, SyntaxNode node, SyntaxNode **children);
SyntaxNode node_field(SyntaxNode node, const char *field);
/// Visits `node` and everything below it, parents first, without recursion; `visit` says whether to go below its node.
typedef bool SyntaxVisitor(void *context, SyntaxNode node);
void syntax_walk(SyntaxNode node, SyntaxVisitor *visit, void *context);
/// The same over the children of the root that lie in one piece.
void syntax_walk_piece(const SyntaxTree *tree, int piece, SyntaxVisitor *visit, void *context);
/// The identifiers that an assignment's target binds, in order; `is_item`: within a pattern. Patterns that nest deeper than any
/// program's are left out.
typedef void TargetVisitor(void *context, SyntaxNode identifier, bool is_item);
void syntax_targets(SyntaxNode target, TargetVisitor *visit, void *context);
/// Whether a name that stands right in such a node is bound or unbound by it: a pattern, `as`, `global`, `del`.
bool node_binds_names(SyntaxNode node);
/// The smallest node that covers the bytes.
SyntaxNode node_at(SyntaxNode root, uint32_t start, uint32_t end);

#endif
