// Which kernels a file launches, which meta-parameters are tuned, which jit functions are helpers of others.
#include "analysis/module_scope.h"

// --- Meta-parameters of autotune and heuristics

typedef struct TunedSearch {
    Module *module;
    const Module *place;  // where the nodes at hand are written
    FunctionDefinition *function;
    int depth;
} TunedSearch;

static bool visit_tuned(void *context, SyntaxNode node);

static void tuned_add(TunedSearch *search, Str name) {
    bool is_parameter = false;
    for (int i = 0; i < search->function->parameter_count; i++)
        is_parameter = is_parameter || str_equal(search->function->parameters[i].name, name);
    if (!is_parameter) return;
    for (LIST_EACH(int, i, search->function->tuned_names))
        if (str_equal(search->function->tuned_names.items[i], name)) return;
    LIST_PUSH(search->module->arena, &search->function->tuned_names, name);
}

static void tuned_keys(TunedSearch *search, SyntaxNode dictionary) {
    for (uint32_t i = 0; i < node_child_count(dictionary); i++) {
        SyntaxNode pair = node_child(dictionary, i);
        if (node_kind(pair) != SYNTAX_PAIR) continue;
        Str key = node_text(search->place->source, node_field(pair, "key"));
        if (key.size < 2) continue;
        tuned_add(search, (Str){key.data + 1, key.size - 2});
    }
}

/// Configurations are often built by a function of the file, or kept in a global list.
static void tuned_follow(TunedSearch *search, SyntaxNode name) {
    if (search->depth > 3) return;
    ScopeEntry entry = scope_of_expression(search->module->arena, search->place, name);
    TunedSearch inner = *search;
    inner.depth++;
    inner.place = entry.module;
    if (entry.kind == SCOPE_ASSIGNED) syntax_walk(entry.node, visit_tuned, &inner);
    if (entry.kind == SCOPE_FUNCTION && !entry.function->is_jit) {
        inner.place = entry.function->module;
        syntax_walk(entry.function->body, visit_tuned, &inner);
    }
}

static bool visit_tuned(void *context, SyntaxNode node) {
    TunedSearch *search = context;
    switch (node_kind(node)) {
    case SYNTAX_DICTIONARY: tuned_keys(search, node); return false;
    case SYNTAX_IDENTIFIER: tuned_follow(search, node); return false;
    case SYNTAX_ATTRIBUTE: return false;
    case SYNTAX_KEYWORD_ARGUMENT: {
        // Names beside the configurations (key, reset_to_zero, ...) are not tuned.
        Str name = node_text(search->place->source, node_field(node, "name"));
        return str_is(name, "configs") || str_is(name, "kwargs") || str_is(name, "values");
    }
    default: return true;
    }
}

void module_find_tuned(Module *module) {
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        if (!function->is_autotuned && !function->has_heuristics) continue;
        for (LIST_EACH(int, j, function->decorators)) {
            TunedSearch search = {module, module, function, 0};
            SyntaxNode decorator = function->decorators.items[j];
            int flags = module_wrapper_flags(module->arena, module, decorator, 0);
            if (node_kind(decorator) == SYNTAX_IDENTIFIER)
                tuned_follow(&search, decorator);
            else if (flags & (WRAPS_AUTOTUNE | WRAPS_HEURISTICS))
                syntax_walk(decorator, visit_tuned, &search);
        }
    }
}

// --- Launches

typedef struct LaunchSearch {
    Module *module;
    FunctionDefinition *launcher;
    Map launched;    // FunctionDefinition -> itself
    Map referenced;  // by other jit functions
} LaunchSearch;

static bool visit_launch(void *context, SyntaxNode node) {
    LaunchSearch *search = context;
    if (node_kind(node) != SYNTAX_CALL) return true;
    SyntaxNode subscript = node_field(node, "function");
    if (node_kind(subscript) != SYNTAX_SUBSCRIPT) return true;
    ScopeEntry entry =
        scope_of_expression(search->module->arena, search->module, node_field(subscript, "value"));
    if (entry.kind != SCOPE_FUNCTION || !entry.function->is_jit) return true;
    LaunchSite site = {.kernel = entry.function,
                       .launcher = search->launcher,
                       .call = node,
                       .grid = node_field(subscript, "subscript"),
                       .range = node_range(search->module->source, node)};
    LIST_PUSH(search->module->arena, &search->module->launches, site);
    map_set_pointer(&search->launched, entry.function, entry.function);
    return true;
}

static bool visit_reference(void *context, SyntaxNode node) {
    LaunchSearch *search = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    Str name = node_text(search->module->source, node);
    const ScopeEntry *entry = map_get(&search->module->scope->names, name);
    for (; entry; entry = entry->next)
        if (entry->kind == SCOPE_FUNCTION && entry->function != search->launcher)
            map_set_pointer(&search->referenced, entry->function, entry->function);
    return true;
}

static bool visit_module_level(void *context, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_FUNCTION) return false;
    return visit_launch(context, node);
}

void module_find_launches(Module *module) {
    LaunchSearch search = {
        .module = module, .launched = map_new(module->arena), .referenced = map_new(module->arena)};
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        search.launcher = function;
        syntax_walk(function->body, function->is_jit ? visit_reference : visit_launch, &search);
    }
    search.launcher = NULL;
    syntax_walk(syntax_root(module->tree), visit_module_level, &search);
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        function->is_helper =
            function->is_jit && !map_has_pointer(&search.launched, function) &&
            (function->returns_value || map_has_pointer(&search.referenced, function));
    }
}
