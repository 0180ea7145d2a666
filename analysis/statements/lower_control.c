// Branches: `if` and conditional expressions, folded when the condition is known, else both branches and what they yield.
#include "analysis/statements/lower_control.h"

#include <string.h>

#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/branches.h"
#include "analysis/frames/conditions.h"
#include "analysis/frames/lowering.h"
#include "analysis/frames/recursion.h"
#include "analysis/statements/lower_statement.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MAX_SPLIT_DEPTH = 3, SPLIT_SHARE = 4 };

typedef struct IfChain {
    SyntaxNode *conditions;
    SyntaxNode *blocks;
    int count;             // of conditions
    SyntaxNode otherwise;  // block of `else`, or null
    int at;
    const Rest *rest;   // what the branches take with them, or NULL
    const Rest *after;  // what follows in any case
    After mode;         // what becomes of the statements after the chain
} IfChain;

static Outcome chain_lower(Lowering *lowering, IfChain chain);

static Outcome chain_block(Lowering *lowering, SyntaxNode block, const Rest *rest) {
    SyntaxNode *items;
    int count = node_children(lowering->arena, block, &items);
    Rest inner = {items, count, 0, rest};
    Outcome outcome = lower_rest(lowering, &inner);
    if (!rest) outcome.ended = false;  // up to the end of this block
    return outcome;
}

static Outcome chain_branch(Lowering *lowering, void *context, bool is_first) {
    IfChain chain = *(const IfChain *)context;
    if (is_first) return chain_block(lowering, chain.blocks[chain.at], chain.rest);
    chain.at++;
    Outcome outcome = {0};
    if (lowering_deeper(lowering, chain.conditions[chain.at - 1]))
        outcome = chain_lower(lowering, chain);
    lowering->depth--;
    return outcome;
}

/// Whether a block says that it is never compiled: `raise`, or a static assertion of False.
static bool block_is_refused(const Lowering *lowering, SyntaxNode block) {
    for (uint32_t i = 0; !node_is_null(block) && i < node_child_count(block); i++) {
        SyntaxNode statement = node_child(block, i);
        if (node_kind(statement) == SYNTAX_RAISE) return true;
        SyntaxNode call = node_child(statement, 0);
        if (node_kind(statement) != SYNTAX_EXPRESSION_STATEMENT || node_kind(call) != SYNTAX_CALL)
            continue;
        SyntaxNode arguments = node_field(call, "arguments");
        if (str_ends(lowering_text(lowering, node_field(call, "function")), "static_assert") &&
            node_child_count(arguments) && node_kind(node_child(arguments, 0)) == SYNTAX_FALSE)
            return true;
    }
    return false;
}

/// The only branch that an instance of the kernel can have: 1 the first, 0 what follows it, -1 both.
static int chain_only_branch(const Lowering *lowering, const IfChain *chain,
                             const Value *condition) {
    if (!condition->type.is_constexpr) return -1;
    if (block_is_refused(lowering, chain->blocks[chain->at])) return 0;
    bool is_last = chain->at + 1 == chain->count;
    return is_last && block_is_refused(lowering, chain->otherwise) ? 1 : -1;
}

/// Whether what follows reads a variable that lost its type where the branches met.
static bool split_helps(const Lowering *lowering, const IfChain *chain, int forgotten) {
    if (chain->rest || chain->at > 0 || lowering->split_depth >= MAX_SPLIT_DEPTH) return false;
    if (lowering->builder.function->op_count > lowering->max_ops / SPLIT_SHARE) return false;
    for (int i = forgotten; i < lowering->forgotten.count; i++)
        if (rest_reads(lowering, chain->after, lowering->forgotten.items[i])) return true;
    return false;
}

/// Gives the variables that lost their type where the branches met a version for each, where what follows reads them by the condition:
/// then nothing has to be lowered twice. False where one of them is read in another way.
static bool chain_tell_apart(Lowering *lowering, const IfChain *chain, int forgotten) {
    Op *branch = lowering->builder.before ? lowering->builder.before->previous
                                          : lowering->builder.region->last;
    if (branch->code != OP_IF) return false;
    Str condition = lowering_text(lowering, chain->conditions[chain->at]);
    for (int i = forgotten; i < lowering->forgotten.count; i++) {
        Str name = lowering->forgotten.items[i];
        if (rest_reads(lowering, chain->after, name) &&
            !(rest_reads_by_condition(lowering, chain->after, name, condition) &&
              branches_tell_apart(lowering, branch, name)))
            return false;
    }
    lowering->forgotten.count = forgotten;
    return true;
}

