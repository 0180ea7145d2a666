// Types of reductions, scans, sorting and matrix products.
#include "analysis/build/infer_reduce.h"

#include "analysis/build/infer_rules.h"
#include "analysis/build/value_poly.h"

/// The element type of a sum: integers are summed in at least 32 bits.
static DType sum_element(const Inference *inference, DType element) {
    const Value *dtype = infer_operand_named(inference, "dtype");
    bool is_pointer;
    if (dtype) return infer_dtype_operand(dtype, &is_pointer);
    int bits = dtype_bits(element.code);
    if (bits == 0 || bits >= 32) return element;
    if (dtype_class(element) == CLASS_SIGNED) return dtype_of(DTYPE_INT32);
    return dtype_is_float(element) ? element : dtype_of(DTYPE_UINT32);
}

/// Maxima are taken in at least 32 bits, except together with their indices.
static DType extreme_element(DType element) {
    int bits = dtype_bits(element.code);
    bool may_be_small = bits == 0 && element.code == DTYPE_OF_PARAMETER;
    if (dtype_is_float(element))
        return bits >= 32 || (bits == 0 && !may_be_small) ? element : dtype_of(DTYPE_FLOAT32);
    if (bits > 0 && bits < 32) return dtype_of(DTYPE_INT32);
    return element;
}

static DType reduced_element(const Inference *inference, DType element) {
    switch (inference->op->code) {
    case OP_SUM: return sum_element(inference, element);
    case OP_MAX:
    case OP_MIN: return inference->op->result_count == 2 ? element : extreme_element(element);
    case OP_ARGMAX:
    case OP_ARGMIN: return dtype_of(DTYPE_INT32);
    default: return element;
    }
}

/// A shape without its reduced axis. False where axis or keep_dims is not known.
static bool reduced_shape(const Inference *inference, Type type, int *rank, const Poly **dims) {
    const Value *axis_value = infer_operand_named(inference, "axis");
    bool keeps;
    int axis = -1;
    if (!infer_flag(infer_operand_named(inference, "keep_dims"), false, &keeps)) return false;
    if (axis_value && !infer_axis(inference, axis_value, type.rank, &axis)) return false;
    *rank = 0;
    for (int i = 0; i < type.rank; i++) {
        bool is_reduced = axis < 0 || i == axis;
        if (is_reduced && !keeps) continue;
        dims[(*rank)++] = is_reduced ? poly_constant(inference->arena, 1) : type.dims[i];
    }
    return true;
}

static void infer_reduction(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank;
    if (type.kind != TYPE_NUMBER || !reduced_shape(inference, type, &rank, dims)) return;
    infer_set(inference, 0, type_number(reduced_element(inference, type.element), rank, dims));
    infer_set(inference, 1, type_number(dtype_of(DTYPE_INT32), rank, dims));
}

/// A user's reduce or scan: each item of the input gives one result.
static void infer_combined(const Inference *inference, bool keeps_shape) {
    const Value *input = infer_operand(inference, 0);
    if (!input) return;
    bool is_tuple = input->op && input->op->code == OP_TUPLE;
    for (int i = 0; i < inference->op->result_count; i++) {
        const Value *item = is_tuple ? input->op->operands[i] : input;
        if (!item || item->type.kind != TYPE_NUMBER) continue;
        const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
        int rank;
        if (keeps_shape)
            infer_set(inference, i, type_reshaped(item->type, item->type.rank, item->type.dims));
        else if (reduced_shape(inference, item->type, &rank, dims))
            infer_set(inference, i, type_number(item->type.element, rank, dims));
    }
}

static void infer_running(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    int axis;
    const Value *axis_value = infer_operand_named(inference, "axis");
    if (type.kind != TYPE_NUMBER) return;
    if (axis_value && axis_value->constant && !infer_axis(inference, axis_value, type.rank, &axis))
        return;
    type.element = sum_element(inference, type.element);
    type.is_constexpr = false;
    infer_set(inference, 0, type);
}

static void infer_last_axis(const Inference *inference, const Value *length) {
    Type type = infer_operand_type(inference, 0);
    if (type.kind != TYPE_NUMBER || !length || type.rank == 0) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, type.rank);
    for (int i = 0; i < type.rank; i++) dims[i] = type.dims[i];
    dims[type.rank - 1] =
        length->type.is_constexpr ? value_poly(inference->arena, (Value *)(uintptr_t)length) : NULL;
    infer_set(inference, 0, type_number(type.element, type.rank, dims));
}

