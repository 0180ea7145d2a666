// Arithmetic lane by lane: floats by the VALUE and SLOPE columns of the op table, integers and pointers here.
#include "gpu-runner/interp/interp_elementwise.h"

#include <math.h>
#include <string.h>

#include "gpu-runner/interp/coverage.h"
#include "gpu-runner/interp/interp.h"

DTypeCode promote_tiles(const Tile *a, const Tile *b, bool division) {
    return dtype_promote(dtype_of(a->dtype), a->is_weak, dtype_of(b->dtype), b->is_weak, division)
        .code;
}

static bool is_float_code(DTypeCode code) { return dtype_code_is_float(code); }

/// The operands of an elementwise op: up to three number tiles, broadcast to one shape and cast to one type.
typedef struct Lanes {
    Tile *tiles[3];
    int count;
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    bool is_weak;
} Lanes;

static Lanes lanes_of(Interp *interp, Tile *const *operands, int count) {
    Lanes lanes = {.count = count, .is_weak = true};
    for (int i = 0; i < count; i++) {
        if (!shapes_broadcast(&lanes.rank, lanes.dims, operands[i]))
            interp_stop(interp, "%s does not broadcast with the other operands",
                        tile_describe(interp->arena, operands[i]));
        if (!operands[i]->is_weak) lanes.is_weak = false;
    }
    return lanes;
}

/// Scalars stay scalars (read with stride 0); anything else gets the full shape.
static void lanes_fill(Interp *interp, Lanes *lanes, Tile *const *operands, DTypeCode dtype) {
    for (int i = 0; i < lanes->count; i++) {
        Tile *cast = operands[i]->kind == TILE_POINTER ? tile_retain(operands[i])
                                                       : cast_number(interp, operands[i], dtype);
        if (cast->count == 1)
            lanes->tiles[i] = cast;
        else
            lanes->tiles[i] = interp_consume(
                interp, cast, tile_broadcast(&interp->pool, cast, lanes->rank, lanes->dims));
    }
}

static void lanes_end(Interp *interp, const Lanes *lanes, Tile *result) {
    for (int i = 0; i < lanes->count; i++) {
        const Tile *tile = lanes->tiles[i];
        if (tile->poison) {
            uint8_t *poison = tile_need_poison(&interp->pool, result);
            int64_t stride = tile->count > 1;
            for (int64_t at = 0; at < result->count; at++) poison[at] |= tile->poison[at * stride];
        }
        tile_release(&interp->pool, lanes->tiles[i]);
    }
    result->is_weak = lanes->is_weak && result->rank == 0;
}

// --- floats -------------------------------------------------------------------------------------------------------------

typedef struct FloatLanes {
    const double *a, *b, *c;     // values; missing operands read as 0
    const double *ta, *tb, *tc;  // tangents or NULL
    int64_t sa, sb, sc;          // 0 or 1
    int64_t count;
} FloatLanes;

/// Comparisons hold or not; NaN is unequal to everything.
static bool float_comparison(OpCode code, double a, double b) {
    switch (code) {
    case OP_EQ: return !(a < b) && !(a > b) && !isnan(a) && !isnan(b);
    case OP_NE: return a < b || a > b || isnan(a) || isnan(b);
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    default: return a >= b;
    }
}

/// False where the op has no VALUE column.
static bool float_values(OpCode code, const FloatLanes *in, double *result) {
    if (op_is_comparison(code)) {
        for (int64_t i = 0; i < in->count; i++)
            result[i] = float_comparison(code, in->a[i * in->sa], in->b[i * in->sb]);
        return true;
    }
    switch (code) {
#define OP(id, ...)                                                                                                    \
    case OP_##id: {                                                                                                    \
        __VA_ARGS__                                                                                                    \
        break;                                                                                                         \
    }
#define VALUE(...)                                                                                                     \
    for (int64_t i = 0; i < in->count; i++) {                                                                          \
        const double a = in->a[i * in->sa], b = in->b[i * in->sb], c = in->c[i * in->sc];                              \
        (void)a, (void)b, (void)c;                                                                                     \
        result[i] = (double)(__VA_ARGS__);                                                                             \
    }                                                                                                                  \
    return true;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    case OP_COUNT: break;
    }
    return false;
}

