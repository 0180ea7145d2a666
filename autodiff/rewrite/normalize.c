// Before the axes can be read: inductions in closed form, block pointers and descriptors as plain pointers with masks.
#include "autodiff/rewrite/normalize.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/rewrite/distance.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/simplify.h"
#include "autodiff/rewrite/trips.h"

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

/// increment * trips, by exact division of polynomials where that reads better.
static Value *total_increment(Builder *builder, const Op *loop, Value *increment, Value *iv,
                              bool is_final) {
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
    Value *trips = is_final ? build_iterations_run(builder, loop) : trip_number(builder, loop, iv);
    return build_binary(builder, OP_MUL, trips, increment);
}

static Value *induction_value(Builder *builder, const Op *loop, int index, const Carried *carried,
                              Value *iv, bool is_final) {
    Value *initial = loop->operands[3 + index];
    if (initial->type.kind == TYPE_BLOCK_POINTER) {
        Op *tuple = carried->step->op;
        Value **offsets = ARENA_ARRAY(builder->function->arena, Value *, tuple->operand_count);
        for (int i = 0; i < tuple->operand_count; i++)
            offsets[i] = total_increment(builder, loop, tuple->operands[i], iv, is_final);
        return build_binary(builder, OP_ADVANCE, initial,
                            build_tuple(builder, offsets, tuple->operand_count));
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

/* ---- increments under a condition ---- */

/// What a branch adds to `argument` before it yields it: NULL for nothing. False where it does something else.
static bool branch_step(Value *yielded, const Value *argument, OpCode *code, Value **step) {
    *step = NULL;
    if (yielded == argument) return true;
    const Op *op = yielded->op;
    if (!op || (op->code != OP_ADD && op->code != OP_SUB && op->code != OP_ADVANCE)) return false;
    bool second = op->code == OP_ADD && op->operands[1] == argument;
    if (op->operands[second ? 1 : 0] != argument || (*code != OP_COUNT && *code != op->code))
        return false;
    *code = op->code;
    *step = op->operands[second ? 0 : 1];
    return true;
}

typedef struct GuardSearch {
    const Value *value;
    const Value *condition;
    const Op *loop;    // that carries it
    const Op *branch;  // that increments it
    bool escapes;
} GuardSearch;

static bool is_guarded(const Op *op, const Value *condition) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_IF && region->parent->operands[0] == condition &&
            region == region->parent->regions[0])
            return true;
    return false;
}

static bool visit_guarded_use(void *context, Op *op) {
    GuardSearch *search = context;
    const Op *owner = op->parent->parent;
    bool carries_on = op->code == OP_YIELD && (owner == search->loop || owner == search->branch);
    for (int i = 0; i < op->operand_count && !search->escapes && !carries_on; i++)
        if (op->operands[i] == search->value) search->escapes = !is_guarded(op, search->condition);
    return !search->escapes;
}

/// Whether a value is only used where the condition holds (or carried on): what it is elsewhere does not matter.
static bool is_used_under(const Function *function, const Value *value, const Op *loop,
                          const Op *branch) {
    GuardSearch search = {
        .value = value, .condition = branch->operands[0], .loop = loop, .branch = branch};
    region_walk(function->body, visit_guarded_use, &search);
    return !search.escapes;
}

/// An integer that is `step` where the condition holds and 0 elsewhere (or the other way round), made in front of the loop.
static Value *step_under(Normalizer *state, Op *loop, Value *condition, Value *const steps[2]) {
    Builder builder = {
        .function = state->function, .region = loop->parent, .before = loop, .range = loop->range};
    Op *choice = op_append(&builder, OP_IF, (Value *[]){condition}, 1, 0);
    choice->range = loop->range;
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT64)};
    for (int r = 0; r < 2; r++) {
        Region *side = op_add_region(&builder, choice);
        Builder inside = {.function = state->function, .region = side, .range = loop->range};
        Value *step = steps[r] ? steps[r] : build_int(&inside, 0);
        if (step->type.rank > type.rank) type = step->type;
        step = build_binary(&inside, OP_CAST, step, build_dtype(&inside, dtype_of(DTYPE_INT64)));
        op_append(&inside, OP_YIELD, &step, 1, 0);
    }
    type.element = dtype_of(DTYPE_INT64);
    type.is_constexpr = false;
    Value *result = op_append_result(state->function, choice, type);
    result->name = "step";
    return result;
}

