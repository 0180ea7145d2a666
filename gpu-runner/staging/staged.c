// Values of the lowering: what is known of them, their text, operands of an op.
#include "gpu-runner/staging/staged.h"

#include "gpu-runner/staging/chains.h"

#include <math.h>
#include <stdio.h>

_Noreturn void stage_refuse(Staging *staging, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(staging->arena, format, arguments);
    va_end(arguments);
    int line = staging->op && staging->op->range.source ? range_line(staging->op->range) : 0;
    staging->error =
        arena_printf(staging->arena, "the cuda backend does not run %s yet (%s, line %d)", message,
                     staging->function->name, line);
    longjmp(staging->stop, 1);
}

static void line_start(Staging *staging) {
    for (int i = 0; i < staging->indent; i++) buffer_puts(&staging->text, "    ");
}

static void line_put(Staging *staging, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void line_put(Staging *staging, const char *format, va_list arguments) {
    line_start(staging);
    buffer_puts(&staging->text, arena_vprintf(staging->arena, format, arguments));
}

void stage_line(Staging *staging, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line_put(staging, format, arguments);
    va_end(arguments);
    buffer_putc(&staging->text, '\n');
}

void stage_open(Staging *staging, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line_put(staging, format, arguments);
    va_end(arguments);
    buffer_puts(&staging->text, " {\n");
    staging->indent++;
}

void stage_close(Staging *staging) {
    staging->indent--;
    stage_line(staging, "}");
}

void stage_barrier(Staging *staging) { stage_line(staging, "__syncthreads();"); }

// --- values -------------------------------------------------------------------------------------------------------------

const char *staged_ctype(const Staged *staged) {
    return staged_is_float(staged) ? "TadReal" : "long long";
}

Staged *staged_unnamed(Staging *staging, TileKind kind, DTypeCode dtype, int rank,
                       const int64_t *dims) {
    if (rank > TYPE_MAX_RANK) stage_refuse(staging, "a tile of more than %d dims", TYPE_MAX_RANK);
    Staged *staged = ARENA_NEW(staging->arena, Staged);
    staged->kind = kind;
    staged->dtype = dtype;
    staged->rank = rank;
    for (int i = 0; i < rank; i++) staged->dims[i] = dims[i];
    staged->count = shape_count(rank, dims);
    if (staged->count <= 0 || staged->count > (int64_t)1 << 28)
        stage_refuse(staging, "an empty tile, or one of more than 2^28 elements");
    return staged;
}

Staged *staged_new(Staging *staging, TileKind kind, DTypeCode dtype, int rank,
                   const int64_t *dims) {
    Staged *staged = staged_unnamed(staging, kind, dtype, rank, dims);
    const char *type = staged_ctype(staged);
    staged->text = arena_printf(staging->arena, "v%d", ++staging->names);
    if (staged->count == 1) {
        stage_line(staging, staged_is_float(staged) ? "%s %s = TAD_REAL(0.0);" : "%s %s = 0;", type,
                   staged->text);
        return staged;
    }
    stage_line(staging, "%s *const %s = (%s *)(tad_room + %lld);", type, staged->text, type,
               (long long)staging->room);
    staging->room += staged->count;
    if (staging->room > staging->most) staging->most = staging->room;
    if (staged->count > staging->widest) staging->widest = staged->count;
    return staged;
}

Staged *staged_scalar(Staging *staging, TileKind kind, DTypeCode dtype, const char *text) {
    Staged *staged = staged_unnamed(staging, kind, dtype, 0, NULL);
    staged->text = arena_strdup(staging->arena, text);
    return staged;
}

Staged *staged_tuple(Staging *staging, const Staged *const *items, int count) {
    Staged *staged = staged_unnamed(staging, TILE_TUPLE, DTYPE_UNKNOWN, 0, NULL);
    Staged **copy = ARENA_ARRAY(staging->arena, Staged *, count + 1);
    memcpy(copy, items, sizeof *copy * (size_t)count);
    staged->items = copy;
    staged->item_count = count;
    return staged;
}

static const char *integer_text(Arena *arena, int64_t value) {
    if (value == INT64_MIN) return "(-9223372036854775807LL - 1)";
    return arena_printf(arena, value < 0 ? "(%lldLL)" : "%lldLL", (long long)value);
}

static const char *number_text(Arena *arena, double value) {
    if (isnan(value)) return "TAD_REAL(TAD_NAN)";
    if (isinf(value)) return value > 0 ? "TAD_REAL(TAD_INFINITY)" : "TAD_REAL(-TAD_INFINITY)";
    return arena_printf(arena, "TAD_REAL(%a)", value);
}

const Staged *staged_known(Staging *staging, Tile *tile) {
    Staged *staged = ARENA_NEW(staging->arena, Staged);
    staged->kind = tile->kind;
    staged->dtype = tile->dtype;
    staged->is_weak = tile->is_weak;
    staged->rank = tile->rank;
    memcpy(staged->dims, tile->dims, sizeof staged->dims);
    staged->count = tile->count;
    staged->tile = tile_retain(tile);
    if (tile->kind == TILE_NUMBER && tile->count == 1)
        staged->text = tile->number ? number_text(staging->arena, tile->number[0])
                                    : integer_text(staging->arena, tile->integer[0]);
    if (tile->kind != TILE_TUPLE) return staged;
    Staged **items = ARENA_ARRAY(staging->arena, Staged *, tile->item_count + 1);
    for (int i = 0; i < tile->item_count; i++) {
        const Staged *item = staged_known(staging, tile->items[i]);
        items[i] = ARENA_NEW(staging->arena, Staged);
        *items[i] = *item;
    }
    staged->items = items;
    staged->item_count = tile->item_count;
    return staged;
}

const char *staged_at(Staging *staging, const Staged *staged, const char *index) {
    if (staged->chain) return chain_at(staging, staged, index);
    if (!staged->text) stage_refuse(staging, "a value that is no number here");
    if (staged->count == 1) return staged->text;
    return arena_printf(staging->arena, "%s[%s]", staged->text, index);
}

const char *staged_plain(Staging *staging, const Staged *staged, const char *at) {
    return staged_is_float(staged) ? arena_printf(staging->arena, "TAD_V(%s)", at) : at;
}

bool staged_shapes_broadcast(int *rank, int64_t *dims, const Staged *staged) {
    Tile shape = {.rank = staged->rank};
    memcpy(shape.dims, staged->dims, sizeof shape.dims);
    return shapes_broadcast(rank, dims, &shape);
}

const char *staged_broadcast_at(Staging *staging, const Staged *staged, int rank,
                                const int64_t *dims, const char *index) {
    if (staged->count == 1 || (staged->rank == rank && staged->count == shape_count(rank, dims)))
        return staged_at(staging, staged, index);
    Buffer at = buffer_new(staging->arena);
    int64_t below = 1, stride = 1;  // of the index, of the tile
    for (int d = rank - 1; d >= 0; d--) {
        int own = d - (rank - staged->rank);
        int64_t length = own >= 0 ? staged->dims[own] : 1;
        if (length > 1) {
            buffer_printf(&at, "%s%s / %lld %% %lld * %lld", at.size ? " + " : "", index,
                          (long long)below, (long long)dims[d], (long long)stride);
            stride *= length;
        }
        below *= dims[d];
    }
    return staged_at(staging, staged, at.size ? buffer_text(&at) : "0");
}

void stage_fill(Staging *staging, const Staged *into, const char *element) {
    if (into->count == 1) {
        stage_line(staging, "{ const long long i = 0; (void)i; %s = %s; }", into->text, element);
        return;
    }
    stage_line(staging, "EACH(i, %lld) %s[i] = %s;", (long long)into->count, into->text, element);
    stage_barrier(staging);
}

void stage_outputs_open(Staging *staging, const Staged *result) {
    if (result->count > 1) {
        stage_open(staging, "EACH(i, %lld)", (long long)result->count);
        return;
    }
    stage_open(staging, "if (threadIdx.x == 0)");
    stage_line(staging, "const long long i = 0;");
}

void stage_outputs_close(Staging *staging, const Staged *result, const char *value) {
    bool is_float = staged_is_float(result);
    if (result->count > 1) {
        stage_line(staging, "%s[i] = %s;", result->text, value);
        stage_close(staging);
        stage_barrier(staging);
        return;
    }
    const char *field = is_float ? "number" : "integer";
    stage_line(staging, "(void)i;");
    stage_line(staging, "tad_box.%s = %s;", field, value);
    stage_close(staging);
    stage_barrier(staging);
    stage_line(staging, "%s = tad_box.%s;", result->text, field);
    stage_barrier(staging);
}

// --- casts --------------------------------------------------------------------------------------------------------------

int staged_bits(DTypeCode dtype) {
    int bits = dtype_bits(dtype);
    return dtype_class(dtype_of(dtype)) == CLASS_UNSIGNED ? -bits : bits;
}

const char *stage_wrap(Staging *staging, const char *text, DTypeCode dtype) {
    static const char *const types[DTYPE_COUNT] = {
        [DTYPE_INT8] = "signed char",
        [DTYPE_INT16] = "short",
        [DTYPE_INT32] = "int",
        [DTYPE_UINT8] = "unsigned char",
        [DTYPE_UINT16] = "unsigned short",
        [DTYPE_UINT32] = "unsigned int",
    };
    if (dtype == DTYPE_INT1) return arena_printf(staging->arena, "(long long)((%s) != 0)", text);
    if (!types[dtype]) return arena_printf(staging->arena, "(long long)(%s)", text);
    return arena_printf(staging->arena, "(long long)(%s)(%s)", types[dtype], text);
}

static const char *rounded_by(Staging *staging, const char *function, const char *text,
                              DTypeCode dtype) {
    if (!staging->rounds || dtype == DTYPE_FLOAT64 || !dtype_code_is_float(dtype)) return text;
    return arena_printf(staging->arena, "%s(%s, %d)", function, text, (int)dtype);
}

const char *stage_rounded(Staging *staging, const char *text, DTypeCode dtype) {
    return rounded_by(staging, "tad_round_as", text, dtype);
}

const char *stage_rounded_loaded(Staging *staging, const char *text, DTypeCode dtype) {
    return rounded_by(staging, "tad_round_loaded", text, dtype);
}

const char *stage_cast_text(Staging *staging, const char *at, DTypeCode from, DTypeCode to) {
    Arena *arena = staging->arena;
    if (dtype_code_is_float(to)) {
        if (from == to) return at;
        if (dtype_code_is_float(from)) return stage_rounded(staging, at, to);
        return stage_rounded(staging,
                             arena_printf(arena,
                                          from == DTYPE_UINT64
                                              ? "TAD_REAL((double)(unsigned long long)(%s))"
                                              : "TAD_REAL((double)(%s))",
                                          at),
                             to);
    }
    if (!dtype_code_is_float(from)) return stage_wrap(staging, at, to);
    if (to == DTYPE_INT1) return arena_printf(arena, "(long long)(TAD_V(%s) != 0)", at);
    return arena_printf(arena, "tad_whole_as(TAD_V(%s), %d)", at, staged_bits(to));
}

const char *stage_cast_at(Staging *staging, const Staged *staged, const char *at, DTypeCode to) {
    bool is_open = staged->is_weak && staged->dtype == to;  // no type has been its own yet
    return is_open ? stage_rounded(staging, at, to)
                   : stage_cast_text(staging, at, staged->dtype, to);
}

const Staged *stage_cast(Staging *staging, const Staged *source, DTypeCode dtype) {
    bool is_same = source->dtype == dtype && !source->is_weak;
    if (source->kind == TILE_NUMBER && (is_same || source->tile)) {
        if (is_same) return source;
        Tile *tile =
            tile_cast(&staging->folding->pool, tile_retain((Tile *)(uintptr_t)source->tile), dtype,
                      staging->rounds);
        tile->is_weak = false;
        return staged_known(staging, tile);
    }
    bool is_copy = dtype_code_is_float(dtype) && dtype_code_is_float(source->dtype);
    if (is_copy && (!staging->rounds || dtype == DTYPE_FLOAT64)) {
        Staged *same = ARENA_NEW(staging->arena, Staged);
        *same = *source;
        same->dtype = dtype;
        same->is_weak = false;
        return same;
    }
    Staged *result = staged_new(staging, TILE_NUMBER, dtype, source->rank, source->dims);
    stage_fill(staging, result,
               stage_cast_at(staging, source, staged_at(staging, source, "i"), dtype));
    return result;
}

// --- operands -----------------------------------------------------------------------------------------------------------

const Staged *staged_operand(Staging *staging, const Op *op, int index) {
    if (index < 0 || index >= op->operand_count || !op->operands[index]) return NULL;
    const Staged *staged = stage_value(staging, op->operands[index]);
    return staged->kind == TILE_NONE ? NULL : staged;
}

const Staged *staged_named(Staging *staging, const Op *op, const char *name) {
    return staged_operand(staging, op, op_parameter_index(op->code, str_from(name)));
}

const Staged *staged_number(Staging *staging, const Op *op, int index) {
    const Staged *staged = staged_operand(staging, op, index);
    if (staged && staged->kind == TILE_NUMBER) return staged;
    stage_refuse(staging, "%s of what is no number", op_rows[op->code].id);
}

int64_t staged_int(Staging *staging, const Op *op, const char *name, int64_t missing) {
    const Staged *staged = staged_named(staging, op, name);
    if (!staged || staged->kind != TILE_NUMBER || staged->count != 1) return missing;
    if (!staged->tile)
        stage_refuse(staging, "%s with `%s` known at run time alone", op_rows[op->code].id, name);
    return tile_integer_at(staged->tile, 0);
}

bool staged_flag(Staging *staging, const Op *op, const char *name, bool missing) {
    const Staged *staged = staged_named(staging, op, name);
    if (!staged) return missing;
    if (!staged->tile)
        stage_refuse(staging, "%s with `%s` known at run time alone", op_rows[op->code].id, name);
    return tile_truth(staged->tile);
}

Str staged_string(Staging *staging, const Op *op, const char *name) {
    const Staged *staged = staged_named(staging, op, name);
    if (staged && staged->kind == TILE_CONSTANT && staged->tile->constant->kind == CONSTANT_STRING)
        return staged->tile->constant->string;
    return (Str){0};
}

DTypeCode staged_dtype(Staging *staging, const Op *op, const char *name, DTypeCode missing) {
    const Staged *staged = staged_named(staging, op, name);
    if (!staged || staged->kind != TILE_CONSTANT) return missing;
    const Constant *constant = staged->tile->constant;
    DTypeCode code = DTYPE_UNKNOWN;
    if (constant->kind == CONSTANT_DTYPE) code = constant->dtype.code;
    if (constant->kind == CONSTANT_STRING) code = dtype_from_name(constant->string);
    if (code <= DTYPE_OF_PARAMETER) stage_refuse(staging, "`%s` that is no element type", name);
    return code;
}

int staged_scalars(const Staged *staged, const Staged **scalars, int capacity) {
    if (!staged) return -1;
    if (staged->kind == TILE_TUPLE) {
        int count = 0;
        for (int i = 0; i < staged->item_count; i++) {
            int found = staged_scalars(staged->items[i], scalars + count, capacity - count);
            if (found < 0) return -1;
            count += found;
        }
        return count;
    }
    if (staged->kind != TILE_NUMBER || staged->count != 1 || capacity < 1 ||
        staged_is_float(staged))
        return -1;
    scalars[0] = staged;
    return 1;
}

int staged_integers(const Staged *staged, int64_t *integers, int capacity) {
    const Staged *scalars[TYPE_MAX_RANK];
    int count =
        staged_scalars(staged, scalars, capacity < TYPE_MAX_RANK ? capacity : TYPE_MAX_RANK);
    for (int i = 0; i < count; i++) {
        if (!scalars[i]->tile) return -1;
        integers[i] = tile_integer_at(scalars[i]->tile, 0);
    }
    return count;
}

int staged_axis(Staging *staging, const Op *op, const char *name, int rank, int missing) {
    int64_t axis = staged_int(staging, op, name, missing);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
        stage_refuse(staging, "axis %lld of a tile of rank %d", (long long)axis, rank);
    return (int)axis;
}
