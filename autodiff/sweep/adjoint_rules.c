// Adjoints of single ops: the table's GRAD text through the front end, and the cases that a line of text cannot say.
#include "autodiff/sweep/adjoint_rules.h"

#include <math.h>
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "analysis/lowering/rule.h"
#include "autodiff/primal/activity.h"
#include "autodiff/primal/bits.h"
#include "autodiff/state/names.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/adjoint_dot.h"
#include "autodiff/sweep/adjoint_given.h"
#include "autodiff/sweep/adjoint_reduce.h"
#include "autodiff/sweep/extremes.h"
#include "autodiff/sweep/rule_parts.h"
#include "autodiff/tape/load_tape.h"

static Value *cast_to_code(Builder *b, Value *value, DTypeCode code) {
    if (value->type.element.code == code) return value;
    return build_binary(b, OP_CAST, value, build_dtype(b, dtype_of(code)));
}

/* ---- factors that hold infinities ---- */

/// What infinities the author wrote into a tile.
enum { INFINITY_NEGATIVE = 1, INFINITY_POSITIVE = 2 };

/// Those of the operands from `first` to `last`.
static intptr_t infinities_in_operands(ValueWalk *walk, const Op *op, int first, int last) {
    intptr_t signs = 0;
    for (int i = first; i <= last && i < op->operand_count; i++)
        signs |= walk_ask(walk, op->operands[i]);
    return signs;
}

static intptr_t infinities_in(ValueWalk *walk, const Value *value) {
    double number;
    if (!value) return 0;
    if (value_is_number(value, &number))
        return !isinf(number) ? 0 : number < 0 ? INFINITY_NEGATIVE : INFINITY_POSITIVE;
    const Op *op = value->op;
    if (!op) return 0;
    switch (op->code) {
    case OP_WHERE: return infinities_in_operands(walk, op, 1, 2);
    case OP_FULL: return infinities_in_operands(walk, op, 1, 1);
    case OP_LOAD: return infinities_in_operands(walk, op, 2, 2);
    case OP_ADD:
    case OP_MUL: return infinities_in_operands(walk, op, 0, 1);
    case OP_FOR:
    case OP_STATIC_FOR: return walk_ask(walk, op->operands[3 + value->index]);
    case OP_IF: {
        intptr_t signs = 0;
        for (int r = 0; r < 2; r++)
            signs |= walk_ask(walk, region_terminator(op->regions[r])->operands[value->index]);
        return signs;
    }
    case OP_NEG: {
        intptr_t signs = walk_ask(walk, op->operands[0]);
        return (signs & INFINITY_NEGATIVE ? INFINITY_POSITIVE : 0) |
               (signs & INFINITY_POSITIVE ? INFINITY_NEGATIVE : 0);
    }
    case OP_SUB:
    case OP_DIV:
    case OP_FDIV:
    case OP_DIV_RN:
    case OP_MAX:
    case OP_CAST: return infinities_in_operands(walk, op, 0, 0);
    default: return op_has(op->code, TRAIT_LAYOUT) ? infinities_in_operands(walk, op, 0, 0) : 0;
    }
}

/// What the derivative of an operand is a multiple of, as far as it may hold infinities; NULL for none.
static Value *factor_beside(const Op *op, const Value *target) {
    switch (op->code) {
    case OP_MUL: return op->operands[op->operands[0] == target ? 1 : 0];
    case OP_FMA:
        return target == op->operands[0]   ? op->operands[1]
               : target == op->operands[1] ? op->operands[0]
                                           : NULL;
    case OP_DIV:
    case OP_FDIV:
    case OP_DIV_RN: return target == op->operands[1] ? op->operands[0] : NULL;
    default: return NULL;
    }
}

