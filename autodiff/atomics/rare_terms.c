// Atomics that add a choice of something and 0 in; those that add in the lanes of that something alone out.
#include "autodiff/atomics/rare_terms.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"

static bool is_zero(const Value *value) {
    double number;
    return value_is_number(value, &number) && number == 0;
}

static bool is_found_by_loop(const Value *value) {
    return value->op && op_is_loop(value->op->code) && value->type.rank;
}

/// Whether a condition is that two floats are equal, or that a number is the one that a loop has found in the lane.
static bool is_rare(const Value *condition) {
    const Op *op = condition->op;
    if (!op || op->code != OP_EQ) return false;
    bool are_floats = dtype_is_float(op->operands[0]->type.element) &&
                      dtype_is_float(op->operands[1]->type.element);
    return are_floats || is_found_by_loop(op->operands[0]) || is_found_by_loop(op->operands[1]);
}

static bool visit_atomic(void *context, Op *op) {
    Differentiation *state = context;
    const Op *term = op->code == OP_ATOMIC_ADD ? op->operands[1]->op : NULL;
    if (!term || term->code != OP_WHERE || !is_zero(term->operands[2]) ||
        !is_rare(term->operands[0]) || term->operands[0]->type.rank != op->operands[0]->type.rank)
        return true;
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Value *mask = access_mask(op), *condition = term->operands[0], *added = term->operands[1];
    int at = op_parameter_index(OP_ATOMIC_ADD, STR("mask"));
    while (op->operand_count <= at) op_append_operand(state->backward, op, NULL);
    op_set_operand(op, at, mask ? build_binary(&b, OP_AND, mask, condition) : condition);
    op_set_operand(op, 1, added);
    return true;
}

void atomics_leave_out_zeros(Differentiation *state) {
    region_walk(state->backward->body, visit_atomic, state);
}
