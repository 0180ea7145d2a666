// Layouts of values: accesses and products decide them, arithmetic takes them over, and where two meet one goes through shared memory.
#include "analysis/cost/footprint_walk.h"

static LaidTile *tile_of(const FootprintWalk *walk, const Value *value) {
    bool is_ours = value && value->id >= 0 && value->id < walk->function->value_count;
    return is_ours && walk->tiles[value->id].is_tile ? &walk->tiles[value->id] : NULL;
}

/// Whether the layout speaks of a tile of these lengths.
static bool is_of(const ThreadLayout *layout, const LaidTile *tile) {
    if (!layout->is_known || layout->rank != tile->rank) return false;
    for (int i = 0; i < tile->rank; i++)
        if ((int64_t)1 << layout->bits[i] != tile->shape[i] && tile->shape[i] != 1) return false;
    return true;
}

static int64_t bytes_of_bits(int bits) { return bits < 8 ? 1 : bits / 8; }

/// The layout of a tile that is as long along each axis, or of length 1.
static ThreadLayout narrowed(const ThreadLayout *layout, const LaidTile *tile) {
    ThreadLayout own = *layout;
    for (int i = 0; i < own.rank; i++)
        if (tile->shape[i] == 1) own.bits[i] = 0, own.lane[i] = own.warp[i] = 0;
    return own;
}

static void convert(FootprintWalk *walk, const LaidTile *tile, const ThreadLayout *to, int bits,
                    int at) {
    ThreadLayout from = tile->layout, target = narrowed(to, tile);
    if (!from.is_known || from.rank != target.rank || layout_keeps_warps(&from, &target)) return;
    int64_t parts = layout_parts(&from, &target, bits);
    int64_t bytes = tile->elements * bytes_of_bits(bits) / parts;
    footprint_buffer(walk, bytes, at, at);
}

/* ---- one operation ---- */

static void meet(FootprintWalk *walk, const Op *op, bool notes) {
    LaidTile *result = op->result_count == 1 ? tile_of(walk, op->results[0]) : NULL;
    const ThreadLayout *chosen = NULL;
    bool is_address = result != NULL;
    if (!result) return;
    for (int i = 0; i < op->operand_count; i++) {
        const LaidTile *tile = tile_of(walk, op->operands[i]);
        if (!tile) continue;
        is_address &= tile->is_address;
        if (!is_of(&tile->layout, tile) || tile->rank != result->rank) continue;
        bool is_whole = tile->elements == result->elements;
        if (!is_whole) continue;
        if (!chosen || (tile->layout.is_product && !chosen->is_product)) chosen = &tile->layout;
    }
    result->is_address = is_address || op->results[0]->type.kind == TYPE_POINTER;
    if (!chosen) return;
    result->layout = *chosen;
    for (int i = 0; notes && i < op->operand_count; i++) {
        const LaidTile *tile = tile_of(walk, op->operands[i]);
        if (tile && tile->rank == result->rank && is_of(&tile->layout, tile))
            convert(walk, tile, chosen, tile->bits, walk->start[op->id]);
    }
}

/// Axis of a reduction; -1: all of them.
static int axis_of(const Op *op, int rank) {
    const Value *axis = footprint_operand(op, "axis");
    int64_t at;
    if (!axis || value_is_none(axis) || !value_is_int(axis, &at)) return -1;
    return (int)(at < 0 ? at + rank : at);
}

static ThreadLayout usual(const FootprintWalk *walk, const LaidTile *tile) {
    return layout_blocked(tile->shape, tile->rank, tile->rank - 1, 1, walk->options.warps);
}

static const Value *reduced(const Op *op) {
    int count;
    const Value *from = op->operands[0];
    return value_is_tuple(from, &count) && count ? from->op->operands[0] : from;
}

