// Adjoints of reductions and scans, also those with a combine function of the user's own.
#include "autodiff/sweep/adjoint_reduce.h"

#include <math.h>

#include "analysis/build/build.h"
#include "autodiff/primal/activity.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/adjoint_combine.h"
#include "autodiff/sweep/adjoint_recurrence.h"
#include "autodiff/sweep/combine.h"
#include "autodiff/sweep/rule_parts.h"

/* ---- reductions ---- */

/// Ties as PyTorch has them: shared evenly by a value-only maximum, all to the returned index with return_indices.
void rule_extremum(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    Value *x = recomputed_operand(state, op, 0);
    Value *axis = recomputed_operand(state, op, 1);
    bool keeps = false;
    if (operand(op, 4)) value_is_bool(op->operands[4], &keeps);
    if (!gradients[0]) return;
    Value *gradient = expand_reduced(b, gradients[0], axis, keeps);
    if (op->result_count == 2) {
        int along;
        if (!constant_axis(axis, x->type.rank, 0, &along)) return;
        Value *index = expand_reduced(b, recomputed(state, op->results[1]), axis, keeps);
        Value *chosen = build_binary(b, OP_EQ, lane_numbers(b, x->type, along, NULL), index);
        adjoint_add(state, op->operands[0],
                    build_ternary(b, OP_WHERE, chosen, gradient, build_float(b, 0.0)));
        return;
    }
    Value *extremum = expand_reduced(b, recomputed(state, op->results[0]), axis, keeps);
    Value *ties = build_binary(b, OP_EQ, x, extremum);
    ties->name = "ties";
    Value *ones = build_binary(b, OP_CAST, ties, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    Value *sum_operands[] = {ones, axis, axis ? build_bool(b, true) : NULL};
    Value *count = build(b, OP_SUM, sum_operands, 3);
    Value *share = build_binary(b, OP_DIV, gradient, count);
    adjoint_add(state, op->operands[0],
                build_ternary(b, OP_WHERE, ties, share, build_float(b, 0.0)));
}

/// Whether a binary op takes these two, in whichever order.
static bool takes_both(const Op *op, const Value *a, const Value *b) {
    return op->operand_count >= 2 && ((op->operands[0] == a && op->operands[1] == b) ||
                                      (op->operands[0] == b && op->operands[1] == a));
}

/// The binary op that a combine region of one value consists of, or OP_COUNT.
static OpCode combine_code(const Op *op) {
    if (op->region_count != 1 || op->regions[0]->argument_count != 2) return OP_COUNT;
    const Region *region = op->regions[0];
    const Op *yield = region_terminator(region);
    if (!yield || yield->operand_count != 1 || !yield->operands[0]->op) return OP_COUNT;
    const Op *combine = yield->operands[0]->op;
    return takes_both(combine, region->arguments[0], region->arguments[1]) ? combine->code
                                                                           : OP_COUNT;
}

static void refuse_combine(Differentiation *state, const Op *op) {
    bool is_scan = op->code == OP_ASSOCIATIVE_SCAN;
    adjoint_fail(
        state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
        "no derivative is known for this combine function: it is not associative, or a value with a gradient goes into another; of the latter %s are recognised; write a loop over the elements, or combine each value for itself",
        is_scan
            ? "h = a * h + b and sums before each element"
            : "choices among several (a maximum with its place), mean and variance, and maximum and sum of a softmax");
}

/// The value reduced: a one-item tuple counts as its item.
static Value *single_operand(Value *value) {
    if (value->op && value->op->code == OP_TUPLE && value->op->operand_count == 1)
        return value->op->operands[0];
    return value;
}

/* ---- a combine function by its numbers ---- */

enum { PROBES = 6 };
enum { MOMENTS = 3 };  // mean, sum of squared differences, count

/// Whether the function merges (mean, sum of squared differences, count) of two groups; `order`: which argument is which;
/// `scale`: counts are whole multiples of it.
static bool merges_moments(Arena *arena, const Region *region, const int *order, double scale) {
    CombineReach reach;
    if (!combine_reach(region, &reach)) return false;
    uint64_t state = 0;
    for (int probe = 0; probe < PROBES * reach.count; probe++) {
        double x[2 * MOMENTS], results[COMBINE_MOST_VALUES] = {0},
                               far = reach.items[probe / PROBES];
        for (int i = 0; i < 2 * MOMENTS; i++) x[i] = far * combine_number(&state, -2.0, 4.0);
        for (int side = 0; side < 2; side++) {
            double *count = &x[3 * side + order[2]], whole = fmax(1, floor(far));
            *count = scale * whole * (double)(1 + (uint64_t)(fabs(*count) * 1000) % 7);
        }
        if (!combine_run(arena, region, x, results)) return false;
        double n_a = x[order[2]], n_b = x[3 + order[2]];
        double delta = x[3 + order[0]] - x[order[0]], n = n_a + n_b;
        double mean = x[order[0]] + delta * n_b / n;
        double squares = x[order[1]] + x[3 + order[1]] + delta * delta * n_a * n_b / n;
        if (!combine_is_close(results[order[0]], mean) ||
            !combine_is_close(results[order[1]], squares) ||
            !combine_is_close(results[order[2]], n))
            return false;
    }
    return true;
}

/// Welford's merge: mean = sum(w m) / W, squares = sum(s) + sum(w (m - mean)^2), W = sum(w).
static bool reduce_moments(Differentiation *state, const Op *op, Value *const *gradients) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    Builder *b = &state->builder;
    const Op *tuple = op->operands[0]->op;
    bool three = op->region_count == 1 && op->regions[0]->argument_count == 6 && tuple &&
                 tuple->code == OP_TUPLE && tuple->operand_count == 3 && op->result_count == 3;
    const int *order = NULL;
    for (int i = 0; three && i < 6 && !order; i++)
        if (merges_moments(state->arena, op->regions[0], orders[i], 1)) order = orders[i];
    if (!order) return false;
    if (value_is_active(state, tuple->operands[order[2]]) &&
        !merges_moments(state->arena, op->regions[0], order, 0.125)) {
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
            "this combine function merges means and variances only where counts are 1 or more, so it has no derivative by them; pass the counts as integers");
        return true;
    }
    Value *axis = recomputed_operand(state, op, 1);
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    Value *adjoints[3], *inputs[3], *results[3];
    for (int i = 0; i < 3; i++) {
        inputs[i] = recomputed(state, tuple->operands[order[i]]);
        results[i] = expand_reduced(b, recomputed(state, op->results[order[i]]), axis, keeps);
        adjoints[i] =
            gradients[order[i]] ? expand_reduced(b, gradients[order[i]], axis, keeps) : NULL;
    }
    Value *off = build_binary(b, OP_SUB, inputs[0], results[0]);
    off->name = "off";
    // d mean: w / W * dmean + 2 w off dsquares; d w: off / W * dmean + off^2 dsquares + dW
    Value *mean = NULL, *weight = adjoints[2];
    Value *one = build_float(b, 1.0), *zero = build_float(b, 0.0);
    if (adjoints[0]) {
        Value *empty = build_binary(b, OP_EQ, results[2], zero);
        Value *share = build_binary(b, OP_DIV, adjoints[0],
                                    build_ternary(b, OP_WHERE, empty, one, results[2]));
        mean = build_binary(b, OP_MUL, inputs[2], share);
        Value *part = build_binary(b, OP_MUL, off, share);
        weight = weight ? build_binary(b, OP_ADD, weight, part) : part;
    }
    if (adjoints[1]) {
        Value *slope = build_binary(b, OP_MUL, off, adjoints[1]);
        Value *twice =
            build_binary(b, OP_MUL, build_binary(b, OP_MUL, inputs[2], slope), build_float(b, 2.0));
        mean = mean ? build_binary(b, OP_ADD, mean, twice) : twice;
        Value *part = build_binary(b, OP_MUL, off, slope);
        weight = weight ? build_binary(b, OP_ADD, weight, part) : part;
    }
    Value *parts[3] = {mean, adjoints[1], weight};
    for (int i = 0; i < 3; i++) {
        if (!parts[i] || !value_is_active(state, tuple->operands[order[i]])) continue;
        Value *shape = build_shape(b, inputs[i]->type);
        adjoint_add(state, tuple->operands[order[i]],
                    shape ? build_binary(b, OP_BROADCAST_TO, parts[i], shape) : parts[i]);
    }
    return true;
}

