// Reductions, scans and sorting along one axis; custom combine functions run their region on whole slices.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-runner/interp/interp.h"

static AxisView axis_view(Interp *interp, const Op *op, const Tile *source, bool keeps) {
    bool is_given = operand_named(interp, op, "axis") != NULL;
    int axis = is_given ? operand_axis(interp, op, "axis", source->rank, 0) : -1;
    return axis_view_of(source->rank, source->dims, axis, keeps);
}

static inline int64_t view_at(const AxisView *view, int64_t outer, int64_t at, int64_t inner) {
    return (outer * view->length + at) * view->inner + inner;
}

static void reduce_poison(Interp *interp, const AxisView *view, const Tile *source, Tile *result) {
    if (!source->poison) return;
    uint8_t *poison = tile_need_poison(&interp->pool, result);
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t at = 0; at < view->length; at++)
            for (int64_t i = 0; i < view->inner; i++)
                poison[o * view->inner + i] |= source->poison[view_at(view, o, at, i)];
}

static Tile *operand_axis_tile(Interp *interp, const Op *op) {
    Tile *source = operand_number(interp, op, 0);
    if (source->count == 0) interp_stop(interp, "%s of an empty tile", op_rows[op->code].id);
    return source;
}

// --- sums ---------------------------------------------------------------------------------------------------------------

static void sum_floats(const AxisView *view, const double *source, double *result) {
    memset(result, 0, sizeof(double) * (size_t)(view->outer * view->inner));
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t at = 0; at < view->length; at++)
            for (int64_t i = 0; i < view->inner; i++)
                result[o * view->inner + i] += source[view_at(view, o, at, i)];
}

/// As a GPU adds: halves of each row to each other, every sum in the row's own type.
static void sum_rounded(Interp *interp, const AxisView *view, const double *source, DTypeCode dtype,
                        double (*round)(double, DTypeCode), double *result) {
    double *row = pool_block(&interp->pool, sizeof(double) * (size_t)view->length);
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t i = 0; i < view->inner; i++) {
            for (int64_t at = 0; at < view->length; at++) row[at] = source[view_at(view, o, at, i)];
            for (int64_t rest = view->length; rest > 1; rest -= rest / 2)
                for (int64_t at = 0; at < rest / 2; at++)
                    row[at] = round(row[at] + row[at + rest - rest / 2], dtype);
            result[o * view->inner + i] = row[0];
        }
    pool_free(&interp->pool, row, sizeof(double) * (size_t)view->length);
}

void run_reduce_sum(Interp *interp, const Op *op) {
    Tile *operand = operand_axis_tile(interp, op);
    DTypeCode dtype = op->code == OP_SUM
                          ? operand_dtype(interp, op, "dtype", dtype_summed(operand->dtype, true))
                          : operand->dtype;
    Tile *source = cast_number(interp, operand, dtype);
    AxisView view = axis_view(interp, op, source, operand_flag(interp, op, "keep_dims", false));
    Tile *result = tile_new(&interp->pool, TILE_NUMBER, dtype, view.rank, view.dims);
    if (source->number) {
        double *tangent = source->tangent ? tile_need_tangent(&interp->pool, result) : NULL;
        if (interp->rounds) {
            sum_rounded(interp, &view, source->number, dtype, round_float, result->number);
            if (tangent)
                sum_rounded(interp, &view, source->tangent, dtype, round_precision, tangent);
        } else {
            sum_floats(&view, source->number, result->number);
            if (tangent) sum_floats(&view, source->tangent, tangent);
        }
    } else {
        memset(result->integer, 0, sizeof(int64_t) * (size_t)result->count);
        for (int64_t o = 0; o < view.outer; o++)
            for (int64_t at = 0; at < view.length; at++)
                for (int64_t i = 0; i < view.inner; i++) {
                    int64_t *sum = &result->integer[o * view.inner + i],
                            value = source->integer[view_at(&view, o, at, i)];
                    if (op->code == OP_XOR_SUM)
                        *sum ^= value;
                    else if (op->code == OP_REDUCE_OR)
                        *sum |= value;
                    else
                        *sum = wrap_integer((int64_t)((uint64_t)*sum + (uint64_t)value), dtype);
                }
    }
    reduce_poison(interp, &view, source, result);
    interp_result(interp, op, interp_consume(interp, source, result));
}

// --- extremes -----------------------------------------------------------------------------------------------------------

