// Operands of products in shared memory: those that a loop loads ahead, several times, and others once.
#include "analysis/cost/footprint_walk.h"

typedef struct LoopLoads {
    const Op *loop;
    Arena *arena;
    LIST(Op *) loads;
    bool *is_seen;  // by value
} LoopLoads;

static const LaidTile *tile_of(const FootprintWalk *walk, const Value *value) {
    bool is_ours = value && value->id >= 0 && value->id < walk->function->value_count;
    return is_ours && walk->tiles[value->id].is_tile ? &walk->tiles[value->id] : NULL;
}

static const Op *loop_around(const Op *op) {
    for (const Op *around = op->parent->parent; around; around = around->parent->parent)
        if (op_is_loop(around->code)) return around;
    return NULL;
}

static bool is_load(const Op *op) {
    return op_is_access(op) && op->operand_count && op->operands[0] && op->result_count &&
           !(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC));
}

/// The load that the operand is, but for its shape and its type; NULL where there is arithmetic between.
static Op *load_of(const FootprintWalk *walk, const Value *value, bool *is_cast) {
    *is_cast = false;
    while (value && value->op) {
        Op *op = value->op;
        if (is_load(op)) return op;
        bool is_layout = op_has(op->code, TRAIT_LAYOUT) || op->code == OP_BROADCAST_TO;
        if (op->code == OP_CAST)
            *is_cast |= footprint_bits(walk, value->type.element) !=
                        footprint_bits(walk, op->operands[0]->type.element);
        if (!is_layout && op->code != OP_CAST) return NULL;
        value = op->operands[0];
    }
    return NULL;
}

/// The loads in the body of the loop itself that a value is made of in one iteration.
static void loads_of(LoopLoads *found, const Value *value) {
    if (!value || !value->op || found->is_seen[value->id]) return;
    found->is_seen[value->id] = true;
    Op *op = value->op;
    if (loop_around(op) != found->loop) return;
    if (is_load(op) && op->parent == found->loop->regions[0])
        LIST_PUSH(found->arena, &found->loads, op);
    for (int i = 0; i < op->operand_count; i++) loads_of(found, op->operands[i]);
}

static bool has_loop(void *context, Op *op) {
    (void)context;
    return !op_is_loop(op->code);
}

static bool is_innermost(const Op *loop) { return region_walk(loop->regions[0], has_loop, NULL); }

/// Iterations that the loop is worked on at once.
static int stages_of(const FootprintWalk *walk, const Op *loop) {
    int64_t own;
    for (int i = 0; i < loop->keyword_count; i++)
        if (str_is(STR("num_stages"), loop->keywords[i].name) &&
            value_is_int(loop->keywords[i].value, &own))
            return (int)own;
    return walk->options.stages;
}

/* ---- loads ahead ---- */

/// Whether the product reads what was loaded where it lies, while the next ones are loaded.
static bool is_read_in_place(const FootprintWalk *walk, const Op *load) {
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *dot = walk->ops.items[i];
        bool is_cast;
        if (dot->code != OP_DOT || !footprint_is_wide(walk, dot)) continue;
        for (int k = 0; k < 2; k++)
            if (load_of(walk, dot->operands[k], &is_cast) == load && !is_cast) return true;
    }
    return false;
}

static bool load_ahead(FootprintWalk *walk, const Op *loop, Op *load) {
    enum { NARROWEST = 32 };
    int stages = stages_of(walk, loop);
    AccessReach reach = footprint_reach(walk, load);
    if (stages < 2 || reach.rank == 0 || (reach.width < NARROWEST && !reach.is_block)) return false;
    int64_t buffers = stages - 1 + (is_read_in_place(walk, load) ? 1 : 0);
    footprint_buffer(walk, buffers * reach.elements * reach.bits / 8, walk->start[loop->id],
                     walk->end[loop->id]);
    walk->tiles[load->results[0]->id].is_elsewhere = true;
    return true;
}

typedef struct LoadsAhead {
    LIST(const Op *) loads;
} LoadsAhead;

static bool is_ahead(const LoadsAhead *ahead, const Op *load) {
    for (LIST_EACH(int, i, ahead->loads))
        if (ahead->loads.items[i] == load) return true;
    return false;
}

static void find_ahead(FootprintWalk *walk, const Op *loop, LoadsAhead *ahead) {
    LoopLoads sources = {.loop = loop,
                         .arena = walk->arena,
                         .is_seen =
                             ARENA_ARRAY(walk->arena, bool, walk->function->value_count + 1)};
    if (loop->code != OP_FOR || !is_innermost(loop)) return;
    bool is_asked = stages_of(walk, loop) != walk->options.stages;
    for (Op *op = loop->regions[0]->first; op; op = op->next) {
        if (is_asked && is_load(op)) loads_of(&sources, op->results[0]);
        if (op->code != OP_DOT) continue;
        for (int k = 0; k < 2; k++) loads_of(&sources, op->operands[k]);
    }
    for (LIST_EACH(int, i, sources.loads)) {
        Op *load = sources.loads.items[i];
        if (!is_ahead(ahead, load) && load_ahead(walk, loop, load))
            LIST_PUSH(walk->arena, &ahead->loads, load);
    }
}

/* ---- operands ---- */

static int64_t bytes_of(const LaidTile *tile) {
    return tile->elements * (tile->bits < 8 ? 8 : tile->bits) / 8;
}

static void take_operand(FootprintWalk *walk, const LoadsAhead *ahead, const Op *dot, int number) {
    const Value *value = dot->operands[number];
    const LaidTile *tile = tile_of(walk, value);
    bool is_cast, is_wide = footprint_is_wide(walk, dot);
    if (!tile) return;
    Op *load = load_of(walk, value, &is_cast);
    int at = walk->start[dot->id];
    if (load && is_ahead(ahead, load) && (!is_cast || !is_wide || number == 0)) return;
    int from = load ? walk->start[load->id] : tile->from;
    const Op *loop = loop_around(dot);
    bool is_before = loop && load && loop_around(load) != loop;
    if (!load && tile->layout.is_product && tile->bits <= 16 && number == 0) return;
    if (is_before && !is_wide)
        footprint_buffer(walk, bytes_of(tile), from, from);
    else
        footprint_buffer(walk, bytes_of(tile), from, is_before ? walk->end[loop->id] : at);
    if (load && !is_cast && is_before && is_wide)
        walk->tiles[load->results[0]->id].is_elsewhere = true;
}

void footprint_products(FootprintWalk *walk) {
    LoadsAhead ahead = {0};
    for (LIST_EACH(int, i, walk->ops))
        if (op_is_loop(walk->ops.items[i]->code)) find_ahead(walk, walk->ops.items[i], &ahead);
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *dot = walk->ops.items[i];
        for (int k = 0; dot->code == OP_DOT && k < 2; k++) take_operand(walk, &ahead, dot, k);
    }
}
