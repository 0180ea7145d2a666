// Programs of a launch run in no order. Where one waits for another, or reads what another stores, the forward has a meaning
// only by that order, which the backward does not have.
#include "autodiff/programs/communication.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/tape/memory.h"

enum { FARTHEST_NEIGHBOUR = 8 };

typedef struct Communication {
    const Op *op;  // where a program waits for others, or reads what they store; or NULL
    const char *text;
} Communication;

typedef struct Search {
    Arena *arena;
    Function *function;
    FunctionAxes axes;
    Map written;  // pointer parameters -> an op that writes to them
    Communication found;
} Search;

static bool is_write(const Op *op) {
    return op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
}

static bool is_read(const Op *op) { return op_rows[op->code].effects & EFFECT_READS; }

static const char *buffer_name(const Search *search, const Op *op) {
    const Value *root = op->operand_count ? pointer_root(op->operands[0]) : NULL;
    bool is_parameter = root && !root->op && root->index < search->function->parameter_count;
    return is_parameter ? search->function->parameters[root->index].name : "memory";
}

/* ---- loops that wait ---- */

typedef struct WaitSearch {
    Search *search;
    const Op *loop;
    Map seen;
    const Op *read;  // of a place that is the same in each iteration
    bool makes_way;  // something else changes from one iteration to the next
} WaitSearch;

static void wait_on(WaitSearch *waiting, const Value *value);

/// What the loop carries: its next value, which is progress where it is made of carried values.
static void wait_on_carried(WaitSearch *waiting, const Value *value) {
    const Op *loop = waiting->loop;
    const Op *yield = region_terminator(loop->regions[loop->region_count - 1]);
    if (!yield || value->index >= yield->operand_count) return;
    const Value *next = yield->operands[value->index];
    for (int i = 0; i < yield->operand_count; i++) {
        const Value *carried = loop->regions[loop->region_count - 1]->arguments[i];
        if (next != carried && value_depends_on(waiting->search->arena, next, carried, NULL))
            waiting->makes_way = true;
    }
    wait_on(waiting, next);
}

static void wait_on(WaitSearch *waiting, const Value *value) {
    if (!value || map_has_pointer(&waiting->seen, value)) return;
    map_set_pointer(&waiting->seen, value, (void *)1);
    const Op *owner = value->op ? value->op : value->region ? value->region->parent : NULL;
    if (!owner || !op_is_within(owner, waiting->loop)) return;
    if (!value->op && owner == waiting->loop) {
        wait_on_carried(waiting, value);
        return;
    }
    if (is_read(owner) && loop_invariant(waiting->loop, owner->operands[0])) waiting->read = owner;
    if (op_rows[owner->code].effects & EFFECT_RANDOM) waiting->makes_way = true;
    for (int i = 0; i < owner->operand_count; i++) wait_on(waiting, owner->operands[i]);
    for (int r = 0; r < owner->region_count; r++) {
        const Op *end = region_terminator(owner->regions[r]);
        for (int i = 0; end && i < end->operand_count; i++) wait_on(waiting, end->operands[i]);
    }
}

typedef struct LoopWrites {
    const Value *root;
    const Op *read;
    bool found;
} LoopWrites;

static bool visit_loop_write(void *context, Op *op) {
    LoopWrites *writes = context;
    if (op != writes->read && is_write(op) && pointer_root(op->operands[0]) == writes->root)
        writes->found = true;
    return !writes->found;
}

