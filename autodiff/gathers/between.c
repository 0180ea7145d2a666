// A store to elements that are a few apart in; one that goes through all of them, with a mask for those, out.
#include "autodiff/gathers/between.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/atomics/tap_bounds.h"

enum {
    MOST_COPIED = 256,    // values that the store is made of
    MOST_WRITTEN_OUT = 4  // turns of a loop that the compiler writes one by one
};

typedef struct RowGaps {
    Differentiation *state;
    Arena *arena;
    Op *store;
    Coordinate coordinate;
    const Poly *step;
    Value *scaled;  // the lanes' numbers times the step, in the address
} RowGaps;

/* ---- what the kernel is ---- */

typedef struct OnlyStore {
    Op *store;
} OnlyStore;

static bool visit_op(void *context, Op *op) {
    OnlyStore *search = context;
    int effects = op_rows[op->code].effects;
    if (op->region_count || (effects & (EFFECT_ATOMIC | EFFECT_ORDERED))) return false;
    if (!(effects & EFFECT_WRITES)) return true;
    if (op->code != OP_STORE || search->store) return false;
    search->store = op;
    return true;
}

Op *only_store(const Function *function) {
    OnlyStore search = {NULL};
    return region_walk(function->body, visit_op, &search) ? search.store : NULL;
}

static bool is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!number->terms[t].atoms[i]->type.is_constexpr) return false;
    return true;
}

/// Whether a step is a small number that the compiler knows, and more than 1.
static bool is_small_step(const RowGaps *work, const Poly *step) {
    int64_t number;
    if (poly_is_constant(step, &number)) return number > 1 && number <= 32;
    return step->count == 1 && is_constexpr(step) && launches_pass_few(work->state, step);
}

/// Whether all that varies but the lanes and their programs moves the address by strides of the launch: it fills no gap between the elements.
static bool others_have_strides(const RowGaps *work, const Affine *form) {
    for (int i = 0; i < form->rank; i++)
        if (i != work->coordinate.lane && !poly_is_zero(form->lane[i]) &&
            is_constexpr(form->lane[i]))
            return false;
    for (int t = 0; t < form->base->count; t++) {
        const Monomial *term = &form->base->terms[t];
        bool is_own = false, has_stride = false;
        for (int i = 0; i < term->atom_count; i++) {
            Value *atom = term->atoms[i];
            is_own = is_own || atom == work->coordinate.program;
            has_stride = has_stride || (!atom->type.is_constexpr &&
                                        poly_is_fixed(work->arena, poly_atom(work->arena, atom)));
        }
        if (!is_own && !has_stride) return false;
    }
    return true;
}

static bool find_coordinate(RowGaps *work) {
    const Affine form = access_of(work->arena, work->store).offset;
    const Type *tile = &work->store->operands[0]->type;
    Value *const *programs = function_axes(work->arena, work->state->backward).programs;
    if (!form.known || form.wrapped) return false;
    for (int k = 0; k < form.rank; k++) {
        if (!is_small_step(work, form.lane[k]) || !tile->dims[k]) continue;
        for (int axis = 0; axis < PROGRAM_AXES; axis++) {
            const Poly *weight, *rest;
            if (!programs[axis] ||
                !poly_split(work->arena, form.base, programs[axis], &weight, &rest) ||
                !poly_equal(weight, poly_multiply(work->arena, tile->dims[k], form.lane[k])))
                continue;
            work->coordinate = (Coordinate){.axis = axis,
                                            .program = programs[axis],
                                            .size = tile->dims[k],
                                            .lane = k,
                                            .weight = form.lane[k]};
            work->step = form.lane[k];
            return others_have_strides(work, &form);
        }
    }
    return false;
}

