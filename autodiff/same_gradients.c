// Two gradients are one where each store to the first has one to the second beside it, of the same numbers at the same elements. A
// gradient is the upstream one where each store is of what a load of that gives, of the same elements.
#include "autodiff/same_gradients.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/layouts/expanded_inputs.h"
#include "autodiff/layouts/upstream_strides.h"
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

/// The load of an upstream gradient whose numbers are stored as they are; NULL: something is computed from them.
static const Op *load_stored(const Op *store) {
    const Op *from = store->operands[1]->op;
    while (from && from->code == OP_CAST && dtype_bits(from->results[0]->type.element.code) >= 32 &&
           dtype_is_float(from->results[0]->type.element))
        from = from->operands[0]->op;
    return from && from->code == OP_LOAD && !from->keyword_count ? from : NULL;
}

/// The two tensors, and their strides along each axis: one number where the tensors are laid out alike.
static Twins twins_of(const Function *backward, const BackwardLaunch *launch, int upstream,
                      int gradient) {
    Twins twins = {.a = {backward->parameters[upstream].value},
                   .b = {backward->parameters[gradient].value},
                   .count = 1};
    for (int i = 0; i < launch->argument_count; i++)
        for (int k = 0; k < launch->argument_count; k++) {
            const BackwardArgument *first = &launch->arguments[i], *second = &launch->arguments[k];
            bool are_strides = first->upstream && second->input && first->axis == second->axis &&
                               strcmp(first->upstream, launch->arguments[upstream].of) == 0 &&
                               strcmp(second->input, launch->arguments[gradient].of) == 0;
            if (!are_strides || twins.count == LOOPS_MOST_NESTED) continue;
            twins.a[twins.count] = backward->parameters[i].value;
            twins.b[twins.count++] = backward->parameters[k].value;
        }
    return twins;
}

static bool is_passed_on(Arena *arena, const Function *backward, const BackwardLaunch *launch,
                         int upstream, int gradient) {
    BufferAccesses accesses = {.arena = arena, .buffer = backward->parameters[gradient].value};
    const Twins twins = twins_of(backward, launch, upstream, gradient);
    region_walk(backward->body, visit_access, &accesses);
    if (accesses.is_read || !accesses.stores.count) return false;
    for (LIST_EACH(int, i, accesses.stores)) {
        const Op *store = accesses.stores.items[i], *load = load_stored(store);
        if (!load || store->keyword_count ||
            !expressions_are_twins(load->operands[0], store->operands[0], &twins) ||
            !expressions_are_twins(load->operands[1], store->operands[2], &twins))
            return false;
    }
    return true;
}

/// Whether it is a buffer of its input's type, which the kernel may go without.
static bool may_be_shared(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT && argument->is_optional && !argument->is_parts &&
           !argument->is_float32 && !argument->is_program_sum;
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

/// Whether all of the gradient is the upstream one, as far as the two are laid out alike and the claim covers it.
static bool is_upstream(Arena *arena, const Function *backward, const BackwardLaunch *launch,
                        int upstream, int gradient) {
    return launch->arguments[upstream].use == ARGUMENT_UPSTREAM &&
           launch->arguments[gradient].stored &&
           is_passed_on(arena, backward, launch, upstream, gradient);
}

static bool is_same(Arena *arena, const Function *backward, const BackwardLaunch *launch,
                    int earlier, int later) {
    const BackwardArgument *first = &launch->arguments[earlier],
                           *second = &launch->arguments[later];
    return may_be_shared(first) && !first->same_as &&
           claims_are_equal(first->stored, second->stored) &&
           are_stored_alike(arena, backward, backward->parameters[earlier].value,
                            backward->parameters[later].value);
}

/// The launch with what is known of its strides.
static BackwardLaunch with_strides(Arena *arena, const Kernel *kernel, const Function *backward,
                                   const BackwardLaunch *launch) {
    BackwardLaunch known = *launch;
    size_t size = sizeof *launch->arguments * (size_t)launch->argument_count;
    known.arguments = ARENA_ARRAY(arena, BackwardArgument, launch->argument_count + 1);
    if (size) memcpy(known.arguments, launch->arguments, size);
    upstream_strides_describe(arena, kernel, backward, &known);
    expanded_inputs_describe(arena, kernel, backward, &known);
    return known;
}

void same_gradients_describe(Arena *arena, const Kernel *kernel, const Function *backward,
                             BackwardLaunch *launch) {
    if (rereads(launch)) return;
    const BackwardLaunch known = with_strides(arena, kernel, backward, launch);
    for (int k = 1; k < launch->argument_count; k++) {  // upstream gradients come first
        BackwardArgument *later = &launch->arguments[k];
        for (int i = 0; i < k && may_be_shared(later) && !later->same_as; i++)
            if (is_upstream(arena, backward, &known, i, k) ||
                is_same(arena, backward, launch, i, k))
                later->same_as = launch->arguments[i].name;
    }
}

static void settle_launch(const Backward *result, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        int other = argument->same_as ? launch_index(launch, argument->same_as) : -1;
        bool is_shared = other >= 0 && launch->arguments[other].use == ARGUMENT_GRADIENT &&
                         !launch_alone(result, argument->same_as);
        if (is_shared || !launch_alone(result, argument->name)) argument->same_as = NULL;
    }
}

void same_gradients_settle(Backward *result) {
    for (int i = 0; i < result->launch_count; i++) settle_launch(result, &result->launches[i]);
    settle_launch(result, &result->whole);
}