/// A loop whose condition changes only if something that it reads does, which it does not write to itself.
static void find_waiting(Search *search, const Op *loop) {
    WaitSearch waiting = {.search = search, .loop = loop, .seen = map_new(search->arena)};
    for (int r = 0; r < loop->region_count; r++) {
        const Op *end = region_terminator(loop->regions[r]);
        if (end && end->code == OP_CONDITION) wait_on(&waiting, end->operands[0]);
    }
    if (!waiting.read || waiting.makes_way) return;
    LoopWrites writes = {.root = pointer_root(waiting.read->operands[0]), .read = waiting.read};
    for (int r = 0; r < loop->region_count; r++)
        region_walk(loop->regions[r], visit_loop_write, &writes);
    if (writes.found) return;
    search->found = (Communication){
        waiting.read, arena_printf(search->arena,
                                   "a program waits here for another one to change `%s`, and the "
                                   "backward does not know in which order they came; use a kernel "
                                   "for each step",
                                   buffer_name(search, waiting.read))};
}

/* ---- elements of other programs ---- */

/// Whether a condition or a bound around an op, or its mask, is another in each program along the axis, or comes from memory.
static bool is_chosen_by(const Search *search, const Op *op, const Value *id) {
    LIST(const Value *) deciding = {0};
    LIST_PUSH(search->arena, &deciding, access_mask(op));
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent) {
        int bounds = outer->code == OP_IF ? 1 : outer->code == OP_WHILE ? 0 : 3;
        for (int i = 0; i < bounds && i < outer->operand_count; i++)
            LIST_PUSH(search->arena, &deciding, outer->operands[i]);
    }
    for (LIST_EACH(int, i, deciding))
        if (deciding.items[i] && value_depends_on(search->arena, deciding.items[i], id, NULL))
            return true;
    return false;
}

static bool lanes_are_alike(const Access *a, const Access *b) {
    const Type left = a->op->operands[0]->type, right = b->op->operands[0]->type;
    if (a->offset.rank != b->offset.rank || left.rank != right.rank) return false;
    for (int i = 0; i < a->offset.rank; i++)
        if (!poly_equal(a->offset.lane[i], b->offset.lane[i])) return false;
    for (int i = 0; i < left.rank; i++)
        if (!left.dims[i] || !right.dims[i] || !poly_equal(left.dims[i], right.dims[i]))
            return false;
    return true;
}

/// Whether tiles that stand `distance` apart reach into the tile of another program, `step` apart from the next.
static bool reaches_neighbour(Arena *arena, const Access *access, const Poly *step,
                              const Poly *distance) {
    for (int64_t k = -FARTHEST_NEIGHBOUR; k <= FARTHEST_NEIGHBOUR; k++)
        if (k && poly_equal(distance, poly_multiply(arena, poly_constant(arena, k), step)))
            return true;
    const Type type = access->op->operands[0]->type;
    int64_t one, far;
    bool is_row = type.rank == 1 && access->offset.rank == 1 &&
                  poly_is_constant(access->offset.lane[0], &one) && one == 1;
    return is_row && poly_is_constant(distance, &far) && far && poly_equal(type.dims[0], step);
}

static bool depends(Arena *arena, const Poly *poly, const Value *id) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (value_depends_on(arena, poly->terms[t].atoms[i], id, NULL)) return true;
    return false;
}

/// Whether programs along the axis certainly load what others of them store.
static bool meet_along(Search *search, Op *load, Op *store, Value *id) {
    Arena *arena = search->arena;
    Access a = access_of(arena, load), b = access_of(arena, store);
    if (!a.offset.known || !b.offset.known || a.offset.wrapped || b.offset.wrapped) return false;
    if (!lanes_are_alike(&a, &b)) return false;
    const Poly *steps[2], *rests[2];
    if (!poly_split(arena, a.offset.base, id, &steps[0], &rests[0]) ||
        !poly_split(arena, b.offset.base, id, &steps[1], &rests[1]) ||
        !poly_equal(steps[0], steps[1]))
        return false;
    // Digits of the id are another way to tell programs apart.
    for (int i = 0; i < a.offset.rank; i++)
        if (depends(arena, a.offset.lane[i], id)) return false;
    if (depends(arena, rests[0], id) || depends(arena, rests[1], id)) return false;
    const Poly *distance = poly_subtract(arena, rests[0], rests[1]);
    if (!poly_is_zero(steps[0])) return reaches_neighbour(arena, &a, steps[0], distance);
    if (!poly_is_zero(distance)) return false;
    const Value *stored = store->operand_count > 1 ? store->operands[1] : NULL;
    bool differs =
        stored && (value_depends_on(arena, stored, id, NULL) ||
                   (load->result_count && value_depends_on(arena, stored, load->results[0], NULL)));
    return differs && !is_chosen_by(search, load, id) && !is_chosen_by(search, store, id);
}

