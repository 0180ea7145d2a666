// Local algebra on the tile IR: each op may be replaced by an operand or by a simpler op of the same type.
#include <math.h>

#include "analysis/infer.h"
#include "autodiff/algebra.h"
#include "autodiff/rewrite.h"

/// The patterns `a op NEG(b)` and, of whole numbers, `a - (a - b)`.
static Value *simplify_sum(Builder *builder, const Op *op, const Value *result) {
    Value *a = op->operands[0], *b = op->operands[1];
    bool minus = op->code == OP_SUB;
    if (is_number(b, 0) && same_type(a, result)) return a;
    if (!minus && is_number(a, 0) && same_type(b, result)) return b;
    if (minus && is_number(a, 0) && same_type(b, result)) return build_unary(builder, OP_NEG, b);
    if (minus && made_by(b, OP_SUB) && b->op->operands[0] == a &&
        dtype_is_integer(result->type.element) && same_type(b->op->operands[1], result))
        return b->op->operands[1];
    if (made_by(b, OP_NEG))
        return build_binary(builder, minus ? OP_ADD : OP_SUB, a, b->op->operands[0]);
    if (!minus && made_by(a, OP_NEG)) return build_binary(builder, OP_SUB, b, a->op->operands[0]);
    return NULL;
}

static Value *simplify_product(Builder *builder, const Op *op, const Value *result) {
    Value *a = op->operands[0], *b = op->operands[1];
    if (is_number(b, 1) && same_type(a, result)) return a;
    if (op->code == OP_DIV) return NULL;
    if (is_number(a, 1) && same_type(b, result)) return b;
    if (is_number(b, -1) && same_type(a, result)) return build_unary(builder, OP_NEG, a);
    if (is_number(a, -1) && same_type(b, result)) return build_unary(builder, OP_NEG, b);
    if (made_by(a, OP_NEG) && made_by(b, OP_NEG))
        return build_binary(builder, OP_MUL, a->op->operands[0], b->op->operands[0]);
    return NULL;
}

// --- Lanes whose gradient is 0: times what is not a number there it must stay 0

enum { ZERO_DEPTH = 12 };

static const Op *zeroing_of_rows(const Op *expand, int depth);

/// The `where` that makes some lanes of `value` 0, through what keeps them 0; NULL: there is none.
static const Op *zeroing(const Value *value, int depth) {
    const Op *op = value ? value->op : NULL;
    if (!op || depth > ZERO_DEPTH || !dtype_is_float(value->type.element)) return NULL;
    const Op *found;
    switch (op->code) {
    case OP_WHERE:
        return is_number(op->operands[1], 0) || is_number(op->operands[2], 0) ? op : NULL;
    case OP_MUL:
        found = zeroing(op->operands[0], depth + 1);
        return found ? found : zeroing(op->operands[1], depth + 1);
    case OP_ADD:
    case OP_SUB: {
        found = zeroing(op->operands[0], depth + 1);
        const Op *other = found ? zeroing(op->operands[1], depth + 1) : NULL;
        bool is_same = other && found->operands[0] == other->operands[0] &&
                       is_number(found->operands[1], 0) == is_number(other->operands[1], 0);
        return is_same ? found : NULL;
    }
    case OP_EXPAND_DIMS: return zeroing_of_rows(op, depth);
    case OP_DIV:
    case OP_NEG:
    case OP_BROADCAST_TO:
    case OP_CAST: return zeroing(op->operands[0], depth + 1);
    default: return NULL;
    }
}

/// sum(where(rows, x, 0), axis)[:, None]: the sums of rows that are left out are 0, too.
static const Op *zeroing_of_rows(const Op *expand, int depth) {
    const Op *sum = expand->operands[0]->op;
    int64_t axis, summed, one;
    if (!sum || sum->code != OP_SUM || sum->operand_count < 2 || !sum->operands[1] ||
        !value_is_int(expand->operands[1], &axis) || !value_is_int(sum->operands[1], &summed))
        return NULL;
    const Op *found = zeroing(sum->operands[0], depth + 1);
    if (!found) return NULL;
    const Type rows = found->operands[0]->type;
    int rank = expand->results[0]->type.rank;
    if (axis < 0) axis += rank;
    if (summed < 0) summed += rank;
    bool is_even = axis == summed && rows.rank == rank && rows.dims[axis] &&
                   poly_is_constant(rows.dims[axis], &one) && one == 1;
    return is_even ? found : NULL;
}

