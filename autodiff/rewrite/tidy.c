// A backward in; the same as a person would have written it out: signs, constants and indices gathered, no lane masked
// twice, no barrier behind another.
#include "autodiff/rewrite/tidy.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/simplify.h"

enum { ROUNDS = 4, MASK_DEPTH = 12, MOST_NEGATIVE_USES = 3 };

typedef struct Tidy Tidy;
struct Tidy {
    Function *function;
    /// What an op's result can be instead, or NULL.
    Value *(*rule)(Tidy *tidy, Builder *b, const Op *op);
    WrittenRoots writes;
    Map uses;  // kept up by what changes an op in place; what a rule has built inside its result is missing, and has one
    bool changed;
};

static intptr_t uses_of(const Tidy *tidy, const Value *value) {
    return (intptr_t)map_get_pointer(&tidy->uses, value);
}

static void uses_add(Tidy *tidy, const Value *value, intptr_t count) {
    map_set_pointer(&tidy->uses, value, (void *)(uses_of(tidy, value) + count));
}

static bool is_used_once(const Tidy *tidy, const Value *value) {
    return !map_has_pointer(&tidy->uses, value) || uses_of(tidy, value) == 1;
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
    bool is_negative = made_by(value, OP_NEG) && uses_of(tidy, value) <= MOST_NEGATIVE_USES;
    return is_negative ? value->op->operands[0] : NULL;
}

