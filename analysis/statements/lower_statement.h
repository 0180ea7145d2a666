// Statements: blocks, assignments to every kind of target, and what Triton does not compile.
#ifndef TAD_ANALYSIS_STATEMENTS_LOWER_STATEMENT_H
#define TAD_ANALYSIS_STATEMENTS_LOWER_STATEMENT_H

#include "analysis/frames/recursion.h"

void names_assigned(Lowering *lowering, SyntaxNode node, Map *names);
/// Whether the statements to come read `name` before they certainly assign it.
bool rest_reads(const Lowering *lowering, const Rest *rest, Str name);
/// Whether the statements to come read `name` only in branches that `condition`, by its text, leads to or rules out, and leave it as it is.
bool rest_reads_by_condition(Lowering *lowering, const Rest *rest, Str name, Str condition);

#endif
