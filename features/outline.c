// The file's kernels as places: lenses, outline, folding, selection.
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/backward.h"
#include "autodiff/emit/emitted.h"
#include "features/describe/describe.h"
#include "features/features.h"
#include "features/names/targets.h"

#include <string.h>

static Range now(const Snapshot *snapshot, Range range) { return snapshot_range(snapshot, range); }

static bool is_launched(FileNames *names, const FunctionDefinition *function) {
    const Module *module = names->snapshot->module;
    for (LIST_EACH(int, i, module->launches))
        if (function_is_same(names, module->launches.items[i].kernel, function)) return true;
    return false;
}

Lenses code_lenses(Arena *arena, const Snapshot *snapshot) {
    FileNames names = names_of(arena, snapshot);
    Lenses lenses = {0};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Lens lens = {.kernel = kernel, .range = now(snapshot, kernel->definition->name_range)};
        lens.is_backward = kernel_of_backward(snapshot, kernel) != NULL;
        lens.is_forward = !lens.is_backward && kernel->function && kernel_is_forward(kernel);
        if (lens.is_forward || lens.is_backward || is_launched(&names, kernel->definition))
            LIST_PUSH(arena, &lenses.list, lens);
    }
    return lenses;
}

// --- Outline

static Symbol *symbol_new(Arena *arena, const char *name, SymbolKind kind, Range range,
                          Range selection) {
    Symbol *symbol = ARENA_NEW(arena, Symbol);
    symbol->name = name;
    symbol->detail = "";
    symbol->kind = kind;
    symbol->range = range;
    symbol->selection = selection;
    return symbol;
}

static const char *told_label(FileNames *names, const Kernel *kernel, Range place,
                              const Value *own) {
    Told told = told_at(names, kernel, place, own);
    return told.label ? told.label : told.varies ? "varies" : "?";
}

static void symbol_parameters(FileNames *names, Symbol *symbol, const Kernel *kernel) {
    for (int i = 0; kernel->function && i < kernel->function->parameter_count; i++) {
        const Parameter *parameter = &kernel->function->parameters[i];
        Range range = now(names->snapshot, parameter->range);
        Range selection = {range.source, range.start,
                           range.start + (uint32_t)strlen(parameter->name)};
        if (selection.end > range.end) selection.end = range.end;
        Symbol *child =
            symbol_new(names->arena, parameter->name, SYMBOL_PARAMETER, range, selection);
        child->detail = parameter->is_constexpr
                            ? "tl.constexpr"
                            : told_label(names, kernel, selection, parameter->value);
        LIST_PUSH(names->arena, &symbol->children, child);
    }
}

/// Each tile once, where it is first assigned.
static void symbol_tiles(FileNames *names, Symbol *symbol, const Kernel *kernel,
                         SyntaxNode function) {
    Targets targets = targets_of(names, function);
    Map seen = map_new(names->arena);
    for (LIST_EACH(int, i, targets.list)) {
        SyntaxNode node = targets.list.items[i].node;
        const Value *value = value_of_node(names, kernel, node);
        Str text = text_of(names, node);
        if (!value_is_told(value) || value->type.rank == 0 || map_has(&seen, text)) continue;
        map_set(&seen, text, symbol);
        Range range = range_of(names, node);
        Symbol *child =
            symbol_new(names->arena, str_dup(names->arena, text), SYMBOL_TILE, range, range);
        child->detail = told_label(names, kernel, range, value);
        LIST_PUSH(names->arena, &symbol->children, child);
    }
}

static bool launches_any(FileNames *names, const FunctionDefinition *function) {
    const Module *module = names->snapshot->module;
    for (LIST_EACH(int, i, module->launches))
        if (function_is_same(names, module->launches.items[i].launcher, function)) return true;
    return false;
}

static void symbol_function(FileNames *names, Symbols *symbols,
                            const FunctionDefinition *function) {
    const Kernel *kernel = function->is_jit ? kernel_of_function(names, function) : NULL;
    bool is_launcher = !function->is_jit && launches_any(names, function);
    if (!kernel && !is_launcher) return;
    SymbolKind kind = is_launcher           ? SYMBOL_LAUNCHER
                      : function->is_helper ? SYMBOL_HELPER
                                            : SYMBOL_KERNEL;
    Range selection = now(names->snapshot, function->name_range);
    Symbol *symbol = symbol_new(names->arena, str_dup(names->arena, function->name), kind,
                                now(names->snapshot, function->range), selection);
    LIST_PUSH(names->arena, &symbols->list, symbol);
    if (!kernel) return;
    const char *back = return_label(names, kernel);
    symbol->detail = back ? arena_printf(names->arena, "-> %s", back) : "";
    symbol_parameters(names, symbol, kernel);
    SyntaxNode node = node_of_kernel(names, kernel);
    if (!node_is_null(node)) symbol_tiles(names, symbol, kernel, node);
}