/// Where a chain's branches begin, to take them back.
typedef struct Start {
    const Op *last;
    Variables variables;
    int forgotten;
    int said;
    int unassigned;
} Start;

static Start chain_start(Lowering *lowering) {
    return (Start){.last = lowering->builder.region->last,
                   .variables = variables_copy(lowering),
                   .forgotten = lowering->forgotten.count,
                   .said = lowering->diagnostics ? lowering->diagnostics->list.count : 0,
                   .unassigned = lowering->unassigned};
}

/// Takes back the branches of `condition`; false where something stands behind them.
static bool chain_restart(Lowering *lowering, const Start *start, const Value *condition) {
    // Constexpr expressions were put further up, so the last op is the one to take back.
    Op *made = lowering->builder.before ? lowering->builder.before->previous
                                        : lowering->builder.region->last;
    if (made == start->last || made->code != OP_IF || made->operands[0] != condition) return false;
    op_remove(made);
    lowering->frame->variables = start->variables;
    lowering->forgotten.count = start->forgotten;
    lowering->unassigned = start->unassigned;
    if (lowering->diagnostics) lowering->diagnostics->list.count = start->said;
    return true;
}

/// The branch that an instance of the kernel takes if it compiles: the truth of the condition from here on.
static Outcome chain_only(Lowering *lowering, IfChain chain, const Value *condition, bool truth) {
    lowering_assume(lowering, condition, truth, true);
    return chain_branch(lowering, &chain, truth);
}

/// Both branches. Where they leave a variable with two shapes or kinds, and an instance of the kernel has only one of them,
/// what follows is lowered once for each.
static Outcome chain_branches(Lowering *lowering, IfChain chain, Value *condition) {
    int only;
    if (!condition->type.is_constexpr)
        return lower_branches(lowering, condition, chain_branch, &chain, chain.mode, &only);
    Start start = chain_start(lowering);
    Outcome outcome = lower_branches(lowering, condition, chain_branch, &chain, chain.mode, &only);
    bool splits = only < 0 && split_helps(lowering, &chain, start.forgotten) &&
                  !chain_tell_apart(lowering, &chain, start.forgotten);
    if (only < 0 && !splits) return outcome;
    if (!chain_restart(lowering, &start, condition)) return outcome;
    if (!splits) return chain_only(lowering, chain, condition, only);
    IfChain whole = chain;
    chain.rest = chain.after;
    chain.mode = AFTER_SPLITS;
    start = chain_start(lowering);
    lowering->split_depth++;
    outcome = lower_branches(lowering, condition, chain_branch, &chain, chain.mode, &only);
    lowering->split_depth--;
    lowering->forgotten.count = start.forgotten;
    bool is_one = only >= 0 && chain_restart(lowering, &start, condition);
    return is_one ? chain_only(lowering, whole, condition, only) : outcome;
}

static Outcome chain_lower(Lowering *lowering, IfChain chain) {
    if (chain.at == chain.count) return chain_block(lowering, chain.otherwise, chain.rest);
    SyntaxNode node = chain.conditions[chain.at];
    Value *condition = lower_value(lowering, node);
    bool truth;
    if (condition_known(lowering, condition, &truth)) return chain_branch(lowering, &chain, truth);
    int only = chain_only_branch(lowering, &chain, condition);
    if (only >= 0) return chain_only(lowering, chain, condition, only);
    Range former = lowering_at(lowering, node);
    Outcome outcome = chain_branches(lowering, chain, condition);
    lowering->builder.range = former;
    return outcome;
}

Outcome lower_if(Lowering *lowering, SyntaxNode node, const Rest *after, bool leaves) {
    SyntaxNode *children;
    int count = node_children(lowering->arena, node, &children);
    IfChain chain = {.conditions = ARENA_ARRAY(lowering->arena, SyntaxNode, count + 1),
                     .blocks = ARENA_ARRAY(lowering->arena, SyntaxNode, count + 1),
                     .rest = leaves ? after : NULL,
                     .after = after,
                     .mode = leaves ? AFTER_LEAVES : AFTER_FOLLOWS};
    chain.conditions[0] = node_field(node, "condition");
    chain.blocks[0] = node_field(node, "consequence");
    chain.count = 1;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_ELIF) {
            chain.conditions[chain.count] = node_field(children[i], "condition");
            chain.blocks[chain.count++] = node_field(children[i], "consequence");
        } else if (node_kind(children[i]) == SYNTAX_ELSE) {
            chain.otherwise = node_field(children[i], "body");
        }
    }
    return chain_lower(lowering, chain);
}
