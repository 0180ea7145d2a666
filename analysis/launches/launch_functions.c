// From the text of launchers to the jit functions that a kernel's constexpr can be: every way that a name, a table or a caller brings one.
#include "analysis/launches/launch_functions.h"

#include "analysis/host/launch.h"
#include "analysis/host_values/host.h"
#include "analysis/launches/launch_tensors.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MOST_FUNCTIONS = 6, MOST_STEPS = 400, DEEPEST = 24 };

typedef struct FunctionSearch {
    Arena *arena;
    const Module *module;
    LaunchFunctions found;
    Map seen;  // nodes
    int steps;
} FunctionSearch;

static void may_be(FunctionSearch *search, SyntaxNode node, int depth);

static Str text_of(const FunctionSearch *search, SyntaxNode node) {
    return node_text(search->module->source, node);
}

static void add(FunctionSearch *search, const FunctionDefinition *function, Str name) {
    for (LIST_EACH(int, i, search->found))
        if (search->found.items[i].function == function) return;
    if (search->found.count < MOST_FUNCTIONS)
        LIST_PUSH(search->arena, &search->found, ((LaunchFunction){function, name}));
}

static void all_children(FunctionSearch *search, SyntaxNode node, int depth) {
    for (uint32_t i = 0; !node_is_null(node) && i < node_child_count(node); i++)
        may_be(search, node_child(node, i), depth);
}

/* ---- what callers pass ---- */

static SyntaxNode enclosing(SyntaxNode node, SyntaxKind kind) {
    do node = node_parent(node);
    while (!node_is_null(node) && node_kind(node) != kind);
    return node;
}

typedef struct Callers {
    FunctionSearch *search;
    Str callee;  // the last part of what is called
    Str owner;   // the class of `X.apply(...)`, which runs X.forward; else empty
    Str parameter;
    int position;  // of the parameter, without `self`
    int depth;
} Callers;

/// The argument of one call; `first`: the position of its first one.
static void pass_argument(const Callers *callers, SyntaxNode call, int first) {
    FunctionSearch *search = callers->search;
    SyntaxNode list = node_field(call, "arguments");
    int position = -first;
    for (uint32_t i = 0; !node_is_null(list) && i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT) {
            if (str_equal(text_of(search, node_field(child, "name")), callers->parameter))
                may_be(search, node_field(child, "value"), callers->depth);
        } else if (position++ == callers->position) {
            may_be(search, child, callers->depth);
        }
    }
}

static bool visit_caller(void *context, SyntaxNode node) {
    const Callers *callers = context;
    if (node_kind(node) != SYNTAX_CALL) return true;
    const FunctionSearch *search = callers->search;
    Str callee = text_of(search, node_field(node, "function"));
    SyntaxNode list = node_field(node, "arguments");
    bool is_it = callers->owner.size
                     ? str_ends(callee, "apply") &&
                           str_starts(callee, str_dup(search->arena, callers->owner))
                     : str_equal(text_last_component(callee), callers->callee);
    bool is_partial =
        str_equal(text_last_component(callee), STR("partial")) && node_child_count(list);
    if (is_it) pass_argument(callers, node, 0);
    if (is_partial &&
        str_equal(text_last_component(text_of(search, node_child(list, 0))), callers->callee))
        pass_argument(callers, node, 1);
    return true;
}

/// What the parameter `name` of a Python function may be; false where it has none of that name.
static bool parameter_may_be(FunctionSearch *search, SyntaxNode function, Str name, int depth) {
    SyntaxNode parameters = node_field(function, "parameters");
    SyntaxNode class = enclosing(function, SYNTAX_CLASS);
    bool is_method = !node_is_null(class);
    for (uint32_t i = 0, position = 0; i < node_child_count(parameters); i++) {
        SyntaxNode node = node_child(parameters, i), name_node = node_field(node, "name");
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_COMMENT || kind == SYNTAX_KEYWORD_SEPARATOR) continue;
        if (kind == SYNTAX_IDENTIFIER) name_node = node;
        if (kind == SYNTAX_TYPED_PARAMETER) name_node = node_child(node, 0);
        if (node_is_null(name_node) || !str_equal(text_of(search, name_node), name)) {
            position++;
            continue;
        }
        may_be(search, node_field(node, "value"), depth);
        Str own = text_of(search, node_field(function, "name"));
        Str owner = is_method ? text_of(search, node_field(class, "name")) : STR("");
        bool is_forward = is_method && str_is(own, "forward");
        Callers callers = {.search = search,
                           .callee = is_method && str_is(own, "__init__") ? owner : own,
                           .parameter = name,
                           .position = (int)position - (is_method ? 1 : 0),
                           .depth = depth};
        syntax_walk(syntax_root(search->module->tree), visit_caller, &callers);
        callers.owner = owner;
        if (is_forward) syntax_walk(syntax_root(search->module->tree), visit_caller, &callers);
        return true;
    }
    return false;
}

