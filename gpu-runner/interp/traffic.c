#include "gpu-runner/interp/traffic.h"

#include "analysis/cost/work.h"
#include "gpu-runner/interp/interp.h"

void traffic_access(Traffic *traffic, const Op *op, DTypeCode dtype, int64_t count,
                    const uint8_t *on) {
    int64_t size = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8, taken = 0;
    for (int64_t i = 0; i < count; i++) taken += on[i] != 0;
    int effects = op_rows[op->code].effects;
    traffic->lanes += count;
    if (effects & EFFECT_ATOMIC) {
        traffic->updated += count * size;
        traffic->updated_on += taken * size;
    } else if (effects & EFFECT_WRITES) {
        traffic->written += count * size;
        traffic->written_on += taken * size;
    } else {
        traffic->read += count * size;
        traffic->read_on += taken * size;
    }
}

/// Each element but one of a line is combined.
static void traffic_reduction(Traffic *traffic, Interp *interp, const Op *op) {
    const Tile *from = operand_at(interp, op, 0);
    if (from && from->kind == TILE_TUPLE && from->item_count) from = from->items[0];
    if (!from || from->kind != TILE_NUMBER || !from->count) return;
    const Tile *axis = operand_named(interp, op, "axis");
    int64_t lines = 1;
    if (axis && axis->kind == TILE_NUMBER)
        lines = from->count / from->dims[operand_axis(interp, op, "axis", from->rank, 0)];
    traffic->math += (from->count - lines) * work_of_combine(op);
}

void traffic_operation(Traffic *traffic, Interp *interp, const Op *op) {
    if (op->code == OP_REDUCE || op->code == OP_ASSOCIATIVE_SCAN) {
        traffic_reduction(traffic, interp, op);
        return;
    }
    const Tile *result = op->result_count == 1 ? interp->values[op->results[0]->id] : NULL;
    const Tile *first = op->operand_count ? operand_at(interp, op, 0) : NULL;
    if (!result || result->kind != TILE_NUMBER || !first) return;
    if (op->code == OP_DOT) {
        traffic->dots += result->count * first->dims[first->rank - 1];
        return;
    }
    if (op->code == OP_SUM || op->code == OP_MAX || op->code == OP_MIN) {
        if (tile_is_float(first)) traffic->math += first->count - result->count;
        return;
    }
    const Op *around = op->parent->parent;
    bool combines = around && (around->code == OP_REDUCE || around->code == OP_ASSOCIATIVE_SCAN);
    const OpRow *row = &op_rows[op->code];
    if (combines || !row->has_value || op->code == OP_WHERE || (row->traits & TRAIT_MOVES) ||
        !tile_is_float(result))
        return;
    traffic->math += result->count * work_weight(op->code);
}