/// `if USE_G: p_g += H`: the branch no longer carries the pointer, it is one sum, whose step may depend on the condition.
static void free_increment(Normalizer *state, Op *loop, int index) {
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    Value *argument = body->arguments[index + 1], *next = yield->operands[index];
    Op *branch = next->op;
    if (!branch || branch->code != OP_IF || branch->parent != body ||
        !induction_is_closed(argument) || !loop_invariant(loop, branch->operands[0]))
        return;
    Value *steps[2];
    OpCode code = OP_COUNT;
    for (int r = 0; r < 2; r++) {
        Value *yielded = region_terminator(branch->regions[r])->operands[next->index];
        if (!branch_step(yielded, argument, &code, &steps[r])) return;
        if (steps[r] && !loop_invariant(loop, steps[r])) return;
    }
    if (code == OP_COUNT) return;
    for (int r = 0; r < 2; r++) {
        if (!steps[r]) continue;
        step_hoist(state->function, loop, steps[r]);
        branch_step(region_terminator(branch->regions[r])->operands[next->index], argument, &code,
                    &steps[r]);
    }
    step_hoist(state->function, loop, branch->operands[0]);
    Value *condition = branch->operands[0];
    bool guarded = steps[0] && !steps[1] &&
                   is_used_under(state->function, argument, loop, branch) &&
                   is_used_under(state->function, next, loop, branch) &&
                   is_used_under(state->function, loop->results[index], loop, branch);
    bool scalars =
        (!steps[0] || steps[0]->type.rank == 0) && (!steps[1] || steps[1]->type.rank == 0);
    Value *step = steps[0] == steps[1] || guarded ? steps[0]
                  : code != OP_ADVANCE && scalars ? step_under(state, loop, condition, steps)
                                                  : NULL;
    if (!step) return;
    Builder after = {.function = state->function,
                     .region = body,
                     .before = branch->next,
                     .range = branch->range};
    Value *sum = build_binary(&after, code, argument, step);
    sum->name = next->name;
    region_replace_uses(state->function->body, next, sum);
}

static void close_inductions(Normalizer *state, Op *loop) {
    Function *function = state->function;
    loop_hoist_choices(loop);
    for (int i = 0; i < loop->result_count; i++) free_increment(state, loop, i);
    Carried *carried = loop_classify(function->arena, loop);
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count; i++) {
        Value *argument = body->arguments[i + 1];
        if (carried[i].class != CARRIED_INDUCTION || !carried[i].step ||
            !induction_is_closed(argument))
            continue;
        step_hoist(function, loop, carried[i].step);
        carried[i].step = loop_classify(function->arena, loop)[i].step;
        Builder inside = {
            .function = function, .region = body, .before = body->first, .range = loop->range};
        Value *now = induction_value(&inside, loop, i, &carried[i], body->arguments[0], false);
        if (!now->name) now->name = argument->name;
        Builder after = {.function = function,
                         .region = loop->parent,
                         .before = loop->next,
                         .range = loop->range};
        Value *final = induction_value(&after, loop, i, &carried[i], NULL, true);
        region_replace_uses(body, argument, now);
        op_set_operand(yield, i, argument);  // now unchanged: dropped later
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
    Value *padding;  // of a descriptor, which has no offsets
    Value *rows;     // that are picked along the first axis, for its offsets and lengths; or NULL
} Block;

static bool tuple_items(Value *tuple, Value **items, int count) {
    if (!tuple) return false;
    if (count == 1 && tuple->type.kind == TYPE_NUMBER) {
        items[0] = tuple;
        return true;
    }
    if (!tuple->op || tuple->op->code != OP_TUPLE || tuple->op->operand_count != count)
        return false;
    for (int i = 0; i < count; i++) items[i] = tuple->op->operands[i];
    return true;
}

