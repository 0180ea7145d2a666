// A condition under which upstream gradients are loaded in; out, the statements that add 0 without it, masked by it.
#include "autodiff/sharing/owner_masks.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/order.h"

enum {
    MOST_STEPS = 4000,
    DEEPEST = 200
};  // values that one search asks about. Beyond: they are not 0

typedef struct Vanishing {
    const Value *owner;  // a condition
    int left, depth;
    Map carried;  // values that are taken to be 0 while their loop is looked at
} Vanishing;

static bool vanishes(Vanishing *search, const Value *value);

static bool is_zero(const Value *value) {
    for (const Op *op; value && (op = value->op);) {
        if (value->constant && value->constant->kind == CONSTANT_FLOAT)
            return value->constant->number == 0;
        int64_t number;
        if (value_is_int(value, &number)) return number == 0;
        int fill = op->code == OP_FULL ? op_parameter_index(op->code, STR("value")) : 0;
        if (!op_has(op->code, TRAIT_LAYOUT) && op->code != OP_CAST && op->code != OP_FULL)
            return false;
        value = op->operands[fill];
    }
    return false;
}

/// Whether the mask is a conjunction with the owner in it.
static bool asks_for(const Value *mask, const Value *owner, int depth) {
    const Op *op = mask ? mask->op : NULL;
    if (mask == owner) return true;
    if (!op || depth > DEEPEST) return false;
    bool is_and = op_has(op->code, TRAIT_BOTH);
    if (!is_and && !op_has(op->code, TRAIT_LAYOUT)) return false;
    for (int i = 0; i < (is_and ? 2 : 1); i++)
        if (asks_for(op->operands[i], owner, depth + 1)) return true;
    return false;
}

/// What a loop carries out: 0 at first, and 0 after an iteration that started with 0.
static bool carried_vanishes(Vanishing *search, const Op *loop, int carried) {
    const Value *argument = loop->regions[0]->arguments[carried + 1];
    if (!vanishes(search, loop->operands[3 + carried])) return false;
    map_set_pointer(&search->carried, argument, search);
    bool stays = vanishes(search, region_terminator(loop->regions[0])->operands[carried]);
    map_set_pointer(&search->carried, argument, NULL);
    return stays;
}

static bool result_vanishes(Vanishing *search, const Value *value) {
    const Op *op = value->op;
    int other = op_parameter_index(op->code, STR("other"));
    switch (op->code) {
    case OP_LOAD:
        return other < op->operand_count && op->operands[other] && is_zero(op->operands[other]) &&
               asks_for(access_mask(op), search->owner, 0);
    case OP_ADD:
    case OP_SUB: return vanishes(search, op->operands[0]) && vanishes(search, op->operands[1]);
    case OP_MUL: return vanishes(search, op->operands[0]) || vanishes(search, op->operands[1]);
    case OP_WHERE: return vanishes(search, op->operands[1]) && vanishes(search, op->operands[2]);
    case OP_DOT:
        if (op->operand_count > 2 && op->operands[2] && !value_is_none(op->operands[2]) &&
            !vanishes(search, op->operands[2]))
            return false;
        return vanishes(search, op->operands[0]) || vanishes(search, op->operands[1]);
    case OP_IF:
        for (int r = 0; r < 2; r++)
            if (!vanishes(search, region_terminator(op->regions[r])->operands[value->index]))
                return false;
        return true;
    case OP_FOR:
    case OP_STATIC_FOR: return carried_vanishes(search, op, value->index);
    default:
        return op->operand_count > 0 && !op->region_count && op_rows[op->code].zero == ZERO_FIRST &&
               vanishes(search, op->operands[0]);
    }
}

/// Whether a value is 0 in programs of which the condition does not hold.
static bool vanishes(Vanishing *search, const Value *value) {
    if (!value || search->left-- <= 0 || search->depth > DEEPEST) return false;
    if (is_zero(value)) return true;
    if (!value->op)
        return map_has_pointer(&search->carried, value) &&
               map_get_pointer(&search->carried, value) != NULL;
    search->depth++;
    bool zero = result_vanishes(search, value);
    search->depth--;
    return zero;
}

/// Whether the value can be read in front of the operation.
static bool is_known_before(const Value *value, const Op *op) {
    if (!value->op) return !value->region->parent;
    for (const Op *around = op; around; around = around->parent->parent)
        if (around->parent == value->op->parent) return op_precedes(value->op, around);
    return false;
}

static void leave_to(Differentiation *state, const Accumulation *statement, Value *owner) {
    Op *op = statement->op;
    Vanishing search = {.owner = owner, .left = MOST_STEPS, .carried = map_new(state->arena)};
    Value *mask = access_mask(op);
    if (asks_for(mask, owner, 0) || !is_known_before(owner, op) ||
        !vanishes(&search, op->operands[1]))
        return;
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Value *both = mask ? build_binary(&b, OP_AND, mask, owner) : owner;
    int place = op_parameter_index(op->code, STR("mask"));
    Value *before = op->operands[place];
    op_set_operand(op, place, both);
    // Programs that add up in a kernel of their own ask for nothing that differs between them.
    const Map *upstreams = &state->stores.upstreams;
    if (!like_stores_find(state->arena, state->backward, upstreams, op, NULL).count)
        op_set_operand(op, place, before);
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
