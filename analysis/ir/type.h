// What a value of the tile IR is: kind, element type, symbolic shape.
#ifndef TAD_ANALYSIS_IR_TYPE_H
#define TAD_ANALYSIS_IR_TYPE_H

#include "analysis/ir/limits.h"
#include "analysis/ir/poly.h"

/// Element types. The abstract ones come first: nothing known, some number, some float, some integer, and
/// "the element type of pointer parameter #parameter" (generic kernels: its float-ness is in `parameter_class`).
typedef enum DTypeCode {
    DTYPE_UNKNOWN,
    DTYPE_ANY_NUMBER,
    DTYPE_ANY_FLOAT,
    DTYPE_ANY_INT,
    DTYPE_OF_PARAMETER,
#define DTYPE(id, name, short_name, bits, class, exponent, mantissa) DTYPE_##id,
#include "analysis/ir/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
} DTypeCode;

typedef enum DTypeClass {
    CLASS_UNKNOWN,
    CLASS_BOOL,
    CLASS_SIGNED,
    CLASS_UNSIGNED,
    CLASS_FLOAT
} DTypeClass;

typedef struct DType {
    DTypeCode code;
    int parameter;  // for DTYPE_OF_PARAMETER: index of the pointer parameter
    DTypeClass
        parameter_class;  // for DTYPE_OF_PARAMETER: CLASS_FLOAT, CLASS_SIGNED or CLASS_UNKNOWN
} DType;

typedef enum TypeKind {
    TYPE_UNKNOWN,        // not understood: silences whatever follows from it
    TYPE_NUMBER,         // scalar (rank 0) or tile
    TYPE_POINTER,        // scalar or tile of pointers to `element`
    TYPE_BLOCK_POINTER,  // tl.make_block_ptr: rank and dims are the block's
    TYPE_DESCRIPTOR,     // tl.make_tensor_descriptor: rank and dims are the block's
    TYPE_TUPLE,          // operands of its defining OP_TUPLE are the items
    TYPE_NONE,
    TYPE_DTYPE,     // tl.float32, x.dtype
    TYPE_STRING,    // constexpr text
    TYPE_FUNCTION,  // a jit function as a value
} TypeKind;

typedef struct Type {
    TypeKind kind;
    DType element;
    bool is_constexpr;  // known at compile time (its value may still be symbolic)
    int rank;
    const Poly *const *dims;  // rank entries; a dim that is not understood is NULL
} Type;

DType dtype_of(DTypeCode code);
bool dtype_equal(DType a, DType b);
/// NULL for the abstract codes.
const char *dtype_name(DTypeCode code);
/// "f32", "i1", ...; abstract ones as "float", "int", "number", "?".
const char *dtype_short_name(DTypeCode code);
/// The same; "float", "int" or "number" where the caller of the kernel decides.
const char *dtype_label(DType element);
/// The code named `float32`, `fp32`, `bf16`, `i32`, ... (Triton names and short names), else DTYPE_UNKNOWN.
DTypeCode dtype_from_name(Str name);
int dtype_bits(DTypeCode code);
int dtype_mantissa_bits(DTypeCode code);
int dtype_exponent_bits(DTypeCode code);
DTypeClass dtype_class(DType dtype);
bool dtype_is_float(DType dtype);    // provably
bool dtype_is_integer(DType dtype);  // provably, bool included
/// Triton's implicit promotion of two operands (scalars that are constexpr adapt to the other side).
DType dtype_promote(DType a, bool a_is_constexpr_scalar, DType b, bool b_is_constexpr_scalar,
                    bool division);

bool type_is_tile(Type type);  // NUMBER or POINTER of rank > 0
bool type_equal(Type a, Type b);
/// A copy in `arena` that means something outside of its function: dims that are no plain numbers are not known.
Type type_detached(Arena *arena, Type type);
/// "f32[BLOCK_M, 64]", "*f16[BLOCK]", "constexpr", "tuple", "?".
const char *type_print(Arena *arena, Type type);
/// As type_print, for people: where the caller decides the element type, its class ("float", "number").
const char *type_told(Arena *arena, Type type);

#endif
