// Arithmetic element by element: floats by the VALUE column as it stands in the table, integers and pointers here.
#include "gpu-runner/staging/chains.h"

typedef struct Compute {
    DTypeCode in, result;  // computed in, and what comes out
} Compute;

static DTypeCode promoted(DTypeCode a, bool a_weak, const Staged *b, bool division) {
    return dtype_promote(dtype_of(a), a_weak, dtype_of(b->dtype), b->is_weak, division).code;
}

/// As the interpreter's compute_dtype.
static Compute compute_types(OpCode code, const Staged *const *operands, int count) {
    const OpRow *row = &op_rows[code];
    DTypeCode dtype = operands[0]->dtype;
    bool weak = operands[0]->is_weak;
    if (count == 1 && weak && row->element == ELEMENT_DIVIDE) dtype = DTYPE_FLOAT32;
    for (int i = 1; i < count; i++) {
        dtype = promoted(dtype, weak, operands[i], row->element == ELEMENT_DIVIDE);
        weak = weak && operands[i]->is_weak;
    }
    Compute types = {dtype, dtype};
    bool is_float = dtype_code_is_float(dtype);
    switch (row->element) {
    case ELEMENT_BOOL: types.result = DTYPE_INT1; break;
    case ELEMENT_INT32: types.result = DTYPE_INT32; break;
    case ELEMENT_INT64: types.result = DTYPE_INT64; break;
    case ELEMENT_FLOAT32: types.result = DTYPE_FLOAT32; break;
    case ELEMENT_FLOAT64: types.result = DTYPE_FLOAT64; break;
    case ELEMENT_DIVIDE:
    case ELEMENT_FLOAT:
        if (!is_float) types.in = types.result = DTYPE_FLOAT32;
        break;
    case ELEMENT_SAME:
        if (count > 1 && !operands[0]->is_weak &&
            is_float == dtype_code_is_float(operands[0]->dtype))
            types.result = operands[0]->dtype;
        break;
    case ELEMENT_SPECIAL:
    case ELEMENT_PROMOTE:
    case ELEMENT_POINTEE:
    case ELEMENT_NONE: break;
    }
    return types;
}

/// Integer arithmetic in C over long long a, b, c; NULL where there is none. `u`: unsigned, of 64 bits.
static const char *integer_expression(OpCode code, bool u) {
    switch (code) {
    case OP_ADD: return "(long long)(TAD_U(a) + TAD_U(b))";
    case OP_SUB: return "(long long)(TAD_U(a) - TAD_U(b))";
    case OP_MUL: return "(long long)(TAD_U(a) * TAD_U(b))";
    case OP_FMA: return "(long long)(TAD_U(a) * TAD_U(b) + TAD_U(c))";
    case OP_FLOORDIV: return u ? "tad_divide_u(launch, a, b)" : "tad_divide(launch, a, b)";
    case OP_MOD: return u ? "tad_rest_u(launch, a, b)" : "tad_rest(launch, a, b)";
    case OP_NEG: return "(long long)(0 - TAD_U(a))";
    case OP_ABS: return u ? "a" : "(a < 0 ? (long long)(0 - TAD_U(a)) : a)";
    case OP_AND: return "(a & b)";
    case OP_OR: return "(a | b)";
    case OP_XOR: return "(a ^ b)";
    case OP_SHL: return "(b < 0 || b >= 64 ? 0 : (long long)(TAD_U(a) << b))";
    case OP_SHR:
        return u ? "(b < 0 || b >= 64 ? 0 : (long long)(TAD_U(a) >> b))"
                 : "(b < 0 || b >= 64 ? (a >= 0 ? 0 : -1) : a >> b)";
    case OP_EQ: return "(long long)(a == b)";
    case OP_NE: return "(long long)(a != b)";
    case OP_LT: return u ? "(long long)(TAD_U(a) < TAD_U(b))" : "(long long)(a < b)";
    case OP_GT: return u ? "(long long)(TAD_U(a) > TAD_U(b))" : "(long long)(a > b)";
    case OP_LE: return u ? "(long long)(TAD_U(a) <= TAD_U(b))" : "(long long)(a <= b)";
    case OP_GE: return u ? "(long long)(TAD_U(a) >= TAD_U(b))" : "(long long)(a >= b)";
    case OP_MINIMUM: return u ? "(TAD_U(b) < TAD_U(a) ? b : a)" : "(b < a ? b : a)";
    case OP_MAXIMUM: return u ? "(TAD_U(a) < TAD_U(b) ? b : a)" : "(a < b ? b : a)";
    case OP_UMULHI:
        return u ? "(long long)tad_high(TAD_U(a), TAD_U(b))"
                 : "(long long)((TAD_U(a) & 0xffffffffULL) * (TAD_U(b) & 0xffffffffULL) >> 32)";
    case OP_CLAMP:
        return u ? "(TAD_U(a) < TAD_U(b) ? b : TAD_U(c) < TAD_U(a) ? c : a)"
                 : "(a < b ? b : c < a ? c : a)";
    case OP_POW: return "tad_power(a, b)";
    case OP_HALVING_ADD: return "((a + b) >> 1)";
    case OP_ROUNDED_HALVING_ADD: return "((a + b + 1) >> 1)";
    case OP_ABSOLUTE_DIFFERENCE: return "((a < b ? b - a : a - b) + c)";
    case OP_MULTIPLY_24: return "(tad_low24(a) * tad_low24(b))";
    default: return NULL;
    }
}

