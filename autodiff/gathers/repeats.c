// From an addition at quotients of numbers of programs and lanes to one at these numbers: the owner of an element asks its readers.
#include "autodiff/gathers/repeats.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/type.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/atomics/tap_bounds.h"
#include "autodiff/rewrite/copying.h"

enum {
    MOST_REPEATS = 3,   // quotients in an address
    MOST_COPIED = 256,  // values that a reader is made of
    MOST_LOOKED = 256,  // of an address
};

/// A quotient in the address: so many numbers that follow each other read one element.
typedef struct Repeat {
    Op *quotient;
    Value *number;  // of the owner: a program's id, or a row of lanes
    const Poly *count;
} Repeat;

typedef struct Repeats {
    Differentiation *state;
    Arena *arena;
    const Op *op;
    Coordinate coordinates[MOST_REPEATS];
    Repeat items[MOST_REPEATS];
    int count;
    int looked;
} Repeats;

/* ---- what is repeated ---- */

static bool poly_is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!number->terms[t].atoms[i]->type.is_constexpr) return false;
    return true;
}

/// What a value numbers: programs along an axis, or the lanes of a tile, which programs may have the next ones of.
static bool find_coordinate(const Repeats *repeats, const Value *value, Coordinate *found) {
    Arena *arena = repeats->arena;
    Value *const *programs = repeats->state->versions.axes->programs;
    const Type *tile = &repeats->op->operands[0]->type;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        *found = (Coordinate){.axis = axis, .program = programs[axis]};
        if (programs[axis] && value_is_coordinate(arena, found, value)) return true;
    }
    for (int lane = 0; lane < tile->rank; lane++)
        for (int axis = -1; axis < PROGRAM_AXES; axis++) {
            *found = (Coordinate){.axis = axis, .size = tile->dims[lane], .lane = lane};
            if (axis >= 0 && !(found->program = programs[axis])) continue;
            if (found->size && value_is_coordinate(arena, found, value)) return true;
        }
    return false;
}

static bool add_repeat(Repeats *repeats, Op *quotient) {
    Repeat repeat = {.quotient = quotient,
                     .number = quotient->operands[0],
                     .count = value_poly(repeats->arena, quotient->operands[1])};
    Coordinate found;
    if (repeats->count == MOST_REPEATS || repeat.number->type.rank > 1 ||
        !poly_is_constexpr(repeat.count) || !launches_pass_few(repeats->state, repeat.count) ||
        !find_coordinate(repeats, repeat.number, &found))
        return false;
    for (int i = 0; i < repeats->count; i++) {
        const Coordinate *other = &repeats->coordinates[i];
        bool is_same = other->program && other->program == found.program;
        if (is_same || (other->size && found.size && other->lane == found.lane)) return false;
    }
    repeats->coordinates[repeats->count] = found;
    repeats->items[repeats->count++] = repeat;
    return true;
}

static bool is_found(const Repeats *repeats, const Op *op) {
    for (int i = 0; i < repeats->count; i++)
        if (repeats->items[i].quotient == op) return true;
    return false;
}

/// The quotients that an address is made of. False where one is of something else.
static bool find_repeats(Repeats *repeats, Value *value) {
    const Op *op = value->op;
    if (!op || value->constant || op->region_count) return true;
    if (repeats->looked++ == MOST_LOOKED) return false;
    if (op->code == OP_FLOORDIV) {
        Op *quotient = value->op;
        return is_found(repeats, quotient) || add_repeat(repeats, quotient);
    }
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !find_repeats(repeats, op->operands[i])) return false;
    return true;
}

