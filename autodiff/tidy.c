// A backward in; the same as a person would have written it out: signs and constants gathered, no lane masked twice.
#include "autodiff/tidy.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/infer.h"
#include "autodiff/algebra.h"
#include "autodiff/rewrite.h"

enum { ROUNDS = 4, MASK_DEPTH = 12, MOST_OPERANDS = 8, MOST_NEGATIVE_USES = 3 };

typedef struct Tidy {
    Function *function;
    Map uses;  // as they were at the start of the round; what is new has one
    bool changed;
} Tidy;

static bool is_used_once(const Tidy *tidy, const Value *value) {
    return !map_has_pointer(&tidy->uses, value) ||
           (intptr_t)map_get_pointer(&tidy->uses, value) == 1;
}

static bool is_float_value(const Value *value) {
    return value->type.kind == TYPE_NUMBER && dtype_is_float(value->type.element) &&
           !value->type.is_constexpr;
}

static bool is_float_constant(const Value *value, double *number) {
    return value->constant && value->constant->kind == CONSTANT_FLOAT &&
           value_is_number(value, number) && isfinite(*number);
}

/* ---- signs ---- */

/// What `value` is the negative of, where little else reads it; else NULL.
static Value *negated(const Tidy *tidy, const Value *value) {
    bool is_negative = made_by(value, OP_NEG) &&
                       (intptr_t)map_get_pointer(&tidy->uses, value) <= MOST_NEGATIVE_USES;
    return is_negative ? value->op->operands[0] : NULL;
}

/// The same op of other operands.
static Value *rebuilt(Builder *b, const Op *op, int index, Value *operand) {
    Value *operands[MOST_OPERANDS];
    if (op->operand_count > MOST_OPERANDS) return NULL;
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = i == index ? operand : op->operands[i];
    return build(b, op->code, operands, op->operand_count);
}

static Value *negative_of(Builder *b, const Op *op, int index, Value *operand) {
    Value *positive = rebuilt(b, op, index, operand);
    return positive ? build_unary(b, OP_NEG, positive) : NULL;
}

/// where(c, -x, 0) is -where(c, x, 0).
static Value *where_without_sign(const Tidy *tidy, Builder *b, const Op *op) {
    for (int i = 1; i < 3; i++) {
        Value *positive = negated(tidy, op->operands[i]);
        if (positive && is_number(op->operands[3 - i], 0)) return negative_of(b, op, i, positive);
    }
    return NULL;
}

/// x * -0.5 is -(x * 0.5).
static Value *without_negative_constant(Builder *b, const Op *op) {
    double number;
    if (!is_float_constant(op->operands[1], &number) || number >= 0) return NULL;
    return negative_of(b, op, 1, build_float(b, -number));
}

/// -(a - b) is b - a.
static Value *opposite(const Tidy *tidy, Builder *b, const Op *op) {
    const Value *of = op->operands[0];
    if (!made_by(of, OP_SUB) || !is_used_once(tidy, of)) return NULL;
    return build_binary(b, OP_SUB, of->op->operands[1], of->op->operands[0]);
}

/// Takes a sign out of an op, to where a sum makes a difference of it.
static Value *sign_outwards(const Tidy *tidy, Builder *b, const Op *op) {
    Value *positive = negated(tidy, op->operands[0]);
    switch (op->code) {
    case OP_MUL:
    case OP_DIV:
        if (positive) return negative_of(b, op, 0, positive);
        positive = negated(tidy, op->operands[1]);
        return positive ? negative_of(b, op, 1, positive) : without_negative_constant(b, op);
    case OP_SUB:
        return positive ? build_unary(b, OP_NEG, build_binary(b, OP_ADD, positive, op->operands[1]))
                        : NULL;
    case OP_SUM:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_RESHAPE:
    case OP_TRANS: return positive ? negative_of(b, op, 0, positive) : NULL;
    case OP_CAST:
        return positive && is_float_value(op->results[0]) ? negative_of(b, op, 0, positive) : NULL;
    case OP_WHERE: return where_without_sign(tidy, b, op);
    case OP_NEG: return opposite(tidy, b, op);
    default: return NULL;
    }
}