/// A score of minus infinity counts for nothing, whatever it is multiplied by: 0 * inf must not get into the factor's
/// gradient.
static Value *without_infinities(Differentiation *state, const Op *op, const Value *target,
                                 Value *adjoint) {
    Builder *b = &state->builder;
    Value *other = factor_beside(op, target);
    const intptr_t unknown = INFINITY_NEGATIVE | INFINITY_POSITIVE;
    intptr_t signs = walk_from(other, infinities_in, unknown, NULL);
    if (!signs) return adjoint;
    Value *tile = recomputed(state, other);
    bool is_negative = signs == INFINITY_NEGATIVE;
    if (!is_negative) tile = build_unary(b, OP_ABS, tile);
    Value *counts = build_binary(b, is_negative ? OP_GT : OP_LT, tile,
                                 build_float(b, is_negative ? -INFINITY : INFINITY));
    return build_ternary(b, OP_WHERE, counts, adjoint, build_float(b, 0.0));
}

/* ---- rules written in Triton ---- */

static void rule_from_text(Differentiation *state, const Op *op, Value *gradient) {
    const OpRow *row = &op_rows[op->code];
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    NamedValue *names = ARENA_ARRAY(state->arena, NamedValue, count + 2);
    int used = 0;
    for (int i = 0; i < count; i++) {
        Value *value =
            i < op->operand_count && op->operands[i] ? recomputed(state, op->operands[i]) : NULL;
        if (!value && parameters[i].default_text.size) {
            Error error = NULL;
            value =
                lower_expression(&state->builder, str_dup(state->arena, parameters[i].default_text),
                                 NULL, 0, &error);
        }
        if (!value) value = build_none(&state->builder);
        names[used++] = (NamedValue){str_dup(state->arena, parameters[i].name), value};
    }
    names[used++] = (NamedValue){"grad", gradient};
    names[used++] = (NamedValue){"result", recomputed(state, op->results[0])};
    Str rest = str_from(row->gradient);
    while (rest.size) {
        size_t end = 0, colon = 0;
        while (end < rest.size && rest.data[end] != '\n') end++;
        while (colon < end && rest.data[colon] != ':') colon++;
        Str name = str_trim((Str){rest.data, colon});
        Str rule = str_trim((Str){rest.data + colon + 1, end - colon - 1});
        rest = end < rest.size ? (Str){rest.data + end + 1, rest.size - end - 1} : (Str){0};
        int index = op_parameter_index(op->code, name);
        Value *target = index >= 0 ? operand(op, index) : NULL;
        if (!target || !value_is_active(state, target)) continue;
        Error error = NULL;
        Value *adjoint =
            lower_expression(&state->builder, str_dup(state->arena, rule), names, used, &error);
        if (!adjoint || error) {
            adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                         "the derivative rule of `%s` does not apply here: %s",
                         row->name ? row->name : row->id, error ? error : "no value");
            return;
        }
        adjoint_add(state, target, without_infinities(state, op, target, adjoint));
    }
}

/* ---- memory ---- */

/// The same address in another buffer: the expression recomputed with `root` replaced.
static Value *shadow_pointer(Differentiation *state, Value *pointer, Value *root,
                             Value *replacement) {
    if (pointer == root) return replacement;
    Value *mapped = recomputed(state, pointer);
    if (!pointer->op || pointer->type.kind != TYPE_POINTER) return mapped;
    const Op *op = pointer->op;
    Value **operands = ARENA_ARRAY(state->arena, Value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++) {
        Value *inner = op->operands[i];
        bool is_pointer = inner && inner->type.kind == TYPE_POINTER;
        operands[i] = is_pointer ? shadow_pointer(state, inner, root, replacement)
                      : inner    ? recomputed(state, inner)
                                 : NULL;
    }
    if (op->code == OP_CAST || op->code == OP_MULTIPLE_OF || op->code == OP_MAX_CONTIGUOUS)
        return operands[0];
    Value *shadow = build(&state->builder, op->code, operands, op->operand_count);
    if (shadow && !shadow->name && pointer->name)
        shadow->name = arena_printf(state->arena, "d%s", pointer->name);
    return shadow;
}

