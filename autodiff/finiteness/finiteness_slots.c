// Which elements of a value a condition leaves out, and where operations move them.
#include "autodiff/finiteness/finiteness_parts.h"

/// Where the condition's axis lies in a value, both from the last, in a slot of a condition on a tile.
static int tile_axis(Slot slot, int axis) {
    if (slot == SLOT_SWAPPED) return axis < 2 ? 1 - axis : axis;
    return slot > SLOT_SWAPPED ? axis + slot - SLOT_SWAPPED : axis;
}

/// Whether a value has elements along an axis, as many as the condition has along its own.
static bool is_as_long(const Value *value, int axis, const Value *condition, int own) {
    if (!value_varies_along(value, axis)) return false;
    const Poly *dim = value->type.dims[value->type.rank - 1 - axis],
               *other = condition->type.dims[condition->type.rank - 1 - own];
    return !dim || !other || poly_equal(dim, other);
}

bool finiteness_varies(const Finiteness *finiteness, const Value *value, Slot slot) {
    const Condition *condition = finiteness->condition;
    if (slot == SLOT_COUNTS) return true;
    if (condition->reach == REACH_ALL) return false;
    const Value *tile = condition->parts[0].values.items[0];
    if (condition->reach == REACH_AXIS)
        return is_as_long(value, slot - 1, tile, condition->parts[0].axis);
    for (int axis = 0; axis < tile->type.rank; axis++)
        if (value_varies_along(tile, axis) && !is_as_long(value, tile_axis(slot, axis), tile, axis))
            return false;
    return true;
}

/// The axis with more than one element that comes after `skipped` others, from the last; -1: there is none.
static int long_axis(const Value *value, int skipped) {
    for (int axis = 0; axis < value->type.rank; axis++)
        if (value_varies_along(value, axis) && skipped-- == 0) return axis;
    return -1;
}

/// Whether a reshape only adds and takes away axes of one element.
static bool keeps_long_axes(const Op *op) {
    Type from = op->operands[0]->type, to = op->results[0]->type;
    for (int i = 0;; i++) {
        int a = long_axis(op->operands[0], i), b = long_axis(op->results[0], i);
        if (a < 0 || b < 0) return a == b;
        if (!poly_equal(from.dims[from.rank - 1 - a], to.dims[to.rank - 1 - b])) return false;
    }
}

static int reshaped_axis(const Op *op, int axis) {
    for (int i = 0; i < op->results[0]->type.rank; i++)
        if (long_axis(op->results[0], i) == axis) return long_axis(op->operands[0], i);
    return -1;
}

/// Which axis of the operand, from the last, lies at `axis` of the result; -1: none.
static int moved_axis(const Op *op, int axis) {
    int rank = op->results[0]->type.rank, from = op->operands[0]->type.rank;
    int64_t at;
    switch (op->code) {
    case OP_EXPAND_DIMS:
        if (!value_is_int(op->operands[1], &at)) return -1;
        if (at < 0) at += rank;
        at = rank - 1 - at;
        return axis == at ? -1 : axis > at ? axis - 1 : axis;
    case OP_TRANS: return rank == 2 ? 1 - axis : rank < 2 ? axis : -1;
    case OP_BROADCAST_TO: return axis < from ? axis : -1;
    case OP_RESHAPE:
    case OP_VIEW: return reshaped_axis(op, axis);
    default: return -1;
    }
}

bool op_moves_axes(const Op *op) {
    return op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO ||
           (op->code == OP_TRANS && op->results[0]->type.rank <= 2) ||
           (op->code == OP_RESHAPE && keeps_long_axes(op));
}

bool reduced_axis(const Op *op, int *axis) {
    int64_t at;
    int rank = op->operands[0]->type.rank;
    bool all = op->operand_count < 2 || !op->operands[1] || value_is_none(op->operands[1]);
    if (rank == 1)
        at = 0;
    else if (all || !value_is_int(op->operands[1], &at))
        return false;
    if (at < 0) at += rank;
    *axis = rank - 1 - (int)at;
    return at >= 0 && at < rank;
}

bool op_is_reduction(OpCode code) { return op_rows[code].shape == SHAPE_REDUCED; }

bool op_is_scan(OpCode code) { return code == OP_CUMSUM || code == OP_CUMPROD; }

/// The operand's axis that lies at `axis` of the result; -1: none, or not known.
static int operand_axis(const Op *op, int index, int axis) {
    int gone;
    if (op->code == OP_DOT) return index == 2 || axis >= 2 || axis == 1 - index ? axis : -1;
    if (op_is_reduction(op->code)) {
        if (index || !reduced_axis(op, &gone)) return -1;
        bool is_kept = op->results[0]->type.rank == op->operands[0]->type.rank;
        if (is_kept) return axis == gone ? -1 : axis;
        return axis < gone ? axis : axis + 1;
    }
    if (op_is_scan(op->code)) return index || !reduced_axis(op, &gone) || gone == axis ? -1 : axis;
    if (op_moves_axes(op)) return index ? -1 : moved_axis(op, axis);
    return op_is_elementwise(op) ? axis : -1;
}

/// Whether a scan goes along the axis from its end: beyond a bound it sums what lies beyond, too.
static bool sums_from_end(const Op *op, int axis) {
    int gone;
    bool reverse = false;
    return op_is_scan(op->code) && op->operand_count > 2 && op->operands[2] &&
           value_is_bool(op->operands[2], &reverse) && reverse && reduced_axis(op, &gone) &&
           gone == axis;
}

Slot finiteness_operand_slot(const Finiteness *finiteness, const Op *op, int operand, Slot slot) {
    const Condition *condition = finiteness->condition;
    if (slot == SLOT_COUNTS) return slot;
    if (condition->reach == REACH_AXIS) {
        int axis = operand_axis(op, operand, slot - 1);
        if (condition->is_beyond && operand == 0 && sums_from_end(op, slot - 1)) axis = slot - 1;
        return axis < 0 || axis + 1 >= MASK_MOST_SLOTS ? NO_SLOT : axis + 1;
    }
    const Value *tile = condition->parts[0].values.items[0];
    for (Slot from = 1; from < MASK_MOST_SLOTS && condition->reach == REACH_TILE; from++) {
        bool fits = true;
        for (int axis = 0; axis < tile->type.rank; axis++)
            fits =
                fits && (!value_varies_along(tile, axis) ||
                         operand_axis(op, operand, tile_axis(slot, axis)) == tile_axis(from, axis));
        if (fits) return from;
    }
    return NO_SLOT;
}

Slot finiteness_result_slot(const Finiteness *finiteness, const Op *op, int operand, Slot slot) {
    for (Slot to = 0; to < MASK_MOST_SLOTS; to++)
        if (finiteness_operand_slot(finiteness, op, operand, to) == slot) return to;
    return NO_SLOT;
}