/// The same op of other operands.
static Value *rebuilt(Builder *b, const Op *op, int index, Value *operand) {
    Value *operands[OPERATION_MOST_OPERANDS];
    if (op->operand_count > OPERATION_MOST_OPERANDS) return NULL;
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

/// where(c, x, 0) * 2.0 is where(c, x * 2.0, 0).
static Value *constant_inwards(const Tidy *tidy, Builder *b, const Op *op) {
    double number;
    const Value *choice = op->operands[0];
    if (op->code != OP_MUL || !made_by(choice, OP_WHERE) || !is_used_once(tidy, choice) ||
        choice->name || !is_float_constant(op->operands[1], &number))
        return NULL;
    Value *x = choice->op->operands[1], *zero = choice->op->operands[2];
    if (!is_number(zero, 0)) return NULL;
    return build_ternary(b, OP_WHERE, choice->op->operands[0],
                         build_binary(b, OP_MUL, x, op->operands[1]), zero);
}

/// Whether a factor may be an infinity although its operands are finite, or is one that the author wrote.
static bool is_risky(OpCode code, const Value *factor) {
    const Op *op = factor->op;
    double other;
    if (!op || factor->type.is_constexpr) return false;
    if (code == OP_DIV) return true;
    if (op_rows[op->code].traits & TRAIT_FINITE) return false;
    bool has_other = op->code == OP_LOAD && op->operand_count > 2 && op->operands[2];
    if (has_other && value_is_number(op->operands[2], &other)) return isinf(other);
    return op->code != OP_LOAD;
}

/// where(c, x, 0) * e is where(c, x * e, 0), which is 0 also where `e` is not finite.
static Value *choice_outwards(Tidy *tidy, Builder *b, const Op *op) {
    if (op->code != OP_MUL && op->code != OP_DIV) return NULL;
    for (int i = 0; i < (op->code == OP_MUL ? 2 : 1); i++) {
        const Value *choice = op->operands[i];
        if (!made_by(choice, OP_WHERE) || !is_used_once(tidy, choice) ||
            !is_risky(op->code, op->operands[1 - i]) ||
            !same_shape(choice->type, op->results[0]->type))
            continue;
        int zero = is_number(choice->op->operands[2], 0) ? 2 : 1;
        if (!is_number(choice->op->operands[zero], 0)) continue;
        Value *factors[] = {op->operands[0], op->operands[1]},
              *branches[3] = {choice->op->operands[0]};
        factors[i] = choice->op->operands[3 - zero];
        branches[zero] = choice->op->operands[zero];
        branches[3 - zero] = build_binary(b, op->code, factors[0], factors[1]);
        return build(b, OP_WHERE, branches, 3);
    }
    return NULL;
}

/* ---- indices ---- */

/// What an index is the sum of.
typedef struct Sum {
    struct Part {
        Value *value;
        int sign;  // 0: cancelled by another part
    } parts[INDEX_MOST_PARTS];
    int count;
    int64_t constant;
    bool is_cancelled, is_too_long;
} Sum;

static void sum_add(Sum *sum, Value *value, int sign) {
    const Op *op = value->op;
    int64_t number, before = sum->constant;
    if (sum->is_too_long) return;
    bool is_index = value->type.kind == TYPE_NUMBER && value->type.rank == 0;
    if (value_is_int(value, &number) && llabs(number) < INT32_MAX) {
        sum->constant += sign * number;
        sum->is_cancelled = sum->is_cancelled || (before && !sum->constant);
    } else if (is_index && op && (op->code == OP_ADD || op->code == OP_SUB) && !value->name) {
        sum_add(sum, op->operands[0], sign);
        sum_add(sum, op->operands[1], op->code == OP_ADD ? sign : -sign);
    } else {
        for (int i = 0; i < sum->count; i++) {
            if (sum->parts[i].value != value || sum->parts[i].sign != -sign) continue;
            sum->parts[i].sign = 0;
            sum->is_cancelled = true;
            return;
        }
        sum->is_too_long = sum->count == INDEX_MOST_PARTS;
        if (!sum->is_too_long) sum->parts[sum->count++] = (struct Part){value, sign};
    }
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

/// n - 1 - (n - 2 - i) is i + 1.
static Value *index_sum(Builder *b, const Op *op) {
    Sum sum = {0};
    if (op->results[0]->type.rank || (op->code != OP_ADD && op->code != OP_SUB)) return NULL;
    sum_add(&sum, op->operands[0], 1);
    sum_add(&sum, op->operands[1], op->code == OP_ADD ? 1 : -1);
    if (sum.is_too_long || !sum.is_cancelled) return NULL;
    Value *total = NULL;
    for (int i = 0; i < sum.count; i++)
        if (sum.parts[i].sign > 0)
            total = total ? build_binary(b, OP_ADD, total, sum.parts[i].value) : sum.parts[i].value;
    if (!total) return NULL;
    if (sum.constant)
        total = build_binary(b, sum.constant < 0 ? OP_SUB : OP_ADD, total,
                             build_int(b, llabs(sum.constant)));
    for (int i = 0; i < sum.count; i++)
        if (sum.parts[i].sign < 0) total = build_binary(b, OP_SUB, total, sum.parts[i].value);
    return same_type(total, op->results[0]) ? total : NULL;
}

/* ---- masks ---- */

/// Whether a condition says of each lane of a type, by itself or spread along dimensions of 1, what it is.
static bool is_spread_over(const Value *condition, Type type) {
    if (condition->type.rank != type.rank) return false;
    for (int i = 0; i < type.rank; i++) {
        int64_t one;
        bool is_single = poly_is_constant(condition->type.dims[i], &one) && one == 1;
        if (!is_single && !poly_equal(condition->type.dims[i], type.dims[i])) return false;
    }
    return true;
}

static bool is_lanewise(const Op *op) {
    return op->result_count == 1 && op->region_count == 0 && op_is_pure(op) &&
           (op_rows[op->code].shape == SHAPE_BROADCAST || op->code == OP_NEG ||
            op->code == OP_CAST);
}

/// What the `where` that is operand `index` chooses under the same condition, if it fits in its place; else NULL.
static Value *chosen_there(const Op *op, int index, const Value *condition, int branch) {
    const Value *value = op->operands[index];
    if (!made_by(value, OP_WHERE) || value->op->operands[0] != condition) return NULL;
    Value *chosen = value->op->operands[branch];
    if (same_type(chosen, value)) return chosen;
    bool is_spread = chosen->type.kind == TYPE_NUMBER && chosen->type.rank == 0 &&
                     !chosen->type.is_constexpr && op->operand_count == 2 &&
                     dtype_equal(chosen->type.element, value->type.element);
    return is_spread && same_shape(op->operands[1 - index]->type, op->results[0]->type) ? chosen
                                                                                        : NULL;
}

/// Whether what a `where` chooses can be read in its place without being computed for that alone.
static bool is_at_hand(const Tidy *tidy, const Value *choice, const Value *chosen) {
    return is_used_once(tidy, choice) || !is_used_once(tidy, chosen) || !chosen->op || chosen->name;
}

/// In an expression of lanes that a `where` has chosen, another one under the same condition is what it chooses there.
static bool drop_inner_masks(Tidy *tidy, Op *op, const Value *condition, int branch, int depth) {
    bool changed = false;
    for (int i = 0; i < op->operand_count && depth < MASK_DEPTH; i++) {
        Value *operand = op->operands[i];
        if (!operand || !operand->op || !is_spread_over(condition, operand->type)) continue;
        if (op->code == OP_WHERE && i == 0) continue;
        Value *chosen = chosen_there(op, i, condition, branch);
        if (chosen && is_at_hand(tidy, operand, chosen)) {
            op_set_operand(op, i, chosen);
            uses_add(tidy, operand, -1);
            uses_add(tidy, chosen, 1);
            changed = true;
        } else if (is_lanewise(operand->op) && is_used_once(tidy, operand) &&
                   operand->op->parent == op->parent) {
            changed |= drop_inner_masks(tidy, operand->op, condition, branch, depth + 1);
        }
    }
    return changed;
}

/// One mask where there were several around another. Changes in place what nobody else reads.
static Value *masked_once(Tidy *tidy, Builder *b, const Op *op) {
    (void)b;
    Value *condition = op->operands[0];
    if (op->code != OP_WHERE || !is_float_value(op->results[0]) ||
        !is_spread_over(condition, op->results[0]->type))
        return NULL;
    for (int branch = 1; branch < 3; branch++) {
        Op *inner = op->operands[branch]->op;
        if (!inner || !is_lanewise(inner) || !is_used_once(tidy, op->operands[branch])) continue;
        if (inner->parent != op->parent || inner->code == OP_WHERE) continue;
        if (drop_inner_masks(tidy, inner, condition, branch, 0)) tidy->changed = true;
    }
    return NULL;
}

/// where(c, x, 0) + where(c, 0, y) is where(c, x, y), and x where both are one.
static Value *one_choice(const Tidy *tidy, Builder *b, const Op *op) {
    const Value *left = op->operands[0], *right = op->operands[1];
    bool are_choices = op->code == OP_ADD && made_by(left, OP_WHERE) && made_by(right, OP_WHERE) &&
                       left->op->operands[0] == right->op->operands[0] &&
                       is_used_once(tidy, left) && is_used_once(tidy, right);
    if (!are_choices) return NULL;
    Value *branches[3] = {left->op->operands[0]};
    for (int branch = 1; branch < 3; branch++) {
        Value *x = left->op->operands[branch], *y = right->op->operands[branch];
        branches[branch] = is_number(y, 0) ? x : is_number(x, 0) ? y : NULL;
        if (!branches[branch]) return NULL;
    }
    return branches[1] == branches[2] && same_type(branches[1], op->results[0])
               ? branches[1]
               : build(b, OP_WHERE, branches, 3);
}

/// (m < n)[:, None] is m[:, None] < n, which masks of the forward are written like.
static Value *expanded_comparison(Builder *b, const Op *op) {
    const Value *of = op->operands[0];
    if (op->code != OP_EXPAND_DIMS || !of->op || of->name || !op_is_comparison(of->op->code))
        return NULL;
    Value *sides[2];
    for (int i = 0; i < 2; i++) {
        sides[i] = of->op->operands[i];
        if (sides[i]->type.rank == of->type.rank)
            sides[i] = build_binary(b, OP_EXPAND_DIMS, sides[i], op->operands[1]);
        else if (sides[i]->type.rank)
            return NULL;
    }
    return build_binary(b, of->op->code, sides[0], sides[1]);
}

/* ---- the walk ---- */

static Value *tidied_index(Builder *b, const Op *op) {
    Value *value = one_step(b, op);
    if (!value) value = index_sum(b, op);
    return value ? value : expanded_comparison(b, op);
}

static Value *gathered(Tidy *tidy, Builder *b, const Op *op) {
    if (!is_float_value(op->results[0])) return tidied_index(b, op);
    Value *value = sign_outwards(tidy, b, op);
    if (!value) value = one_constant(tidy, b, op);
    if (!value) value = constant_inwards(tidy, b, op);
    if (!value) value = twice(tidy, b, op);
    return value ? value : one_choice(tidy, b, op);
}

static void tidy_region(Tidy *tidy, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) tidy_region(tidy, op->regions[i]);
        bool is_expression =
            op->result_count == 1 && !op->region_count && op->operand_count && op->operands[0];
        if (!is_expression) continue;
        Builder builder = {.function = tidy->function,
                           .region = region,
                           .before = op,
                           .range = op->range,
                           .call = op->call};
        Value *replacement = tidy->rule(tidy, &builder, op);
        if (!replacement || !same_shape(replacement->type, op->results[0]->type)) continue;
        if (!replacement->name && replacement->op) replacement->name = op->results[0]->name;
        uses_add(tidy, replacement, uses_of(tidy, op->results[0]));
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i]) uses_add(tidy, op->operands[i], -1);
        region_replace_uses(tidy->function->body, op->results[0], replacement);
        op_remove(op);
        tidy->changed = true;
    }
}

