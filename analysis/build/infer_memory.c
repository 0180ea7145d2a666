// Types of loads, stores and atomics, of block pointers and of tensor descriptors.
#include "analysis/build/infer_memory.h"

#include "analysis/build/infer_rules.h"

/// Whether a load or store through this can be typed; an error when it is certainly no pointer.
static bool expect_pointer(const Inference *inference, Type type, const char *verb) {
    if (type.kind == TYPE_POINTER || type.kind == TYPE_BLOCK_POINTER) return true;
    if (type.kind == TYPE_TUPLE)
        infer_error(
            inference, DIAGNOSTIC_NOT_A_POINTER,
            "%s needs a pointer, not a tuple: `(x,)` with its comma is one since Triton 3.2", verb);
    bool certain =
        type.kind == TYPE_NUMBER && !type.is_constexpr && dtype_bits(type.element.code) > 0;
    if (certain)
        infer_error(inference, DIAGNOSTIC_NOT_A_POINTER, "%s needs a pointer, not %s", verb,
                    type_told(inference->arena, type));
    return false;
}

/// The shape of pointer, mask and value together. A tile does not go through a scalar pointer.
static bool access_shape(const Inference *inference, Type pointer, const char *const *others,
                         int count, int *rank, const Poly **dims) {
    *rank = pointer.rank;
    for (int i = 0; i < pointer.rank; i++) dims[i] = pointer.dims[i];
    for (int i = 0; i < count; i++) {
        const Value *other = infer_operand_named(inference, others[i]);
        if (!other || other->type.kind != TYPE_NUMBER) continue;
        if (pointer.rank == 0 && other->type.rank > 0) {
            infer_error(inference, DIAGNOSTIC_SCALAR_POINTER,
                        "`%s` is a tile (%s), and the pointer is a single address: add the "
                        "tile's offsets to it",
                        others[i], type_told(inference->arena, other->type));
            return false;
        }
        Type so_far = type_reshaped(pointer, *rank, dims);
        if (!infer_broadcast(inference, so_far, other->type, rank, dims)) return false;
    }
    return true;
}

static void infer_load(const Inference *inference) {
    static const char *const others[] = {"mask", "other"};
    Type pointer = infer_operand_type(inference, 0);
    if (!expect_pointer(inference, pointer, "a load")) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank = pointer.rank;
    if (pointer.kind == TYPE_BLOCK_POINTER) {
        infer_set(inference, 0, type_number(pointer.element, pointer.rank, pointer.dims));
        return;
    }
    if (!access_shape(inference, pointer, others, 2, &rank, dims)) return;
    infer_set(inference, 0, type_number(pointer.element, rank, dims));
}

static bool is_tuple(const Value *value) {
    return value && value->op && value->op->code == OP_TUPLE;
}

static void infer_store(const Inference *inference) {
    static const char *const others[] = {"value", "mask"};
    Type pointer = infer_operand_type(inference, 0);
    const Value *value = infer_operand_named(inference, "value");
    // `desc.store([row, 0], x)` of what may be a descriptor
    if (is_tuple(value) && pointer.kind != TYPE_POINTER && pointer.kind != TYPE_BLOCK_POINTER)
        return;
    if (is_tuple(value)) {
        infer_error(inference, DIAGNOSTIC_WRONG_ARGUMENT,
                    "a store takes one value, not a tuple of %d", value->op->operand_count);
        return;
    }
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank;
    if (!expect_pointer(inference, pointer, "a store") || pointer.kind == TYPE_BLOCK_POINTER)
        return;
    access_shape(inference, pointer, others, 2, &rank, dims);
}

static void infer_atomic(const Inference *inference) {
    static const char *const others[] = {"val", "mask", "cmp"};
    Type pointer = infer_operand_type(inference, 0);
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank;
    if (!expect_pointer(inference, pointer, "an atomic operation") || pointer.kind != TYPE_POINTER)
        return;
    if (!access_shape(inference, pointer, others, 3, &rank, dims)) return;
    infer_set(inference, 0, type_number(pointer.element, rank, dims));
}

