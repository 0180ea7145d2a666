// Types of results from the SHAPE and ELEMENT columns of the operation table; what those cannot say is in infer_*.c.
#include "analysis/build/infer.h"

#include <string.h>

#include "analysis/build/infer_creation.h"
#include "analysis/build/infer_memory.h"
#include "analysis/build/infer_reduce.h"
#include "analysis/build/infer_rules.h"
#include "analysis/build/infer_shape.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"

Value *infer_operand(const Inference *inference, int index) {
    const Op *op = inference->op;
    Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value_is_none(value) ? NULL : value;
}

Value *infer_operand_named(const Inference *inference, const char *name) {
    return infer_operand(inference, op_parameter_index(inference->op->code, str_from(name)));
}

Type infer_operand_type(const Inference *inference, int index) {
    const Value *value = infer_operand(inference, index);
    return value ? value->type : (Type){0};
}

bool infer_flag(const Value *value, bool missing, bool *flag) {
    int64_t integer;
    *flag = missing;
    if (!value || value_is_none(value)) return true;
    if (!value_is_int(value, &integer)) return false;
    *flag = integer != 0;
    return true;
}

Type type_number(DType element, int rank, const Poly *const *dims) {
    return (Type){.kind = TYPE_NUMBER, .element = element, .rank = rank, .dims = dims};
}

Type type_reshaped(Type type, int rank, const Poly *const *dims) {
    type.rank = rank;
    type.dims = dims;
    type.is_constexpr = false;
    return type;
}

/// Whether only some instances of the kernel compile the op.
static bool op_is_optional(const Op *op) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_IF && region->parent->operands[0]->type.is_constexpr)
            return true;
    return false;
}

/// Whether a value is what it is whatever the function is called with.
static intptr_t is_own(ValueWalk *walk, const Value *value) {
    if (!value || value->constant) return true;
    if (value->type.is_constexpr) return true;
    if (!value->op || value->op->region_count) return false;
    for (int i = 0; i < value->op->operand_count; i++)
        if (!walk_ask(walk, value->op->operands[i])) return false;
    return true;
}

static bool operands_are_own(const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (!walk_from(op->operands[i], is_own, false, NULL)) return false;
    return true;
}

void infer_error(const Inference *inference, DiagnosticId id, const char *format, ...) {
    if (!inference->diagnostics) return;
    bool is_optional = op_is_optional(inference->op);
    if (is_optional && id == DIAGNOSTIC_POINTER_ARITHMETIC) return;  // a number in these instances
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(inference->arena, format, arguments);
    va_end(arguments);
    Diagnostic *said = diagnose(inference->diagnostics, id, inference->op->range, "%s", message);
    if (is_optional && said->severity == SEVERITY_ERROR) said->severity = SEVERITY_WARNING;
    said->rests_on_nothing = operands_are_own(inference->op);
}

void infer_set(const Inference *inference, int result, Type type) {
    if (result < inference->op->result_count) inference->op->results[result]->type = type;
}

bool infer_axis(const Inference *inference, const Value *axis, int rank, int *result) {
    int64_t integer;
    if (!value_is_int(axis, &integer)) return false;
    if (integer < -rank || integer >= rank) {
        infer_error(inference, DIAGNOSTIC_AXIS_OUT_OF_RANGE, "axis %lld of a value with %d %s",
                    (long long)integer, rank, rank == 1 ? "axis" : "axes");
        return false;
    }
    *result = (int)(integer < 0 ? integer + rank : integer);
    return true;
}

static bool value_is_dim(const Value *value) {
    return value && (value->type.is_constexpr || value->constant) &&
           value->type.kind == TYPE_NUMBER;
}

bool infer_rank_fits(const Inference *inference, int rank) {
    if (rank <= TYPE_MAX_RANK) return true;
    infer_error(
        inference, DIAGNOSTIC_LIMIT_REACHED,
        "a tile of %d axes; tiles of %d at most are followed, and nothing is said of this one",
        rank, TYPE_MAX_RANK);
    return false;
}

bool infer_dims(const Inference *inference, const Value *shape, int *rank, const Poly ***dims) {
    Arena *arena = inference->arena;
    if (!shape) return false;
    bool is_tuple = shape->op && shape->op->code == OP_TUPLE;
    if (!is_tuple && !value_is_dim(shape)) return false;
    Value *const one[] = {(Value *)(uintptr_t)shape};
    Value *const *items = is_tuple ? shape->op->operands : one;
    int count = is_tuple ? shape->op->operand_count : 1;
    if (is_tuple && count == 1 && items[0] && items[0]->op && items[0]->op->code == OP_TUPLE)
        return infer_dims(inference, items[0], rank,
                          dims);  // reshape(x, (a, b)) collected as *shape
    if (!infer_rank_fits(inference, count)) return false;
    *rank = count;
    *dims = ARENA_ARRAY(arena, const Poly *, count);
    for (int i = 0; i < count; i++)
        (*dims)[i] = value_is_dim(items[i]) ? value_poly(arena, items[i]) : NULL;
    return true;
}

