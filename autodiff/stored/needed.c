// Statements in; the values that they need, through loops and branches, out.
#include "autodiff/stored/needed.h"

typedef struct NeededWalk {
    Arena *arena;
    const Map *ours, *stops;
    Needed needed;
    LIST(const Value *) open;
} NeededWalk;

bool store_is_of_forward(const Op *op, const Map *ours) {
    return op->code == OP_STORE && !op->note && !map_has_pointer(ours, op);
}

typedef struct ForwardStores {
    Arena *arena;
    const Map *ours;
    OpList found;
} ForwardStores;

static bool visit_store(void *context, Op *op) {
    ForwardStores *stores = context;
    if (store_is_of_forward(op, stores->ours)) LIST_PUSH(stores->arena, &stores->found, op);
    return true;
}

OpList stores_of_forward(const Differentiation *state, const Map *ours) {
    ForwardStores stores = {.arena = state->arena, .ours = ours};
    region_walk(state->backward->body, visit_store, &stores);
    return stores.found;
}

static void add(NeededWalk *walk, Value *value) {
    if (!value || map_has_pointer(&walk->needed.values, value)) return;
    if (walk->stops && map_has_pointer(walk->stops, value)) return;
    map_set_pointer(&walk->needed.values, value, value);
    LIST_PUSH(walk->arena, &walk->open, value);
}

/// What decides whether, and how often, the ops of a region run.
static void add_around(NeededWalk *walk, const Region *region) {
    for (const Op *op = region->parent; op; op = op->parent->parent) {
        int count = op->code == OP_FOR || op->code == OP_STATIC_FOR ? 3 : op->code == OP_IF;
        for (int i = 0; i < count; i++) add(walk, op->operands[i]);
        if (op->code == OP_WHILE) add(walk, region_terminator(op->regions[0])->operands[0]);
    }
}

/// What result, or carried argument, number `index` of an op with regions comes from.
static void add_carried(NeededWalk *walk, const Op *op, int index) {
    int first = op->code == OP_FOR || op->code == OP_STATIC_FOR ? 3 : 0;
    if (index < 0) return;
    if (op->code != OP_IF && first + index < op->operand_count)
        add(walk, op->operands[first + index]);
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        if (end && end->code == OP_YIELD && index < end->operand_count)
            add(walk, end->operands[index]);
        if (end && end->code == OP_CONDITION) add(walk, end->operands[0]);
    }
}

static bool is_structural(OpCode code) { return op_is_loop(code) || code == OP_IF; }

static void add_parts(NeededWalk *walk, const Value *value) {
    const Op *op = value->op;
    if (!op) {
        const Op *outer = value->region ? value->region->parent : NULL;
        if (!outer || !is_structural(outer->code)) return;
        add_around(walk, value->region);
        add_carried(walk, outer, value->index - (outer->code != OP_WHILE));
        return;
    }
    add_around(walk, op->parent);
    if (is_structural(op->code)) {
        add_carried(walk, op, value->index);
        if (op->region_count) add_around(walk, op->regions[0]);
        return;
    }
    if (op->code == OP_LOAD && value->type.rank > 0) walk->needed.tile_loads++;
    for (int i = 0; i < op->operand_count; i++) add(walk, op->operands[i]);
}

static bool visit_statement(void *context, Op *op) {
    NeededWalk *walk = context;
    bool acts = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    if (!acts || store_is_of_forward(op, walk->ours)) return true;
    add_around(walk, op->parent);
    for (int i = 0; i < op->operand_count; i++) add(walk, op->operands[i]);
    return true;
}

Needed values_needed(const Differentiation *state, const Map *ours, const Map *stops) {
    NeededWalk walk = {.arena = state->arena,
                       .ours = ours,
                       .stops = stops,
                       .needed = {.values = map_new(state->arena)}};
    region_walk(state->backward->body, visit_statement, &walk);
    while (walk.open.count) add_parts(&walk, walk.open.items[--walk.open.count]);
    return walk.needed;
}