/* ---- what names are bound to ---- */

typedef struct Assigned {
    FunctionSearch *search;
    SyntaxNode scope;  // nested functions have names of their own
    Str name;
    bool is_attribute;  // of any object, anywhere
    int depth;
    bool found;
} Assigned;

static bool visit_assigned(void *context, SyntaxNode node) {
    Assigned *assigned = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION && !assigned->is_attribute && !node_same(node, assigned->scope))
        return false;
    bool is_walrus = kind == SYNTAX_NAMED_EXPRESSION;
    if (kind != SYNTAX_ASSIGNMENT && kind != SYNTAX_FOR && !is_walrus) return true;
    SyntaxNode left = node_field(node, is_walrus ? "name" : "left");
    bool binds = false;
    for (uint32_t i = 0; kind == SYNTAX_FOR && i < node_child_count(left); i++)
        binds |= str_equal(text_of(assigned->search, node_child(left, i)), assigned->name);
    if (assigned->is_attribute)
        left =
            node_kind(left) == SYNTAX_ATTRIBUTE ? node_field(left, "attribute") : (SyntaxNode){0};
    binds |= !node_is_null(left) && str_equal(text_of(assigned->search, left), assigned->name);
    if (!binds) return true;
    assigned->found = true;
    may_be(assigned->search, node_field(node, is_walrus ? "value" : "right"), assigned->depth);
    return true;
}

static bool assigned_may_be(FunctionSearch *search, SyntaxNode scope, Str name, bool is_attribute,
                            int depth) {
    Assigned assigned = {search, scope, name, is_attribute, depth, false};
    syntax_walk(scope, visit_assigned, &assigned);
    return assigned.found;
}

static void name_may_be(FunctionSearch *search, SyntaxNode node, int depth) {
    Str name = text_of(search, node);
    for (SyntaxNode at = enclosing(node, SYNTAX_FUNCTION); !node_is_null(at);
         at = enclosing(at, SYNTAX_FUNCTION)) {
        bool is_parameter = parameter_may_be(search, at, name, depth);
        if (assigned_may_be(search, at, name, false, depth) || is_parameter) return;
    }
    ScopeEntry entry = module_resolve(search->arena, search->module, name);
    if (entry.kind == SCOPE_FUNCTION && entry.function->is_jit) add(search, entry.function, name);
    if (entry.kind == SCOPE_ASSIGNED && entry.module == search->module)
        may_be(search, entry.node, depth);
}

static bool visit_return(void *context, SyntaxNode node) {
    FunctionSearch *search = context;
    if (node_kind(node) == SYNTAX_RETURN && node_child_count(node))
        may_be(search, node_child(node, 0), DEEPEST / 2);
    return true;
}

/// A table that is asked, a function that chooses, `dict(relu=relu)`.
static void call_may_be(FunctionSearch *search, SyntaxNode call, int depth) {
    SyntaxNode callee = node_field(call, "function");
    if (node_kind(callee) == SYNTAX_ATTRIBUTE) {
        may_be(search, node_field(callee, "object"), depth);
        all_children(search, node_field(call, "arguments"), depth);
        return;
    }
    ScopeEntry entry = module_resolve(search->arena, search->module, text_of(search, callee));
    if (entry.kind == SCOPE_FUNCTION && !entry.function->is_jit &&
        entry.function->module == search->module)
        syntax_walk(entry.function->body, visit_return, search);
    else if (str_is(text_of(search, callee), "dict"))
        all_children(search, node_field(call, "arguments"), depth);
}

/// The jit functions among what an expression may come to, and None.
static void may_be(FunctionSearch *search, SyntaxNode node, int depth) {
    if (node_is_null(node) || depth > DEEPEST || ++search->steps > MOST_STEPS) return;
    uint64_t key = (uint64_t)(uintptr_t)node.id;
    if (map_has_number(&search->seen, key)) return;
    map_set_number(&search->seen, key, (void *)1);
    depth++;
    switch (node_kind(node)) {
    case SYNTAX_NONE: add(search, NULL, STR("None")); return;
    case SYNTAX_IDENTIFIER: name_may_be(search, node, depth); return;
    case SYNTAX_PARENTHESIZED:
    case SYNTAX_BOOLEAN:
    case SYNTAX_LIST:
    case SYNTAX_TUPLE:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_DICTIONARY: all_children(search, node, depth); return;
    case SYNTAX_PAIR:
    case SYNTAX_KEYWORD_ARGUMENT:
    case SYNTAX_NAMED_EXPRESSION:
    case SYNTAX_SUBSCRIPT: may_be(search, node_field(node, "value"), depth); return;
    case SYNTAX_CONDITIONAL:
        may_be(search, node_child(node, 0), depth);
        may_be(search, node_child(node, 2), depth);
        return;
    case SYNTAX_ATTRIBUTE:
        assigned_may_be(search, syntax_root(search->module->tree),
                        text_of(search, node_field(node, "attribute")), true, depth);
        return;
    case SYNTAX_CALL: call_may_be(search, node, depth); return;
    default: return;
    }
}

