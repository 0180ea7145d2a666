// Reductions, scans and matrix products in the interpreter's order: one thread an output, serially along the axis.
#include "gpu-runner/staging/staged.h"

static AxisView view_of(Staging *staging, const Op *op, const Staged *source, bool keeps) {
    bool is_given = staged_named(staging, op, "axis") != NULL;
    int axis = is_given ? staged_axis(staging, op, "axis", source->rank, 0) : -1;
    return axis_view_of(source->rank, source->dims, axis, keeps);
}

/// The index in the source of place `at` (an expression) along the axis, for output `i`.
static const char *view_at(Staging *staging, const AxisView *view, const char *at) {
    if (view->inner == 1)
        return arena_printf(staging->arena, "i * %lld + %s", (long long)view->length, at);
    return arena_printf(staging->arena, "(i / %lld * %lld + %s) * %lld + i %% %lld",
                        (long long)view->inner, (long long)view->length, at, (long long)view->inner,
                        (long long)view->inner);
}

/// As a GPU adds: halves of each row to each other, every sum in the row's own type.
static const Staged *sum_rounded(Staging *staging, const AxisView *view, const Staged *source,
                                 Staged *result) {
    if (view->length == 1) {
        stage_fill(staging, result, staged_at(staging, source, view_at(staging, view, "0")));
        return result;
    }
    const Staged *row = staged_new(staging, TILE_NUMBER, source->dtype, source->rank, source->dims);
    stage_fill(staging, row, staged_at(staging, source, "i"));
    const char *low = staged_at(staging, row, view_at(staging, view, "k")),
               *high = staged_at(staging, row, view_at(staging, view, "(k + rest - rest / 2)")),
               *sum = arena_printf(staging->arena, "tad_plus(%s, %s)", low, high);
    stage_outputs_open(staging, result);
    stage_open(staging, "for (long long rest = %lld; rest > 1; rest -= rest / 2)",
               (long long)view->length);
    stage_line(staging, "for (long long k = 0; k < rest / 2; k++) %s = %s;", low,
               stage_rounded(staging, sum, source->dtype));
    stage_close(staging);
    stage_outputs_close(staging, result, staged_at(staging, row, view_at(staging, view, "0")));
    return result;
}

void stage_reduce_sum(Staging *staging, const Op *op) {
    const Staged *operand = staged_number(staging, op, 0);
    DTypeCode dtype = op->code == OP_SUM
                          ? staged_dtype(staging, op, "dtype", dtype_summed(operand->dtype, true))
                          : operand->dtype;
    const Staged *source = stage_cast(staging, operand, dtype);
    AxisView view = view_of(staging, op, source, staged_flag(staging, op, "keep_dims", false));
    Staged *result = staged_new(staging, TILE_NUMBER, dtype, view.rank, view.dims);
    if (staging->rounds && staged_is_float(source)) {
        stage_result(staging, op, sum_rounded(staging, &view, source, result));
        return;
    }
    const char *next = staged_at(staging, source, view_at(staging, &view, "k"));
    stage_outputs_open(staging, result);
    stage_line(staging, staged_is_float(result) ? "%s sum = TAD_REAL(0.0);" : "%s sum = 0;",
               staged_ctype(result));
    stage_open(staging, "for (long long k = 0; k < %lld; k++)", (long long)view.length);
    if (staged_is_float(source))
        stage_line(staging, "sum = tad_plus(sum, %s);", next);
    else if (op->code == OP_SUM)
        stage_line(
            staging, "sum = %s;",
            stage_wrap(staging,
                       arena_printf(staging->arena, "(long long)(TAD_U(sum) + TAD_U(%s))", next),
                       dtype));
    else
        stage_line(staging, "sum %s= %s;", op->code == OP_XOR_SUM ? "^" : "|", next);
    stage_close(staging);
    stage_outputs_close(staging, result, "sum");
    stage_result(staging, op, result);
}