static Value *unspread(Value *value) {
    while (value->op && (value->op->code == OP_EXPAND_DIMS || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[0];
    return value;
}

/// The product of the lanes' numbers and the step, in the address; NULL where it is spelled otherwise.
static Value *find_scaled(const RowGaps *work, Value *value, int *left) {
    const Op *op = value->op;
    if (!op || --*left < 0) return NULL;
    for (int i = 0; i < 2 && op->code == OP_MUL; i++)
        if (value_is_coordinate(work->arena, &work->coordinate, unspread(op->operands[i])) &&
            poly_equal(value_poly(work->arena, op->operands[1 - i]), work->step))
            return value;
    bool is_sum = op->code == OP_ADD || op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO;
    for (int i = 0; i < op->operand_count && is_sum; i++) {
        Value *found = op->operands[i] ? find_scaled(work, op->operands[i], left) : NULL;
        if (found) return found;
    }
    return NULL;
}

/* ---- the new store ---- */

/// `number < bound` of the lanes' numbers: the bound, else NULL.
static Value *end_of(const RowGaps *work, Value *condition) {
    const Op *op = unspread(condition)->op;
    bool is_end = op && op->code == OP_LT && op->operands[1]->type.rank == 0 &&
                  value_is_coordinate(work->arena, &work->coordinate, unspread(op->operands[0])) &&
                  !value_has_coordinate(work->arena, &work->coordinate, op->operands[1]);
    return is_end ? op->operands[1] : NULL;
}

/// The mask for elements: below what ends the lanes, and a whole number of steps from the first one. NULL where the lanes have no end.
static Value *mask_of_elements(const RowGaps *work, OtherReader *reader, Value *element,
                               Value *is_read) {
    Builder *b = reader->builder;
    const int rank = work->store->operands[0]->type.rank;
    TapConditions conditions = tap_conditions(work->arena, access_mask(work->store));
    Value *mask = NULL;
    bool has_end = false;
    for (LIST_EACH(int, i, conditions)) {
        Value *condition = conditions.items[i], *end = end_of(work, condition);
        if (end) {
            has_end = true;
            Value *bound = build_binary(b, OP_MUL, end, build_poly(b, work->step));
            condition = coordinate_spread(b, &work->coordinate,
                                          build_binary(b, OP_LT, element, bound), rank, rank);
        } else {
            condition = reader_value(reader, condition);
        }
        if (!condition) return NULL;
        mask = conditions_both(b, mask, condition);
    }
    is_read = coordinate_spread(b, &work->coordinate, is_read, rank, rank);
    return has_end && is_read ? conditions_both(b, mask, is_read) : NULL;
}

static Op *open_turns(const RowGaps *work, Builder *b) {
    int64_t count;
    bool is_static = poly_is_constant(work->step, &count) && count <= MOST_WRITTEN_OUT;
    Value *bounds[] = {build_int(b, 0), build_poly(b, work->step), build_int(b, 1)};
    Op *loop = op_append(b, is_static ? OP_STATIC_FOR : OP_FOR, bounds, 3, 0);
    Type type = bounds[0]->type;
    type.is_constexpr = is_static;
    Region *body = op_add_region(b, loop);
    region_add_argument(b->function, body, type, "turn");
    loop->range = work->store->range;
    return loop;
}

static bool store_elements(const RowGaps *work, Builder *inside, Value *turn) {
    const Op *store = work->store;
    const int rank = store->operands[0]->type.rank;
    Value *step = build_poly(inside, work->step), *size = build_poly(inside, work->coordinate.size);
    Value *block = build_binary(inside, OP_ADD,
                                build_binary(inside, OP_MUL, work->coordinate.program, step), turn);
    Value *lanes = build_binary(inside, OP_ARANGE, build_int(inside, 0), size);
    Value *element = build_binary(inside, OP_ADD, build_binary(inside, OP_MUL, block, size), lanes);
    Value *number = build_binary(inside, OP_FLOORDIV, element, step);
    Value *is_read = build_binary(inside, OP_EQ, build_binary(inside, OP_MOD, element, step),
                                  build_int(inside, 0));
    OtherReader reader = {.function = work->state->backward,
                          .builder = inside,
                          .coordinates = &work->coordinate,
                          .count = 1,
                          .rank = rank,
                          .numbers = {number},
                          .copies = map_new(work->arena),
                          .left = MOST_COPIED};
    Value *mask = mask_of_elements(work, &reader, element, is_read);
    Value *value = mask ? reader_value(&reader, store->operands[1]) : NULL;
    Value *spread = coordinate_spread(inside, &work->coordinate, element, work->scaled->type.rank,
                                      work->scaled->type.rank);
    if (!value || !spread) return false;
    map_set_pointer(&reader.copies, work->scaled, spread);
    Value *pointer = reader_value(&reader, store->operands[0]);
    if (pointer) build(inside, OP_STORE, (Value *[]){pointer, value, mask}, 3);
    return pointer != NULL;
}

WholeStore gradient_find_whole_rows(Differentiation *state) {
    RowGaps work = {.state = state, .arena = state->arena};
    int left = MOST_COPIED;
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD;
    work.store = is_set ? only_store(state->backward) : NULL;
    if (!work.store || !access_mask(work.store) || !find_coordinate(&work)) return (WholeStore){0};
    work.scaled = find_scaled(&work, work.store->operands[0], &left);
    if (!work.scaled || (work.scaled->type.rank > 1 &&
                         work.scaled->type.rank != work.store->operands[0]->type.rank))
        return (WholeStore){0};
    Builder b = {.function = state->backward,
                 .region = work.store->parent,
                 .before = work.store,
                 .range = work.store->range};
    Op *loop = open_turns(&work, &b);
    Region *body = loop->regions[0];
    Builder inside = {.function = state->backward, .region = body, .range = b.range};
    bool is_made = store_elements(&work, &inside, body->arguments[0]);
    Op *end = op_append(&inside, OP_YIELD, NULL, 0, 0);
    if (is_made) return (WholeStore){.own = work.store, .whole = end->previous, .around = loop};
    op_remove(loop);
    return (WholeStore){0};
}
