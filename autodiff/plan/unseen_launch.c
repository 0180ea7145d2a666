// Launches that a file does not show: of kernels in tables, of other files, by functions of other files.
#include "autodiff/plan/unseen_launch.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

enum {
    FILE_DEPTH =
        6,  // of functions of other files that call one another: a launcher is seldom further away
};

typedef struct UnseenSearch {
    Arena *arena;
    const Module *module;
    Map seen;  // FunctionDefinition -> the search: functions of other files
    int depth;
    const char *why;
} UnseenSearch;

typedef struct GridBinding {
    const Source *source;
    Str name;
    bool is_grid;
} GridBinding;

static bool is_grid_value(SyntaxNode node) {
    SyntaxKind kind = node_kind(node);
    return kind == SYNTAX_TUPLE || kind == SYNTAX_EXPRESSION_LIST || kind == SYNTAX_LAMBDA ||
           kind == SYNTAX_LIST;
}

static bool visit_grid_binding(void *context, SyntaxNode node) {
    GridBinding *binding = context;
    SyntaxKind kind = node_kind(node);
    SyntaxNode name = node_field(node, kind == SYNTAX_FUNCTION ? "name" : "left");
    if ((kind == SYNTAX_FUNCTION || kind == SYNTAX_ASSIGNMENT) &&
        str_equal(node_text(binding->source, name), binding->name))
        binding->is_grid |= kind == SYNTAX_FUNCTION || is_grid_value(node_field(node, "right"));
    return true;
}

/// Whether what stands in the brackets is a grid rather than the place or the key of an item.
static bool is_grid(const Module *module, SyntaxNode subscript) {
    SyntaxNode index = node_field(subscript, "subscript");
    Str text = node_text(module->source, index);
    if (is_grid_value(index) || text_contains(text, "grid") || text_contains(text, "cdiv"))
        return true;
    if (node_kind(index) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode around = index;
    while (!node_is_null(around) && node_kind(around) != SYNTAX_FUNCTION)
        around = node_parent(around);
    if (node_is_null(around)) return false;
    GridBinding binding = {module->source, text, false};
    syntax_walk(node_field(around, "body"), visit_grid_binding, &binding);
    return binding.is_grid;
}

static const LaunchSite *site_of(const Module *module, SyntaxNode call) {
    for (LIST_EACH(int, i, module->launches))
        if (node_same(module->launches.items[i].call, call)) return &module->launches.items[i];
    return NULL;
}

static bool runs_without_gradients(const FunctionDefinition *function) {
    Str text = source_slice(function->range);
    return text_contains(text, "no_grad") || text_contains(text, "inference_mode");
}

static bool visit_call(void *context, SyntaxNode node);

/// A function of another file that launches kernels, itself or by what it calls.
static void search_function(UnseenSearch *search, const FunctionDefinition *function) {
    if (function->is_jit || search->depth > FILE_DEPTH || runs_without_gradients(function)) return;
    if (map_has_pointer(&search->seen, function)) return;
    map_set_pointer(&search->seen, function, search);
    UnseenSearch inner = *search;
    inner.module = function->module;
    inner.depth++;
    for (LIST_EACH(int, i, function->module->launches)) {
        const LaunchSite *site = &function->module->launches.items[i];
        if (site->launcher == function)
            inner.why =
                arena_printf(search->arena, "it launches `%.*s`", STR_ARGS(site->kernel->name));
    }
    if (!inner.why) syntax_walk(function->body, visit_call, &inner);
    search->seen = inner.seen;
    if (!inner.why) return;
    const char *path = function->module->source->path, *slash = strrchr(path, '/');
    search->why =
        arena_printf(search->arena, "it calls `%.*s` of %s, whose gradient is not known here: %s",
                     STR_ARGS(function->name), slash ? slash + 1 : path, inner.why);
}

static bool visit_call(void *context, SyntaxNode node) {
    UnseenSearch *search = context;
    const Module *module = search->module;
    if (search->why) return false;
    if (node_kind(node) == SYNTAX_FUNCTION)
        for (LIST_EACH(int, i, module->functions)) {
            const FunctionDefinition *function = module->functions.items[i];
            if (function->is_jit && node_same(function->node, node)) return false;
        }
    if (node_kind(node) != SYNTAX_CALL) return true;
    SyntaxNode callee = node_field(node, "function");
    const LaunchSite *site = site_of(module, node);
    if (node_kind(callee) == SYNTAX_SUBSCRIPT) {
        Str text = node_text(module->source, node_field(callee, "value"));
        if (site && !site->launcher)
            search->why = arena_printf(search->arena, "it launches `%.*s` outside of a function",
                                       STR_ARGS(site->kernel->name));
        else if (!site && is_grid(module, callee))
            search->why =
                arena_printf(search->arena,
                             "it launches `%.*s`, and no kernel of this file is known by that name",
                             STR_ARGS(text));
        return true;
    }
    if (site) return true;
    ScopeEntry entry = scope_of_expression(search->arena, module, callee);
    if (entry.kind == SCOPE_FUNCTION && (entry.function->module != module || search->depth))
        search_function(search, entry.function);
    return true;
}

const char *unseen_launch(Arena *arena, const Module *module, SyntaxNode code) {
    UnseenSearch search = {.arena = arena, .module = module, .seen = map_new(arena)};
    syntax_walk(code, visit_call, &search);
    return search.why;
}