void stage_reduce_extreme(Staging *staging, const Op *op) {
    bool largest = op->code == OP_MAX || op->code == OP_ARGMAX,
         only_index = op->code == OP_ARGMAX || op->code == OP_ARGMIN,
         both = !only_index && staged_flag(staging, op, "return_indices", false);
    const Staged *operand = staged_number(staging, op, 0),
                 *source = stage_cast(staging, operand, dtype_summed(operand->dtype, false));
    AxisView view = view_of(staging, op, source, staged_flag(staging, op, "keep_dims", false));
    Staged *index = staged_new(staging, TILE_NUMBER, DTYPE_INT32, view.rank, view.dims);
    const char *a = staged_at(staging, source, view_at(staging, &view, "k")),
               *b = staged_at(staging, source, view_at(staging, &view, "best"));
    stage_outputs_open(staging, index);
    stage_line(staging, "long long best = 0;");
    const char *better =
        staged_is_float(source)
            ? arena_printf(staging->arena, "tad_better(TAD_V(%s), TAD_V(%s), %d)", a, b, largest)
            : arena_printf(staging->arena, "tad_better_whole(%s, %s, %d, %d)", a, b, largest,
                           source->dtype == DTYPE_UINT64);
    stage_line(staging, "for (long long k = 1; k < %lld; k++) if (%s) best = k;",
               (long long)view.length, better);
    stage_outputs_close(staging, index, "best");
    if (only_index) {
        stage_result(staging, op, index);
        return;
    }
    Staged *value = staged_new(staging, TILE_NUMBER, source->dtype, view.rank, view.dims);
    const char *best =
        staged_at(staging, source, view_at(staging, &view, staged_at(staging, index, "i")));
    bool is_held = staging->holds_extremes && staged_is_float(source);
    stage_fill(staging, value,
               is_held ? arena_printf(staging->arena, "TAD_REAL(TAD_V(%s))", best) : best);
    const Staged *results[2] = {value, index};
    if (both)
        stage_results(staging, op, results, 2);
    else
        stage_result(staging, op, value);
}

void stage_scan(Staging *staging, const Op *op) {
    const Staged *operand = staged_number(staging, op, 0);
    bool product = op->code == OP_CUMPROD, reverse = staged_flag(staging, op, "reverse", false);
    DTypeCode dtype = staged_dtype(staging, op, "dtype", dtype_summed(operand->dtype, true));
    const Staged *source = stage_cast(staging, operand, dtype);
    if (source->rank == 0) stage_refuse(staging, "a scan of a scalar");
    AxisView view = view_of(staging, op, source, true);
    if (!staged_named(staging, op, "axis")) {  // Triton's default is axis 0
        view.length = source->dims[0];
        view.inner = source->count / view.length;
    }
    Staged *result = staged_new(staging, TILE_NUMBER, dtype, source->rank, source->dims);
    if (result->count == 1) {
        stage_fill(staging, result, staged_at(staging, source, "0"));
        stage_result(staging, op, result);
        return;
    }
    const char *at = view_at(
        staging, &view,
        reverse ? arena_printf(staging->arena, "(%lld - k)", (long long)view.length - 1) : "k");
    const char *x = staged_at(staging, source, at), *sign = product ? "*" : "+";
    const char *next =
        staged_is_float(source)
            ? stage_rounded(
                  staging,
                  arena_printf(staging->arena, "tad_%s(%s, run)", product ? "times" : "plus", x),
                  dtype)
            : stage_wrap(
                  staging,
                  arena_printf(staging->arena, "(long long)(TAD_U(%s) %s TAD_U(run))", x, sign),
                  dtype);
    stage_open(staging, "EACH(i, %lld)", (long long)(view.outer * view.inner));
    stage_line(staging, staged_is_float(result) ? "%s run = TAD_REAL(%d.0);" : "%s run = %d;",
               staged_ctype(result), product);
    stage_open(staging, "for (long long k = 0; k < %lld; k++)", (long long)view.length);
    stage_line(staging, "run = %s;", next);
    stage_line(staging, "%s[%s] = run;", result->text, at);
    stage_close(staging);
    stage_close(staging);
    stage_barrier(staging);
    stage_result(staging, op, result);
}

// --- combine functions --------------------------------------------------------------------------------------------------

static int combined_tiles(Staging *staging, const Op *op, const Staged **tiles) {
    const Staged *input = staged_operand(staging, op, 0);
    int count = !input ? 0 : input->kind == TILE_TUPLE ? input->item_count : 1;
    if (count < 1 || count > COMBINE_MOST_VALUES) stage_refuse(staging, "such a reduction");
    for (int i = 0; i < count; i++) {
        tiles[i] = input->kind == TILE_TUPLE ? input->items[i] : input;
        if (tiles[i]->kind != TILE_NUMBER || tiles[i]->count != tiles[0]->count)
            stage_refuse(staging, "a reduction of tiles of unlike shapes");
    }
    return count;
}

