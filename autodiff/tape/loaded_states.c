// A tape's load in; out the load of memory that has the same number. The sweep of the tape's loop says what an iteration leaves, `left(i)`: where
// that is made of loads and of operations on elements alone, the state at the start of iteration `i` is `left(i - 1)`, and the first one's
// is what the loop begins with. It is done where all tapes that one loop fills go, so that nothing is left of it.
#include "autodiff/tape/loaded_states.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/saved.h"
#include "autodiff/tape/tape.h"

enum {
    FOR_BOUNDS = 3,    // operands of a loop over a range, in front of what it carries
    MOST_LOADS = 2,    // in place of one of a tape: more would take longer
    MOST_COPIED = 48,  // operations of an iteration that are made again
};

/// One load of a tape that is made anew in front of it.
typedef struct Recall {
    Differentiation *state;
    Builder b;
    const Op *load;
    Op *sweep;
    int rank;         // of the state
    const Map *ours;  // ops that are no stores of the forward
    int loads, copied;
} Recall;

/// What an iteration has: its number, and what was made again of it.
typedef struct Iteration {
    Value *number, *is_there;
    Map copies;
} Iteration;

static Value *copied(Recall *recall, Iteration *iteration, Value *value);

/// The loop's variable in an iteration.
static Value *variable_of(Recall *recall, const Iteration *iteration) {
    Builder *b = &recall->b;
    Value *step = build_binary(b, OP_MUL, iteration->number, recall->sweep->operands[2]);
    return build_binary(b, OP_ADD, recall->sweep->operands[0], step);
}

static bool can_be_again(const Recall *recall, const Op *op) {
    if (op->region_count || op->result_count != 1) return false;
    if (op->code == OP_LOAD)
        return op_is_stable_load(recall->state->backward, op) &&
               op->results[0]->type.rank <= recall->rank;
    return op_is_pure(op) && (op_is_by_element(op) || op_has(op->code, TRAIT_LAYOUT));
}

/// A load of an iteration that may not be there.
static void keep_load(Recall *recall, const Iteration *iteration, Op *load) {
    int at_mask = op_parameter_index(OP_LOAD, STR("mask")),
        at_other = op_parameter_index(OP_LOAD, STR("other"));
    Builder b = recall->b;
    b.before = load;
    Value *mask = load->operands[at_mask];
    mask = mask ? build_binary(&b, OP_AND, mask, iteration->is_there) : iteration->is_there;
    op_set_operand(load, at_mask, mask);
    if (!load->operands[at_other])
        op_set_operand(load, at_other,
                       dtype_is_float(load->results[0]->type.element) ? build_float(&b, 0.0)
                                                                      : build_int(&b, 0));
}

/* ---- what an iteration stored ---- */

typedef struct StateStore {
    const Recall *recall;
    const Value *value;
    Op *found;
} StateStore;

/// Whether each iteration of the sweep stores to elements of its own.
static bool is_of_iteration(const Recall *recall, Op *store) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Arena *arena = recall->state->arena;
    const Access access = access_of(arena, store);
    if (!access.offset.known) return false;
    const FunctionAxes around = function_axes(arena, recall->state->backward);
    int count = access_axes(arena, &around, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (!axes[i].is_program && axes[i].loop == recall->sweep)
            return dependence[i] == AXIS_OWNED;
    return false;
}

static bool visit_store(void *context, Op *op) {
    StateStore *search = context;
    const Recall *recall = search->recall;
    const bool is_it =
        op->code == OP_STORE && op->operands[1] == search->value &&
        op->parent == recall->sweep->regions[0] && !map_has_pointer(recall->ours, op) &&
        op->operands[0]->type.kind == TYPE_POINTER &&
        op->operands[0]->type.rank == search->value->type.rank &&
        stored_value_stays(recall->state, op, search->value, true) &&
        stored_lanes_are_all(recall->state, op, recall->ours) && is_of_iteration(recall, op);
    if (is_it) search->found = op;
    return !search->found;
}

/// What an iteration stored, loaded; NULL where it stored it nowhere, or nobody knows that it is still there.
static Value *loaded(Recall *recall, Iteration *iteration, Value *value) {
    StateStore search = {.recall = recall, .value = value};
    region_walk(recall->sweep->regions[0], visit_store, &search);
    if (!search.found || recall->loads++ >= MOST_LOADS) return NULL;
    Builder *b = &recall->b;
    Value *mask = access_mask(search.found),
          *at = copied(recall, iteration, search.found->operands[0]);
    if (mask) mask = copied(recall, iteration, mask);
    if (!at || (access_mask(search.found) && !mask)) return NULL;
    mask = mask ? build_binary(b, OP_AND, mask, iteration->is_there) : iteration->is_there;
    Value *found = build_ternary(b, OP_LOAD, at, mask, build_float(b, 0.0));
    if (!dtype_equal(found->type.element, value->type.element))
        found = build_binary(b, OP_CAST, found, build_dtype(b, value->type.element));
    map_set_pointer(&iteration->copies, value, found);
    return found;
}