DType infer_dtype_operand(const Value *value, bool *is_pointer) {
    *is_pointer = false;
    if (value && value->constant && value->constant->kind == CONSTANT_DTYPE) {
        *is_pointer = value->constant->is_pointer;
        return value->constant->dtype;
    }
    if (value && value->constant && value->constant->kind == CONSTANT_STRING)
        return dtype_of(dtype_from_name(value->constant->string));
    const Op *op = value ? value->op : NULL;
    *is_pointer = op && op->code == OP_POINTER_TYPE_NAME;
    bool asks =
        op && (op->code == OP_DTYPE_OF || op->code == OP_ELEMENT_TYPE_OF) && op->operands[0];
    if (asks && op->operands[0]->type.kind != TYPE_UNKNOWN) {
        *is_pointer = op->code == OP_DTYPE_OF && op->operands[0]->type.kind == TYPE_POINTER;
        DType element = op->operands[0]->type.element;
        return element.code == DTYPE_UNKNOWN ? dtype_of(DTYPE_ANY_NUMBER) : element;
    }
    return dtype_of(DTYPE_ANY_NUMBER);
}

static bool dim_is(const Poly *dim, int64_t *number) { return poly_is_constant(dim, number); }

/// The broadcast of two dims. False when both are numbers, neither is 1, and they differ.
static bool dim_broadcast(const Poly *a, const Poly *b, const Poly **dim) {
    int64_t x;
    int64_t y;
    bool a_known = dim_is(a, &x);
    bool b_known = dim_is(b, &y);
    if (a_known && x == 1) {
        *dim = b;
    } else if (b_known && y == 1) {
        *dim = a;
    } else if (a_known && b_known) {
        *dim = a;
        return x == y;
    } else {
        *dim = a_known || !b ? a : b_known || !a ? b : a;
    }
    return true;
}

/// The broadcast shape of two shapes; false when it is certain that they do not broadcast. Unequal symbolic dims are taken as equal.
static bool shape_broadcast(Arena *arena, Type a, Type b, int *rank, const Poly **dims) {
    (void)arena;
    int count = a.rank > b.rank ? a.rank : b.rank;
    const Poly *result[TYPE_MAX_RANK];
    for (int i = 0; i < count; i++) {
        int in_a = i - (count - a.rank);
        int in_b = i - (count - b.rank);
        if (in_a < 0 || in_b < 0)
            result[i] = in_a < 0 ? b.dims[in_b] : a.dims[in_a];
        else if (!dim_broadcast(a.dims[in_a], b.dims[in_b], &result[i]))
            return false;
    }
    *rank = count;
    for (int i = 0; i < count; i++) dims[i] = result[i];
    return true;
}

bool infer_broadcast(const Inference *inference, Type a, Type b, int *rank, const Poly **dims) {
    if (shape_broadcast(inference->arena, a, b, rank, dims)) return true;
    infer_error(inference, DIAGNOSTIC_SHAPE_MISMATCH, "shapes do not broadcast: %s and %s",
                type_told(inference->arena, a), type_told(inference->arena, b));
    return false;
}

/// How many leading parameters are data: those without a default.
static int data_operand_count(const Op *op) {
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    int data = 0;
    while (data < count && parameters[data].default_text.size == 0 && !parameters[data].is_variadic)
        data++;
    return data < op->operand_count ? data : op->operand_count;
}

static bool type_has_elements(Type type) {
    return type.kind == TYPE_NUMBER || type.kind == TYPE_POINTER;
}

/// Comparing names, dtypes and None: a constexpr bool.
static bool infer_comparison_of_objects(const Inference *inference) {
    bool any_object = false;
    for (int i = 0; i < inference->op->operand_count; i++) {
        const Value *value = inference->op->operands[i];
        if (!value) continue;
        TypeKind kind = value->type.kind;
        any_object = any_object || kind == TYPE_STRING || kind == TYPE_DTYPE || kind == TYPE_NONE ||
                     kind == TYPE_FUNCTION;
    }
    if (!any_object) return false;
    Type type = type_number(dtype_of(DTYPE_INT1), 0, NULL);
    type.is_constexpr = true;  // a run-time value cannot be compared with any of these
    infer_set(inference, 0, type);
    return true;
}

