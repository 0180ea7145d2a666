// The names that a function binds for itself, whatever they are in its file.
#ifndef TAD_ANALYSIS_MODULE_FUNCTION_NAMES_H
#define TAD_ANALYSIS_MODULE_FUNCTION_NAMES_H

#include "analysis/syntax/syntax.h"
#include "base/arena.h"
#include "base/map.h"

/// Parameters, and what statements of the function assign or import; not what it declares global. Keys of a map in `arena`, by
/// name; the values are not NULL.
Map function_names(Arena *arena, const Source *source, SyntaxNode function);
/// Adds the names that a target of an assignment or a loop binds, with a value that is not NULL.
void target_names_add(Map *names, const Source *source, SyntaxNode target);
/// Adds those of the parameters of a function or lambda.
void parameter_names_add(Map *names, const Source *source, SyntaxNode parameters);
/// The identifier of a parameter in any of its spellings; null for separators.
SyntaxNode parameter_identifier(SyntaxNode node);
/// Whether expressions of the text may bind names or open scopes: `:=`, lambdas, comprehensions. Rarely true without need.
bool text_has_scopes(Str text);
/// Kinds of expressions, which need not be entered where the text has no scopes.
bool kind_is_expression(SyntaxKind kind);

#endif