static void infer_histogram(const Inference *inference) {
    const Poly **dims;
    int rank;
    if (!infer_dims(inference, infer_operand(inference, 1), &rank, &dims) || rank != 1) return;
    infer_set(inference, 0, type_number(dtype_of(DTYPE_INT32), 1, dims));
}

static DType dot_element(const Inference *inference, DType operand) {
    if (dtype_is_integer(operand)) return dtype_of(DTYPE_INT32);
    switch (operand.code) {
    case DTYPE_FLOAT64: return operand;
    case DTYPE_FLOAT32:
    case DTYPE_BFLOAT16: return dtype_of(DTYPE_FLOAT32);
    default: break;
    }
    bool is_pointer;
    const Value *out = infer_operand_named(inference, "out_dtype");
    if (out) return infer_dtype_operand(out, &is_pointer);
    const Value *acc = infer_operand_named(inference, "acc");
    if (acc && acc->type.kind == TYPE_NUMBER) return acc->type.element;
    return dtype_of(DTYPE_FLOAT32);
}

/// The shared dim of a product: an error when both are numbers that differ, or differ by a constant.
static bool dot_inner_matches(const Inference *inference, Type a, Type b) {
    const Poly *inner_a = a.dims[a.rank - 1];
    const Poly *inner_b = b.dims[b.rank - 2];
    int64_t difference;
    if (!poly_is_constant(poly_subtract(inference->arena, inner_a, inner_b), &difference) ||
        difference == 0)
        return true;
    infer_error(inference, DIAGNOSTIC_DOT_SHAPE,
                "the inner dimensions of a product differ: %s and %s",
                type_told(inference->arena, a), type_told(inference->arena, b));
    return false;
}

/// What a product is added to has its shape.
static bool dot_sum_matches(const Inference *inference, const Poly *const *dims, int rank) {
    const Value *acc = infer_operand_named(inference, "acc");
    if (!acc || acc->type.kind != TYPE_NUMBER || acc->type.rank != rank) return true;
    for (int i = rank - 2; i < rank; i++) {
        int64_t difference;
        if (!acc->type.dims[i] || !dims[i] ||
            !poly_is_constant(poly_subtract(inference->arena, acc->type.dims[i], dims[i]),
                              &difference) ||
            difference == 0)
            continue;
        infer_error(inference, DIAGNOSTIC_DOT_SHAPE,
                    "the product is %s, and what it is added to is %s",
                    type_told(inference->arena, type_number(acc->type.element, rank, dims)),
                    type_told(inference->arena, acc->type));
        return false;
    }
    return true;
}

static void infer_dot(const Inference *inference) {
    bool is_scaled = inference->op->code == OP_DOT_SCALED;
    Type a = infer_operand_type(inference, 0);
    Type b = infer_operand_type(inference, is_scaled ? 3 : 1);
    if (a.kind != TYPE_NUMBER || b.kind != TYPE_NUMBER) return;
    if (a.rank != b.rank || (a.rank != 2 && a.rank != 3)) {
        infer_error(inference, DIAGNOSTIC_DOT_RANK,
                    "a product needs two or three axes on both sides: %s and %s",
                    type_told(inference->arena, a), type_told(inference->arena, b));
        return;
    }
    if (!is_scaled && !dot_inner_matches(inference, a, b)) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, a.rank);
    dims[0] = a.dims[0];
    dims[a.rank - 2] = a.dims[a.rank - 2];
    dims[a.rank - 1] = b.dims[b.rank - 1];
    if (!dot_sum_matches(inference, dims, a.rank)) return;
    DType element = is_scaled ? dtype_of(DTYPE_FLOAT32) : dot_element(inference, a.element);
    infer_set(inference, 0, type_number(element, a.rank, dims));
}

bool infer_reduce_op(const Inference *inference) {
    switch (inference->op->code) {
    case OP_REDUCE: infer_combined(inference, false); return true;
    case OP_ASSOCIATIVE_SCAN: infer_combined(inference, true); return true;
    case OP_CUMSUM:
    case OP_CUMPROD: infer_running(inference); return true;
    case OP_TOPK: infer_last_axis(inference, infer_operand(inference, 1)); return true;
    case OP_HISTOGRAM: infer_histogram(inference); return true;
    case OP_DOT:
    case OP_DOT_SCALED: infer_dot(inference); return true;
    default: break;
    }
    if (op_rows[inference->op->code].shape != SHAPE_REDUCED) return false;
    infer_reduction(inference);
    return true;
}