static bool operands_are_constexpr(const Op *op, int count) {
    for (int i = 0; i < count; i++)
        if (op->operands[i] && !op->operands[i]->type.is_constexpr) return false;
    return count > 0;
}

/// `x.item()` of a tile that has more than one element.
static void say_many_elements(const Inference *inference) {
    const Type type = infer_operand_type(inference, 0);
    int64_t count = 1, dim;
    for (int i = 0; type_has_elements(type) && i < type.rank; i++)
        if (type.dims[i] && poly_is_constant(type.dims[i], &dim) && dim > count) count = dim;
    if (count > 1)
        infer_error(inference, DIAGNOSTIC_RESHAPE_SIZE,
                    "`item` is for a tile of one element, and this has an axis of %lld",
                    (long long)count);
}

/// The shape column; false where it cannot be known.
static bool infer_column_shape(const Inference *inference, int data_count, int *rank,
                               const Poly **dims) {
    const Op *op = inference->op;
    *rank = 0;
    if (op_rows[op->code].shape == SHAPE_SCALAR) {
        if (op->code == OP_SCALAR_OF) say_many_elements(inference);
        return true;
    }
    int count = op_rows[op->code].shape == SHAPE_SAME ? 1 : data_count;
    for (int i = 0; i < count; i++) {
        const Value *operand = op->operands[i];
        if (!operand) continue;
        if (!type_has_elements(operand->type)) return false;
        Type so_far = {.kind = TYPE_NUMBER, .rank = *rank, .dims = dims};
        so_far.element = op->operands[0] ? op->operands[0]->type.element : operand->type.element;
        if (!infer_broadcast(inference, so_far, operand->type, rank, dims)) return false;
    }
    return true;
}

static DType dtype_made_float(DType dtype) {
    switch (dtype_class(dtype)) {
    case CLASS_FLOAT: return dtype;
    case CLASS_UNKNOWN: return dtype_of(DTYPE_ANY_FLOAT);
    default: return dtype_of(DTYPE_FLOAT32);
    }
}

/// Promotion of all data operands, constexpr scalars adapting to the others.
static DType infer_promoted(const Op *op, int first, int count) {
    bool division =
        op->code == OP_DIV || op->code == OP_FLOORDIV || op->code == OP_MOD || op->code == OP_FDIV;
    DType result = dtype_of(DTYPE_UNKNOWN);
    bool result_is_scalar = false;
    bool is_first = true;
    for (int i = first; i < count; i++) {
        const Value *operand = op->operands[i];
        if (!operand) continue;
        bool is_scalar = operand->type.is_constexpr && operand->type.rank == 0;
        if (is_first)
            result = operand->type.element;
        else
            result =
                dtype_promote(result, result_is_scalar, operand->type.element, is_scalar, division);
        result_is_scalar = is_first ? is_scalar : result_is_scalar && is_scalar;
        is_first = false;
    }
    return result;
}

static DType infer_column_element(const Inference *inference, int data_count) {
    const Op *op = inference->op;
    DType first = infer_operand_type(inference, 0).element;
    switch (op_rows[op->code].element) {
    case ELEMENT_SAME:
    case ELEMENT_POINTEE: return first;
    case ELEMENT_PROMOTE: return infer_promoted(op, 0, data_count);
    case ELEMENT_DIVIDE: {
        DType promoted = infer_promoted(op, 0, data_count);
        return dtype_class(promoted) == CLASS_UNKNOWN ? dtype_of(DTYPE_ANY_FLOAT)
                                                      : dtype_made_float(promoted);
    }
    case ELEMENT_FLOAT: return dtype_made_float(infer_promoted(op, 0, data_count));
    case ELEMENT_BOOL: return dtype_of(DTYPE_INT1);
    case ELEMENT_INT32: return dtype_of(DTYPE_INT32);
    case ELEMENT_INT64: return dtype_of(DTYPE_INT64);
    case ELEMENT_FLOAT32: return dtype_of(DTYPE_FLOAT32);
    case ELEMENT_FLOAT64: return dtype_of(DTYPE_FLOAT64);
    default: return dtype_of(DTYPE_UNKNOWN);
    }
}