/* ---- the end ---- */

/// -(x * 2.0) is x * -2.0: no sum has taken the sign.
static void settle_sign(const Tidy *tidy, Op *op) {
    double number;
    const Value *product = op->code == OP_NEG ? op->operands[0] : NULL;
    if (!made_by(product, OP_MUL) || !is_used_once(tidy, product) ||
        !is_float_constant(product->op->operands[1], &number))
        return;
    Builder b = {.function = tidy->function,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    Value *whole = rebuilt(&b, product->op, 1, build_float(&b, -number));
    whole->name = op->results[0]->name;
    region_replace_uses(tidy->function->body, op->results[0], whole);
}

/// Whether an op touches no memory that anything is written to.
static bool op_is_silent(const Tidy *tidy, const Op *op) {
    return op_is_pure(op) || op->code == OP_YIELD || op->code == OP_CONDITION ||
           load_is_stable(&tidy->writes, op);
}

/// Threads that have just waited for each other need not wait again, where nothing has touched memory since. Whether they
/// have at the end, where they had at the start or not.
static bool settle_region(const Tidy *tidy, Region *region, bool have_met) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        settle_sign(tidy, op);
        bool is_barrier = op->code == OP_DEBUG_BARRIER;
        if (op->region_count) {
            bool ends = true;
            for (int i = 0; i < op->region_count; i++)
                ends = settle_region(tidy, op->regions[i], op->code == OP_IF && have_met) && ends;
            have_met = ends && (op->code == OP_IF || have_met);
        } else if (is_barrier && have_met) {
            op_remove(op);
        } else if (is_barrier || !op_is_silent(tidy, op)) {
            have_met = is_barrier;
        }
    }
    return have_met;
}

static bool tidy_walk(Function *function, Value *(*rule)(Tidy *, Builder *, const Op *)) {
    Tidy tidy = {
        .function = function, .rule = rule, .uses = function_count_uses(function->arena, function)};
    tidy_region(&tidy, function->body);
    function_clean(function);
    return tidy.changed;
}

void function_choose_late(Function *function) { tidy_walk(function, choice_outwards); }

void function_tidy(Function *function) {
    for (int round = 0; round < ROUNDS; round++) {
        bool changed = tidy_walk(function, gathered);
        changed = tidy_walk(function, masked_once) || changed;
        if (!changed) break;
    }
    Tidy tidy = {.function = function,
                 .writes = function_writes(function),
                 .uses = function_count_uses(function->arena, function)};
    settle_region(&tidy, function->body, true);
    function_drop_dead(function);
}
