// Types of operations that move elements: axes added, taken away, exchanged, split and joined.
#include "analysis/build/infer_shape.h"

#include "analysis/build/infer_rules.h"

static bool type_can_move(Type type) {
    return type.kind == TYPE_NUMBER || type.kind == TYPE_POINTER;
}

/// The axes of expand_dims: one integer or a tuple, counted in the result.
static int read_axes(const Inference *inference, int rank, bool *is_new) {
    const Value *axes = infer_operand(inference, 1);
    if (!axes) return -1;
    bool is_tuple = axes->op && axes->op->code == OP_TUPLE;
    int count = is_tuple ? axes->op->operand_count : 1;
    if (!infer_rank_fits(inference, rank + count)) return -1;
    for (int i = 0; i < count; i++) {
        int axis;
        if (!infer_axis(inference, is_tuple ? axes->op->operands[i] : axes, rank + count, &axis))
            return -1;
        is_new[axis] = true;
    }
    return count;
}

static void infer_expand_dims(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    if (!type_can_move(type)) return;
    bool is_new[TYPE_MAX_RANK] = {false};
    // Older releases gave a number any axes that one asked for; what they made of it is not said here.
    Inference silent = *inference;
    if (type.rank == 0) silent.diagnostics = NULL;
    int added = read_axes(&silent, type.rank, is_new);
    if (added < 0) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int from = 0;
    for (int i = 0; i < type.rank + added; i++)
        dims[i] =
            is_new[i] || from == type.rank ? poly_constant(inference->arena, 1) : type.dims[from++];
    infer_set(inference, 0, type_reshaped(type, type.rank + added, dims));
}

static void infer_squeeze(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    int axis;
    if (!type_can_move(type) ||
        !infer_axis(inference, infer_operand(inference, 1), type.rank, &axis))
        return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, type.rank);
    for (int i = 0, to = 0; i < type.rank; i++)
        if (i != axis) dims[to++] = type.dims[i];
    infer_set(inference, 0, type_reshaped(type, type.rank - 1, dims));
}

static void infer_broadcast_to(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    int rank;
    const Poly **dims;
    if (!type_can_move(type)) return;
    if (!infer_dims(inference, infer_operand(inference, 1), &rank, &dims)) return;
    for (int i = 0; type.rank == rank && i < rank; i++) {
        int64_t from;
        int64_t to;
        bool known = poly_is_constant(type.dims[i], &from) && poly_is_constant(dims[i], &to);
        if (!known || from == to || from == 1) continue;
        infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH,
                    "axis %d has %lld elements, which do not broadcast to %lld", i, (long long)from,
                    (long long)to);
        return;
    }
    if (type.rank > 0 && type.rank != rank) {
        infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH, "%s does not broadcast to %d axes",
                    type_told(inference->arena, type), rank);
        return;
    }
    infer_set(inference, 0, type_reshaped(type, rank, dims));
}

static void infer_broadcast_pair(const Inference *inference) {
    Type a = infer_operand_type(inference, 0);
    Type b = infer_operand_type(inference, 1);
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank;
    if (!type_can_move(a) || !type_can_move(b) || !infer_broadcast(inference, a, b, &rank, dims))
        return;
    infer_set(inference, 0, type_reshaped(a, rank, dims));
    infer_set(inference, 1, type_reshaped(b, rank, dims));
}

/// The number of elements, NULL where it is not understood.
static const Poly *dims_product(Arena *arena, int rank, const Poly *const *dims) {
    const Poly *product = poly_constant(arena, 1);
    for (int i = 0; i < rank; i++) product = poly_multiply(arena, product, dims[i]);
    return product;
}

static void infer_reshape(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    int rank;
    const Poly **dims;
    if (!type_can_move(type)) return;
    if (!infer_dims(inference, infer_operand(inference, 1), &rank, &dims)) return;
    int64_t before;
    int64_t after;
    bool known = poly_is_constant(dims_product(inference->arena, type.rank, type.dims), &before) &&
                 poly_is_constant(dims_product(inference->arena, rank, dims), &after);
    if (known && before != after) {
        infer_error(inference, DIAGNOSTIC_RESHAPE_SIZE,
                    "%s has %lld elements, and %s has %lld: a reshape keeps their number",
                    type_told(inference->arena, type), (long long)before,
                    type_told(inference->arena, type_reshaped(type, rank, dims)), (long long)after);
        return;
    }
    infer_set(inference, 0, type_reshaped(type, rank, dims));
}

/// Reads a permutation of `rank` axes; false where it is not known, with an error where it is none.
static bool read_permutation(const Inference *inference, const Value *value, int rank, int *order) {
    while (value && value->op && value->op->code == OP_TUPLE && value->op->operand_count == 1 &&
           value->op->operands[0] && value->op->operands[0]->op &&
           value->op->operands[0]->op->code == OP_TUPLE)
        value = value->op->operands[0];
    if (!value || !value->op || value->op->code != OP_TUPLE) return false;
    // one value that is not known may be all of the axes
    const Value *first = value->op->operand_count == 1 ? value->op->operands[0] : NULL;
    if (first && first->type.kind == TYPE_UNKNOWN) return false;
    bool seen[TYPE_MAX_RANK] = {false};
    bool is_permutation = value->op->operand_count == rank;
    for (int i = 0; is_permutation && i < rank; i++) {
        int64_t axis;
        if (!value_is_int(value->op->operands[i], &axis)) return false;
        is_permutation = axis >= 0 && axis < rank && !seen[axis];
        if (!is_permutation) break;
        seen[axis] = true;
        order[i] = (int)axis;
    }
    if (!is_permutation)
        infer_error(inference, DIAGNOSTIC_TRANSPOSE_ORDER,
                    "the axes of %d dimensions must be a permutation of 0 to %d", rank, rank - 1);
    return is_permutation;
}