/// A pointer moved by integers; false where no operand is a pointer.
static bool infer_pointer_arithmetic(const Inference *inference, int rank,
                                     const Poly *const *dims) {
    const Op *op = inference->op;
    if (op->code != OP_ADD && op->code != OP_SUB) return false;
    Type a = infer_operand_type(inference, 0);
    Type b = infer_operand_type(inference, 1);
    if (a.kind != TYPE_POINTER && b.kind != TYPE_POINTER) return false;
    Type pointer = a.kind == TYPE_POINTER ? a : b;
    Type other = a.kind == TYPE_POINTER ? b : a;
    if (other.kind == TYPE_POINTER || (other.kind == TYPE_NUMBER && dtype_is_float(other.element) &&
                                       dtype_bits(other.element.code) > 0)) {
        infer_error(inference, DIAGNOSTIC_POINTER_ARITHMETIC,
                    "%s %s %s: only integers move a pointer", type_told(inference->arena, a),
                    op->code == OP_ADD ? "+" : "-", type_told(inference->arena, b));
        return true;
    }
    infer_set(inference, 0, type_reshaped(pointer, rank, dims));
    return true;
}

/// Pointers pass through a choice and hints; `where(c, p, q)` is a pointer.
static bool type_is_passed_on(const Op *op, Type *pointer) {
    int first = op->code == OP_WHERE ? 1 : 0;
    bool passes = op->code == OP_WHERE || op_rows[op->code].element == ELEMENT_SAME ||
                  op->code == OP_MINIMUM || op->code == OP_MAXIMUM;
    if (!passes) return false;
    for (int i = first; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_POINTER) continue;
        *pointer = op->operands[i]->type;
        return true;
    }
    return false;
}

bool op_stays_constexpr(OpCode code) {
    return op_rows[code].symbol || code == OP_MINIMUM || code == OP_MAXIMUM ||
           code == OP_INTEGER_LOG2 || code == OP_PYTHON_CALL || code == OP_GLOBAL;
}

static void infer_by_columns(const Inference *inference) {
    Op *op = inference->op;
    int data_count = data_operand_count(op);
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank;
    if (op_rows[op->code].element == ELEMENT_BOOL && infer_comparison_of_objects(inference)) return;
    if (!infer_column_shape(inference, data_count, &rank, dims)) return;
    if (infer_pointer_arithmetic(inference, rank, dims)) return;
    Type type = type_number(infer_column_element(inference, data_count), rank, dims);
    if (op->code == OP_WHERE) type.element = infer_promoted(op, 1, 3);
    Type pointer;
    if (type_is_passed_on(op, &pointer)) {
        type.kind = TYPE_POINTER;
        type.element = pointer.element;
    }
    type.is_constexpr =
        op_stays_constexpr(op->code) && rank == 0 && operands_are_constexpr(op, data_count);
    for (int i = 0; i < op->result_count; i++) infer_set(inference, i, type);
}

static bool value_is_fixed(const Value *value) {
    return value && (value->constant || value->type.is_constexpr);
}

static Type constant_type(const Constant *constant) {
    Type type = {.kind = TYPE_NUMBER, .is_constexpr = true};
    switch (constant->kind) {
    case CONSTANT_NONE: type.kind = TYPE_NONE; break;
    case CONSTANT_BOOL: type.element = dtype_of(DTYPE_INT1); break;
    case CONSTANT_INT: {
        int64_t value = constant->integer;
        bool fits = value >= INT32_MIN && value <= INT32_MAX;
        bool fits_unsigned = value >= 0 && value <= UINT32_MAX;
        type.element = dtype_of(fits                                 ? DTYPE_INT32
                                : fits_unsigned                      ? DTYPE_UINT32
                                : constant_is_beyond_int64(constant) ? DTYPE_UINT64
                                                                     : DTYPE_INT64);
        break;
    }
    case CONSTANT_FLOAT: {
        double size = constant->number < 0 ? -constant->number : constant->number;
        bool is_double = size != 0 && size <= 1.7976931348623157e308 &&
                         (size < 0x1p-126 || size > 0x1.fffffep127);
        type.element = dtype_of(is_double ? DTYPE_FLOAT64 : DTYPE_FLOAT32);
        break;
    }
    case CONSTANT_STRING: type.kind = TYPE_STRING; break;
    case CONSTANT_DTYPE: type.kind = TYPE_DTYPE; break;
    case CONSTANT_FUNCTION: type.kind = TYPE_FUNCTION; break;
    case CONSTANT_TUPLE: type.kind = TYPE_TUPLE; break;
    }
    return type;
}

/// Triton's helpers and roundings give integers.
static bool python_call_is_integer(const Op *op) {
    Str name = op->operands[0]->constant->string;
    return str_starts(name, "triton.") || str_is(name, "math.ceil") || str_is(name, "math.floor");
}