/// libdevice's functions of bits, of 32 or of 64; NULL for others.
static const char *bits_expression(OpCode code, bool is_wide) {
    switch (code) {
    case OP_POPULATION: return is_wide ? "tad_population(a, 64)" : "tad_population(a, 32)";
    case OP_FIRST_BIT: return is_wide ? "tad_first_bit(a, 64)" : "tad_first_bit(a, 32)";
    case OP_LEADING_ZEROS: return is_wide ? "tad_leading_zeros(a, 64)" : "tad_leading_zeros(a, 32)";
    case OP_BIT_REVERSE: return is_wide ? "tad_reverse(a, 64)" : "tad_reverse(a, 32)";
    default: return NULL;
    }
}

static bool is_on_bits(OpCode code) {
    return bits_expression(code, false) || code == OP_POW || code == OP_MULTIPLY_24 ||
           code == OP_UMULHI;
}

typedef struct Shape {
    int rank;
    int64_t dims[TYPE_MAX_RANK];
} Shape;

static Shape common_shape(Staging *staging, const Staged *const *operands, int count) {
    Shape shape = {0};
    for (int i = 0; i < count; i++)
        if (!staged_shapes_broadcast(&shape.rank, shape.dims, operands[i]))
            stage_refuse(staging, "operands that do not broadcast");
    return shape;
}

static const char *operand_text(Staging *staging, const Staged *operand, const Shape *shape,
                                DTypeCode dtype) {
    const char *at = staged_broadcast_at(staging, operand, shape->rank, shape->dims, "i");
    if (operand->kind == TILE_POINTER) return at;
    return stage_cast_at(staging, operand, at, dtype);
}

/// The expression over a, b and c as a function of the text.
static const char *whole_helper(Staging *staging, OpCode code, DTypeCode in,
                                const char *expression) {
    int variant = (in == DTYPE_UINT64) + 2 * (in == DTYPE_INT1) + 4 * (dtype_bits(in) == 64);
    const char *name = arena_printf(staging->arena, "tad_whole%d_%s", variant, op_rows[code].id);
    if (!staging->has_helper[code][variant])
        buffer_printf(&staging->helpers,
                      "DEVICE long long %s(long long a, long long b, long long c) {\n"
                      "    (void)a, (void)b, (void)c;\n    return %s;\n}\n",
                      name, expression);
    staging->has_helper[code][variant] = true;
    return name;
}

static const Staged *whole_chain(Staging *staging, OpCode code, const Staged *const *operands,
                                 int count, Compute types, TileKind kind, const Shape *shape,
                                 const char *expression) {
    const char *texts[3] = {"0", "0", "0"};
    bool is_light = true;
    for (int i = 0; i < count; i++) {
        texts[i] = operand_text(staging, operands[i], shape, types.in);
        is_light = is_light && (!operands[i]->chain || operands[i]->is_light);
    }
    const char *text = arena_printf(staging->arena, "%s(%s, %s, %s)",
                                    whole_helper(staging, code, types.in, expression), texts[0],
                                    texts[1], texts[2]);
    if (kind != TILE_POINTER) text = stage_wrap(staging, text, types.result);
    return chain_new(staging, kind, types.result, shape->rank, shape->dims, text, is_light);
}

