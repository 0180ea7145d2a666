// Making tiles and moving their elements: each movement is the index of the element that comes to `i`.
#include "gpu-runner/staging/chains.h"

static int operand_dims(Staging *staging, const Op *op, int first, int64_t *dims) {
    int count = 0;
    for (int i = first; i < op->operand_count; i++) {
        const Staged *staged = staged_operand(staging, op, i);
        if (!staged || (i > first && staged->kind == TILE_NUMBER && staged->dtype == DTYPE_INT1))
            break;  // can_reorder
        int64_t some[TYPE_MAX_RANK];
        int found = staged_integers(staged, some, TYPE_MAX_RANK);
        if (found < 0) break;
        if (count + found > TYPE_MAX_RANK)
            stage_refuse(staging, "a shape of more than %d dims", TYPE_MAX_RANK);
        memcpy(dims + count, some, sizeof(int64_t) * (size_t)found);
        count += found;
        if (staged->kind == TILE_TUPLE) break;
    }
    return count;
}

static const Staged *operand_tile(Staging *staging, const Op *op, int index) {
    const Staged *staged = staged_operand(staging, op, index);
    if (staged && (staged->kind == TILE_NUMBER || staged->kind == TILE_POINTER)) return staged;
    stage_refuse(staging, "%s of what is no tile", op_rows[op->code].id);
}

/// Elements of `source` picked by `index`, an expression over `i`.
static const Staged *picked(Staging *staging, const Staged *source, int rank, const int64_t *dims,
                            const char *index) {
    return chain_new(staging, source->kind, source->dtype, rank, dims,
                     staged_at(staging, source, index), true);
}

/// The same elements under another shape: no copy is made.
static const Staged *reshaped(Staging *staging, const Staged *source, int rank,
                              const int64_t *dims) {
    Staged *result = ARENA_NEW(staging->arena, Staged);
    *result = *source;
    result->rank = rank;
    memcpy(result->dims, dims, sizeof(int64_t) * (size_t)rank);
    result->is_weak = source->is_weak && rank == 0;
    result->tile = NULL;
    return result;
}

static const Staged *broadcast(Staging *staging, const Staged *source, int rank,
                               const int64_t *dims) {
    if (shape_count(rank, dims) == source->count) return reshaped(staging, source, rank, dims);
    return chain_new(staging, source->kind, source->dtype, rank, dims,
                     staged_broadcast_at(staging, source, rank, dims, "i"), true);
}

void stage_arange(Staging *staging, const Op *op) {
    int64_t start = staged_int(staging, op, "start", 0), end = staged_int(staging, op, "end", 0);
    if (end <= start || start < INT32_MIN || end > INT32_MAX)
        stage_refuse(staging, "an empty or a very long arange");
    int64_t count = end - start;
    stage_result(staging, op,
                 chain_new(staging, TILE_NUMBER, DTYPE_INT32, 1, &count,
                           arena_printf(staging->arena, "i + (%lld)", (long long)start), true));
}

void stage_full(Staging *staging, const Op *op) {
    int64_t dims[TYPE_MAX_RANK];
    int rank = operand_dims(staging, op, 0, dims);
    const Staged *shape = staged_operand(staging, op, 0),
                 *value = staged_named(staging, op, "value");
    if (!shape || !value || value->kind != TILE_NUMBER) stage_refuse(staging, "such a full()");
    if (shape->kind != TILE_TUPLE) rank = 1;
    const Staged *cast =
        stage_cast(staging, value, staged_dtype(staging, op, "dtype", value->dtype));
    int common = rank;
    if (!staged_shapes_broadcast(&common, dims, cast) || common != rank)
        stage_refuse(staging, "such a full()");
    stage_result(staging, op,
                 chain_new(staging, TILE_NUMBER, cast->dtype, rank, dims,
                           staged_broadcast_at(staging, cast, rank, dims, "i"), true));
}

void stage_transpose(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    int64_t given[TYPE_MAX_RANK], dims[TYPE_MAX_RANK], strides[TYPE_MAX_RANK], stride = 1;
    int count = operand_dims(staging, op, 1, given), rank = source->rank, order[TYPE_MAX_RANK];
    if ((count == 0 && rank < 2) || (count != 0 && count != rank))
        stage_refuse(staging, "a transpose with other axes than the tile has");
    for (int i = 0; i < rank; i++)
        order[i] = count          ? (int)(given[i] < 0 ? given[i] + rank : given[i])
                   : i < rank - 2 ? i
                                  : 2 * rank - 3 - i;
    for (int i = rank - 1; i >= 0; i--) strides[i] = stride, stride *= source->dims[i];
    Buffer index = buffer_new(staging->arena);
    int64_t below = 1;
    for (int i = rank - 1; i >= 0; i--) {
        if (order[i] < 0 || order[i] >= rank)
            stage_refuse(staging, "a transpose with other axes than the tile has");
        dims[i] = source->dims[order[i]];
        buffer_printf(&index, "%si / %lld %% %lld * %lld", index.size ? " + " : "",
                      (long long)below, (long long)dims[i], (long long)strides[order[i]]);
        below *= dims[i];
    }
    if (below != source->count) stage_refuse(staging, "axes that are no permutation");
    stage_result(staging, op, picked(staging, source, rank, dims, buffer_text(&index)));
}

