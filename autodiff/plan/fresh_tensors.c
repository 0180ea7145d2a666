// Tensors that a launcher allocates, followed by name through its text up to a launch.
#include "autodiff/plan/fresh_tensors.h"

#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

static bool same_node(SyntaxNode a, SyntaxNode b) { return a.id == b.id; }

static const TorchRow *allocation_of(const Source *source, SyntaxNode node) {
    bool is_member = !node_is_null(node) && node_kind(node) == SYNTAX_CALL &&
                     node_kind(node_field(node, "function")) == SYNTAX_ATTRIBUTE;
    return is_member ? torch_allocation(source, node) : NULL;
}

/// What an assignment binds the identifier to, in `y = ...` and `y, z = ..., ...`; a null node where it binds nothing, or
/// not so plainly.
static SyntaxNode bound_value(SyntaxNode identifier) {
    SyntaxNode parent = node_parent(identifier), none = {0};
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ASSIGNMENT)
        return same_node(node_field(parent, "left"), identifier) ? node_field(parent, "right")
                                                                 : none;
    SyntaxNode assignment = node_parent(parent);
    if ((kind != SYNTAX_PATTERN_LIST && kind != SYNTAX_TUPLE_PATTERN) ||
        node_kind(assignment) != SYNTAX_ASSIGNMENT)
        return none;
    SyntaxNode right = node_field(assignment, "right");
    bool is_list = !node_is_null(right) &&
                   (node_kind(right) == SYNTAX_EXPRESSION_LIST || node_kind(right) == SYNTAX_TUPLE);
    if (!is_list || node_child_count(right) != node_child_count(parent)) return none;
    for (uint32_t i = 0; i < node_child_count(parent); i++)
        if (same_node(node_child(parent, i), identifier)) return node_child(right, i);
    return none;
}

typedef struct Freshness {
    const Module *module;
    const LaunchSite *site;
    Str name;
    uint32_t end;  // of what may happen before the launch
    bool is_fresh, is_empty;
    int allocations;
} Freshness;

/// Whether the node is an argument of a launch, whatever is done to it there, or of `empty_like` and the like.
static bool is_harmless_argument(const Freshness *freshness, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    if (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT) parent = node_parent(parent);
    parent = node_parent(parent);
    if (allocation_of(freshness->module->source, parent)) return true;
    for (LIST_EACH(int, i, freshness->module->launches))
        if (same_node(freshness->module->launches.items[i].call, parent)) return true;
    return false;
}

/// Whether the launcher is left where this stands, so that no launch comes after it.
static bool is_returned(const Freshness *freshness, SyntaxNode node) {
    bool returns = false;
    for (; !node_is_null(node) && !same_node(node, freshness->site->launcher->body);
         node = node_parent(node)) {
        SyntaxKind kind = node_kind(node);
        // A function in the launcher is left, not the launcher; `finally` goes on.
        if (kind == SYNTAX_FUNCTION || kind == SYNTAX_LAMBDA || kind == SYNTAX_TRY) return false;
        returns |= kind == SYNTAX_RETURN;
    }
    return returns;
}

static SyntaxNode without_parentheses(SyntaxNode node) {
    while (!node_is_null(node) && node_kind(node) == SYNTAX_PARENTHESIZED)
        node = node_child(node, 0);
    return node;
}

/// `torch.empty(...)`, `x.clone()`, None, or one of them as a condition says.
static bool is_own_value(const Source *source, SyntaxNode node) {
    node = without_parentheses(node);
    if (node_is_null(node)) return false;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_NONE) return true;
    if (kind == SYNTAX_CONDITIONAL)
        return node_child_count(node) == 3 && is_own_value(source, node_child(node, 0)) &&
               is_own_value(source, node_child(node, 2));
    return allocation_of(source, node) || torch_copy(source, node);
}

