// A kernel may load more than it uses, and drop the rest by another mask later: the end of a row's last tile, the element in
// front of its first. The gradient is 0 there, and these elements are another program's, or nobody's: a plain store of 0 would
// overwrite what that program stored. An atomic addition of 0 would not, but a sum that takes its place is stored under its mask.
#include "autodiff/finiteness/guard_stores.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"
#include "autodiff/finiteness/guard_masks.h"

static bool is_among(const Map *parameters, const Value *root) {
    for (int i = 0; i < parameters->count; i++)
        if (parameters->entries[i].value == root) return true;
    return false;
}

/// What a store or an atomic addition gives to a gradient, or adds to it; NULL of other stores. What a running gradient is set
/// to counts as it is, 0 or not: the upstream gradient of what the forward overwrote is there else.
static const Value *given_by(const Differentiation *state, const Op *store) {
    const Value *root = pointer_root(store->operands[0]), *value = store->operands[1];
    const Op *sum = value->op;
    bool adds = sum && sum->code == OP_ADD && sum->operands[0]->op &&
                sum->operands[0]->op->code == OP_LOAD &&
                sum->operands[0]->op->operands[0] == store->operands[0];
    if (adds) value = sum->operands[1];
    if (!root || (!is_among(&state->buffers.gradients, root))) return NULL;
    bool is_running = is_among(&state->buffers.upstreams, root);
    return adds || !is_running ? value : NULL;
}

/// Whether a number comes from memory, or is what a loop found: the place of the largest element.
static bool is_of_data(const Value *value) {
    while (value->op && (value->op->code == OP_CAST || op_has(value->op->code, TRAIT_LAYOUT)))
        value = value->op->operands[0];
    return value->op && (value->op->code == OP_LOAD || op_is_loop(value->op->code));
}

/// Whether a condition compares whole numbers: the bound of an index, and nothing that the data decide. A number from memory may be
/// the bound, but is none where it is asked for one value (`label != ignored`).
static bool is_bound(const Condition *condition) {
    const Value *mask = condition->parts[0].values.items[0];
    while (mask->op && (mask->op->code == OP_EXPAND_DIMS || mask->op->code == OP_BROADCAST_TO))
        mask = mask->op->operands[0];  // (rows < n)[:, None]
    const Op *test = mask->op;
    if (condition->part_count != 1 || !test || !op_is_comparison(test->code) ||
        !dtype_is_integer(test->operands[0]->type.element) ||
        !dtype_is_integer(test->operands[1]->type.element))
        return false;
    bool is_equality = test->code == OP_EQ || test->code == OP_NE;
    return !is_equality || !(is_of_data(test->operands[0]) || is_of_data(test->operands[1]));
}

/// The condition as a mask of the elements that it leaves in; NULL where it cannot be written in front of the store.
static Value *mask_left_in(Guard *guard, Builder *builder, Value *tile, Slot slot) {
    Value *mask = guard_mask(guard, builder, tile, slot);
    if (!mask || !guard->condition->parts[0].is_negated) return mask;
    return build_unary(builder, mask->type.rank ? OP_INVERT : OP_LOGICAL_NOT, mask);
}

static bool leaves_out(const Guard *guard, const Value *mask, Slot slot) {
    return mask && fact_is_false(finiteness_fact(guard->finiteness, mask, slot));
}

static bool visit_store(void *context, Op *op) {
    Guard *guard = context;
    const Finiteness *finiteness = guard->finiteness;
    if ((op->code != OP_STORE && op->code != OP_ATOMIC_ADD) || op->operand_count < 3) return true;
    const Value *given = given_by(guard->state, op);
    Value *pointer = op->operands[0];
    bool is_whole = guard->condition->reach == REACH_ALL;
    if (is_whole && op->code == OP_ATOMIC_ADD)
        return true;  // of all programs: no other place is meant
    for (Slot slot = is_whole ? 0 : 1; given && slot < (is_whole ? 1 : MASK_MOST_SLOTS); slot++) {
        Value *mask = access_mask(op);
        if (!finiteness_varies(finiteness, given, slot) || leaves_out(guard, mask, slot)) continue;
        Fact fact = finiteness_fact(finiteness, given, slot);
        if (!(fact.is_zero || fact_is(fact, 0)) || fact.counts) continue;
        Builder builder = {.function = guard->state->backward,
                           .region = op->parent,
                           .before = op,
                           .range = op->range,
                           .call = op->call};
        Value *more = mask_left_in(guard, &builder, pointer, slot);
        if (!more || (pointer->type.rank == 0 && more->type.rank)) continue;
        if (mask) more = build_binary(&builder, OP_AND, mask, more);
        op_set_operand(op, 2, more);
    }
    return true;
}

void guard_stores(Differentiation *state) {
    Guard guard = {.state = state, .arena = state->arena, .finiteness = finiteness_new(state)};
    int first_id = state->backward->value_count;
    for (int i = 0; i < finiteness_condition_count(guard.finiteness); i++) {
        guard.condition = finiteness_condition(guard.finiteness, i);
        if (!is_bound(guard.condition)) continue;
        finiteness_assume(guard.finiteness, i);
        region_walk(state->backward->body, visit_store, &guard);
    }
    guard_drop_vectors(&guard, first_id);
}
