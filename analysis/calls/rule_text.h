// Text in Triton's language that is no user's, parsed and lowered.
#ifndef TAD_ANALYSIS_CALLS_RULE_TEXT_H
#define TAD_ANALYSIS_CALLS_RULE_TEXT_H

#include "analysis/frames/lowering.h"

typedef struct RuleText {
    Arena *arena;
    Str text;
    const Source *source;
    SyntaxTree *tree;
    struct RuleText *next;
} RuleText;

/// The parsed text. `*owned` is set when the caller has to free the tree (a text too many to keep).
const RuleText *rule_find(Arena *arena, Str text, bool *owned);
/// Lowers the statements or the expression of a rule in a frame of its own; variables are set by the caller.
Value *rule_lower(Lowering *lowering, const RuleText *rule);

#endif