static bool pointer_is_expression(const Value *pointer, const Value *root) {
    for (int depth = 0; pointer != root && depth < 1000; depth++) {
        if (!pointer || !pointer->op || pointer->op->region_count) return false;
        const Value *next = NULL;
        for (int i = 0; i < pointer->op->operand_count; i++)
            if (pointer->op->operands[i] && pointer->op->operands[i]->type.kind == TYPE_POINTER)
                next = pointer->op->operands[i];
        pointer = next;
    }
    return pointer == root;
}

/// All threads of the program have seen and made their changes to a running gradient. `before`: NULL for here.
static void running_barrier(Differentiation *state, Value *gradient, Op *before) {
    Builder builder = state->builder;
    if (before) builder.before = before;
    Op *barrier = op_append(&builder, OP_DEBUG_BARRIER, NULL, 0, 0);
    RunningStep step = {.op = barrier, .gradient = gradient};
    LIST_PUSH(state->arena, &state->sweep.running_steps, step);
}

/// What is stored over has no gradient further up: the place counts as 0 from here on.
static void running_forget(Differentiation *state, Value *gradient, Value *pointer, Value *mask) {
    Builder *b = &state->builder;
    Value *operands[] = {pointer, build_float(b, 0.0), mask};
    Op *last = b->before ? b->before->previous : b->region->last;
    build(b, OP_STORE, operands, 3);
    Op *zero = b->before ? b->before->previous : b->region->last;
    if (zero == last) return;
    RunningStep step = {.op = zero, .gradient = gradient};
    LIST_PUSH(state->arena, &state->sweep.running_steps, step);
}

static void rule_load(Differentiation *state, const Op *op, Value *gradient) {
    Value *address = load_saved(state, op)->operands[0];
    Value *root = pointer_root(address);
    Value *mask = recomputed_operand(state, op, 1);
    Value *other = operand(op, 2);
    Builder *b = &state->builder;
    if (other && mask && value_is_active(state, other)) {
        Value *missed = build_ternary(b, OP_WHERE, mask, build_float(b, 0.0), gradient);
        adjoint_add(state, other, missed);
    }
    Value *target = root ? map_get_pointer(&state->buffers.gradients, root) : NULL;
    bool chosen = !root && pointer_may_reach_gradient(state, address);
    if (!target && !chosen) return;
    if (chosen || !pointer_is_expression(address, root)) {
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, op->range,
            "the address of this load is chosen at run time, so there is no place to add its gradient to");
        return;
    }
    Value *pointer = shadow_pointer(state, address, root, target);
    if (gradient->type.rank < pointer->type.rank) {
        Value *shape = build_shape(b, type_here(state, op->results[0]));
        if (shape) gradient = build_binary(b, OP_BROADCAST_TO, gradient, shape);
    }
    if (!gradient->name && op->results[0]->name)
        gradient->name = arena_printf(state->arena, "d%s", op->results[0]->name);
    Value *operands[] = {pointer, gradient, mask};
    Value *old = build(b, OP_ATOMIC_ADD, operands, 3);
    const Parameter *input = parameter_of_root(state, root);
    bool running = map_has_pointer(&state->buffers.running, root);
    if (running) running_barrier(state, target, old->op);
    Accumulation accumulation = {.op = old->op,
                                 .gradient = target,
                                 .input = input,
                                 .range = op->range,
                                 .is_running = running};
    LIST_PUSH(state->arena, &state->sweep.accumulations, accumulation);
}

/// The same for the gradient of what a tensor held before the launch, where that is wanted at all.
static void keep_gradient(Differentiation *state, const Op *op, Value *root, Value *kept) {
    Builder outside = state->builder;
    Value *present = build_unary(&outside, OP_LOGICAL_NOT, build_unary(&outside, OP_IS_NONE, kept));
    Op *branch = op_append(&outside, OP_IF, &present, 1, 0);
    for (int r = 0; r < 2; r++) {
        state->builder.region = op_add_region(&outside, branch);
        state->builder.before = NULL;
        if (r == 0)
            running_forget(state, kept, shadow_pointer(state, op->operands[0], root, kept),
                           recomputed_operand(state, op, 2));
        op_append(&state->builder, OP_YIELD, NULL, 0, 0);
    }
    state->builder = outside;
}

