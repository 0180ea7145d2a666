// A function launches what its text names: a kernel, or a function that launches one. Names are followed as Python resolves them at
// module level; what a function binds for itself is not followed, but for functions that are defined in it.
#include "server/retrieval/pairs.h"

#include "analysis/module/function_names.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

enum {
    MOST_FUNCTIONS = 2000,  // that one method leads to
    DEEPEST_ALIAS = 4,
    FAR = 1,
};

/// A function, and how many calls lead to it.
typedef struct Reached {
    const FunctionDefinition *function;
    int depth;
} Reached;

typedef struct LaunchReach {
    Arena *arena;
    Map seen;            // functions and kernels -> their depth + 1
    LIST(Reached) open;  // functions, each read once, the nearest first
    LIST(Reached) kernels;
    int depth;  // of what is read
} LaunchReach;

/// The text of one function, or what a global was made from.
typedef struct NameReading {
    LaunchReach *reach;
    const Module *module;
    const FunctionDefinition *function;  // NULL: a global
    Map own;                             // names that it binds
    int depth;
} NameReading;

static void reach_add(LaunchReach *reach, const FunctionDefinition *function) {
    if (map_has_pointer(&reach->seen, function)) return;
    Reached *reached = ARENA_NEW(reach->arena, Reached);
    *reached = (Reached){function, reach->depth + 1};
    map_set_pointer(&reach->seen, function, reached);
    if (!function->is_jit)
        LIST_PUSH(reach->arena, &reach->open, *reached);
    else if (!function->returns_value)
        LIST_PUSH(reach->arena, &reach->kernels, *reached);
}

static SyntaxNode class_around(SyntaxNode node) {
    while (!node_is_null(node) && node_kind(node) != SYNTAX_CLASS) node = node_parent(node);
    return node;
}

static const FunctionDefinition *method_of(const Module *module, SyntaxNode class, Str name) {
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (str_equal(function->name, name) && node_same(class_around(function->node), class))
            return function;
    }
    return NULL;
}

static bool visit_name(void *context, SyntaxNode node);

/// What a name stands for is followed; false where nobody knows it.
static bool follow(NameReading *reading, ScopeEntry entry) {
    LaunchReach *reach = reading->reach;
    entry = scope_follow_alias(reach->arena, entry);
    if (entry.kind == SCOPE_FUNCTION) {
        reach_add(reach, entry.function);
        return true;
    }
    if (entry.kind != SCOPE_ASSIGNED || node_kind(entry.node) != SYNTAX_CALL ||
        reading->depth >= DEEPEST_ALIAS)
        return entry.kind == SCOPE_EXTERNAL;
    // `run = torch.compile(launch)`
    NameReading inner = {.reach = reach,
                         .module = entry.module,
                         .own = map_new(reach->arena),
                         .depth = reading->depth + 1};
    syntax_walk(entry.node, visit_name, &inner);
    return true;
}

/// `self.launch`, `Class.launch`, `Other.apply`.
static bool follow_method(NameReading *reading, SyntaxNode attribute) {
    const Module *module = reading->module;
    Arena *arena = reading->reach->arena;
    SyntaxNode object = node_field(attribute, "object");
    if (node_kind(object) != SYNTAX_IDENTIFIER) return false;
    Str owner = node_text(module->source, object);
    Str name = node_text(module->source, node_field(attribute, "attribute"));
    SyntaxNode class = {0};
    if ((str_is(owner, "self") || str_is(owner, "cls")) && reading->function) {
        class = class_around(reading->function->node);
    } else if (!map_has(&reading->own, owner)) {
        ScopeEntry entry = scope_follow_alias(arena, module_resolve(arena, module, owner));
        if (entry.kind == SCOPE_CLASS) {
            class = entry.node;
            module = entry.module;
        }
    }
    if (node_is_null(class)) return false;
    const FunctionDefinition *method =
        method_of(module, class, str_is(name, "apply") ? STR("forward") : name);
    if (method) reach_add(reading->reach, method);
    return method != NULL;
}

/// A function that is defined within the one that is read, or beside it in a function around both.
static const FunctionDefinition *nested_function(const NameReading *reading, Str name,
                                                 uint32_t place) {
    const Module *module = reading->module;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (!reading->function || !str_equal(function->name, name)) continue;
        Range outer = reading->function->range;
        if (outer.start < function->range.start && function->range.end <= outer.end &&
            (place < function->range.start || function->range.end <= place))
            return function;
    }
    return NULL;
}

static bool visit_name(void *context, SyntaxNode node) {
    NameReading *reading = context;
    Arena *arena = reading->reach->arena;
    const Source *source = reading->module->source;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_KEYWORD_ARGUMENT) {
        syntax_walk(node_field(node, "value"), visit_name, reading);
        return false;
    }
    if (kind == SYNTAX_ATTRIBUTE) {
        if (follow_method(reading, node)) return false;
        SyntaxNode first = node;
        while (node_kind(first) == SYNTAX_ATTRIBUTE) first = node_field(first, "object");
        bool is_own = node_kind(first) != SYNTAX_IDENTIFIER ||
                      map_has(&reading->own, node_text(source, first));
        if (!is_own && follow(reading, scope_of_expression(arena, reading->module, node)))
            return false;
        syntax_walk(node_field(node, "object"), visit_name, reading);
        return false;
    }
    if (kind != SYNTAX_IDENTIFIER) return true;
    Range range = node_range(source, node);
    Str name = source_slice(range);
    if (map_has(&reading->own, name)) {
        const FunctionDefinition *nested = nested_function(reading, name, range.start);
        if (nested) reach_add(reading->reach, nested);
    } else {
        follow(reading, module_resolve(arena, reading->module, name));
    }
    return true;
}

