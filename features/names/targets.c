// A function's syntax in, the identifiers that it assigns out.
#include "features/names/targets.h"
#include "analysis/module/function_names.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct TargetSearch {
    Arena *arena;
    bool has_scopes;
    Target next;  // all of it but the node
    Targets targets;
} TargetSearch;

static void add_name(void *context, SyntaxNode identifier, bool is_item) {
    TargetSearch *search = context;
    Target target = search->next;
    target.node = identifier;
    target.is_item = is_item;
    LIST_PUSH(search->arena, &search->targets.list, target);
}

static void target_add(TargetSearch *search, SyntaxNode node, Target target) {
    search->next = target;
    syntax_targets(node, add_name, search);
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
        target_add(search, node_field(node, "left"), target);
        return true;
    case SYNTAX_AUGMENTED_ASSIGNMENT:
        target.kind = TARGET_AUGMENTED;
        target_add(search, node_field(node, "left"), target);
        return true;
    case SYNTAX_FOR:
        target.kind = TARGET_LOOP;
        target_add(search, node_field(node, "left"), target);
        return true;
    case SYNTAX_NAMED_EXPRESSION:
        target.kind = TARGET_INSIDE;
        target.right = node_field(node, "value");
        target_add(search, node_field(node, "name"), target);
        return true;
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
    case SYNTAX_LAMBDA: return false;
    default: return true;
    }
}

Targets targets_of(FileNames *names, SyntaxNode function) {
    SyntaxNode body = node_field(function, "body");
    TargetSearch search = {.arena = names->arena,
                           .has_scopes = text_has_scopes(text_of(names, body))};
    syntax_walk(body, visit_target, &search);
    return search.targets;
}

bool target_is_before(const FileNames *names, const Target *target, uint32_t offset) {
    if (range_of(names, target->node).end >= offset) return false;
    return node_is_null(target->right) || !range_touches(range_of(names, target->right), offset);
}