static bool block_find(Builder *builder, Value *pointer, Block *block) {
    if (!pointer || !pointer->op) return false;
    Op *op = pointer->op;
    block->rank = pointer->type.rank;
    if (op->code == OP_ADVANCE) {
        Value *offsets[TYPE_MAX_RANK];
        if (pointer->type.kind != TYPE_BLOCK_POINTER) return false;
        if (!block_find(builder, op->operands[0], block)) return false;
        if (!tuple_items(op->operands[1], offsets, block->rank)) return false;
        for (int i = 0; i < block->rank; i++)
            block->offsets[i] = build_binary(builder, OP_ADD, block->offsets[i], offsets[i]);
        return true;
    }
    bool is_descriptor = op->code == OP_MAKE_TENSOR_DESCRIPTOR;
    if (op->code != OP_MAKE_BLOCK_POINTER && !is_descriptor) return false;
    block->base = op->operands[0];
    block->padding = is_descriptor && op->operand_count > 4 ? op->operands[4] : NULL;
    return tuple_items(op->operands[1], block->shape, block->rank) &&
           tuple_items(op->operands[2], block->strides, block->rank) &&
           (is_descriptor || tuple_items(op->operands[3], block->offsets, block->rank)) &&
           tuple_items(op->operands[is_descriptor ? 3 : 4], block->lengths, block->rank);
}

static Value *expand_to(Builder *builder, Value *vector, int axis, int rank) {
    for (int i = 0; i < rank; i++)
        if (i != axis)
            vector = build_binary(builder, OP_EXPAND_DIMS, vector, build_int(builder, i));
    return vector;
}

/// The numbers of a block's lanes along an axis.
static Value *block_index(Builder *builder, const Block *block, int axis) {
    Value *lanes = build_binary(builder, OP_ARANGE, build_int(builder, 0), block->lengths[axis]);
    Value *index = build_binary(builder, OP_ADD, block->offsets[axis], lanes);
    if (!index->name) index->name = arena_printf(builder->function->arena, "offs_%d", axis);
    return index;
}

