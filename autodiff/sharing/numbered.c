// Statements of one gradient that programs along some axes share, each with a share of its own: whether the others meet there.
#include "autodiff/sharing/numbered.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"
#include "autodiff/sharing/flag_cases.h"

/// Adds the numbers to an address, each as along a dimension of its own.
static void add_numbers(Function *function, Op *op, Value *const *numbers, int count,
                        Value *stride) {
    Builder b = {.function = function, .region = op->parent, .before = op, .range = op->range};
    Value *weight = stride;
    for (int i = 0; i < count; i++) {
        Value *share = build_binary(&b, OP_MUL, numbers[i], weight);
        op_set_operand(op, 0, build_binary(&b, OP_ADD, op->operands[0], share));
        weight = build_binary(&b, OP_MUL, weight, stride);
    }
}

bool numbered_are_apart(Differentiation *state, const FunctionAxes *axes,
                        const SharedStatement *shared, int count, Value *const *numbers,
                        int number_count, Value *stride) {
    Value **addresses = ARENA_ARRAY(state->arena, Value *, count + 1);
    bool are_apart = true;
    for (int i = 0; i < count; i++) {
        addresses[i] = shared[i].statement.op->operands[0];
        add_numbers(state->backward, shared[i].statement.op, numbers, number_count, stride);
    }
    for (int i = 0; i < count && are_apart; i++)
        for (int k = 0; k < i && are_apart; k++)
            are_apart =
                ops_are_of_different_launches(shared[i].statement.op, shared[k].statement.op) ||
                places_are_owned_together(state->arena, axes, shared[i].statement.op,
                                          shared[k].statement.op, true);
    for (int i = 0; i < count; i++) op_set_operand(shared[i].statement.op, 0, addresses[i]);
    return are_apart;
}