static const Staged *stage_integers(Staging *staging, OpCode code, const Staged *const *operands,
                                    int count, Compute types, TileKind kind) {
    Shape shape = common_shape(staging, operands, count);
    bool is_weak = true;
    for (int i = 0; i < count; i++) is_weak = is_weak && operands[i]->is_weak;
    if (is_weak) stage_refuse(staging, "arithmetic of Python's integers that is not known before");
    bool is_wide = types.in == DTYPE_UINT64 || (code == OP_UMULHI && types.in == DTYPE_INT64);
    const char *expression = bits_expression(code, dtype_bits(types.in) == 64);
    if (!expression) expression = integer_expression(code, is_wide);
    if (is_on_bits(code)) staging->draws = true;
    if (code == OP_INVERT) expression = types.in == DTYPE_INT1 ? "(long long)!a" : "~a";
    if (!expression)
        stage_refuse(staging, "%s of %s", op_rows[code].id, dtype_short_name(types.in));
    if (shape_count(shape.rank, shape.dims) > 1 && code != OP_FLOORDIV && code != OP_MOD)
        return whole_chain(staging, code, operands, count, types, kind, &shape, expression);
    Staged *result = staged_new(staging, kind, types.result, shape.rank, shape.dims);
    if (result->count == 1)
        stage_open(staging, "if (1)");
    else
        stage_open(staging, "EACH(i, %lld)", (long long)result->count);
    for (int i = 0; i < count; i++)
        stage_line(staging, "const long long %c = %s;", "abc"[i],
                   operand_text(staging, operands[i], &shape, types.in));
    stage_line(staging, "%s = %s;", staged_at(staging, result, "i"),
               kind == TILE_POINTER ? expression : stage_wrap(staging, expression, types.result));
    stage_close(staging);
    if (result->count > 1) stage_barrier(staging);
    return result;
}

static bool is_cheap(OpCode code) {
    return op_is_comparison(code) || op_has(code, TRAIT_LINEAR) || code == OP_MUL;
}

static const Staged *stage_floats(Staging *staging, OpCode code, const Staged *const *operands,
                                  int count, Compute types) {
    static const char *const comparisons[OP_COUNT] = {
        [OP_EQ] = "==", [OP_NE] = "!=", [OP_LT] = "<",
        [OP_LE] = "<=", [OP_GT] = ">",  [OP_GE] = ">="};
    Shape shape = common_shape(staging, operands, count);
    const char *texts[3] = {"TAD_REAL(0.0)", "TAD_REAL(0.0)", "TAD_REAL(0.0)"};
    for (int i = 0; i < count; i++) texts[i] = operand_text(staging, operands[i], &shape, types.in);
    const char *value;
    if (comparisons[code]) {
        value = arena_printf(staging->arena, "TAD_REAL((double)(TAD_V(%s) %s TAD_V(%s)))", texts[0],
                             comparisons[code], texts[1]);
    } else {
        if (!op_rows[code].has_value) stage_refuse(staging, "%s", op_rows[code].id);
        if (staging->is_dual && !prelude_has_slope((int)code))
            stage_refuse(staging, "the derivative of %s", op_rows[code].id);
        staging->has_op[code] = true;
        value = stage_rounded(staging,
                              arena_printf(staging->arena, "tad_%s(%s, %s, %s)", op_rows[code].id,
                                           texts[0], texts[1], texts[2]),
                              types.in);
    }
    bool is_light = !staging->rounds && is_cheap(code);
    for (int i = 0; i < count; i++)
        is_light = is_light && (!operands[i]->chain || operands[i]->is_light);
    Staged *result = chain_new(staging, TILE_NUMBER, types.result, shape.rank, shape.dims,
                               stage_cast_text(staging, value, types.in, types.result), is_light);
    result->is_weak = result->rank == 0;
    for (int i = 0; i < count; i++) result->is_weak = result->is_weak && operands[i]->is_weak;
    return result;
}

static const Staged *stage_pointers(Staging *staging, OpCode code, const Staged *const *operands) {
    const Staged *pointer = operands[0]->kind == TILE_POINTER ? operands[0] : operands[1];
    bool both = operands[0]->kind == TILE_POINTER && operands[1]->kind == TILE_POINTER;
    if (op_is_comparison(code))
        return stage_integers(staging, code, operands, 2, (Compute){DTYPE_INT64, DTYPE_INT1},
                              TILE_NUMBER);
    const Staged *offset = pointer == operands[0] ? operands[1] : operands[0];
    if (both || (code != OP_ADD && code != OP_SUB) || offset->kind != TILE_NUMBER ||
        staged_is_float(offset))
        stage_refuse(staging, "%s on pointers", op_rows[code].id);
    return stage_integers(staging, code, operands, 2, (Compute){DTYPE_INT64, pointer->dtype},
                          TILE_POINTER);
}

