// Before the axes can be read: inductions in closed form, block pointers and descriptors as plain pointers with masks.
#include "analysis/affine.h"
#include "analysis/infer.h"
#include "analysis/loops.h"
#include "autodiff/rewrite.h"

typedef struct Normalizer {
    Function *function;
    const char *failure;
    Range range;
} Normalizer;

static void normalizer_fail(Normalizer *state, Range range, const char *why) {
    if (state->failure) return;
    state->failure = why;
    state->range = range;
}

/* ---- inductions ---- */

/// (iv - lower) / step as a value, or NULL where the division is not exact text.
static Value *trip_number(Builder *builder, const Op *loop, Value *iv) {
    int64_t step, lower;
    Value *distance = value_is_int(loop->operands[0], &lower) && lower == 0
                          ? iv
                          : build_binary(builder, OP_SUB, iv, loop->operands[0]);
    if (value_is_int(loop->operands[2], &step) && step == 1) return distance;
    return build_binary(builder, OP_FLOORDIV, distance, loop->operands[2]);
}

static Value *trip_count(Builder *builder, const Op *loop) {
    Value *distance = build_binary(builder, OP_SUB, loop->operands[1], loop->operands[0]);
    int64_t step, lower;
    if (value_is_int(loop->operands[0], &lower) && lower == 0) distance = loop->operands[1];
    if (value_is_int(loop->operands[2], &step) && step == 1) return distance;
    Value *one_less = build_binary(builder, OP_SUB, loop->operands[2], build_int(builder, 1));
    Value *rounded = build_binary(builder, OP_ADD, distance, one_less);
    return build_binary(builder, OP_FLOORDIV, rounded, loop->operands[2]);
}

/// increment * trips, by exact division of polynomials where that reads better.
static Value *total_increment(Builder *builder, const Op *loop, Value *increment, Value *iv, bool is_final) {
    Arena *arena = builder->function->arena;
    int64_t lower;
    bool from_zero = value_is_int(loop->operands[0], &lower) && lower == 0;
    if (increment->type.rank == 0 && !is_final) {
        const Poly *quotient = poly_divide_exact(arena, value_poly(arena, increment),
                                                 value_poly(arena, loop->operands[2]));
        if (quotient) {
            Value *distance = from_zero ? iv : build_binary(builder, OP_SUB, iv, loop->operands[0]);
            return build_binary(builder, OP_MUL, distance, build_poly(builder, quotient));
        }
    }
    Value *trips = is_final ? trip_count(builder, loop) : trip_number(builder, loop, iv);
    return build_binary(builder, OP_MUL, trips, increment);
}

static Value *induction_value(Builder *builder, const Op *loop, int index, const Carried *carried, Value *iv,
                              bool is_final) {
    Value *initial = loop->operands[3 + index];
    if (initial->type.kind == TYPE_BLOCK_POINTER) {
        Op *tuple = carried->step->op;
        Value **offsets = ARENA_ARRAY(builder->function->arena, Value *, tuple->operand_count);
        for (int i = 0; i < tuple->operand_count; i++)
            offsets[i] = total_increment(builder, loop, tuple->operands[i], iv, is_final);
        return build_binary(builder, OP_ADVANCE, initial, build_tuple(builder, offsets, tuple->operand_count));
    }
    Value *total = total_increment(builder, loop, carried->step, iv, is_final);
    return build_binary(builder, carried->negated ? OP_SUB : OP_ADD, initial, total);
}

/// A step computed in the body from invariant values is moved in front of the loop.
static void step_hoist(Function *function, Op *loop, Value *step) {
    if (!step || !step->op || !region_defines(loop->regions[0], step)) return;
    Builder builder = {.function = function, .region = loop->parent, .before = loop};
    for (int i = 0; i < step->op->operand_count; i++)
        if (step->op->operands[i]) step_hoist(function, loop, step->op->operands[i]);
    Map values = map_new(function->arena);
    Op *copy = op_clone(&builder, step->op, &values);
    (void)copy;
    region_replace_uses(function->body, step, value_mapped(&values, step));
}

static bool induction_is_closed(const Value *value) {
    if (value->type.kind == TYPE_POINTER || value->type.kind == TYPE_BLOCK_POINTER) return true;
    return value->type.kind == TYPE_NUMBER && !dtype_is_float(value->type.element);
}