/// Whether two accesses to one place are in branches of a condition that tells programs apart.
static bool are_branches_of_programs(Search *search, Op *load, Op *store) {
    if (!ops_are_exclusive(load, store) || !places_are_equal(search->arena, load, store))
        return false;
    for (const Op *outer = load->parent->parent; outer; outer = outer->parent->parent) {
        if (outer->code != OP_IF || !op_is_within(store, outer)) continue;
        for (int axis = 0; axis < PROGRAM_AXES; axis++) {
            const Value *id = search->axes.programs[axis];
            if (id && value_depends_on(search->arena, outer->operands[0], id, NULL)) return true;
        }
        return false;
    }
    return false;
}

static const Value *named(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    if (index >= 0 && index < op->operand_count && op->operands[index]) return op->operands[index];
    for (int i = 0; i < op->keyword_count; i++)
        if (strcmp(op->keywords[i].name, name) == 0) return op->keywords[i].value;
    return NULL;
}

/// `volatile=True` and `cache_modifier=".cv"` say that somebody else stores while the kernel runs.
static bool expects_others(const Op *op) {
    bool is_volatile = false;
    const Value *flag = named(op, "volatile"), *cache = named(op, "cache_modifier");
    if (flag && value_is_bool(flag, &is_volatile) && is_volatile) return true;
    return cache && cache->constant && cache->constant->kind == CONSTANT_STRING &&
           str_is(cache->constant->string, ".cv");
}

static void find_meeting(Search *search, Op *load, Op *store) {
    if (places_are_owned_together(search->arena, &search->axes, load, store, true)) return;
    bool meets = expects_others(load) || are_branches_of_programs(search, load, store);
    for (int axis = 0; axis < PROGRAM_AXES && !meets; axis++) {
        Value *id = search->axes.programs[axis];
        meets = id && meet_along(search, load, store, id);
    }
    if (!meets) return;
    search->found = (Communication){
        load, arena_printf(search->arena,
                           "this reads of `%s` what another program of the launch stores (line "
                           "%d), and programs run in no order; use a kernel for each step",
                           buffer_name(search, load), range_line(store->range))};
}

/* ---- all of it ---- */

static bool visit_op(void *context, Op *op) {
    Search *search = context;
    if (search->found.op) return false;
    if (op->code == OP_WHILE) find_waiting(search, op);
    bool loads = op->code == OP_LOAD;
    const Value *root = loads ? pointer_root(op->operands[0]) : NULL;
    if (!root || !map_has_pointer(&search->written, root)) return !search->found.op;
    OpList accesses = memory_accesses(search->arena, search->function, root);
    for (int i = 0; i < accesses.count && !search->found.op; i++)
        if (is_write(accesses.items[i])) find_meeting(search, op, accesses.items[i]);
    return !search->found.op;
}

void communication_find(Differentiation *state) {
    Search search = {.arena = state->arena,
                     .function = state->primal,
                     .axes = function_axes(state->arena, state->primal)};
    search.written = function_writes(state->primal).roots;
    region_walk(state->primal->body, visit_op, &search);
    if (!search.found.op) return;
    state->communication = search.found.text;
    state->communication_range = search.found.op->range;
}

void communication_refuse(Differentiation *state) {
    if (state->communication)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_COMMUNICATION, state->communication_range, "%s",
                     state->communication);
}
