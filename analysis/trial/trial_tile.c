// Elements as doubles: whole numbers of a launch are far below 2^53.
#include "analysis/trial/trial_tile.h"

#include <math.h>
#include <string.h>

double *trial_room(TrialPool *pool, TrialTile *tile) {
    tile->count = 1;
    for (int i = 0; i < tile->rank; i++) tile->count *= tile->dims[i];
    pool->steps_left -= tile->count + 1;
    if (pool->steps_left < 0) pool->is_cut = true;
    if (pool->is_cut || tile->count < 1) return NULL;
    double *data = ARENA_ARRAY(pool->arena, double, tile->count);
    tile->data = data;
    return data;
}

const TrialTile *trial_unknown(void) {
    static const TrialTile unknown = {.kind = TRIAL_UNKNOWN};
    return &unknown;
}

const TrialTile *trial_number(TrialPool *pool, double number) {
    TrialTile *tile = ARENA_NEW(pool->arena, TrialTile);
    tile->kind = TRIAL_NUMBER;
    double *data = trial_room(pool, tile);
    if (!data) return trial_unknown();
    *data = number;
    return tile;
}

const TrialTile *trial_constant(TrialPool *pool, const Constant *constant) {
    if (constant->kind == CONSTANT_TUPLE) {
        TrialTile *tile = ARENA_NEW(pool->arena, TrialTile);
        const TrialTile **items =
            ARENA_ARRAY(pool->arena, const TrialTile *, constant->item_count + 1);
        for (int i = 0; i < constant->item_count; i++)
            items[i] = trial_constant(pool, &constant->items[i]);
        *tile =
            (TrialTile){.kind = TRIAL_TUPLE, .items = items, .item_count = constant->item_count};
        return tile;
    }
    return constant_is_number(constant) ? trial_number(pool, constant_number(constant))
                                        : trial_unknown();
}

bool trial_int(const TrialTile *tile, int64_t *number) {
    if (!tile || tile->kind != TRIAL_NUMBER || tile->count != 1 || !tile->data ||
        fabs(tile->data[0]) > 1e15 || tile->data[0] != floor(tile->data[0]))
        return false;
    *number = (int64_t)tile->data[0];
    return true;
}

int trial_ints(const TrialTile *tile, int64_t *numbers, int most) {
    if (tile && tile->kind == TRIAL_NUMBER) return trial_int(tile, numbers) ? 1 : -1;
    if (!tile || tile->kind != TRIAL_TUPLE || tile->item_count > most) return -1;
    for (int i = 0; i < tile->item_count; i++)
        if (!trial_int(tile->items[i], &numbers[i])) return -1;
    return tile->item_count;
}

bool trial_common(const TrialTile *tile, int *rank, int64_t *dims) {
    if (tile->rank > *rank) {
        int more = tile->rank - *rank;
        for (int i = *rank - 1; i >= 0; i--) dims[i + more] = dims[i];
        for (int i = 0; i < more; i++) dims[i] = 1;
        *rank = tile->rank;
    }
    for (int i = 1; i <= tile->rank; i++) {
        int64_t own = tile->dims[tile->rank - i], *common = &dims[*rank - i];
        if (own != 1 && *common != 1 && own != *common) return false;
        if (*common == 1) *common = own;
    }
    return true;
}

const double *trial_spread(TrialPool *pool, const TrialTile *tile, int rank, const int64_t *dims) {
    if (!tile->data || tile->rank > rank) return NULL;
    int64_t count = 1, strides[TYPE_MAX_RANK] = {0}, index[TYPE_MAX_RANK] = {0}, stride = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    for (int i = 1; i <= tile->rank; i++) {
        int64_t own = tile->dims[tile->rank - i];
        if (own != 1 && own != dims[rank - i]) return NULL;
        strides[rank - i] = own == 1 ? 0 : stride;
        stride *= own;
    }
    if (count == tile->count) return tile->data;
    TrialTile spread = {.rank = rank};
    memcpy(spread.dims, dims, sizeof(int64_t) * (size_t)rank);
    double *data = trial_room(pool, &spread);
    int64_t at = 0;
    for (int64_t i = 0; data && i < count; i++) {
        data[i] = tile->data[at];
        for (int axis = rank - 1; axis >= 0; axis--) {
            at += strides[axis];
            if (++index[axis] < dims[axis]) break;
            at -= strides[axis] * dims[axis];
            index[axis] = 0;
        }
    }
    return data;
}

/* ---- element by element ---- */

static bool whole_value(OpCode code, double a, double b, double *value) {
    switch (code) {
    case OP_FLOORDIV: return b != 0 && (*value = trunc(a / b), true);
    case OP_MOD: return b != 0 && (*value = fmod(a, b), true);
    case OP_AND: *value = (double)((int64_t)a & (int64_t)b); return true;
    case OP_OR: *value = (double)((int64_t)a | (int64_t)b); return true;
    case OP_XOR: *value = (double)((int64_t)a ^ (int64_t)b); return true;
    case OP_SHL: return b >= 0 && b < 32 && (*value = ldexp(a, (int)b), true);
    case OP_SHR: return b >= 0 && b < 64 && (*value = floor(ldexp(a, -(int)b)), true);
    case OP_EQ: *value = a == b; return true;
    case OP_NE: *value = a != b; return true;
    case OP_LT: *value = a < b; return true;
    case OP_LE: *value = a <= b; return true;
    case OP_GT: *value = a > b; return true;
    case OP_GE: *value = a >= b; return true;
    case OP_LOGICAL_AND: *value = a != 0 && b != 0; return true;
    case OP_LOGICAL_OR: *value = a != 0 || b != 0; return true;
    case OP_LOGICAL_NOT: *value = a == 0; return true;
    default: return false;
    }
}