static bool may_be_infinite_within(const Value *value, int depth) {
    const Op *op = value ? value->op : NULL;
    double number;
    if (!value || depth > ZERO_DEPTH) return false;
    if (value_is_number(value, &number)) return !isfinite(number);
    if (!op || value->type.is_constexpr) return false;
    switch (op->code) {
    case OP_FOR:
    case OP_STATIC_FOR: return may_be_infinite_within(op->operands[3 + value->index], depth + 1);
    case OP_WHILE: return may_be_infinite_within(op->operands[value->index], depth + 1);
    case OP_FULL: return may_be_infinite_within(op->operands[1], depth + 1);
    case OP_EXP:
    case OP_EXP2:
    case OP_LOG:
    case OP_LOG2:
    case OP_RSQRT:
    case OP_POW: return true;
    case OP_DIV: return !op->operands[1]->type.is_constexpr && !op->operands[1]->constant;
    case OP_LOAD:
        return op->operand_count > 2 && may_be_infinite_within(op->operands[2], depth + 1);
    case OP_WHERE:
        return may_be_infinite_within(op->operands[1], depth + 1) ||
               may_be_infinite_within(op->operands[2], depth + 1);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return may_be_infinite_within(op->operands[0], depth + 1) ||
               may_be_infinite_within(op->operands[1], depth + 1);
    case OP_NEG:
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO: return may_be_infinite_within(op->operands[0], depth + 1);
    default: return false;
    }
}

bool value_may_be_infinite(const Value *value) { return may_be_infinite_within(value, 0); }

/// where(c, g, 0) * e is where(c, where(c, g, 0) * e, 0): 0 also where `e` is no number.
static Value *keep_zeros(Builder *builder, const Op *op, const Value *result) {
    for (int i = 0; i < (op->code == OP_MUL ? 2 : 1); i++) {
        const Op *zeros = zeroing(op->operands[i], 0);
        const Value *other = op->operands[1 - i];
        bool is_risky = op->code == OP_DIV ? other->op && !other->type.is_constexpr
                                           : value_may_be_infinite(other);
        if (!zeros || !is_risky || zeros->operands[0]->type.rank != result->type.rank) continue;
        bool is_first = is_number(zeros->operands[1], 0);
        const Op *next = op->next;
        bool is_kept = next && next->code == OP_WHERE && next->operands[0] == zeros->operands[0] &&
                       next->operands[is_first ? 2 : 1] == result;
        if (is_kept) return NULL;
        Value *same = build_binary(builder, op->code, op->operands[0], op->operands[1]);
        Value *zero = build_float(builder, 0.0);
        return is_first ? build_ternary(builder, OP_WHERE, zeros->operands[0], zero, same)
                        : build_ternary(builder, OP_WHERE, zeros->operands[0], same, zero);
    }
    return NULL;
}

static bool axis_omitted(const Value *axis) { return !axis || value_is_none(axis); }

/// reshape(sum(x, axis, keep_dims=True)) that only drops the axis again.
static Value *simplify_reshape(Builder *builder, const Op *op, const Value *result) {
    Value *input = op->operands[0];
    if (same_type(input, result)) return input;
    if (made_by(input, OP_RESHAPE)) {
        Value *operands[] = {input->op->operands[0], op->operands[1]};
        return build(builder, OP_RESHAPE, operands, 2);
    }
    bool keep = false;
    if (!made_by(input, OP_SUM) || axis_omitted(input->op->operands[1])) return NULL;
    if (!input->op->operands[2] || !value_is_bool(input->op->operands[2], &keep) || !keep)
        return NULL;
    Value *operands[] = {input->op->operands[0], input->op->operands[1]};
    Builder probe = *builder;
    Value *dropped = build(&probe, OP_SUM, operands, 2);
    if (same_shape(dropped->type, result->type)) return dropped;
    op_remove(dropped->op);
    return NULL;
}

typedef struct UseCount {
    const Value *value;
    int count;
} UseCount;

