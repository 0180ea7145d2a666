// Syntax tree in, the file's functions, names and launches out.
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/module/module_update.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/memo.h"

#include <string.h>

enum { BLOCK_DEPTH_LIMIT = 60 };

bool text_contains(Str text, const char *word) {
    size_t size = strlen(word);
    if (size == 0) return true;
    const char *end = text.data + text.size;
    for (const char *at = text.data; (size_t)(end - at) >= size; at++) {
        at = memchr(at, word[0], (size_t)(end - at) - size + 1);
        if (!at) return false;
        if (memcmp(at, word, size) == 0) return true;
    }
    return false;
}

Str text_last_component(Str dotted) {
    for (size_t i = dotted.size; i > 0; i--)
        if (dotted.data[i - 1] == '.') return (Str){dotted.data + i, dotted.size - i};
    return dotted;
}

static Str text_of(const Module *module, SyntaxNode node) {
    return node_text(module->source, node);
}

/// Where a statement stands.
typedef struct BlockContext {
    bool conditional;
    const ScopeCondition *condition;  // the branches of `if` around it
    bool in_class;
    bool in_function;
    int depth;
} BlockContext;

static void scope_define(Module *module, Str name, ScopeEntry entry, const BlockContext *context) {
    if (name.size == 0) return;
    ScopeEntry *copy = ARENA_NEW(module->arena, ScopeEntry);
    *copy = entry;
    copy->module = module;
    copy->condition = context->condition;
    copy->next = NULL;
    ScopeEntry *old = map_get(&module->scope->names, name);
    if (!old || !context->conditional) {
        map_set(&module->scope->names, name, copy);
        return;
    }
    while (old->next) old = old->next;
    old->next = copy;
}

// --- Function definitions

static ParameterDefinition parameter_parse(const Module *module, SyntaxNode node) {
    ParameterDefinition parameter = {.range = node_range(module->source, node)};
    SyntaxNode name = node_field(node, "name");
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER: name = node; break;
    case SYNTAX_TYPED_PARAMETER: name = node_child(node, 0); break;
    case SYNTAX_LIST_SPLAT_PATTERN:
    case SYNTAX_DICTIONARY_SPLAT_PATTERN: name = node; break;
    default: break;
    }
    if (node_kind(name) == SYNTAX_LIST_SPLAT_PATTERN ||
        node_kind(name) == SYNTAX_DICTIONARY_SPLAT_PATTERN) {
        parameter.is_variadic = true;
        name = node_child(name, 0);
    }
    parameter.name = text_of(module, name);
    parameter.annotation = text_of(module, node_field(node, "type"));
    parameter.default_node = node_field(node, "value");
    parameter.default_text = text_of(module, parameter.default_node);
    // Triton itself looks for the word.
    parameter.is_constexpr = text_contains(parameter.annotation, "constexpr");
    return parameter;
}

static void parameters_parse(Module *module, FunctionDefinition *function) {
    SyntaxNode *children;
    int count = node_children(module->arena, node_field(function->node, "parameters"), &children);
    function->parameters = ARENA_ARRAY(module->arena, ParameterDefinition, count + 1);
    bool keyword_only = false;
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(children[i]);
        if (kind == SYNTAX_KEYWORD_SEPARATOR) keyword_only = true;
        if (kind == SYNTAX_KEYWORD_SEPARATOR || kind == SYNTAX_POSITIONAL_SEPARATOR ||
            node_is_error(children[i]))
            continue;
        ParameterDefinition parameter = parameter_parse(module, children[i]);
        parameter.is_keyword_only = keyword_only;
        keyword_only = keyword_only || parameter.is_variadic;
        if (parameter.name.size) function->parameters[function->parameter_count++] = parameter;
    }
}

