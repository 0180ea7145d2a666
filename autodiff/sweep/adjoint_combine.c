// Adjoints of reductions and scans by combine functions of exponentials, and of sums before each element.
#include "autodiff/sweep/adjoint_combine.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/primal/activity.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/combine.h"
#include "autodiff/sweep/rule_parts.h"

/// Far below any logarithm, and finite: a combine function need not be made for infinities.
static const double NOTHING = -1e30;

static const Op *items_of(const Op *op, int count) {
    const Op *tuple = op->operands[0]->op;
    bool fits = op->region_count == 1 && tuple && tuple->code == OP_TUPLE &&
                tuple->operand_count == count && op->result_count == count;
    return fits ? tuple : NULL;
}

static Value *power(Builder *b, double base, Value *exponent) {
    return build_unary(b, base > 2.5 ? OP_EXP : OP_EXP2, exponent);
}

static Value *logarithm(Builder *b, double base, Value *value) {
    return build_unary(b, base > 2.5 ? OP_LOG : OP_LOG2, value);
}

static Value *times_log(Builder *b, double base, Value *value) {
    return base > 2.5 ? value : build_binary(b, OP_MUL, value, build_float(b, log(base)));
}

static Value *expanded(Builder *b, Value *value, Value *axis, bool keeps) {
    return keeps || !axis ? value : build_binary(b, OP_EXPAND_DIMS, value, axis);
}

static void add_spread(Differentiation *state, Value *primal, Value *gradient) {
    Builder *b = &state->builder;
    Value *shape = build_shape(b, recomputed(state, primal)->type);
    adjoint_add(state, primal,
                shape ? build_binary(b, OP_BROADCAST_TO, gradient, shape) : gradient);
}

/// (m, s) -> (M = max m, S = sum of s base^(m - M)): ds = dS base^(m - M), dm = s ds log(base), and what M gets, dM - S dS
/// log(base), goes to the largest m, shared where several are.
static void reduce_softmax(Differentiation *state, const Op *op, const Op *tuple,
                           Value *const *gradients, int maximum, double base) {
    Builder *b = &state->builder;
    Value *axis = recomputed_operand(state, op, 1), *zero = build_float(b, 0.0);
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    Value *primal_m = tuple->operands[maximum], *primal_s = tuple->operands[1 - maximum];
    Value *m = recomputed(state, primal_m), *s = recomputed(state, primal_s);
    Value *most = expanded(b, recomputed(state, op->results[maximum]), axis, keeps);
    Value *sum = expanded(b, recomputed(state, op->results[1 - maximum]), axis, keeps);
    Value *dmost = gradients[maximum] ? expanded(b, gradients[maximum], axis, keeps) : NULL;
    Value *dsum = gradients[1 - maximum] ? expanded(b, gradients[1 - maximum], axis, keeps) : NULL;
    Value *ties = build_binary(b, OP_EQ, m, most);
    ties->name = "ties";
    Value *share = NULL;
    if (dsum) {
        Value *distance = build_ternary(b, OP_WHERE, ties, zero, build_binary(b, OP_SUB, m, most));
        share = build_binary(b, OP_MUL, dsum, power(b, base, distance));
        if (value_is_active(state, primal_s)) add_spread(state, primal_s, share);
    }
    if (!value_is_active(state, primal_m)) return;
    Value *lost = dsum ? times_log(b, base, build_binary(b, OP_MUL, dsum, sum)) : NULL;
    Value *top = !lost    ? dmost
                 : !dmost ? build_unary(b, OP_NEG, lost)
                          : build_binary(b, OP_SUB, dmost, lost);
    Value *ones = build_binary(b, OP_CAST, ties, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    Value *keep = axis ? build_bool(b, true) : NULL;
    Value *count = build(b, OP_SUM, (Value *[]){ones, axis, keep}, 3);
    Value *total = build_ternary(b, OP_WHERE, ties, build_binary(b, OP_DIV, top, count), zero);
    if (share)
        total =
            build_binary(b, OP_ADD, total, times_log(b, base, build_binary(b, OP_MUL, s, share)));
    add_spread(state, primal_m, total);
}

/// The one value that is reduced or scanned, or NULL.
static Value *single_input(const Op *op) {
    if (op->region_count != 1 || op->result_count != 1) return NULL;
    const Op *tuple = items_of(op, 1);
    return tuple ? tuple->operands[0] : op->operands[0];
}

bool reduce_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    const Op *pair = items_of(op, 2);
    double base;
    int maximum;
    if (pair && combine_merges_softmax(state->arena, op->regions[0], &maximum, &base)) {
        reduce_softmax(state, op, pair, gradients, maximum, base);
        return true;
    }
    Value *input = single_input(op);
    if (!input || !combine_adds_exponentials(state->arena, op->regions[0], &base)) return false;
    if (!gradients[0]) return true;
    Value *axis = recomputed_operand(state, op, 1), *x = recomputed(state, input);
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    Value *total = expanded(b, recomputed(state, op->results[0]), axis, keeps);
    Value *part = power(b, base, build_binary(b, OP_SUB, x, total));
    Value *is_there = build_binary(b, OP_GT, x, build_float(b, -INFINITY));
    part = build_ternary(b, OP_WHERE, is_there, part, build_float(b, 0.0));
    add_spread(state, input, build_binary(b, OP_MUL, expanded(b, gradients[0], axis, keeps), part));
    return true;
}