static void close_inductions(Normalizer *state, Op *loop) {
    Function *function = state->function;
    Carried *carried = loop_classify(function->arena, loop);
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count; i++) {
        Value *argument = body->arguments[i + 1];
        if (carried[i].class != CARRIED_INDUCTION || !carried[i].step || !induction_is_closed(argument)) continue;
        step_hoist(function, loop, carried[i].step);
        carried[i].step = loop_classify(function->arena, loop)[i].step;
        Builder inside = {.function = function, .region = body, .before = body->first, .range = loop->range};
        Value *now = induction_value(&inside, loop, i, &carried[i], body->arguments[0], false);
        if (!now->name) now->name = argument->name;
        Builder after = {.function = function, .region = loop->parent, .before = loop->next, .range = loop->range};
        Value *final = induction_value(&after, loop, i, &carried[i], NULL, true);
        region_replace_uses(body, argument, now);
        op_set_operand(yield, i, argument); // now unchanged: dropped later
        region_replace_uses(function->body, loop->results[i], final);
    }
}

/* ---- block pointers and descriptors ---- */

typedef struct Block {
    Value *base;
    int rank;
    Value *shape[TYPE_MAX_RANK];
    Value *strides[TYPE_MAX_RANK];
    Value *offsets[TYPE_MAX_RANK];
    Value *lengths[TYPE_MAX_RANK];
} Block;

static bool tuple_items(Value *tuple, Value **items, int count) {
    if (!tuple) return false;
    if (count == 1 && tuple->type.kind == TYPE_NUMBER) {
        items[0] = tuple;
        return true;
    }
    if (!tuple->op || tuple->op->code != OP_TUPLE || tuple->op->operand_count != count) return false;
    for (int i = 0; i < count; i++) items[i] = tuple->op->operands[i];
    return true;
}

static bool block_find(Builder *builder, Value *pointer, Block *block) {
    if (!pointer || !pointer->op) return false;
    Op *op = pointer->op;
    block->rank = pointer->type.rank;
    if (op->code == OP_ADVANCE) {
        Value *offsets[TYPE_MAX_RANK];
        if (!block_find(builder, op->operands[0], block)) return false;
        if (!tuple_items(op->operands[1], offsets, block->rank)) return false;
        for (int i = 0; i < block->rank; i++)
            block->offsets[i] = build_binary(builder, OP_ADD, block->offsets[i], offsets[i]);
        return true;
    }
    bool is_descriptor = op->code == OP_MAKE_TENSOR_DESCRIPTOR;
    if (op->code != OP_MAKE_BLOCK_POINTER && !is_descriptor) return false;
    block->base = op->operands[0];
    return tuple_items(op->operands[1], block->shape, block->rank) &&
           tuple_items(op->operands[2], block->strides, block->rank) &&
           (is_descriptor || tuple_items(op->operands[3], block->offsets, block->rank)) &&
           tuple_items(op->operands[is_descriptor ? 3 : 4], block->lengths, block->rank);
}

static Value *expand_to(Builder *builder, Value *vector, int axis, int rank) {
    for (int i = 0; i < rank; i++)
        if (i != axis) vector = build_binary(builder, OP_EXPAND_DIMS, vector, build_int(builder, i));
    return vector;
}

/// Pointers and mask (NULL: none) of the block; `checked[k]`: dimension k is bounds-checked.
static void block_addresses(Builder *builder, const Block *block, const bool *checked, Value **pointers,
                            Value **mask) {
    Arena *arena = builder->function->arena;
    *pointers = block->base;
    *mask = NULL;
    for (int k = 0; k < block->rank; k++) {
        Value *lanes = build_binary(builder, OP_ARANGE, build_int(builder, 0), block->lengths[k]);
        Value *index = build_binary(builder, OP_ADD, block->offsets[k], lanes);
        if (!index->name) index->name = arena_printf(arena, "offs_%d", k);
        Value *wide = build_binary(builder, OP_CAST, index, build_dtype(builder, dtype_of(DTYPE_INT64)));
        Value *spread = expand_to(builder, wide, k, block->rank);
        *pointers = build_binary(builder, OP_ADD, *pointers, build_binary(builder, OP_MUL, spread, block->strides[k]));
        if (!checked[k]) continue;
        Value *inside = build_binary(builder, OP_LT, index, block->shape[k]);
        if (!poly_is_nonnegative(arena, value_poly(arena, block->offsets[k])))
            inside = build_binary(builder, OP_AND, build_binary(builder, OP_GE, index, build_int(builder, 0)), inside);
        inside = expand_to(builder, inside, k, block->rank);
        *mask = *mask ? build_binary(builder, OP_AND, *mask, inside) : inside;
    }
}

