// Names are followed to all of their assignments in the launcher, and choices to both sides.
#include "analysis/launches/launch_values.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/launches/launch_tensors.h"
#include "analysis/syntax/syntax_nodes.h"

// Deeper chains of names are not followed: then no value is known.
enum { DEEPEST = 6 };

typedef struct ValueSearch {
    const Source *source;
    SyntaxNode launcher;  // the function around the launch
    LaunchValues found;
    bool takes_flags;  // True is 1 and False is 0
    bool is_open;      // something else may be passed
} ValueSearch;

static void look(ValueSearch *search, SyntaxNode node, int depth);

static void add(ValueSearch *search, int64_t number) {
    LaunchValues *found = &search->found;
    int at = 0;
    while (at < found->count && found->items[at] < number) at++;
    if (at < found->count && found->items[at] == number) return;
    if (found->count == LAUNCH_MOST_VALUES) {
        search->is_open = true;
        return;
    }
    memmove(found->items + at + 1, found->items + at,
            sizeof *found->items * (size_t)(found->count - at));
    found->items[at] = number;
    found->count++;
}

typedef struct Assignments {
    ValueSearch *search;
    Str name;
    int depth;
    bool any;
} Assignments;

static void visit_target(void *context, SyntaxNode identifier, bool is_item) {
    Assignments *assignments = context;
    (void)is_item;
    if (str_equal(node_text(assignments->search->source, identifier), assignments->name))
        assignments->search->is_open = true;
}

static bool is_list(SyntaxNode node) {
    SyntaxKind kind = node_kind(node);
    return kind == SYNTAX_PATTERN_LIST || kind == SYNTAX_EXPRESSION_LIST || kind == SYNTAX_TUPLE ||
           kind == SYNTAX_TUPLE_PATTERN;
}

/// `a, b = 64, 32`, item by item.
static bool look_at_items(Assignments *assignments, SyntaxNode left, SyntaxNode right) {
    ValueSearch *search = assignments->search;
    uint32_t count = node_child_count(left);
    if (!is_list(left) || !is_list(right) || node_child_count(right) != count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (node_kind(node_child(left, i)) != SYNTAX_IDENTIFIER) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!str_equal(node_text(search->source, node_child(left, i)), assignments->name)) continue;
        assignments->any = true;
        look(search, node_child(right, i), assignments->depth);
    }
    return true;
}

/// Each plain assignment is followed; whatever else binds the name leaves it open.
static bool visit_assignment(void *context, SyntaxNode node) {
    Assignments *assignments = context;
    ValueSearch *search = assignments->search;
    SyntaxNode left = node_field(node, "left");
    if (node_kind(node) == SYNTAX_ASSIGNMENT && node_kind(left) == SYNTAX_IDENTIFIER) {
        if (!str_equal(node_text(search->source, left), assignments->name)) return true;
        assignments->any = true;
        look(search, node_field(node, "right"), assignments->depth);
        return true;
    }
    if (node_kind(node) == SYNTAX_ASSIGNMENT &&
        look_at_items(assignments, left, node_field(node, "right")))
        return false;
    SyntaxNode name = node_field(node, "name");
    bool binds = !node_is_null(left) || node_binds_names(node);
    if (!node_is_null(left)) syntax_targets(left, visit_target, assignments);
    if (node_kind(node) == SYNTAX_NAMED_EXPRESSION && !node_is_null(name))
        syntax_targets(name, visit_target, assignments);
    else if (binds && node_is_null(left))
        for (uint32_t i = 0; i < node_child_count(node); i++)
            if (node_kind(node_child(node, i)) == SYNTAX_IDENTIFIER)
                visit_target(assignments, node_child(node, i), false);
    return true;
}

static bool is_parameter(const ValueSearch *search, Str name) {
    SyntaxNode parameters = node_field(search->launcher, "parameters");
    for (uint32_t i = 0; i < node_child_count(parameters); i++) {
        SyntaxNode node = node_child(parameters, i), own = node_field(node, "name");
        if (node_kind(node) == SYNTAX_IDENTIFIER) own = node;
        if (node_is_null(own) && node_child_count(node)) own = node_child(node, 0);
        if (!node_is_null(own) && str_equal(node_text(search->source, own), name)) return true;
    }
    return false;
}

static void look_up(ValueSearch *search, SyntaxNode node, int depth) {
    Assignments assignments = {search, node_text(search->source, node), depth, false};
    if (node_is_null(search->launcher) || is_parameter(search, assignments.name)) {
        search->is_open = true;
        return;
    }
    syntax_walk(node_field(search->launcher, "body"), visit_assignment, &assignments);
    search->is_open |= !assignments.any;
}

static void look(ValueSearch *search, SyntaxNode node, int depth) {
    Str text = node_text(search->source, node);
    char digits[NUMBER_MOST_DIGITS + 1], *end;
    if (node_is_null(node) || depth == DEEPEST) {
        search->is_open = true;
        return;
    }
    bool is_true = str_is(text, "True");
    if (search->takes_flags && (is_true || str_is(text, "False"))) {
        add(search, is_true);
        return;
    }
    switch (node_kind(node)) {
    case SYNTAX_INTEGER:
        if (text.size > NUMBER_MOST_DIGITS) break;
        memcpy(digits, text.data, text.size);
        digits[text.size] = '\0';
        add(search, strtoll(digits, &end, 10));
        search->is_open |= *end != '\0';
        return;
    case SYNTAX_PARENTHESIZED: look(search, node_child(node, 0), depth + 1); return;
    case SYNTAX_CONDITIONAL:
        look(search, node_child(node, 0), depth + 1);
        look(search, node_child(node, 2), depth + 1);
        return;
    case SYNTAX_IDENTIFIER: look_up(search, node, depth + 1); return;
    default: break;
    }
    search->is_open = true;
}

static LaunchValues values_of(const Function *function, int parameter, bool takes_flags) {
    const FunctionDefinition *kernel = function->definition;
    ValueSearch search = {.takes_flags = takes_flags};
    if (!kernel || parameter >= kernel->parameter_count ||
        !str_is(kernel->parameters[parameter].name, function->parameters[parameter].name))
        return search.found;
    const Module *module = kernel->module;
    search.source = module->source;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        SyntaxNode call = site->call;
        while (!node_is_null(call) && node_kind(call) != SYNTAX_FUNCTION) call = node_parent(call);
        search.launcher = call;
        SyntaxNode argument = launch_argument_node(module, site, parameter);
        if (node_is_null(argument)) argument = kernel->parameters[parameter].default_node;
        look(&search, argument, 0);
    }
    return search.is_open ? (LaunchValues){0} : search.found;
}

LaunchValues launches_values(const Function *function, int parameter) {
    return values_of(function, parameter, false);
}

LaunchValues launches_flags(const Function *function, int parameter) {
    return values_of(function, parameter, true);
}
