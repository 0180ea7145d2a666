// What a kernel promises its compiler of a value, held against the value: Triton loads whole vectors by it.
#include "gpu-runner/interp/interp.h"

/// The promised number of an axis; 0: none.
static int64_t promised(Interp *interp, const Op *op, int axis, int rank) {
    int64_t values[TYPE_MAX_RANK];
    int count = tile_integers(operand_named(interp, op, "values"), values, TYPE_MAX_RANK);
    if (count == rank) return values[axis];
    return count == 1 && rank <= 1 ? values[0] : 0;
}

static int64_t value_at(const Tile *tile, int64_t at) {
    return tile->kind == TILE_POINTER ? address_offset(tile->integer[at]) : tile->integer[at];
}

/// Along one axis: the first of each run is a multiple, or runs are consecutive. The first element that breaks it is a finding.
static bool check_axis(Interp *interp, const Op *op, const Tile *tile, int axis) {
    int64_t number = promised(interp, op, axis, tile->rank);
    if (number <= 1) return true;
    AxisView view = axis_view_of(tile->rank, tile->dims, tile->rank ? axis : 0, false);
    int64_t step = tile->kind == TILE_POINTER ? memory_step(interp->memory, tile->dtype) : 1;
    bool is_multiple = op->code == OP_MULTIPLE_OF;
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t along = tile->rank ? i / view.inner % view.length : 0;
        bool is_first = is_multiple ? along == 0 : along % number == 0;
        if (is_multiple != is_first) continue;
        int64_t value = value_at(tile, i);
        bool holds =
            is_multiple ? value % number == 0 : value == value_at(tile, i - view.inner) + step;
        if (holds) continue;
        interp->memory->lane = i;
        memory_report(interp->memory, FINDING_MISALIGNED, true, NULL,
                      is_multiple
                          ? "has %lld, which `tl.%s` says is a multiple of %lld"
                          : "has %lld, which `tl.%s` says follows the one before, in runs of %lld",
                      (long long)value, op_rows[op->code].name, (long long)number);
        return false;
    }
    return true;
}

void promise_check(Interp *interp, const Op *op, const Tile *tile) {
    bool is_whole = tile->kind == TILE_NUMBER || tile->kind == TILE_POINTER;
    if ((op->code != OP_MULTIPLE_OF && op->code != OP_MAX_CONTIGUOUS) || !is_whole ||
        !tile->integer)
        return;
    for (int axis = 0; axis < (tile->rank ? tile->rank : 1); axis++)
        if (!check_axis(interp, op, tile, axis)) return;
}