static bool checked_dims(const Value *checks, int rank, bool *checked) {
    for (int i = 0; i < rank; i++) checked[i] = false;
    if (!checks || value_is_none(checks)) return true;
    int64_t dim;
    if (value_is_int(checks, &dim) && dim >= 0 && dim < rank) {
        checked[dim] = true;
        return true;
    }
    if (!checks->op || checks->op->code != OP_TUPLE) return checks->constant != NULL;
    for (int i = 0; i < checks->op->operand_count; i++) {
        if (!value_is_int(checks->op->operands[i], &dim) || dim < 0 || dim >= rank) return false;
        checked[dim] = true;
    }
    return true;
}

static bool pads_with_nan(const Value *padding) {
    return padding && padding->constant && padding->constant->kind == CONSTANT_STRING &&
           str_is(padding->constant->string, "nan");
}

static void plain_access(Normalizer *state, Op *op) {
    Function *function = state->function;
    Builder builder = {.function = function, .region = op->parent, .before = op, .range = op->range, .call = op->call};
    bool is_descriptor = op->code == OP_DESCRIPTOR_LOAD || op->code == OP_DESCRIPTOR_STORE ||
                         op->code == OP_DESCRIPTOR_ATOMIC_ADD;
    bool is_load = op->code == OP_LOAD || op->code == OP_DESCRIPTOR_LOAD;
    Block block = {0};
    bool checked[TYPE_MAX_RANK];
    if (!block_find(&builder, op->operands[0], &block)) {
        normalizer_fail(state, op->range, is_descriptor ? "the tensor descriptor is not made in this kernel, so its address is not known here"
                                                        : "the block pointer is chosen at run time, so its address is not known here");
        return;
    }
    bool known = is_descriptor ? tuple_items(op->operands[1], block.offsets, block.rank)
                               : checked_dims(op->operands[3], block.rank, checked);
    if (is_descriptor)
        for (int i = 0; i < block.rank; i++) checked[i] = true;
    Value *padding = is_descriptor ? op->operands[0]->op->operands[4] : is_load ? op->operands[4] : NULL;
    if (!known || pads_with_nan(padding)) {
        normalizer_fail(state, op->range, "the bounds check or the padding of this block is not a plain constant");
        return;
    }
    Value *pointers, *mask;
    block_addresses(&builder, &block, checked, &pointers, &mask);
    if (is_load) {
        Value *other = mask ? build_float(&builder, 0.0) : NULL;
        Value *operands[] = {pointers, mask, other};
        Value *loaded = build(&builder, OP_LOAD, operands, 3);
        loaded->name = op->results[0]->name;
        region_replace_uses(function->body, op->results[0], loaded);
    } else {
        Value *operands[] = {pointers, op->operands[is_descriptor ? 2 : 1], mask};
        build(&builder, op->code == OP_DESCRIPTOR_ATOMIC_ADD ? OP_ATOMIC_ADD : OP_STORE, operands, 3);
    }
    op_remove(op);
}

static void normalize_region(Normalizer *state, Region *region, bool inductions) {
    for (Op *op = region->first, *next; op && !state->failure; op = next) {
        next = op->next;
        if (inductions && (op->code == OP_FOR || op->code == OP_STATIC_FOR)) close_inductions(state, op);
        for (int i = 0; i < op->region_count; i++) normalize_region(state, op->regions[i], inductions);
        if (inductions || op->operand_count == 0 || !op->operands[0]) continue;
        TypeKind kind = op->operands[0]->type.kind;
        bool is_block = kind == TYPE_BLOCK_POINTER || kind == TYPE_DESCRIPTOR;
        bool is_access = op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_DESCRIPTOR_LOAD ||
                         op->code == OP_DESCRIPTOR_STORE || op->code == OP_DESCRIPTOR_ATOMIC_ADD;
        if (is_block && is_access) plain_access(state, op);
    }
}

const char *function_normalize(Function *function, Range *range) {
    Normalizer state = {.function = function};
    normalize_region(&state, function->body, true);
    function_simplify(function);
    normalize_region(&state, function->body, false);
    if (range) *range = state.range;
    return state.failure;
}