/// The gradients go to the lane that was taken: where each of the values is the result's. Lanes that are alike in all share them.
bool reduce_by_selection(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    if (op->region_count != 1 || !combine_selects(state->arena, op->regions[0])) return false;
    const Op *tuple = items_of(op, op->result_count);
    if (!tuple && op->result_count > 1) return false;
    Value *axis = recomputed_operand(state, op, 1), *taken = NULL;
    bool keeps = false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    for (int i = 0; i < op->result_count; i++) {
        Value *item = recomputed(state, tuple ? tuple->operands[i] : op->operands[0]);
        Value *result = expanded(b, recomputed(state, op->results[i]), axis, keeps);
        Value *is_it = build_binary(b, OP_EQ, item, result);
        taken = taken ? build_binary(b, OP_AND, taken, is_it) : is_it;
    }
    taken->name = "taken";
    Value *ones = build_binary(b, OP_CAST, taken, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    Value *keep = axis ? build_bool(b, true) : NULL;
    Value *count = build(b, OP_SUM, (Value *[]){ones, axis, keep}, 3);
    for (int i = 0; i < op->result_count; i++) {
        Value *input = tuple ? tuple->operands[i] : op->operands[0];
        if (!gradients[i] || !value_is_active(state, input)) continue;
        Value *share = build_binary(b, OP_DIV, expanded(b, gradients[i], axis, keeps), count);
        add_spread(state, input, build_ternary(b, OP_WHERE, taken, share, build_float(b, 0.0)));
    }
    return true;
}

Op *combine_again(Differentiation *state, const Op *op, Value *items) {
    // Constants of the combine function are where the recomputation has them.
    Value *primal = op->operands[0], *known = map_get_pointer(&state->values, primal);
    Value **results = ARENA_ARRAY(state->arena, Value *, op->result_count + 1);
    for (int i = 0; i < op->result_count; i++)
        results[i] = map_get_pointer(&state->values, op->results[i]);
    map_set_pointer(&state->values, primal, items);
    Op *again = op_clone(&state->builder, op, &state->values);
    map_set_pointer(&state->values, primal, known);
    for (int i = 0; i < op->result_count; i++)
        map_set_pointer(&state->values, op->results[i], results[i]);
    return again;
}

/// The scan again over other values, from the other end.
static Value *scan_back(Differentiation *state, const Op *op, Value *over, bool reverse) {
    Builder *b = &state->builder;
    const Op *tuple = items_of(op, 1);
    Value *items = tuple ? build_tuple(b, &over, 1) : over;
    Op *back = combine_again(state, op, items);
    op_set_operand(back, 3, build_bool(b, !reverse));
    back->results[0]->type = over->type;
    back->results[0]->name = NULL;
    return back->results[0];
}

/// r[t] = log of the sum of base^x[i] up to t. dx[i] = sum over t >= i of dr[t] base^(x[i] - r[t]): the scan of log(dr) - r
/// from the other end, for what is positive of dr and for what is negative.
bool scan_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                          bool reverse) {
    (void)axis;
    Builder *b = &state->builder;
    Value *input = single_input(op);
    double base;
    if (!input || op->code != OP_ASSOCIATIVE_SCAN || op->operand_count < 4 ||
        !combine_adds_exponentials(state->arena, op->regions[0], &base))
        return false;
    Value *x = recomputed(state, input), *total = recomputed(state, op->results[0]);
    Value *zero = build_float(b, 0.0), *parts[2];
    Value *is_there = build_binary(b, OP_GT, total, build_float(b, -INFINITY));
    for (int side = 0; side < 2; side++) {
        Value *gradient = side ? build_unary(b, OP_NEG, gradients[0]) : gradients[0];
        Value *counts = build_binary(b, OP_AND, build_binary(b, OP_GT, gradient, zero), is_there);
        Value *size = build_ternary(b, OP_WHERE, counts, gradient, build_float(b, 1.0));
        Value *term = build_ternary(b, OP_WHERE, counts,
                                    build_binary(b, OP_SUB, logarithm(b, base, size), total),
                                    build_float(b, NOTHING));
        Value *behind = scan_back(state, op, term, reverse);
        parts[side] = power(b, base, build_binary(b, OP_ADD, x, behind));
    }
    adjoint_add(state, input, build_binary(b, OP_SUB, parts[0], parts[1]));
    return true;
}

