// An addition to a row of addresses that is broadcast over a tile in; one of the sums of the tile's columns out. A mask may leave
// lanes out along the axis that is summed: they add 0, and an element is touched only where one of its lanes is there.
#include "autodiff/atomics/spread_lanes.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

static bool is_one(const Poly *size) {
    int64_t number;
    return size && poly_is_constant(size, &number) && number == 1;
}

/// A tile of addresses that is broadcast along some of its axes alone.
typedef struct SpreadLanes {
    Value *rows;  // the addresses before
    bool axes[TYPE_MAX_RANK];
} SpreadLanes;

static bool find_spread(const Op *addition, SpreadLanes *spread) {
    const Op *op = addition->operands[0]->op;
    if (addition->code != OP_ATOMIC_ADD || !op || op->code != OP_BROADCAST_TO) return false;
    *spread = (SpreadLanes){.rows = op->operands[0]};
    const Type *from = &spread->rows->type, *to = &addition->operands[0]->type;
    const Type *value = &addition->operands[1]->type;
    bool any = false;
    if (from->rank != to->rank || value->rank != to->rank) return false;
    for (int i = 0; i < to->rank; i++) {
        if (!to->dims[i] || !value->dims[i] || !poly_equal(to->dims[i], value->dims[i]))
            return false;
        spread->axes[i] = is_one(from->dims[i]) && !is_one(to->dims[i]);
        any |= spread->axes[i];
    }
    return any;
}

static Value *both(Builder *b, Value *x, Value *y) {
    return x && y ? build_binary(b, OP_AND, x, y) : x ? x : y;
}

static bool goes_along(const Value *mask, const SpreadLanes *spread) {
    for (int i = 0; i < mask->type.rank; i++)
        if (spread->axes[i] && !is_one(mask->type.dims[i])) return true;
    return false;
}

/// A mask by its parts: those that tell lanes along the axes apart, and all others.
static void split_mask(Builder *b, Value *mask, const SpreadLanes *spread, Value **along,
                       Value **beside) {
    const Op *op = mask->op;
    if (op && op_has(op->code, TRAIT_BOTH)) {
        for (int i = 0; i < 2; i++) split_mask(b, op->operands[i], spread, along, beside);
        return;
    }
    Value **part = goes_along(mask, spread) ? along : beside;
    *part = both(b, *part, mask);
}

static Value *sum_along(Builder *b, Value *tile, const SpreadLanes *spread) {
    for (int i = 0; i < spread->rows->type.rank; i++)
        if (spread->axes[i] && !is_one(tile->type.dims[i]))
            tile = build_ternary(b, OP_SUM, tile, build_int(b, i), build_bool(b, true));
    return tile;
}

/// The elements of which a lane is there, or NULL: all.
static Value *build_mask(Builder *b, Value *mask, const SpreadLanes *spread) {
    Value *along = NULL, *beside = NULL;
    if (!mask) return NULL;
    split_mask(b, mask, spread, &along, &beside);
    if (!along) return beside;
    Value *lanes = build_binary(b, OP_CAST, along, build_dtype(b, dtype_of(DTYPE_INT32)));
    return both(b, build_binary(b, OP_GT, sum_along(b, lanes, spread), build_int(b, 0)), beside);
}

Op *spread_lanes_sum(Op *addition, Function *function) {
    SpreadLanes spread;
    Value *mask = access_mask(addition), *value = addition->operands[1];
    if (!find_spread(addition, &spread) || (mask && mask->type.rank != value->type.rank))
        return addition;
    Builder b = {.function = function,
                 .region = addition->parent,
                 .before = addition,
                 .range = addition->range};
    if (mask) value = build_ternary(&b, OP_WHERE, mask, value, build_float(&b, 0.0));
    value = sum_along(&b, value, &spread);
    value->name = addition->operands[1]->name;
    Value *operands[] = {spread.rows, value, build_mask(&b, mask, &spread)};
    Op *sum = op_append(&b, OP_ATOMIC_ADD, operands, 3, 0);
    sum->call = addition->call;
    op_remove(addition);
    return sum;
}
