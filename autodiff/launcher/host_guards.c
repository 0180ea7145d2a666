// Host code loses a gradient where it views floats as whole numbers, or takes a tensor for a number; and it hides a change from
// autograd behind `.data`. Nobody says so to its author. The emitted code asks first. Parts of a tensor that launches write to
// become views that autograd lets them write to.
#include "autodiff/launcher/host_guards.h"

#include <string.h>

#include "analysis/host_values/host_writes.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/text.h"

typedef struct HostGuards {
    const Source *source;
    Buffer out;
    uint32_t at;        // up to here the text is written
    bool has_launches;  // some launch writes to what may be a view
} HostGuards;

/// Writes a call of a helper in the place of an expression.
static bool replace(HostGuards *guards, SyntaxNode node, const char *helper, SyntaxNode of,
                    Str more) {
    Range range = node_range(guards->source, node);
    if (range.start < guards->at) return false;
    buffer_add(&guards->out, guards->source->text.data + guards->at, range.start - guards->at);
    buffer_printf(&guards->out, "%s(%.*s%s%.*s)", helper, STR_ARGS(node_text(guards->source, of)),
                  more.size ? ", " : "", STR_ARGS(more));
    guards->at = range.end;
    return true;
}

/* ---- views as whole numbers ---- */

static bool is_whole_type(Str type) {
    return str_starts(type, "torch.int") || str_starts(type, "torch.uint") ||
           str_is(type, "torch.short") || str_is(type, "torch.long");
}

/// The type that a call `x.view(torch.int64)` or `x.view(dtype=torch.int64)` names; empty for other calls.
static Str whole_type(const Source *source, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    bool is_view = node_kind(function) == SYNTAX_ATTRIBUTE && node_child_count(list) == 1 &&
                   str_is(node_text(source, node_field(function, "attribute")), "view");
    if (!is_view) return (Str){0};
    SyntaxNode argument = node_child(list, 0);
    if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT) argument = node_field(argument, "value");
    Str type = node_text(source, argument);
    return is_whole_type(type) ? type : (Str){0};
}

/* ---- numbers ---- */

/// Whether the innermost function around has the name for a parameter without an annotation.
static bool is_undeclared(const Source *source, SyntaxNode node, Str name) {
    while (!node_is_null(node) && node_kind(node) != SYNTAX_FUNCTION) {
        if (node_kind(node) == SYNTAX_LAMBDA) return false;
        node = node_parent(node);
    }
    if (node_is_null(node)) return false;
    SyntaxNode parameters = node_field(node, "parameters");
    for (uint32_t i = 0; i < node_child_count(parameters); i++) {
        SyntaxNode parameter = node_child(parameters, i);
        if (node_kind(parameter) == SYNTAX_DEFAULT_PARAMETER)
            parameter = node_field(parameter, "name");
        if (node_kind(parameter) == SYNTAX_IDENTIFIER &&
            str_equal(node_text(source, parameter), name))
            return true;
    }
    return false;
}

/// Whether the value of an expression is only compared or told: then no gradient is missed.
static bool is_only_looked_at(const Source *source, SyntaxNode node) {
    for (; !node_is_null(node); node = node_parent(node)) {
        switch (node_kind(node)) {
        case SYNTAX_COMPARISON:
        case SYNTAX_ASSERT:
        case SYNTAX_RAISE:
        case SYNTAX_INTERPOLATION: return true;
        case SYNTAX_CALL:
            if (str_is(node_text(source, node_field(node, "function")), "print")) return true;
            break;
        case SYNTAX_FUNCTION: return false;
        default: break;
        }
    }
    return false;
}

/// The name that a call `float(name)` may lose the gradient of; a null node for other calls.
static SyntaxNode read_as_number(const Source *source, SyntaxNode call) {
    SyntaxNode list = node_field(call, "arguments"), none = {0};
    if (!str_is(node_text(source, node_field(call, "function")), "float") ||
        node_kind(list) != SYNTAX_ARGUMENT_LIST || node_child_count(list) != 1)
        return none;
    SyntaxNode argument = node_child(list, 0);
    bool may_lose = node_kind(argument) == SYNTAX_IDENTIFIER &&
                    is_undeclared(source, call, node_text(source, argument)) &&
                    !is_only_looked_at(source, call);
    return may_lose ? argument : none;
}

/* ---- hidden changes ---- */

/// Whether `x.data` is passed on, or changed in place by a method of its own (`x.data.mul_(2)`).
static bool may_be_changed(const Source *source, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    switch (node_kind(parent)) {
    case SYNTAX_ARGUMENT_LIST: return true;
    case SYNTAX_KEYWORD_ARGUMENT: return node_same(node_field(parent, "value"), node);
    case SYNTAX_ATTRIBUTE: {
        Str method = node_text(source, node_field(parent, "attribute"));
        bool is_called = node_same(node_field(node_parent(parent), "function"), parent);
        return is_called && method.size > 1 && method.data[method.size - 1] == '_' &&
               method.data[0] != '_';
    }
    default: return false;
    }
}

/* ---- parts of one tensor ---- */

/// Functions of PyTorch whose result is several views of a tensor: autograd lets nobody write to these.
static bool gives_parts(Str name) {
    static const char *const names[] = {"chunk", "split", "unbind", "tensor_split"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i])) return true;
    return false;
}

typedef struct PartUse {
    const Source *source;
    Str name;
    bool is_found;
} PartUse;

