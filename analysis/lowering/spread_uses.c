// A bit for each axis along which a value may have one lane, as its author wrote it, where the IR has many.
#include "analysis/lowering/spread_uses.h"

#include <string.h>

#include "base/map.h"

enum { MOST_PASSES = 16 };  // each loop within loops takes one; beyond: it is taken to be seen

typedef struct SpreadUses {
    Map axes;  // value -> the bits, as a number; where there are any
    bool is_changed, is_seen;
} SpreadUses;

static unsigned axes_of(const SpreadUses *search, const Value *value) {
    return value ? (unsigned)(uintptr_t)map_get_pointer(&search->axes, value) : 0;
}

static void add_axes_to(SpreadUses *search, const Value *value, unsigned axes) {
    unsigned known = axes_of(search, value);
    if ((known | axes) == known) return;
    map_set_pointer(&search->axes, value, (void *)(uintptr_t)(known | axes));
    search->is_changed = true;
}

static bool has_lanes(const Value *value, int axis) {
    int64_t number;
    if (!value || value->type.rank <= axis) return false;
    const Poly *dim = value->type.dims[axis];
    return !dim || !poly_is_constant(dim, &number) || number != 1;
}

/// Axes that operands have one lane along, and none of them certainly has all.
static unsigned axes_of_all(const SpreadUses *search, const Op *op) {
    unsigned any = 0;
    for (int i = 0; i < op->operand_count; i++) any |= axes_of(search, op->operands[i]);
    for (int axis = 0; any >> axis; axis++)
        for (int i = 0; i < op->operand_count; i++)
            if (has_lanes(op->operands[i], axis) && !(axes_of(search, op->operands[i]) >> axis & 1))
                any &= ~(1U << axis);
    return any;
}

static unsigned axes_that_spread(const Op *op) {
    unsigned axes = 0;
    if (op->code != OP_BROADCAST_TO || !op->note || strcmp(op->note, SPREAD_NOTE) != 0) return 0;
    for (int i = 0; i < op->results[0]->type.rank; i++)
        if (!has_lanes(op->operands[0], i) && has_lanes(op->results[0], i)) axes |= 1U << i;
    return axes;
}

static void carry_on(SpreadUses *search, const Op *op) {
    bool is_loop = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        for (int i = 0; i < op->result_count && yield && i < yield->operand_count; i++) {
            unsigned axes = axes_of(search, yield->operands[i]);
            if (is_loop) axes |= axes_of(search, op->operands[3 + i]);
            add_axes_to(search, op->results[i], axes);
            if (is_loop) add_axes_to(search, op->regions[r]->arguments[i + 1], axes);
        }
    }
}

/// Whether each element of the result is made of those at its place.
static bool is_by_elements(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    return row->has_value || row->shape == SHAPE_BROADCAST || row->kind == KIND_HINT ||
           op->code == OP_CAST || op->code == OP_LOAD;
}

/// Those of a tile with one more axis. False where it is not known which.
static bool shift_axes(const Op *op, unsigned *axes) {
    int64_t axis;
    if (op->code != OP_EXPAND_DIMS || op->operand_count < 2 ||
        !value_is_int(op->operands[1], &axis))
        return false;
    if (axis < 0) axis += op->results[0]->type.rank;
    if (axis < 0 || axis >= op->results[0]->type.rank) return false;
    unsigned below = *axes & ((1U << axis) - 1);
    *axes = below | (*axes & ~below) << 1;
    return true;
}

static bool visit_op(void *context, Op *op) {
    SpreadUses *search = context;
    if (op->code == OP_YIELD) return true;
    if (op->code == OP_IF || op->code == OP_FOR || op->code == OP_STATIC_FOR) {
        carry_on(search, op);
        return true;
    }
    unsigned own = axes_that_spread(op), any = axes_of_all(search, op);
    if (own) add_axes_to(search, op->results[0], own | axes_of(search, op->operands[0]));
    if (own || !any || op->code == OP_BROADCAST_TO) return true;
    if (op->result_count == 1 && (is_by_elements(op) || shift_axes(op, &any)))
        add_axes_to(search, op->results[0], any);
    else
        search->is_seen |= (op_rows[op->code].effects & EFFECT_ORDERED) == 0;
    return !search->is_seen;
}

bool spread_is_seen(Arena *arena, const Function *function) {
    SpreadUses search = {.axes = map_new(arena), .is_changed = true};
    for (int pass = 0; pass < MOST_PASSES && search.is_changed && !search.is_seen; pass++) {
        search.is_changed = false;
        region_walk(function->body, visit_op, &search);
        if (!search.axes.count) return false;
    }
    return search.is_seen || search.is_changed;
}