/// The comment lines that end right above `start`.
static Str comment_above(const Source *source, uint32_t start) {
    const char *text = source->text.data;
    int line;
    int column;
    source_position(source, start, &line, &column);
    uint32_t end = source->line_starts[line];
    uint32_t begin = end;
    while (line > 0) {
        uint32_t above = source->line_starts[--line];
        uint32_t i = above;
        while (i < begin && (text[i] == ' ' || text[i] == '\t')) i++;
        if (i >= begin || text[i] != '#') break;
        begin = above;
    }
    return (Str){text + begin, end - begin};
}

static bool visit_return(void *context, SyntaxNode node) {
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_RETURN && node_child_count(node) > 0 &&
        node_kind(node_child(node, 0)) != SYNTAX_COMMENT)
        *(bool *)context = true;
    if (kind == SYNTAX_YIELD) *(bool *)context = true;
    return kind != SYNTAX_FUNCTION && kind != SYNTAX_CLASS && kind != SYNTAX_LAMBDA;
}

static FunctionDefinition *function_parse(Module *module, SyntaxNode definition,
                                          SyntaxNode decorated) {
    FunctionDefinition *function = ARENA_NEW(module->arena, FunctionDefinition);
    const Source *source = module->source;
    function->module = module;
    function->facts = ARENA_NEW(module->arena, FunctionFacts);
    function->node = definition;
    function->body = node_field(definition, "body");
    SyntaxNode name = node_field(definition, "name");
    function->name = node_text(source, name);
    function->name_range = node_range(source, name);
    function->range = node_range(source, node_is_null(decorated) ? definition : decorated);
    function->header_range = node_range(source, definition);
    if (!node_is_null(function->body))
        function->header_range.end = node_range(source, function->body).start;
    while (function->header_range.end > function->header_range.start &&
           source->text.data[function->header_range.end - 1] != ':')
        function->header_range.end--;
    parameters_parse(module, function);
    syntax_walk(function->body, visit_return, &function->returns_value);
    SyntaxNode *children;
    int count = node_children(module->arena, decorated, &children);
    for (int i = 0; i < count; i++)
        if (node_kind(children[i]) == SYNTAX_DECORATOR)
            LIST_PUSH(module->arena, &function->decorators, node_child(children[i], 0));
    function->facts->decorator_count = function->decorators.count;
    return function;
}

FunctionDefinition *module_add_function(Module *module, SyntaxNode definition,
                                        SyntaxNode decorated) {
    const FunctionDefinition *former = function_find_former(module, definition);
    FunctionDefinition *function = former ? function_move(module, former, node_piece(definition))
                                          : function_parse(module, definition, decorated);
    function->comment = comment_above(module->source, function->range.start);
    LIST_PUSH(module->arena, &module->functions, function);
    return function;
}

static void function_apply_flags(FunctionDefinition *function, int flags) {
    function->is_jit = function->is_jit || (flags & WRAPS_JIT);
    function->is_autotuned = function->is_autotuned || (flags & WRAPS_AUTOTUNE);
    function->has_heuristics = function->has_heuristics || (flags & WRAPS_HEURISTICS);
}

// --- Statements at module level (and below its blocks)

static void scan_block(Module *module, SyntaxNode block, BlockContext context);

static void scan_import(Module *module, SyntaxNode node, const BlockContext *context) {
    SyntaxNode *children;
    int count = node_children(module->arena, node, &children);
    for (int i = 0; i < count; i++) {
        ScopeEntry entry = {.kind = SCOPE_IMPORTED};
        if (node_kind(children[i]) == SYNTAX_ALIASED_IMPORT) {
            entry.dotted = text_of(module, node_field(children[i], "name"));
            scope_define(module, text_of(module, node_field(children[i], "alias")), entry, context);
        } else if (node_kind(children[i]) == SYNTAX_DOTTED_NAME) {
            // `import a.b` binds `a`.
            entry.dotted = text_of(module, node_child(children[i], 0));
            BlockContext shared = *context;
            shared.conditional = true;
            scope_define(module, entry.dotted, entry, &shared);
        }
    }
}