/// What does not move moves nothing, however steep; where the slope is 0, as an exponential's of minus infinity, nothing moves.
static inline double moved(double slope, double tangent) {
    return tangent == 0 || (slope == 0 && isinf(tangent)) ? 0 : slope * tangent;
}

static bool float_slopes(OpCode code, const FloatLanes *in, const double *result, double *tangent) {
    switch (code) {
#define OP(id, ...)                                                                                                    \
    case OP_##id: {                                                                                                    \
        __VA_ARGS__                                                                                                    \
        break;                                                                                                         \
    }
#define SLOPE(...)                                                                                                     \
    for (int64_t i = 0; i < in->count; i++) {                                                                          \
        const double a = in->a[i * in->sa], b = in->b[i * in->sb], c = in->c[i * in->sc], r = result[i];               \
        (void)a, (void)b, (void)c, (void)r;                                                                            \
        const double slope[3] = {__VA_ARGS__};                                                                         \
        double sum = 0;                                                                                                \
        if (in->ta) sum += moved(slope[0], in->ta[i * in->sa]);                                                        \
        if (in->tb) sum += moved(slope[1], in->tb[i * in->sb]);                                                        \
        if (in->tc) sum += moved(slope[2], in->tc[i * in->sc]);                                                        \
        tangent[i] = sum;                                                                                              \
    }                                                                                                                  \
    return true;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    case OP_COUNT: break;
    }
    return false;
}

static Tile *run_floats(Interp *interp, OpCode code, Tile *const *operands, int count,
                        DTypeCode dtype, DTypeCode result_dtype) {
    static const double zero = 0;
    Lanes lanes = lanes_of(interp, operands, count);
    lanes_fill(interp, &lanes, operands, dtype);
    Tile *values = tile_new(&interp->pool, TILE_NUMBER, dtype, lanes.rank, lanes.dims);
    FloatLanes in = {.a = &zero, .b = &zero, .c = &zero, .count = values->count};
    bool has_tangent = false;
    for (int i = 0; i < count; i++) {
        const Tile *tile = lanes.tiles[i];
        int64_t stride = tile->count > 1;
        if (i == 0) in.a = tile->number, in.ta = tile->tangent, in.sa = stride;
        if (i == 1) in.b = tile->number, in.tb = tile->tangent, in.sb = stride;
        if (i == 2) in.c = tile->number, in.tc = tile->tangent, in.sc = stride;
        has_tangent = has_tangent || tile->tangent;
    }
    if (!float_values(code, &in, values->number))
        interp_stop(interp, "%s cannot be executed here", op_rows[code].id);
    if (has_tangent && is_float_code(result_dtype)) {
        double *tangent = tile_need_tangent(&interp->pool, values);
        if (!float_slopes(code, &in, values->number, tangent))
            memset(tangent, 0, sizeof(double) * (size_t)values->count);
    }
    if (interp->rounds && is_float_code(dtype)) tile_round(values);
    lanes_end(interp, &lanes, values);
    if (result_dtype == dtype) return values;
    bool weak = values->is_weak;
    Tile *result = interp_consume(interp, values, cast_number(interp, values, result_dtype));
    result->is_weak = weak;
    return result;
}

// --- integers and pointers ----------------------------------------------------------------------------------------------

static int64_t power_integer(int64_t base, int64_t exponent) {
    uint64_t result = 1, square = (uint64_t)base;
    for (; exponent > 0; exponent >>= 1, square *= square)
        if (exponent & 1) result *= square;
    return (int64_t)result;
}

static bool unsigned_dtype(DTypeCode dtype) { return dtype == DTYPE_UINT64; }