/// Whether the function adds each of several values to its own partner.
static bool adds_pairs(const Op *op) {
    const Region *region = op->region_count == 1 ? op->regions[0] : NULL;
    const Op *yield = region ? region_terminator(region) : NULL;
    int count = op->result_count;
    if (!yield || yield->operand_count != count || region->argument_count != 2 * count)
        return false;
    for (int i = 0; i < count; i++) {
        const Op *sum = yield->operands[i]->op;
        if (!sum || sum->code != OP_ADD ||
            !takes_both(sum, region->arguments[i], region->arguments[count + i]))
            return false;
    }
    return true;
}

/// A reduction of several values by a function that is none of those above: sums side by side, or nothing that is known.
static void reduce_several(Differentiation *state, const Op *op, Value *const *gradients) {
    const Op *tuple = op->operands[0]->op;
    if (!adds_pairs(op) || !tuple || tuple->code != OP_TUPLE ||
        tuple->operand_count != op->result_count) {
        if (!reduce_by_recurrence(state, op, gradients)) refuse_combine(state, op);
        return;
    }
    Value *axis = recomputed_operand(state, op, 1);
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    for (int i = 0; i < op->result_count; i++) {
        Value *input = tuple->operands[i];
        if (!gradients[i] || !value_is_active(state, input)) continue;
        Value *gradient = expand_reduced(&state->builder, gradients[i], axis, keeps);
        Value *shape = build_shape(&state->builder, recomputed(state, input)->type);
        adjoint_add(state, input, build_binary(&state->builder, OP_BROADCAST_TO, gradient, shape));
    }
}

