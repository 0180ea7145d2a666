// What is asked of a lowered kernel as a whole.
#include "analysis/lowering/kernel.h"

#include <string.h>

#include "analysis/ir/ir.h"

typedef struct EntrySearch {
    const Function *function;
    bool reads_program_id;
    bool takes_tiles;
} EntrySearch;

/// Whether an argument is taken for a tile: a kernel gets none.
static bool takes_tile(const Function *function, const Op *op) {
    bool turns = op->code == OP_TRANS || op->code == OP_PERMUTE;
    bool reduces = op_rows[op->code].shape == SHAPE_REDUCED;
    int operands = op->code == OP_DOT ? 2 : turns || reduces || op->code == OP_EXPAND_DIMS;
    for (int i = 0; i < operands && i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
        if (value && !value->constant && value->region == function->body &&
            !value->type.is_constexpr)
            return true;
    }
    return false;
}

static bool visit_entry(void *context, Op *op) {
    EntrySearch *search = context;
    search->reads_program_id = search->reads_program_id || op->code == OP_PROGRAM_ID;
    search->takes_tiles = search->takes_tiles || takes_tile(search->function, op);
    return true;
}

/// Whether a line `# tad: n=70, x_ptr=f32[n], grid=(3,)` above it says how it is launched.
static bool is_launched_by_comment(const FunctionDefinition *definition) {
    Str rest = definition->comment;
    while (rest.size) {
        const char *end = memchr(rest.data, '\n', rest.size);
        Str line = {rest.data, end ? (size_t)(end - rest.data) : rest.size};
        rest = (Str){rest.data + line.size + (end != NULL), rest.size - line.size - (end != NULL)};
        while (line.size && (*line.data == '#' || *line.data == ' '))
            line = (Str){line.data + 1, line.size - 1};
        if (str_starts(line, "tad:") && str_contains(line, STR("grid="))) return true;
    }
    return false;
}

bool kernel_is_entry(const Kernel *kernel) {
    const FunctionDefinition *definition = kernel->definition;
    if (!definition || !kernel->function || kernel->is_helper || definition->returns_value)
        return false;
    if (definition->is_autotuned || definition->has_heuristics ||
        is_launched_by_comment(definition))
        return true;
    for (LIST_EACH(int, i, definition->module->launches))
        if (definition->module->launches.items[i].kernel == definition) return true;
    EntrySearch search = {.function = kernel->function};
    region_walk(kernel->function->body, visit_entry, &search);
    return search.reads_program_id && !search.takes_tiles;
}
