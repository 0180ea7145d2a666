// Whether a statement of the file is part of what others call, or there to be run.
#include "autodiff/module/library_parts.h"

#include "analysis/syntax/syntax_nodes.h"

typedef struct HandedSearch {
    const Source *source;
    const FunctionDefinition *function;
    const Map *callable;
    bool is_found;
} HandedSearch;

static bool is_parameter(const HandedSearch *search, SyntaxNode argument) {
    if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT) argument = node_field(argument, "value");
    while (node_kind(argument) == SYNTAX_SUBSCRIPT) argument = node_field(argument, "value");
    if (node_kind(argument) != SYNTAX_IDENTIFIER) return false;
    return parameter_find(search->function, node_text(search->source, argument)) >= 0;
}

static bool visit_handed(void *context, SyntaxNode node) {
    HandedSearch *search = context;
    if (search->is_found || node_kind(node) != SYNTAX_CALL) return !search->is_found;
    SyntaxNode arguments = node_field(node, "arguments");
    if (!map_has(search->callable, node_text(search->source, node_field(node, "function"))))
        return true;
    for (uint32_t i = 0; i < node_child_count(arguments) && !search->is_found; i++)
        search->is_found = is_parameter(search, node_child(arguments, i));
    return true;
}

/// Whether a function that returns nothing hands its own arguments to one of these: its results are in them.
static bool hands_on(const ModuleWriter *writer, const Item *item, const Map *callable) {
    HandedSearch search = {writer->module->source, item->function, callable, false};
    syntax_walk(item->function->body, visit_handed, &search);
    return search.is_found;
}

typedef struct ReturnedSearch {
    const Source *source;
    Map functions, classes;  // names of those that the function defines
    bool is_returned, is_found;
} ReturnedSearch;

static bool is_callee(SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    return node_kind(parent) == SYNTAX_CALL && node_same(node_field(parent, "function"), node);
}

static bool visit_nested(void *context, SyntaxNode node) {
    ReturnedSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (kind != SYNTAX_FUNCTION && kind != SYNTAX_CLASS) return true;
    // of a class what a call gives is an object of it
    Map *names = kind == SYNTAX_CLASS ? &search->classes : &search->functions;
    map_set(names, node_text(search->source, node_field(node, "name")), search);
    return false;
}

static bool visit_returned(void *context, SyntaxNode node) {
    ReturnedSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (search->is_found || kind == SYNTAX_FUNCTION || kind == SYNTAX_CLASS) return false;
    if (kind == SYNTAX_RETURN && !search->is_returned) {
        ReturnedSearch inner = *search;
        inner.is_returned = true;
        for (uint32_t i = 0; i < node_child_count(node); i++)
            syntax_walk(node_child(node, i), visit_returned, &inner);
        search->is_found = inner.is_found;
        return false;
    }
    Str name = node_text(search->source, node);
    bool is_nested =
        kind == SYNTAX_IDENTIFIER && (map_has(&search->classes, name) ||
                                      (map_has(&search->functions, name) && !is_callee(node)));
    search->is_found = search->is_returned && (kind == SYNTAX_LAMBDA || is_nested);
    return true;
}

/// Whether what a call of the item gives is, or holds, a function that it defines: `square = make(2)`.
static bool makes_functions(const ModuleWriter *writer, const Item *item) {
    if (!item->function) return false;
    ReturnedSearch search = {.source = writer->module->source,
                             .functions = map_new(writer->arena),
                             .classes = map_new(writer->arena)};
    syntax_walk(item->function->body, visit_nested, &search);
    syntax_walk(item->function->body, visit_returned, &search);
    return search.is_found;
}

typedef struct RenameSearch {
    const ModuleWriter *writer;
    const Source *source;
    const Map *callable;
    bool is_found;
} RenameSearch;

/// Whether the value of a statement has it in a lambda, which runs later.
static bool is_in_lambda(SyntaxNode node) {
    for (SyntaxNode at = node_parent(node); !node_is_null(at); at = node_parent(at)) {
        if (node_kind(at) == SYNTAX_LAMBDA) return true;
        if (node_kind(at) == SYNTAX_ASSIGNMENT) return false;
    }
    return false;
}

static bool visit_value(void *context, SyntaxNode node) {
    RenameSearch *search = context;
    if (search->is_found || !node_is_mention(node)) return !search->is_found;
    const Item *named = map_get(search->callable, node_text(search->source, node));
    search->is_found =
        named && (!is_callee(node) || is_in_lambda(node) || !node_is_null(item_class(named)) ||
                  makes_functions(search->writer, named));
    return true;
}

/// `run = partial(f, block=4)`, `RUNS["f"] = f`, `layer = Layer()`, `square = make(2)`, `go = lambda x: f(x, 2)`: whether a statement gives one of these, or a function that
/// one makes, another name, and calls no other.
static bool renames(const ModuleWriter *writer, const Item *item, const Map *callable) {
    SyntaxNode node = item->node;
    if (node_kind(node) == SYNTAX_EXPRESSION_STATEMENT) node = node_child(node, 0);
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return false;
    RenameSearch search = {writer, writer->module->source, callable, false};
    syntax_walk(node_field(node, "right"), visit_value, &search);
    return search.is_found;
}

/// Whether it would be in the module if it called what is differentiable, `callable`.
bool item_is_part_of_library(const ModuleWriter *writer, const Item *item, const Map *callable) {
    if (!item->function) return !node_is_null(item_class(item)) || renames(writer, item, callable);
    if (item->function->is_jit) return false;
    return item->function->returns_value || hands_on(writer, item, callable);
}