/// `# tad: ACTIVATION=silu`.
static void comment_may_be(FunctionSearch *search, Str comment, Str parameter) {
    for (size_t at = 0; at + parameter.size + 1 < comment.size; at++) {
        Str here = {comment.data + at, parameter.size};
        if (!str_equal(here, parameter) || comment.data[at + parameter.size] != '=') continue;
        if (at > 0 && byte_is_word(comment.data[at - 1])) continue;
        Str name = {here.data + parameter.size + 1, 0};
        while (name.data + name.size < comment.data + comment.size &&
               byte_is_word(name.data[name.size]))
            name.size++;
        ScopeEntry entry = module_resolve(search->arena, search->module, name);
        if (entry.kind == SCOPE_FUNCTION && entry.function->is_jit)
            add(search, entry.function, name);
        else if (str_is(name, "None"))
            add(search, NULL, name);
    }
}

typedef struct CallerSearch {
    const Value *callee;
    bool found;
} CallerSearch;

static bool visit_call(void *context, Op *op) {
    CallerSearch *search = context;
    search->found |=
        op->code == OP_UNKNOWN && op->operand_count > 0 && op->operands[0] == search->callee;
    return !search->found;
}

/// Whether the kernel calls the parameter or takes it for a tuple.
static bool is_asked(const Function *function, int parameter) {
    CallerSearch calls = {.callee = function->parameters[parameter].value};
    region_walk(function->body, visit_call, &calls);
    return calls.found;
}

LaunchFunctions launches_functions(Arena *arena, const Function *function, int parameter) {
    const FunctionDefinition *kernel = function->definition;
    if (!kernel || !is_asked(function, parameter)) return (LaunchFunctions){0};
    const Module *module = kernel->module;
    FunctionSearch search = {.arena = arena, .module = module, .seen = map_new(arena)};
    may_be(&search, kernel->parameters[parameter].default_node, 0);
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel == kernel)
            may_be(&search, launch_argument_node(module, site, parameter), 0);
    }
    comment_may_be(&search, kernel->comment, kernel->parameters[parameter].name);
    bool any = false;
    for (LIST_EACH(int, i, search.found)) any = any || search.found.items[i].function;
    if (any) return search.found;
    // callers from elsewhere bring the functions; what they leave out is None
    LaunchFunctions none = {0};
    if (function->parameters[parameter].is_optional)
        LIST_PUSH(arena, &none, ((LaunchFunction){.name = STR("None")}));
    return none;
}

Constant launch_function_constant(const LaunchFunction *function) {
    if (!function->function) return (Constant){.kind = CONSTANT_NONE};
    return (Constant){.kind = CONSTANT_FUNCTION,
                      .function = function->function,
                      .string = function->name,
                      .op = OP_COUNT};
}

/* ---- tuples ---- */

/// How many whole numbers a value is a sequence of; -1: it is none, or of others.
static int whole_numbers(const HostValue *value) {
    if (!value || value->kind != HOST_SEQUENCE) return -1;
    for (int i = 0; i < value->count; i++) {
        const HostValue *item = value->items[i];
        if (!item->is_concrete || item->constant.kind != CONSTANT_INT) return -1;
    }
    return value->count;
}

LaunchLengths launches_lengths(Arena *arena, const Function *function, int parameter) {
    LaunchLengths lengths = {0};
    if (!function->definition || !is_asked(function, parameter)) return lengths;
    HostLaunches launches = host_launches(arena, function->definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        int length = parameter < launch->argument_count
                         ? whole_numbers(launch->arguments[parameter].value)
                         : -1;
        bool is_new = length > 0 && length <= TYPE_MAX_RANK;
        for (LIST_EACH(int, k, lengths)) is_new = is_new && lengths.items[k] != length;
        if (is_new) LIST_PUSH(arena, &lengths, length);
    }
    return lengths;
}
