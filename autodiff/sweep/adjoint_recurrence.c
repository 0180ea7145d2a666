// Adjoints of scans and reductions by any associative combine function whose values do not mix.
//
// y[t] = f(y[t-1], x[t]) with slopes A[t] by the first and B[t] by the second gives dx[t] = B[t] * l[t], where
// l[t] = dy[t] + A[t+1] * l[t+1]: an affine recurrence from the other end. The slopes are those of the function's own operations.
#include "autodiff/sweep/adjoint_recurrence.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/primal/activity.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/adjoint_rules.h"
#include "autodiff/sweep/combine.h"
#include "autodiff/sweep/rule_parts.h"

/* ---- lanes ---- */

/// `*inside`: where lane i + by is one.
static Value *moved_lanes(Builder *b, Value *value, int axis, int by, Value **inside) {
    Value *lanes = lane_numbers(b, value->type, axis, NULL);
    Value *from = build_binary(b, OP_ADD, lanes, build_int(b, by));
    *inside = by < 0 ? build_binary(b, OP_GE, from, build_int(b, 0))
                     : build_binary(b, OP_LT, from, build_poly(b, value->type.dims[axis]));
    Value *index = build_ternary(b, OP_WHERE, *inside, from, lanes);
    if (value->type.rank > 1)
        index = build_binary(b, OP_BROADCAST_TO, index, build_shape(b, value->type));
    return build_ternary(b, OP_GATHER, value, index, build_int(b, axis));
}

Value *shifted_lanes(Builder *b, Value *value, int axis, int by) {
    Value *inside, *moved = moved_lanes(b, value, axis, by, &inside);
    return build_ternary(b, OP_WHERE, inside, moved, build_float(b, 0.0));
}

/// What the lane before has, of whatever type; the first lane has its own.
static Value *lane_before(Builder *b, Value *value, int axis, int ahead, Value **has_one) {
    bool is_flag = value->type.element.code == DTYPE_INT1;
    if (is_flag) value = build_binary(b, OP_CAST, value, build_dtype(b, dtype_of(DTYPE_INT32)));
    Value *before = moved_lanes(b, value, axis, -ahead, has_one);
    return is_flag ? build_binary(b, OP_NE, before, build_int(b, 0)) : before;
}

/* ---- what the function is ---- */

/// A scan, or a reduction as one.
typedef struct Recurrence {
    const Region *combine;
    int count;  // of the values that it combines
    int axis;
    int ahead;                           // 1, or -1 from the last lane on
    Value *primal[COMBINE_MOST_VALUES];  // what goes in
    Value *given[COMBINE_MOST_VALUES];   // the same, recomputed
    Value *results[COMBINE_MOST_VALUES];
    Value *gradients[COMBINE_MOST_VALUES];  // of the results, of their shape; or NULL
} Recurrence;

static bool is_plain(const Region *region) {
    const Op *yield = region_terminator(region);
    for (const Op *op = region->first; op && op != yield; op = op->next)
        if (op->result_count != 1 || op->region_count || op->keyword_count ||
            op_rows[op->code].effects)
            return false;
    return yield;
}

/// How whole numbers, and what may be one, are drawn: flags, or small counts.
typedef enum Whole { WHOLE_FLAGS, WHOLE_COUNTS } Whole;

static double draw(uint64_t *numbers, const Value *argument, Whole whole) {
    bool is_float = dtype_is_float(argument->type.element);
    double number = combine_number(numbers, -2.0, 4.0);
    if (is_float) return number;
    return whole == WHOLE_FLAGS ? number > 0 : 1 + floor(fabs(number) * 2);
}