/// That of what the forward stores, else that of the tensor, if no parameter has it.
static const char *upstream_name(const Differentiation *state, const Value *stored,
                                 const Value *source) {
    if (stored->name) return arena_printf(state->arena, "d%s", stored->name);
    const char *name = name_of_tensor(state->arena, source->name);
    return strcmp(name, source->name) == 0 ? "grad" : name;
}

static void rule_store(Differentiation *state, const Op *op) {
    Value *stored = operand(op, 1);
    Value *root = pointer_root(op->operands[0]);
    if (is_load_tape(state, root) || root_is_saved(state->primal, root)) return;
    Value *kept = root && op->code == OP_STORE ? map_get_pointer(&state->buffers.kept, root) : NULL;
    bool running = root && map_has_pointer(&state->buffers.running, root) && op->code == OP_STORE;
    bool active = stored && value_is_active(state, stored);
    if (!active && !running && !kept) return;
    Value *source = root ? map_get_pointer(&state->buffers.upstreams, root) : NULL;
    if (!source || !pointer_is_expression(op->operands[0], root)) {
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, op->range,
            "the address of this store is chosen at run time, so its upstream gradient cannot be read");
        return;
    }
    if (kept) keep_gradient(state, op, root, kept);
    if (!active && !running) return;
    Builder *b = &state->builder;
    Value *pointer = shadow_pointer(state, op->operands[0], root, source);
    Value *mask = recomputed_operand(state, op, 2);
    Value *owner = map_get_pointer(&state->stores.owners, op);
    if (owner) owner = recomputed(state, owner);
    if (owner) mask = mask ? build_binary(b, OP_AND, mask, owner) : owner;
    if (owner) LIST_PUSH(state->arena, &state->stores.owned_upstreams, owner);
    Value *operands[] = {pointer, mask, mask ? build_float(b, 0.0) : NULL};
    if (running) running_barrier(state, source, NULL);
    Value *upstream = active ? build(b, OP_LOAD, operands, 3) : NULL;
    if (upstream && map_has_pointer(&state->stores.distinct, op))
        map_set_pointer(&state->stores.upstreams, upstream->op, (Op *)(uintptr_t)op);
    if (running) {
        if (active) running_barrier(state, source, NULL);
        running_forget(state, source, pointer, mask);
    }
    if (!active) return;
    DTypeCode code = upstream->type.element.code;
    if (code != DTYPE_FLOAT64 && code != DTYPE_FLOAT32)
        upstream = cast_to_code(b, upstream, DTYPE_FLOAT32);
    upstream->name = upstream_name(state, stored, source);
    adjoint_add(state, stored, upstream);
}

/* ---- movement ---- */

static void rule_cast(Differentiation *state, const Op *op, Value *gradient) {
    bool from_float = !dtype_is_integer(op->operands[0]->type.element);
    bool to_float = !dtype_is_integer(op->results[0]->type.element);
    if (from_float && to_float) adjoint_add(state, op->operands[0], gradient);
}

/// `order[i]`: which input axis result axis i is. False where it is not constant.
static bool permutation_of(const Op *op, int rank, int *order) {
    const Value *dims = operand(op, 1);
    if (op->code == OP_TRANS &&
        (!dims || (dims->op && dims->op->code == OP_TUPLE && dims->op->operand_count == 0))) {
        for (int i = 0; i < rank; i++) order[i] = i;
        if (rank >= 2) {
            order[rank - 1] = rank - 2;
            order[rank - 2] = rank - 1;
        }
        return true;
    }
    if (!dims || !dims->op || dims->op->code != OP_TUPLE || dims->op->operand_count != rank)
        return false;
    bool seen[TYPE_MAX_RANK] = {false};
    for (int i = 0; i < rank; i++) {
        int64_t axis;
        if (!value_is_int(dims->op->operands[i], &axis)) return false;
        if (axis < 0) axis += rank;
        if (axis < 0 || axis >= rank || seen[axis]) return false;
        seen[axis] = true;
        order[i] = (int)axis;
    }
    return true;
}

