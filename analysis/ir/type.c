// Element types (from dtypes.def), their implicit promotion as Triton's semantic.py has it, and readable types.
#include "analysis/ir/type.h"

typedef struct DTypeRow {
    const char *name;
    const char *short_name;
    int bits;
    DTypeClass class;
    int exponent;
    int mantissa;
} DTypeRow;

static const DTypeRow dtype_rows[DTYPE_COUNT] = {
    [DTYPE_UNKNOWN] = {NULL, "?", 0, CLASS_UNKNOWN, 0, 0},
    [DTYPE_ANY_NUMBER] = {NULL, "number", 0, CLASS_UNKNOWN, 0, 0},
    [DTYPE_ANY_FLOAT] = {NULL, "float", 0, CLASS_FLOAT, 0, 0},
    [DTYPE_ANY_INT] = {NULL, "int", 0, CLASS_SIGNED, 0, 0},
    [DTYPE_OF_PARAMETER] = {NULL, "element", 0, CLASS_UNKNOWN, 0, 0},
#define DTYPE(id, name, short_name, bits, class, exponent, mantissa)                               \
    [DTYPE_##id] = {name, short_name, bits, CLASS_##class, exponent, mantissa},
#include "analysis/ir/dtypes.def"
#undef DTYPE
};

/// Other spellings that Triton takes in signatures and strings.
static const struct {
    const char *name;
    DTypeCode code;
} dtype_spellings[] = {
    {"fp64", DTYPE_FLOAT64},
    {"fp32", DTYPE_FLOAT32},
    {"fp16", DTYPE_FLOAT16},
    {"bf16", DTYPE_BFLOAT16},
    {"f64", DTYPE_FLOAT64},
    {"f32", DTYPE_FLOAT32},
    {"f16", DTYPE_FLOAT16},
    {"fp8e5", DTYPE_FLOAT8E5},
    {"fp8e5b16", DTYPE_FLOAT8E5B16},
    {"fp8e4nv", DTYPE_FLOAT8E4NV},
    {"fp8e4b8", DTYPE_FLOAT8E4B8},
    {"fp8e4b15", DTYPE_FLOAT8E4B15},
    {"float8_e5m2", DTYPE_FLOAT8E5},
    {"float8_e4m3fn", DTYPE_FLOAT8E4NV},
    {"bool", DTYPE_INT1},
    {"half", DTYPE_FLOAT16},
    {"float", DTYPE_FLOAT32},
    {"double", DTYPE_FLOAT64},
    {"u1", DTYPE_INT1},
    {"int", DTYPE_INT32},
    {"long", DTYPE_INT64},
};

DType dtype_of(DTypeCode code) { return (DType){.code = code}; }

bool dtype_equal(DType a, DType b) {
    return a.code == b.code && (a.code != DTYPE_OF_PARAMETER || a.parameter == b.parameter);
}

const char *dtype_name(DTypeCode code) { return dtype_rows[code].name; }
const char *dtype_short_name(DTypeCode code) { return dtype_rows[code].short_name; }
int dtype_bits(DTypeCode code) { return dtype_rows[code].bits; }
int dtype_mantissa_bits(DTypeCode code) { return dtype_rows[code].mantissa; }
int dtype_exponent_bits(DTypeCode code) { return dtype_rows[code].exponent; }

/// Most names are none of these: the first letter tells.
static bool name_is(Str name, const char *text) {
    return name.data[0] == text[0] && str_is(name, text);
}

DTypeCode dtype_from_name(Str name) {
    if (name.size == 0) return DTYPE_UNKNOWN;
    for (int code = 0; code < DTYPE_COUNT; code++) {
        const DTypeRow *row = &dtype_rows[code];
        if (row->name && (name_is(name, row->name) || name_is(name, row->short_name)))
            return (DTypeCode)code;
    }
    for (size_t i = 0; i < sizeof dtype_spellings / sizeof *dtype_spellings; i++)
        if (name_is(name, dtype_spellings[i].name)) return dtype_spellings[i].code;
    return DTYPE_UNKNOWN;
}

DTypeClass dtype_class(DType dtype) {
    if (dtype.code == DTYPE_OF_PARAMETER) return dtype.parameter_class;
    return dtype_rows[dtype.code].class;
}

bool dtype_is_float(DType dtype) { return dtype_class(dtype) == CLASS_FLOAT; }

bool dtype_is_integer(DType dtype) {
    DTypeClass class = dtype_class(dtype);
    return class == CLASS_BOOL || class == CLASS_SIGNED || class == CLASS_UNSIGNED;
}

static bool dtype_is_concrete(DType dtype) { return dtype_rows[dtype.code].bits > 0; }

/// bool 0, integer 1, float 2, as far as Triton's scalars care; -1 when not known.
static int dtype_kind(DType dtype) {
    switch (dtype_class(dtype)) {
    case CLASS_BOOL: return 0;
    case CLASS_SIGNED:
    case CLASS_UNSIGNED: return 1;
    case CLASS_FLOAT: return 2;
    default: return -1;
    }
}

static bool dtype_is_fp8(DType dtype) {
    return dtype_is_float(dtype) && dtype_rows[dtype.code].bits == 8;
}

static DType promote_integers(DType a, DType b) {
    int a_bits = dtype_bits(a.code);
    int b_bits = dtype_bits(b.code);
    bool a_unsigned = dtype_class(a) != CLASS_SIGNED;  // Triton counts bool as unsigned
    bool b_unsigned = dtype_class(b) != CLASS_SIGNED;
    if (a_unsigned == b_unsigned) return a_bits > b_bits ? a : b;
    if (a_unsigned) return a_bits >= b_bits ? a : b;
    return b_bits >= a_bits ? b : a;
}

/// Triton's computation_type_impl for two element types that are known.
static DType promote_concrete(DType a, DType b, bool division) {
    if (a.code == DTYPE_FLOAT64 || b.code == DTYPE_FLOAT64) return dtype_of(DTYPE_FLOAT64);
    bool any_float = dtype_is_float(a) || dtype_is_float(b);
    if (division && any_float) return dtype_of(DTYPE_FLOAT32);
    if (a.code == DTYPE_FLOAT32 || b.code == DTYPE_FLOAT32) return dtype_of(DTYPE_FLOAT32);
    if (a.code == DTYPE_FLOAT16 || b.code == DTYPE_FLOAT16) return dtype_of(DTYPE_FLOAT16);
    if (a.code == DTYPE_BFLOAT16 && b.code == DTYPE_BFLOAT16) return a;
    if (a.code == DTYPE_BFLOAT16 || b.code == DTYPE_BFLOAT16) return dtype_of(DTYPE_FLOAT32);
    if (dtype_is_fp8(a) && dtype_is_fp8(b)) return a.code == b.code ? a : dtype_of(DTYPE_FLOAT16);
    if (any_float) return dtype_of(DTYPE_ANY_FLOAT);  // fp8 with an integer: Triton refuses
    return promote_integers(a, b);
}

/// The same where one of them is only known in part.
static DType promote_abstract(DType a, DType b, bool division) {
    if (a.code == DTYPE_UNKNOWN || b.code == DTYPE_UNKNOWN) return dtype_of(DTYPE_UNKNOWN);
    if (dtype_equal(a, b) && !(division && dtype_kind(a) != 1)) return a;
    if (a.code == DTYPE_FLOAT64 || b.code == DTYPE_FLOAT64) return dtype_of(DTYPE_FLOAT64);
    if (a.code == DTYPE_FLOAT32 || b.code == DTYPE_FLOAT32) return dtype_of(DTYPE_FLOAT32);
    int a_kind = dtype_kind(a);
    int b_kind = dtype_kind(b);
    if (a_kind == 2 || b_kind == 2) {
        DType with_float = a_kind == 2 ? a : b;
        int other_kind = a_kind == 2 ? b_kind : a_kind;
        bool other_is_integer = other_kind == 0 || other_kind == 1;
        if (other_is_integer && !division && with_float.code == DTYPE_FLOAT16) return with_float;
        return dtype_of(DTYPE_ANY_FLOAT);
    }
    if (a_kind >= 0 && b_kind >= 0) return dtype_of(DTYPE_ANY_INT);
    return dtype_of(DTYPE_ANY_NUMBER);
}

/// What a constexpr scalar leaves of a tile's type: the tile's, unless the scalar is of a higher kind.
static bool scalar_adapts(DType scalar, DType tile) {
    int scalar_kind = dtype_kind(scalar);
    int tile_kind = dtype_kind(tile);
    if (tile_kind == 2) return true;
    if (scalar_kind >= 0 && tile_kind >= 0) return scalar_kind <= tile_kind;
    return tile_kind < 0 && scalar_kind >= 0 && scalar_kind <= 1;
}

DType dtype_promote(DType a, bool a_is_constexpr_scalar, DType b, bool b_is_constexpr_scalar,
                    bool division) {
    if (a_is_constexpr_scalar != b_is_constexpr_scalar) {
        DType scalar = a_is_constexpr_scalar ? a : b;
        DType tile = a_is_constexpr_scalar ? b : a;
        if (scalar_adapts(scalar, tile)) a = b = tile;
    }
    if (dtype_is_concrete(a) && dtype_is_concrete(b)) return promote_concrete(a, b, division);
    return promote_abstract(a, b, division);
}

bool type_is_tile(Type type) {
    return (type.kind == TYPE_NUMBER || type.kind == TYPE_POINTER) && type.rank > 0;
}

bool type_equal(Type a, Type b) {
    if (a.kind != b.kind || a.rank != b.rank || !dtype_equal(a.element, b.element)) return false;
    for (int i = 0; i < a.rank; i++)
        if (!poly_equal(a.dims[i], b.dims[i])) return false;
    return true;
}

const char *dtype_label(DType element) {
    if (element.code != DTYPE_OF_PARAMETER) return dtype_short_name(element.code);
    switch (element.parameter_class) {
    case CLASS_FLOAT: return "float";
    case CLASS_SIGNED:
    case CLASS_UNSIGNED: return "int";
    case CLASS_BOOL: return "i1";
    default: return "number";
    }
}

static void print_element(Buffer *buffer, DType element, bool is_label) {
    if (element.code == DTYPE_OF_PARAMETER && !is_label)
        buffer_printf(buffer, "element%d", element.parameter);
    else
        buffer_puts(buffer, dtype_label(element));
}

static void print_dims(Buffer *buffer, Arena *arena, Type type) {
    if (type.rank == 0) return;
    for (int i = 0; i < type.rank; i++)
        buffer_printf(buffer, "%s%s", i ? ", " : "[", poly_print(arena, type.dims[i]));
    buffer_putc(buffer, ']');
}

static const char *print_type(Arena *arena, Type type, bool is_label) {
    static const char *const plain[] = {
        [TYPE_UNKNOWN] = "?",   [TYPE_TUPLE] = "tuple",   [TYPE_NONE] = "none",
        [TYPE_DTYPE] = "dtype", [TYPE_STRING] = "string", [TYPE_FUNCTION] = "function",
    };
    Buffer buffer = buffer_new(arena);
    switch (type.kind) {
    case TYPE_NUMBER: break;
    case TYPE_POINTER: buffer_putc(&buffer, '*'); break;
    case TYPE_BLOCK_POINTER: buffer_puts(&buffer, "block pointer "); break;
    case TYPE_DESCRIPTOR: buffer_puts(&buffer, "descriptor "); break;
    default: return plain[type.kind];
    }
    if (type.is_constexpr) buffer_puts(&buffer, "constexpr ");
    print_element(&buffer, type.element, is_label);
    print_dims(&buffer, arena, type);
    return buffer_text(&buffer);
}

const char *type_print(Arena *arena, Type type) { return print_type(arena, type, false); }

const char *type_told(Arena *arena, Type type) { return print_type(arena, type, true); }

Type type_detached(Arena *arena, Type type) {
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, type.rank + 1);
    for (int i = 0; i < type.rank; i++) {
        int64_t size;
        if (type.dims[i] && poly_is_constant(type.dims[i], &size))
            dims[i] = poly_constant(arena, size);
    }
    type.dims = dims;
    return type;
}