/// f(f(x, y), z) = f(x, f(y, z)), as far as numbers show.
static bool associates(Arena *arena, const Region *combine, int count, Whole whole) {
    enum { PROBES = 16 };
    uint64_t numbers = 0;
    for (int probe = 0; probe < PROBES; probe++) {
        double x[3 * COMBINE_MOST_VALUES], inner[2 * COMBINE_MOST_VALUES];
        double first[COMBINE_MOST_VALUES], last[COMBINE_MOST_VALUES];
        for (int i = 0; i < 3 * count; i++)
            x[i] = draw(&numbers, combine->arguments[i % count], whole);
        if (!combine_run(arena, combine, x, inner)) return false;
        for (int i = 0; i < count; i++) inner[count + i] = x[2 * count + i];
        if (!combine_run(arena, combine, inner, first)) return false;
        for (int i = 0; i < count; i++) inner[i] = x[i];
        if (!combine_run(arena, combine, x + count, inner + count) ||
            !combine_run(arena, combine, inner, last))
            return false;
        for (int i = 0; i < count; i++)
            if (!combine_is_close(first[i], last[i])) return false;
    }
    return true;
}

/// Whether one value is passed for two, one of them with a gradient: then nobody could tell their slopes apart.
static bool passes_twice(const Differentiation *state, const Recurrence *scan) {
    for (int i = 0; i < scan->count; i++)
        for (int k = 0; k < scan->count; k++)
            if (i != k && scan->given[i] == scan->given[k] &&
                value_is_active(state, scan->primal[i]))
                return true;
    return false;
}

static bool recurrence_read(Differentiation *state, const Op *op, Recurrence *scan) {
    *scan = (Recurrence){.count = op->result_count, .ahead = 1};
    if (op->region_count != 1 || scan->count > COMBINE_MOST_VALUES) return false;
    scan->combine = op->regions[0];
    const Op *tuple = op->operands[0]->op;
    if (tuple && tuple->code != OP_TUPLE) tuple = NULL;
    if (scan->combine->argument_count != 2 * scan->count ||
        (tuple ? tuple->operand_count : 1) != scan->count || !is_plain(scan->combine))
        return false;
    for (int i = 0; i < scan->count; i++) {
        scan->primal[i] = tuple ? tuple->operands[i] : op->operands[0];
        scan->given[i] = recomputed(state, scan->primal[i]);
        if (scan->given[i]->type.kind != TYPE_NUMBER || scan->given[i]->type.rank == 0)
            return false;
    }
    return !passes_twice(state, scan) &&
           (associates(state->arena, scan->combine, scan->count, WHOLE_FLAGS) ||
            associates(state->arena, scan->combine, scan->count, WHOLE_COUNTS));
}

/* ---- its slopes ---- */

/// The function's operations over tiles, at the builder's place. The first of them, or NULL.
static const Op *write_combine(Differentiation *state, const Recurrence *scan) {
    Builder *b = &state->builder;
    const Op *last = b->before ? b->before->previous : b->region->last;
    const Op *yield = region_terminator(scan->combine);
    for (const Op *op = scan->combine->first; op != yield; op = op->next) {
        if (op->code == OP_CONSTANT) {
            op_clone(b, op, &state->values);
            continue;
        }
        Value **operands = ARENA_ARRAY(state->arena, Value *, op->operand_count + 1);
        for (int i = 0; i < op->operand_count; i++)
            operands[i] = op->operands[i] ? recomputed(state, op->operands[i]) : NULL;
        Value *result = build(b, op->code, operands, op->operand_count);
        map_set_pointer(&state->values, op->results[0], result);
    }
    return last ? last->next : b->region->first;
}

static void mark_active(Differentiation *state, const Op *first, const Op *end) {
    for (const Op *op = first; op && op != end; op = op->next) {
        bool active = false;
        for (int i = 0; i < op->operand_count && !op_rows[op->code].gradient_none; i++)
            active = active || value_is_active(state, op->operands[i]);
        for (int i = 0; active && i < op->result_count; i++)
            if (value_may_be_float(op->results[i]))
                map_set_pointer(&state->activity.active, op->results[i], (void *)1);
    }
}

