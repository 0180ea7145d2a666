// Two gradients are one where each store to the first has one to the second beside it, of the same numbers at the same elements.
#include "autodiff/same_gradients.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/rewrite/rewrite.h"

/// The accesses of one buffer, in order.
typedef struct BufferAccesses {
    Arena *arena;
    const Value *buffer;
    LIST(const Op *) stores;
    bool is_read;  // or added to
} BufferAccesses;

static bool visit_access(void *context, Op *op) {
    BufferAccesses *accesses = context;
    if (!op_is_access(op) || pointer_root(op->operands[0]) != accesses->buffer) return true;
    if (op->code == OP_STORE)
        LIST_PUSH(accesses->arena, &accesses->stores, op);
    else
        accesses->is_read = true;
    return true;
}

/// The store, or the branch around it that asks for its gradient alone.
static const Op *place_of_store(const Op *store, const Value *buffer) {
    const Op *branch = store->parent->parent;
    if (!branch || branch->code != OP_IF || store->parent != branch->regions[0]) return store;
    const Op *wanted = branch->operands[0]->op;
    const Op *absent = wanted && wanted->code == OP_LOGICAL_NOT ? wanted->operands[0]->op : NULL;
    bool is_own = absent && absent->code == OP_IS_NONE && absent->operands[0] == buffer;
    return is_own ? branch : store;
}

static bool stores_are_alike(const Op *a, const Op *b, const Value *of_a, const Value *of_b) {
    if (place_of_store(a, of_a)->parent != place_of_store(b, of_b)->parent) return false;
    if (a->operand_count != b->operand_count || a->keyword_count || b->keyword_count) return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!expressions_alike(a->operands[i], b->operands[i], of_a, of_b)) return false;
    return true;
}

static bool are_stored_alike(Arena *arena, const Function *backward, const Value *a,
                             const Value *b) {
    BufferAccesses first = {.arena = arena, .buffer = a}, second = {.arena = arena, .buffer = b};
    region_walk(backward->body, visit_access, &first);
    region_walk(backward->body, visit_access, &second);
    if (first.is_read || second.is_read || !first.stores.count) return false;
    if (first.stores.count != second.stores.count) return false;
    for (LIST_EACH(int, i, first.stores))
        if (!stores_are_alike(first.stores.items[i], second.stores.items[i], a, b)) return false;
    return true;
}

/// Whether it is a buffer of its input's type, which the kernel may go without.
static bool may_be_shared(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT && argument->is_optional && !argument->is_float32 &&
           !argument->is_program_sum;
}

/// What a load gives may change within the launch: the kernel stores to a buffer that it reads.
static bool rereads(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        ArgumentUse use = launch->arguments[i].use;
        if (use == ARGUMENT_RUNNING || use == ARGUMENT_KEPT || use == ARGUMENT_AMID ||
            use == ARGUMENT_SCRATCH)
            return true;
    }
    return false;
}

static bool claims_are_equal(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

void same_gradients_describe(Arena *arena, const Function *backward, BackwardLaunch *launch) {
    if (rereads(launch)) return;
    for (int k = 1; k < launch->argument_count; k++) {
        BackwardArgument *later = &launch->arguments[k];
        for (int i = 0; i < k && may_be_shared(later) && !later->same_as; i++) {
            const BackwardArgument *earlier = &launch->arguments[i];
            if (may_be_shared(earlier) && !earlier->same_as &&
                claims_are_equal(earlier->stored, later->stored) &&
                are_stored_alike(arena, backward, backward->parameters[i].value,
                                 backward->parameters[k].value))
                later->same_as = earlier->name;
        }
    }
}