const Staged *stage_apply(Staging *staging, OpCode code, const Staged *const *operands, int count) {
    for (int i = 0; i < count && count == 2; i++)
        if (operands[i]->kind == TILE_POINTER) return stage_pointers(staging, code, operands);
    for (int i = 0; i < count; i++)
        if (operands[i]->kind != TILE_NUMBER)
            stage_refuse(staging, "%s of what is no number", op_rows[code].id);
    Compute types = compute_types(code, operands, count);
    bool integers = !dtype_code_is_float(types.in);
    if (integers && types.in == DTYPE_INT1 && types.result == DTYPE_INT1 && code == OP_NEG)
        types.in = types.result = DTYPE_INT32;
    bool is_integer_op =
        integer_expression(code, false) || bits_expression(code, false) || code == OP_INVERT;
    if (integers && is_integer_op)
        return stage_integers(staging, code, operands, count, types, TILE_NUMBER);
    if (integers && (op_has(code, TRAIT_INTEGERS) || !op_rows[code].has_value))
        stage_refuse(staging, "%s of integers", op_rows[code].id);
    if (integers) types.in = DTYPE_FLOAT64;
    return stage_floats(staging, code, operands, count, types);
}

void stage_elementwise(Staging *staging, const Op *op) {
    const Staged *operands[3];
    int count = 0, option = op_parameter_index(op->code, STR("propagate_nan"));
    for (int i = 0; i < op->operand_count && count < 3; i++) {
        if (i == option) break;
        const Staged *staged = staged_operand(staging, op, i);
        if (!staged || staged->kind == TILE_CONSTANT) break;
        operands[count++] = staged;
    }
    if (count == 0) stage_refuse(staging, "%s", op_rows[op->code].id);
    stage_result(staging, op, stage_apply(staging, op->code, operands, count));
}

/// A truth of each element, or of one.
static const Staged *truth(Staging *staging, const Staged *staged, bool is_negated) {
    if (staged->kind != TILE_NUMBER) stage_refuse(staging, "the truth of what is no number");
    Staged *result = staged_new(staging, TILE_NUMBER, DTYPE_INT1, staged->rank, staged->dims);
    stage_fill(staging, result,
               arena_printf(staging->arena, "(long long)((%s) %s 0)",
                            staged_plain(staging, staged, staged_at(staging, staged, "i")),
                            is_negated ? "==" : "!="));
    return result;
}

void stage_logical(Staging *staging, const Op *op) {
    const Staged *a = stage_value(staging, op->operands[0]);
    if (op->code == OP_LOGICAL_NOT) {
        stage_result(staging, op, truth(staging, a, true));
        return;
    }
    const Staged *both[2] = {truth(staging, a, false),
                             truth(staging, stage_value(staging, op->operands[1]), false)};
    stage_result(staging, op,
                 stage_apply(staging, op->code == OP_LOGICAL_AND ? OP_AND : OP_OR, both, 2));
}

void stage_where(Staging *staging, const Op *op) {
    const Staged *operands[3] = {staged_number(staging, op, 0), staged_operand(staging, op, 1),
                                 staged_operand(staging, op, 2)};
    const Staged *x = operands[1], *y = operands[2];
    if (!x || !y || x->kind != y->kind || (x->kind != TILE_POINTER && x->kind != TILE_NUMBER))
        stage_refuse(staging, "where() of unlike operands");
    DTypeCode dtype = x->kind == TILE_POINTER ? x->dtype : promoted(x->dtype, x->is_weak, y, false);
    Shape shape = common_shape(staging, operands, 3);
    bool is_light = true;
    for (int i = 0; i < 3; i++)
        is_light = is_light && (!operands[i]->chain || operands[i]->is_light);
    const char *condition =
        staged_plain(staging, operands[0],
                     staged_broadcast_at(staging, operands[0], shape.rank, shape.dims, "i"));
    const char *text = arena_printf(staging->arena, "(%s) != 0 ? %s : %s", condition,
                                    operand_text(staging, x, &shape, dtype),
                                    operand_text(staging, y, &shape, dtype));
    stage_result(staging, op,
                 chain_new(staging, x->kind, dtype, shape.rank, shape.dims, text, is_light));
}