static bool element_value(const Op *op, double a, double b, double c, double *value) {
    if (op->code == OP_INVERT) {
        bool is_truth = op->operands[0]->type.element.code == DTYPE_INT1;
        *value = is_truth ? (double)(a == 0) : -a - 1;
        return true;
    }
    if (op->code == OP_DIV) return false;
    return (whole_value(op->code, a, b, value) || op_value(op->code, a, b, c, value)) &&
           isfinite(*value);
}

/// What is known although one operand is not: `and` with what never holds.
static const TrialTile *with_zeros(TrialPool *pool, const Op *op, const TrialTile *result,
                                   const TrialTile *const *operands) {
    if (!op_has(op->code, TRAIT_BOTH) && op->code != OP_MUL) return result;
    for (int i = 0; i < 2; i++) {
        const TrialTile *tile = operands[i];
        if (!tile || tile->kind != TRIAL_NUMBER || !tile->data) continue;
        bool any = false;
        for (int64_t k = 0; k < tile->count; k++) any |= tile->data[k] != 0;
        if (any) continue;
        TrialTile *zeros = ARENA_NEW(pool->arena, TrialTile);
        *zeros = *result;
        zeros->kind = TRIAL_NUMBER;
        return trial_room(pool, zeros) ? zeros : result;
    }
    return result;
}

const TrialTile *trial_elementwise(TrialPool *pool, const Op *op,
                                   const TrialTile *const *operands) {
    enum { OPERANDS = ELEMENTWISE_MOST_OPERANDS };
    TrialTile *result = ARENA_NEW(pool->arena, TrialTile);
    result->kind = TRIAL_NUMBER;
    const double *data[OPERANDS] = {NULL};
    int count = op->operand_count < OPERANDS ? op->operand_count : OPERANDS;
    bool is_known = true;
    for (int i = 0; i < count; i++) {
        const TrialTile *tile = operands[i];
        if (!tile) continue;
        if (tile->kind != TRIAL_NUMBER && tile->kind != TRIAL_POINTER) {
            is_known = false;
            continue;
        }
        if (!trial_common(tile, &result->rank, result->dims)) return trial_unknown();
        bool is_chosen = op->code == OP_WHERE && result->kind == TRIAL_POINTER;
        if (tile->kind == TRIAL_POINTER && result->kind == TRIAL_POINTER && !is_chosen)
            return trial_unknown();
        if (tile->kind == TRIAL_POINTER && is_chosen && tile->buffer != result->buffer)
            return trial_unknown();
        if (tile->kind == TRIAL_POINTER) {
            result->kind = TRIAL_POINTER;
            result->buffer = tile->buffer;
        }
    }
    // an operand that is not understood may be of any shape
    int rank = op->result_count ? op->results[0]->type.rank : 0;
    if (!is_known && result->kind != TRIAL_POINTER && rank > result->rank) return trial_unknown();
    for (int i = 0; i < count && is_known; i++) {
        if (!operands[i]) continue;
        data[i] = trial_spread(pool, operands[i], result->rank, result->dims);
        is_known = data[i] != NULL;
    }
    if (!is_known) return with_zeros(pool, op, result, operands);
    double *room = trial_room(pool, result);
    for (int64_t i = 0; room && i < result->count; i++)
        if (!element_value(op, data[0] ? data[0][i] : 0, data[1] ? data[1][i] : 0,
                           data[2] ? data[2][i] : 0, &room[i])) {
            result->data = NULL;
            return result;
        }
    return result;
}

/* ---- axes ---- */

const TrialTile *trial_reshaped(TrialPool *pool, const TrialTile *tile, int rank,
                                const int64_t *dims) {
    TrialTile *result = ARENA_NEW(pool->arena, TrialTile);
    *result = *tile;
    int64_t count = 1;
    result->rank = rank;
    for (int i = 0; i < rank; i++) count *= result->dims[i] = dims[i];
    return count == tile->count || !tile->data ? result : trial_unknown();
}

const TrialTile *trial_permuted(TrialPool *pool, const TrialTile *tile, const int *order) {
    TrialTile *result = ARENA_NEW(pool->arena, TrialTile);
    *result = *tile;
    int64_t from[TYPE_MAX_RANK], strides[TYPE_MAX_RANK], index[TYPE_MAX_RANK] = {0}, stride = 1;
    for (int i = tile->rank - 1; i >= 0; i--) from[i] = stride, stride *= tile->dims[i];
    for (int i = 0; i < tile->rank; i++) {
        result->dims[i] = tile->dims[order[i]];
        strides[i] = from[order[i]];
    }
    if (!tile->data) return result;
    double *data = trial_room(pool, result);
    int64_t at = 0;
    for (int64_t i = 0; data && i < result->count; i++) {
        data[i] = tile->data[at];
        for (int axis = tile->rank - 1; axis >= 0; axis--) {
            at += strides[axis];
            if (++index[axis] < result->dims[axis]) break;
            at -= strides[axis] * result->dims[axis];
            index[axis] = 0;
        }
    }
    return result;
}
