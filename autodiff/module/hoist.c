// The text of a kernel inside a function or a class to the same at module level, where it uses nothing of what is around it.
#include "autodiff/module/hoist.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

static SyntaxNode function_around(const FunctionDefinition *kernel) {
    SyntaxNode node = node_parent(kernel->node);
    while (!node_is_null(node) && node_kind(node) != SYNTAX_FUNCTION) node = node_parent(node);
    return node;
}

bool kernel_is_nested(const FunctionDefinition *kernel) {
    for (SyntaxNode node = node_parent(kernel->node); !node_is_null(node); node = node_parent(node))
        if (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_CLASS) return true;
    return false;
}

typedef struct Scope {
    const Source *source;
    SyntaxNode root;
    Map bound;
} Scope;

static bool visit_identifiers(void *context, SyntaxNode node) {
    Scope *scope = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_IDENTIFIER) map_set(&scope->bound, node_text(scope->source, node), scope);
    return kind != SYNTAX_ATTRIBUTE && kind != SYNTAX_SUBSCRIPT;
}

/// Texts that the statements of a function bind, those of functions inside it aside.
static bool visit_bindings(void *context, SyntaxNode node) {
    Scope *scope = context;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION:
        if (node.id == scope->root.id) return true;
        map_set(&scope->bound, node_text(scope->source, node_field(node, "name")), scope);
        return false;
    case SYNTAX_ASSIGNMENT:
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR: syntax_walk(node_field(node, "left"), visit_identifiers, scope); return true;
    case SYNTAX_IMPORT_FROM: syntax_walk(node, visit_identifiers, scope); return false;
    default: return true;
    }
}

static Map bound_in(Arena *arena, const Source *source, SyntaxNode function) {
    Scope scope = {source, function, map_new(arena)};
    syntax_walk(function, visit_bindings, &scope);
    SyntaxNode parameters = node_field(function, "parameters");
    for (uint32_t i = 0; i < node_child_count(parameters); i++) {
        Str text = node_text(source, node_child(parameters, i));
        while (text.size && *text.data == '*') text = (Str){text.data + 1, text.size - 1};
        size_t size = 0;
        while (size < text.size && !strchr(" :=\n", text.data[size])) size++;
        map_set(&scope.bound, (Str){text.data, size}, &scope);
    }
    return scope.bound;
}

typedef struct Capture {
    const Source *source;
    Map around, own;
    Str found;
} Capture;

static bool visit_capture(void *context, SyntaxNode node) {
    Capture *capture = context;
    if (node_kind(node) == SYNTAX_ATTRIBUTE) {
        syntax_walk(node_field(node, "object"), visit_capture, capture);
        return false;
    }
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    // What every module of kernels imports, and this one, too.
    static const char *const imported[] = {"tl", "triton", "torch", "math", "libdevice"};
    Str name = node_text(capture->source, node);
    for (size_t i = 0; i < sizeof imported / sizeof *imported; i++)
        if (str_is(name, imported[i])) return false;
    if (map_has(&capture->around, name) && !map_has(&capture->own, name)) capture->found = name;
    return false;
}

const char *kernel_hoisted(Arena *arena, const FunctionDefinition *kernel, Str *captured) {
    const Source *source = kernel->module->source;
    SyntaxNode around = function_around(kernel);
    if (!node_is_null(around)) {
        Capture capture = {.source = source,
                           .around = bound_in(arena, source, around),
                           .own = bound_in(arena, source, kernel->node)};
        syntax_walk(kernel->body, visit_capture, &capture);
        syntax_walk(node_field(kernel->node, "parameters"), visit_capture, &capture);
        for (LIST_EACH(int, i, kernel->decorators))
            syntax_walk(kernel->decorators.items[i], visit_capture, &capture);
        *captured = capture.found;
        if (capture.found.size) return NULL;
    }
    int line, column;
    source_position(source, kernel->range.start, &line, &column);
    Buffer out = buffer_new(arena);
    Str rest = source_slice(kernel->range);
    while (rest.size) {
        const char *newline = memchr(rest.data, '\n', rest.size);
        size_t size = newline ? (size_t)(newline - rest.data) : rest.size;
        if (!str_is(str_trim((Str){rest.data, size}), "@staticmethod")) {
            buffer_add(&out, rest.data, size);
            buffer_putc(&out, '\n');
        }
        size += newline ? 1 : 0;
        rest = (Str){rest.data + size, rest.size - size};
        for (int i = 0; i < column && rest.size && *rest.data == ' '; i++)
            rest = (Str){rest.data + 1, rest.size - 1};
    }
    return buffer_text(&out);
}