static bool visit_use(void *context, Op *op) {
    UseCount *uses = context;
    for (int i = 0; i < op->operand_count; i++) uses->count += op->operands[i] == uses->value;
    return true;
}

static Value *transposed(Builder *builder, const Op *like, Value *value) {
    if (made_by(value, OP_TRANS)) return value->op->operands[0];
    Value **operands =
        ARENA_ARRAY(builder->function->arena, Value *, like->operand_count);  // `like` has all axes
    for (int i = 0; i < like->operand_count; i++) operands[i] = like->operands[i];
    operands[0] = value;
    return build(builder, OP_TRANS, operands, like->operand_count);
}

/// trans(trans(x)) = x; trans(dot(trans(a), b)) = dot(trans(b), a), where nothing else reads that product.
static Value *simplify_trans(Builder *builder, const Op *op, const Value *result) {
    Value *input = op->operands[0];
    if (made_by(input, OP_TRANS) && same_type(input->op->operands[0], result))
        return input->op->operands[0];
    if (!made_by(input, OP_DOT) || input->type.rank != 2) return NULL;
    const Op *dot = input->op;
    Value *a = dot->operands[0], *b = dot->operands[1];
    bool adds = dot->operand_count > 2 && dot->operands[2] && !value_is_none(dot->operands[2]);
    if (adds || (!made_by(a, OP_TRANS) && !made_by(b, OP_TRANS))) return NULL;
    UseCount uses = {.value = input};
    region_walk(builder->function->body, visit_use, &uses);
    if (uses.count != 1) return NULL;
    Value **operands = ARENA_ARRAY(builder->function->arena, Value *, dot->operand_count);
    for (int i = 2; i < dot->operand_count; i++) operands[i] = dot->operands[i];
    operands[0] = transposed(builder, op, b);
    operands[1] = transposed(builder, op, a);
    return build(builder, OP_DOT, operands, dot->operand_count);
}

static Value *simplify_where(Builder *builder, const Op *op, const Value *result) {
    Value *condition = op->operands[0], *x = op->operands[1], *y = op->operands[2];
    bool known;
    if (value_is_bool(condition, &known)) {
        Value *chosen = known ? x : y;
        if (same_type(chosen, result)) return chosen;
    }
    if (x == y && same_type(x, result)) return x;
    if (made_by(x, OP_WHERE) && x->op->operands[0] == condition)
        return build_ternary(builder, OP_WHERE, condition, x->op->operands[1], y);
    if (made_by(y, OP_WHERE) && y->op->operands[0] == condition)
        return build_ternary(builder, OP_WHERE, condition, x, y->op->operands[2]);
    return NULL;
}

static Value *simplify_cast(const Op *op, const Value *result) {
    Value *input = op->operands[0];
    bool concrete = result->type.element.code > DTYPE_OF_PARAMETER ||
                    result->type.element.code == DTYPE_OF_PARAMETER;
    if (concrete && input->type.kind == TYPE_NUMBER && same_shape(input->type, result->type) &&
        dtype_equal(input->type.element, result->type.element) && !input->type.is_constexpr &&
        !value_may_be_real(input, 0) && !value_may_be_double(input, 0))
        return input;
    return NULL;
}

/// Whether a value holds in each lane of a tile: the tile of True that stands for no mask.
static bool is_all_true(const Value *value) {
    double number;
    return made_by(value, OP_FULL) && value->type.element.code == DTYPE_INT1 &&
           value_is_number(value->op->operands[1], &number) && number != 0.0;
}

/// The result of an `if` whose arms yield these items already; or NULL.
static Value *result_of_items(const Op *op, Value *const items[2]) {
    for (int i = 0; i < op->result_count; i++) {
        bool all = true;
        for (int arm = 0; arm < 2; arm++) {
            const Value *item = region_terminator(op->regions[arm])->operands[i];
            all = all && (item == items[arm] || (is_all_true(item) && is_all_true(items[arm]) &&
                                                 same_shape(item->type, items[arm]->type)));
        }
        if (all) return op->results[i];
    }
    return NULL;
}