void rule_reduce(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    OpCode code = combine_code(op);
    if (reduce_moments(state, op, gradients) || reduce_by_exponentials(state, op, gradients))
        return;
    if (op->result_count > 1) {
        if (!reduce_by_selection(state, op, gradients)) reduce_several(state, op, gradients);
        return;
    }
    Value *input = single_operand(op->operands[0]);
    Value *x = recomputed(state, input);
    Value *axis = recomputed_operand(state, op, 1);
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    Value *gradient = expand_reduced(b, gradients[0], axis, keeps);
    Value *result = expand_reduced(b, recomputed(state, op->results[0]), axis, keeps);
    Value *zero = build_float(b, 0.0);
    Value *keep = axis ? build_bool(b, true) : NULL;
    if (code == OP_ADD) {
        adjoint_add(state, input,
                    build_binary(b, OP_BROADCAST_TO, gradient, build_shape(b, x->type)));
    } else if (code == OP_MAXIMUM || code == OP_MINIMUM) {
        Value *ties = build_binary(b, OP_EQ, x, result);
        Value *ones = build_binary(b, OP_CAST, ties, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
        Value *count = build(b, OP_SUM, (Value *[]){ones, axis, keep}, 3);
        adjoint_add(
            state, input,
            build_ternary(b, OP_WHERE, ties, build_binary(b, OP_DIV, gradient, count), zero));
    } else if (code == OP_MUL) {
        // product of the others: result / x where nothing is 0; with one zero only that lane sees the product of the rest
        Value *is_zero = build_binary(b, OP_EQ, x, zero);
        Value *zeros = build(
            b, OP_SUM,
            (Value *[]){build_binary(b, OP_CAST, is_zero, build_dtype(b, dtype_of(DTYPE_INT32))),
                        axis, keep},
            3);
        zeros->name = "zeros";
        Value *filled = build_ternary(b, OP_WHERE, is_zero, build_float(b, 1.0), x);
        Op *again = combine_again(state, op, filled);
        Value *rest = expand_reduced(b, again->results[0], axis, keeps);
        Value *no_zero = build_binary(b, OP_EQ, zeros, build_int(b, 0)),
              *one_zero = build_binary(b, OP_EQ, zeros, build_int(b, 1));
        Value *alone =
            build_ternary(b, OP_WHERE, build_binary(b, OP_AND, one_zero, is_zero), rest, zero);
        Value *others =
            build_ternary(b, OP_WHERE, no_zero, build_binary(b, OP_DIV, rest, filled), alone);
        adjoint_add(state, input, build_binary(b, OP_MUL, gradient, others));
    } else if (!reduce_by_selection(state, op, gradients) &&
               !reduce_by_recurrence(state, op, gradients)) {
        refuse_combine(state, op);
    }
}

/* ---- scans ---- */

/// Adjoint of y = running product of x. Up to the first 0 it is a sum over y / x; at the first 0 the product without it;
/// behind it nothing.
static Value *product_adjoint(Builder *b, Value *x, Value *y, Value *gradient, Value *axis,
                              bool reverse) {
    Value *zero = build_float(b, 0.0), *one = build_float(b, 1.0);
    Value *forwards = build_bool(b, reverse), *backwards = build_bool(b, !reverse);
    Value *is_zero = build_binary(b, OP_EQ, x, zero);
    Value *ones = build_binary(b, OP_CAST, is_zero, build_dtype(b, dtype_of(DTYPE_INT32)));
    Value *zeros = build(b, OP_CUMSUM, (Value *[]){ones, axis, forwards}, 3);
    zeros->name = "zeros";
    Value *is_first =
        build_binary(b, OP_AND, is_zero, build_binary(b, OP_EQ, zeros, build_int(b, 1)));
    Value *rest =
        build(b, OP_CUMPROD,
              (Value *[]){build_ternary(b, OP_WHERE, is_first, one, x), axis, forwards}, 3);
    Value *all =
        build(b, OP_CUMSUM, (Value *[]){build_binary(b, OP_MUL, gradient, y), axis, backwards}, 3);
    Value *without = build(
        b, OP_CUMSUM, (Value *[]){build_binary(b, OP_MUL, gradient, rest), axis, backwards}, 3);
    Value *quotient = build_binary(b, OP_DIV, all, build_ternary(b, OP_WHERE, is_zero, one, x));
    Value *none = build_binary(b, OP_EQ, zeros, build_int(b, 0));
    return build_ternary(b, OP_WHERE, none, quotient,
                         build_ternary(b, OP_WHERE, is_first, without, zero));
}

static bool is_product_of(const Value *value, const Value *a, const Value *b) {
    const Op *op = value->op;
    return op && op->code == OP_MUL &&
           ((op->operands[0] == a && op->operands[1] == b) ||
            (op->operands[0] == b && op->operands[1] == a));
}

/// Whether a combine function composes h -> a h + b, first then second. `factor`: which argument is a.
static bool composes_affine(const Op *op, int *factor) {
    if (op->region_count != 1 || op->regions[0]->argument_count != 4 || op->result_count != 2)
        return false;
    const Region *region = op->regions[0];
    const Op *yield = region_terminator(region);
    if (!yield || yield->operand_count != 2) return false;
    for (int a = 0; a < 2; a++) {
        Value *const *x = region->arguments;
        const Value *a1 = x[a], *b1 = x[1 - a], *a2 = x[2 + a], *b2 = x[3 - a];
        if (!is_product_of(yield->operands[a], a1, a2)) continue;
        const Op *sum = yield->operands[1 - a]->op;
        if (!sum) continue;
        bool added = sum->code == OP_ADD &&
                     ((sum->operands[1] == b2 && is_product_of(sum->operands[0], a2, b1)) ||
                      (sum->operands[0] == b2 && is_product_of(sum->operands[1], a2, b1)));
        bool fused = sum->code == OP_FMA && sum->operands[2] == b2 &&
                     ((sum->operands[0] == a2 && sum->operands[1] == b1) ||
                      (sum->operands[0] == b1 && sum->operands[1] == a2));
        *factor = a;
        if (added || fused) return true;
    }
    return false;
}

/// h[t] = a[t] h[t-1] + b[t]: the adjoint is the same recurrence from the other end, with the factors of the next step.
static void scan_affine(Differentiation *state, const Op *op, Value *const *gradients, int factor,
                        int axis, bool reverse) {
    Builder *b = &state->builder;
    const Op *tuple = op->operands[0]->op;
    Value *primal_a = tuple->operands[factor], *primal_b = tuple->operands[1 - factor];
    Value *a = recomputed(state, primal_a);
    Value *axis_value = build_int(b, axis);
    int ahead = reverse ? -1 : 1;
    if (gradients[1 - factor]) {
        Value *items[2];
        items[factor] = shifted_lanes(b, a, axis, ahead);
        items[1 - factor] = gradients[1 - factor];
        Op *back = combine_again(state, op, build_tuple(b, items, 2));
        op_set_operand(back, 3, build_bool(b, !reverse));
        for (int i = 0; i < 2; i++) {
            back->results[i]->type = items[i]->type;
            back->results[i]->name = NULL;
        }
        Value *lambda = back->results[1 - factor];
        adjoint_add(state, primal_b, lambda);
        if (value_is_active(state, primal_a)) {
            Value *previous =
                shifted_lanes(b, recomputed(state, op->results[1 - factor]), axis, -ahead);
            adjoint_add(state, primal_a, build_binary(b, OP_MUL, lambda, previous));
        }
    }
    if (gradients[factor] && value_is_active(state, primal_a))
        adjoint_add(state, primal_a,
                    product_adjoint(b, a, recomputed(state, op->results[factor]), gradients[factor],
                                    axis_value, reverse));
}

void rule_scan(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    enum { REVERSE_OF_CUMPROD = 2, REVERSE_OF_SCAN = 3 };
    Value *direction = operand(op, op->code == OP_CUMPROD ? REVERSE_OF_CUMPROD : REVERSE_OF_SCAN);
    bool reverse = false;
    int axis, factor;
    bool known = (!direction || value_is_bool(direction, &reverse)) &&
                 constant_axis(op->operands[1], op->results[0]->type.rank, 0, &axis);
    if (!known) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the axis or the direction of this scan is not constant");
        return;
    }
    Value *input = single_operand(op->operands[0]);
    if (op->code == OP_ASSOCIATIVE_SCAN && combine_code(op) == OP_ADD) {
        Value *operands[] = {gradients[0], build_int(b, axis), build_bool(b, !reverse)};
        adjoint_add(state, input, build(b, OP_CUMSUM, operands, 3));
    } else if (op->code == OP_CUMPROD || combine_code(op) == OP_MUL) {
        adjoint_add(state, input,
                    product_adjoint(b, recomputed(state, input), recomputed(state, op->results[0]),
                                    gradients[0], build_int(b, axis), reverse));
    } else if (op->operand_count > REVERSE_OF_SCAN && composes_affine(op, &factor) &&
               op->operands[0]->op && op->operands[0]->op->code == OP_TUPLE) {
        scan_affine(state, op, gradients, factor, axis, reverse);
    } else if (!scan_by_exponentials(state, op, gradients, axis, reverse) &&
               !scan_of_sums_before(state, op, gradients, axis, reverse) &&
               !scan_by_selection(state, op, gradients, axis, reverse) &&
               !scan_by_recurrence(state, op, gradients, axis, reverse)) {
        refuse_combine(state, op);
    }
}