/// Derivatives of value `index` of the function by its own two arguments; NULL for 0. False where others move it, too.
static bool find_slopes(Differentiation *state, const Recurrence *scan, int index,
                        Value *const *before, Value *slopes[2]) {
    Builder *b = &state->builder;
    for (int i = 0; i < scan->count; i++) {
        map_set_pointer(&state->values, scan->combine->arguments[i], before[i]);
        map_set_pointer(&state->values, scan->combine->arguments[scan->count + i], scan->given[i]);
    }
    AdjointFrame frame = {.adjoints = map_new(state->arena), .outer = state->sweep.frame};
    state->sweep.frame = &frame;
    for (int i = 0; i < scan->count; i++) {
        if (!value_is_active(state, scan->primal[i])) continue;
        map_set_pointer(&state->activity.active, before[i], (void *)1);
        map_set_pointer(&state->activity.active, scan->given[i], (void *)1);
    }
    const Op *first = write_combine(state, scan), *end = b->before;
    const Op *last = end ? end->previous : b->region->last;
    mark_active(state, first, end);
    Value *one = build_float(b, 1.0), *shape = build_shape(b, scan->given[index]->type);
    Value *ones = build_ternary(b, OP_FULL, shape, one, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    adjoint_add(state, recomputed(state, region_terminator(scan->combine)->operands[index]), ones);
    for (const Op *op = first ? last : NULL; op && !state->failed; op = op->previous) {
        Value *gradient =
            op->result_count == 1 ? map_get_pointer(&frame.adjoints, op->results[0]) : NULL;
        if (gradient) adjoint_rule(state, op, &gradient);
        if (op == first) break;
    }
    slopes[0] = map_get_pointer(&frame.adjoints, before[index]);
    slopes[1] = map_get_pointer(&frame.adjoints, scan->given[index]);
    state->sweep.frame = frame.outer;
    for (int i = 0; i < scan->count; i++)
        if (i != index && (map_has_pointer(&frame.adjoints, before[i]) ||
                           map_has_pointer(&frame.adjoints, scan->given[i])))
            return false;
    return true;
}

/* ---- the recurrence back ---- */

static ParameterDefinition carry_parameters[] = {
    {.name = {"factor_1", 8}},
    {.name = {"sum_1", 5}},
    {.name = {"factor_2", 8}},
    {.name = {"sum_2", 5}},
};

static const FunctionDefinition carry_definition = {
    .name = {"_carry_back", 11},
    .is_jit = true,
    .parameters = carry_parameters,
    .parameter_count = sizeof carry_parameters / sizeof *carry_parameters,
};

static Value *whole_tile(Builder *b, Value *value, Type like) {
    Value *tile = build_binary(b, OP_BROADCAST_TO, value, build_shape(b, like));
    return build_binary(b, OP_CAST, tile, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
}

/// l[t] = gradient[t] + factor[t] * l of the lane that comes before it from the other end.
static Value *carry_back(Differentiation *state, const Recurrence *scan, Value *factor,
                         Value *gradient) {
    Builder *b = &state->builder;
    Type like = scan->given[0]->type;
    Value *items[] = {whole_tile(b, factor, like), whole_tile(b, gradient, like)};
    Constant function = {.kind = CONSTANT_FUNCTION, .function = &carry_definition, .op = OP_COUNT};
    Value *operands[] = {build_tuple(b, items, 2), build_int(b, scan->axis),
                         build_constant(b, function), build_bool(b, scan->ahead > 0)};
    Op *back = op_append(b, OP_ASSOCIATIVE_SCAN, operands, 4, 2);
    Builder inner = {.function = b->function};
    inner.region = op_add_region(&inner, back);
    Type number = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_FLOAT32)};
    Value *x[4];
    for (int i = 0; i < 4; i++)
        x[i] = region_add_argument(inner.function, inner.region, number, NULL);
    Value *results[] = {
        build_binary(&inner, OP_MUL, x[0], x[2]),
        build_binary(&inner, OP_ADD, build_binary(&inner, OP_MUL, x[1], x[2]), x[3])};
    op_append(&inner, OP_YIELD, results, 2, 0);
    infer_op(state->arena, back, NULL);
    return back->results[1];
}

