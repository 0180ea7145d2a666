// A backward that adds up what the forward did in; one that loads the forward's sum out.
#include "autodiff/stored/kept_sums.h"

#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/stored/load_stored.h"
#include "autodiff/stored/twin.h"
#include "autodiff/tape/saved.h"

typedef struct KeptSum {
    Differentiation *state;
    const Map *ours;
    const Op *store;
    Value *value;          // what is stored, before it is rounded
    const Needed *needed;  // by the backward, as it is
    Values equal;          // values that it needs and that are the same, there and in other loops
} KeptSum;

static bool is_float(const Value *value) {
    return value->type.kind == TYPE_NUMBER && !dtype_is_integer(value->type.element);
}

static bool visit_equal(void *context, Op *op) {
    KeptSum *sum = context;
    Value *value = op->result_count == 1 && !op->region_count ? op->results[0] : NULL;
    if (!value || !is_float(value) || !map_has_pointer(&sum->needed->values, value) ||
        !same_type(value, sum->value))
        return true;
    LoopTwin twin = {.arena = sum->state->arena,
                     .variables = map_new(sum->state->arena),
                     .mask = access_mask(sum->store)};
    if (regions_are_twins(&twin, sum->store->parent, op->parent) &&
        values_are_twins(&twin, sum->value, value))
        values_add(sum->state->arena, &sum->equal, value);
    return true;
}

/// Loads the sum in the place of all that equals it, wherever that can be. False where nothing is loaded less for it.
static bool load_sum(const KeptSum *sum) {
    Differentiation *state = sum->state;
    const Map readers = function_readers(state->arena, state->backward);
    const LeftOut left = {.finiteness = finiteness_new(state),
                          .readers = &readers,
                          .needed = sum->needed,
                          .ours = sum->ours};
    Map stops = map_new(state->arena);
    LIST(StoredLoad) loads = {0};
    for (LIST_EACH(int, i, sum->equal)) {
        StoredLoad load;
        if (!stored_load_plan(state, sum->store, &left, sum->equal.items[i], &load)) continue;
        map_set_pointer(&stops, load.value, load.value);
        LIST_PUSH(state->arena, &loads, load);
    }
    const Needed after = values_needed(state, sum->ours, &stops);
    if (after.tile_loads + loads.count >= sum->needed->tile_loads) return false;
    for (LIST_EACH(int, i, loads)) stored_load_make(state, &loads.items[i], sum->value->name);
    return true;
}

static bool try_store(Differentiation *state, const Op *store, const Map *ours) {
    Value *value = store->operands[1];
    while (value->op && value->op->code == OP_CAST && is_float(value->op->operands[0]))
        value = value->op->operands[0];
    bool adds = value->op && (value->op->code == OP_ADD || value->op->code == OP_SUB);
    if (!adds || !is_float(value) || value->type.rank == 0 ||
        !stored_value_stays(state, store, value, false) || !stored_tensor_is_left(state, store) ||
        !stored_tensor_is_as_small(state, store))
        return false;
    const Needed needed = values_needed(state, ours, NULL);
    KeptSum sum = {.state = state, .ours = ours, .store = store, .value = value, .needed = &needed};
    region_walk(state->backward->body, visit_equal, &sum);
    return sum.equal.count && load_sum(&sum);
}

void kept_sums_load(Differentiation *state, const Map *ours) {
    const OpList stores = stores_of_forward(state, ours);
    for (LIST_EACH(int, i, stores)) try_store(state, stores.items[i], ours);
}
