// Stores of the recomputed forward in, the same stores into copies from before the launch out.
#include "autodiff/tape/replay.h"

#include <string.h>

#include "autodiff/tape/memory.h"

void replay_plan(Differentiation *state, Value *copy, Op *const *stores, int count) {
    map_set_pointer(&state->versions.replays, copy, copy);
    for (int i = 0; i < count; i++) stores[i]->note = copy->name;  // clones have it, too
}

/// The primal's parameter of that name.
static Value *copy_named(const Differentiation *state, const char *name) {
    for (int i = 0; i < state->versions.replays.count; i++) {
        Value *copy = state->versions.replays.entries[i].value;
        if (strcmp(copy->name, name) == 0) return copy;
    }
    return NULL;
}

void replay_load(const Differentiation *state, const Op *load, Op *clone) {
    const Value *root = pointer_root(load->operands[0]);
    for (int i = 0; i < state->versions.replays.count; i++) {
        Value *copy = state->versions.replays.entries[i].value;
        if (map_get_pointer(&state->versions.origins, copy) != root) continue;
        Builder b = {.function = state->backward,
                     .region = clone->parent,
                     .before = clone,
                     .range = clone->range,
                     .call = clone->call};
        Value *pointer = clone->operands[0];
        pointer = pointer_rebase(&b, pointer, pointer_root(pointer), recomputed(state, copy));
        if (pointer) op_set_operand(clone, 0, pointer);
    }
}

bool replay_keep(Differentiation *state, Op *store) {
    Value *copy = store->code == OP_STORE && store->note ? copy_named(state, store->note) : NULL;
    bool is_ordered = state->versions.saved_loads.count > 0;
    if (!copy || (is_ordered && !map_has_pointer(&state->versions.first_stores, store)))
        return false;
    Builder b = {.function = state->backward,
                 .region = store->parent,
                 .before = store,
                 .range = store->range,
                 .call = store->call};
    Value *pointer = pointer_rebase(&b, store->operands[0], pointer_root(store->operands[0]),
                                    recomputed(state, copy));
    if (!pointer) return false;
    op_set_operand(store, 0, pointer);
    // Another thread may still load what was there before, and may load what this one stored.
    Op *barrier = is_ordered ? op_append(&b, OP_DEBUG_BARRIER, NULL, 0, 0) : NULL;
    LIST_PUSH(state->arena, &state->versions.replay_ops, store);
    LIST_PUSH(state->arena, &state->versions.replay_ops, barrier);
    b.before = store->next;
    barrier = op_append(&b, OP_DEBUG_BARRIER, NULL, 0, 0);
    LIST_PUSH(state->arena, &state->versions.replay_ops, barrier);
    return true;
}

void replay_prune(Differentiation *state) {
    Memory memory = memory_of(state->arena, state->backward);
    bool pruned = false;
    for (int i = 0; i + 2 < state->versions.replay_ops.count; i += 3) {
        Op *store = state->versions.replay_ops.items[i];
        if (map_has_pointer(&memory.loaded, pointer_root(store->operands[0]))) continue;
        op_remove(store);
        for (int k = 1; k < 3; k++)
            if (state->versions.replay_ops.items[i + k])
                op_remove(state->versions.replay_ops.items[i + k]);
        pruned = true;
    }
    if (pruned) function_clean(state->backward);
}