static bool tuple_is_empty(const Value *value) {
    return !value || (value->op && value->op->code == OP_TUPLE && value->op->operand_count == 0);
}

static void infer_permute(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    if (!type_can_move(type)) return;
    const Value *given = infer_operand(inference, 1);
    int order[TYPE_MAX_RANK];
    if (inference->op->code == OP_TRANS && tuple_is_empty(given)) {
        if (type.rank < 2) {
            infer_error(inference, DIAGNOSTIC_TRANSPOSE_ORDER,
                        "a transpose needs two axes; this has %d", type.rank);
            return;
        }
        for (int i = 0; i < type.rank; i++) order[i] = i;
        order[type.rank - 2] = type.rank - 1;
        order[type.rank - 1] = type.rank - 2;
    } else if (!read_permutation(inference, given, type.rank, order)) {
        return;
    }
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, type.rank);
    for (int i = 0; i < type.rank; i++) dims[i] = type.dims[order[i]];
    infer_set(inference, 0, type_reshaped(type, type.rank, dims));
}

/// join, interleave and cat: both operands' common shape, then one axis changed.
static void infer_joined(const Inference *inference) {
    Arena *arena = inference->arena;
    Type a = infer_operand_type(inference, 0);
    Type b = infer_operand_type(inference, 1);
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, TYPE_MAX_RANK + 1);
    int rank;
    if (!type_can_move(a) || !type_can_move(b) || !infer_broadcast(inference, a, b, &rank, dims))
        return;
    bool is_longer = inference->op->code == OP_JOIN || rank == 0;
    if (is_longer && !infer_rank_fits(inference, rank + 1)) return;
    const Poly *two = poly_constant(arena, 2);
    if (is_longer)
        dims[rank++] = two;
    else
        dims[rank - 1] = poly_multiply(arena, dims[rank - 1], two);
    infer_set(inference, 0, type_reshaped(a, rank, dims));
}

static void infer_cat(const Inference *inference) {
    Type a = infer_operand_type(inference, 0);
    Type b = infer_operand_type(inference, 1);
    int axis = 0;
    const Value *dim = infer_operand(inference, 3);
    if (!type_can_move(a) || !type_can_move(b) || a.rank == 0 || a.rank != b.rank) return;
    if (dim && !infer_axis(inference, dim, a.rank, &axis)) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, a.rank);
    for (int i = 0; i < a.rank; i++)
        dims[i] = i == axis ? poly_add(inference->arena, a.dims[i], b.dims[i]) : a.dims[i];
    infer_set(inference, 0, type_reshaped(a, a.rank, dims));
}

static void infer_split(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    int64_t last;
    if (!type_can_move(type)) return;
    bool wrong = type.rank == 0 || (poly_is_constant(type.dims[type.rank - 1], &last) && last != 2);
    if (wrong) {
        infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH,
                    "split needs a last axis of length 2, not %s",
                    type_told(inference->arena, type));
        return;
    }
    for (int i = 0; i < 2; i++)
        infer_set(inference, i, type_reshaped(type, type.rank - 1, type.dims));
}

static void infer_gather(const Inference *inference) {
    Type source = infer_operand_type(inference, 0);
    Type index = infer_operand_type(inference, 1);
    if (source.kind != TYPE_NUMBER || index.kind != TYPE_NUMBER) return;
    if (source.rank != index.rank) {
        infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH,
                    "gather needs as many axes in its index as in its source: %s, %s",
                    type_told(inference->arena, source), type_told(inference->arena, index));
        return;
    }
    const Value *axis = infer_operand_named(inference, "axis");
    int known;
    if (axis && axis->constant && !infer_axis(inference, axis, source.rank, &known)) return;
    infer_set(inference, 0, type_reshaped(source, index.rank, index.dims));
}

bool infer_shape_op(const Inference *inference) {
    switch (inference->op->code) {
    case OP_EXPAND_DIMS: infer_expand_dims(inference); return true;
    case OP_SQUEEZE: infer_squeeze(inference); return true;
    case OP_BROADCAST_TO: infer_broadcast_to(inference); return true;
    case OP_BROADCAST: infer_broadcast_pair(inference); return true;
    case OP_RESHAPE:
    case OP_VIEW: infer_reshape(inference); return true;
    case OP_TRANS:
    case OP_PERMUTE: infer_permute(inference); return true;
    case OP_JOIN:
    case OP_INTERLEAVE: infer_joined(inference); return true;
    case OP_CAT: infer_cat(inference); return true;
    case OP_SPLIT: infer_split(inference); return true;
    case OP_GATHER: infer_gather(inference); return true;
    default: return false;
    }
}
