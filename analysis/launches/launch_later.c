// A launch in; whether a tensor that it writes is the launcher's own and left as it is, as far as the text tells, out.
#include "analysis/launches/launch_later.h"

#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct Later {
    const Module *module;
    const LaunchSite *site;
    Str name;
    bool is_allocated, is_written;
    Range allocated;  // where the allocation stands
    int others;       // mentions besides what binds it
} Later;

static bool is_object(SyntaxNode parent, SyntaxNode node) {
    switch (node_kind(parent)) {
    case SYNTAX_ATTRIBUTE: return node_same(node_field(parent, "object"), node);
    case SYNTAX_CALL: return node_same(node_field(parent, "function"), node);
    case SYNTAX_SUBSCRIPT: return node_same(node_field(parent, "value"), node);
    case SYNTAX_PARENTHESIZED: return true;
    default: return false;
    }
}

/// Whether a call may write to what it gets: a launch, or a function of this file.
static bool call_may_write(const Module *module, SyntaxNode call) {
    for (LIST_EACH(int, i, module->launches))
        if (node_same(module->launches.items[i].call, call)) return true;
    SyntaxNode function = node_field(call, "function");
    return node_kind(function) == SYNTAX_SUBSCRIPT ||
           (node_kind(function) == SYNTAX_IDENTIFIER &&
            module_find_function(module, node_text(module->source, function)));
}

static bool is_written_at(const Later *later, SyntaxNode node) {
    const Source *source = later->module->source;
    SyntaxNode parent = node_parent(node);
    for (; is_object(parent, node); node = parent, parent = node_parent(node)) {
        if (node_kind(parent) != SYNTAX_ATTRIBUTE) continue;
        Str attribute = node_text(source, node_field(parent, "attribute"));
        if (str_ends(attribute, "_")) return true;  // `out.mul_(2)`
    }
    bool is_itself = node_kind(node) == SYNTAX_IDENTIFIER;
    switch (node_kind(parent)) {
    case SYNTAX_AUGMENTED_ASSIGNMENT: return node_same(node_field(parent, "left"), node);
    case SYNTAX_ASSIGNMENT: return !is_itself && node_same(node_field(parent, "left"), node);
    case SYNTAX_KEYWORD_ARGUMENT:
        if (str_is(node_text(source, node_field(parent, "name")), "out")) return true;
        return call_may_write(later->module, node_parent(node_parent(parent)));
    case SYNTAX_ARGUMENT_LIST: return call_may_write(later->module, node_parent(parent));
    default: return node_kind(parent) == SYNTAX_OTHER;
    }
}

/// `torch.empty(...)`.
static bool is_allocation(const Source *source, SyntaxNode value) {
    return !node_is_null(value) && node_kind(value) == SYNTAX_CALL &&
           node_kind(node_field(value, "function")) == SYNTAX_ATTRIBUTE &&
           torch_allocation(source, value);
}

/// What a name is bound to: the right side of `out = value`, or its own part of that of `out, other = value, further`; null where
/// something else binds it.
static SyntaxNode bound_value(SyntaxNode name) {
    SyntaxNode target = name, parent = node_parent(name);
    bool is_one_of = node_kind(parent) == SYNTAX_PATTERN_LIST;
    if (is_one_of) {
        target = parent;
        parent = node_parent(parent);
    }
    if (node_kind(parent) != SYNTAX_ASSIGNMENT || !node_same(node_field(parent, "left"), target))
        return (SyntaxNode){0};
    SyntaxNode value = node_field(parent, "right");
    if (!is_one_of || node_is_null(value)) return value;
    if (node_kind(value) != SYNTAX_EXPRESSION_LIST ||
        node_child_count(value) != node_child_count(target))
        return (SyntaxNode){0};
    for (uint32_t i = 0; i < node_child_count(target); i++) {
        if (node_kind(node_child(target, i)) != SYNTAX_IDENTIFIER) return (SyntaxNode){0};
        if (node_same(node_child(target, i), name)) return node_child(value, i);
    }
    return (SyntaxNode){0};
}

static bool visit_mention(void *context, SyntaxNode node) {
    Later *later = context;
    const Source *source = later->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER || !str_equal(node_text(source, node), later->name))
        return true;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ATTRIBUTE && !node_same(node_field(parent, "object"), node)) return true;
    if (kind == SYNTAX_KEYWORD_ARGUMENT && node_same(node_field(parent, "name"), node)) return true;
    bool is_later = node_range(source, node).start >= node_range(source, later->site->call).end;
    SyntaxNode value = bound_value(node);
    bool is_bound = !node_is_null(value) ||
                    (kind == SYNTAX_ASSIGNMENT && node_same(node_field(parent, "left"), node));
    if (!is_bound) later->others++;
    if (is_later) {
        later->is_written = later->is_written || is_written_at(later, node);
    } else if (is_bound && is_allocation(source, value)) {
        later->is_allocated = true;
        later->allocated = node_range(source, node);
    } else if (is_bound || node_binds_names(parent) || kind == SYNTAX_FOR) {
        later->is_written = true;
    }
    return true;
}

/// What the launcher does with the tensor; false where the launch passes none by a name of the launcher's own.
static bool find_mentions(const HostLaunch *launch, int parameter, Later *later) {
    const LaunchSite *site = launch->site;
    if (!site->launcher || parameter >= launch->argument_count) return false;
    const Module *module = site->launcher->module;
    const Range range = launch->arguments[parameter].range;
    if (range.source != module->source) return false;
    SyntaxNode argument = node_at(site->call, range.start, range.end);
    if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT) argument = node_field(argument, "value");
    if (node_kind(argument) != SYNTAX_IDENTIFIER) return false;
    *later = (Later){.module = module, .site = site, .name = node_text(module->source, argument)};
    for (int i = 0; i < site->launcher->parameter_count; i++)
        if (str_equal(site->launcher->parameters[i].name, later->name)) return false;
    syntax_walk(site->launcher->body, visit_mention, later);
    return later->is_allocated;
}

bool launch_leaves(const HostLaunch *launch, int parameter) {
    Later later;
    return find_mentions(launch, parameter, &later) && !later.is_written;
}

bool launch_writes_last(const HostLaunch *launch, int parameter) {
    Later later;
    if (!find_mentions(launch, parameter, &later) || later.is_written) return false;
    const LaunchSite *site = launch->site;
    for (SyntaxNode node = site->call;
         !node_is_null(node) && !node_same(node, site->launcher->body); node = node_parent(node)) {
        bool is_loop = node_kind(node) == SYNTAX_FOR || node_kind(node) == SYNTAX_WHILE;
        if (is_loop && later.allocated.start < node_range(later.module->source, node).start)
            return false;
    }
    return true;
}

/// Whether the launch is repeated: what it leaves may be there for the next one.
static bool is_repeated(const LaunchSite *site) {
    for (SyntaxNode node = site->call;
         !node_is_null(node) && !node_same(node, site->launcher->body); node = node_parent(node))
        if (node_kind(node) == SYNTAX_FOR || node_kind(node) == SYNTAX_WHILE) return true;
    return false;
}

bool parameter_is_scratch(Arena *arena, const Function *function, int parameter) {
    const Parameter *tensor = &function->parameters[parameter];
    if (!function->definition || !tensor->is_stored || !tensor->is_loaded) return false;
    HostLaunches launches = host_launches(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        Later later;
        if (!find_mentions(launches.items[i], parameter, &later) || later.is_written ||
            later.others > 1 || is_repeated(later.site))
            return false;
    }
    return launches.count > 0;
}
