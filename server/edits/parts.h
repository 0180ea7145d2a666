// What of a piece of Python counts where two are compared: no comments, no layout, no quotes, no annotations of types.
#ifndef TAD_SERVER_EDITS_PARTS_H
#define TAD_SERVER_EDITS_PARTS_H

#include "analysis/syntax/syntax_nodes.h"
#include "base/list.h"
#include "base/map.h"

typedef LIST(SyntaxNode) SyntaxParts;

/// Expressions that nest deeper than people write are compared by their text.
enum { DEEPEST_PART = 100 };

/// The node without the parentheses, and without the type, that stand around it.
SyntaxNode part_bare(SyntaxNode node);
/// The children that count, in order. Of a block: the statements that do something.
SyntaxParts parts_of(Arena *arena, const Source *source, SyntaxNode node);
/// Whether both are of one kind, however they are spelled: `a, b` and `(a, b)` are.
bool parts_are_of_a_kind(SyntaxNode a, SyntaxNode b);
bool part_is_block(SyntaxNode node);
/// The same string, whatever its quotes; interpolations are parts of their own.
bool string_parts_equal(const Source *a_source, SyntaxNode a, const Source *b_source, SyntaxNode b);
/// The same number, whatever its digits.
bool number_parts_equal(Str a, Str b);
/// The names that a function binds, those of functions within it among them; under each the map itself.
Map parts_bind(Arena *arena, const Source *source, SyntaxNode function);
/// A statement with a point for each of the names, in one line: equal for what may be the same but for names.
const char *part_shape(Arena *arena, const Source *source, SyntaxNode node, const Map *names);

#endif
