// A store at a shifted number in; one at the number itself, of what the shifted program would have stored, out.
#include "autodiff/gathers/turned_back.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/tap_bounds.h"
#include "autodiff/digits/rotations.h"

enum { MOST_COPIED = 256 };  // values that the store is made of

static int axis_of(const Value *program) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (value_is_program_id(program, axis)) return axis;
    return -1;
}

/// `whole` less `program`: what was added.
static Value *shift_of(Builder *b, const ShiftedBy *by) {
    const Op *op = by->whole->op;
    bool is_first = op->operands[0] == by->program;
    if (op->code == OP_SUB) return build_unary(b, OP_NEG, op->operands[1]);
    return op->operands[is_first ? 1 : 0];
}

/// The mask of the reader's own, with that it is one of the launch. NULL where it cannot be made.
static Value *mask_of_reader(OtherReader *reader, const Op *store) {
    TapConditions conditions = tap_conditions(reader->function->arena, access_mask(store));
    Value *mask = NULL;
    for (LIST_EACH(int, i, conditions)) {
        Value *condition = reader_value(reader, conditions.items[i]);
        if (!condition) return NULL;
        mask = conditions_both(reader->builder, mask, condition);
    }
    return conditions_both(reader->builder, mask, reader->inside[0]);
}

/// A value with its loads made once more in the builder's place; NULL beyond `left` values.
static Value *loaded_again(Builder *b, Value *value, Map *copies, int *left) {
    Value *known = map_get_pointer(copies, value);
    if (known || !value->op || value->constant) return known ? known : value;
    if ((*left)-- <= 0 || value->op->region_count) return NULL;
    bool is_other = value->op->code == OP_LOAD;
    for (int i = 0; i < value->op->operand_count; i++) {
        Value *operand = value->op->operands[i],
              *own = operand ? loaded_again(b, operand, copies, left) : NULL;
        if (operand && !own) return NULL;
        is_other = is_other || own != operand;
    }
    if (is_other) op_clone(b, value->op, copies);
    known = is_other ? map_get_pointer(copies, value) : value;
    map_set_pointer(copies, value, known);
    return known;
}

/// Elements that no program of the launch has the number of are stored by the program that reads them.
static bool store_beyond(Builder *b, const Op *store, const ShiftedBy *by,
                         const Coordinate *coordinate) {
    Value *is_below = build_binary(b, OP_LT, by->whole, build_int(b, 0)),
          *is_above = build_binary(b, OP_GE, by->whole, coordinate_end(b, coordinate));
    Value *is_beyond = build_binary(b, OP_OR, is_below, is_above);
    Op *branch = op_append(b, OP_IF, &is_beyond, 1, 0);
    Map copies = map_new(b->function->arena);
    int left = MOST_COPIED;
    for (int r = 0; r < 2; r++) {
        Builder side = {
            .function = b->function, .region = op_add_region(b, branch), .range = b->range};
        Op *end = op_append(&side, OP_YIELD, NULL, 0, 0);
        if (r) break;
        side.before = end;
        Value *value = loaded_again(&side, store->operands[1], &copies, &left);
        if (!value) return false;
        build(&side, OP_STORE, (Value *[]){store->operands[0], value, access_mask(store)}, 3);
    }
    return true;
}

WholeStore gradient_find_turned_back(Differentiation *state) {
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD;
    Op *store = is_set ? only_store(state->backward) : NULL;
    ShiftedBy by;
    if (!store || !access_mask(store) || !access_unshifted(state->arena, store, &by) || !by.program)
        return (WholeStore){0};
    Coordinate coordinate = {.axis = axis_of(by.program), .program = by.program};
    Builder b = {.function = state->backward,
                 .region = store->parent,
                 .before = store,
                 .range = store->range};
    Value *number = build_binary(&b, OP_SUB, by.program, shift_of(&b, &by));
    Value *inside = build_binary(&b, OP_AND, build_binary(&b, OP_GE, number, build_int(&b, 0)),
                                 build_binary(&b, OP_LT, number, coordinate_end(&b, &coordinate)));
    OtherReader reader = {.function = state->backward,
                          .builder = &b,
                          .coordinates = &coordinate,
                          .count = 1,
                          .rank = store->operands[0]->type.rank,
                          .numbers = {number},
                          .inside = {inside},
                          .copies = map_new(state->arena),
                          .left = MOST_COPIED};
    Value *mask = mask_of_reader(&reader, store);
    Value *value = mask ? reader_value(&reader, store->operands[1]) : NULL;
    if (!value) return (WholeStore){0};
    map_set_pointer(&reader.copies, by.whole, by.program);
    Value *pointer = reader_value(&reader, store->operands[0]);
    if (!pointer) return (WholeStore){0};
    build(&b, OP_STORE, (Value *[]){pointer, value, mask}, 3);
    Op *whole = store->previous;
    if (!store_beyond(&b, store, &by, &coordinate)) {
        while (store->previous != whole) op_remove(store->previous);
        op_remove(whole);
        return (WholeStore){0};
    }
    return (WholeStore){.own = store, .whole = whole, .around = whole};
}