static bool is_better(const Tile *tile, int64_t a, int64_t b, bool largest) {
    if (tile->number) {
        if (isnan(tile->number[b])) return !isnan(tile->number[a]);
        return largest ? tile->number[a] > tile->number[b] : tile->number[a] < tile->number[b];
    }
    if (tile->dtype == DTYPE_UINT64) {
        uint64_t x = (uint64_t)tile->integer[a], y = (uint64_t)tile->integer[b];
        return largest ? x > y : x < y;
    }
    return largest ? tile->integer[a] > tile->integer[b] : tile->integer[a] < tile->integer[b];
}

void run_reduce_extreme(Interp *interp, const Op *op) {
    bool largest = op->code == OP_MAX || op->code == OP_ARGMAX,
         only_index = op->code == OP_ARGMAX || op->code == OP_ARGMIN;
    Tile *operand = operand_axis_tile(interp, op),
         *source = cast_number(interp, operand, dtype_summed(operand->dtype, false));
    AxisView view = axis_view(interp, op, source, operand_flag(interp, op, "keep_dims", false));
    int64_t count = view.outer * view.inner,
            *best = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    Tile *index = tile_new(&interp->pool, TILE_NUMBER, DTYPE_INT32, view.rank, view.dims);
    for (int64_t o = 0; o < view.outer; o++)
        for (int64_t i = 0; i < view.inner; i++) {
            int64_t where = 0;
            for (int64_t at = 1; at < view.length; at++)
                if (is_better(source, view_at(&view, o, at, i), view_at(&view, o, where, i),
                              largest))
                    where = at;
            best[o * view.inner + i] = view_at(&view, o, where, i);
            index->integer[o * view.inner + i] = where;
        }
    Tile *value = tile_take(&interp->pool, source, view.rank, view.dims, best);
    if (interp->options.holds_extremes && value->tangent)
        memset(value->tangent, 0, sizeof(double) * (size_t)value->count);
    reduce_poison(interp, &view, source, value);
    pool_free(&interp->pool, best, sizeof(int64_t) * (size_t)count);
    tile_release(&interp->pool, source);
    if (only_index) {
        interp_result(interp, op, interp_consume(interp, value, index));
    } else if (operand_flag(interp, op, "return_indices", false)) {
        Tile *both[2] = {value, index};
        interp_results(interp, op, both, 2);
    } else {
        interp_result(interp, op, interp_consume(interp, index, value));
    }
}

// --- custom combine functions -------------------------------------------------------------------------------------------

/// The tiles that are reduced together (one, or the items of a tuple).
static int combined_tiles(Interp *interp, const Op *op, Tile **tiles) {
    Tile *input = operand_at(interp, op, 0);
    if (!input) interp_stop(interp, "%s of None", op_rows[op->code].id);
    int count = input->kind == TILE_TUPLE ? input->item_count : 1;
    if (count < 1 || count > COMBINE_MOST_VALUES)
        interp_stop(interp, "%s of %d tiles, which are 1 to %d", op_rows[op->code].id, count,
                    COMBINE_MOST_VALUES);
    for (int i = 0; i < count; i++) tiles[i] = input->kind == TILE_TUPLE ? input->items[i] : input;
    for (int i = 0; i < count; i++)
        if (tiles[i]->kind != TILE_NUMBER || tiles[i]->count != tiles[0]->count)
            interp_stop(interp, "tiles of unlike shapes");
    return count;
}

/// Slice `at` along the axis, as a tile of [outer * inner].
static Tile *slice_of(Interp *interp, const AxisView *view, const Tile *source, int64_t at) {
    int64_t count = view->outer * view->inner,
            *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t i = 0; i < view->inner; i++)
            indices[o * view->inner + i] = view_at(view, o, at, i);
    Tile *slice = tile_take(&interp->pool, source, 1, &count, indices);
    pool_free(&interp->pool, indices, sizeof(int64_t) * (size_t)count);
    return slice;
}

/// accumulated = combine(accumulated, next), slice by slice; consumes the references of both.
static void combine(Interp *interp, const Op *op, Tile **accumulated, Tile **next, int count) {
    if (op->region_count < 1 || op->regions[0]->argument_count != 2 * count)
        interp_stop(interp, "the combine function does not take %d values", 2 * count);
    const Region *region = op->regions[0];
    for (int i = 0; i < count; i++) {
        interp_bind(interp, region->arguments[i], accumulated[i]);
        interp_bind(interp, region->arguments[count + i], next[i]);
    }
    const Op *yield = interp_region(interp, region);
    interp->op = op;
    if (!yield) interp_stop(interp, "the combine function returns nothing");
    Tile *only =
        yield->operand_count == 1 && count > 1 ? interp_value(interp, yield->operands[0]) : NULL;
    if (!only && yield->operand_count != count)
        interp_stop(interp, "the combine function returns %d values, not %d", yield->operand_count,
                    count);
    for (int i = 0; i < count; i++) {
        if (only && (only->kind != TILE_TUPLE || only->item_count != count))
            interp_stop(interp, "the combine function returns too few values");
        Tile *item = only ? only->items[i] : interp_value(interp, yield->operands[i]);
        int64_t length =
            region->arguments[i] ? interp_value(interp, region->arguments[i])->count : 1;
        accumulated[i] = tile_broadcast(&interp->pool, item, 1, &length);
    }
}

