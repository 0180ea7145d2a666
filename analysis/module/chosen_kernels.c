// The kernels that a name launches which is no kernel's own: `kernel = a if flag else b`, a function's parameter.
#include "analysis/module/chosen_kernels.h"

#include "analysis/module/function_names.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct KernelChoices {
    Arena *arena;
    const Module *module;
    Str name;
    KernelNamed *named;
    ChosenKernels found;
    bool is_open;  // it may be something else as well
} KernelChoices;

bool kernel_is_bare(const Module *module, SyntaxNode expression, KernelNamed *named,
                    const FunctionDefinition **kernel) {
    if (node_kind(expression) != SYNTAX_ATTRIBUTE ||
        !str_is(node_text(module->source, node_field(expression, "attribute")), "fn"))
        return false;
    const FunctionDefinition *of = named(module, node_field(expression, "object"));
    if (!of || (!of->is_autotuned && !of->has_heuristics)) return false;
    *kernel = of;
    return true;
}

static void add_choice(KernelChoices *choices, SyntaxNode expression) {
    SyntaxNode *parts;
    int count = node_children(choices->arena, expression, &parts);
    switch (node_kind(expression)) {
    case SYNTAX_PARENTHESIZED:
        if (count == 1)
            add_choice(choices, parts[0]);
        else
            choices->is_open = true;
        return;
    case SYNTAX_CONDITIONAL:
        if (count == 3) {
            add_choice(choices, parts[0]);
            add_choice(choices, parts[2]);
        } else {
            choices->is_open = true;
        }
        return;
    case SYNTAX_NONE: return;  // launching it is the user's mistake
    default: break;
    }
    ChosenKernel chosen = {0};
    chosen.is_bare = kernel_is_bare(choices->module, expression, choices->named, &chosen.kernel);
    if (!chosen.is_bare) chosen.kernel = choices->named(choices->module, expression);
    if (!chosen.kernel) {
        choices->is_open = true;
        return;
    }
    for (LIST_EACH(int, i, choices->found)) {
        ChosenKernel *other = &choices->found.items[i];
        if (other->kernel != chosen.kernel || other->is_bare != chosen.is_bare) continue;
        LIST_PUSH(choices->arena, &other->places, expression);
        return;
    }
    LIST_PUSH(choices->arena, &chosen.places, expression);
    LIST_PUSH(choices->arena, &choices->found, chosen);
}

/// Bindings of the name are plain assignments, and nothing is done with it but to launch it and to look at it.
static bool visit_use(void *context, SyntaxNode node) {
    KernelChoices *choices = context;
    const Source *source = choices->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER || !str_equal(node_text(source, node), choices->name))
        return !choices->is_open;
    SyntaxNode parent = node_parent(node);
    switch (node_kind(parent)) {
    case SYNTAX_ASSIGNMENT: {
        SyntaxNode value = node_field(parent, "right");
        bool is_plain = node_same(node_field(parent, "left"), node) && !node_is_null(value) &&
                        node_kind(node_parent(parent)) == SYNTAX_EXPRESSION_STATEMENT;
        if (is_plain)
            add_choice(choices, value);
        else
            choices->is_open = true;
        return true;
    }
    case SYNTAX_SUBSCRIPT:
    case SYNTAX_ATTRIBUTE: {
        const char *field = node_kind(parent) == SYNTAX_SUBSCRIPT ? "value" : "object";
        SyntaxNode around = node_parent(parent);
        bool is_target =
            node_kind(around) == SYNTAX_ASSIGNMENT && node_same(node_field(around, "left"), parent);
        // `meta.kernel` and `table[kernel]` are other names
        bool is_it = node_same(node_field(parent, field), node);
        choices->is_open |= is_target || (!is_it && node_kind(parent) == SYNTAX_SUBSCRIPT);
        return true;
    }
    case SYNTAX_KEYWORD_ARGUMENT:
        choices->is_open |= !node_same(node_field(parent, "name"), node);
        return true;
    default: choices->is_open = true; return true;
    }
}

/// What is passed for a parameter in a call: by its place, by its name. A null node: nothing, or nobody knows.
static SyntaxNode passed_in(const Module *module, SyntaxNode call,
                            const FunctionDefinition *function, int parameter) {
    SyntaxNode arguments = node_field(call, "arguments"), nothing = {0};
    int place = 0;
    for (uint32_t i = 0; i < node_child_count(arguments); i++) {
        SyntaxNode child = node_child(arguments, i);
        switch (node_kind(child)) {
        case SYNTAX_KEYWORD_ARGUMENT: {
            Str name = node_text(module->source, node_field(child, "name"));
            if (str_equal(name, function->parameters[parameter].name))
                return node_field(child, "value");
            break;
        }
        case SYNTAX_LIST_SPLAT:
        case SYNTAX_DICTIONARY_SPLAT: return nothing;
        case SYNTAX_COMMENT: break;
        default:
            if (place++ == parameter) return child;
        }
    }
    return nothing;
}

typedef struct PassedKernels {
    KernelChoices *choices;
    const FunctionDefinition *function;
    int parameter;
} PassedKernels;

static bool visit_caller(void *context, SyntaxNode node) {
    PassedKernels *search = context;
    KernelChoices *choices = search->choices;
    const FunctionDefinition *function = search->function;
    if (node_kind(node) != SYNTAX_IDENTIFIER ||
        !str_equal(node_text(choices->module->source, node), function->name))
        return !choices->is_open;
    SyntaxNode parent = node_parent(node);
    if (node_same(parent, function->node)) return true;
    bool is_call =
        node_kind(parent) == SYNTAX_CALL && node_same(node_field(parent, "function"), node);
    if (!is_call) {
        // an attribute of that name, or a keyword, is something else
        bool is_other = (node_kind(parent) == SYNTAX_ATTRIBUTE &&
                         !node_same(node_field(parent, "object"), node)) ||
                        (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
                         node_same(node_field(parent, "name"), node));
        choices->is_open |= !is_other;
        return true;
    }
    SyntaxNode passed = passed_in(choices->module, parent, function, search->parameter);
    if (node_is_null(passed)) passed = function->parameters[search->parameter].default_node;
    if (node_is_null(passed))
        choices->is_open = true;
    else
        add_choice(choices, passed);
    return true;
}

/// Whether the function stands at module level, where all its callers in the file know it by its name.
static bool is_top_level(const Module *module, const FunctionDefinition *function) {
    SyntaxNode parent = node_parent(function->node);
    if (node_kind(parent) == SYNTAX_DECORATED) parent = node_parent(parent);
    return node_same(parent, syntax_root(module->tree)) || node_is_null(node_parent(parent));
}

ChosenKernels chosen_kernels(Arena *arena, const Module *module, const FunctionDefinition *launcher,
                             Str name, KernelNamed *named) {
    KernelChoices choices = {arena, module, name, named, {0}, false};
    syntax_walk(launcher->body, visit_use, &choices);
    int parameter = -1;
    for (int i = 0; i < launcher->parameter_count; i++)
        if (str_equal(launcher->parameters[i].name, name)) parameter = i;
    if (parameter >= 0) {
        bool is_bound_again = choices.found.count > 0;
        PassedKernels search = {&choices, launcher, parameter};
        if (is_bound_again || !is_top_level(module, launcher))
            choices.is_open = true;
        else
            syntax_walk(syntax_root(module->tree), visit_caller, &search);
    }
    return choices.is_open ? (ChosenKernels){0} : choices.found;
}
