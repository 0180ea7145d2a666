// What a sum is scaled by vanishes from its derivative (shift.c); from that of its logarithm, carried by a loop, it does not.
#include "autodiff/products/log_sums.h"

#include <math.h>

#include "analysis/build/build.h"
#include "autodiff/rewrite/algebra.h"

enum { MOST_TERMS = 8 };  // of the sum: beyond, the loop stays as it is

/// `next = top + log(sum)`, where one term of the sum is `exp(state - top)`.
typedef struct LogSum {
    Value *state, *next;
    Value *top, *sum, *rescaled;
    OpCode exponential, logarithm;
} LogSum;

static bool is_exponential_of(const LogSum *found, const Value *value) {
    if (!made_by(value, found->exponential)) return false;
    const Value *difference = value->op->operands[0];
    return made_by(difference, OP_SUB) && difference->op->operands[0] == found->state &&
           difference->op->operands[1] == found->top;
}

/// The term of the sum that is the old one, or NULL.
static Value *rescaled_term(const LogSum *found, Value *sum, int *left) {
    if (is_exponential_of(found, sum)) return sum;
    if (!made_by(sum, OP_ADD) || (*left)-- <= 0) return NULL;
    Value *term = rescaled_term(found, sum->op->operands[0], left);
    return term ? term : rescaled_term(found, sum->op->operands[1], left);
}

static bool is_log_sum(LogSum *found) {
    if (!made_by(found->next, OP_ADD)) return false;
    for (int i = 0; i < 2; i++) {
        const Value *logarithm = found->next->op->operands[i];
        bool is_natural = made_by(logarithm, OP_LOG);
        if (!is_natural && !made_by(logarithm, OP_LOG2)) continue;
        int left = MOST_TERMS;
        found->top = found->next->op->operands[1 - i];
        found->logarithm = logarithm->op->code;
        found->exponential = is_natural ? OP_EXP : OP_EXP2;
        found->sum = logarithm->op->operands[0];
        found->rescaled = rescaled_term(found, found->sum, &left);
        if (found->rescaled && same_type(found->rescaled, found->state)) return true;
    }
    return false;
}

/// The number that all elements are. False where they are none, or not known.
static bool is_all_one_number(const Value *value, double *number) {
    if (made_by(value, OP_FULL)) value = value->op->operands[1];
    return value_is_number(value, number);
}

/// Also as tutorials spell it: `tl.zeros(...) - float("inf")`.
static bool is_minus_infinity(const Value *value) {
    double number, other;
    if (is_all_one_number(value, &number)) return isinf(number) && number < 0;
    bool is_difference = made_by(value, OP_SUB);
    if (!is_difference && !made_by(value, OP_ADD)) return false;
    if (!is_all_one_number(value->op->operands[0], &number) ||
        !is_all_one_number(value->op->operands[1], &other))
        return false;
    double sum = is_difference ? number - other : number + other;
    return isinf(sum) && sum < 0;
}

/// The state that is `top` in the next iteration, or -1.
static int state_of_top(const Op *loop, const LogSum *found, int index) {
    const Op *yield = region_terminator(loop->regions[0]);
    for (int i = 0; i < loop->result_count; i++)
        if (i != index && yield->operands[i] == found->top &&
            same_type(loop->results[i], found->state))
            return i;
    return -1;
}

/// `m + log(l)` behind the builder's place, in the place of `state` in the rest of the region.
static void read_as_logarithm(Builder *b, const LogSum *found, Value *sum, Value *top) {
    Value *logarithm = build_unary(b, found->logarithm, sum);
    Value *state = build_binary(b, OP_ADD, top, logarithm);
    state->name = sum->name;
    region_replace_uses(b->region, sum, state);
    op_set_operand(logarithm->op, 0, sum);
    sum->name = "total";
}

/// NULL where the shape is not understood.
static Value *zero_of(Builder *b, Type type) {
    if (type.rank == 0) return build_float(b, 0.0);
    Value *shape = build_shape(b, type);
    DType element = type.element;
    return shape ? build_ternary(b, OP_FULL, shape, build_float(b, 0.0), build_dtype(b, element))
                 : NULL;
}

static bool carry_sum(Function *function, Op *loop, int index) {
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    LogSum found = {.state = body->arguments[index + 1], .next = yield->operands[index]};
    Value *start = loop->operands[3 + index];
    bool is_float =
        found.state->type.kind == TYPE_NUMBER && !dtype_is_integer(found.state->type.element);
    if (!is_float || !is_minus_infinity(start) || !is_log_sum(&found)) return false;
    int top = state_of_top(loop, &found, index);
    if (top < 0) return false;
    Builder before = {
        .function = function, .region = loop->parent, .before = loop, .range = loop->range};
    Value *zero = zero_of(&before, found.state->type);
    if (!zero) return false;
    op_set_operand(loop, 3 + index, zero);
    Value *old = body->arguments[top + 1];
    Builder here = {.function = function,
                    .region = body,
                    .before = found.rescaled->op,
                    .range = found.rescaled->op->range};
    Value *difference = build_binary(&here, OP_SUB, old, found.top);
    Value *factor = build_unary(&here, found.exponential, difference);
    Value *rescaled = build_binary(&here, OP_MUL, found.state, factor);
    region_replace_uses(body, found.rescaled, rescaled);
    op_set_operand(yield, index, found.sum == found.rescaled ? rescaled : found.sum);
    Op *product = rescaled->op;
    Builder first = {
        .function = function, .region = body, .before = body->first, .range = loop->range};
    read_as_logarithm(&first, &found, found.state, old);
    op_set_operand(product, product->operands[1] == factor ? 0 : 1, found.state);
    Builder behind = {
        .function = function, .region = loop->parent, .before = loop->next, .range = loop->range};
    read_as_logarithm(&behind, &found, loop->results[index], loop->results[top]);
    return true;
}

typedef struct Sums {
    Function *function;
    bool changed;
} Sums;

static bool visit_loop(void *context, Op *op) {
    Sums *sums = context;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
        for (int i = 0; i < op->result_count; i++)
            sums->changed |= carry_sum(sums->function, op, i);
    return true;
}

bool function_carry_sums(Function *function) {
    Sums sums = {.function = function};
    region_walk(function->body, visit_loop, &sums);
    return sums.changed;
}
