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
    bool looks_up;  // what names say at run time: `globals()[name]`
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

/* ---- kernels that are looked up where the program runs ---- */

/// `getattr(sys.modules[__name__], name)`, of a module: what an object has may be anything, and is no kernel then.
static bool is_of_module(const Module *module, Arena *arena, SyntaxNode call) {
    SyntaxNode object = node_child(node_field(call, "arguments"), 0);
    Str text = node_text(module->source, object);
    ScopeEntry entry = scope_of_expression(arena, module, object);
    return text_contains(text, "sys.modules") || text_contains(text, "import_module") ||
           entry.kind == SCOPE_MODULE;
}

/// Whether a call gives what a name says at run time.
static bool is_lookup(const UnseenSearch *search, SyntaxNode node) {
    static const char *const names[] = {"globals", "locals", "vars", "eval", "import_module"};
    const Source *source = search->module->source;
    if (node_kind(node) == SYNTAX_ATTRIBUTE)
        return str_is(node_text(source, node_field(node, "attribute")), "__dict__");
    if (node_kind(node) != SYNTAX_CALL) return false;
    Str name = text_last_component(node_text(source, node_field(node, "function")));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i])) return true;
    return str_is(name, "getattr") && is_of_module(search->module, search->arena, node);
}

static bool visit_lookup(void *context, SyntaxNode node) {
    UnseenSearch *search = context;
    search->looks_up = search->looks_up || is_lookup(search, node);
    return !search->looks_up;
}

/// `exec("kernel[grid](x)")`: a text that names a kernel of the file is run.
static void search_text(UnseenSearch *search, SyntaxNode call) {
    const Module *module = search->module;
    Str name = text_last_component(node_text(module->source, node_field(call, "function")));
    if (!str_is(name, "exec") && !str_is(name, "eval")) return;
    Str text = node_text(module->source, node_field(call, "arguments"));
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *kernel = module->functions.items[i];
        const char *word = arena_printf(search->arena, "%.*s[", STR_ARGS(kernel->name));
        if (kernel->is_jit && !kernel->is_helper && text_contains(text, word))
            search->why = arena_printf(search->arena, "it launches `%.*s` in a text that it runs",
                                       STR_ARGS(kernel->name));
    }
}

typedef struct LookupBinding {
    const UnseenSearch *search;
    Str name;
    bool is_found;
} LookupBinding;

static bool visit_lookup_binding(void *context, SyntaxNode node) {
    LookupBinding *binding = context;
    const Source *source = binding->search->module->source;
    if (node_kind(node) != SYNTAX_ASSIGNMENT ||
        !str_equal(node_text(source, node_field(node, "left")), binding->name))
        return !binding->is_found;
    UnseenSearch inner = *binding->search;
    inner.looks_up = false;
    syntax_walk(node_field(node, "right"), visit_lookup, &inner);
    binding->is_found |= inner.looks_up;
    return !binding->is_found;
}

/// Whether a name of the function around is bound to what was looked up.
static bool is_bound_by_lookup(const UnseenSearch *search, SyntaxNode name) {
    SyntaxNode around = name;
    while (!node_is_null(around) && node_kind(around) != SYNTAX_FUNCTION)
        around = node_parent(around);
    if (node_is_null(around)) return false;
    LookupBinding binding = {search, node_text(search->module->source, name), false};
    syntax_walk(node_field(around, "body"), visit_lookup_binding, &binding);
    return binding.is_found;
}

/// `launch = globals()[name][grid]`.
static void search_subscript(UnseenSearch *search, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    bool is_called =
        node_kind(parent) == SYNTAX_CALL && node_same(node_field(parent, "function"), node);
    if (is_called || !is_grid(search->module, node)) return;
    SyntaxNode value = node_field(node, "value");
    UnseenSearch inner = *search;
    inner.looks_up = false;
    syntax_walk(value, visit_lookup, &inner);
    if (!inner.looks_up && node_kind(value) != SYNTAX_IDENTIFIER) return;
    if (!inner.looks_up && !is_bound_by_lookup(search, value)) return;
    search->why = arena_printf(
        search->arena, "it launches `%.*s`, and no kernel of this file is known by that name",
        STR_ARGS(node_text(search->module->source, value)));
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
            bool is_passed = function->is_jit || function_is_outdone(search->arena, function);
            if (is_passed && node_same(function->node, node)) return false;
        }
    if (node_kind(node) == SYNTAX_SUBSCRIPT) search_subscript(search, node);
    if (node_kind(node) != SYNTAX_CALL) return true;
    search_text(search, node);
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