/// Slice `at` along the axis into `slice`.
static void slice_take(Staging *staging, const AxisView *view, const Staged *source,
                       const Staged *slice, const char *at) {
    stage_fill(staging, slice, staged_at(staging, source, view_at(staging, view, at)));
}

static const Staged *slice_new(Staging *staging, const AxisView *view, const Staged *source) {
    int64_t count = view->outer * view->inner;
    return staged_new(staging, TILE_NUMBER, source->dtype, 1, &count);
}

/// accumulated = combine(accumulated, next); the region's values are as tall as a slice.
static void combine(Staging *staging, const Op *op, const Staged *const *accumulated,
                    const Staged *const *next, int count) {
    if (op->region_count < 1 || op->regions[0]->argument_count != 2 * count)
        stage_refuse(staging, "such a combine function");
    const Region *region = op->regions[0];
    for (int i = 0; i < count; i++) {
        stage_bind(staging, region->arguments[i], accumulated[i]);
        stage_bind(staging, region->arguments[count + i], next[i]);
    }
    const Op *yield = stage_region(staging, region);
    staging->op = op;
    const Staged *items[COMBINE_MOST_VALUES];
    const Staged *only = yield && yield->operand_count == 1 && count > 1
                             ? stage_value(staging, yield->operands[0])
                             : NULL;
    if (!yield || (!only && yield->operand_count != count) ||
        (only && (only->kind != TILE_TUPLE || only->item_count != count)))
        stage_refuse(staging, "such a combine function");
    for (int i = 0; i < count; i++) {
        const Staged *item = only ? only->items[i] : stage_value(staging, yield->operands[i]);
        bool fits = item->kind == TILE_NUMBER &&
                    staged_is_float(item) == staged_is_float(accumulated[i]) &&
                    (staged_is_float(item) || item->dtype == accumulated[i]->dtype) &&
                    (item->count == 1 || item->count == accumulated[i]->count);
        if (!fits) stage_refuse(staging, "a combine function that changes types");
        Staged *copy = staged_new(staging, TILE_NUMBER, accumulated[i]->dtype, accumulated[i]->rank,
                                  accumulated[i]->dims);
        stage_fill(staging, copy, staged_at(staging, item, "i"));
        items[i] = copy;
    }
    for (int i = 0; i < count; i++)
        stage_fill(staging, accumulated[i], staged_at(staging, items[i], "i"));
}

void stage_reduce_custom(Staging *staging, const Op *op) {
    const Staged *tiles[COMBINE_MOST_VALUES], *accumulated[COMBINE_MOST_VALUES],
        *next[COMBINE_MOST_VALUES] = {0};
    int count = combined_tiles(staging, op, tiles);
    AxisView view = view_of(staging, op, tiles[0], staged_flag(staging, op, "keep_dims", false));
    for (int i = 0; i < count; i++) {
        accumulated[i] = slice_new(staging, &view, tiles[i]);
        next[i] = slice_new(staging, &view, tiles[i]);
        slice_take(staging, &view, tiles[i], accumulated[i], "0");
    }
    int64_t room = staging->room;
    const char *at = arena_printf(staging->arena, "v%d", ++staging->names);
    stage_open(staging, "for (long long %s = 1; %s < %lld; %s++)", at, at, (long long)view.length,
               at);
    for (int i = 0; i < count; i++) slice_take(staging, &view, tiles[i], next[i], at);
    combine(staging, op, accumulated, next, count);
    stage_close(staging);
    staging->room = room;
    for (int i = 0; i < count; i++) {
        Staged *flat = ARENA_NEW(staging->arena, Staged);
        *flat = *accumulated[i];
        flat->rank = view.rank;
        memcpy(flat->dims, view.dims, sizeof view.dims);
        accumulated[i] = flat;
    }
    if (staged_operand(staging, op, 0)->kind == TILE_TUPLE)
        stage_results(staging, op, accumulated, count);
    else
        stage_result(staging, op, accumulated[0]);
}

