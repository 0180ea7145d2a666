// Takes away what the lowering made to be safe: carried variables that no loop needs, unused results of branches,
// tuples and constants that nothing uses.
#include "analysis/lowering/lower_cleanup.h"

#include <string.h>

#include "analysis/frames/sightings.h"
#include "analysis/ir/ir.h"
#include "base/arena.h"

typedef struct Cleanup {
    Function *function;
    int *uses;        // by value id
    Value **instead;  // by value id: what takes its place, or NULL
    bool changed;
} Cleanup;

static void use_count(const Cleanup *cleanup, const Value *value) {
    if (value) cleanup->uses[value->id]++;
}

static bool visit_uses(void *context, Op *op) {
    Cleanup *cleanup = context;
    for (int i = 0; i < op->operand_count; i++) use_count(cleanup, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) use_count(cleanup, op->keywords[i].value);
    for (int i = 0; i < op->result_count; i++) {
        Type type = op->results[i]->type;
        for (int dim = 0; dim < type.rank; dim++) {
            const Poly *poly = type.dims[dim];
            for (int t = 0; poly && t < poly->count; t++)
                for (int a = 0; a < poly->terms[t].atom_count; a++)
                    use_count(cleanup, poly->terms[t].atoms[a]);
        }
    }
    return true;
}

static Value *value_final(const Cleanup *cleanup, Value *value) {
    while (value && cleanup->instead[value->id]) value = cleanup->instead[value->id];
    return value;
}

static bool visit_replace(void *context, Op *op) {
    Cleanup *cleanup = context;
    for (int i = 0; i < op->operand_count; i++)
        op->operands[i] = value_final(cleanup, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++)
        op->keywords[i].value = value_final(cleanup, op->keywords[i].value);
    return true;
}

static void array_remove(Value **items, int *count, int index) {
    memmove(items + index, items + index + 1, sizeof *items * (size_t)(*count - index - 1));
    (*count)--;
}

static void values_renumber(Value **values, int count) {
    for (int i = 0; i < count; i++) values[i]->index = i;
}

static void region_drop_argument(Region *region, int index) {
    array_remove(region->arguments, &region->argument_count, index);
    values_renumber(region->arguments, region->argument_count);
}

static void op_drop_result(Op *op, int index) {
    array_remove(op->results, &op->result_count, index);
    values_renumber(op->results, op->result_count);
}

static void clean_if(Cleanup *cleanup, Op *op) {
    for (int i = op->result_count - 1; i >= 0; i--) {
        if (cleanup->uses[op->results[i]->id]) continue;
        for (int branch = 0; branch < 2; branch++) {
            Op *yield = region_terminator(op->regions[branch]);
            array_remove(yield->operands, &yield->operand_count, i);
        }
        op_drop_result(op, i);
        cleanup->changed = true;
    }
}

/// Removes carried value `index` (0-based) of a loop.
static void loop_drop(Op *op, int index) {
    int first = op->code == OP_WHILE ? 0 : 3;
    int argument = op->code == OP_WHILE ? index : index + 1;
    array_remove(op->operands, &op->operand_count, first + index);
    op_drop_result(op, index);
    for (int i = 0; i < op->region_count; i++) region_drop_argument(op->regions[i], argument);
    Op *yield = region_terminator(op->regions[op->region_count - 1]);
    array_remove(yield->operands, &yield->operand_count, index);
}

static void clean_loop(Cleanup *cleanup, Op *op) {
    int first = op->code == OP_WHILE ? 0 : 3;
    int shift = op->code == OP_WHILE ? 0 : 1;
    const Op *yield = region_terminator(op->regions[op->region_count - 1]);
    for (int i = op->result_count - 1; i >= 0; i--) {
        Value *initial = op->operands[first + i];
        Value *argument = op->regions[op->region_count - 1]->arguments[i + shift];
        Value *condition = op->code == OP_WHILE ? op->regions[0]->arguments[i] : NULL;
        const Value *next = yield->operands[i];
        bool is_unchanged = next == argument || next == initial;
        int argument_uses =
            cleanup->uses[argument->id] + (condition ? cleanup->uses[condition->id] : 0);
        bool is_unused = cleanup->uses[op->results[i]->id] == 0 && argument_uses == 0;
        if (!is_unchanged && !is_unused) continue;
        if (is_unchanged) {
            cleanup->instead[argument->id] = initial;
            cleanup->instead[op->results[i]->id] = initial;
            if (condition) cleanup->instead[condition->id] = initial;
        }
        loop_drop(op, i);
        cleanup->changed = true;
    }
}

static void sightings_replace(const Cleanup *cleanup) {
    Map *sightings = &cleanup->function->sightings;
    for (int i = 0; i < sightings->count; i++)
        sightings->entries[i].value = value_final(cleanup, sightings->entries[i].value);
    for (int i = 0; i < cleanup->function->inlined.count; i++) {
        const Map *places = cleanup->function->inlined.entries[i].value;
        for (int k = 0; k < places->count; k++)
            for (InlinedValue *each = places->entries[k].value; each; each = each->next)
                each->value = value_final(cleanup, each->value);
    }
}

static bool region_is_empty(const Region *region) {
    return region->first == region->last && region->first && region->first->code == OP_YIELD;
}

static bool op_is_scaffolding(const Op *op) {
    switch (op->code) {
    case OP_IF:  // of which nothing is left
        return op->result_count == 0 && region_is_empty(op->regions[0]) &&
               region_is_empty(op->regions[1]);
    case OP_CONSTANT:
    case OP_TUPLE:
    case OP_ITEM:
    case OP_UNDEFINED: return true;
    case OP_UNKNOWN: return op->results[0]->type.is_constexpr;
    default: return false;
    }
}

/// The last op of a region first, so that what only unused ops use goes in one round.
static void clean_region(Cleanup *cleanup, Region *region) {
    for (Op *op = region->last; op;) {
        Op *previous = op->previous;
        if (op->code == OP_IF) clean_if(cleanup, op);
        if (op_is_loop(op->code)) clean_loop(cleanup, op);
        for (int i = op->region_count - 1; i >= 0; i--) clean_region(cleanup, op->regions[i]);
        bool is_used = op->result_count && cleanup->uses[op->results[0]->id] > 0;
        if (!is_used && op_is_scaffolding(op)) {
            for (int i = 0; i < op->operand_count; i++)
                if (op->operands[i]) cleanup->uses[op->operands[i]->id]--;
            op_remove(op);
            cleanup->changed = true;
        }
        op = previous;
    }
}

void lower_clean(Function *function) {
    Arena *scratch = arena_new_scratch();
    Cleanup cleanup = {.function = function, .changed = true};
    size_t count = (size_t)function->value_count + 1;
    cleanup.uses = ARENA_ARRAY(scratch, int, count);
    cleanup.instead = ARENA_ARRAY(scratch, Value *, count);
    for (int round = 0; cleanup.changed && round < 12; round++) {
        cleanup.changed = false;
        memset(cleanup.uses, 0, sizeof(int) * count);
        memset(cleanup.instead, 0, sizeof(Value *) * count);
        region_walk(function->body, visit_uses, &cleanup);
        clean_region(&cleanup, function->body);
        if (!cleanup.changed) continue;
        region_walk(function->body, visit_replace, &cleanup);
        sightings_replace(&cleanup);
    }
    arena_free(scratch);
}