static void read_function(LaunchReach *reach, const FunctionDefinition *function) {
    const Module *module = function->module;
    NameReading reading = {.reach = reach, .module = module, .function = function};
    reading.own = function_names(reach->arena, module->source, function->node);
    syntax_walk(function->body, visit_name, &reading);
    // Launches that no name at module level tells of: of kernels in classes and functions.
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->launcher == function) reach_add(reach, site->kernel);
    }
}

static LaunchReach reach_of(Arena *arena, const FunctionDefinition *method) {
    LaunchReach reach = {.arena = arena, .seen = map_new(arena)};
    reach_add(&reach, method);
    for (int i = 0; i < reach.open.count && i < MOST_FUNCTIONS; i++) {
        reach.depth = reach.open.items[i].depth;
        read_function(&reach, reach.open.items[i].function);
    }
    return reach;
}

/// Whether far fewer calls lead to the kernel there: a backward computes something again that the forward computes as deep, and a forward
/// may try its backward out, far below.
static bool is_nearer(const LaunchReach *there, const Reached *kernel) {
    const Reached *other = map_get_pointer(&there->seen, kernel->function);
    return other && other->depth + FAR < kernel->depth;
}

/// Adds the pair of two functions, where both lead to kernels.
static void pair_add(Arena *arena, KernelPairs *pairs, Str name, const FunctionDefinition *forward,
                     const FunctionDefinition *backward) {
    LaunchReach ahead = reach_of(arena, forward), back = reach_of(arena, backward);
    KernelPair pair = {.name = str_dup(arena, name), .forward = forward, .backward = backward};
    for (LIST_EACH(int, i, ahead.kernels))
        if (!is_nearer(&back, &ahead.kernels.items[i]))
            LIST_PUSH(arena, &pair.forwards, ahead.kernels.items[i].function);
    for (LIST_EACH(int, i, back.kernels)) {
        const Reached *kernel = map_get_pointer(&ahead.seen, back.kernels.items[i].function);
        if (!kernel || is_nearer(&back, kernel))
            LIST_PUSH(arena, &pair.backwards, back.kernels.items[i].function);
    }
    // A rotation is undone by its own kernel.
    for (int i = 0; i < back.kernels.count && !pair.backwards.count; i++)
        LIST_PUSH(arena, &pair.backwards, back.kernels.items[i].function);
    if (pair.forwards.count && pair.backwards.count) LIST_PUSH(arena, &pairs->list, pair);
}

/// Calls of register_autograd, which give an operator of torch.library its backward.
typedef struct Registrations {
    Arena *arena;
    const Module *module;
    KernelPairs *pairs;
} Registrations;

/// The function of that name that is defined last before the place, at whatever depth.
static const FunctionDefinition *function_before(const Module *module, Str name, uint32_t place) {
    const FunctionDefinition *found = NULL;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (!function->is_jit && function->range.end <= place && str_equal(function->name, name))
            found = function;
    }
    return found;
}

/// The function that is decorated as the operator of that name, quotes included.
static const FunctionDefinition *operator_named(const Module *module, Str quoted) {
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        for (LIST_EACH(int, d, function->decorators))
            if (quoted.size > 2 &&
                str_contains(node_text(module->source, function->decorators.items[d]), quoted))
                return function;
    }
    return NULL;
}

static bool visit_registration(void *context, SyntaxNode node) {
    Registrations *search = context;
    const Source *source = search->module->source;
    SyntaxNode callee = node_field(node, "function");
    if (node_kind(node) != SYNTAX_CALL || node_kind(callee) != SYNTAX_ATTRIBUTE) return true;
    if (!str_is(node_text(source, node_field(callee, "attribute")), "register_autograd"))
        return true;
    SyntaxNode object = node_field(callee, "object"), *arguments;
    int count = node_children(search->arena, node_field(node, "arguments"), &arguments);
    uint32_t place = node_range(source, node).start;
    Str name = node_text(source, object);
    bool is_method = function_before(search->module, name, place) != NULL;
    int first = is_method ? 0 : 1;
    if (count <= first) return true;
    if (!is_method) name = node_text(source, arguments[0]);
    const FunctionDefinition *forward = function_before(search->module, name, place);
    if (!forward) forward = operator_named(search->module, name);
    const FunctionDefinition *backward =
        function_before(search->module, node_text(source, arguments[first]), place);
    if (forward && backward)
        pair_add(search->arena, search->pairs, forward->name, forward, backward);
    return true;
}

KernelPairs pairs_find(Arena *arena, const Module *module) {
    KernelPairs pairs = {0};
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *forward = module->functions.items[i];
        if (forward->is_jit || !str_is(forward->name, "forward")) continue;
        SyntaxNode class = class_around(forward->node);
        if (node_is_null(class) || node_is_null(node_field(class, "superclasses"))) continue;
        const FunctionDefinition *backward = method_of(module, class, STR("backward"));
        if (!backward || backward->is_jit) continue;
        pair_add(arena, &pairs, node_text(module->source, node_field(class, "name")), forward,
                 backward);
    }
    if (!str_contains(module->source->text, STR("register_autograd"))) return pairs;
    Registrations search = {arena, module, &pairs};
    syntax_walk(syntax_root(module->tree), visit_registration, &search);
    return pairs;
}