/// A value of the sweep's body as it is in an iteration; NULL where it takes more than is worth it.
static Value *copied(Recall *recall, Iteration *iteration, Value *value) {
    const Region *body = recall->sweep->regions[0];
    Value *copy = map_get_pointer(&iteration->copies, value);
    if (copy) return copy;
    // A state of the iteration before takes longer than a tape: 0.65 ms became 1.21.
    if (value->region == body) {
        copy = value->index == 0 ? variable_of(recall, iteration) : NULL;
        if (copy) map_set_pointer(&iteration->copies, value, copy);
        return copy;
    }
    if (!region_defines(body, value)) return value_is_before(value, recall->load) ? value : NULL;
    copy = loaded(recall, iteration, value);
    if (copy) return copy;
    const Op *op = value->op;
    if (!op || recall->copied++ >= MOST_COPIED || !can_be_again(recall, op)) return NULL;
    if (op->code == OP_LOAD && recall->loads++ >= MOST_LOADS) return NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !copied(recall, iteration, op->operands[i])) return NULL;
    op_clone(&recall->b, op, &iteration->copies);
    copy = map_get_pointer(&iteration->copies, value);
    if (op->code == OP_LOAD) keep_load(recall, iteration, copy->op);
    return copy;
}

/// Whether it is 0 where an iteration is not there: a load under what keep_load asks, or what is made of it by a cast.
static bool is_zero_elsewhere(const Iteration *iteration, const Value *value) {
    double other;
    while (value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    const Op *op = value->op;
    if (!op || op->code != OP_LOAD) return false;
    const Value *mask = op->operands[op_parameter_index(OP_LOAD, STR("mask"))];
    bool asks = mask == iteration->is_there || (mask && mask->op && mask->op->code == OP_AND &&
                                                mask->op->operands[1] == iteration->is_there);
    return asks &&
           value_is_number(op->operands[op_parameter_index(OP_LOAD, STR("other"))], &other) &&
           other == 0;
}

static bool is_zero(const Value *value) {
    double number;
    if (value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    return value_is_number(value, &number) && number == 0;
}

/// What the loop carries at `index`, at the start of the iteration of that number.
static Value *state_at(Recall *recall, int index, Value *number) {
    Builder *b = &recall->b;
    Op *sweep = recall->sweep;
    Value *left = region_terminator(sweep->regions[0])->operands[index],
          *first = sweep->operands[FOR_BOUNDS + index];
    if (!value_is_before(first, recall->load)) return NULL;
    Iteration before = {.number = build_binary(b, OP_SUB, number, build_int(b, 1)),
                        .copies = map_new(recall->state->arena)};
    before.is_there = build_binary(b, OP_GT, number, build_int(b, 0));
    left = copied(recall, &before, left);
    if (!left) return NULL;
    if (is_zero(first) && is_zero_elsewhere(&before, left)) return left;
    return left == first ? left : build_ternary(b, OP_WHERE, before.is_there, left, first);
}

/// The number of the iteration whose state the load reads, as the place on the tape says it: where iteration `i` stores is `i` tiles
/// behind where the first one does.
static const Poly *number_of(Arena *arena, const Op *sweep, Op *store, Op *load) {
    const Access stored = access_of(arena, store), loaded = access_of(arena, load);
    if (!stored.offset.known || !loaded.offset.known) return NULL;
    Value *variable = sweep->regions[0]->arguments[0], *counter = variable;
    const Poly *lower = value_poly(arena, sweep->operands[0]), *first = lower;
    const Poly *from = poly_subtract(arena, poly_atom(arena, variable), lower),
               *step = value_poly(arena, sweep->operands[2]), *tile, *rest;
    int64_t one;
    if (!poly_is_constant(step, &one) || one != 1) {  // `(variable - lower) // step`
        counter = NULL;
        const Poly *base = stored.offset.base;
        for (int t = 0; t < base->count && !counter; t++)
            for (int i = 0; i < base->terms[t].atom_count && !counter; i++) {
                Value *atom = base->terms[t].atoms[i];
                const Op *op = atom->op;
                bool counts = op && op->code == OP_FLOORDIV &&
                              poly_equal(value_poly(arena, op->operands[0]), from) &&
                              poly_equal(value_poly(arena, op->operands[1]), step);
                if (counts) counter = atom;
            }
        first = poly_constant(arena, 0);
    }
    if (!counter || !poly_split(arena, stored.offset.base, counter, &tile, &rest)) return NULL;
    const Poly *start = poly_substitute(arena, stored.offset.base, counter, first);
    if (!start || poly_mentions(start, variable)) return NULL;
    return poly_divide_exact(arena, poly_subtract(arena, loaded.offset.base, start), tile);
}

/// Whether a number can be built in front of the operation.
static bool is_readable_before(const Poly *poly, const Op *place) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (!value_is_before(poly->terms[t].atoms[i], place)) return false;
    return true;
}

static Op *store_of(const Tape *tape) {
    for (LIST_EACH(int, i, tape->ops))
        if (tape->ops.items[i]->code == OP_STORE) return tape->ops.items[i];
    return NULL;
}

/// What memory has of what the load finds on its tape, at the load's place; NULL: nobody knows where.
static Value *found_in_memory(Differentiation *state, const Tape *tape, Op *load, const Map *ours) {
    Op *store = tape->steps ? NULL : store_of(tape);
    const Value *kept = store ? store->operands[1] : NULL;
    while (kept && kept->op && kept->op->code == OP_CAST) kept = kept->op->operands[0];
    if (!kept || tape->sweep->code != OP_FOR || kept->region != tape->sweep->regions[0] ||
        kept->index == 0)
        return NULL;
    for (int i = 0; i < FOR_BOUNDS; i++)
        if (!value_is_before(tape->sweep->operands[i], load)) return NULL;
    const Poly *number = number_of(state->arena, tape->sweep, store, load);
    if (!number || !is_readable_before(number, load)) return NULL;
    Recall recall = {.state = state,
                     .b = {.function = state->backward,
                           .region = load->parent,
                           .before = load,
                           .range = load->range},
                     .load = load,
                     .sweep = tape->sweep,
                     .rank = load->results[0]->type.rank,
                     .ours = ours};
    Value *at = build_poly(&recall.b, number);
    Value *value = at ? state_at(&recall, kept->index - 1, at) : NULL;
    const DType element = load->results[0]->type.element;
    if (value && !dtype_equal(value->type.element, element))
        value = build_binary(&recall.b, OP_CAST, value, build_dtype(&recall.b, element));
    if (value) value->name = kept->name;
    return value;
}

/// A load of a tape that the loop fills, and what memory has in its place.
typedef struct TapeLoad {
    Op *load;
    Value *instead;
} TapeLoad;

typedef struct TapeLoads {
    Differentiation *state;
    const Op *sweep;
    const Map *ours;
    LIST(TapeLoad) found;
} TapeLoads;

static bool visit_load(void *context, Op *op) {
    TapeLoads *loads = context;
    const Value *root = op->code == OP_LOAD ? pointer_root(op->operands[0]) : NULL;
    const Tape *tape = root ? tape_of(loads->state, root) : NULL;
    if (tape && tape->sweep == loads->sweep)
        LIST_PUSH(loads->state->arena, &loads->found, (TapeLoad){.load = op});
    return true;
}

/// Puts what memory has in the place of all tapes that a loop fills; false where some have to stay.
static bool take(Differentiation *state, const Op *sweep, const Map *ours) {
    TapeLoads loads = {.state = state, .sweep = sweep, .ours = ours};
    region_walk(state->backward->body, visit_load, &loads);
    for (LIST_EACH(int, i, loads.found)) {
        TapeLoad *found = &loads.found.items[i];
        const Tape *tape = tape_of(state, pointer_root(found->load->operands[0]));
        found->instead = found_in_memory(state, tape, found->load, ours);
        if (!found->instead) return false;
    }
    for (LIST_EACH(int, i, loads.found))
        region_replace_uses(state->backward->body, loads.found.items[i].load->results[0],
                            loads.found.items[i].instead);
    return loads.found.count > 0;
}

static void take_all(Differentiation *state, const Map *ours) {
    bool any = false;
    for (LIST_EACH(int, i, state->tapes.tapes)) {
        const Op *sweep = state->tapes.tapes.items[i]->sweep;
        bool is_first = sweep != NULL;
        for (int k = 0; k < i; k++) is_first &= state->tapes.tapes.items[k]->sweep != sweep;
        any |= is_first && take(state, sweep, ours);
    }
    function_drop_dead(state->backward);
    if (any) tapes_prune(state);
}

void loaded_states_take(Differentiation *state, const Map *ours) {
    if (state->tapes.tapes.count) take_all(state, ours);
}
