// Text in Triton's language that is no user's: definitions (EXPANDS) and derivative rules of the operation table.
// Their syntax trees are parsed once per process and kept.
#include "analysis/calls/rule_text.h"

#include <stdatomic.h>

#include "analysis/expressions/lower_expression.h"
#include "analysis/frames/recursion.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/budget.h"

// A list per bucket, only ever added to at the head, so that readers need no lock.
enum { RULE_BUCKETS = 512, RULES_KEPT = 8192 };
static _Atomic(RuleText *) rule_texts[RULE_BUCKETS];
static atomic_int rules_kept;

static uint32_t text_hash(Str text) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.size; i++) hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return hash;
}

static void rule_parse(Arena *arena, RuleText *rule, Str text) {
    rule->text = (Str){arena_strndup(arena, text.data, text.size), text.size};
    rule->source = source_new(arena, "", rule->text);
    rule->tree = syntax_parse(rule->source);
}

const RuleText *rule_find(Arena *arena, Str text, bool *owned) {
    _Atomic(RuleText *) *bucket = &rule_texts[text_hash(text) % RULE_BUCKETS];
    RuleText *head = atomic_load(bucket);
    for (RuleText *rule = head; rule; rule = rule->next)
        if (str_equal(rule->text, text)) return rule;
    *owned = atomic_load(&rules_kept) >= RULES_KEPT;
    if (*owned) {
        RuleText *rule = ARENA_NEW(arena, RuleText);
        rule_parse(arena, rule, text);
        return rule;
    }
    atomic_fetch_add(&rules_kept, 1);
    StepBudget *paused = budget_pause();  // the next kernel has it for nothing
    Arena *kept = arena_new();
    RuleText *rule = ARENA_NEW(kept, RuleText);
    rule->arena = kept;
    rule_parse(kept, rule, text);
    do rule->next = head;
    while (!atomic_compare_exchange_weak(bucket, &head, rule));
    budget_resume(paused);
    return rule;
}

Value *rule_lower(Lowering *lowering, const RuleText *rule) {
    SyntaxNode root = syntax_root(rule->tree);
    SyntaxNode *items;
    int count = node_children(lowering->arena, root, &items);
    if (count == 1 && node_kind(items[0]) == SYNTAX_EXPRESSION_STATEMENT) {
        SyntaxNode expression = node_child(items[0], 0);
        SyntaxKind kind = node_kind(expression);
        if (node_child_count(items[0]) == 1 && kind != SYNTAX_ASSIGNMENT)
            return lower_value(lowering, expression);
    }
    Rest rest = {items, count, 0, NULL};
    Outcome outcome = lower_rest(lowering, &rest);
    return outcome.value;
}
