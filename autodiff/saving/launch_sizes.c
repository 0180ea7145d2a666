#include "autodiff/saving/launch_sizes.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"

SyntaxNode launch_passed_node(const LaunchArguments *arguments, int parameter) {
    const FunctionDefinition *kernel = arguments->site->kernel;
    const SyntaxNode none = {0};
    if (parameter < arguments->positional) return arguments->nodes[parameter];
    for (int i = arguments->positional; i < arguments->count; i++)
        if (str_equal(node_text(arguments->source, node_field(arguments->nodes[i], "name")),
                      kernel->parameters[parameter].name))
            return node_field(arguments->nodes[i], "value");
    return none;
}

const char *launch_size_text(Arena *arena, const LaunchArguments *arguments, Str number) {
    const FunctionDefinition *kernel = arguments->site->kernel;
    if (number.size && *number.data >= '0' && *number.data <= '9') return str_dup(arena, number);
    for (int i = 0; i < kernel->parameter_count; i++) {
        if (!str_equal(kernel->parameters[i].name, number)) continue;
        SyntaxNode node = launch_passed_node(arguments, i);
        for (LIST_EACH(int, k, kernel->tuned_names))
            if (str_equal(kernel->tuned_names.items[k], number)) return NULL;
        if (node_is_null(node)) {
            Str value = kernel->parameters[i].default_text;
            return value.size && *value.data >= '0' && *value.data <= '9' ? str_dup(arena, value)
                                                                          : NULL;
        }
        bool is_simple = node_kind(node) == SYNTAX_IDENTIFIER || node_kind(node) == SYNTAX_INTEGER;
        Str text = node_text(arguments->source, node);
        return arena_printf(arena, is_simple ? "%.*s" : "(%.*s)", STR_ARGS(text));
    }
    return NULL;
}

// --- The grid

typedef struct GridReading {
    Arena *arena;
    const LaunchArguments *arguments;
    Str meta;  // what a lambda calls the launch's constexprs; or empty
    Buffer out;
    bool is_open;
} GridReading;

/// Writes an expression of a lambda's body: `meta["BLOCK"]` is what the launch passes.
static void put_expression(GridReading *grid, SyntaxNode node) {
    const Source *source = grid->arguments->source;
    uint32_t at = node_range(source, node).start, end = node_range(source, node).end;
    if (node_kind(node) == SYNTAX_SUBSCRIPT && grid->meta.size &&
        str_equal(node_text(source, node_field(node, "value")), grid->meta)) {
        Str key = node_text(source, node_field(node, "subscript"));
        const char *text = NULL;
        if (key.size > 2)
            text =
                launch_size_text(grid->arena, grid->arguments, (Str){key.data + 1, key.size - 2});
        grid->is_open |= !text;
        if (text) buffer_puts(&grid->out, text);
        return;
    }
    bool is_meta = node_kind(node) == SYNTAX_IDENTIFIER && grid->meta.size &&
                   str_equal(node_text(source, node), grid->meta);
    grid->is_open |=
        is_meta || node_kind(node) == SYNTAX_LAMBDA || node_kind(node) == SYNTAX_COMMENT;
    for (uint32_t i = 0; i < node_all_child_count(node); i++) {
        SyntaxNode child = node_all_child(node, i);
        Range range = node_range(source, child);
        buffer_add(&grid->out, source->text.data + at, range.start - at);
        put_expression(grid, child);
        at = range.end;
    }
    buffer_add(&grid->out, source->text.data + at, end - at);
}

/// Whether it binds more tightly than a product.
static bool is_tight(SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:
    case SYNTAX_INTEGER:
    case SYNTAX_CALL:
    case SYNTAX_ATTRIBUTE:
    case SYNTAX_SUBSCRIPT:
    case SYNTAX_PARENTHESIZED: return true;
    default: return false;
    }
}

static bool read_tuple(Arena *arena, LaunchArguments *arguments, SyntaxNode tuple, Str meta) {
    SyntaxNode *items;
    int count = node_children(arena, tuple, &items);
    bool is_tuple = node_kind(tuple) == SYNTAX_TUPLE || node_kind(tuple) == SYNTAX_EXPRESSION_LIST;
    if (!is_tuple || count < 1 || count > PROGRAM_AXES) return false;
    arguments->axes = count;
    for (int i = 0; i < count; i++) {
        GridReading grid = {arena, arguments, meta, buffer_new(arena), false};
        put_expression(&grid, items[i]);
        if (grid.is_open || node_kind(items[i]) == SYNTAX_LIST_SPLAT) return false;
        const char *text = buffer_text(&grid.out);
        if (strchr(text, '\n')) return false;
        arguments->grid[i] = is_tight(items[i]) ? text : arena_printf(arena, "(%s)", text);
    }
    return true;
}

typedef struct GridNames {
    const Source *source;
    Str name;
    SyntaxNode value;
    int count;
} GridNames;

