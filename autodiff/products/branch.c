// A branch and what stands in front of it in; what only one side of it reads is in that side, out.
#include "autodiff/products/branch.h"

#include "analysis/ir/loops.h"
#include "autodiff/rewrite/rewrite.h"

static bool visit_pure(void *context, Op *op) {
    (void)context;
    return op_is_pure(op) || op->code == OP_YIELD || op->code == OP_IF;
}

static bool is_movable(const Op *op) {
    if (op->code != OP_IF) return op_is_pure(op) && !op->region_count;
    for (int r = 0; r < op->region_count; r++)
        if (!region_walk(op->regions[r], visit_pure, NULL)) return false;
    return true;
}

static bool is_in(const Op *op, const Region *region) {
    const Region *around = op->parent;
    while (around && around != region) around = around->parent ? around->parent->parent : NULL;
    return around != NULL;
}

void branch_take_own(Function *function, Op *branch, int side) {
    Region *region = branch->regions[side];
    Map readers = function_readers(function->arena, function);
    for (Op *op = branch->previous, *next; op; op = next) {
        next = op->previous;
        bool is_inside = op->result_count && is_movable(op);
        for (int i = 0; i < op->result_count && is_inside; i++) {
            const OpList *reads = value_readers(&readers, op->results[i]);
            for (LIST_EACH(int, k, *reads)) is_inside = is_inside && is_in(reads->items[k], region);
        }
        if (is_inside) op_move_before(op, region->first);
    }
}