static bool visit_mention(void *context, SyntaxNode node) {
    Freshness *freshness = context;
    const Source *source = freshness->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER ||
        !str_equal(node_text(source, node), freshness->name))
        return true;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    if (node_range(source, node).start >= freshness->end) return true;
    if (kind == SYNTAX_KEYWORD_ARGUMENT && same_node(node_field(parent, "name"), node)) return true;
    if (kind == SYNTAX_ATTRIBUTE && !same_node(node_field(parent, "object"), node)) return true;
    if (kind == SYNTAX_ATTRIBUTE &&
        torch_asks_only(node_text(source, node_field(parent, "attribute"))))
        return true;
    SyntaxNode value = without_parentheses(bound_value(node));
    if (!node_is_null(value)) {
        const TorchRow *allocation = allocation_of(source, value);
        freshness->allocations++;
        if (!is_own_value(source, value)) freshness->is_fresh = false;
        if (!allocation || allocation->contents != TORCH_EMPTY) freshness->is_empty = false;
        return true;
    }
    if (!is_harmless_argument(freshness, node) && !is_returned(freshness, node))
        freshness->is_fresh = false;
    return true;
}

static bool is_in_loop(SyntaxNode node, SyntaxNode root) {
    for (; !node_is_null(node) && !same_node(node, root); node = node_parent(node))
        if (node_kind(node) == SYNTAX_FOR || node_kind(node) == SYNTAX_WHILE) return true;
    return false;
}

/// Whether the tensor called `name` is the launcher's own at the launch, and nothing else is a view of it.
static Freshness freshness_of(const Module *module, const LaunchSite *site, Str name) {
    Range body = node_range(module->source, site->launcher->body);
    uint32_t end = node_range(module->source, site->call).end;
    Freshness freshness = {.module = module,
                           .site = site,
                           .name = name,
                           .end = is_in_loop(site->call, site->launcher->body) ? body.end : end,
                           .is_fresh = true,
                           .is_empty = true};
    syntax_walk(site->launcher->body, visit_mention, &freshness);
    if (freshness.allocations == 0) freshness.is_fresh = false;
    for (int i = 0; i < site->launcher->parameter_count; i++)
        if (str_equal(site->launcher->parameters[i].name, name)) freshness.is_fresh = false;
    return freshness;
}

bool launch_owns(const Module *module, const LaunchSite *site, Str name) {
    return freshness_of(module, site, name).is_fresh;
}

bool launch_owns_empty(const Module *module, const LaunchSite *site, Str name) {
    return freshness_of(module, site, name).is_empty;
}

typedef struct NameBindings {
    const Module *module;
    Str name;
    uint32_t end;
    int allocations, others;
} NameBindings;

/// Counts what a name is bound to, up to a place in the text.
static bool visit_name_binding(void *context, SyntaxNode node) {
    NameBindings *bindings = context;
    const Source *source = bindings->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER || !str_equal(node_text(source, node), bindings->name))
        return true;
    if (node_range(source, node).start >= bindings->end) return true;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    bool is_left = same_node(node_field(parent, "left"), node);
    SyntaxNode value = bound_value(node);
    if (!node_is_null(value)) {
        if (is_own_value(source, value))
            bindings->allocations++;
        else
            bindings->others++;
    } else if (kind == SYNTAX_PATTERN_LIST || kind == SYNTAX_TUPLE_PATTERN ||
               (kind == SYNTAX_FOR && is_left)) {
        bindings->others++;
    }
    return true;
}

/// The body of the innermost function around the node, at most `root`: names that are bound there are its own.
static SyntaxNode body_around(SyntaxNode node, SyntaxNode root) {
    for (; !node_is_null(node) && !same_node(node, root); node = node_parent(node))
        if (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_LAMBDA)
            return node_field(node, "body");
    return root;
}

bool launch_allocates(const Module *module, const LaunchSite *site, Str name) {
    const FunctionDefinition *launcher = site->launcher;
    SyntaxNode body = body_around(site->call, launcher->body);
    uint32_t end = is_in_loop(site->call, body) ? node_range(module->source, body).end
                                                : node_range(module->source, site->call).end;
    NameBindings bindings = {.module = module, .name = name, .end = end};
    syntax_walk(body, visit_name_binding, &bindings);
    for (int i = 0; i < launcher->parameter_count; i++)
        if (str_equal(launcher->parameters[i].name, name)) return false;
    return bindings.allocations > 0 && bindings.others == 0;
}
