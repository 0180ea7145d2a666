// Making tiles and moving their elements: every movement is a list of source indices, so tangents and poison follow.
#include <string.h>

#include "gpu-runner/interp/interp.h"
#include "gpu-runner/interp/interp_elementwise.h"

/// Dims given as one tuple, or one by one from operand `first` on.
static int operand_dims(Interp *interp, const Op *op, int first, int64_t *dims) {
    int count = 0;
    for (int i = first; i < op->operand_count; i++) {
        Tile *tile = operand_at(interp, op, i);
        if (!tile || (i > first && tile->kind == TILE_NUMBER && tile->dtype == DTYPE_INT1))
            break;  // can_reorder
        int64_t some[TYPE_MAX_RANK];
        int found = tile_integers(tile, some, TYPE_MAX_RANK);
        if (found < 0) break;
        if (count + found > TYPE_MAX_RANK)
            interp_stop(interp, "a shape of more than %d dims", TYPE_MAX_RANK);
        memcpy(dims + count, some, sizeof(int64_t) * (size_t)found);
        count += found;
        if (tile->kind == TILE_TUPLE) break;
    }
    return count;
}

static void check_dims(Interp *interp, const int64_t *dims, int rank) {
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0) interp_stop(interp, "a dim of %lld", (long long)dims[i]);
}

static Tile *operand_tile(Interp *interp, const Op *op, int index) {
    Tile *tile = operand_at(interp, op, index);
    if (tile && (tile->kind == TILE_NUMBER || tile->kind == TILE_POINTER)) return tile;
    interp_stop(interp, "operand %d of %s is no tile", index + 1, op_rows[op->code].id);
}

void run_arange(Interp *interp, const Op *op) {
    int64_t start = operand_int(interp, op, "start", 0), end = operand_int(interp, op, "end", 0),
            count;
    if (__builtin_sub_overflow(end, start, &count)) count = INT64_MAX;
    if (count <= 0)
        interp_stop(interp, "arange(%lld, %lld) is empty", (long long)start, (long long)end);
    Tile *tile = tile_new(&interp->pool, TILE_NUMBER, DTYPE_INT32, 1, &count);
    for (int64_t i = 0; i < count; i++) tile->integer[i] = start + i;
    interp_result(interp, op, tile);
}

void run_full(Interp *interp, const Op *op) {
    int64_t dims[TYPE_MAX_RANK];
    int rank = operand_dims(interp, op, 0, dims);
    Tile *shape = operand_at(interp, op, 0);
    if (!shape) interp_stop(interp, "full() without a shape");
    if (shape->kind != TILE_TUPLE) rank = 1;
    check_dims(interp, dims, rank);
    Tile *value = operand_named(interp, op, "value");
    if (!value || value->kind != TILE_NUMBER) interp_stop(interp, "full() of what is no number");
    Tile *cast = cast_number(interp, value, operand_dtype(interp, op, "dtype", value->dtype));
    Tile *full = tile_broadcast(&interp->pool, cast, rank, dims);
    if (full == value)
        full = interp_consume(interp, full, tile_reshape(&interp->pool, value, rank, dims));
    full->is_weak = false;
    interp_result(interp, op, interp_consume(interp, cast, full));
}

static Tile *permuted(Interp *interp, const Tile *source, const int *order) {
    int rank = source->rank;
    int64_t dims[TYPE_MAX_RANK], strides[TYPE_MAX_RANK], stride = 1, source_strides[TYPE_MAX_RANK];
    for (int i = rank - 1; i >= 0; i--) source_strides[i] = stride, stride *= source->dims[i];
    for (int i = 0; i < rank; i++)
        dims[i] = source->dims[order[i]], strides[i] = source_strides[order[i]];
    return tile_take_strided(&interp->pool, source, rank, dims, strides);
}

void run_transpose(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0);
    int64_t dims[TYPE_MAX_RANK];
    int given = operand_dims(interp, op, 1, dims), order[TYPE_MAX_RANK], rank = source->rank;
    if (given == 0) {
        if (rank < 2) interp_stop(interp, "a transpose of a tile of rank %d", rank);
        for (int i = 0; i < rank; i++) order[i] = i;
        order[rank - 1] = rank - 2;
        order[rank - 2] = rank - 1;
    } else {
        unsigned seen = 0;
        if (given != rank) interp_stop(interp, "%d axes for a tile of rank %d", given, rank);
        for (int i = 0; i < rank; i++) {
            order[i] = (int)(dims[i] < 0 ? dims[i] + rank : dims[i]);
            if (order[i] < 0 || order[i] >= rank || (seen >> order[i]) & 1)
                interp_stop(interp, "the axes are no permutation");
            seen |= 1u << order[i];
        }
    }
    interp_result(interp, op, permuted(interp, source, order));
}

