// A module and an edit in, what both texts share moved to the next module, and what the edit changed.
#ifndef TAD_ANALYSIS_MODULE_MODULE_UPDATE_H
#define TAD_ANALYSIS_MODULE_MODULE_UPDATE_H

#include "analysis/module/module_scope.h"

/// A copy of `former` for the same piece of the next text, without what other statements say of it (flags, tuned names).
FunctionDefinition *function_move(Module *module, const FunctionDefinition *former, int piece);
/// Whether all that callers see of a function is as it was in the former text.
bool definition_is_same(const FunctionDefinition *a, const FunctionDefinition *b);
/// The function of the former text that `definition` is, or NULL.
const FunctionDefinition *function_find_former(const Module *module, SyntaxNode definition);
/// The facts of pieces that both texts share.
void module_move_pieces(Module *module);
/// Which names stand for something else than in the former text.
void module_compare(const Module *module, ModuleChanges *changes);

#endif