/// Whether a tuple among the operands may have so many items; an error where it certainly has not.
static bool has_axes(const Inference *inference, const char *parameter, int rank,
                     const char *other) {
    if (op_parameter_index(inference->op->code, str_from(parameter)) < 0) return true;
    const Value *given = infer_operand_named(inference, parameter);
    int count = is_tuple(given) ? given->op->operand_count : rank;
    if (count == rank) return true;
    infer_error(inference, DIAGNOSTIC_WRONG_ARGUMENT, "`%s` has %d %s, and %s has %d", parameter,
                count, count == 1 ? "axis" : "axes", other, rank);
    return false;
}

/// make_block_ptr and make_tensor_descriptor: the pointer's element with the block's shape.
static void infer_block(const Inference *inference, TypeKind kind) {
    Type base = infer_operand_type(inference, 0);
    int rank;
    const Poly **dims;
    if (!infer_dims(inference, infer_operand_named(inference, "block_shape"), &rank, &dims)) return;
    static const char *const others[] = {"shape", "strides", "offsets"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!has_axes(inference, others[i], rank, "block_shape")) return;
    Type type = {.kind = kind, .rank = rank, .dims = dims};
    type.element = base.kind == TYPE_POINTER ? base.element : dtype_of(DTYPE_ANY_NUMBER);
    infer_set(inference, 0, type);
}

static void infer_descriptor_load(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    // without axes it is not known: a branch chose it
    if (type.kind != TYPE_DESCRIPTOR || type.rank == 0 ||
        !has_axes(inference, "offsets", type.rank, "the descriptor"))
        return;
    infer_set(inference, 0, type_number(type.element, type.rank, type.dims));
}

static void infer_descriptor_gather(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    Type rows = infer_operand_type(inference, 1);
    if (type.kind != TYPE_DESCRIPTOR || type.rank != 2 || rows.rank != 1) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, 2);
    dims[0] = rows.dims[0];
    dims[1] = type.dims[1];
    infer_set(inference, 0, type_number(type.element, 2, dims));
}

/// The block that a descriptor writes has the descriptor's shape.
static void infer_descriptor_write(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    const Value *value = infer_operand_named(inference, "value");
    bool is_known = type.kind == TYPE_DESCRIPTOR && type.rank > 0;
    if (!is_known || !value || value->type.kind != TYPE_NUMBER) return;
    if (!has_axes(inference, "offsets", type.rank, "the descriptor")) return;
    bool differs = value->type.rank != type.rank;
    for (int i = 0; !differs && i < type.rank; i++) {
        int64_t a;
        int64_t b;
        differs = poly_is_constant(type.dims[i], &a) && poly_is_constant(value->type.dims[i], &b) &&
                  a != b;
    }
    if (differs)
        infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH, "%s is written to a %s",
                    type_told(inference->arena, value->type), type_told(inference->arena, type));
}

bool infer_memory_op(const Inference *inference) {
    switch (inference->op->code) {
    case OP_LOAD: infer_load(inference); return true;
    case OP_STORE: infer_store(inference); return true;
    case OP_MAKE_BLOCK_POINTER: infer_block(inference, TYPE_BLOCK_POINTER); return true;
    case OP_MAKE_TENSOR_DESCRIPTOR: infer_block(inference, TYPE_DESCRIPTOR); return true;
    case OP_ADVANCE: infer_set(inference, 0, infer_operand_type(inference, 0)); return true;
    case OP_DESCRIPTOR_LOAD: infer_descriptor_load(inference); return true;
    case OP_DESCRIPTOR_GATHER: infer_descriptor_gather(inference); return true;
    case OP_DESCRIPTOR_STORE:
    case OP_DESCRIPTOR_ATOMIC_ADD:
    case OP_DESCRIPTOR_ATOMIC_MAX:
    case OP_DESCRIPTOR_ATOMIC_MIN:
    case OP_DESCRIPTOR_ATOMIC_AND:
    case OP_DESCRIPTOR_ATOMIC_OR:
    case OP_DESCRIPTOR_ATOMIC_XOR: infer_descriptor_write(inference); return true;
    default: break;
    }
    if (!(op_rows[inference->op->code].effects & EFFECT_ATOMIC)) return false;
    infer_atomic(inference);
    return true;
}