static bool recurrence_adjoint(Differentiation *state, const Recurrence *scan) {
    Builder *b = &state->builder;
    Value *before[COMBINE_MOST_VALUES], *has_one = NULL;
    for (int i = 0; i < scan->count; i++)
        before[i] = lane_before(b, scan->results[i], scan->axis, scan->ahead, &has_one);
    for (int i = 0; i < scan->count && !state->failed; i++) {
        if (!scan->gradients[i] || !value_is_active(state, scan->primal[i])) continue;
        Value *slopes[2], *total = scan->gradients[i];
        if (!find_slopes(state, scan, i, before, slopes)) return false;
        if (state->failed) return true;
        if (slopes[0]) {
            Value *factor = whole_tile(b, slopes[0], scan->given[i]->type);
            factor = shifted_lanes(b, factor, scan->axis, scan->ahead);
            total = carry_back(state, scan, factor, total);
        }
        Value *slope = slopes[1] ? slopes[1] : build_float(b, 0.0);
        slope = build_ternary(b, OP_WHERE, has_one, slope, build_float(b, 1.0));
        adjoint_add(state, scan->primal[i], build_binary(b, OP_MUL, total, slope));
    }
    return true;
}

bool scan_by_recurrence(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                        bool reverse) {
    Recurrence scan;
    if (op->code != OP_ASSOCIATIVE_SCAN || !recurrence_read(state, op, &scan)) return false;
    scan.axis = axis;
    scan.ahead = reverse ? -1 : 1;
    for (int i = 0; i < scan.count; i++) {
        scan.results[i] = recomputed(state, op->results[i]);
        scan.gradients[i] = gradients[i];
    }
    return recurrence_adjoint(state, &scan);
}

/// The reduction's states, lane after lane.
static void run_as_scan(Differentiation *state, const Op *op, Recurrence *scan) {
    Builder *b = &state->builder;
    Value *operands[] = {recomputed(state, op->operands[0]), build_int(b, scan->axis),
                         recomputed(state, op->operands[2]), build_bool(b, false)};
    Op *states = op_append(b, OP_ASSOCIATIVE_SCAN, operands, 4, scan->count);
    Builder inner = {.function = b->function};
    inner.region = op_add_region(&inner, states);
    for (int i = 0; i < scan->combine->argument_count; i++) {
        const Value *argument = scan->combine->arguments[i];
        Value *copy =
            region_add_argument(inner.function, inner.region, argument->type, argument->name);
        map_set_pointer(&state->values, argument, copy);
    }
    for (const Op *each = scan->combine->first; each; each = each->next)
        op_clone(&inner, each, &state->values);
    infer_op(state->arena, states, NULL);
    for (int i = 0; i < scan->count; i++) scan->results[i] = states->results[i];
}

bool reduce_by_recurrence(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    Recurrence scan;
    bool keeps = false;
    if (!operand(op, 1) || !operand(op, 2) || !recurrence_read(state, op, &scan) ||
        !constant_axis(op->operands[1], scan.given[0]->type.rank, 0, &scan.axis))
        return false;
    if (operand(op, 3)) value_is_bool(op->operands[3], &keeps);
    run_as_scan(state, op, &scan);
    Type type = scan.given[0]->type;
    Value *end = build_poly(b, type.dims[scan.axis]);
    Value *is_last = build_binary(b, OP_EQ, lane_numbers(b, type, scan.axis, NULL),
                                  build_binary(b, OP_SUB, end, build_int(b, 1)));
    for (int i = 0; i < scan.count; i++) {
        if (!gradients[i]) continue;
        Value *gradient = gradients[i];
        if (!keeps && type.rank > 1)
            gradient = build_binary(b, OP_EXPAND_DIMS, gradient, build_int(b, scan.axis));
        scan.gradients[i] = build_ternary(b, OP_WHERE, is_last, gradient, build_float(b, 0.0));
    }
    return recurrence_adjoint(state, &scan);
}