void stage_scan_custom(Staging *staging, const Op *op) {
    const Staged *tiles[COMBINE_MOST_VALUES], *accumulated[COMBINE_MOST_VALUES],
        *next[COMBINE_MOST_VALUES] = {0}, *results[COMBINE_MOST_VALUES];
    int count = combined_tiles(staging, op, tiles);
    if (tiles[0]->count == 1) {
        if (staged_operand(staging, op, 0)->kind == TILE_TUPLE)
            stage_results(staging, op, tiles, count);
        else
            stage_result(staging, op, tiles[0]);
        return;
    }
    AxisView view = view_of(staging, op, tiles[0], false);
    bool reverse = staged_flag(staging, op, "reverse", false);
    for (int i = 0; i < count; i++) {
        results[i] =
            staged_new(staging, TILE_NUMBER, tiles[i]->dtype, tiles[i]->rank, tiles[i]->dims);
        accumulated[i] = slice_new(staging, &view, tiles[i]);
        next[i] = slice_new(staging, &view, tiles[i]);
    }
    int64_t room = staging->room;
    const char *step = arena_printf(staging->arena, "v%d", ++staging->names);
    const char *at =
        reverse ? arena_printf(staging->arena, "(%lld - %s)", (long long)view.length - 1, step)
                : step;
    stage_open(staging, "for (long long %s = 0; %s < %lld; %s++)", step, step,
               (long long)view.length, step);
    for (int i = 0; i < count; i++) slice_take(staging, &view, tiles[i], next[i], at);
    stage_open(staging, "if (%s == 0)", step);
    for (int i = 0; i < count; i++)
        stage_fill(staging, accumulated[i], staged_at(staging, next[i], "i"));
    stage_close(staging);
    stage_open(staging, "else");
    combine(staging, op, accumulated, next, count);
    stage_close(staging);
    for (int i = 0; i < count; i++) {
        stage_line(staging, "EACH(i, %lld) %s[%s] = %s;", (long long)accumulated[i]->count,
                   results[i]->text, view_at(staging, &view, at),
                   staged_at(staging, accumulated[i], "i"));
        stage_barrier(staging);
    }
    stage_close(staging);
    staging->room = room;
    if (staged_operand(staging, op, 0)->kind == TILE_TUPLE)
        stage_results(staging, op, results, count);
    else
        stage_result(staging, op, results[0]);
}

// --- sorting, counting --------------------------------------------------------------------------------------------------

/// Each element goes to the place that says how many of its row come before it.
static void sort_rows(Staging *staging, const Op *op, bool descending, int64_t keep) {
    const Staged *source = staged_number(staging, op, 0);
    if (source->rank == 0) stage_refuse(staging, "a sort of a scalar");
    int64_t length = source->dims[source->rank - 1], dims[TYPE_MAX_RANK];
    if (staged_axis(staging, op, "dim", source->rank, source->rank - 1) != source->rank - 1 ||
        keep <= 0 || keep > length)
        stage_refuse(staging, "such a sort");
    memcpy(dims, source->dims, sizeof dims);
    dims[source->rank - 1] = keep;
    Staged *result = staged_new(staging, TILE_NUMBER, source->dtype, source->rank, dims);
    bool is_one = result->count == 1;
    const char *field = staged_is_float(source) ? "number" : "integer";
    const char *into = is_one ? arena_printf(staging->arena, "tad_box.%s", field)
                              : arena_printf(staging->arena, "%s[i / %lld * %lld + before]",
                                             result->text, (long long)length, (long long)keep);
    const char *sign = descending ? ">" : "<";
    stage_open(staging, "EACH(i, %lld)", (long long)source->count);
    stage_line(staging, "const long long row = i / %lld * %lld;", (long long)length,
               (long long)length);
    stage_line(staging, "long long before = 0;");
    const char *left = staged_plain(staging, source, staged_at(staging, source, "k")),
               *right = staged_plain(staging, source, staged_at(staging, source, "i"));
    stage_line(staging,
               "for (long long k = row; k < row + %lld; k++) before += %s %s %s || (%s == %s && k "
               "< i);",
               (long long)length, left, sign, right, left, right);
    stage_line(staging, "if (before < %lld) %s = %s;", (long long)keep, into,
               staged_at(staging, source, "i"));
    stage_close(staging);
    stage_barrier(staging);
    if (is_one) {
        stage_line(staging, "%s = tad_box.%s;", result->text, field);
        stage_barrier(staging);
    }
    stage_result(staging, op, result);
}