void stage_reshape(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    int64_t dims[TYPE_MAX_RANK], known = 1;
    int rank = 0, open = -1;
    if (op->code == OP_SQUEEZE) {
        int axis = staged_axis(staging, op, "dim", source->rank, 0);
        for (int i = 0; i < source->rank; i++)
            if (i != axis) dims[rank++] = source->dims[i];
    } else {
        rank = operand_dims(staging, op, 1, dims);
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] == -1)
            open = i;
        else
            known *= dims[i];
    }
    if (open >= 0 && known > 0) dims[open] = source->count / known;
    if (shape_count(rank, dims) != source->count)
        stage_refuse(staging, "a reshape to another number of elements");
    stage_result(staging, op, reshaped(staging, source, rank, dims));
}

void stage_expand_dims(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    int64_t axes[TYPE_MAX_RANK], dims[TYPE_MAX_RANK];
    int count = staged_integers(staged_named(staging, op, "axis"), axes, TYPE_MAX_RANK),
        rank = source->rank;
    if (count < 0 || rank + count > TYPE_MAX_RANK) stage_refuse(staging, "such an expand_dims()");
    bool is_new[TYPE_MAX_RANK] = {false};
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank + count : axes[i];
        if (axis < 0 || axis >= rank + count) stage_refuse(staging, "such an expand_dims()");
        is_new[axis] = true;
    }
    for (int i = 0, from = 0; i < rank + count; i++)
        dims[i] = is_new[i] || from >= rank ? 1 : source->dims[from++];
    stage_result(staging, op, reshaped(staging, source, rank + count, dims));
}

void stage_broadcast_to(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    int64_t dims[TYPE_MAX_RANK] = {0}, shape[TYPE_MAX_RANK];
    if (op->code == OP_BROADCAST) {
        const Staged *other = operand_tile(staging, op, 1);
        int rank = 0;
        if (!staged_shapes_broadcast(&rank, dims, source) ||
            !staged_shapes_broadcast(&rank, dims, other))
            stage_refuse(staging, "shapes that do not broadcast");
        const Staged *both[2] = {broadcast(staging, source, rank, dims),
                                 broadcast(staging, other, rank, dims)};
        stage_results(staging, op, both, 2);
        return;
    }
    int rank = operand_dims(staging, op, 1, dims), common = rank;
    memcpy(shape, dims, sizeof shape);
    if (!staged_shapes_broadcast(&common, shape, source) || common != rank ||
        memcmp(shape, dims, sizeof(int64_t) * (size_t)rank) != 0)
        stage_refuse(staging, "shapes that do not broadcast");
    stage_result(staging, op, broadcast(staging, source, rank, dims));
}

// --- two tiles to one, one to two ---------------------------------------------------------------------------------------

/// Both operands in one type, and the tile that holds them; `side` (of `i`) says whose element comes, `index` which.
static const Staged *merged(Staging *staging, const Op *op, int rank, const int64_t *dims,
                            const char *side, const char *left_index, const char *right_index) {
    const Staged *a = operand_tile(staging, op, 0), *b = operand_tile(staging, op, 1);
    if (a->kind != b->kind) stage_refuse(staging, "%s of unlike operands", op_rows[op->code].id);
    if (a->kind == TILE_NUMBER) {
        DTypeCode dtype =
            dtype_promote(dtype_of(a->dtype), a->is_weak, dtype_of(b->dtype), b->is_weak, false)
                .code;
        a = stage_cast(staging, a, dtype);
        b = stage_cast(staging, b, dtype);
    }
    Staged *result = staged_new(staging, a->kind, a->dtype, rank, dims);
    stage_fill(staging, result,
               arena_printf(staging->arena, "%s ? %s : %s", side, staged_at(staging, a, left_index),
                            staged_at(staging, b, right_index)));
    return result;
}

static const Staged *same_shapes(Staging *staging, const Op *op) {
    const Staged *a = operand_tile(staging, op, 0), *b = operand_tile(staging, op, 1);
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    if (!same) stage_refuse(staging, "%s of tiles of unlike shapes", op_rows[op->code].id);
    return a;
}