static void scan_import_from(Module *module, SyntaxNode node, const BlockContext *context) {
    SyntaxNode from = node_field(node, "module_name");
    Str dotted = text_of(module, from);
    int level = 0;
    while (dotted.size && dotted.data[0] == '.') {
        level++;
        dotted = (Str){dotted.data + 1, dotted.size - 1};
    }
    dotted = str_trim(dotted);
    SyntaxNode *children;
    int count = node_children(module->arena, node, &children);
    for (int i = 0; i < count; i++) {
        ScopeEntry entry = {.kind = SCOPE_IMPORTED, .dotted = dotted, .level = level};
        SyntaxKind kind = node_kind(children[i]);
        if (children[i].id == from.id) continue;
        if (kind == SYNTAX_WILDCARD_IMPORT) {
            entry.module = module;
            LIST_PUSH(module->arena, &module->scope->stars, entry);
        } else if (kind == SYNTAX_ALIASED_IMPORT) {
            entry.name = text_of(module, node_field(children[i], "name"));
            scope_define(module, text_of(module, node_field(children[i], "alias")), entry, context);
        } else if (kind == SYNTAX_DOTTED_NAME) {
            entry.name = text_of(module, children[i]);
            scope_define(module, entry.name, entry, context);
        }
    }
}

/// The function that `f`, `jit(f)`, `autotune(...)(jit(f))` stands for, with what wraps it; NULL for other expressions.
static FunctionDefinition *wrapped_function(Module *module, SyntaxNode node, int *flags,
                                            int depth) {
    if (depth > 8) return NULL;
    if (node_kind(node) == SYNTAX_IDENTIFIER) {
        ScopeEntry entry = module_resolve(module->arena, module, text_of(module, node));
        return entry.kind == SCOPE_FUNCTION && entry.module == module ? entry.function : NULL;
    }
    if (node_kind(node) != SYNTAX_CALL) return NULL;
    int own = module_wrapper_flags(module->arena, module, node_field(node, "function"), 0);
    if (!own) return NULL;
    *flags |= own;
    SyntaxNode arguments = node_field(node, "arguments");
    for (uint32_t i = 0; i < node_child_count(arguments); i++) {
        FunctionDefinition *function =
            wrapped_function(module, node_child(arguments, i), flags, depth + 1);
        if (function) return function;
    }
    return NULL;
}

/// One target of `a = b = value`.
static void scan_target(Module *module, SyntaxNode left, SyntaxNode right, Str annotation,
                        const BlockContext *context) {
    ScopeEntry entry = {
        .kind = SCOPE_ASSIGNED, .node = right, .item = -1, .annotation = annotation};
    if (node_kind(left) == SYNTAX_IDENTIFIER) {
        int flags = 0;
        FunctionDefinition *function =
            node_kind(right) == SYNTAX_CALL ? wrapped_function(module, right, &flags, 0) : NULL;
        if (function && flags) {
            function_apply_flags(function, flags);
            LIST_PUSH(module->arena, &function->decorators, right);
            entry = (ScopeEntry){.kind = SCOPE_FUNCTION, .function = function};
        }
        scope_define(module, text_of(module, left), entry, context);
        return;
    }
    SyntaxNode *targets;
    int count = node_children(module->arena, left, &targets);
    if (node_kind(left) != SYNTAX_PATTERN_LIST && node_kind(left) != SYNTAX_TUPLE_PATTERN) return;
    for (int i = 0; i < count; i++) {
        entry.item = i;
        if (node_kind(targets[i]) == SYNTAX_IDENTIFIER)
            scope_define(module, text_of(module, targets[i]), entry, context);
    }
}

static void scan_assignment(Module *module, SyntaxNode node, const BlockContext *context) {
    Str annotation = text_of(module, node_field(node, "type"));
    SyntaxNode value = node_field(node, "right");
    while (node_kind(value) == SYNTAX_ASSIGNMENT) value = node_field(value, "right");
    if (node_is_null(value)) return;
    for (; node_kind(node) == SYNTAX_ASSIGNMENT; node = node_field(node, "right"))
        scan_target(module, node_field(node, "left"), value, annotation, context);
}