void run_reduce_custom(Interp *interp, const Op *op) {
    Tile *tiles[COMBINE_MOST_VALUES], *accumulated[COMBINE_MOST_VALUES], *next[COMBINE_MOST_VALUES];
    int count = combined_tiles(interp, op, tiles);
    AxisView view = axis_view(interp, op, tiles[0], operand_flag(interp, op, "keep_dims", false));
    for (int i = 0; i < count; i++) accumulated[i] = slice_of(interp, &view, tiles[i], 0);
    for (int64_t at = 1; at < view.length; at++) {
        for (int i = 0; i < count; i++) next[i] = slice_of(interp, &view, tiles[i], at);
        combine(interp, op, accumulated, next, count);
    }
    for (int i = 0; i < count; i++) {
        Tile *flat = accumulated[i];
        accumulated[i] =
            interp_consume(interp, flat, tile_reshape(&interp->pool, flat, view.rank, view.dims));
    }
    Tile *input = operand_at(interp, op, 0);
    if (input->kind == TILE_TUPLE)
        interp_results(interp, op, accumulated, count);
    else
        interp_result(interp, op, accumulated[0]);
}

static void slice_put(Interp *interp, const AxisView *view, Tile *into, const Tile *slice,
                      int64_t at) {
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t i = 0; i < view->inner; i++) {
            int64_t to = view_at(view, o, at, i), from = o * view->inner + i;
            if (into->number)
                into->number[to] =
                    slice->number ? slice->number[from] : (double)slice->integer[from];
            else
                into->integer[to] = tile_integer_at(slice, from);
            if (slice->tangent && into->number)
                tile_need_tangent(&interp->pool, into)[to] = slice->tangent[from];
            if (slice->poison) tile_need_poison(&interp->pool, into)[to] = slice->poison[from];
        }
}

void run_scan_custom(Interp *interp, const Op *op) {
    Tile *tiles[COMBINE_MOST_VALUES], *accumulated[COMBINE_MOST_VALUES], *next[COMBINE_MOST_VALUES],
        *results[COMBINE_MOST_VALUES];
    int count = combined_tiles(interp, op, tiles);
    AxisView view = axis_view(interp, op, tiles[0], false);
    bool reverse = operand_flag(interp, op, "reverse", false);
    for (int64_t step = 0; step < view.length; step++) {
        int64_t at = reverse ? view.length - 1 - step : step;
        for (int i = 0; i < count; i++) {
            next[i] = slice_of(interp, &view, tiles[i], at);
            if (step == 0) accumulated[i] = next[i];
        }
        if (step > 0) combine(interp, op, accumulated, next, count);
        for (int i = 0; i < count; i++) {
            if (step == 0)
                results[i] = tile_new(&interp->pool, TILE_NUMBER, accumulated[i]->dtype,
                                      tiles[i]->rank, tiles[i]->dims);
            slice_put(interp, &view, results[i], accumulated[i], at);
        }
    }
    for (int i = 0; i < count; i++) tile_release(&interp->pool, accumulated[i]);
    Tile *input = operand_at(interp, op, 0);
    if (input->kind == TILE_TUPLE)
        interp_results(interp, op, results, count);
    else
        interp_result(interp, op, results[0]);
}

