// A function's syntax in, the identifiers that it assigns out.
#include "features/targets.h"

enum { PATTERN_DEPTH = 16 };

typedef struct TargetSearch {
    Arena *arena;
    bool has_scopes;
    Targets targets;
} TargetSearch;

static void target_add(TargetSearch *search, SyntaxNode node, Target target, int depth) {
    if (depth > PATTERN_DEPTH) return;
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:
        target.node = node;
        LIST_PUSH(search->arena, &search->targets.list, target);
        break;
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_TUPLE:
    case SYNTAX_LIST_SPLAT_PATTERN:
    case SYNTAX_AS_PATTERN_TARGET:
        target.is_item = true;
        for (uint32_t i = 0; i < node_child_count(node); i++)
            target_add(search, node_child(node, i), target, depth + 1);
        break;
    default: break;
    }
}

static bool visit_target(void *context, SyntaxNode node) {
    TargetSearch *search = context;
    Target target = {.kind = TARGET_ASSIGNMENT};
    SyntaxKind kind = node_kind(node);
    if (!search->has_scopes && kind_is_expression(kind)) return false;
    if (kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT || kind == SYNTAX_FOR)
        target.right = node_field(node, "right");
    switch (kind) {
    case SYNTAX_ASSIGNMENT:
        if (node_is_null(target.right)) return true;
        target.is_annotated = !node_is_null(node_field(node, "type"));
        target_add(search, node_field(node, "left"), target, 0);
        return true;
    case SYNTAX_AUGMENTED_ASSIGNMENT:
        target.kind = TARGET_AUGMENTED;
        target_add(search, node_field(node, "left"), target, 0);
        return true;
    case SYNTAX_FOR:
        target.kind = TARGET_LOOP;
        target_add(search, node_field(node, "left"), target, 0);
        return true;
    case SYNTAX_NAMED_EXPRESSION:
        target.kind = TARGET_INSIDE;
        target.right = node_field(node, "value");
        target_add(search, node_field(node, "name"), target, 0);
        return true;
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
    case SYNTAX_LAMBDA: return false;
    default: return true;
    }
}

Targets targets_of(Names *names, SyntaxNode function) {
    SyntaxNode body = node_field(function, "body");
    TargetSearch search = {.arena = names->arena,
                           .has_scopes = text_has_scopes(text_of(names, body))};
    syntax_walk(body, visit_target, &search);
    return search.targets;
}

bool target_is_before(const Names *names, const Target *target, uint32_t offset) {
    if (range_of(names, target->node).end >= offset) return false;
    return node_is_null(target->right) || !range_touches(range_of(names, target->right), offset);
}
