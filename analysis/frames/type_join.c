// The type of a value that comes from one of two places.
#include "analysis/frames/type_join.h"

Type type_at_runtime(const Value *value) {
    Type type = value->type;
    const Constant *constant = value->constant;
    if (type.kind != TYPE_NUMBER) return type;
    type.is_constexpr = false;
    if (!constant) return type;
    switch (constant->kind) {
    case CONSTANT_BOOL: type.element = dtype_of(DTYPE_INT1); break;
    case CONSTANT_INT:
        type.element =
            dtype_of(constant->integer >= INT32_MIN && constant->integer <= INT32_MAX ? DTYPE_INT32
                     : constant_is_beyond_int64(constant) ? DTYPE_UINT64
                                                          : DTYPE_INT64);
        break;
    case CONSTANT_FLOAT: type.element = dtype_of(DTYPE_FLOAT32); break;
    default: break;
    }
    return type;
}

static DType dtype_join(DType a, DType b) {
    if (dtype_equal(a, b)) return a;
    if (a.code == DTYPE_UNKNOWN || b.code == DTYPE_UNKNOWN) return dtype_of(DTYPE_UNKNOWN);
    if (dtype_is_float(a) && dtype_is_float(b)) return dtype_of(DTYPE_ANY_FLOAT);
    if (dtype_is_integer(a) && dtype_is_integer(b)) return dtype_of(DTYPE_ANY_INT);
    return dtype_of(DTYPE_ANY_NUMBER);
}

/// Whether `dim` is `2 * (size // 2)`, with any number for 2: as both are of tiles and thus powers of two, that is `size`.
static bool is_halved_and_doubled(const Poly *dim, const Poly *size) {
    if (!dim || !size || dim->count != 1 || dim->terms[0].atom_count != 1) return false;
    const Op *op = dim->terms[0].atoms[0]->op;
    int64_t factor;
    if (!op || op->code != OP_FLOORDIV || !value_is_int(op->operands[1], &factor)) return false;
    bool is_size = size->count == 1 && size->terms[0].coefficient == 1 &&
                   size->terms[0].atom_count == 1 && size->terms[0].atoms[0] == op->operands[0];
    return is_size && dim->terms[0].coefficient == factor;
}

/// What is known of a dimension that is `a` in one branch and `b` in the other.
static const Poly *dim_join(const Poly *a, const Poly *b) {
    if (poly_equal(a, b) || is_halved_and_doubled(b, a)) return a;
    return is_halved_and_doubled(a, b) ? b : NULL;
}

/// Tiles of the same rank, dims that differ not understood; a scalar takes the shape of the tile it stands in for.
static Type shape_join(Arena *arena, Type result, Type a, Type b) {
    if (a.rank == 0 || b.rank == 0) {
        Type tile = a.rank ? a : b;
        result.rank = tile.rank;
        result.dims = tile.dims;
        return result;
    }
    if (a.rank != b.rank) return (Type){0};
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, a.rank);
    for (int i = 0; i < a.rank; i++) dims[i] = dim_join(a.dims[i], b.dims[i]);
    result.rank = a.rank;
    result.dims = dims;
    return result;
}

Type type_join(Arena *arena, Type a, Type b) {
    if (a.kind == TYPE_NONE) return b;
    if (b.kind == TYPE_NONE) return a;
    if (a.kind != b.kind) return (Type){0};
    if (type_equal(a, b)) return a;
    Type result = a;
    result.is_constexpr = a.is_constexpr && b.is_constexpr;
    bool a_adapts = a.is_constexpr && a.rank == 0;
    bool b_adapts = b.is_constexpr && b.rank == 0;
    switch (a.kind) {
    case TYPE_NUMBER:
        result.element =
            a_adapts && !b_adapts && dtype_is_float(a.element) <= dtype_is_float(b.element)
                ? b.element
            : b_adapts && !a_adapts && dtype_is_float(b.element) <= dtype_is_float(a.element)
                ? a.element
                : dtype_join(a.element, b.element);
        return shape_join(arena, result, a, b);
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER:
    case TYPE_DESCRIPTOR:
        result.element = dtype_join(a.element, b.element);
        return shape_join(arena, result, a, b);
    case TYPE_DTYPE: result.element = dtype_of(DTYPE_UNKNOWN); return result;
    default: return result;
    }
}

void types_observe(Arena *arena, Type *known, const Type *seen, int count) {
    for (int i = 0; i < count; i++)
        known[i] = known[i].kind == TYPE_NONE ? seen[i] : type_join(arena, known[i], seen[i]);
}
