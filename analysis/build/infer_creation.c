// Types of tiles that are made rather than computed: ranges, constants, casts, random numbers, inline assembly.
#include "analysis/build/infer_creation.h"

#include "analysis/build/infer_rules.h"
#include "analysis/build/value_poly.h"

static void infer_arange(const Inference *inference) {
    const Value *start = infer_operand(inference, 0);
    const Value *end = infer_operand(inference, 1);
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, 1);
    bool known = start && end && start->type.is_constexpr && end->type.is_constexpr;
    if (known)
        dims[0] = poly_subtract(inference->arena,
                                value_poly(inference->arena, inference->op->operands[1]),
                                value_poly(inference->arena, inference->op->operands[0]));
    int64_t length;
    if (poly_is_constant(dims[0], &length) && length <= 0)
        infer_error(inference, DIAGNOSTIC_ARANGE_EMPTY, "this range has %lld elements",
                    (long long)length);
    else if (poly_is_constant(dims[0], &length) && (length & (length - 1)) != 0)
        infer_error(inference, DIAGNOSTIC_ARANGE_NOT_POWER_OF_TWO,
                    "a range of %lld elements: the length must be a power of two",
                    (long long)length);
    infer_set(inference, 0, type_number(dtype_of(DTYPE_INT32), 1, dims));
}

static void infer_full(const Inference *inference) {
    const Poly **dims = NULL;
    int rank;
    if (!infer_dims(inference, infer_operand(inference, 0), &rank, &dims)) return;
    bool is_pointer = false;
    const Value *dtype = infer_operand(inference, 2);
    DType element =
        dtype ? infer_dtype_operand(dtype, &is_pointer) : infer_operand_type(inference, 1).element;
    Type type = type_number(element, rank, dims);
    if (is_pointer) type.kind = TYPE_POINTER;
    infer_set(inference, 0, type);
}

static void infer_cast(const Inference *inference) {
    Type type = infer_operand_type(inference, 0);
    if (type.kind != TYPE_NUMBER && type.kind != TYPE_POINTER) return;
    bool is_pointer;
    type.element = infer_dtype_operand(infer_operand(inference, 1), &is_pointer);
    type.kind = is_pointer ? TYPE_POINTER : TYPE_NUMBER;
    type.is_constexpr = false;
    infer_set(inference, 0, type);
}

/// All results alike: the broadcast shape of operands `first` up to `end`.
static void infer_elements(const Inference *inference, int first, int end, DType element) {
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank = 0;
    for (int i = first; i < end; i++) {
        Type operand = infer_operand_type(inference, i);
        if (operand.kind != TYPE_NUMBER) return;
        Type so_far = type_number(element, rank, dims);
        if (!infer_broadcast(inference, so_far, operand, &rank, dims)) return;
    }
    for (int i = 0; i < inference->op->result_count; i++)
        infer_set(inference, i, type_number(element, rank, dims));
}

static void infer_philox(const Inference *inference) {
    int first = inference->op->code == OP_PHILOX ? 1 : 0;
    int bits = dtype_bits(infer_operand_type(inference, first).element.code);
    infer_elements(inference, first, first + 4, dtype_of(bits == 64 ? DTYPE_UINT64 : DTYPE_UINT32));
}

/// The shape of inline assembly is that of its arguments together; its types are written beside it.
static void infer_assembly(const Inference *inference) {
    const Value *arguments = infer_operand(inference, 2);
    const Value *dtype = infer_operand(inference, 3);
    if (!arguments || !dtype || !arguments->op || arguments->op->code != OP_TUPLE) return;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank = 0;
    for (int i = 0; i < arguments->op->operand_count; i++) {
        const Value *argument = arguments->op->operands[i];
        if (!argument || argument->type.kind == TYPE_UNKNOWN) return;
        Type so_far = type_number(dtype_of(DTYPE_UNKNOWN), rank, dims);
        if (!infer_broadcast(inference, so_far, argument->type, &rank, dims)) return;
    }
    bool is_tuple = dtype->op && dtype->op->code == OP_TUPLE;
    for (int i = 0; i < inference->op->result_count; i++) {
        bool is_pointer;
        DType element = infer_dtype_operand(is_tuple ? dtype->op->operands[i] : dtype, &is_pointer);
        infer_set(inference, i, type_number(element, rank, dims));
    }
}

bool infer_creation_op(const Inference *inference) {
    switch (inference->op->code) {
    case OP_ARANGE: infer_arange(inference); return true;
    case OP_FULL: infer_full(inference); return true;
    case OP_CAST:
    case OP_BITCAST: infer_cast(inference); return true;
    case OP_RANDINT:
    case OP_RANDINT4X: infer_elements(inference, 1, 2, dtype_of(DTYPE_UINT32)); return true;
    case OP_PAIR_UNIFORM_TO_NORMAL:
        infer_elements(inference, 0, 2, dtype_of(DTYPE_FLOAT32));
        return true;
    case OP_PHILOX:
    case OP_PHILOX_IMPL: infer_philox(inference); return true;
    case OP_INLINE_ASM: infer_assembly(inference); return true;
    case OP_MAP_ELEMENTWISE: return true;
    default: return false;
    }
}
