// How often a loop runs, where that is used behind it.
#include "autodiff/rewrite/trips.h"

#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct Counting {
    Arena *arena;
} Counting;

/// Whether a sum is of numbers that are 0 or more.
static bool is_sum_of_counts(ValueWalk *walk, const Poly *sum) {
    for (int t = 0; t < sum->count; t++) {
        if (sum->terms[t].coefficient < 0) return false;
        for (int i = 0; i < sum->terms[t].atom_count; i++)
            if (!walk_ask(walk, sum->terms[t].atoms[i])) return false;
    }
    return true;
}

static bool is_quotient_of_counts(ValueWalk *walk, const Op *op) {
    const Counting *counting = walk->context;
    Arena *arena = counting->arena;
    const Poly *number = value_poly(arena, op->operands[0]),
               *divisor = value_poly(arena, op->operands[1]);
    if (!is_sum_of_counts(walk, divisor)) return false;
    // rounded up: `x + (y - 1)`, where y is at least 1, as all that is divided by
    const Poly *rounded =
        poly_add(arena, poly_subtract(arena, number, divisor), poly_constant(arena, 1));
    return is_sum_of_counts(walk, number) || is_sum_of_counts(walk, rounded);
}

/// Whether a whole number is certainly 0 or more. Parameters are, as sizes and strides: a step below 0 is written as one.
static intptr_t is_count(ValueWalk *walk, const Value *value) {
    int64_t number;
    if (!value) return false;
    if (value_is_int(value, &number)) return number >= 0;
    const Op *op = value->op, *owner = value->region ? value->region->parent : NULL;
    if (!op && !owner) return true;
    if (!op)
        return owner->code == OP_FOR && value->index == 0 && walk_ask(walk, owner->operands[0]) &&
               walk_ask(walk, owner->operands[2]);
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: return true;
    case OP_CAST: return walk_ask(walk, op->operands[0]);
    case OP_FLOORDIV: return is_quotient_of_counts(walk, op);
    case OP_MOD: return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    case OP_MAXIMUM: return walk_ask(walk, op->operands[0]) || walk_ask(walk, op->operands[1]);
    case OP_ADD:
    case OP_MUL:
    case OP_MINIMUM: return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    default: return false;
    }
}

Value *build_iterations_run(Builder *builder, const Op *loop) {
    Arena *arena = builder->function->arena;
    Value *trips =
        build_trip_count(builder, loop->operands[0], loop->operands[1], loop->operands[2]);
    ValueWalk walk;
    Counting counting = {arena};
    walk_start(&walk, is_count, false, &counting);
    if (is_sum_of_counts(&walk, value_poly(arena, trips))) return trips;
    return build_binary(builder, OP_MAXIMUM, trips, build_int(builder, 0));
}