/// A result of the `if` that made a mask, with a tile of True for None: Triton takes no `other` without a mask. Any other mask as
/// it is. `type`: of the mask that is wanted.
static Value *mask_always(Builder *builder, Value *mask, Type type, int depth) {
    enum { DEEPEST = 32 };
    Op *op = mask->op;
    if (value_is_none(mask)) {
        Value *shape = type.rank ? build_shape(builder, type) : NULL;
        if (!shape) return mask;
        return build_ternary(builder, OP_FULL, shape, build_bool(builder, true),
                             build_dtype(builder, dtype_of(DTYPE_INT1)));
    }
    if (!op || op->code != OP_IF || depth > DEEPEST) return mask;
    Value *items[2];
    bool is_there = true;
    for (int arm = 0; arm < 2; arm++) {
        Op *yield = region_terminator(op->regions[arm]);
        Builder inside = *builder;
        inside.region = op->regions[arm];
        inside.before = yield;
        items[arm] = mask_always(&inside, yield->operands[mask->index], type, depth + 1);
        is_there = is_there && items[arm] == yield->operands[mask->index];
    }
    if (is_there) return mask;
    Value *known = result_of_items(op, items);
    if (known) return known;
    for (int arm = 0; arm < 2; arm++) {
        Op *yield = region_terminator(op->regions[arm]);
        Value **values = ARENA_ARRAY(builder->function->arena, Value *, yield->operand_count + 1);
        for (int i = 0; i < yield->operand_count; i++) values[i] = yield->operands[i];
        values[yield->operand_count++] = items[arm];
        yield->operands = values;
    }
    Value *result = op_append_result(builder->function, op, mask->type);
    result->name = mask->name;
    return result;
}

/// Lanes that a load leaves out read 0: the forward may not look at them, but a sum in the backward does.
static Value *simplify_load(Builder *builder, const Op *op) {
    enum { MASK = 1, OTHER = 2, MOST = 16 };
    bool is_masked =
        op->operand_count > MASK && op->operands[MASK] && !value_is_none(op->operands[MASK]);
    bool has_other =
        op->operand_count > OTHER && op->operands[OTHER] && !value_is_none(op->operands[OTHER]);
    if (!is_masked || op->operand_count > MOST) return NULL;
    Value *operands[MOST] = {0};
    for (int i = 0; i < op->operand_count; i++) operands[i] = op->operands[i];
    operands[MASK] = mask_always(builder, operands[MASK], operands[MASK]->type, 0);
    if (has_other && operands[MASK] == op->operands[MASK]) return NULL;
    const Value *result = op->results[0];
    if (!has_other)
        operands[OTHER] = dtype_is_integer(result->type.element) ? build_int(builder, 0)
                                                                 : build_float(builder, 0.0);
    return build(builder, OP_LOAD, operands,
                 op->operand_count > OTHER ? op->operand_count : OTHER + 1);
}

/// The replacement of `op`'s only result, or NULL.
static Value *simplified(Builder *builder, Op *op) {
    if (op->result_count != 1 || op->region_count) return NULL;
    Value *result = op->results[0];
    if (op->code != OP_CONSTANT && op_is_pure(op) && result->type.kind == TYPE_NUMBER &&
        result->type.rank == 0) {
        const Constant *folded =
            fold_op(builder->function->arena, op->code, op->operands, op->operand_count);
        if (folded) return build_constant(builder, *folded);
    }
    switch (op->code) {
    case OP_ADD:
    case OP_SUB: return simplify_sum(builder, op, result);
    case OP_MUL:
    case OP_DIV: {
        Value *simpler = simplify_product(builder, op, result);
        return simpler ? simpler : keep_zeros(builder, op, result);
    }
    case OP_NEG: return made_by(op->operands[0], OP_NEG) ? op->operands[0]->op->operands[0] : NULL;
    case OP_TRANS: return simplify_trans(builder, op, result);
    case OP_RESHAPE:
    case OP_VIEW: return simplify_reshape(builder, op, result);
    case OP_BROADCAST_TO: return same_type(op->operands[0], result) ? op->operands[0] : NULL;
    case OP_WHERE: return simplify_where(builder, op, result);
    case OP_CAST: return simplify_cast(op, result);
    case OP_LOAD: return simplify_load(builder, op);
    case OP_ITEM: return build(builder, OP_ITEM, op->operands, op->operand_count);
    default: return NULL;
    }
}