/// Globals that kernels may read.
static void symbol_globals(FileNames *names, Symbols *symbols) {
    const Map *globals = &names->snapshot->module->scope->names;
    for (int i = 0; i < globals->count; i++) {
        const ScopeEntry *entry = globals->entries[i].value;
        bool is_constexpr = entry->kind == SCOPE_ASSIGNED &&
                            entry->module == names->snapshot->module &&
                            text_contains(entry->annotation, "constexpr");
        SyntaxNode assignment =
            entry->kind == SCOPE_ASSIGNED ? node_parent(entry->node) : (SyntaxNode){0};
        bool is_wrapped = entry->kind == SCOPE_ASSIGNED &&
                          str_starts(text_of(names, entry->node), "tl.constexpr(");
        if ((!is_constexpr && !is_wrapped) || node_kind(assignment) != SYNTAX_ASSIGNMENT) continue;
        Range selection = range_of(names, node_field(assignment, "left"));
        Symbol *symbol = symbol_new(names->arena, str_dup(names->arena, globals->entries[i].key),
                                    SYMBOL_CONSTANT, range_of(names, assignment), selection);
        symbol->detail = str_dup(names->arena, text_of(names, entry->node));
        LIST_PUSH(names->arena, &symbols->list, symbol);
    }
}

Symbols document_symbols(Arena *arena, const Snapshot *snapshot) {
    FileNames names = names_of(arena, snapshot);
    Symbols symbols = {0};
    symbol_globals(&names, &symbols);
    for (LIST_EACH(int, i, snapshot->module->functions))
        symbol_function(&names, &symbols, snapshot->module->functions.items[i]);
    return symbols;
}

// --- Folding

typedef struct FoldWriter {
    FileNames *names;
    Folds folds;
    Range comments;  // consecutive whole-line comments
    Range imports;
} FoldWriter;

static bool spans_lines(Range range) {
    Str text = source_slice(range);
    return text.size && memchr(text.data, '\n', text.size) != NULL;
}

static void fold_add(FoldWriter *writer, Range range, bool is_comment, bool is_imports) {
    if (!spans_lines(range)) return;
    Fold fold = {range.start, range.end, is_comment, is_imports};
    LIST_PUSH(writer->names->arena, &writer->folds.list, fold);
}

static bool is_between_blank(const Source *source, uint32_t from, uint32_t to) {
    int lines = 0;
    for (uint32_t i = from; i < to; i++) {
        char c = source->text.data[i];
        if (c == '\n')
            lines++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return false;
    }
    return lines <= 1;
}

static void run_extend(FoldWriter *writer, Range *run, Range next, bool is_comment) {
    if (run->source && run->end <= next.start &&
        is_between_blank(writer->names->source, run->end, next.start)) {
        run->end = next.end;
        return;
    }
    if (run->source) fold_add(writer, *run, is_comment, !is_comment);
    *run = next;
}

static bool visit_fold(void *context, SyntaxNode node) {
    FoldWriter *writer = context;
    Range range = range_of(writer->names, node);
    switch (node_kind(node)) {
    case SYNTAX_COMMENT: run_extend(writer, &writer->comments, range, true); return false;
    case SYNTAX_IMPORT:
    case SYNTAX_IMPORT_FROM: run_extend(writer, &writer->imports, range, false); return false;
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
    case SYNTAX_FOR:
    case SYNTAX_WHILE:
    case SYNTAX_IF:
    case SYNTAX_ELSE:
    case SYNTAX_ELIF:
    case SYNTAX_WITH:
    case SYNTAX_TRY:
    case SYNTAX_PARAMETERS:
    case SYNTAX_ARGUMENT_LIST:
    case SYNTAX_LIST:
    case SYNTAX_TUPLE:
    case SYNTAX_DICTIONARY:
    case SYNTAX_STRING: fold_add(writer, range, false, false); return true;
    default: return true;
    }
}

Folds folding_ranges(Arena *arena, const Snapshot *snapshot) {
    FileNames names = names_of(arena, snapshot);
    FoldWriter writer = {.names = &names};
    syntax_walk(names.root, visit_fold, &writer);
    if (writer.comments.source) fold_add(&writer, writer.comments, true, false);
    if (writer.imports.source) fold_add(&writer, writer.imports, false, true);
    return writer.folds;
}

// --- Selection

Ranges selection_ranges(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Ranges ranges = {0};
    if (offset > snapshot->source->text.size) return ranges;
    SyntaxNode node = identifier_at(&names, offset);
    if (node_is_null(node)) node = node_at(names.root, offset, offset);
    Range last = {0};
    for (int i = 0; i < 400 && !node_is_null(node); i++) {
        Range range = range_of(&names, node);
        bool is_wider =
            ranges.list.count == 0 || (range.start <= last.start && last.end <= range.end &&
                                       (range.start < last.start || last.end < range.end));
        if (is_wider && range_touches(range, offset)) {
            LIST_PUSH(arena, &ranges.list, range);
            last = range;
        }
        node = node_parent(node);
    }
    return ranges;
}