static void reduce(FootprintWalk *walk, const Op *op, bool notes) {
    const LaidTile *from = tile_of(walk, reduced(op));
    if (!from) return;
    ThreadLayout layout = is_of(&from->layout, from) ? from->layout : usual(walk, from);
    int axis = axis_of(op, from->rank);
    int64_t left = 1, warps = 1;
    for (int i = 0; i < from->rank; i++)
        if (i == axis || axis < 0)
            warps *= layout_warps_along(&layout, i);
        else
            left *= from->shape[i];
    int items = 1;
    value_is_tuple(op->operands[0], &items);
    if (notes && warps > 1)
        footprint_buffer(walk, items * left * warps * bytes_of_bits(from->bits),
                         walk->start[op->id], walk->start[op->id]);
    for (int i = 0; i < op->result_count; i++) {
        LaidTile *result = tile_of(walk, op->results[i]);
        if (!result || axis < 0) continue;
        if (result->rank == from->rank - 1)
            result->layout = layout_without(&layout, axis);
        else if (result->rank == from->rank)
            result->layout = narrowed(&layout, result);
    }
}

/// Each warp leaves its last element of each piece of a line.
static void scan(FootprintWalk *walk, const Op *op) {
    const LaidTile *from = tile_of(walk, reduced(op));
    int axis = from ? axis_of(op, from->rank) : -1, items = 1;
    if (axis < 0 || axis >= from->rank) return;
    ThreadLayout layout = is_of(&from->layout, from) ? from->layout : usual(walk, from);
    int64_t left = layout_turns(&layout, axis), warps = layout_warps_along(&layout, axis);
    for (int i = 0; i < from->rank; i++)
        if (i != axis) left *= from->shape[i];
    value_is_tuple(op->operands[0], &items);
    if (warps > 1)
        footprint_buffer(walk, items * left * warps * bytes_of_bits(from->bits),
                         walk->start[op->id], walk->start[op->id]);
}

static void expand(FootprintWalk *walk, const Op *op) {
    LaidTile *result = tile_of(walk, op->results[0]);
    const LaidTile *from = tile_of(walk, op->operands[0]);
    if (!result || !from) return;
    result->is_address = from->is_address;
    if (!is_of(&from->layout, from)) return;
    ThreadLayout layout = from->layout;
    for (int i = 0; i < result->rank && layout.rank < result->rank; i++)
        if (result->shape[i] == 1 && (i >= layout.rank || (int64_t)1 << layout.bits[i] != 1))
            layout = layout_with(&layout, i);
    if (layout.rank == result->rank) result->layout = layout;
}

static void load(FootprintWalk *walk, Op *op) {
    AccessReach reach = footprint_reach(walk, op);
    LaidTile *result = op->result_count ? tile_of(walk, op->results[0]) : NULL;
    if (result && reach.is_spread) result->layout = reach.layout;
}

static void store(FootprintWalk *walk, Op *op) {
    const Value *value = footprint_operand(op, "value");
    const LaidTile *tile = tile_of(walk, value ? value : footprint_operand(op, "val"));
    AccessReach reach = footprint_reach(walk, op);
    if (!tile || !reach.is_spread || tile->rank != reach.rank || !is_of(&tile->layout, tile))
        return;
    if (reach.is_block)
        footprint_buffer(walk, reach.elements * reach.bits / 8, walk->start[op->id],
                         walk->start[op->id]);
    else
        convert(walk, tile, &reach.layout, reach.bits, walk->start[op->id]);
}

/// Notes which products an operand of another one is made of, and which are made of such.
static void find_chains(FootprintWalk *walk) {
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *op = walk->ops.items[i];
        bool is_made = op->code == OP_DOT;
        for (int k = 0; k < op->operand_count; k++) {
            const LaidTile *tile = tile_of(walk, op->operands[k]);
            is_made |= tile && tile->is_made_of_product;
        }
        for (int k = 0; is_made && k < op->result_count; k++)
            walk->tiles[op->results[k]->id].is_made_of_product = true;
    }
    for (int i = walk->ops.count - 1; i >= 0; i--) {
        const Op *op = walk->ops.items[i];
        bool feeds = false;
        for (int k = 0; k < op->result_count; k++)
            feeds |= walk->tiles[op->results[k]->id].feeds_product;
        for (int k = 0; k < op->operand_count; k++) {
            LaidTile *tile = tile_of(walk, op->operands[k]);
            if (tile) tile->feeds_product |= feeds || (op->code == OP_DOT && k < 2);
        }
    }
}

