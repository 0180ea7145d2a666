// Questions to the nodes of a syntax tree, answered from its records. Above the roots of the pieces stands one of the whole,
// which is no record.
#ifndef TAD_ANALYSIS_SYNTAX_SYNTAX_NODES_H
#define TAD_ANALYSIS_SYNTAX_SYNTAX_NODES_H

#include "analysis/syntax/syntax.h"

SyntaxNode syntax_root(const SyntaxTree *tree);
// A tree consists of pieces: runs of top-level statements (split.h), each parsed on its own, so that what is wrong in one
// does not reach the next. At least one; in order, without gaps.
int syntax_piece_count(const SyntaxTree *tree);
Range syntax_piece_range(const SyntaxTree *tree, const Source *source, int piece);
/// The piece of the tree before the edit that is shared as this one; -1 for a new one.
int syntax_piece_former(const SyntaxTree *tree, int piece);
bool syntax_piece_has_error(const SyntaxTree *tree, int piece);
/// The children of the root that lie in the piece, without comments.
int syntax_piece_children(Arena *arena, const SyntaxTree *tree, int piece, SyntaxNode **children);
int node_piece(SyntaxNode node);
/// The same node in another tree that shares its piece. Its `id` stays the same.
SyntaxNode node_moved(SyntaxNode node, const SyntaxTree *tree, int piece);
bool node_is_null(SyntaxNode node);
SyntaxKind node_kind(SyntaxNode node);
const char *node_kind_name(SyntaxNode node);
Range node_range(const Source *source, SyntaxNode node);
Str node_text(const Source *source, SyntaxNode node);
SyntaxNode node_parent(SyntaxNode node);
SyntaxNode node_child(SyntaxNode node, uint32_t index);
/// The named children without comments, found in one pass; returns how many.
int node_children(Arena *arena, SyntaxNode node, SyntaxNode **children);
SyntaxNode node_all_child(SyntaxNode node, uint32_t index);
/// All children, found in one pass; returns how many.
int node_all_children(Arena *arena, SyntaxNode node, SyntaxNode **children);
SyntaxNode node_field(SyntaxNode node, const char *field);
void syntax_walk(SyntaxNode node, SyntaxVisitor *visit, void *context);
/// The same over the children of the root that lie in one piece.
void syntax_walk_piece(const SyntaxTree *tree, int piece, SyntaxVisitor *visit, void *context);
void syntax_targets(SyntaxNode target, TargetVisitor *visit, void *context);
/// Whether a name that stands right in such a node is bound or unbound by it: a pattern, `as`, `global`, `del`.
bool node_binds_names(SyntaxNode node);
/// The smallest node that covers the bytes.
SyntaxNode node_at(SyntaxNode root, uint32_t start, uint32_t end);

#endif