static void rule_permute(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    int rank = op->operands[0]->type.rank;
    int order[TYPE_MAX_RANK];
    if (!permutation_of(op, rank, order)) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the order of axes of this permutation is not constant, or no permutation");
        return;
    }
    Value *dims[TYPE_MAX_RANK];
    bool swaps = rank == 2 && order[0] == 1;
    for (int i = 0; i < rank; i++) dims[order[i]] = build_int(b, i);
    Value *back = swaps ? build_unary(b, OP_TRANS, gradient)
                        : build_binary(b, OP_PERMUTE, gradient, build_tuple(b, dims, rank));
    adjoint_add(state, op->operands[0], back);
}

static Value *item(Builder *b, Value *tuple, int index) {
    return build_binary(b, OP_ITEM, tuple, build_int(b, index));
}

static void rule_join(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    Value *halves = build_unary(b, OP_SPLIT, gradient);
    for (int i = 0; i < 2; i++) adjoint_add(state, op->operands[i], item(b, halves, i));
}

static void rule_interleave(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    Type half = type_here(state, op->operands[0]);
    if (half.rank == TYPE_MAX_RANK) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the tiles have all %d axes that a tile may have, and the derivative of "
                     "interleave takes one more",
                     TYPE_MAX_RANK);
        return;
    }
    Value *dims[TYPE_MAX_RANK + 1];
    for (int i = 0; i < half.rank; i++) dims[i] = build_poly(b, half.dims[i]);
    dims[half.rank] = build_int(b, 2);
    Value *pairs = build_binary(b, OP_RESHAPE, gradient, build_tuple(b, dims, half.rank + 1));
    Value *halves = build_unary(b, OP_SPLIT, pairs);
    for (int i = 0; i < 2; i++) adjoint_add(state, op->operands[i], item(b, halves, i));
}

static void rule_split(Differentiation *state, const Op *op, Value *const *gradients) {
    Builder *b = &state->builder;
    Value *halves[2];
    for (int i = 0; i < 2; i++) {
        Value *present = gradients[i] ? gradients[i] : gradients[1 - i];
        Value *zero = build_binary(b, OP_MUL, present, build_float(b, 0.0));
        if (!gradients[i]) {
            Value *shape = build_shape(b, type_here(state, op->results[i]));
            zero = build_ternary(b, OP_FULL, shape, build_float(b, 0.0),
                                 build_dtype(b, dtype_of(DTYPE_FLOAT32)));
        }
        halves[i] = gradients[i] ? gradients[i] : zero;
    }
    adjoint_add(state, op->operands[0], build_binary(b, OP_JOIN, halves[0], halves[1]));
}

/// d src[n] = sum over m of grad[m] where index[m] == n: a comparison and a sum, no scatter.
static Value *scatter_by_comparison(Builder *b, Value *gradient, Value *index, Type source,
                                    int axis) {
    int rank = source.rank;
    Value *picked = build_binary(b, OP_EXPAND_DIMS, index, build_int(b, axis));
    Value *spread = build_binary(b, OP_EXPAND_DIMS, gradient, build_int(b, axis));
    Value *lanes = build_binary(b, OP_ARANGE, build_int(b, 0), build_poly(b, source.dims[axis]));
    for (int i = 0; i < rank + 1; i++)
        if (i != axis) lanes = build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, i));
    Value *chosen = build_ternary(b, OP_WHERE, build_binary(b, OP_EQ, picked, lanes), spread,
                                  build_float(b, 0.0));
    return build_binary(b, OP_SUM, chosen, build_int(b, axis + 1));
}

static void rule_gather(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    Type source = type_here(state, op->operands[0]);
    int axis;
    if (!constant_axis(op->operands[2], source.rank, -1, &axis) || axis < 0) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the axis of this gather is not constant");
        return;
    }
    adjoint_add(state, op->operands[0],
                scatter_by_comparison(b, gradient, recomputed_operand(state, op, 1), source, axis));
}

