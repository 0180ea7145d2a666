// A quotient and a remainder of the same numbers in; one division out.
#include "autodiff/gathers/remainders.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct RemainderSearch {
    Function *function;
    LIST(Op *) found;
} RemainderSearch;

static bool visit_remainder(void *context, Op *op) {
    RemainderSearch *search = context;
    bool is_tile = op->code == OP_MOD && op->results[0]->type.rank > 0 &&
                   dtype_is_integer(op->results[0]->type.element) &&
                   dtype_equal(op->results[0]->type.element, op->operands[0]->type.element);
    // a power of two is masked off, without a division
    if (is_tile && !op->operands[1]->constant && !op->operands[1]->type.is_constexpr)
        LIST_PUSH(search->function->arena, &search->found, op);
    return true;
}

/// The quotient of the same numbers, in the same region.
static Op *quotient_of(const Op *remainder) {
    for (Op *op = remainder->parent->first; op; op = op->next)
        if (op->code == OP_FLOORDIV && op->operands[0] == remainder->operands[0] &&
            op->operands[1] == remainder->operands[1] &&
            type_equal(op->results[0]->type, remainder->results[0]->type))
            return op;
    return NULL;
}

void remainders_from_quotients(Function *function) {
    RemainderSearch search = {.function = function};
    region_walk(function->body, visit_remainder, &search);
    for (LIST_EACH(int, i, search.found)) {
        Op *remainder = search.found.items[i], *quotient = quotient_of(remainder);
        if (!quotient) continue;
        if (op_comes_before(remainder, quotient)) op_move_before(quotient, remainder);
        Builder b = {.function = function,
                     .region = remainder->parent,
                     .before = remainder,
                     .range = remainder->range};
        Value *whole = build_binary(&b, OP_MUL, quotient->results[0], remainder->operands[1]);
        Value *left = build_binary(&b, OP_SUB, remainder->operands[0], whole);
        left->name = remainder->results[0]->name;
        region_replace_uses(function->body, remainder->results[0], left);
        op_remove(remainder);
    }
}