typedef struct Nesting {
    Module *module;
    FunctionFacts *facts;
    NodeList names;  // assignments of `module.attribute`: what jit functions beside them may call
    bool has_jit;
} Nesting;

static bool visit_nested(void *context, SyntaxNode node) {
    // Only functions inside functions are left to find, jit functions made on demand, and the imports beside them.
    Nesting *nesting = context;
    Module *module = nesting->module;
    static const BlockContext nested = {.conditional = true};
    if (node_kind(node) == SYNTAX_IMPORT) scan_import(module, node, &nested);
    if (node_kind(node) == SYNTAX_IMPORT_FROM) scan_import_from(module, node, &nested);
    bool concerns = node_kind(node) == SYNTAX_IMPORT || node_kind(node) == SYNTAX_IMPORT_FROM ||
                    node_kind(node) == SYNTAX_DECORATED;
    nesting->facts->nests = nesting->facts->nests || concerns;
    if (node_kind(node) == SYNTAX_ASSIGNMENT &&
        node_kind(node_field(node, "right")) == SYNTAX_ATTRIBUTE)
        LIST_PUSH(module->arena, &nesting->names, node);
    if (node_kind(node) != SYNTAX_DECORATED) return true;
    SyntaxNode definition = node_field(node, "definition");
    if (node_kind(definition) != SYNTAX_FUNCTION) return true;
    int flags = 0;
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        if (node_kind(child) == SYNTAX_DECORATOR)
            flags |= module_wrapper_flags(module->arena, module, node_child(child, 0), 0);
    }
    if (!(flags & WRAPS_JIT) || flags & WRAPS_FOREIGN) return true;
    nesting->has_jit = true;
    FunctionDefinition *function = module_add_function(module, definition, node);
    function_apply_flags(function, flags);
    ScopeEntry entry = {.kind = SCOPE_FUNCTION, .function = function};
    scope_define(module, function->name, entry, &nested);
    return false;
}

static void scan_function(Module *module, SyntaxNode definition, SyntaxNode decorated,
                          BlockContext context) {
    FunctionDefinition *function = module_add_function(module, definition, decorated);
    function->condition = context.condition;
    int all_flags = 0;
    for (LIST_EACH(int, i, function->decorators)) {
        int flags = module_wrapper_flags(module->arena, module, function->decorators.items[i], 0);
        function_apply_flags(function, flags);
        all_flags |= flags;
    }
    if (all_flags & WRAPS_FOREIGN) function->is_jit = false;
    bool is_method = context.in_class && function->parameter_count > 0 &&
                     str_is(function->parameters[0].name, "self");
    if (is_method) function->is_jit = false;
    if (!context.in_class) {
        ScopeEntry entry = {.kind = SCOPE_FUNCTION, .function = function};
        scope_define(module, function->name, entry, &context);
    }
    FunctionFacts *facts = function->facts;
    if (function->is_jit || (facts->has_nested && !facts->nests)) return;
    facts->has_nested = true;
    Nesting nesting = {.module = module, .facts = facts};
    // Only a decorator can make a nested function one of ours, and most functions have none.
    if (text_contains(text_of(module, function->body), "@"))
        syntax_walk(function->body, visit_nested, &nesting);
    static const BlockContext nested = {.conditional = true};
    for (int i = 0; nesting.has_jit && i < nesting.names.count; i++)
        scan_assignment(module, nesting.names.items[i], &nested);
}

static void scan_try(Module *module, SyntaxNode node, BlockContext context) {
    SyntaxNode *children;
    int count = node_children(module->arena, node, &children);
    for (int i = 0; i < count; i++) {
        BlockContext inner = context;
        SyntaxKind kind = node_kind(children[i]);
        if (kind == SYNTAX_EXCEPT) inner.conditional = true;
        if (kind == SYNTAX_BLOCK) {
            scan_block(module, children[i], inner);
            continue;
        }
        for (uint32_t j = 0; j < node_child_count(children[i]); j++) {
            SyntaxNode block = node_child(children[i], j);
            if (node_kind(block) == SYNTAX_BLOCK) scan_block(module, block, inner);
        }
    }
}

