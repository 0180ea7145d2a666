// Python syntax trees: the one door to tree-sitter. Nodes are small values; the tree must outlive them.
#ifndef TAD_ANALYSIS_SYNTAX_SYNTAX_H
#define TAD_ANALYSIS_SYNTAX_SYNTAX_H

#include "analysis/syntax/source.h"

typedef struct SyntaxTree SyntaxTree;

/// Only analysis/syntax/ look inside; `id` tells nodes of a piece apart.
typedef struct SyntaxNode {
    const void *id;
    const void *tree;
} SyntaxNode;

// NODE(ID, "tree-sitter-python kind"): named kinds the front end switches over.
typedef enum SyntaxKind {
    SYNTAX_OTHER,
#define NODE(id, name) SYNTAX_##id,
#include "analysis/syntax/syntax.def"
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

/// The piece that holds the byte.
int syntax_piece_at(const SyntaxTree *tree, uint32_t offset);

/// Whether both are the same place of one tree.
static inline bool node_same(SyntaxNode a, SyntaxNode b) {
    return a.id == b.id && a.tree == b.tree;
}
bool node_is_error(SyntaxNode node);             // an ERROR or MISSING node
bool node_has_error(SyntaxNode node);            // or below it
uint32_t node_child_count(SyntaxNode node);      // named children; comments included
uint32_t node_all_child_count(SyntaxNode node);  // anonymous tokens too
/// Visits `node` and everything below it, parents first, without recursion; `visit` says whether to go below its node.
typedef bool SyntaxVisitor(void *context, SyntaxNode node);
/// The identifiers that an assignment's target binds, in order; `is_item`: within a pattern. Patterns that nest deeper than any
/// program's are left out.
typedef void TargetVisitor(void *context, SyntaxNode identifier, bool is_item);

#endif