/// Division of Triton's tensors truncates, that of Python numbers floors.
static int64_t divide_integer(Interp *interp, int64_t a, int64_t b, DTypeCode dtype, bool floors,
                              bool remainder) {
    if (b == 0) interp_stop(interp, "integer division by zero");
    if (unsigned_dtype(dtype)) {
        uint64_t left = (uint64_t)a, right = (uint64_t)b;
        return (int64_t)(remainder ? left % right : left / right);
    }
    if (b == -1) return remainder ? 0 : (int64_t)(0 - (uint64_t)a);
    int64_t quotient = a / b, rest = a % b;
    if (floors && rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return remainder ? rest : quotient;
}

static int64_t shift_integer(int64_t a, int64_t b, DTypeCode dtype, bool left) {
    if (b < 0 || b >= 64) return left || a >= 0 || unsigned_dtype(dtype) ? 0 : -1;
    if (left) return (int64_t)((uint64_t)a << b);
    return unsigned_dtype(dtype) ? (int64_t)((uint64_t)a >> b) : a >> b;
}

static bool less_integer(int64_t a, int64_t b, DTypeCode dtype) {
    return unsigned_dtype(dtype) ? (uint64_t)a < (uint64_t)b : a < b;
}

/// libdevice's functions of bits. They are of 32 bits, and of 64 for wider integers.
static int64_t bits_value(OpCode code, int64_t a, int64_t b, DTypeCode dtype) {
    bool wide = dtype == DTYPE_INT64 || dtype == DTYPE_UINT64;
    uint64_t bits = wide ? (uint64_t)a : (uint32_t)a, reversed = 0;
    switch (code) {
    case OP_POPULATION: return __builtin_popcountll(bits);
    case OP_FIRST_BIT: return bits ? __builtin_ctzll(bits) + 1 : 0;
    case OP_LEADING_ZEROS: return bits ? __builtin_clzll(bits) - (wide ? 0 : 32) : wide ? 64 : 32;
    case OP_BIT_REVERSE:
        for (int i = 0; i < (wide ? 64 : 32); i++) reversed = reversed << 1 | ((bits >> i) & 1);
        return (int64_t)reversed;
    default: break;
    }
    int64_t x = (int64_t)((uint64_t)a << 40) >> 40, y = (int64_t)((uint64_t)b << 40) >> 40;
    return x * y;  // mul24
}

/// One lane. `*known` becomes false for ops without a meaning on integers.
static int64_t integer_value(Interp *interp, OpCode code, int64_t a, int64_t b, int64_t c,
                             DTypeCode dtype, bool weak, bool *known) {
    switch (code) {
    case OP_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case OP_FMA: return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
    case OP_FLOORDIV: return divide_integer(interp, a, b, dtype, weak, false);
    case OP_MOD: return divide_integer(interp, a, b, dtype, weak, true);
    case OP_POW: return power_integer(a, b);
    case OP_NEG: return (int64_t)(0 - (uint64_t)a);
    case OP_ABS: return less_integer(a, 0, dtype) ? (int64_t)(0 - (uint64_t)a) : a;
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_INVERT: return dtype == DTYPE_INT1 ? !a : ~a;
    case OP_SHL: return shift_integer(a, b, dtype, true);
    case OP_SHR: return shift_integer(a, b, dtype, false);
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return less_integer(a, b, dtype);
    case OP_GT: return less_integer(b, a, dtype);
    case OP_LE: return !less_integer(b, a, dtype);
    case OP_GE: return !less_integer(a, b, dtype);
    case OP_MINIMUM: return less_integer(b, a, dtype) ? b : a;
    case OP_MAXIMUM: return less_integer(a, b, dtype) ? b : a;
    case OP_CLAMP: return less_integer(a, b, dtype) ? b : less_integer(c, a, dtype) ? c : a;
    case OP_POPULATION:
    case OP_FIRST_BIT:
    case OP_LEADING_ZEROS:
    case OP_BIT_REVERSE:
    case OP_MULTIPLY_24: return bits_value(code, a, b, dtype);
    case OP_HALVING_ADD: return (a + b) >> 1;
    case OP_ROUNDED_HALVING_ADD: return (a + b + 1) >> 1;
    case OP_ABSOLUTE_DIFFERENCE: return (a < b ? b - a : a - b) + c;
    default: break;
    }
    *known = false;
    return 0;
}

static bool has_integer_meaning(Interp *interp, OpCode code) {
    bool known = true;
    integer_value(interp, code, 1, 1, 1, DTYPE_INT32, false, &known);
    return known;
}

/// Comparisons of tiles go the straight way, because masks and addresses are most of a kernel's integers.
static bool integer_fast(OpCode code, const Lanes *lanes, Tile *result) {
    if (lanes->count != 2) return false;
    const int64_t *a = lanes->tiles[0]->integer, *b = lanes->tiles[1]->integer;
    int64_t sa = lanes->tiles[0]->count > 1, sb = lanes->tiles[1]->count > 1, *r = result->integer;
#define FAST(expression)                                                                                               \
    for (int64_t i = 0; i < result->count; i++) {                                                                      \
        uint64_t x = (uint64_t)a[i * sa], y = (uint64_t)b[i * sb];                                                     \
        r[i] = (int64_t)(expression);                                                                                  \
    }                                                                                                                  \
    return true
    switch (code) {
    case OP_ADD: FAST(x + y);
    case OP_SUB: FAST(x - y);
    case OP_MUL: FAST(x * y);
    case OP_AND: FAST(x & y);
    case OP_OR: FAST(x | y);
    case OP_EQ: FAST(x == y);
    case OP_NE: FAST(x != y);
    default: return false;
    }
#undef FAST
}

static Tile *run_integers(Interp *interp, OpCode code, Tile *const *operands, int count,
                          DTypeCode dtype, DTypeCode result_dtype, TileKind result_kind) {
    Lanes lanes = lanes_of(interp, operands, count);
    lanes_fill(interp, &lanes, operands, dtype);
    Tile *result = tile_new(&interp->pool, result_kind, result_dtype, lanes.rank, lanes.dims);
    bool known = true;
    if (!integer_fast(code, &lanes, result)) {
        for (int64_t i = 0; i < result->count; i++) {
            int64_t at[3] = {0};
            for (int k = 0; k < count; k++)
                at[k] = lanes.tiles[k]->integer[lanes.tiles[k]->count > 1 ? i : 0];
            result->integer[i] =
                integer_value(interp, code, at[0], at[1], at[2], dtype, lanes.is_weak, &known);
        }
    }
    if (!known) interp_stop(interp, "%s cannot be executed on integers here", op_rows[code].id);
    if (result_kind == TILE_NUMBER && !(lanes.is_weak && lanes.rank == 0))
        for (int64_t i = 0; i < result->count; i++)
            result->integer[i] = wrap_integer(result->integer[i], result_dtype);
    lanes_end(interp, &lanes, result);
    if (result->is_weak &&
        result_dtype !=
            DTYPE_INT1) {  // a Python integer keeps its value and takes the type it needs
        Tile *weak = tile_weak_int(&interp->pool, result->integer[0]);
        tile_release(&interp->pool, result);
        result = weak;
    }
    return result;
}

static Tile *run_pointers(Interp *interp, OpCode code, Tile *const *operands) {
    Tile *pointer = operands[0]->kind == TILE_POINTER ? operands[0] : operands[1];
    bool both = operands[0]->kind == TILE_POINTER && operands[1]->kind == TILE_POINTER;
    if (op_is_comparison(code))
        return run_integers(interp, code, operands, 2, DTYPE_INT64, DTYPE_INT1, TILE_NUMBER);
    if (both || (code != OP_ADD && code != OP_SUB))
        interp_stop(interp, "%s on pointers", op_rows[code].id);
    Tile *offset = pointer == operands[0] ? operands[1] : operands[0];
    if (tile_is_float(offset)) interp_stop(interp, "a pointer plus a float");
    Tile *wide = cast_number(interp, offset, DTYPE_INT64);
    int64_t step = memory_step(interp->memory, pointer->dtype);
    if (step != 1) {
        Tile *bytes = tile_like(&interp->pool, wide, DTYPE_INT64);
        for (int64_t i = 0; i < wide->count; i++) bytes->integer[i] = wide->integer[i] * step;
        wide = interp_consume(interp, wide, bytes);
    }
    Tile *pair[2] = {operands[0] == pointer ? pointer : wide,
                     operands[0] == pointer ? wide : pointer};
    Tile *result = run_integers(interp, code, pair, 2, DTYPE_INT64, pointer->dtype, TILE_POINTER);
    return interp_consume(interp, wide, result);
}

/// The type an op computes in, and the type of its result.
static DTypeCode compute_dtype(OpCode code, Tile *const *operands, int count, DTypeCode *result) {
    const OpRow *row = &op_rows[code];
    DTypeCode dtype = operands[0]->dtype;
    bool weak = operands[0]->is_weak;
    if (count == 1 && weak && row->element == ELEMENT_DIVIDE) dtype = DTYPE_FLOAT32;
    for (int i = 1; i < count; i++) {
        Tile known = {.dtype = dtype, .is_weak = weak};
        dtype = promote_tiles(&known, operands[i], row->element == ELEMENT_DIVIDE);
        weak = weak && operands[i]->is_weak;
    }
    *result = dtype;
    switch (row->element) {
    case ELEMENT_BOOL: *result = DTYPE_INT1; break;
    case ELEMENT_INT32: *result = DTYPE_INT32; break;
    case ELEMENT_INT64: *result = DTYPE_INT64; break;
    case ELEMENT_FLOAT32: *result = DTYPE_FLOAT32; break;
    case ELEMENT_FLOAT64: *result = DTYPE_FLOAT64; break;
    case ELEMENT_DIVIDE:
    case ELEMENT_FLOAT:
        if (!is_float_code(dtype)) dtype = DTYPE_FLOAT32;
        *result = dtype;
        break;
    case ELEMENT_SAME:
        *result = count > 1 && !operands[0]->is_weak &&
                          is_float_code(dtype) == is_float_code(operands[0]->dtype)
                      ? operands[0]->dtype
                      : dtype;
        break;
    case ELEMENT_SPECIAL:
    case ELEMENT_PROMOTE:
    case ELEMENT_POINTEE:
    case ELEMENT_NONE: break;
    }
    return dtype;
}

static Tile *apply_tiles(Interp *interp, OpCode code, Tile *const *operands, int count) {
    for (int i = 0; i < count && count == 2; i++)
        if (operands[i]->kind == TILE_POINTER) return run_pointers(interp, code, operands);
    for (int i = 0; i < count; i++)
        if (operands[i]->kind != TILE_NUMBER)
            interp_stop(interp, "%s of %s", op_rows[code].id,
                        tile_describe(interp->arena, operands[i]));
    DTypeCode result, dtype = compute_dtype(code, operands, count, &result);
    bool integers = !is_float_code(dtype);
    if (integers && dtype == DTYPE_INT1 && result == DTYPE_INT1 && code == OP_NEG)
        result = dtype = DTYPE_INT32;
    if (integers && has_integer_meaning(interp, code))
        return run_integers(interp, code, operands, count, dtype, result, TILE_NUMBER);
    return run_floats(interp, code, operands, count, integers ? DTYPE_FLOAT64 : dtype, result);
}

Tile *apply_binary(Interp *interp, OpCode code, Tile *a, Tile *b) {
    Tile *operands[2] = {a, b};
    return apply_tiles(interp, code, operands, 2);
}

/// Constants that are no numbers compare by identity: `DTYPE == tl.float32`, `MODE == "relu"`, `x == None`.
static bool compare_constants(Interp *interp, const Op *op) {
    if (op->code != OP_EQ && op->code != OP_NE) return false;
    const Tile *a = interp_value(interp, op->operands[0]),
               *b = interp_value(interp, op->operands[1]);
    if (a->kind != TILE_CONSTANT && b->kind != TILE_CONSTANT && a->kind != TILE_NONE &&
        b->kind != TILE_NONE)
        return false;
    bool equal = a->kind == b->kind;
    if (equal && a->kind == TILE_CONSTANT) {
        const Constant *x = a->constant, *y = b->constant;
        equal = x->kind == y->kind && str_equal(x->string, y->string) &&
                dtype_equal(x->dtype, y->dtype) && x->is_pointer == y->is_pointer &&
                x->function == y->function;
    }
    Tile *result = tile_bool(&interp->pool, equal == (op->code == OP_EQ));
    result->is_weak = true;
    interp_result(interp, op, result);
    return true;
}

void run_elementwise(Interp *interp, const Op *op) {
    if (op->operand_count >= 2 && op->operands[1] && compare_constants(interp, op)) return;
    Tile *operands[3];
    int count = 0, option = op_parameter_index(op->code, STR("propagate_nan"));
    for (int i = 0; i < op->operand_count && count < 3; i++) {
        if (i == option) break;
        Tile *tile = operand_at(interp, op, i);
        if (!tile || tile->kind == TILE_CONSTANT) break;
        if (tile->kind == TILE_UNDEFINED)
            interp_stop(interp, "a variable that this path has not set");
        operands[count++] = tile;
    }
    if (count == 0) interp_stop(interp, "%s cannot be executed here", op_rows[op->code].id);
    Tile *result = apply_tiles(interp, op->code, operands, count);
    if (interp->coverage) thresholds_note(interp->coverage, op, operands, count, result);
    interp_result(interp, op, result);
}

void run_logical(Interp *interp, const Op *op) {
    Tile *a = interp_value(interp, op->operands[0]);
    if (op->code == OP_LOGICAL_NOT) {
        if (a->kind == TILE_NUMBER && a->count > 1) {
            Tile *zero = tile_weak_int(&interp->pool, 0);
            interp_result(interp, op,
                          interp_consume(interp, zero, apply_binary(interp, OP_EQ, a, zero)));
        } else {
            interp_result(interp, op, tile_bool(&interp->pool, !tile_truth(a)));
        }
        return;
    }
    Tile *b = interp_value(interp, op->operands[1]);
    if (a->kind == TILE_NUMBER && b->kind == TILE_NUMBER) {
        Tile *zero = tile_weak_int(&interp->pool, 0);
        Tile *left = apply_binary(interp, OP_NE, a, zero),
             *right = apply_binary(interp, OP_NE, b, zero);
        interp_result(
            interp, op,
            apply_binary(interp, op->code == OP_LOGICAL_AND ? OP_AND : OP_OR, left, right));
        tile_release(&interp->pool, left);
        tile_release(&interp->pool, right);
        tile_release(&interp->pool, zero);
        return;
    }
    bool x = tile_truth(a), y = tile_truth(b);
    interp_result(interp, op,
                  tile_bool(&interp->pool, op->code == OP_LOGICAL_AND ? x && y : x || y));
}

void run_is_none(Interp *interp, const Op *op) {
    interp_result(interp, op, tile_bool(&interp->pool, operand_at(interp, op, 0) == NULL));
}

void run_where(Interp *interp, const Op *op) {
    Tile *condition = operand_number(interp, op, 0), *x = operand_at(interp, op, 1),
         *y = operand_at(interp, op, 2);
    if (!x || !y || (x->kind == TILE_POINTER) != (y->kind == TILE_POINTER))
        interp_stop(interp, "where() of unlike operands");
    Tile *operands[3] = {condition, x, y};
    Lanes lanes = lanes_of(interp, operands, 3);
    DTypeCode dtype = x->kind == TILE_POINTER ? x->dtype : promote_tiles(x, y, false);
    Tile *parts[3] = {tile_broadcast(&interp->pool, condition, lanes.rank, lanes.dims)};
    for (int i = 1; i < 3; i++) {
        Tile *cast = x->kind == TILE_POINTER ? tile_retain(operands[i])
                                             : cast_number(interp, operands[i], dtype);
        parts[i] = interp_consume(interp, cast,
                                  tile_broadcast(&interp->pool, cast, lanes.rank, lanes.dims));
    }
    Tile *result = tile_new(&interp->pool, x->kind, dtype, lanes.rank, lanes.dims);
    bool tangents = parts[1]->tangent || parts[2]->tangent,
         poisons = parts[0]->poison || parts[1]->poison || parts[2]->poison;
    if (tangents) tile_need_tangent(&interp->pool, result);
    if (poisons) tile_need_poison(&interp->pool, result);
    for (int64_t i = 0; i < result->count; i++) {
        const Tile *from = parts[tile_number_at(parts[0], i) != 0 ? 1 : 2];
        if (result->number)
            result->number[i] = from->number[i];
        else
            result->integer[i] = from->integer[i];
        if (tangents) result->tangent[i] = from->tangent ? from->tangent[i] : 0;
        if (poisons)
            result->poison[i] =
                (parts[0]->poison && parts[0]->poison[i]) || (from->poison && from->poison[i]);
    }
    for (int i = 0; i < 3; i++) tile_release(&interp->pool, parts[i]);
    interp_result(interp, op, result);
}

// --- casts --------------------------------------------------------------------------------------------------------------

static Tile *cast_pointer(Interp *interp, Tile *source, const Constant *to) {
    if (to &&
        to->is_pointer) {  // an address under another element type, or an integer that holds one
        Tile *result = tile_reshape(&interp->pool, source, source->rank, source->dims);
        if (!result->integer) interp_stop(interp, "a float as an address");
        result->kind = TILE_POINTER;
        result->dtype = to->dtype.code;
        result->is_weak = false;
        return result;
    }
    DTypeCode dtype = to ? to->dtype.code : DTYPE_INT64;
    if (dtype != DTYPE_INT64 && dtype != DTYPE_UINT64)
        interp_stop(interp, "a pointer cast to %s", dtype_name(dtype));
    Tile *result = tile_reshape(&interp->pool, source, source->rank, source->dims);
    result->kind = TILE_NUMBER;
    result->dtype = dtype;
    return result;
}

static Tile *cast_to(Interp *interp, const Op *op, bool bits) {
    Tile *source = operand_at(interp, op, 0), *type = operand_named(interp, op, "dtype");
    if (!source) interp_stop(interp, "a cast of None");
    const Constant *constant = type && type->kind == TILE_CONSTANT ? type->constant : NULL;
    if (source->kind == TILE_POINTER ||
        (constant && constant->kind == CONSTANT_DTYPE && constant->is_pointer))
        return cast_pointer(interp, source, constant);
    if (source->kind != TILE_NUMBER)
        interp_stop(interp, "a cast of %s", tile_describe(interp->arena, source));
    DTypeCode dtype = operand_dtype(interp, op, "dtype", DTYPE_UNKNOWN);
    if (dtype == DTYPE_UNKNOWN) interp_stop(interp, "a cast to what is no element type");
    Tile *result;
    if (bits) {
        if (dtype_bits(dtype) != dtype_bits(source->dtype))
            interp_stop(interp, "a bitcast between unlike widths");
        result = tile_bitcast(&interp->pool, source, dtype);
    } else {
        result = cast_number(interp, source, dtype);
    }
    if (result->is_weak && result != source) result->is_weak = false;
    return result;
}

void run_cast(Interp *interp, const Op *op) {
    interp_result(interp, op, cast_to(interp, op, operand_flag(interp, op, "bitcast", false)));
}
void run_bitcast(Interp *interp, const Op *op) {
    interp_result(interp, op, cast_to(interp, op, true));
}

void run_umulhi(Interp *interp, const Op *op) {
    Tile *a = operand_number(interp, op, 0), *b = operand_number(interp, op, 1),
         *operands[2] = {a, b};
    Lanes lanes = lanes_of(interp, operands, 2);
    DTypeCode dtype = promote_tiles(a, b, false);
    if (is_float_code(dtype)) interp_stop(interp, "umulhi of floats");
    lanes_fill(interp, &lanes, operands, dtype);
    Tile *result = tile_new(&interp->pool, TILE_NUMBER, dtype, lanes.rank, lanes.dims);
    bool wide = dtype_bits(dtype) == 64;
    for (int64_t i = 0; i < result->count; i++) {
        uint64_t x = (uint64_t)lanes.tiles[0]->integer[lanes.tiles[0]->count > 1 ? i : 0];
        uint64_t y = (uint64_t)lanes.tiles[1]->integer[lanes.tiles[1]->count > 1 ? i : 0];
        if (wide) {
            __extension__ typedef unsigned __int128 Wide;
            result->integer[i] = (int64_t)(uint64_t)(((Wide)x * y) >> 64);
        } else {
            result->integer[i] =
                wrap_integer((int64_t)(((x & 0xffffffffu) * (y & 0xffffffffu)) >> 32), dtype);
        }
    }
    lanes_end(interp, &lanes, result);
    result->is_weak = false;
    interp_result(interp, op, result);
}