static BlockContext context_under(const Module *module, const BlockContext *context,
                                  SyntaxNode condition, bool holds) {
    ScopeCondition *inner = ARENA_NEW(module->arena, ScopeCondition);
    *inner = (ScopeCondition){.node = condition, .holds = holds, .outer = context->condition};
    BlockContext result = *context;
    result.condition = inner;
    return result;
}

static void scan_if(Module *module, SyntaxNode node, BlockContext context) {
    context.conditional = true;
    SyntaxNode condition = node_field(node, "condition");
    scan_block(module, node_field(node, "consequence"),
               context_under(module, &context, condition, true));
    context = context_under(module, &context, condition, false);
    SyntaxNode *children;
    int count = node_children(module->arena, node, &children);
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_ELIF) {
            condition = node_field(children[i], "condition");
            scan_block(module, node_field(children[i], "consequence"),
                       context_under(module, &context, condition, true));
            context = context_under(module, &context, condition, false);
        }
        if (node_kind(children[i]) == SYNTAX_ELSE)
            scan_block(module, node_field(children[i], "body"), context);
    }
}

static void scan_class(Module *module, SyntaxNode node, BlockContext context) {
    if (!context.in_class) {
        ScopeEntry entry = {.kind = SCOPE_CLASS, .node = node};
        scope_define(module, text_of(module, node_field(node, "name")), entry, &context);
    }
    context.in_class = true;
    scan_block(module, node_field(node, "body"), context);
}

static void scan_statement(Module *module, SyntaxNode node, BlockContext context) {
    switch (node_kind(node)) {
    case SYNTAX_IMPORT: scan_import(module, node, &context); break;
    case SYNTAX_IMPORT_FROM: scan_import_from(module, node, &context); break;
    case SYNTAX_EXPRESSION_STATEMENT:
        if (node_kind(node_child(node, 0)) == SYNTAX_ASSIGNMENT && !context.in_class)
            scan_assignment(module, node_child(node, 0), &context);
        break;
    case SYNTAX_FUNCTION: scan_function(module, node, (SyntaxNode){0}, context); break;
    case SYNTAX_CLASS: scan_class(module, node, context); break;
    case SYNTAX_DECORATED: {
        SyntaxNode definition = node_field(node, "definition");
        if (node_kind(definition) == SYNTAX_FUNCTION)
            scan_function(module, definition, node, context);
        else if (node_kind(definition) == SYNTAX_CLASS)
            scan_class(module, definition, context);
        break;
    }
    case SYNTAX_IF: scan_if(module, node, context); break;
    case SYNTAX_TRY: scan_try(module, node, context); break;
    case SYNTAX_WITH:
    case SYNTAX_FOR:
    case SYNTAX_WHILE: scan_block(module, node_field(node, "body"), context); break;
    case SYNTAX_ERROR: scan_block(module, node, context); break;
    default: break;
    }
}

static void scan_block(Module *module, SyntaxNode block, BlockContext context) {
    if (++context.depth > BLOCK_DEPTH_LIMIT) return;
    SyntaxNode *children;
    int count = node_children(module->arena, block, &children);
    for (int i = 0; i < count; i++) scan_statement(module, children[i], context);
}

// --- The whole

typedef struct ErrorSearch {
    const Module *module;
    Diagnostics *diagnostics;
    int found;
} ErrorSearch;

static bool visit_error(void *context, SyntaxNode node) {
    ErrorSearch *search = context;
    if (!node_has_error(node) || search->found >= 20) return false;
    if (!node_is_error(node)) return true;
    search->found++;
    Range range = node_range(search->module->source, node);
    // One line is enough to point at.
    Str text = source_slice(range);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\n') {
            range.end = range.start + (uint32_t)i;
            break;
        }
    diagnose(search->diagnostics, DIAGNOSTIC_SYNTAX_ERROR, range, "This is not valid Python.")
        ->is_of_python = true;
    return false;
}