/// Pointers and mask (NULL: none) of the block; `checked[k]`: dimension k is bounds-checked.
static void block_addresses(Builder *builder, const Block *block, const bool *checked,
                            Value **pointers, Value **mask) {
    Arena *arena = builder->function->arena;
    *pointers = block->base;
    *mask = NULL;
    for (int k = 0; k < block->rank; k++) {
        bool is_picked = k == 0 && block->rows;
        Value *index = is_picked ? block->rows : block_index(builder, block, k);
        Value *wide =
            build_binary(builder, OP_CAST, index, build_dtype(builder, dtype_of(DTYPE_INT64)));
        Value *spread = expand_to(builder, wide, k, block->rank);
        *pointers = build_binary(builder, OP_ADD, *pointers,
                                 build_binary(builder, OP_MUL, spread, block->strides[k]));
        if (!checked[k]) continue;
        Value *inside = build_binary(builder, OP_LT, index, block->shape[k]);
        if (is_picked || !poly_is_nonnegative(arena, value_poly(arena, block->offsets[k])))
            inside =
                build_binary(builder, OP_AND,
                             build_binary(builder, OP_GE, index, build_int(builder, 0)), inside);
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
    // Triton takes no dimension twice, so as many as there are are all of them, in whatever order.
    if (checks->op->operand_count == rank) {
        for (int i = 0; i < rank; i++) checked[i] = true;
        return true;
    }
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

/// What an operation does with a descriptor, in terms of plain pointers; OP_COUNT: nothing, or what has no such terms.
static OpCode plain_code(OpCode code) {
    switch (code) {
    case OP_DESCRIPTOR_LOAD:
    case OP_DESCRIPTOR_GATHER: return OP_LOAD;
    case OP_DESCRIPTOR_STORE:
    case OP_DESCRIPTOR_SCATTER: return OP_STORE;
    case OP_DESCRIPTOR_ATOMIC_ADD: return OP_ATOMIC_ADD;
    default: return OP_COUNT;
    }
}

/// Where an operation on a descriptor begins along each axis, or which rows it picks. False where that is not known.
static bool find_offsets(const Op *op, Block *block) {
    bool picks = op->code == OP_DESCRIPTOR_GATHER || op->code == OP_DESCRIPTOR_SCATTER;
    if (!picks) return tuple_items(op->operands[1], block->offsets, block->rank);
    int rows = op_parameter_index(op->code, STR("x_offsets")),
        column = op_parameter_index(op->code, STR("y_offset"));
    block->rows = op->operands[rows];
    block->offsets[1] = op->operands[column];
    return block->rank == 2 && block->rows && block->rows->type.rank == 1 && block->offsets[1];
}

static void plain_access(Normalizer *state, Op *op) {
    Function *function = state->function;
    Builder builder = {.function = function,
                       .region = op->parent,
                       .before = op,
                       .range = op->range,
                       .call = op->call};
    OpCode plain = plain_code(op->code);
    bool is_descriptor = plain != OP_COUNT, is_load = (is_descriptor ? plain : op->code) == OP_LOAD;
    Block block = {0};
    bool checked[TYPE_MAX_RANK];
    if (!block_find(&builder, op->operands[0], &block)) {
        normalizer_fail(
            state, op->range,
            is_descriptor
                ? "the tensor descriptor is not made in this kernel, so its address is not known here"
                : "the block pointer is chosen at run time, so its address is not known here");
        return;
    }
    bool known = is_descriptor ? find_offsets(op, &block)
                               : checked_dims(op->operands[3], block.rank, checked);
    if (is_descriptor)
        for (int i = 0; i < block.rank; i++) checked[i] = true;
    Value *padding = is_descriptor ? block.padding : is_load ? op->operands[4] : NULL;
    if (!known || pads_with_nan(padding)) {
        normalizer_fail(state, op->range,
                        "the bounds check or the padding of this block is not a plain constant");
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
        int value = is_descriptor ? op_parameter_index(op->code, STR("value")) : 1;
        Value *operands[] = {pointers, op->operands[value], mask};
        build(&builder, is_descriptor ? plain : OP_STORE, operands, 3);
    }
    op_remove(op);
}

/// The steps of the advances in the body that lead from the argument to what is yielded, added up; how many there are.
static int add_advances(Builder *builder, const Region *body, const Value *argument, Value *yielded,
                        Value **total) {
    int count = 0, rank = argument->type.rank;
    for (Value *value = yielded; value != argument; value = value->op->operands[0], count++) {
        Value *steps[TYPE_MAX_RANK];
        if (!value->op || value->op->code != OP_ADVANCE || value->op->parent != body ||
            !tuple_items(value->op->operands[1], steps, rank))
            return 0;
        for (int d = 0; d < rank; d++)
            total[d] = count ? build_binary(builder, OP_ADD, steps[d], total[d]) : steps[d];
    }
    return count;
}

/// A carried block pointer that is advanced several times in the body is advanced once. Returns whether there is one.
static bool join_advances(Normalizer *state, Op *loop) {
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    bool joined = false;
    for (int i = 0; i < loop->result_count; i++) {
        Value *argument = body->arguments[i + 1], *yielded = yield->operands[i];
        Value *total[TYPE_MAX_RANK];
        if (argument->type.kind != TYPE_BLOCK_POINTER) continue;
        Builder end = {
            .function = state->function, .region = body, .before = yield, .range = loop->range};
        if (add_advances(&end, body, argument, yielded, total) < 2) continue;
        Value *once =
            build_binary(&end, OP_ADVANCE, argument, build_tuple(&end, total, argument->type.rank));
        once->name = yielded->name;
        op_set_operand(yield, i, once);
        joined = true;
    }
    return joined;
}

static void normalize_region(Normalizer *state, Region *region, bool inductions) {
    for (Op *op = region->first, *next; op && !state->failure; op = next) {
        next = op->next;
        bool is_loop = inductions && (op->code == OP_FOR || op->code == OP_STATIC_FOR);
        if (is_loop) close_inductions(state, op);
        for (int i = 0; i < op->region_count; i++)
            normalize_region(state, op->regions[i], inductions);
        // What an inner loop advances as well is one step now that the inner loop is closed.
        if (is_loop && join_advances(state, op)) close_inductions(state, op);
        if (inductions || op->operand_count == 0 || !op->operands[0]) continue;
        TypeKind kind = op->operands[0]->type.kind;
        bool is_block = kind == TYPE_BLOCK_POINTER || kind == TYPE_DESCRIPTOR;
        bool is_access =
            op->code == OP_LOAD || op->code == OP_STORE || plain_code(op->code) != OP_COUNT;
        if (is_block && is_access) plain_access(state, op);
    }
}

/* ---- pointers out of branches and loops ---- */

static Type offset_type(Type pointer) {
    pointer.kind = TYPE_NUMBER;
    pointer.element = dtype_of(DTYPE_INT64);
    pointer.is_constexpr = false;
    return pointer;
}

static Value *as_offset(Builder *builder, Value *value) {
    return build_binary(builder, OP_CAST, value, build_dtype(builder, dtype_of(DTYPE_INT64)));
}

static bool is_undefined(const Value *value) {
    return value->op && value->op->code == OP_UNDEFINED;
}

/// The one parameter that both branches' pointers start from, or NULL.
static Value *branches_root(const Op *branch, int index) {
    Value *root = NULL;
    for (int r = 0; r < 2; r++) {
        Value *pointer = region_terminator(branch->regions[r])->operands[index];
        if (is_undefined(pointer) || value_is_none(pointer)) continue;
        Value *found = pointer_root(pointer);
        if (!found || (root && root != found)) return NULL;
        root = found;
    }
    return root;
}

/// `p = a + x` in one branch and `p = a + y` in the other: the branch chooses the offset, the pointer is one expression.
static void branch_offsets(Normalizer *state, Op *branch) {
    Function *function = state->function;
    for (int i = 0; i < branch->result_count; i++) {
        Value *result = branch->results[i];
        if (result->type.kind != TYPE_POINTER) continue;
        Value *root = branches_root(branch, i);
        Value *distances[2] = {NULL, NULL};
        for (int r = 0; root && r < 2; r++) {
            Op *yield = region_terminator(branch->regions[r]);
            Builder builder = {.function = function,
                               .region = branch->regions[r],
                               .before = yield,
                               .range = branch->range};
            bool nothing = is_undefined(yield->operands[i]) || value_is_none(yield->operands[i]);
            Value *distance = nothing ? build_int(&builder, 0)
                                      : pointer_distance(&builder, yield->operands[i], root);
            if (!distance) break;
            Value *shape = result->type.rank > distance->type.rank
                               ? build_shape(&builder, result->type)
                               : NULL;
            if (shape)
                distance =
                    build_binary(&builder, OP_BROADCAST_TO, as_offset(&builder, distance), shape);
            distances[r] = as_offset(&builder, distance);
        }
        if (!distances[0] || !distances[1]) continue;
        Builder after = {.function = function,
                         .region = branch->parent,
                         .before = branch->next,
                         .range = branch->range};
        result->type = offset_type(result->type);
        Value *pointer = build_binary(&after, OP_ADD, root, result);
        pointer->name = result->name;
        result->name =
            pointer->name ? arena_printf(function->arena, "%s_offset", pointer->name) : NULL;
        region_replace_uses(function->body, result, pointer);
        op_set_operand(pointer->op, 1, result);
        for (int r = 0; r < 2; r++)
            op_set_operand(region_terminator(branch->regions[r]), i, distances[r]);
    }
}

static bool lengths_are_equal(Arena *arena, const Block *a, const Block *b) {
    for (int d = 0; d < a->rank; d++)
        if (a->lengths[d] != b->lengths[d] &&
            !poly_equal(value_poly(arena, a->lengths[d]), value_poly(arena, b->lengths[d])))
            return false;
    return true;
}

/// The block pointer or descriptor of these parts: the distance of its base from `root`, then shape, stride and offset of each axis.
static Value *block_rebuild(Builder *after, const Block *block, Value *root, Value *const *parts,
                            TypeKind kind) {
    int rank = block->rank;
    Value *items[3][TYPE_MAX_RANK];
    for (int d = 0; d < rank; d++)
        for (int k = 0; k < 3; k++) items[k][d] = parts[1 + 3 * d + k];
    Value *base = build_binary(after, OP_ADD, root, parts[0]);
    Value *shape = build_tuple(after, items[0], rank),
          *strides = build_tuple(after, items[1], rank),
          *lengths = build_tuple(after, (Value *const *)block->lengths, rank);
    if (kind == TYPE_DESCRIPTOR)
        return build(after, OP_MAKE_TENSOR_DESCRIPTOR,
                     (Value *[]){base, shape, strides, lengths, block->padding}, 5);
    Value *operands[] = {base, shape, strides, build_tuple(after, items[2], rank), lengths, NULL};
    return build(after, OP_MAKE_BLOCK_POINTER, operands, 6);
}

/// Block pointers or descriptors made in both branches, or in one: their parts become the branch's results.
static void branch_blocks(Normalizer *state, Op *branch) {
    Function *function = state->function;
    int count = branch->result_count;
    for (int i = 0; i < count; i++) {
        Value *result = branch->results[i];
        TypeKind kind = result->type.kind;
        if (kind != TYPE_BLOCK_POINTER && kind != TYPE_DESCRIPTOR) continue;
        Block blocks[2] = {0};
        Builder inside[2];
        bool found = true;
        for (int r = 0; r < 2; r++) {
            Op *yield = region_terminator(branch->regions[r]);
            inside[r] = (Builder){.function = function,
                                  .region = branch->regions[r],
                                  .before = yield,
                                  .range = branch->range};
            Value *made = yield->operands[i];
            bool nothing = is_undefined(made) || value_is_none(made);
            found = found && (nothing || block_find(&inside[r], made, &blocks[r]));
        }
        if (!blocks[0].base) blocks[0] = blocks[1];
        if (!blocks[1].base) blocks[1] = blocks[0];
        Value *root =
            found && blocks[0].base && blocks[1].base ? pointer_root(blocks[0].base) : NULL;
        if (!root || pointer_root(blocks[1].base) != root || blocks[0].rank != blocks[1].rank ||
            blocks[0].padding != blocks[1].padding ||
            !lengths_are_equal(function->arena, &blocks[0], &blocks[1]))
            continue;
        Value *parts[2][3 * TYPE_MAX_RANK + 1];
        int rank = blocks[0].rank, part_count = 0;
        bool usable = true;
        for (int r = 0; r < 2; r++) {
            part_count = 0;
            bool own =
                region_defines(branch->regions[1 - r],
                               blocks[r].base);  // made in the other branch: unreachable here
            parts[r][part_count++] =
                own ? build_int(&inside[r], 0) : pointer_distance(&inside[r], blocks[r].base, root);
            for (int d = 0; d < rank; d++) {
                Value *offset = kind == TYPE_DESCRIPTOR ? blocks[r].shape[d] : blocks[r].offsets[d];
                Value *each[3] = {blocks[r].shape[d], blocks[r].strides[d], offset};
                for (int k = 0; k < 3; k++)
                    parts[r][part_count++] = region_defines(branch->regions[1 - r], each[k])
                                                 ? build_int(&inside[r], 1)
                                                 : each[k];
            }
            for (int k = 0; k < part_count; k++) usable = usable && parts[r][k];
        }
        if (!usable) continue;
        Value *values[3 * TYPE_MAX_RANK + 1];
        for (int k = 0; k < part_count; k++) {
            if (parts[0][k] == parts[1][k]) {
                values[k] = parts[0][k];
                continue;
            }
            Type scalar = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT64)};
            values[k] = op_append_result(function, branch, scalar);
            for (int r = 0; r < 2; r++)
                op_append_operand(function, region_terminator(branch->regions[r]),
                                  as_offset(&inside[r], parts[r][k]));
        }
        Builder after = {.function = function,
                         .region = branch->parent,
                         .before = branch->next,
                         .range = branch->range};
        Value *again = block_rebuild(&after, &blocks[0], root, values, kind);
        again->name = result->name;
        region_replace_uses(function->body, result, again);
    }
}