/* ---- constants ---- */

/// x * 0.5 * 4.0 is x * 2.0, and x * ln(2) * log2(e) is x.
static Value *one_constant(const Tidy *tidy, Builder *b, const Op *op) {
    const Value *inner = op->operands[0];
    double first, second;
    bool is_chain = op->code == OP_MUL && made_by(inner, OP_MUL) && is_used_once(tidy, inner) &&
                    is_float_constant(op->operands[1], &second) &&
                    is_float_constant(inner->op->operands[1], &first);
    if (!is_chain) return NULL;
    Value *x = inner->op->operands[0];
    if (fabs(first * second - 1) < 1e-12 && same_type(x, op->results[0])) return x;
    return build_binary(b, OP_MUL, x, build_float(b, first * second));
}

/// x + x is x * 2.0, and a + x + x is a + x * 2.0.
static Value *twice(const Tidy *tidy, Builder *b, const Op *op) {
    Value *x = op->operands[1], *sum = op->operands[0];
    if (op->code != OP_ADD || x->constant) return NULL;
    if (sum == x) return build_binary(b, OP_MUL, x, build_float(b, 2.0));
    if (!made_by(sum, OP_ADD) || !is_used_once(tidy, sum) || sum->op->operands[1] != x) return NULL;
    return build_binary(b, OP_ADD, sum->op->operands[0],
                        build_binary(b, OP_MUL, x, build_float(b, 2.0)));
}

/// n - 1 - 1 is n - 2. Of constexprs there is one value each, wherever that stands.
static Value *one_step(Builder *b, const Op *op) {
    const Value *inner = op->operands[0];
    int64_t first, second;
    if (op->results[0]->type.is_constexpr) return NULL;
    bool is_chain = (op->code == OP_SUB || op->code == OP_ADD) && inner->op &&
                    inner->op->code == op->code && value_is_int(op->operands[1], &second) &&
                    value_is_int(inner->op->operands[1], &first) && inner->type.rank == 0 &&
                    inner->type.kind == TYPE_NUMBER && llabs(first + second) < INT32_MAX;
    if (!is_chain) return NULL;
    return build_binary(b, op->code, inner->op->operands[0], build_int(b, first + second));
}

/* ---- masks ---- */

/// Whether a value is 0 in each lane that `condition` leaves out.
static bool is_zero_beyond(const Value *value, const Value *condition, int depth) {
    const Op *op = value->op;
    if (!op || depth > MASK_DEPTH || !same_shape(value->type, condition->type)) return false;
    switch (op->code) {
    case OP_WHERE: return op->operands[0] == condition && is_number(op->operands[2], 0);
    case OP_LOAD:
        return op->operand_count > 2 && op->operands[1] == condition &&
               is_number(op->operands[2], 0);
    case OP_NEG: return is_zero_beyond(op->operands[0], condition, depth + 1);
    case OP_CAST:
        return is_float_value(value) && is_float_value(op->operands[0]) &&
               is_zero_beyond(op->operands[0], condition, depth + 1);
    case OP_ADD:
    case OP_SUB:
        return is_zero_beyond(op->operands[0], condition, depth + 1) &&
               is_zero_beyond(op->operands[1], condition, depth + 1);
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (is_zero_beyond(op->operands[i], condition, depth + 1) &&
                !value_may_be_infinite(op->operands[1 - i]))
                return true;
        return false;
    default: return false;
    }
}

static bool is_lanewise(const Op *op) {
    return op->result_count == 1 && op->region_count == 0 && op_is_pure(op) &&
           (op_rows[op->code].shape == SHAPE_BROADCAST || op->code == OP_NEG ||
            op->code == OP_CAST);
}

