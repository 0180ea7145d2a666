// A thread reads several elements at once where a mask is alike for them. One of a length in memory, or of the diagonal, is not.
#include "autodiff/extents/wide_loads.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"

enum { LOAD_MASK = 1, LOAD_OTHER = 2, STORE_MASK = 2 };

typedef struct WideSearch {
    Differentiation *state;
    const Value *input, *gradient;
    const Op *store;
    OpList *found;
} WideSearch;

/// Whether two addresses are made alike, the one of the input and the other of its gradient.
static bool are_alike(const WideSearch *search, const Value *of_input, const Value *of_gradient) {
    const Op *a = of_input->op, *b = of_gradient->op;
    if (of_input == search->input && of_gradient == search->gradient) return true;
    if (of_input == of_gradient) return true;
    if (!a || !b || a->code != b->code || a->operand_count != b->operand_count || a->region_count ||
        b->region_count || a->result_count != 1 || !op_is_pure(a))
        return false;
    for (int i = 0; i < a->operand_count; i++) {
        const Value *own = a->operands[i], *other = b->operands[i];
        if (own != other && !(own && other && are_alike(search, own, other))) return false;
    }
    return true;
}

static bool is_around(const Region *region, const Op *op) {
    const Region *own = op->parent;
    while (own && own != region) own = own->parent ? own->parent->parent : NULL;
    return own != NULL;
}

static bool visit_load(void *context, Op *op) {
    WideSearch *search = context;
    const Op *first = search->found->count ? search->found->items[0] : NULL;
    bool is_it = op->code == OP_LOAD && op->operand_count > LOAD_MASK &&
                 op->operands[LOAD_MASK] == search->store->operands[STORE_MASK] &&
                 pointer_root(op->operands[0]) == search->input &&
                 op_is_stable_load(search->state->backward, op) &&
                 is_around(op->parent, search->store) && (!first || first->parent == op->parent) &&
                 are_alike(search, op->operands[0], search->store->operands[0]);
    if (is_it) LIST_PUSH(search->state->arena, search->found, op);
    return true;
}

void wide_loads_find(Differentiation *state, const Value *input, const Op *store, OpList *found) {
    WideSearch search = {.state = state,
                         .input = input,
                         .gradient = pointer_root(store->operands[0]),
                         .store = store,
                         .found = found};
    if (search.gradient) region_walk(state->backward->body, visit_load, &search);
}

void wide_loads_take(Differentiation *state, const OpList *loads, Value *stored) {
    for (LIST_EACH(int, i, *loads)) {
        Op *load = loads->items[i];
        Value *own = load->operands[LOAD_MASK], *result = load->results[0];
        Value *other = load->operand_count > LOAD_OTHER ? load->operands[LOAD_OTHER] : NULL;
        op_set_operand(load, LOAD_MASK, stored);
        if (!other) continue;  // nobody reads those lanes
        Builder b = {.function = state->backward,
                     .region = load->parent,
                     .before = load->next,
                     .range = load->range};
        Value *chosen = build_ternary(&b, OP_WHERE, own, result, other);
        region_replace_uses(state->backward->body, result, chosen);
        op_set_operand(chosen->op, 1, result);
    }
}