void run_reshape(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0);
    int64_t dims[TYPE_MAX_RANK], known = 1;
    int rank = 0, open = -1;
    if (op->code == OP_SQUEEZE) {
        int axis = operand_axis(interp, op, "dim", source->rank, 0);
        for (int i = 0; i < source->rank; i++)
            if (i != axis) dims[rank++] = source->dims[i];
    } else {
        rank = operand_dims(interp, op, 1, dims);
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] == -1)
            open = i;
        else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known))
            interp_stop(interp, "a reshape to a size of %lld", (long long)dims[i]);
    }
    if (open >= 0 && known > 0) dims[open] = source->count / known, known *= dims[open];
    if (known != source->count)
        interp_stop(interp, "a reshape of %lld elements to %lld", (long long)source->count,
                    (long long)known);
    check_dims(interp, dims, rank);
    interp_result(interp, op, tile_reshape(&interp->pool, source, rank, dims));
}

void run_expand_dims(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0);
    int64_t axes[TYPE_MAX_RANK];
    int count = tile_integers(operand_named(interp, op, "axis"), axes, TYPE_MAX_RANK),
        rank = source->rank;
    if (count < 0 || rank + count > TYPE_MAX_RANK)
        interp_stop(interp, "expand_dims() without an axis");
    bool is_new[TYPE_MAX_RANK] = {false};
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank + count : axes[i];
        if (axis < 0 || axis >= rank + count)
            interp_stop(interp, "axis %lld of a tile of rank %d", (long long)axes[i], rank);
        is_new[axis] = true;
    }
    int64_t dims[TYPE_MAX_RANK];
    for (int i = 0, from = 0; i < rank + count; i++)
        dims[i] = is_new[i] || from >= rank ? 1 : source->dims[from++];
    Tile *result = tile_reshape(&interp->pool, source, rank + count, dims);
    interp_result(interp, op, result);
}

void run_broadcast_to(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0);
    int64_t dims[TYPE_MAX_RANK];
    if (op->code == OP_BROADCAST) {
        Tile *other = operand_tile(interp, op, 1);
        int rank = source->rank;
        memcpy(dims, source->dims, sizeof dims);
        if (!shapes_broadcast(&rank, dims, other))
            interp_stop(interp, "the shapes do not broadcast");
        Tile *both[2] = {tile_broadcast(&interp->pool, source, rank, dims),
                         tile_broadcast(&interp->pool, other, rank, dims)};
        interp_results(interp, op, both, 2);
        return;
    }
    int rank = operand_dims(interp, op, 1, dims), common = rank;
    int64_t shape[TYPE_MAX_RANK];
    memcpy(shape, dims, sizeof shape);
    if (!shapes_broadcast(&common, shape, source) || common != rank ||
        memcmp(shape, dims, sizeof(int64_t) * (size_t)rank) != 0)
        interp_stop(interp, "%s does not broadcast to that shape",
                    tile_describe(interp->arena, source));
    interp_result(interp, op, tile_broadcast(&interp->pool, source, rank, dims));
}

/// Two tiles of one shape as one, `b` behind `a`; picks from it by index lists.
static Tile *appended(Interp *interp, const Op *op) {
    Tile *a = operand_tile(interp, op, 0), *b = operand_tile(interp, op, 1);
    Tile *left = a->kind == TILE_NUMBER ? cast_number(interp, a, promote_tiles(a, b, false))
                                        : tile_retain(a);
    Tile *right = b->kind == TILE_NUMBER ? cast_number(interp, b, promote_tiles(a, b, false))
                                         : tile_retain(b);
    if (left->kind != right->kind)
        interp_stop(interp, "%s of unlike operands", op_rows[op->code].id);
    int64_t count = left->count + right->count;
    Tile *both = tile_new(&interp->pool, left->kind, left->dtype, 1, &count);
    bool tangents = left->tangent || right->tangent, poisons = left->poison || right->poison;
    if (tangents) tile_need_tangent(&interp->pool, both);
    if (poisons) tile_need_poison(&interp->pool, both);
    for (int64_t i = 0; i < count; i++) {
        const Tile *from = i < left->count ? left : right;
        int64_t at = i < left->count ? i : i - left->count;
        if (both->number)
            both->number[i] = from->number[at];
        else
            both->integer[i] = from->integer[at];
        if (tangents) both->tangent[i] = from->tangent ? from->tangent[at] : 0;
        if (poisons) both->poison[i] = from->poison ? from->poison[at] : 0;
    }
    tile_release(&interp->pool, left);
    tile_release(&interp->pool, right);
    return both;
}

static void take_result(Interp *interp, const Op *op, Tile *from, int rank, const int64_t *dims,
                        int64_t *indices, int64_t count) {
    interp_result(
        interp, op,
        interp_consume(interp, from, tile_take(&interp->pool, from, rank, dims, indices)));
    pool_free(&interp->pool, indices, sizeof(int64_t) * (size_t)count);
}