/// sort and topk along the last axis: each element's rank by comparison, ties by position, then the gradient of that place.
static void rule_sort(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    Type type = type_here(state, op->operands[0]);
    bool is_topk = op->code == OP_TOPK;
    bool descending = is_topk;
    int last = type.rank - 1, along;
    Value *direction = operand(op, is_topk ? 3 : 2), *dim = operand(op, is_topk ? 2 : 1);
    bool known = type.rank > 0 && type.rank < TYPE_MAX_RANK &&
                 (!direction || value_is_bool(direction, &descending)) &&
                 constant_axis(dim, type.rank, last, &along) && along == last;
    if (!known) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the derivative of `%s` is known along the last axis, in a constant order",
                     op_rows[op->code].name);
        return;
    }
    Value *x = recomputed_operand(state, op, 0);
    Value *row = build_binary(b, OP_EXPAND_DIMS, x, build_int(b, last + 1)),
          *column = build_binary(b, OP_EXPAND_DIMS, x, build_int(b, last));
    Value *lanes = lane_numbers(b, type, last, NULL);
    Value *own = build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, last + 1)),
          *others = build_binary(b, OP_EXPAND_DIMS, lanes, build_int(b, last));
    Value *before = build_binary(b, descending ? OP_GT : OP_LT, column, row);
    Value *tie = build_binary(b, OP_AND, build_binary(b, OP_EQ, column, row),
                              build_binary(b, OP_LT, others, own));
    Value *counted = build_binary(b, OP_CAST, build_binary(b, OP_OR, before, tie),
                                  build_dtype(b, dtype_of(DTYPE_INT32)));
    Value *rank = build_binary(b, OP_SUM, counted, build_int(b, last + 1));
    rank->name = "rank";
    // grad has one lane per sorted place: pick the lane of this element's rank
    Type sorted = type_here(state, op->results[0]);
    Value *places =
        build_binary(b, OP_EXPAND_DIMS, lane_numbers(b, sorted, last, NULL), build_int(b, last));
    Value *match = build_binary(
        b, OP_EQ, build_binary(b, OP_EXPAND_DIMS, rank, build_int(b, last + 1)), places);
    Value *chosen = build_ternary(b, OP_WHERE, match,
                                  build_binary(b, OP_EXPAND_DIMS, gradient, build_int(b, last)),
                                  build_float(b, 0.0));
    adjoint_add(state, op->operands[0], build_binary(b, OP_SUM, chosen, build_int(b, last + 1)));
}

/// The two halves along `dim`: the axis is split in two, and the 2 goes last. Only where the order of elements is fixed.
static void rule_cat(Differentiation *state, const Op *op, Value *gradient) {
    Builder *b = &state->builder;
    Type half = type_here(state, op->operands[0]);
    bool reorders = false;
    int dim;
    if (operand(op, 2) && (!value_is_bool(op->operands[2], &reorders) || reorders)) {
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
            "`cat` with can_reorder leaves the order of elements open, so there is no derivative by element; use can_reorder=False or tl.join");
        return;
    }
    if (!constant_axis(operand(op, 3), half.rank, 0, &dim) || half.rank == TYPE_MAX_RANK) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "the axis of this cat is not constant, or its tiles have all %d axes that a "
                     "tile may have, and its derivative takes one more",
                     TYPE_MAX_RANK);
        return;
    }
    Value *dims[TYPE_MAX_RANK], *order[TYPE_MAX_RANK];
    int count = 0, axes = 0;
    for (int i = 0; i < half.rank; i++) {
        if (i == dim) dims[count++] = build_int(b, 2);
        dims[count++] = build_poly(b, half.dims[i]);
    }
    for (int i = 0; i < count; i++)
        if (i != dim) order[axes++] = build_int(b, i);
    order[axes++] = build_int(b, dim);
    Value *apart = build_binary(b, OP_RESHAPE, gradient, build_tuple(b, dims, count));
    Value *halves =
        build_unary(b, OP_SPLIT, build_binary(b, OP_PERMUTE, apart, build_tuple(b, order, axes)));
    for (int i = 0; i < 2; i++) adjoint_add(state, op->operands[i], item(b, halves, i));
}