/// Elementwise ops broadcast by themselves: an explicit broadcast_to under one is noise where the shape stays the same.
/// A tile of one constant takes part in promotion, which a bare number does not: it goes only where types are equal.
static void drop_broadcasts(Function *function, Op *op) {
    if (op_rows[op->code].shape != SHAPE_BROADCAST || op->result_count != 1) return;
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        bool spreads_scalar =
            made_by(operand, OP_EXPAND_DIMS) && operand->op->operands[0]->type.rank == 0;
        if (!made_by(operand, OP_BROADCAST_TO) && !made_by(operand, OP_FULL) && !spreads_scalar)
            continue;
        bool is_full = made_by(operand, OP_FULL);
        Value *inner = operand->op->operands[is_full ? 1 : 0];
        double number;
        if (is_full && !value_is_number(inner, &number)) continue;
        bool becomes_number = value_is_number(inner, &number), other_covers = false;
        for (int k = 0; k < op->operand_count; k++) {
            const Value *other = op->operands[k];
            if (k == i || !other || !same_shape(other->type, op->results[0]->type)) continue;
            if (!becomes_number || dtype_equal(operand->type.element, other->type.element))
                other_covers = true;
        }
        bool is_chosen = op->code == OP_WHERE && i > 0 && !becomes_number &&
                         same_shape(op->operands[0]->type, op->results[0]->type);
        if (op->code == OP_WHERE ? is_chosen : other_covers) op_set_operand(op, i, inner);
    }
    (void)function;
}

/// Carried values that every iteration hands on unchanged are their initial values.
static void drop_unchanged(Function *function, Op *op) {
    if (op->code != OP_FOR && op->code != OP_STATIC_FOR) return;
    Op *yield = region_terminator(op->regions[0]);
    for (int i = 0; i < op->result_count; i++) {
        Value *argument = op->regions[0]->arguments[i + 1];
        if (yield->operands[i] != argument) continue;
        region_replace_uses(op->regions[0], argument, op->operands[3 + i]);
        region_replace_uses(function->body, op->results[i], op->operands[3 + i]);
        op_set_operand(yield, i, op->operands[3 + i]);
    }
}

/// Results that both arms hand on from outside, the same value, need no branch.
static void drop_same_arms(Function *function, Op *op) {
    if (op->code != OP_IF) return;
    const Op *yes = region_terminator(op->regions[0]), *no = region_terminator(op->regions[1]);
    for (int i = 0; i < op->result_count; i++) {
        Value *same = yes->operands[i];
        if (same != no->operands[i] || region_defines(op->regions[0], same)) continue;
        region_replace_uses(function->body, op->results[i], same);
    }
}

/// An `if` whose condition is known gives way to the arm that runs.
static bool splice_if(Function *function, Op *op) {
    bool condition;
    if (op->code != OP_IF || !value_is_bool(op->operands[0], &condition)) return false;
    Builder builder = {
        .function = function, .region = op->parent, .before = op, .range = op->range};
    Map values = map_new(function->arena);
    Region *arm = op->regions[condition ? 0 : 1];
    region_clone_into(&builder, arm, &values);
    Op *yield = region_terminator(arm);
    for (int i = 0; i < op->result_count; i++)
        region_replace_uses(function->body, op->results[i],
                            value_mapped(&values, yield->operands[i]));
    op_remove(op);
    return true;
}

static void simplify_region(Function *function, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        if (splice_if(function, op)) {
            next = region->first;
            continue;
        }
        for (int i = 0; i < op->region_count; i++) simplify_region(function, op->regions[i]);
        drop_same_arms(function, op);
        drop_broadcasts(function, op);
        drop_unchanged(function, op);
        Builder builder = {.function = function,
                           .region = region,
                           .before = op,
                           .range = op->range,
                           .call = op->call};
        Value *replacement = simplified(&builder, op);
        if (!replacement || replacement == op->results[0]) continue;
        if (!replacement->name) replacement->name = op->results[0]->name;
        region_replace_uses(function->body, op->results[0], replacement);
        op_remove(op);
    }
}

void function_simplify(Function *function) { simplify_region(function, function->body); }