static void same_shape(Interp *interp, const Op *op, bool except_first) {
    Tile *a = operand_tile(interp, op, 0), *b = operand_tile(interp, op, 1);
    bool same = a->rank == b->rank;
    for (int i = except_first; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    if (!same) interp_stop(interp, "%s of tiles of unlike shapes", op_rows[op->code].id);
}

void run_join(Interp *interp, const Op *op) {
    same_shape(interp, op, false);
    Tile *a = operand_tile(interp, op, 0), *both = appended(interp, op);
    int64_t dims[TYPE_MAX_RANK + 1],
        count = both->count, *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    if (a->rank == TYPE_MAX_RANK) interp_stop(interp, "a tile of more than %d dims", TYPE_MAX_RANK);
    memcpy(dims, a->dims, sizeof a->dims);
    dims[a->rank] = 2;
    for (int64_t i = 0; i < count; i++) indices[i] = i / 2 + (i % 2) * (count / 2);
    take_result(interp, op, both, a->rank + 1, dims, indices, count);
}

void run_interleave(Interp *interp, const Op *op) {
    same_shape(interp, op, false);
    Tile *a = operand_tile(interp, op, 0), *both = appended(interp, op);
    int64_t dims[TYPE_MAX_RANK],
        count = both->count, *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    int rank = a->rank ? a->rank : 1;
    memcpy(dims, a->dims, sizeof dims);
    dims[rank - 1] = a->rank ? 2 * a->dims[rank - 1] : 2;
    for (int64_t i = 0; i < count; i++) indices[i] = i / 2 + (i % 2) * (count / 2);
    take_result(interp, op, both, rank, dims, indices, count);
}

void run_cat(Interp *interp, const Op *op) {
    Tile *a = operand_tile(interp, op, 0), *b = operand_tile(interp, op, 1);
    int axis = operand_axis(interp, op, "dim", a->rank, 0);
    if (a->rank != b->rank) interp_stop(interp, "cat of tiles of unlike ranks");
    int64_t inner = 1, outer = 1, dims[TYPE_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        if (i < axis) outer *= a->dims[i];
        if (i > axis) inner *= a->dims[i];
        if (i != axis && a->dims[i] != b->dims[i])
            interp_stop(interp, "cat of tiles of unlike shapes");
        dims[i] = a->dims[i] + (i == axis ? b->dims[i] : 0);
    }
    Tile *both = appended(interp, op);
    int64_t count = both->count,
            *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count), next = 0;
    int64_t left = a->dims[axis] * inner, right = b->dims[axis] * inner;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < left; i++) indices[next++] = o * left + i;
        for (int64_t i = 0; i < right; i++) indices[next++] = a->count + o * right + i;
    }
    take_result(interp, op, both, a->rank, dims, indices, count);
}

void run_split(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0), *halves[2];
    if (source->rank < 1 || source->dims[source->rank - 1] != 2)
        interp_stop(interp, "split() needs a last axis of length 2");
    int64_t count = source->count / 2,
            *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    for (int half = 0; half < 2; half++) {
        for (int64_t i = 0; i < count; i++) indices[i] = 2 * i + half;
        halves[half] = tile_take(&interp->pool, source, source->rank - 1, source->dims, indices);
    }
    pool_free(&interp->pool, indices, sizeof(int64_t) * (size_t)count);
    interp_results(interp, op, halves, 2);
}

void run_flip(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0);
    int axis = operand_axis(interp, op, "dim", source->rank, source->rank - 1);
    int64_t inner = 1, length = source->dims[axis], count = source->count;
    for (int i = axis + 1; i < source->rank; i++) inner *= source->dims[i];
    int64_t *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i / inner % length;
        indices[i] = i + (length - 1 - 2 * at) * inner;
    }
    take_result(interp, op, tile_retain(source), source->rank, source->dims, indices, count);
}

void run_gather(Interp *interp, const Op *op) {
    Tile *source = operand_tile(interp, op, 0), *index = operand_number(interp, op, 1);
    int axis = operand_axis(interp, op, "axis", source->rank, 0);
    if (index->rank != source->rank || tile_is_float(index))
        interp_stop(interp, "gather() needs integer indices of the source's rank");
    int64_t count = index->count,
            *indices = pool_block(&interp->pool, sizeof(int64_t) * (size_t)count);
    int64_t strides[TYPE_MAX_RANK], stride = 1;
    for (int i = source->rank - 1; i >= 0; i--) strides[i] = stride, stride *= source->dims[i];
    int64_t at[TYPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0, picked = index->integer[i];
        if (picked < 0 || picked >= source->dims[axis])
            interp_stop(interp, "gather() at index %lld of %lld", (long long)picked,
                        (long long)source->dims[axis]);
        for (int d = 0; d < index->rank; d++) from += strides[d] * (d == axis ? picked : at[d]);
        if (from >= source->count) interp_stop(interp, "gather() outside the source");
        indices[i] = from;
        for (int d = index->rank - 1; d >= 0 && ++at[d] == index->dims[d]; d--) at[d] = 0;
    }
    take_result(interp, op, tile_retain(source), index->rank, index->dims, indices, count);
}