/// Whether a launch that may write to what it is given gets the name.
static bool visit_launch(void *context, SyntaxNode node) {
    PartUse *use = context;
    SyntaxNode function = node_field(node, "function"), list = node_field(node, "arguments");
    if (node_kind(node) != SYNTAX_CALL || node_kind(function) != SYNTAX_ATTRIBUTE ||
        !str_is(node_text(use->source, node_field(function, "attribute")), "launch"))
        return true;
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode argument = node_child(list, i);
        if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT)
            argument = node_field(argument, "value");
        if (node_kind(argument) == SYNTAX_SUBSCRIPT) argument = node_field(argument, "value");
        bool is_name = node_kind(argument) == SYNTAX_IDENTIFIER;
        if (is_name && str_equal(node_text(use->source, argument), use->name)) use->is_found = true;
    }
    return true;
}

/// Whether a launch gets what an assignment binds.
static bool targets_are_launched(const Source *source, SyntaxNode assignment) {
    SyntaxNode root = assignment, targets = node_field(assignment, "left");
    while (!node_is_null(node_parent(root))) root = node_parent(root);
    bool is_one = node_kind(targets) == SYNTAX_IDENTIFIER;
    for (uint32_t i = 0; i < (is_one ? 1 : node_child_count(targets)); i++) {
        SyntaxNode target = is_one ? targets : node_child(targets, i);
        PartUse use = {.source = source, .name = node_text(source, target)};
        syntax_walk(root, visit_launch, &use);
        if (use.is_found) return true;
    }
    return false;
}

/// Whether a call `y.chunk(2)` stands in `a, b = y.chunk(2)`, and a launch gets `a` or `b`; or in `parts = y.chunk(2)`, and one gets
/// `parts[0]`.
static bool parts_are_launched(const Source *source, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), assignment = node_parent(call);
    if (node_kind(function) != SYNTAX_ATTRIBUTE ||
        !gives_parts(node_text(source, node_field(function, "attribute"))) ||
        node_kind(assignment) != SYNTAX_ASSIGNMENT ||
        !node_same(node_field(assignment, "right"), call))
        return false;
    return targets_are_launched(source, assignment);
}

typedef struct Allocation {
    const Source *source;
    Str name;
    bool is_found;
} Allocation;

/// `name = torch.empty(2, n)`.
static bool visit_allocation(void *context, SyntaxNode node) {
    Allocation *search = context;
    SyntaxNode left = node_field(node, "left"), right = node_field(node, "right");
    bool is_its = node_kind(node) == SYNTAX_ASSIGNMENT && node_kind(left) == SYNTAX_IDENTIFIER &&
                  str_equal(node_text(search->source, left), search->name);
    if (is_its && node_kind(right) == SYNTAX_CALL && host_call_allocates(search->source, right))
        search->is_found = true;
    return true;
}

/// Whether Python goes through what a node gives: `a, b = y`, `for a in y`, `zip(x, y)`.
static bool is_iterated(const Source *source, SyntaxNode node) {
    static const char *const functions[] = {"list", "tuple", "zip", "enumerate", "reversed"};
    SyntaxNode parent = node_parent(node), left = node_field(parent, "left");
    bool is_right = node_same(node_field(parent, "right"), node);
    switch (node_kind(parent)) {
    case SYNTAX_ASSIGNMENT:
        return is_right &&
               (node_kind(left) == SYNTAX_PATTERN_LIST || node_kind(left) == SYNTAX_TUPLE_PATTERN);
    case SYNTAX_FOR:
    case SYNTAX_FOR_IN_CLAUSE: return is_right;
    case SYNTAX_ARGUMENT_LIST: {
        Str function = node_text(source, node_field(node_parent(parent), "function"));
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (str_is(function, functions[i])) return true;
        return false;
    }
    default: return false;
    }
}

/// Whether new memory is taken apart by its first axis: these are parts, too.
static bool is_taken_apart(const Source *source, SyntaxNode node) {
    if (!is_iterated(source, node)) return false;
    if (node_kind(node) == SYNTAX_CALL) return host_call_allocates(source, node);
    if (node_kind(node) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode root = node;
    while (!node_is_null(node_parent(root))) root = node_parent(root);
    Allocation search = {.source = source, .name = node_text(source, node)};
    syntax_walk(root, visit_allocation, &search);
    return search.is_found;
}

/* ---- the text ---- */

static bool visit_host(void *context, SyntaxNode node) {
    HostGuards *guards = context;
    const Source *source = guards->source;
    if (guards->has_launches && is_taken_apart(source, node))
        return !replace(guards, node, "_parts", node, (Str){0});
    if (node_kind(node) == SYNTAX_CALL) {
        Str type = whole_type(source, node);
        if (type.size)
            return !replace(guards, node, "_whole_view",
                            node_field(node_field(node, "function"), "object"), type);
        if (parts_are_launched(source, node))
            return !replace(guards, node, "_parts", node, (Str){0});
        SyntaxNode number = read_as_number(source, node);
        return node_is_null(number) || !replace(guards, node, "_read_number", number, (Str){0});
    }
    bool is_data = node_kind(node) == SYNTAX_ATTRIBUTE &&
                   str_is(node_text(source, node_field(node, "attribute")), "data") &&
                   may_be_changed(source, node);
    return !is_data || !replace(guards, node, "_data_of", node_field(node, "object"), (Str){0});
}

const char *host_guards_text(Arena *arena, const char *text) {
    bool may_have = strstr(text, ".view(") || strstr(text, "float(") || strstr(text, ".data") ||
                    strstr(text, ".launch(");
    if (!may_have) return text;
    const Source *source = source_new(arena, "", str_from(text));
    SyntaxTree *tree = syntax_parse(source);
    HostGuards guards = {.source = source,
                         .out = buffer_new(arena),
                         .has_launches = strstr(text, ".launch(") != NULL};
    syntax_walk(syntax_root(tree), visit_host, &guards);
    buffer_puts(&guards.out, text + guards.at);
    syntax_free(tree);
    return buffer_text(&guards.out);
}
