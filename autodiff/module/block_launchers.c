// An `if` or `try` with kernels and launchers in, its text with those that have gradients out.
#include "autodiff/module/block_launchers.h"

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/launcher/launcher_text.h"

/// A statement in the block that is no kernel and no import.
typedef struct BlockStatement {
    Item item;
    const char *text;  // in its place; NULL: it stays
    bool is_cut;
} BlockStatement;

typedef struct BlockWalk {
    ModuleWriter *writer;
    const Item *block;
    LIST(BlockStatement) statements;
} BlockWalk;

static bool is_within(Range range, const Item *block) {
    return range.start >= block->range.start && range.end <= block->range.end;
}

bool block_has_kernels(const ModuleWriter *writer, const Item *item) {
    if (item->function || !node_is_null(item_class(item))) return false;
    for (int p = 0; p < writer->plan_count; p++) {
        const FunctionDefinition *kernel = writer->plans[p].kernel;
        if (is_within(kernel->range, item) && function_is_of_module(kernel)) return true;
    }
    return false;
}

static bool registers_operator(const FunctionDefinition *function) {
    for (LIST_EACH(int, i, function->decorators)) {
        Str text = node_text(function->module->source, function->decorators.items[i]);
        if (text_contains(text, "custom_op") || text_contains(text, "triton_op")) return true;
    }
    return false;
}

Str block_operator(const ModuleWriter *writer, const Item *item) {
    for (LIST_EACH(int, k, writer->module->launches)) {
        const LaunchSite *site = &writer->module->launches.items[k];
        bool is_here =
            site->launcher && is_within(site->range, item) && function_is_of_module(site->launcher);
        if (is_here && registers_operator(site->launcher)) return site->launcher->name;
    }
    return (Str){0};
}

static const FunctionDefinition *function_at(const Module *module, SyntaxNode node) {
    if (node_kind(node) == SYNTAX_DECORATED) node = node_field(node, "definition");
    for (LIST_EACH(int, i, module->functions))
        if (node_same(module->functions.items[i]->node, node)) return module->functions.items[i];
    return NULL;
}

/// Statements of the branches of the block, those of blocks in it too.
static bool visit_statement(void *context, SyntaxNode node) {
    BlockWalk *walk = context;
    SyntaxKind parent = node_kind(node_parent(node));
    if (node_same(node, walk->block->node) || parent != SYNTAX_BLOCK) return true;
    const Module *module = walk->writer->module;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION:
    case SYNTAX_DECORATED:
    case SYNTAX_CLASS:
    case SYNTAX_EXPRESSION_STATEMENT: {
        const FunctionDefinition *function = function_at(module, node);
        if (function && function->is_jit) return false;
        Arena *arena = walk->writer->arena;
        BlockStatement statement = {.item = item_of_statement(arena, module, node, function)};
        LIST_PUSH(arena, &walk->statements, statement);
        return false;
    }
    default: return true;
    }
}

/// Whether all that a statement binds are kernels: `kernel = triton.autotune(...)(kernel)`.
static bool binds_kernels(const ModuleWriter *writer, const Item *item) {
    for (int b = 0; b < item->binds.count; b++) {
        ScopeEntry entry =
            module_resolve(writer->arena, writer->module, item->binds.entries[b].key);
        if (entry.kind != SCOPE_FUNCTION || !entry.function->is_jit) return false;
    }
    return item->binds.count > 0;
}

/// Why a statement is not written, as far as it tells by itself.
static const char *why_cut(ModuleWriter *writer, BlockStatement *statement, const Map *launching) {
    Item *item = &statement->item;
    bool is_quiet;
    SyntaxNode class = item_class(item);
    item->is_own_gradient = !node_is_null(class) && class_is_autograd_function(writer, class);
    if (item->function && registers_operator(item->function) && item_launches(writer, item))
        return "it is registered as an operator below an `if`";
    if (binds_kernels(writer, item)) return NULL;
    const char *why = item_why_left_out(writer, item, launching, &is_quiet);
    if (why || !item_launches(writer, item)) return why;
    Item whole = *item;
    whole.function = NULL;  // with its decorators, as they are indented
    statement->text = item_text_with_launches(writer, &whole, &why);
    return statement->text ? NULL : why;
}

/// A name of the statement that is cut elsewhere; empty: there is none.
static Str cut_name(const Item *item, const Map *cut) {
    for (int m = 0; m < item->mentions.count; m++)
        if (map_has(cut, item->mentions.entries[m].key)) return item->mentions.entries[m].key;
    return (Str){0};
}

static void cut_statement(BlockStatement *statement, const char *why, Map *cut) {
    statement->is_cut = true;
    statement->item.left_out = why;
    for (int b = 0; b < statement->item.binds.count; b++)
        map_set(cut, statement->item.binds.entries[b].key, statement);
}

/// What is left: the text between statements, and theirs.
static const char *text_of_rest(const BlockWalk *walk) {
    Buffer out = buffer_new(walk->writer->arena);
    const Source *source = walk->writer->module->source;
    uint32_t at = walk->block->range.start, end = walk->block->range.end;
    for (LIST_EACH(int, i, walk->statements)) {
        const BlockStatement *statement = &walk->statements.items[i];
        Range range = statement->item.range;
        if (!statement->is_cut && !statement->text) continue;
        buffer_add(&out, source->text.data + at, range.start - at);
        bool is_alone = node_child_count(node_parent(statement->item.node)) == 1;
        if (statement->text) buffer_puts(&out, statement->text);
        if (statement->is_cut && is_alone) buffer_puts(&out, "pass");
        at = range.end;
        if (!statement->is_cut || is_alone) continue;
        while (out.size && out.data[out.size - 1] == ' ') out.size--;
        while (at < end && (source->text.data[at] == '\n' || source->text.data[at] == '\r')) at++;
    }
    buffer_add(&out, source->text.data + at, end - at);
    Str text = {buffer_text(&out), out.size};
    while (text.size && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == ' '))
        text.size--;
    return str_dup(walk->writer->arena, text);
}

const char *block_of_some(ModuleWriter *writer, Item *item, const Map *launching) {
    BlockWalk walk = {.writer = writer, .block = item};
    Map cut = map_new(writer->arena), kept = map_new(writer->arena);
    syntax_walk(item->node, visit_statement, &walk);
    for (LIST_EACH(int, i, walk.statements)) {
        BlockStatement *statement = &walk.statements.items[i];
        const char *why = why_cut(writer, statement, launching);
        if (why) cut_statement(statement, why, &cut);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, walk.statements)) {
            BlockStatement *statement = &walk.statements.items[i];
            Str name = statement->is_cut ? (Str){0} : cut_name(&statement->item, &cut);
            if (!name.size || map_has(&statement->item.binds, name)) continue;
            cut_statement(statement, arena_printf(writer->arena, "it calls `%.*s`", STR_ARGS(name)),
                          &cut);
            changed = true;
        }
    }
    for (LIST_EACH(int, i, walk.statements)) {
        BlockStatement *statement = &walk.statements.items[i];
        bool is_launcher = statement->item.function || !node_is_null(item_class(&statement->item));
        if (statement->is_cut && is_launcher)
            item_note_left_out(writer, &statement->item);
        else if (statement->text)
            item_note_decorators(writer, &statement->item);
    }
    for (int b = 0; b < item->binds.count; b++)
        if (!map_has(&cut, item->binds.entries[b].key))
            map_set(&kept, item->binds.entries[b].key, item);
    item->binds = kept;
    item->left_out = NULL;
    return text_of_rest(&walk);
}
