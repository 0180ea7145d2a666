// A backward that repeats its forward in; one that only computes what its own statements need out.
#include "autodiff/sweep/strip.h"

#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/replay.h"
#include "autodiff/tape/tape.h"

typedef struct Unknown {
    const Op *op;
} Unknown;

static bool visit_unknown(void *context, Op *op) {
    Unknown *unknown = context;
    if (op->code == OP_UNKNOWN && !unknown->op) unknown->op = op;
    return !unknown->op;
}

static void remove_forward_effects(Region *region, const Map *ours) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) remove_forward_effects(op->regions[i], ours);
        bool ordered = op_rows[op->code].effects & EFFECT_ORDERED;
        bool hint = op_rows[op->code].kind == KIND_HINT && op->result_count == 0;
        if ((ordered || hint) && !map_has_pointer(ours, op)) op_remove(op);
    }
}

static const char *const lost_result =
    "what an atomic gave is not known any more; in a kernel before this one, store the places that "
    "it led to in a tensor";

/// What an atomic of the forward gave is known to nobody afterwards: whatever still reads it is refused.
static void forget_result(Differentiation *state, Op *op) {
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Op *unknown = op_append(&b, OP_UNKNOWN, NULL, 0, 1);
    unknown->note = lost_result;
    unknown->results[0]->type = op->results[0]->type;
    region_replace_uses(state->backward->body, op->results[0], unknown->results[0]);
}

/// Stores and atomics of the forward are not repeated: nothing may be recomputed from them either.
static void remove_forward_stores(Differentiation *state, Region *region, const Map *ours) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            remove_forward_stores(state, op->regions[i], ours);
        bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
        if (!writes || map_has_pointer(ours, op) || replay_keep(state, op)) continue;
        if (op->result_count == 1) forget_result(state, op);
        op_remove(op);
    }
}

Map statements_own(const Differentiation *state) {
    Map ours = map_new(state->arena);
    for (int i = 0; i < state->sweep.accumulations.count; i++)
        map_set_pointer(&ours, state->sweep.accumulations.items[i].op, (void *)1);
    for (int i = 0; i < state->sweep.running_steps.count; i++)
        map_set_pointer(&ours, state->sweep.running_steps.items[i].op, (void *)1);
    for (LIST_EACH(int, t, state->tapes.tapes))
        for (LIST_EACH(int, i, state->tapes.tapes.items[t]->ops))
            map_set_pointer(&ours, state->tapes.tapes.items[t]->ops.items[i], (void *)1);
    return ours;
}

void strip_forward(Differentiation *state) {
    Map ours = statements_own(state);
    remove_forward_effects(state->backward->body, &ours);
    remove_forward_stores(state, state->backward->body, &ours);
    function_drop_dead(state->backward);
}

void strip_refuse_unknown(Differentiation *state) {
    Unknown unknown = {0};
    region_walk(state->backward->body, visit_unknown, &unknown);
    if (unknown.op)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, unknown.op->range,
                     "the backward would have to recompute this%s: %s",
                     unknown.op->note == lost_result ? "" : ", which was not understood",
                     unknown.op->note ? unknown.op->note : "unknown construct");
}