static bool visit_binding(void *context, SyntaxNode node) {
    GridNames *bindings = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER ||
        !str_equal(node_text(bindings->source, node), bindings->name))
        return true;
    SyntaxNode parent = node_parent(node);
    bool is_assigned =
        node_kind(parent) == SYNTAX_ASSIGNMENT && node_same(node_field(parent, "left"), node);
    if (is_assigned) {
        bindings->count++;
        bindings->value = node_field(parent, "right");
    } else if (node_binds_names(parent) || node_kind(parent) == SYNTAX_FOR ||
               node_kind(parent) == SYNTAX_AUGMENTED_ASSIGNMENT) {
        bindings->count += 2;
    }
    return true;
}

/// What the launcher binds the grid's name to, once and in front of the launch; a null node for anything else.
static SyntaxNode grid_bound(const LaunchArguments *arguments) {
    const LaunchSite *site = arguments->site;
    const SyntaxNode none = {0};
    if (!site->launcher) return none;
    GridNames bindings = {arguments->source, node_text(arguments->source, site->grid), none, 0};
    syntax_walk(site->launcher->body, visit_binding, &bindings);
    bool is_one = bindings.count == 1 && !node_is_null(bindings.value) &&
                  node_range(arguments->source, bindings.value).end <=
                      node_range(arguments->source, site->call).start;
    return is_one ? bindings.value : none;
}

static bool read_lambda(Arena *arena, LaunchArguments *arguments, SyntaxNode lambda) {
    SyntaxNode parameters = node_field(lambda, "parameters");
    bool is_one = !node_is_null(parameters) && node_child_count(parameters) == 1 &&
                  node_kind(node_child(parameters, 0)) == SYNTAX_IDENTIFIER;
    arguments->is_computed = true;
    if (!is_one) return false;
    Str meta = node_text(arguments->source, node_child(parameters, 0));
    return read_tuple(arena, arguments, node_field(lambda, "body"), meta);
}

static bool read_grid(Arena *arena, LaunchArguments *arguments) {
    SyntaxNode grid = arguments->site->grid;
    const Str none = {0};
    if (node_kind(grid) == SYNTAX_TUPLE) return read_tuple(arena, arguments, grid, none);
    if (node_kind(grid) == SYNTAX_LAMBDA) return read_lambda(arena, arguments, grid);
    if (node_kind(grid) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode bound = grid_bound(arguments);
    if (node_is_null(bound)) return false;
    if (node_kind(bound) == SYNTAX_LAMBDA) return read_lambda(arena, arguments, bound);
    if (!read_tuple(arena, arguments, bound, none)) return false;
    Str name = node_text(arguments->source, grid);
    for (int i = 0; i < arguments->axes; i++)
        arguments->grid[i] = arena_printf(arena, "%.*s[%d]", STR_ARGS(name), i);
    return true;
}

/// `*sizes` among the arguments: as many as the kernel has parameters that nothing else is passed for, if all have to be passed.
static bool open_spread(Arena *arena, LaunchArguments *arguments, int spread) {
    const FunctionDefinition *kernel = arguments->site->kernel;
    int named = arguments->count - arguments->positional,
        more = kernel->parameter_count - named - (arguments->positional - 1);
    for (int i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].default_text.size || kernel->parameters[i].is_keyword_only ||
            kernel->parameters[i].is_variadic)
            return false;
    if (more < 0 || kernel->tuned_names.count) return false;
    int count = arguments->count - 1 + more;
    SyntaxNode *nodes = ARENA_ARRAY(arena, SyntaxNode, count + 1);
    for (int i = 0; i < count; i++) {
        bool is_spread = i >= spread && i < spread + more;
        nodes[i] = is_spread    ? (SyntaxNode){0}
                   : i < spread ? arguments->nodes[i]
                                : arguments->nodes[i - more + 1];
    }
    arguments->nodes = nodes;
    arguments->count = count;
    arguments->positional += more - 1;
    return true;
}

bool launch_arguments_read(Arena *arena, const Module *module, const LaunchSite *site,
                           LaunchArguments *arguments) {
    *arguments = (LaunchArguments){.site = site, .source = module->source};
    // `kernel[grid](...)`, by the kernel's own name
    SyntaxNode callee = node_field(site->call, "function");
    bool is_plain =
        site->launcher && node_kind(callee) == SYNTAX_SUBSCRIPT && node_child_count(callee) == 2 &&
        str_equal(node_text(module->source, node_field(callee, "value")), site->kernel->name);
    if (!is_plain) return false;
    SyntaxNode list = node_field(site->call, "arguments");
    arguments->count = node_children(arena, list, &arguments->nodes);
    if (node_kind(list) != SYNTAX_ARGUMENT_LIST || arguments->count == 0) return false;
    int spread = -1;
    for (int i = 0; i < arguments->count; i++) {
        SyntaxNode node = arguments->nodes[i];
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_DICTIONARY_SPLAT || (kind == SYNTAX_LIST_SPLAT && spread >= 0))
            return false;
        if (kind == SYNTAX_LIST_SPLAT) spread = i;
        if (kind != SYNTAX_KEYWORD_ARGUMENT) {
            if (arguments->positional != i) return false;
            arguments->positional++;
        }
        arguments->last_end = node_range(module->source, node).end;
    }
    if (spread >= 0 && !open_spread(arena, arguments, spread)) return false;
    if (arguments->positional > site->kernel->parameter_count) return false;
    return read_grid(arena, arguments);
}