/// The shape of all arguments together, of the element type that the operand says.
static bool infer_given(const Inference *inference) {
    const Op *op = inference->op;
    const Poly **dims = ARENA_ARRAY(inference->arena, const Poly *, TYPE_MAX_RANK);
    int rank = 0;
    for (int i = GIVEN_ARGUMENTS; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        Type so_far = type_number(dtype_of(DTYPE_UNKNOWN), rank, dims);
        if (!infer_broadcast(inference, so_far, op->operands[i]->type, &rank, dims)) return true;
    }
    int64_t argument;
    bool is_pointer;
    DType element = value_is_int(op->operands[1], &argument)
                        ? infer_operand_type(inference, GIVEN_ARGUMENTS + (int)argument).element
                        : infer_dtype_operand(op->operands[1], &is_pointer);
    infer_set(inference, 0, type_number(element, rank, dims));
    return true;
}

/// Constants, tuples and questions about types.
static bool infer_structural(const Inference *inference) {
    Op *op = inference->op;
    Type type = {0};
    switch (op->code) {
    case OP_CONSTANT: type = constant_type(op->results[0]->constant); break;
    case OP_TUPLE:
        type.kind = TYPE_TUPLE;
        type.is_constexpr = true;
        for (int i = 0; i < op->operand_count; i++)
            type.is_constexpr = type.is_constexpr && value_is_fixed(op->operands[i]);
        break;
    case OP_ITEM:
        if (!value_is_open_tuple(op->operands[0])) break;
        type = type_number(dtype_of(DTYPE_INT32), 0, NULL);
        type.is_constexpr = op->operands[0]->type.is_constexpr;
        break;
    case OP_UNKNOWN:
    case OP_UNDEFINED: break;
    case OP_GIVEN: return infer_given(inference);
    case OP_DTYPE_OF:
    case OP_ELEMENT_TYPE_OF:
        type.kind = TYPE_DTYPE;
        type.is_constexpr = true;
        break;
    case OP_DTYPE_QUESTION:
        type = type_number(dtype_of(str_starts(op->operands[1]->constant->string, "is_")
                                        ? DTYPE_INT1
                                        : DTYPE_INT32),
                           0, NULL);
        type.is_constexpr = true;
        break;
    case OP_GLOBAL:
        type = type_number(dtype_of(DTYPE_ANY_NUMBER), 0, NULL);
        type.is_constexpr = true;
        break;
    case OP_PYTHON_CALL:
        type = type_number(dtype_of(python_call_is_integer(op) ? DTYPE_INT32 : DTYPE_FLOAT32), 0,
                           NULL);
        type.is_constexpr = true;
        break;
    case OP_IS_NONE:
        type = type_number(dtype_of(DTYPE_INT1), 0, NULL);
        type.is_constexpr = true;
        break;
    default:
        return op_rows[op->code].kind == KIND_STRUCTURAL;  // loops and branches: the lowering knows
    }
    infer_set(inference, 0, type);
    return true;
}

static int tuple_count(const Value *value) {
    return value && value->op && value->op->code == OP_TUPLE ? value->op->operand_count : 1;
}

int infer_result_count(OpCode code, Value *const *operands, int operand_count) {
    if (op_rows[code].element == ELEMENT_NONE) return 0;
    switch (code) {
    case OP_SPLIT:
    case OP_BROADCAST:
    case OP_PAIR_UNIFORM_TO_NORMAL: return 2;
    case OP_RAND4X:
    case OP_RANDN4X:
    case OP_RANDINT4X:
    case OP_PHILOX:
    case OP_PHILOX_IMPL: return 4;
    case OP_MAX:
    case OP_MIN: {
        bool with_indices;
        const Value *flag = operand_count > 2 ? operands[2] : NULL;
        return infer_flag(flag, false, &with_indices) && with_indices ? 2 : 1;
    }
    case OP_REDUCE:
    case OP_ASSOCIATIVE_SCAN: return operand_count > 0 ? tuple_count(operands[0]) : 1;
    case OP_INLINE_ASM: return operand_count > 3 ? tuple_count(operands[3]) : 1;
    default: return 1;
    }
}

void infer_op(Arena *arena, Op *op, Diagnostics *diagnostics) {
    Inference inference = {arena, op, diagnostics};
    if (infer_structural(&inference)) return;
    for (int i = 0; i < op->result_count; i++) op->results[i]->type = (Type){0};
    if (infer_memory_op(&inference) || infer_creation_op(&inference)) return;
    if (infer_shape_op(&inference) || infer_reduce_op(&inference)) return;
    if (op_rows[op->code].shape != SHAPE_SPECIAL) infer_by_columns(&inference);
}