// --- casts --------------------------------------------------------------------------------------------------------------

/// What the text's functions of small floats take: digits, bits of the exponent, its bias.
static const char *small_float(Staging *staging, DTypeCode dtype, double *limit) {
    int bias;
    *limit = float_limit(dtype, &bias);
    return arena_printf(staging->arena, "%d, %d, %d", dtype_mantissa_bits(dtype),
                        dtype_exponent_bits(dtype), bias);
}

static const char *float_bits_text(Staging *staging, const char *at, DTypeCode dtype) {
    double limit;
    if (dtype_bits(dtype) >= 32)
        return arena_printf(staging->arena, "tad_bits(%s, %d)", at, dtype_bits(dtype) == 32);
    staging->has_small_bits = true;
    return arena_printf(staging->arena, "tad_small_bits(tad_round_number(%s, %d), %s)", at,
                        (int)dtype, small_float(staging, dtype, &limit));
}

static const char *float_of_bits_text(Staging *staging, const char *at, DTypeCode dtype) {
    double limit;
    if (dtype_bits(dtype) >= 32)
        return arena_printf(staging->arena, "TAD_REAL(tad_of_bits(%s, %d))", at,
                            dtype_bits(dtype) == 32);
    staging->has_small_bits = true;
    const char *type = small_float(staging, dtype, &limit);
    return arena_printf(staging->arena, "TAD_REAL(tad_of_small_bits(%s, %s, %a))", at, type, limit);
}

/// The bits of one type under another: a float's as an integer, an integer's as a float, a float's as another float.
static const Staged *bits_of(Staging *staging, const Staged *source, DTypeCode dtype) {
    const char *at = staged_plain(staging, source, staged_at(staging, source, "i"));
    Staged *result = staged_new(staging, TILE_NUMBER, dtype, source->rank, source->dims);
    staging->draws = true;
    if (staged_is_float(source)) at = float_bits_text(staging, at, source->dtype);
    at = dtype_code_is_float(dtype) ? float_of_bits_text(staging, at, dtype)
                                    : stage_wrap(staging, at, dtype);
    stage_fill(staging, result, at);
    return result;
}

static void cast_to(Staging *staging, const Op *op, bool bits) {
    const Staged *source = staged_operand(staging, op, 0),
                 *type = staged_named(staging, op, "dtype");
    if (!source) stage_refuse(staging, "a cast of None");
    const Constant *to = type && type->kind == TILE_CONSTANT ? type->tile->constant : NULL;
    bool is_pointer = to && to->kind == CONSTANT_DTYPE && to->is_pointer;
    if (source->kind == TILE_POINTER || is_pointer) {
        if (staged_is_float(source)) stage_refuse(staging, "a float as an address");
        DTypeCode dtype = to ? to->dtype.code : DTYPE_INT64;
        if (!is_pointer && dtype != DTYPE_INT64 && dtype != DTYPE_UINT64)
            stage_refuse(staging, "a pointer cast to %s", dtype_name(dtype));
        Staged *same = ARENA_NEW(staging->arena, Staged);
        *same = *source;
        same->kind = is_pointer ? TILE_POINTER : TILE_NUMBER;
        same->dtype = dtype;
        same->is_weak = false;
        same->tile = NULL;
        stage_result(staging, op, same);
        return;
    }
    if (source->kind != TILE_NUMBER) stage_refuse(staging, "a cast of what is no number");
    DTypeCode dtype = staged_dtype(staging, op, "dtype", DTYPE_UNKNOWN);
    if (dtype == DTYPE_UNKNOWN) stage_refuse(staging, "a cast to what is no element type");
    if (bits && source->dtype != dtype) {
        if (dtype_bits(dtype) != dtype_bits(source->dtype))
            stage_refuse(staging, "the bits of a %s as a %s", dtype_name(source->dtype),
                         dtype_name(dtype));
        if (dtype_code_is_float(dtype) || staged_is_float(source)) {
            stage_result(staging, op, bits_of(staging, source, dtype));
            return;
        }
    }
    stage_result(staging, op, stage_cast(staging, source, dtype));
}

void stage_cast_op(Staging *staging, const Op *op) {
    cast_to(staging, op, staged_flag(staging, op, "bitcast", false));
}

void stage_bitcast(Staging *staging, const Op *op) { cast_to(staging, op, true); }
