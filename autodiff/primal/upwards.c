// From a loop that counts what is left to one that counts what is done: what moves along in it grows with its variable then, from 0
// on, as in a loop that was written so.
#include "autodiff/primal/upwards.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"

/// The step's amount where it certainly is below -1, in constexprs that are positive; or NULL.
static const Poly *blocks_down(Arena *arena, Value *step) {
    const Poly *amount = poly_subtract(arena, poly_constant(arena, 0), value_poly(arena, step));
    int64_t number;
    if (poly_is_constant(amount, &number)) return number > 1 ? amount : NULL;
    return poly_is_nonnegative(arena, amount) ? amount : NULL;
}

/// Whether the loop moves an address along: a pointer, or whole numbers that are added up.
static bool moves_along(const Op *loop) {
    const Op *end = region_terminator(loop->regions[0]);
    for (int i = 0; i < end->operand_count; i++) {
        const Value *carried = loop->regions[0]->arguments[i + 1];
        Type type = carried->type;
        bool is_address = type.kind == TYPE_POINTER || type.kind == TYPE_BLOCK_POINTER ||
                          (type.kind == TYPE_NUMBER && dtype_is_integer(type.element));
        if (is_address && end->operands[i] != carried) return true;
    }
    return false;
}

static bool visit_loop(void *context, Op *op) {
    Function *function = context;
    int64_t end;
    if (op->code != OP_FOR || !moves_along(op)) return true;
    const Poly *amount = blocks_down(function->arena, op->operands[2]);
    Value *left = op->regions[0]->arguments[0];
    bool is_fixed = op->operands[2]->constant || op->operands[2]->type.is_constexpr;
    if (!amount || !is_fixed || left->type.rank || !dtype_is_integer(left->type.element))
        return true;
    Value *from = op->operands[0], *to = op->operands[1];
    Builder outside = {
        .function = function, .region = op->parent, .before = op, .range = op->range};
    bool is_to_zero = value_is_int(to, &end) && end == 0;
    Value *all = is_to_zero ? from : build_binary(&outside, OP_SUB, from, to);
    op_set_operand(op, 0, build_int(&outside, 0));
    op_set_operand(op, 1, all);
    op_set_operand(op, 2, build_poly(&outside, amount));
    Region *body = op->regions[0];
    Builder inside = {
        .function = function, .region = body, .before = body->first, .range = op->range};
    Value *rest = build_binary(&inside, OP_SUB, from, left);
    region_replace_uses(body, left, rest);
    op_set_operand(rest->op, 1, left);
    rest->name = left->name;
    left->name = "done";
    return true;
}

void function_count_upwards(Function *function) {
    region_walk(function->body, visit_loop, function);
}
