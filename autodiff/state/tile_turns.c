// How many tiles there are that programs of the primal take turns with in; the same number in the backward out.
#include "autodiff/state/tile_turns.h"

#include "analysis/build/clone.h"

/// An expression of the primal's parameters, in the backward.
static Value *in_backward(Builder *b, Value *value, Map *values) {
    Value *known = map_get_pointer(values, value);
    if (known || !value->op) return known;
    for (int i = 0; i < value->op->operand_count; i++)
        if (value->op->operands[i] && !in_backward(b, value->op->operands[i], values)) return NULL;
    op_clone(b, value->op, values);
    return map_get_pointer(values, value);
}

Value *tiles_count(Differentiation *state, Builder *b) {
    Map values = map_new(state->arena);
    for (int i = 0; i < state->primal->parameter_count; i++) {
        Value *parameter = state->primal->parameters[i].value;
        map_set_pointer(&values, parameter, recomputed(state, parameter));
    }
    return in_backward(b, state->parts.tiles.count, &values);
}