static Module *module_new(Arena *arena, const Source *source, const Resolver *resolver) {
    Module *module = ARENA_NEW(arena, Module);
    module->arena = arena;
    module->source = source;
    module->resolver = resolver;
    module->scope = ARENA_NEW(arena, ModuleScope);
    module->scope->names = map_new(arena);
    module->evaluated = memo_new();
    return module;
}

static void module_scan(Module *module) {
    module->has_syntax_errors = node_has_error(syntax_root(module->tree));
    module_move_pieces(module);
    for (int piece = 0; piece < syntax_piece_count(module->tree); piece++) {
        PieceFacts *facts = &module->scope->pieces[piece];
        NodeList *statements = &facts->statements;
        if (!facts->has_statements)
            statements->count =
                syntax_piece_children(module->arena, module->tree, piece, &statements->items);
        facts->has_statements = true;
        for (int i = 0; i < statements->count; i++)
            scan_statement(module, statements->items[i], (BlockContext){.depth = 1});
    }
}

static void module_finish(Module *module, Diagnostics *diagnostics) {
    module_find_launches(module);
    module->scope->former = NULL;
    for (LIST_EACH(int, i, module->functions)) module->functions.items[i]->facts->former = NULL;
    ErrorSearch search = {module, diagnostics, 0};
    for (int i = 0; diagnostics && i < syntax_piece_count(module->tree); i++)
        if (syntax_piece_has_error(module->tree, i))
            syntax_walk_piece(module->tree, i, visit_error, &search);
}

Module *module_build(Arena *arena, const Source *source, const Resolver *resolver,
                     Diagnostics *diagnostics) {
    Module *module = module_new(arena, source, resolver);
    module->tree = syntax_parse(source);
    module_scan(module);
    module_find_tuned(module, NULL);
    module_finish(module, diagnostics);
    return module;
}

Module *module_update(Arena *arena, const Source *source, const Module *former, Edit edit,
                      const Resolver *resolver, Diagnostics *diagnostics, ModuleChanges *changes) {
    Module *module = module_new(arena, source, resolver);
    module->tree = syntax_reparse(former->tree, source, edit);
    module->scope->former = former;
    module_scan(module);
    module_compare(module, changes);
    module_find_tuned(module, changes);
    module_finish(module, diagnostics);
    return module;
}

static _Thread_local ModuleReads *innermost_reads;

void module_watch(const Module *module, ModuleReads *reads) {
    reads->module = module;
    reads->outer = innermost_reads;
    innermost_reads = reads;
}

void module_watch_end(const ModuleReads *reads) { innermost_reads = reads->outer; }

static ModuleReads *reads_of(const Module *module) {
    ModuleReads *reads = innermost_reads;
    while (reads && reads->module != module) reads = reads->outer;
    return reads;
}

void module_note_read(const Module *module, Str name) {
    ModuleReads *reads = reads_of(module);
    if (reads) map_set_number(&reads->names, map_hash(name), reads);
}

void module_note_reads(const Module *module, const ModuleReads *noted) {
    ModuleReads *reads = reads_of(module);
    if (!reads) return;
    for (int i = 0; i < noted->names.count; i++)
        map_set_number(&reads->names, noted->names.entries[i].number, reads);
    reads->errors |= noted->errors;
}

bool module_has_errors(const Module *module) {
    ModuleReads *reads = reads_of(module);
    if (reads) reads->errors = true;
    return module->has_syntax_errors;
}

void module_release(Module *module) {
    if (!module) return;
    syntax_free(module->tree);
    memo_free(module->evaluated);
    module->tree = NULL;
    module->evaluated = NULL;
}

const FunctionDefinition *module_find_function(const Module *module, Str name) {
    const FunctionDefinition *plain = NULL;
    const FunctionDefinition *jit = NULL;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (!str_equal(function->name, name)) continue;
        if (function->is_jit && !jit) jit = function;
        if (!function->is_jit && !plain) plain = function;
    }
    return jit ? jit : plain;
}
