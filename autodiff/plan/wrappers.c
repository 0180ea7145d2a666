// Decorators and functions around a kernel, and what they and its launchers say of parameters in strings.
#include "autodiff/plan/wrappers.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

Str wrapper_name(const FunctionDefinition *kernel, int decorator) {
    SyntaxNode around = node_parent(kernel->decorators.items[decorator]);
    SyntaxNode left = node_field(around, "left");
    bool is_name = node_kind(around) == SYNTAX_ASSIGNMENT && node_kind(left) == SYNTAX_IDENTIFIER;
    return is_name ? node_text(kernel->module->source, left) : (Str){"", 0};
}

static bool is_launched_as(const FunctionDefinition *kernel, Str name) {
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        SyntaxNode callee = node_field(site->subscript, "value");
        if (site->kernel == kernel && str_equal(node_text(module->source, callee), name))
            return true;
    }
    return false;
}

bool kernel_has_name(const FunctionDefinition *kernel, Str name) {
    if (str_equal(kernel->name, name)) return true;
    for (LIST_EACH(int, i, kernel->decorators))
        if (name.size && str_equal(wrapper_name(kernel, i), name)) return true;
    return false;
}

Str kernel_alias(const FunctionDefinition *kernel) {
    Str name = {"", 0}, launched = {"", 0};
    for (LIST_EACH(int, i, kernel->decorators)) {
        Str assigned = wrapper_name(kernel, i);
        if (!assigned.size) continue;
        name = assigned;
        if (is_launched_as(kernel, assigned)) launched = assigned;
    }
    if (launched.size) name = launched;
    // `kernel_again = kernel`, and `kernel` is bound to something else behind that
    const Module *module = kernel->module;
    const ScopeEntry *own = map_get(&module->scope->names, kernel->name);
    bool is_rebound = own && own->kind == SCOPE_FUNCTION && own->function != kernel;
    for (int i = 0; is_rebound && !name.size && i < module->launches.count; i++) {
        const LaunchSite *site = &module->launches.items[i];
        SyntaxNode callee = node_field(site->subscript, "value");
        Str text = node_text(module->source, callee);
        bool is_alias = site->kernel == kernel && node_kind(callee) == SYNTAX_IDENTIFIER;
        if (is_alias && map_has(&module->scope->names, text)) name = text;
    }
    return str_equal(name, kernel->name) ? (Str){"", 0} : name;
}

static bool text_quotes(Str text, const char *name) {
    size_t size = strlen(name);
    for (size_t i = 1; i + size < text.size; i++) {
        bool quoted = (text.data[i - 1] == '"' || text.data[i - 1] == '\'') &&
                      text.data[i + size] == text.data[i - 1];
        if (quoted && memcmp(text.data + i, name, size) == 0) return true;
    }
    return false;
}

typedef struct QuoteSearch {
    const Module *module;
    Arena *arena;
    int depth;
    const char *quoted;  // a name that is looked for in quotes
    bool is_found;
} QuoteSearch;

/// Looks into the functions and values that a decorator names.
static bool visit_named(void *context, SyntaxNode node) {
    QuoteSearch *search = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER || search->depth > 3) return true;
    ScopeEntry entry = scope_of_expression(search->arena, search->module, node);
    SyntaxNode code = {0};
    if (entry.kind == SCOPE_FUNCTION && !entry.function->is_jit) code = entry.function->node;
    if (entry.kind == SCOPE_ASSIGNED) code = entry.node;
    const Module *module = entry.kind == SCOPE_FUNCTION ? entry.function->module : entry.module;
    if (node_is_null(code) || !module) return true;
    if (text_quotes(node_text(module->source, code), search->quoted)) search->is_found = true;
    QuoteSearch inner = *search;
    inner.module = module;
    inner.depth++;
    syntax_walk(code, visit_named, &inner);
    search->is_found |= inner.is_found;
    return true;
}

bool name_is_of_launch(Str name) {
    static const char *const names[] = {"grid", "warmup", "device", "device_type", "stream"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i])) return true;
    return false;
}

bool decorators_mention(const FunctionDefinition *kernel, const char *name, bool is_constexpr) {
    if (!kernel->is_autotuned && !kernel->has_heuristics) return false;
    if (is_constexpr) return true;
    Range range = kernel->range;
    range.end = kernel->header_range.start;
    if (text_quotes(source_slice(range), name)) return true;
    Arena *arena = kernel->module->arena;
    QuoteSearch search = {.module = kernel->module, .arena = arena, .quoted = name};
    // Those behind the kernel, too: `tuned = triton.autotune(...)(kernel)`.
    for (LIST_EACH(int, i, kernel->decorators)) {
        SyntaxNode node = kernel->decorators.items[i];
        if (text_quotes(node_text(kernel->module->source, node), name)) return true;
        syntax_walk(node, visit_named, &search);
    }
    return search.is_found;
}

bool launchers_mention(const FunctionDefinition *kernel, const char *name) {
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        SyntaxNode around = site->launcher ? site->launcher->node : site->call;
        if (text_quotes(source_slice(node_range(module->source, around)), name)) return true;
    }
    return false;
}
