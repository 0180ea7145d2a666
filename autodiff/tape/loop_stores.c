// A row that is added up, stored, and read back to be normalised: the second loop reads what the first one read.
#include "autodiff/tape/loop_stores.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

/// Operations that are worth less than what memory costs.
enum { MOST_OPS = 24 };

static const Region *body(const Op *loop) { return loop->regions[0]; }

/// The loop beside `first` that holds the op.
static const Op *loop_around(const Op *op, const Op *first) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->parent == first->parent) return outer->code == OP_FOR ? outer : NULL;
    return NULL;
}

static const Op *later_loop(const Op *load, const Op *store) {
    const Op *first = store->parent->parent;
    if (!first || first->code != OP_FOR || store->parent != body(first)) return NULL;
    const Op *second = loop_around(load, first);
    bool is_later = second && second != first && op_precedes(first, second);
    return is_later && loops_have_one_range(first, second) ? second : NULL;
}

const Op *loop_of_stored(const Op *load, const Op *store) {
    if (store->code != OP_STORE || load->operand_count < 3) return NULL;
    const Op *second = later_loop(load, store);
    if (!second) return NULL;
    const Op *first = store->parent->parent;
    const Value *here = body(first)->arguments[0], *there = body(second)->arguments[0];
    const Value *mask = access_mask(store), *other = access_mask(load);
    bool has_mask = mask && other ? expressions_alike(mask, other, here, there) : mask == other;
    bool is_same = has_mask && load->results[0]->type.rank == store->operands[1]->type.rank &&
                   expressions_alike(store->operands[0], load->operands[0], here, there);
    return is_same ? first : NULL;
}

typedef struct StoredSlice {
    const Op *loop;
    Map seen;
    int count;
    bool is_cheap;
} StoredSlice;

/// `arange`, and what is made of numbers.
static bool makes_lanes(const Op *op) {
    bool has_tile = false;
    for (int i = 0; i < op->operand_count; i++)
        has_tile |= op->operands[i] && op->operands[i]->type.rank > 0;
    return op_is_pure(op) && !has_tile;
}

/// Only what each iteration makes of its number and of memory: nothing that is carried.
static void slice_of(StoredSlice *slice, const Value *value) {
    const Op *op = value->op;
    if (!slice->is_cheap || value == body(slice->loop)->arguments[0] ||
        !region_defines(body(slice->loop), value) || map_has_pointer(&slice->seen, value))
        return;
    map_set_pointer(&slice->seen, value, slice);
    slice->is_cheap = op && op->parent == body(slice->loop) && ++slice->count <= MOST_OPS &&
                      (op->code == OP_LOAD || op_is_by_element(op) || makes_lanes(op));
    for (int i = 0; slice->is_cheap && i < op->operand_count; i++)
        if (op->operands[i]) slice_of(slice, op->operands[i]);
}

typedef struct Outside {
    const Op *loop;
    Map *copies;
} Outside;

static bool note_outside(void *context, Value *value) {
    Outside *outside = context;
    if (!region_defines(body(outside->loop), value)) map_set_pointer(outside->copies, value, value);
    return true;
}

Value *loop_stored_value(Function *function, Op *load, const Op *store) {
    const Op *first = store->parent->parent, *second = later_loop(load, store);
    StoredSlice slice = {.loop = first, .seen = map_new(function->arena), .is_cheap = true};
    slice_of(&slice, store->operands[1]);
    if (!second || !slice.is_cheap) return NULL;
    Map copies = map_new(function->arena);
    Outside outside = {first, &copies};
    for (const Op *op = body(first)->first; op; op = op->next)
        op_walk_captured(op, note_outside, &outside);
    map_set_pointer(&copies, body(first)->arguments[0], body(second)->arguments[0]);
    Builder b = {.function = function,
                 .region = load->parent,
                 .before = load,
                 .range = load->range,
                 .call = load->call};
    return value_copied(&b, store->operands[1], &copies);
}