/// What the `where` that is operand `index` chooses under the same condition, if it fits in its place; else NULL.
static Value *chosen_there(const Op *op, int index, const Value *condition, int arm) {
    const Value *value = op->operands[index];
    if (!made_by(value, OP_WHERE) || value->op->operands[0] != condition) return NULL;
    Value *chosen = value->op->operands[arm];
    if (same_type(chosen, value)) return chosen;
    bool is_spread = chosen->type.kind == TYPE_NUMBER && chosen->type.rank == 0 &&
                     !chosen->type.is_constexpr && op->operand_count == 2 &&
                     dtype_equal(chosen->type.element, value->type.element);
    return is_spread && same_shape(op->operands[1 - index]->type, op->results[0]->type) ? chosen
                                                                                        : NULL;
}

/// In an expression of lanes that a `where` has chosen, another one under the same condition is what it chooses there.
static bool drop_inner_masks(Tidy *tidy, Op *op, const Value *condition, int arm, int depth) {
    bool changed = false;
    for (int i = 0; i < op->operand_count && depth < MASK_DEPTH; i++) {
        Value *operand = op->operands[i];
        if (!operand || !operand->op || !same_shape(operand->type, condition->type)) continue;
        if (op->code == OP_WHERE && i == 0) continue;
        Value *chosen = chosen_there(op, i, condition, arm);
        if (chosen) {
            op_set_operand(op, i, chosen);
            changed = true;
        } else if (is_lanewise(operand->op) && is_used_once(tidy, operand) &&
                   operand->op->parent == op->parent) {
            changed |= drop_inner_masks(tidy, operand->op, condition, arm, depth + 1);
        }
    }
    return changed;
}

/// One mask where there were several around another.
static Value *masked_once(Tidy *tidy, const Op *op) {
    Value *condition = op->operands[0];
    if (op->code != OP_WHERE || !same_shape(op->results[0]->type, condition->type)) return NULL;
    for (int arm = 1; arm < 3; arm++) {
        Op *inner = op->operands[arm]->op;
        if (!inner || !is_lanewise(inner) || !is_used_once(tidy, op->operands[arm])) continue;
        if (inner->parent != op->parent || inner->code == OP_WHERE) continue;
        if (drop_inner_masks(tidy, inner, condition, arm, 0)) tidy->changed = true;
    }
    bool is_needless = is_number(op->operands[2], 0) &&
                       is_zero_beyond(op->operands[1], condition, 0) &&
                       same_type(op->operands[1], op->results[0]);
    return is_needless ? op->operands[1] : NULL;
}

/* ---- the walk ---- */

static Value *tidied(Tidy *tidy, Builder *b, const Op *op) {
    if (op->result_count != 1 || op->region_count || !op->operand_count || !op->operands[0])
        return NULL;
    if (!is_float_value(op->results[0])) return one_step(b, op);
    Value *value = sign_outwards(tidy, b, op);
    if (!value) value = one_constant(tidy, b, op);
    if (!value) value = twice(tidy, b, op);
    if (!value) value = masked_once(tidy, op);
    return value;
}

static void tidy_region(Tidy *tidy, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) tidy_region(tidy, op->regions[i]);
        Builder builder = {.function = tidy->function,
                           .region = region,
                           .before = op,
                           .range = op->range,
                           .call = op->call};
        Value *replacement = tidied(tidy, &builder, op);
        if (!replacement || !same_shape(replacement->type, op->results[0]->type)) continue;
        if (!replacement->name && replacement->op) replacement->name = op->results[0]->name;
        region_replace_uses(tidy->function->body, op->results[0], replacement);
        op_remove(op);
        tidy->changed = true;
    }
}

void function_tidy(Function *function) {
    for (int round = 0; round < ROUNDS; round++) {
        Tidy tidy = {.function = function, .uses = function_count_uses(function->arena, function)};
        tidy_region(&tidy, function->body);
        function_clean(function);
        if (!tidy.changed) return;
    }
}