static Value *unspread(Value *value) {
    while (value->op && (value->op->code == OP_EXPAND_DIMS || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[0];
    return value;
}

/// Which coordinate a condition ends, `number < end`; -1: it has nothing of any; -2: something else.
static int ended_by(const Repeats *repeats, Value *condition) {
    const Op *op = unspread(condition)->op;
    int found = -1;
    for (int c = 0; c < repeats->count; c++) {
        const Coordinate *coordinate = &repeats->coordinates[c];
        if (!value_has_coordinate(repeats->arena, coordinate, condition)) continue;
        bool is_end = op && op->code == OP_LT && op->operands[1]->type.rank == 0 &&
                      value_is_coordinate(repeats->arena, coordinate, unspread(op->operands[0]));
        if (found != -1 || !is_end ||
            value_has_coordinate(repeats->arena, coordinate, op->operands[1]))
            return -2;
        found = c;
    }
    return found;
}

/* ---- the new statement ---- */

static OtherReader reader_of(const Repeats *repeats, Builder *b) {
    return (OtherReader){.function = repeats->state->backward,
                         .builder = b,
                         .coordinates = repeats->coordinates,
                         .count = repeats->count,
                         .rank = repeats->op->operands[0]->type.rank,
                         .copies = map_new(repeats->arena),
                         .left = MOST_COPIED};
}

/// The address with the owner's numbers in the place of quotients.
static Value *own_pointer(const Repeats *repeats, Builder *b) {
    OtherReader owner = reader_of(repeats, b);
    for (int i = 0; i < repeats->count; i++)
        map_set_pointer(&owner.copies, repeats->items[i].quotient->results[0],
                        repeats->items[i].number);
    return reader_value(&owner, repeats->op->operands[0]);
}

/// So many owners as `end` readers have.
static Value *owners_up_to(Builder *b, const Repeat *repeat, Value *end) {
    Arena *arena = b->function->arena;
    const Poly *exact = poly_divide_exact(arena, value_poly(arena, end), repeat->count);
    if (exact) return build_poly(b, exact);
    return build_trip_count(b, build_int(b, 0), end, build_poly(b, repeat->count));
}

static Value *own_condition(const Repeats *repeats, Builder *b, int c, Value *end) {
    const Repeat *repeat = &repeats->items[c];
    int rank = repeats->op->operands[0]->type.rank;
    Value *owns = build_binary(b, OP_LT, repeat->number, owners_up_to(b, repeat, end));
    return coordinate_spread(b, &repeats->coordinates[c], owns, rank, rank);
}

/// Where an element has a reader: its first one is of the launch, and below what ends the readers. False where something else is in their masks.
static bool own_mask(const Repeats *repeats, Builder *b, Value **mask) {
    TapConditions conditions = tap_conditions(repeats->arena, access_mask(repeats->op));
    *mask = NULL;
    for (LIST_EACH(int, i, conditions)) {
        Value *condition = conditions.items[i];
        int c = ended_by(repeats, condition);
        if (c == -2) return false;
        if (c >= 0) condition = own_condition(repeats, b, c, unspread(condition)->op->operands[1]);
        if (!condition) return false;
        *mask = conditions_both(b, *mask, condition);
    }
    for (int c = 0; c < repeats->count; c++) {
        Value *inside = own_condition(repeats, b, c, coordinate_end(b, &repeats->coordinates[c]));
        if (!inside) return false;
        *mask = conditions_both(b, *mask, inside);
    }
    return true;
}

/// `number * count + turn`, and whether the launch has it.
static void move_reader(const Repeats *repeats, OtherReader *reader, Value *const *turns) {
    Builder *b = reader->builder;
    for (int c = 0; c < repeats->count; c++) {
        const Repeat *repeat = &repeats->items[c];
        Value *number = build_binary(b, OP_MUL, repeat->number, build_poly(b, repeat->count));
        number = build_binary(b, OP_ADD, number, turns[c]);
        reader->numbers[c] = number;
        reader->inside[c] =
            build_binary(b, OP_LT, number, coordinate_end(b, &repeats->coordinates[c]));
    }
}

/// Where a reader adds something: its own mask, and that it is one of the launch. False where that cannot be said.
static bool reader_mask(const Repeats *repeats, OtherReader *reader, Value **mask) {
    Builder *b = reader->builder;
    Value *own = access_mask(repeats->op);
    *mask = own ? reader_value(reader, own) : NULL;
    if (own && !*mask) return false;
    for (int c = 0; c < repeats->count; c++) {
        Value *inside = coordinate_spread(b, &repeats->coordinates[c], reader->inside[c],
                                          reader->rank, reader->rank);
        if (!inside) return false;
        *mask = conditions_both(b, *mask, inside);
    }
    return true;
}

/// The sum of what the readers of an element add, in a loop for each quotient; NULL where one cannot be made.
static Value *sum_of_readers(const Repeats *repeats, Builder *b) {
    Value *turns[MOST_REPEATS], *sum = zeros_added(b, repeats->op), *result = NULL, *mask;
    Builder inside = *b;
    if (!sum || sum->type.rank == 0) return NULL;
    for (int i = 0; i < repeats->count; i++) {
        Value *bounds[] = {build_int(&inside, 0), build_poly(&inside, repeats->items[i].count),
                           build_int(&inside, 1), sum};
        Op *loop = op_append(&inside, OP_STATIC_FOR, bounds, 4, 0);
        Type type = bounds[0]->type;
        type.is_constexpr = true;
        Region *region = op_add_region(&inside, loop);
        turns[i] = region_add_argument(b->function, region, type, "turn");
        sum = region_add_argument(b->function, region, sum->type, "total");
        Value *after = op_append_result(b->function, loop, sum->type);
        after->name = "total";
        if (i) op_append(&inside, OP_YIELD, &after, 1, 0);
        if (!i) result = after;
        inside = (Builder){.function = b->function, .region = region, .range = b->range};
    }
    OtherReader reader = reader_of(repeats, &inside);
    move_reader(repeats, &reader, turns);
    Value *term = reader_value(&reader, repeats->op->operands[1]);
    if (!term || !reader_mask(repeats, &reader, &mask)) return NULL;
    if (mask) term = build_ternary(&inside, OP_WHERE, mask, term, build_float(&inside, 0.0));
    Value *next = build_binary(&inside, OP_ADD, sum, term);
    op_append(&inside, OP_YIELD, &next, 1, 0);
    return result;
}

Op *repeats_gather(Differentiation *state, const Accumulation *statement, TapsCheck *is_private) {
    Repeats repeats = {.state = state, .arena = state->arena, .op = statement->op};
    if (statement->op->parent != state->backward->body ||
        !find_repeats(&repeats, statement->op->operands[0]) || !repeats.count)
        return NULL;
    Builder b = {.function = state->backward,
                 .region = statement->op->parent,
                 .before = statement->op->next,
                 .range = statement->range};
    Value *mask, *pointer = own_mask(&repeats, &b, &mask) ? own_pointer(&repeats, &b) : NULL;
    Value *sum = pointer ? sum_of_readers(&repeats, &b) : NULL;
    if (!sum) return NULL;
    Accumulation own = *statement;
    own.op = build(&b, OP_ATOMIC_ADD, (Value *[]){pointer, sum, mask}, 3)->op;
    if (is_private(state, &own)) return own.op;
    op_remove(own.op);
    return NULL;
}
