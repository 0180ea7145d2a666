// A value of the backward that equals what the forward stored in; a load from there out.
#include "autodiff/stored/load_stored.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/stored/twin.h"

enum { MOST_DEPTH = 12 };

void values_add(Arena *arena, Values *values, Value *value) {
    for (LIST_EACH(int, i, *values))
        if (values->items[i] == value) return;
    if (values->count < VALUES_MOST) LIST_PUSH(arena, values, value);
}

/// The mask of loads of what was stored: that of the store, or a narrower one that leaves out one number alone. NULL: it cannot be told
/// what stands for the elements that it leaves out.
static Value *mask_of(const LeftOut *left, Value *value, Value *mask, Value *const *wider,
                      int count, double *rest) {
    bool is_known = false;
    *rest = 0;
    for (int i = 0; i < count; i++)
        if (mask_is_within(wider[i], mask) &&
            left_out_is_number(left, wider[i], value, &is_known, rest))
            return wider[i];
    return left_out_is_number(left, mask, value, &is_known, rest) ? mask : NULL;
}

/// Masks of the tiles that a value is made of.
static void find_masks(Arena *arena, Values *masks, const Value *value, int depth) {
    const Op *op = value->op;
    if (!op || depth > MOST_DEPTH || op->region_count) return;
    Value *mask = op->code == OP_LOAD ? access_mask(op) : NULL;
    if (mask) values_add(arena, masks, mask);
    for (int i = 0; i < op->operand_count && op->code != OP_LOAD; i++)
        if (op->operands[i]) find_masks(arena, masks, op->operands[i], depth + 1);
}

/// The mask of the store, in front of a value of another loop.
static Value *mask_there(const LoopTwin *twin, const Value *mask, const Value *value) {
    Values masks = {0};
    find_masks(twin->arena, &masks, value, 0);
    for (LIST_EACH(int, i, masks))
        if (values_are_twins(twin, mask, masks.items[i])) return masks.items[i];
    return NULL;
}

bool stored_load_plan(const Differentiation *state, const Op *store, const LeftOut *left,
                      Value *value, StoredLoad *load) {
    LoopTwin twin = {.arena = state->arena, .variables = map_new(state->arena)};
    Value *stored = access_mask(store);
    regions_are_twins(&twin, store->parent, value->op->parent);
    *load = (StoredLoad){.value = value,
                         .builder = {.function = state->backward,
                                     .region = value->op->parent,
                                     .before = value->op,
                                     .range = store->range,
                                     .call = store->call}};
    if (stored) {
        bool is_here = twin.variables.count == 0;
        Value *mask = is_here ? stored : mask_there(&twin, stored, value);
        Values masks = {0};
        find_masks(state->arena, &masks, value, 0);
        if (mask) mask = mask_of(left, value, mask, masks.items, masks.count, &load->rest);
        if (!mask) return false;
        Map copies = map_new(state->arena);
        load->mask = value_copied(&load->builder, mask, &copies);
        if (!load->mask) return false;
    }
    Map copies = twin.variables;
    load->address = value_copied(&load->builder, store->operands[0], &copies);
    return load->address != NULL;
}

typedef struct Rounding {
    Function *function;
    const Value *value;
    Value *loaded;
} Rounding;

/// What casts the value to a type that it has been loaded in is what was loaded.
static bool visit_rounding(void *context, Op *op) {
    const Rounding *rounding = context;
    if (op->code == OP_CAST && op->operands[0] == rounding->value &&
        same_type(op->results[0], rounding->loaded))
        region_replace_uses(rounding->function->body, op->results[0], rounding->loaded);
    return true;
}

void stored_load_make(Differentiation *state, const StoredLoad *load, const char *name) {
    Builder builder = load->builder;
    Value *rest = load->mask ? build_float(&builder, load->rest) : NULL;
    Value *loaded = build(&builder, OP_LOAD, (Value *const[]){load->address, load->mask, rest},
                          load->mask ? 3 : 1);
    Rounding rounding = {state->backward, load->value, loaded};
    region_walk(state->backward->body, visit_rounding, &rounding);
    DType element = load->value->type.element;
    if (element.code == DTYPE_ANY_FLOAT) element = dtype_of(DTYPE_FLOAT32);
    loaded = build_binary(&builder, OP_CAST, loaded, build_dtype(&builder, element));
    loaded->name = name;
    rounding.loaded = loaded;  // nor does it take a cast to what it has now
    region_walk(state->backward->body, visit_rounding, &rounding);
    region_replace_uses(state->backward->body, load->value, loaded);
}
