// Who calls or launches whom: kernels, helpers and launchers.
#include "analysis/syntax/syntax_nodes.h"
#include "features/describe/describe.h"
#include "features/shared.h"

#include <string.h>

typedef struct CallSearch {
    FileNames *names;
    Calls calls;
    Map index;  // function name's start -> index + 1
} CallSearch;

static bool launches(FileNames *names, const FunctionDefinition *function) {
    const Module *module = names->snapshot->module;
    for (LIST_EACH(int, i, module->launches))
        if (function_is_same(names, module->launches.items[i].launcher, function)) return true;
    return false;
}

static CallItem item_of(FileNames *names, const FunctionDefinition *function) {
    CallItem item = {.name = str_dup(names->arena, function->name), .detail = ""};
    item.kind = !function->is_jit     ? SYMBOL_LAUNCHER
                : function->is_helper ? SYMBOL_HELPER
                                      : SYMBOL_KERNEL;
    item.range = snapshot_range(names->snapshot, function->range);
    item.selection = snapshot_range(names->snapshot, function->name_range);
    const Kernel *kernel = kernel_of_function(names, function);
    const char *back = kernel ? return_label(names, kernel) : NULL;
    if (back) item.detail = arena_printf(names->arena, "-> %s", back);
    if (item.selection.source != names->source) item.detail = item.selection.source->path;
    return item;
}

static void call_add(CallSearch *search, const FunctionDefinition *function, Range place) {
    CallItem item = item_of(search->names, function);
    uint64_t key = ((uint64_t)(uintptr_t)item.selection.source << 20) ^ item.selection.start;
    intptr_t index = (intptr_t)map_get_number(&search->index, key);
    if (!index) {
        Call call = {.item = item};
        LIST_PUSH(search->names->arena, &search->calls.list, call);
        index = search->calls.list.count;
        map_set_number(&search->index, key, (void *)index);
    }
    Call *call = &search->calls.list.items[index - 1];
    LIST_PUSH(search->names->arena, &call->places.list, place);
}

static bool visit_call(void *context, SyntaxNode node) {
    CallSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION) return false;
    if (kind != SYNTAX_CALL) return true;
    Name callee = callee_resolve(search->names, node);
    if (callee.kind != NAME_FUNCTION || !callee.function) return true;
    bool is_ours = callee.function->is_jit;
    if (is_ours || launches(search->names, callee.function))
        call_add(search, callee.function, callee.range);
    return true;
}

static void walk_body(CallSearch *search, const FunctionDefinition *function) {
    Range range = snapshot_range(search->names->snapshot, function->name_range);
    if (range.source != search->names->source) return;
    SyntaxNode node = function_around(node_at(search->names->root, range.start, range.end));
    if (node_is_null(node)) return;
    syntax_walk(node_field(node, "body"), visit_call, search);
}

/// The innermost function of the file around the node.
static const FunctionDefinition *function_asked_by_node(FileNames *names, SyntaxNode node) {
    SyntaxNode function = function_around(node);
    for (int i = 0; i < 64 && !node_is_null(function); i++) {
        const FunctionDefinition *definition = definition_of_node(names, function);
        if (definition) return definition;
        function = function_around(node_parent(function));
    }
    return NULL;
}

/// The function that the name at `offset` means, or that is around it.
static const FunctionDefinition *function_asked(FileNames *names, uint32_t offset) {
    if (offset > names->source->text.size) return NULL;
    Name name = name_at(names, offset);
    if (name.kind == NAME_FUNCTION) return name.function;
    return function_asked_by_node(names, node_at(names->root, offset, offset));
}

static bool is_in_hierarchy(FileNames *names, const FunctionDefinition *function) {
    return function && (function->is_jit || launches(names, function));
}

CallItem call_item_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    const FunctionDefinition *function = function_asked(&names, offset);
    if (!is_in_hierarchy(&names, function)) return (CallItem){0};
    return item_of(&names, function);
}

/// The call whose callee the identifier is, or a null node.
static SyntaxNode call_of(SyntaxNode identifier) {
    SyntaxNode node = identifier;
    for (int i = 0; i < 3; i++) {
        SyntaxNode parent = node_parent(node);
        if (node_kind(parent) == SYNTAX_CALL)
            return node_same(node_field(parent, "function"), node) ? parent : (SyntaxNode){0};
        node = parent;
    }
    return (SyntaxNode){0};
}

static Calls calls_of(FileNames *names, const FunctionDefinition *wanted, const Views *spellings) {
    CallSearch search = {.names = names, .index = map_new(names->arena)};
    for (LIST_EACH(int, k, spellings->list)) {
        Words words = words_of(names, spellings->list.items[k]);
        for (LIST_EACH(int, i, words.list)) {
            SyntaxNode call = call_of(words.list.items[i]);
            if (node_is_null(call)) continue;
            Name callee = callee_resolve(names, call);
            const FunctionDefinition *caller = function_asked_by_node(names, call);
            if (callee.kind == NAME_FUNCTION && caller &&
                function_is_same(names, callee.function, wanted))
                call_add(&search, caller, callee.range);
        }
    }
    return search.calls;
}

Calls calls_into(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    const FunctionDefinition *wanted = function_asked(&names, offset);
    if (!is_in_hierarchy(&names, wanted)) return (Calls){0};
    Views spellings = {0};
    LIST_PUSH(arena, &spellings.list, wanted->name);
    return calls_of(&names, wanted, &spellings);
}

Calls shared_calls_into(Arena *arena, const Snapshot *snapshot, const SharedName *shared) {
    FileNames names = names_of(arena, snapshot);
    Views spellings = shared_spellings(&names, shared);
    const FunctionDefinition *wanted = shared_function(&names, shared);
    return wanted ? calls_of(&names, wanted, &spellings) : (Calls){0};
}

Calls calls_from(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    CallSearch search = {.names = &names, .index = map_new(arena)};
    const FunctionDefinition *function = function_asked(&names, offset);
    if (is_in_hierarchy(&names, function)) walk_body(&search, function);
    return search.calls;
}