void stage_sort(Staging *staging, const Op *op) {
    const Staged *source = staged_number(staging, op, 0);
    sort_rows(staging, op, staged_flag(staging, op, "descending", false),
              source->rank ? source->dims[source->rank - 1] : 1);
}

void stage_topk(Staging *staging, const Op *op) {
    sort_rows(staging, op, staged_flag(staging, op, "descending", true),
              staged_int(staging, op, "k", 1));
}

void stage_histogram(Staging *staging, const Op *op) {
    const Staged *source = staged_number(staging, op, 0), *mask = staged_named(staging, op, "mask");
    int64_t bins = staged_int(staging, op, "num_bins", 0);
    if (bins <= 0 || staged_is_float(source)) stage_refuse(staging, "such a histogram");
    Staged *result = staged_new(staging, TILE_NUMBER, DTYPE_INT32, 1, &bins);
    stage_outputs_open(staging, result);
    stage_line(staging, "long long sum = 0;");
    stage_line(staging, "for (long long k = 0; k < %lld; k++) sum += %s == i && (%s) != 0;",
               (long long)source->count, staged_at(staging, source, "k"),
               mask ? staged_plain(staging, mask, staged_at(staging, mask, "k")) : "1");
    stage_outputs_close(staging, result, "sum");
    stage_result(staging, op, result);
}

// --- matrix products ----------------------------------------------------------------------------------------------------

/// An element of an operand, in TF32 where the interpreter has it so.
static const char *dot_operand(Staging *staging, const Op *op, const Staged *tile, const char *at) {
    const char *text =
        stage_cast_text(staging, staged_at(staging, tile, at), tile->dtype, DTYPE_FLOAT64);
    if (!staging->rounds || !staging->allow_tf32 || tile->dtype != DTYPE_FLOAT32) return text;
    Str precision = staged_string(staging, op, "input_precision");
    bool is_exact = str_starts(precision, "ieee") || str_starts(precision, "tf32x3") ||
                    !staged_flag(staging, op, "allow_tf32", true);
    return is_exact ? text : arena_printf(staging->arena, "tad_to_tf32(%s)", text);
}

void stage_dot(Staging *staging, const Op *op) {
    const Staged *a = staged_number(staging, op, 0), *b = staged_number(staging, op, 1),
                 *initial = staged_named(staging, op, "acc");
    int rank = a->rank;
    if (rank != b->rank || rank < 2 || rank > 3 || (rank == 3 && a->dims[0] != b->dims[0]) ||
        a->dims[rank - 1] != b->dims[rank - 2] || staged_is_float(a) != staged_is_float(b))
        stage_refuse(staging, "such a dot");
    bool has_initial = initial && initial->kind == TILE_NUMBER;
    bool integers = !staged_is_float(a) && !staged_is_float(b);
    DTypeCode wanted = integers                    ? DTYPE_INT32
                       : a->dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64
                                                   : DTYPE_FLOAT32;
    DTypeCode dtype = staged_dtype(staging, op, "out_dtype", has_initial ? initial->dtype : wanted);
    int64_t dims[3] = {rank == 3 ? a->dims[0] : 1, a->dims[rank - 2], b->dims[rank - 1]},
            depth = a->dims[rank - 1];
    Staged *result =
        staged_new(staging, TILE_NUMBER, DTYPE_FLOAT64, rank, rank == 3 ? dims : dims + 1);
    const char *left =
        arena_printf(staging->arena, "i / %lld * %lld + k", (long long)dims[2], (long long)depth);
    const char *right = arena_printf(staging->arena, "(i / %lld * %lld + k) * %lld + i %% %lld",
                                     (long long)(dims[1] * dims[2]), (long long)depth,
                                     (long long)dims[2], (long long)dims[2]);
    stage_outputs_open(staging, result);
    stage_line(staging, "TadProduct sum = TAD_NO_PRODUCT;");
    stage_line(staging, "for (long long k = 0; k < %lld; k++) sum = tad_product(sum, %s, %s);",
               (long long)depth, dot_operand(staging, op, a, left),
               dot_operand(staging, op, b, right));
    stage_outputs_close(staging, result, "tad_produced(sum)");
    const Staged *cast = stage_cast(staging, result, dtype);
    if (has_initial) {
        const Staged *both[2] = {cast, initial};
        cast = stage_cast(staging, stage_apply(staging, OP_ADD, both, 2), dtype);
    }
    stage_result(staging, op, cast);
}