static bool is_chained(const FootprintWalk *walk, const Op *dot) {
    const LaidTile *result = tile_of(walk, dot->results[0]);
    for (int k = 0; k < 2; k++) {
        const LaidTile *tile = tile_of(walk, dot->operands[k]);
        if (tile && tile->is_made_of_product) return true;
    }
    return result && result->feeds_product;
}

bool footprint_is_wide(const FootprintWalk *walk, const Op *dot) {
    enum { GROUP = 4, ROWS = 64, COLUMNS = 8 };
    const LaidTile *result = tile_of(walk, dot->results[0]), *a = tile_of(walk, dot->operands[0]);
    if (!result || !a || walk->options.capability < 90 || result->rank != 2) return false;
    return walk->options.warps % GROUP == 0 && result->shape[0] >= ROWS &&
           result->shape[1] >= COLUMNS && a->bits <= 32;
}

static void product(FootprintWalk *walk, const Op *op) {
    LaidTile *result = tile_of(walk, op->results[0]);
    if (!result) return;
    result->layout = layout_product(result->shape, result->rank, walk->options.warps,
                                    footprint_is_wide(walk, op), is_chained(walk, op));
}

/// Loop-carried values, and what branches hand on: the layout of what is yielded, else of what it begins with.
static void hand_on(const FootprintWalk *walk, const Op *op) {
    bool is_for = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        for (int i = 0; yield && i < op->result_count; i++) {
            const LaidTile *from =
                i < yield->operand_count ? tile_of(walk, yield->operands[i]) : NULL;
            LaidTile *to = tile_of(walk, op->results[i]);
            if (!from || !to) continue;
            if (is_of(&from->layout, to) && (!to->layout.is_known || from->layout.is_product))
                to->layout = from->layout;
            int argument = i + (is_for ? 1 : 0);
            LaidTile *carried = op_is_loop(op->code) && argument < op->regions[r]->argument_count
                                    ? tile_of(walk, op->regions[r]->arguments[argument])
                                    : NULL;
            if (carried && to->layout.is_known) carried->layout = to->layout;
            if (carried) carried->is_address |= to->is_address |= from->is_address;
        }
    }
}

static void take(FootprintWalk *walk, Op *op, bool notes) {
    const OpRow *row = &op_rows[op->code];
    if (op->code == OP_DOT)
        product(walk, op);
    else if (op_is_access(op) && op->operand_count && op->operands[0]) {
        if (row->effects & (EFFECT_WRITES | EFFECT_ATOMIC)) {
            if (notes) store(walk, op);
        } else
            load(walk, op);
    } else if (row->shape == SHAPE_REDUCED || op->code == OP_REDUCE)
        reduce(walk, op, notes);
    else if (op->code == OP_EXPAND_DIMS)
        expand(walk, op);
    else if (op->region_count)
        hand_on(walk, op);
    else if (op->code == OP_ARANGE && tile_of(walk, op->results[0]))
        tile_of(walk, op->results[0])->is_address = true;
    else
        meet(walk, op, notes);
    bool is_scan =
        op->code == OP_CUMSUM || op->code == OP_CUMPROD || op->code == OP_ASSOCIATIVE_SCAN;
    if (is_scan && notes) scan(walk, op);
}

void footprint_layouts(FootprintWalk *walk) {
    enum { PASSES = 3 };
    find_chains(walk);
    for (int pass = 0; pass < PASSES; pass++)
        for (LIST_EACH(int, i, walk->ops)) take(walk, walk->ops.items[i], pass == PASSES - 1);
}
