// What `tl.dot_scaled` is called with, looked at before the call becomes the product that it stands for.
#include "analysis/calls/lower_scaled.h"

#include "analysis/ir/poly.h"

/// Where the table has them (`ops_reduce.def`).
enum { LHS, LHS_SCALE, LHS_FORMAT, RHS, RHS_SCALE, RHS_FORMAT, LHS_PACKED = 8, RHS_PACKED };

static const Constant *constant_at(Value *const *values, int index) {
    return values[index] ? values[index]->constant : NULL;
}

static bool is_format(Value *const *values, int index, const char *format) {
    const Constant *constant = constant_at(values, index);
    return constant && constant->kind == CONSTANT_STRING && str_is(constant->string, format);
}

static bool is_known_format(Value *const *values, int index) {
    static const char *const formats[] = {"e2m1", "e4m3", "e5m2", "bf16", "fp16"};
    const Constant *constant = constant_at(values, index);
    if (!constant || constant->kind != CONSTANT_STRING) return true;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (is_format(values, index, formats[i])) return true;
    return false;
}

/// The length of an axis from the end (1: the last one), of a matrix or a batch of them. False where it is no number.
static bool length_at(const Value *value, int from_end, int64_t *length) {
    if (!value || value->type.kind != TYPE_NUMBER) return false;
    bool is_matrix = value->type.rank == 2 || value->type.rank == 3;
    const Poly *dim = is_matrix ? value->type.dims[value->type.rank - from_end] : NULL;
    return dim && poly_is_constant(dim, length);
}

/// Elements of the axis that is summed, two in a byte where the format packs them along it. False where that is not known.
static bool summed_length(Value *const *values, int operand, int packed, int64_t *length) {
    const Constant *format = constant_at(values, operand + 2), *flag = constant_at(values, packed);
    if (!format || format->kind != CONSTANT_STRING) return false;
    if (!length_at(values[operand], operand == LHS ? 1 : 2, length)) return false;
    bool is_packed = !values[packed] || (flag && flag->kind == CONSTANT_BOOL && flag->integer);
    if (values[packed] && (!flag || flag->kind != CONSTANT_BOOL)) return false;
    if (is_format(values, operand + 2, "e2m1") && is_packed) *length *= 2;
    return true;
}

/// The scales of an operand, of whose rows or columns each has a row of them.
typedef struct Scales {
    int64_t lines, summed;  // of the operand: rows or columns, and elements of each
    int64_t rows, columns;  // of the scales
} Scales;

/// False where a length is not known, or there is one scale for all.
static bool read_scales(Value *const *values, int operand, int packed, Scales *scales) {
    const Value *scale = values[operand + 1];
    if (!length_at(scale, 2, &scales->rows) || !length_at(scale, 1, &scales->columns) ||
        scales->rows * scales->columns == 1 ||
        !summed_length(values, operand, packed, &scales->summed) ||
        !length_at(values[operand], operand == LHS ? 2 : 1, &scales->lines))
        return false;
    const Constant *flag = constant_at(values, packed);
    if (flag && !flag->integer) scales->lines *= 2;
    return true;
}

static int64_t elements_of_scale(const Scales *scales) {
    return scales->columns == scales->summed / 16   ? 16
           : scales->columns == scales->summed / 32 ? 32
                                                    : 0;
}

static const char *scale_fault(Arena *arena, Value *const *values, int operand, int packed) {
    Scales scales;
    if (!read_scales(values, operand, packed, &scales)) return NULL;
    if (scales.rows == scales.lines && elements_of_scale(&scales)) return NULL;
    return arena_printf(
        arena,
        "the scales of `%s` are [%lld, %lld], and %s needs [%lld, %lld], one for 32 elements of "
        "each of its %s, or [%lld, %lld], one for 16",
        operand == LHS ? "lhs" : "rhs", (long long)scales.rows, (long long)scales.columns,
        type_told(arena, values[operand]->type), (long long)scales.lines,
        (long long)(scales.summed / 32), operand == LHS ? "rows" : "columns",
        (long long)scales.lines, (long long)(scales.summed / 16));
}

int64_t lower_scaled_elements(Value *const *values, bool is_right) {
    Scales scales;
    return read_scales(values, is_right ? RHS : LHS, is_right ? RHS_PACKED : LHS_PACKED, &scales)
               ? elements_of_scale(&scales)
               : 0;
}

/// Both have a scale for as many elements.
static const char *scales_differ(Arena *arena, Value *const *values) {
    int64_t left = lower_scaled_elements(values, false),
            right = lower_scaled_elements(values, true);
    if (!left || !right || left == right) return NULL;
    return arena_printf(arena,
                        "`lhs` has a scale for %lld elements, and `rhs` one for %lld: a product "
                        "takes both for 16, or both for 32",
                        (long long)left, (long long)right);
}

bool lower_scaled_is_refused(Lowering *lowering, Value *const *values, SyntaxNode node) {
    Arena *arena = lowering->arena;
    for (int i = LHS_FORMAT; i <= RHS_FORMAT; i += RHS_FORMAT - LHS_FORMAT) {
        if (is_known_format(values, i)) continue;
        lowering_report(lowering, DIAGNOSTIC_WRONG_ARGUMENT, node,
                        "`tl.dot_scaled` has no format \"%.*s\": there are \"e2m1\", \"e4m3\", "
                        "\"e5m2\", \"bf16\" and \"fp16\"",
                        STR_ARGS(constant_at(values, i)->string));
        return true;
    }
    for (int i = LHS; i <= RHS; i += RHS - LHS) {
        if (!is_format(values, i + 2, "e2m1") || values[i]->type.kind != TYPE_NUMBER ||
            !dtype_is_float(values[i]->type.element))
            continue;
        lowering_report(lowering, DIAGNOSTIC_DOT_TYPES, node,
                        "`%s` is %s, and \"e2m1\" is two numbers in a byte: load it as uint8",
                        i == LHS ? "lhs" : "rhs", type_told(arena, values[i]->type));
        return true;
    }
    int64_t left, right;
    if (summed_length(values, LHS, LHS_PACKED, &left) &&
        summed_length(values, RHS, RHS_PACKED, &right) && left != right) {
        lowering_report(lowering, DIAGNOSTIC_DOT_SHAPE, node,
                        "the inner dimensions of a product differ: %lld elements in a row of %s, "
                        "%lld in a column of %s",
                        (long long)left, type_told(arena, values[LHS]->type), (long long)right,
                        type_told(arena, values[RHS]->type));
        return true;
    }
    const char *fault = scale_fault(arena, values, LHS, LHS_PACKED);
    if (!fault) fault = scale_fault(arena, values, RHS, RHS_PACKED);
    if (!fault) fault = scales_differ(arena, values);
    if (fault) lowering_report(lowering, DIAGNOSTIC_DOT_SHAPE, node, "%s", fault);
    return fault != NULL;
}