/* ---- dispatch ---- */

/// What an author can do about an operation that no rule is for.
#define WAY_OUT                                                                                    \
    ", or give the derivative of a helper around it (# tad: backward of helper(x): ...)"

static void rule_tuple(Differentiation *state, const Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        if (!value_is_active(state, op->operands[i])) continue;
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
            "a tuple of values that need gradients is indexed by something that is not constant");
        return;
    }
}

static bool depends_on_active(const Differentiation *state, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (value_is_active(state, op->operands[i])) return true;
    return false;
}

/// A gradient that would have to pass through the bits of a float. Whether there is one.
static bool refuse_bits(Differentiation *state, const Op *op) {
    bool is_cast = op->code == OP_LOAD && pointer_is_cast(op->operands[0]);
    if (!is_cast && !op_makes_float_of_bits(state, op)) return false;
    state->is_bits = true;
    adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                 is_cast
                     ? "this loads through a pointer that was cast to another element type, and "
                       "a gradient has to pass through it: let the launcher pass a tensor of "
                       "that type"
                     : "a float is made here of the bits of another one, and a gradient has to "
                       "pass through it: work with the number instead of its bits" WAY_OUT);
    return true;
}

void adjoint_rule(Differentiation *state, const Op *op, Value *const *gradients) {
    const OpRow *row = &op_rows[op->code];
    if (refuse_bits(state, op)) return;
    switch (op->code) {
    case OP_LOAD: rule_load(state, op, gradients[0]); return;
    case OP_STORE: rule_store(state, op); return;
    case OP_ATOMIC_ADD:
        if (gradients[0]) break;
        rule_store(state, op);
        return;
    case OP_CAST: rule_cast(state, op, gradients[0]); return;
    case OP_TRANS:
    case OP_PERMUTE: rule_permute(state, op, gradients[0]); return;
    case OP_JOIN: rule_join(state, op, gradients[0]); return;
    case OP_INTERLEAVE: rule_interleave(state, op, gradients[0]); return;
    case OP_CAT: rule_cat(state, op, gradients[0]); return;
    case OP_SPLIT: rule_split(state, op, gradients); return;
    case OP_GATHER: rule_gather(state, op, gradients[0]); return;
    case OP_SORT:
    case OP_TOPK: rule_sort(state, op, gradients[0]); return;
    case OP_MAX:
    case OP_MIN: rule_extremum(state, op, gradients); return;
    case OP_MAXIMUM:
    case OP_MINIMUM:
        if (running_extreme_rule(state, op, gradients[0])) return;
        break;
    case OP_REDUCE: rule_reduce(state, op, gradients); return;
    case OP_CUMPROD:
    case OP_ASSOCIATIVE_SCAN: rule_scan(state, op, gradients); return;
    case OP_DOT: rule_dot(state, op, gradients[0]); return;
    case OP_GIVEN: rule_given(state, op, gradients[0]); return;
    case OP_TUPLE:
    case OP_ITEM: rule_tuple(state, op); return;
    case OP_UNDEFINED: return;
    default: break;
    }
    if (row->gradient_none || !depends_on_active(state, op)) return;
    if (bitcast_is_of_integers(op)) return;
    if (row->gradient) {
        rule_from_text(state, op, gradients[0]);
        return;
    }
    const char *name = op->code == OP_BITCAST ? ".to(..., bitcast=True)"
                       : row->name            ? row->name
                       : row->method          ? row->method
                                              : row->id;
    if (op->code == OP_UNKNOWN)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "this was not understood (%s), and a gradient has to pass through it",
                     op->note ? op->note : "unknown construct");
    else {
        state->is_bits = op->code == OP_BITCAST;
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, op->range,
                     "`%s` has no derivative and a gradient has to pass through it: %s" WAY_OUT,
                     name,
                     row->gradient_unsupported ? row->gradient_unsupported
                                               : "rewrite it with operations that have one");
    }
}