static void pointer_phis(Normalizer *state, Region *region);

/// A carried pointer that is no induction: its offset is carried instead.
static void loop_offsets(Normalizer *state, Op *loop) {
    Function *function = state->function;
    bool is_while = loop->code == OP_WHILE;
    int first = is_while ? 0 : 3, shift = is_while ? 0 : 1;
    Region *body = loop->regions[is_while ? 1 : 0];
    Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count; i++) {
        Value *result = loop->results[i];
        if (result->type.kind != TYPE_POINTER || yield->operands[i] == body->arguments[i + shift])
            continue;
        Value *root = pointer_root(loop->operands[first + i]);
        Builder before = {
            .function = function, .region = loop->parent, .before = loop, .range = loop->range};
        Value *start = root ? pointer_distance(&before, loop->operands[first + i], root) : NULL;
        if (!start || start->type.rank != result->type.rank) continue;
        Value *argument = body->arguments[i + shift];
        Builder inside = {
            .function = function, .region = body, .before = body->first, .range = loop->range};
        Type pointer_type = argument->type;
        Value *marker = build_binary(&inside, OP_ADD, root, argument);  // replaced operand below
        region_replace_uses(body, argument, marker);
        op_set_operand(marker->op, 1, argument);
        argument->type = offset_type(pointer_type);
        marker->type = pointer_type;
        // What branches and inner loops made of the pointer is an expression of the root now.
        pointer_phis(state, body);
        Builder end = {.function = function, .region = body, .before = yield, .range = loop->range};
        Value *next = pointer_distance(&end, yield->operands[i], root);
        if (!next) {
            normalizer_fail(state, loop->range,
                            "a pointer is carried by this loop in a way that is not understood");
            return;
        }
        op_set_operand(yield, i, as_offset(&end, next));
        op_set_operand(loop, first + i, as_offset(&before, start));
        for (int r = 0; is_while && r < 1; r++)
            loop->regions[0]->arguments[i]->type = argument->type;
        Builder after = {.function = function,
                         .region = loop->parent,
                         .before = loop->next,
                         .range = loop->range};
        result->type = offset_type(result->type);
        Value *pointer = build_binary(&after, OP_ADD, root, result);
        region_replace_uses(function->body, result, pointer);
        op_set_operand(pointer->op, 1, result);
    }
}