void stage_join(Staging *staging, const Op *op) {
    const Staged *a = same_shapes(staging, op);
    int64_t dims[TYPE_MAX_RANK + 1];
    memcpy(dims, a->dims, sizeof a->dims);
    dims[a->rank] = 2;
    stage_result(staging, op,
                 merged(staging, op, a->rank + 1, dims, "i % 2 == 0", "i / 2", "i / 2"));
}

void stage_interleave(Staging *staging, const Op *op) {
    const Staged *a = same_shapes(staging, op);
    int64_t dims[TYPE_MAX_RANK];
    int rank = a->rank ? a->rank : 1;
    memcpy(dims, a->dims, sizeof dims);
    dims[rank - 1] = a->rank ? 2 * a->dims[rank - 1] : 2;
    stage_result(staging, op, merged(staging, op, rank, dims, "i % 2 == 0", "i / 2", "i / 2"));
}

void stage_cat(Staging *staging, const Op *op) {
    const Staged *a = operand_tile(staging, op, 0), *b = operand_tile(staging, op, 1);
    int axis = staged_axis(staging, op, "dim", a->rank, 0);
    if (a->rank != b->rank) stage_refuse(staging, "cat of tiles of unlike ranks");
    int64_t inner = 1, dims[TYPE_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        if (i > axis) inner *= a->dims[i];
        if (i != axis && a->dims[i] != b->dims[i])
            stage_refuse(staging, "cat of tiles of unlike shapes");
        dims[i] = a->dims[i] + (i == axis ? b->dims[i] : 0);
    }
    long long left = (long long)(a->dims[axis] * inner), right = (long long)(b->dims[axis] * inner),
              row = left + right;
    Arena *arena = staging->arena;
    stage_result(
        staging, op,
        merged(staging, op, a->rank, dims, arena_printf(arena, "i %% %lld < %lld", row, left),
               arena_printf(arena, "i / %lld * %lld + i %% %lld", row, left, row),
               arena_printf(arena, "i / %lld * %lld + i %% %lld - %lld", row, right, row, left)));
}

void stage_split(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    if (source->rank < 1 || source->dims[source->rank - 1] != 2)
        stage_refuse(staging, "split() of another last axis than one of length 2");
    const Staged *halves[2];
    for (int half = 0; half < 2; half++)
        halves[half] =
            picked(staging, source, source->rank - 1, source->dims, half ? "2 * i + 1" : "2 * i");
    stage_results(staging, op, halves, 2);
}

void stage_flip(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0);
    int axis = staged_axis(staging, op, "dim", source->rank, source->rank - 1);
    long long inner = 1, length = (long long)source->dims[axis];
    for (int i = axis + 1; i < source->rank; i++) inner *= (long long)source->dims[i];
    const char *index = arena_printf(staging->arena, "i + (%lld - 2 * (i / %lld %% %lld)) * %lld",
                                     length - 1, inner, length, inner);
    stage_result(staging, op, picked(staging, source, source->rank, source->dims, index));
}

void stage_gather(Staging *staging, const Op *op) {
    const Staged *source = operand_tile(staging, op, 0), *index = staged_number(staging, op, 1);
    int axis = staged_axis(staging, op, "axis", source->rank, 0);
    if (index->rank != source->rank || staged_is_float(index) || source->count == 1)
        stage_refuse(staging, "such a gather()");
    for (int d = 0; d < index->rank; d++)
        if (d != axis && index->dims[d] > source->dims[d])
            stage_refuse(staging, "a gather() outside of the source");
    Staged *result = staged_new(staging, source->kind, source->dtype, index->rank, index->dims);
    Buffer from = buffer_new(staging->arena);
    int64_t stride = 1, below = 1;
    for (int d = index->rank - 1; d >= 0; d--) {
        if (d == axis)
            buffer_printf(&from, "%sat * %lld", from.size ? " + " : "", (long long)stride);
        else
            buffer_printf(&from, "%si / %lld %% %lld * %lld", from.size ? " + " : "",
                          (long long)below, (long long)index->dims[d], (long long)stride);
        stride *= source->dims[d];
        below *= index->dims[d];
    }
    stage_open(staging, "EACH(i, %lld)", (long long)result->count);
    stage_line(staging, "long long at = %s;", staged_at(staging, index, "i"));
    stage_line(staging, "if (at < 0 || at >= %lld) at = tad_fault(launch, 4, %d, program, i, at);",
               (long long)source->dims[axis], op->range.source ? range_line(op->range) : 0);
    stage_line(staging, "%s = %s;", staged_at(staging, result, "i"),
               staged_at(staging, source, buffer_text(&from)));
    stage_close(staging);
    stage_barrier(staging);
    stage_result(staging, op, result);
}
