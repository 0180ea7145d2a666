// A condition under which upstream gradients are loaded in; out, the statements that add 0 without it, masked by it.
#include "autodiff/sharing/owner_masks.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/place.h"
#include "autodiff/addresses/told.h"
#include "autodiff/padding/vanishing.h"
#include "autodiff/rewrite/copying.h"

typedef struct Owner {
    const Value *condition;
    const Op *start;  // of the kernel
} Owner;

/// Each store asks for itself whose it is: the same of ids and sizes is the same condition.
static bool is_owner(void *context, const Value *condition) {
    const Owner *owner = context;
    return condition == owner->condition ||
           (condition->op && !condition->type.rank &&
            value_can_be_brought(condition, owner->start) &&
            expressions_alike(condition, owner->condition, NULL, NULL));
}

static void leave_to(Differentiation *state, const Accumulation *statement, Value *owner) {
    Op *op = statement->op;
    Value *mask = access_mask(op);
    Owner search = {owner, state->backward->body->first};
    if (mask_has_part(mask, is_owner, &search) || !value_can_be_brought(owner, op) ||
        !value_vanishes(state->arena, op->operands[1], is_owner, &search))
        return;
    owner = value_brought(state->backward, owner, op);
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Value *both = mask ? build_binary(&b, OP_AND, mask, owner) : owner;
    int place = op_parameter_index(op->code, STR("mask"));
    Value *before = op->operands[place];
    op_set_operand(op, place, both);
    // Programs that add up in a kernel of their own ask for nothing that differs between them: a quotient of their ids does not.
    const Map *upstreams = &state->stores.upstreams;
    bool is_quotient = owner->op && owner->op->code == OP_LT && owner->op->operands[0]->op &&
                       owner->op->operands[0]->op->code == OP_FLOORDIV;
    if (is_quotient) return;
    bool is_told = like_stores_find(state->arena, state->backward, upstreams, op, NULL).count > 0 ||
                   told_by_store(state->arena, state->backward, upstreams, op, NULL) != NULL;
    if (!is_told) op_set_operand(op, place, before);
}

void accumulations_leave_to_owners(Differentiation *state) {
    for (int i = 0; i < state->stores.owned_upstreams.count; i++) {
        Value *owner = state->stores.owned_upstreams.items[i];
        if (owner->type.rank) continue;  // some lanes of a program
        for (LIST_EACH(int, k, state->sweep.accumulations)) {
            const Accumulation *statement = &state->sweep.accumulations.items[k];
            if (statement->op && statement->op->code == OP_ATOMIC_ADD && !statement->is_running)
                leave_to(state, statement, owner);
        }
    }
}