static void pointer_phis(Normalizer *state, Region *region) {
    for (Op *op = region->first, *next; op && !state->failure; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) pointer_phis(state, op->regions[i]);
        if (op->code == OP_IF) {
            branch_offsets(state, op);
            branch_blocks(state, op);
        }
        bool is_loop = op_is_loop(op->code);
        if (is_loop) loop_offsets(state, op);
    }
}

static bool is_shaped_like(Type a, Type b) {
    bool same = a.rank == b.rank;
    for (int i = 0; same && i < a.rank; i++) same = poly_equal(a.dims[i], b.dims[i]);
    return same;
}

/// A mask may be of more lanes than the addresses that it is for: then each lane is given its address.
static bool spread_addresses(void *context, Op *op) {
    if (op->code != OP_LOAD) return true;
    Type pointer = op->operands[0]->type, result = op->results[0]->type;
    if (pointer.kind != TYPE_POINTER || !pointer.rank || is_shaped_like(pointer, result))
        return true;
    Builder b = {.function = context,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    Value *shape = build_shape(&b, result);
    if (shape) op_set_operand(op, 0, build_binary(&b, OP_BROADCAST_TO, op->operands[0], shape));
    return true;
}

const char *function_normalize(Function *function, Range *range) {
    Normalizer state = {.function = function};
    normalize_region(&state, function->body, true);
    function_simplify(function);
    pointer_phis(&state, function->body);
    function_simplify(function);
    normalize_region(&state, function->body, false);
    region_walk(function->body, spread_addresses, function);
    if (range) *range = state.range;
    return state.failure;
}