/// cumsum and cumprod.
void run_scan(Interp *interp, const Op *op) {
    Tile *operand = operand_axis_tile(interp, op);
    bool product = op->code == OP_CUMPROD, reverse = operand_flag(interp, op, "reverse", false);
    DTypeCode dtype = operand_dtype(interp, op, "dtype", dtype_summed(operand->dtype, true));
    Tile *source = cast_number(interp, operand, dtype),
         *result = tile_like(&interp->pool, source, dtype);
    if (source->rank == 0) interp_stop(interp, "a scan of a scalar");
    AxisView view = axis_view(interp, op, source, true);
    if (!operand_named(interp, op, "axis")) {  // Triton's default is axis 0
        view.length = source->dims[0];
        view.inner = source->count / view.length;
    }
    double *tangent = source->tangent ? tile_need_tangent(&interp->pool, result) : NULL;
    uint8_t *poison = source->poison ? tile_need_poison(&interp->pool, result) : NULL;
    for (int64_t o = 0; o < view.outer; o++)
        for (int64_t step = 0; step < view.length; step++)
            for (int64_t i = 0; i < view.inner; i++) {
                int64_t at = view_at(&view, o, reverse ? view.length - 1 - step : step, i);
                int64_t before = at + (reverse ? view.inner : -view.inner);
                bool first = step == 0;
                if (poison) poison[at] = source->poison[at] || (!first && poison[before]);
                if (!source->number) {
                    uint64_t x = (uint64_t)source->integer[at],
                             y = first ? product : (uint64_t)result->integer[before];
                    result->integer[at] = wrap_integer((int64_t)(product ? x * y : x + y), dtype);
                    continue;
                }
                double x = source->number[at], y = first ? product : result->number[before];
                if (tangent) {
                    double tx = source->tangent[at], ty = first ? 0 : tangent[before];
                    tangent[at] = product ? tx * y + x * ty : tx + ty;
                }
                result->number[at] = product ? x * y : x + y;
                if (!interp->rounds) continue;
                result->number[at] = round_float(result->number[at], dtype);
                if (tangent) tangent[at] = round_precision(tangent[at], dtype);
            }
    interp_result(interp, op, interp_consume(interp, source, result));
}

// --- sorting ------------------------------------------------------------------------------------------------------------

typedef struct SortKey {
    double number;
    int64_t integer;
    int64_t index;
    bool is_float, descending;
} SortKey;

static int compare_keys(const void *left, const void *right) {
    const SortKey *a = left, *b = right;
    int order = a->is_float ? (a->number > b->number) - (a->number < b->number)
                            : (a->integer > b->integer) - (a->integer < b->integer);
    if (order != 0) return a->descending ? -order : order;
    return (a->index > b->index) - (a->index < b->index);
}

/// The `keep` first elements of each row along the last axis, in order.
static void sort_rows(Interp *interp, const Op *op, bool descending, int64_t keep) {
    Tile *source = operand_axis_tile(interp, op);
    if (source->rank == 0) interp_stop(interp, "a sort of a scalar");
    int64_t length = source->dims[source->rank - 1], rows = source->count / length;
    if (operand_axis(interp, op, "dim", source->rank, source->rank - 1) != source->rank - 1)
        interp_stop(interp, "a sort along another axis than the last");
    if (keep <= 0 || keep > length)
        interp_stop(interp, "the first %lld of %lld elements", (long long)keep, (long long)length);
    SortKey *keys = pool_block(&interp->pool, sizeof(SortKey) * (size_t)length);
    int64_t *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)(rows * keep)),
            dims[TYPE_MAX_RANK];
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < length; i++) {
            int64_t at = row * length + i;
            keys[i] =
                (SortKey){tile_number_at(source, at), source->integer ? source->integer[at] : 0, at,
                          source->number != NULL, descending};
        }
        qsort(keys, (size_t)length, sizeof *keys, compare_keys);
        for (int64_t i = 0; i < keep; i++) indices[row * keep + i] = keys[i].index;
    }
    memcpy(dims, source->dims, sizeof dims);
    dims[source->rank - 1] = keep;
    interp_result(interp, op, tile_take(&interp->pool, source, source->rank, dims, indices));
    pool_free(&interp->pool, keys, sizeof(SortKey) * (size_t)length);
    pool_free(&interp->pool, indices, sizeof(int64_t) * (size_t)(rows * keep));
}

void run_sort(Interp *interp, const Op *op) {
    Tile *source = operand_axis_tile(interp, op);
    sort_rows(interp, op, operand_flag(interp, op, "descending", false),
              source->rank ? source->dims[source->rank - 1] : 1);
}

void run_topk(Interp *interp, const Op *op) {
    sort_rows(interp, op, operand_flag(interp, op, "descending", true),
              operand_int(interp, op, "k", 1));
}

void run_histogram(Interp *interp, const Op *op) {
    Tile *source = operand_number(interp, op, 0), *mask = operand_named(interp, op, "mask");
    int64_t bins = operand_int(interp, op, "num_bins", 0);
    if (bins <= 0 || tile_is_float(source))
        interp_stop(interp, "a histogram needs integers and a number of bins");
    Tile *result = tile_new(&interp->pool, TILE_NUMBER, DTYPE_INT32, 1, &bins);
    memset(result->integer, 0, sizeof(int64_t) * (size_t)bins);
    for (int64_t i = 0; i < source->count; i++) {
        bool on = !mask || tile_integer_at(mask, mask->count > 1 ? i : 0) != 0;
        if (on && source->integer[i] >= 0 && source->integer[i] < bins)
            result->integer[source->integer[i]]++;
    }
    interp_result(interp, op, result);
}
