// One walk over a function's own statements; those of functions inside it bind names of these.
#include "analysis/module/function_names.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct BindSearch {
    const Source *source;
    Map *bound;
    SyntaxNode function;
    Map *excluded;    // `global x`
    bool has_scopes;  // text_has_scopes of the function
} BindSearch;

static void bind_name(void *context, SyntaxNode identifier, bool is_item) {
    const BindSearch *search = context;
    (void)is_item;
    map_set(search->bound, node_text(search->source, identifier), search->bound);
}

void target_names_add(Map *names, const Source *source, SyntaxNode target) {
    BindSearch search = {.source = source, .bound = names};
    syntax_targets(target, bind_name, &search);
}

static void bind_target(const BindSearch *search, SyntaxNode target) {
    target_names_add(search->bound, search->source, target);
}

static void bind_import(const BindSearch *search, SyntaxNode node) {
    SyntaxNode from = node_field(node, "module_name");
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        if (node_same(child, from)) continue;
        if (node_kind(child) == SYNTAX_ALIASED_IMPORT)
            bind_target(search, node_field(child, "alias"));
        else if (node_kind(child) == SYNTAX_DOTTED_NAME)
            bind_target(search, node_child(child, 0));
    }
}

/// Whether nothing but blanks stands before `at` on its line.
static bool opens_line(Str text, const char *at) {
    while (at > text.data && (at[-1] == ' ' || at[-1] == '\t')) at--;
    return at == text.data || at[-1] == '\n';
}

bool text_has_scopes(Str text) {
    if (text_contains(text, ":=") || text_contains(text, "lambda")) return true;
    // A `for` that is not the first word of its line.
    const char *at = text.data, *end = text.data + text.size;
    while (end - at >= 4 && (at = memchr(at, 'f', (size_t)(end - at) - 3))) {
        if (memcmp(at, "for ", 4) == 0 && !opens_line(text, at) && !byte_is_word(at[-1]))
            return true;
        at++;
    }
    return false;
}

bool kind_is_expression(SyntaxKind kind) {
    switch (kind) {
    case SYNTAX_CALL:
    case SYNTAX_ATTRIBUTE:
    case SYNTAX_SUBSCRIPT:
    case SYNTAX_BINARY:
    case SYNTAX_UNARY:
    case SYNTAX_NOT:
    case SYNTAX_BOOLEAN:
    case SYNTAX_COMPARISON:
    case SYNTAX_CONDITIONAL:
    case SYNTAX_PARENTHESIZED:
    case SYNTAX_STRING:
    case SYNTAX_LIST:
    case SYNTAX_TUPLE:
    case SYNTAX_DICTIONARY: return true;
    default: return false;
    }
}

static bool visit_bound(void *context, SyntaxNode node) {
    const BindSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (!search->has_scopes && kind_is_expression(kind)) return false;
    switch (kind) {
    case SYNTAX_ASSIGNMENT:
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR: bind_target(search, node_field(node, "left")); return true;
    case SYNTAX_NAMED_EXPRESSION: bind_target(search, node_field(node, "name")); return true;
    case SYNTAX_AS_PATTERN: bind_target(search, node_field(node, "alias")); return true;
    case SYNTAX_IMPORT:
    case SYNTAX_IMPORT_FROM: bind_import(search, node); return false;
    case SYNTAX_GLOBAL:
        for (uint32_t i = 0; i < node_child_count(node); i++)
            map_set(search->excluded, node_text(search->source, node_child(node, i)),
                    search->bound);
        return false;
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
        if (node_same(node, search->function)) return true;
        bind_target(search, node_field(node, "name"));
        return false;
    case SYNTAX_LAMBDA:
    case SYNTAX_LIST_COMPREHENSION:
    case SYNTAX_GENERATOR:
    case SYNTAX_SET_COMPREHENSION:
    case SYNTAX_DICTIONARY_COMPREHENSION: return false;
    default: return true;
    }
}

SyntaxNode parameter_identifier(SyntaxNode node) {
    for (int depth = 0; depth < 4 && !node_is_null(node); depth++) {
        switch (node_kind(node)) {
        case SYNTAX_IDENTIFIER: return node;
        case SYNTAX_DEFAULT_PARAMETER:
        case SYNTAX_TYPED_DEFAULT_PARAMETER: node = node_field(node, "name"); break;
        case SYNTAX_TYPED_PARAMETER:
        case SYNTAX_LIST_SPLAT_PATTERN:
        case SYNTAX_DICTIONARY_SPLAT_PATTERN: node = node_child(node, 0); break;
        default: return (SyntaxNode){0};
        }
    }
    return (SyntaxNode){0};
}

void parameter_names_add(Map *names, const Source *source, SyntaxNode parameters) {
    for (uint32_t i = 0; i < node_child_count(parameters); i++) {
        SyntaxNode name = parameter_identifier(node_child(parameters, i));
        if (!node_is_null(name)) target_names_add(names, source, name);
    }
}

Map function_names(Arena *arena, const Source *source, SyntaxNode function) {
    Map bound = map_new(arena), excluded = map_new(arena), names = map_new(arena);
    BindSearch search = {source, &bound, function, &excluded,
                         text_has_scopes(node_text(source, function))};
    parameter_names_add(&bound, source, node_field(function, "parameters"));
    syntax_walk(node_field(function, "body"), visit_bound, &search);
    if (!excluded.count) return bound;
    for (int i = 0; i < bound.count; i++)
        if (!map_has(&excluded, bound.entries[i].key)) map_set(&names, bound.entries[i].key, arena);
    return names;
}