bool scan_of_sums_before(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                         bool reverse) {
    Builder *b = &state->builder;
    const Op *tuple = items_of(op, 2);
    int sum;
    if (!tuple || op->code != OP_ASSOCIATIVE_SCAN ||
        !combine_sums_before(state->arena, op->regions[0], &sum))
        return false;
    Value *dsum = gradients[sum], *dlast = gradients[1 - sum], *behind = NULL;
    if (dsum) {
        Value *operands[] = {dsum, build_int(b, axis), build_bool(b, !reverse)};
        behind = build(b, OP_CUMSUM, operands, 3);
        if (value_is_active(state, tuple->operands[sum]))
            adjoint_add(state, tuple->operands[sum], behind);
        behind = build_binary(b, OP_SUB, behind, dsum);
    }
    Value *total = !behind ? dlast : !dlast ? behind : build_binary(b, OP_ADD, behind, dlast);
    if (total && value_is_active(state, tuple->operands[1 - sum]))
        adjoint_add(state, tuple->operands[1 - sum], total);
    return true;
}

/* ---- scans that select ---- */

static ParameterDefinition run_sums_parameters[] = {
    {.name = {"sum_1", 5}}, {.name = {"open_1", 6}}, {.name = {"stays_1", 7}},
    {.name = {"sum_2", 5}}, {.name = {"open_2", 6}}, {.name = {"stays_2", 7}},
};

/// The function by which a scan from the other end adds up the lanes from each one on, to the next that does not stay: a group of
/// lanes has the sum at its last one, whether what comes in gets there, and whether that goes on from there.
static const FunctionDefinition run_sums_definition = {
    .name = {"_run_sums", 9},
    .is_jit = true,
    .parameters = run_sums_parameters,
    .parameter_count = sizeof run_sums_parameters / sizeof *run_sums_parameters,
};

static void build_run_sums(Function *function, Op *scan) {
    Builder b = {.function = function};
    Region *region = op_add_region(&b, scan);
    b.region = region;
    Type number = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_FLOAT32)};
    Value *x[sizeof run_sums_parameters / sizeof *run_sums_parameters];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = region_add_argument(function, region, number, NULL);
    Value *passes = build_binary(&b, OP_MUL, x[2], x[4]);
    passes->name = "passes";
    Value *results[] = {build_binary(&b, OP_ADD, x[3], build_binary(&b, OP_MUL, passes, x[0])),
                        build_binary(&b, OP_MUL, x[1], passes), x[5]};
    op_append(&b, OP_YIELD, results, 3, 0);
}

/// At each lane the sum of `terms` over the lanes from it on, the next one that is `taken` and what is behind it left out.
static Value *run_sums(Differentiation *state, Value *terms, Value *taken, int axis, bool reverse) {
    Builder *b = &state->builder;
    Value *shape = build_shape(b, taken->type), *one = build_float(b, 1.0);
    if (!shape) return NULL;
    Value *single = build_dtype(b, dtype_of(DTYPE_FLOAT32));
    Value *items[] = {
        build_binary(b, OP_CAST, build_binary(b, OP_BROADCAST_TO, terms, shape), single),
        build_ternary(b, OP_FULL, shape, one, single),
        build_ternary(b, OP_WHERE, taken, build_float(b, 0.0), one)};
    Constant function = {
        .kind = CONSTANT_FUNCTION, .function = &run_sums_definition, .op = OP_COUNT};
    Value *operands[] = {build_tuple(b, items, 3), build_int(b, axis), build_constant(b, function),
                         build_bool(b, !reverse)};
    Op *scan = op_append(b, OP_ASSOCIATIVE_SCAN, operands, 4, 3);
    build_run_sums(b->function, scan);
    infer_op(state->arena, scan, NULL);
    return scan->results[0];
}

bool scan_by_selection(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                       bool reverse) {
    Builder *b = &state->builder;
    if (op->code != OP_ASSOCIATIVE_SCAN || op->region_count != 1 ||
        !combine_selects(state->arena, op->regions[0]))
        return false;
    const Op *tuple = items_of(op, op->result_count);
    if (!tuple && op->result_count > 1) return false;
    Value *taken = NULL;
    for (int i = 0; i < op->result_count; i++) {
        Value *item = recomputed(state, tuple ? tuple->operands[i] : op->operands[0]);
        Value *is_it = build_binary(b, OP_EQ, item, recomputed(state, op->results[i]));
        taken = taken ? build_binary(b, OP_AND, taken, is_it) : is_it;
    }
    taken->name = "taken";
    for (int i = 0; i < op->result_count; i++) {
        Value *input = tuple ? tuple->operands[i] : op->operands[0];
        if (!gradients[i] || !value_is_active(state, input)) continue;
        Value *sums = run_sums(state, gradients[i], taken, axis, reverse);
        if (!sums) return false;
        adjoint_add(state, input, build_ternary(b, OP_WHERE, taken, sums, build_float(b, 0.0)));
    }
    return true;
}
