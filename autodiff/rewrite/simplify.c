// Local algebra on the tile IR: each op may be replaced by an operand or by a simpler op of the same type.
#include "autodiff/rewrite/simplify.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/fold.h"
#include "analysis/build/infer.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

/// `x * 0`, which is 0 where elements count: they are finite.
static bool is_nothing(const Value *value) {
    return made_by(value, OP_MUL) &&
           (is_number(value->op->operands[0], 0) || is_number(value->op->operands[1], 0));
}

/// The patterns `a op NEG(b)`, `x * 0 + b` and, of whole numbers, `a - (a - b)`.
static Value *simplify_sum(Builder *builder, const Op *op, const Value *result) {
    Value *a = op->operands[0], *b = op->operands[1];
    bool minus = op->code == OP_SUB;
    if ((is_number(b, 0) || is_nothing(b)) && same_type(a, result)) return a;
    if (!minus && (is_number(a, 0) || is_nothing(a)) && same_type(b, result)) return b;
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

/// The choice between two values, or NULL where it has no longer the shape of the result, which only the value that is gone had.
static Value *choice_of(Builder *builder, Value *condition, Value *x, Value *y,
                        const Value *result) {
    Builder probe = *builder;
    Value *choice = build_ternary(&probe, OP_WHERE, condition, x, y);
    if (same_shape(choice->type, result->type)) return choice;
    if (choice->op) op_remove(choice->op);
    return NULL;
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
        return choice_of(builder, condition, x->op->operands[1], y, result);
    if (made_by(y, OP_WHERE) && y->op->operands[0] == condition)
        return choice_of(builder, condition, x, y->op->operands[2], result);
    return NULL;
}

static Value *simplify_cast(const Op *op, const Value *result) {
    Value *input = op->operands[0];
    bool concrete = result->type.element.code > DTYPE_OF_PARAMETER ||
                    result->type.element.code == DTYPE_OF_PARAMETER;
    if (concrete && input->type.kind == TYPE_NUMBER && same_shape(input->type, result->type) &&
        dtype_equal(input->type.element, result->type.element) && !input->type.is_constexpr &&
        !value_may_be_real(input) && !value_may_be_double(input))
        return input;
    return NULL;
}

/// Whether a value holds in each lane of a tile: the tile of True that stands for no mask.
static bool is_all_true(const Value *value) {
    double number;
    return made_by(value, OP_FULL) && value->type.element.code == DTYPE_INT1 &&
           value_is_number(value->op->operands[1], &number) && number != 0.0;
}

/// The result of an `if` whose branches yield these items already; or NULL.
static Value *result_of_items(const Op *op, Value *const items[2]) {
    for (int i = 0; i < op->result_count; i++) {
        bool all = true;
        for (int branch = 0; branch < 2; branch++) {
            const Value *item = region_terminator(op->regions[branch])->operands[i];
            all =
                all && (item == items[branch] || (is_all_true(item) && is_all_true(items[branch]) &&
                                                  same_shape(item->type, items[branch]->type)));
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
    for (int branch = 0; branch < 2; branch++) {
        Op *yield = region_terminator(op->regions[branch]);
        Builder inside = *builder;
        inside.region = op->regions[branch];
        inside.before = yield;
        items[branch] = mask_always(&inside, yield->operands[mask->index], type, depth + 1);
        is_there = is_there && items[branch] == yield->operands[mask->index];
    }
    if (is_there) return mask;
    Value *known = result_of_items(op, items);
    if (known) return known;
    for (int branch = 0; branch < 2; branch++) {
        Op *yield = region_terminator(op->regions[branch]);
        Value **values = ARENA_ARRAY(builder->function->arena, Value *, yield->operand_count + 1);
        for (int i = 0; i < yield->operand_count; i++) values[i] = yield->operands[i];
        values[yield->operand_count++] = items[branch];
        yield->operands = values;
    }
    Value *result = op_append_result(builder->function, op, mask->type);
    result->name = mask->name;
    return result;
}

/// Lanes that a load leaves out read 0: the forward may not look at them, but a sum in the backward does.
static Value *simplify_load(Builder *builder, const Op *op) {
    enum { MASK = 1, OTHER = 2 };
    bool is_masked =
        op->operand_count > MASK && op->operands[MASK] && !value_is_none(op->operands[MASK]);
    bool has_other =
        op->operand_count > OTHER && op->operands[OTHER] && !value_is_none(op->operands[OTHER]);
    if (!is_masked || op->operand_count > OPERATION_MOST_OPERANDS) return NULL;
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
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
    case OP_DIV: return simplify_product(builder, op, result);
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

/// Results that both branches hand on from outside, the same value, need no branch.
static void drop_same_branches(Function *function, Op *op) {
    if (op->code != OP_IF) return;
    const Op *yes = region_terminator(op->regions[0]), *no = region_terminator(op->regions[1]);
    for (int i = 0; i < op->result_count; i++) {
        Value *same = yes->operands[i];
        if (same != no->operands[i] || region_defines(op->regions[0], same)) continue;
        region_replace_uses(function->body, op->results[i], same);
    }
}

/// An `if` whose condition is known gives way to the branch that runs.
static bool splice_if(Function *function, Op *op) {
    bool condition;
    if (op->code != OP_IF || !value_is_bool(op->operands[0], &condition)) return false;
    Builder builder = {
        .function = function, .region = op->parent, .before = op, .range = op->range};
    Map values = map_new(function->arena);
    Region *branch = op->regions[condition ? 0 : 1];
    region_clone_into(&builder, branch, &values);
    Op *yield = region_terminator(branch);
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
        drop_same_branches(function, op);
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
