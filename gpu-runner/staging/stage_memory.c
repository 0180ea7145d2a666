// Loads, stores and atomics. Each access looks its address up in the launch's table of buffers.
#include "gpu-runner/staging/staged.h"

/// Where one memory op goes, over the element `i`.
typedef struct StageAccess {
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    const char *address;
    const char *on;  // whether the element takes part; NULL: it does
    DTypeCode dtype;
    int line;
} StageAccess;

static int line_of(const Op *op) { return op->range.source ? range_line(op->range) : 0; }

/// A block at `offsets` of a tensor: `checked` dims drop elements outside of its shape.
static StageAccess block_access(Staging *staging, const Op *op, const Staged *block,
                                const Staged *const *offsets, unsigned checked) {
    const Staged *shape[TYPE_MAX_RANK], *strides[TYPE_MAX_RANK];
    int rank = block->rank;
    if (staged_scalars(block->items[1], shape, TYPE_MAX_RANK) != rank ||
        staged_scalars(block->items[2], strides, TYPE_MAX_RANK) != rank)
        stage_refuse(staging, "a block of another rank than its shape or strides");
    StageAccess access = {.rank = rank, .dtype = block->dtype, .line = line_of(op)};
    memcpy(access.dims, block->dims, sizeof access.dims);
    Buffer address = buffer_new(staging->arena), on = buffer_new(staging->arena);
    buffer_puts(&address, staged_at(staging, block->items[0], "0"));
    int64_t below = 1;
    for (int d = rank - 1; d >= 0; d--) {
        const char *index =
            arena_printf(staging->arena, "(%s + i / %lld %% %lld)", offsets[d]->text,
                         (long long)below, (long long)block->dims[d]);
        buffer_printf(&address, " + %s * %s", index, strides[d]->text);
        if ((checked >> d) & 1)
            buffer_printf(&on, "%s%s >= 0 && %s < %s", on.size ? " && " : "", index, index,
                          shape[d]->text);
        below *= block->dims[d];
    }
    access.address = buffer_text(&address);
    access.on = on.size ? buffer_text(&on) : NULL;
    return access;
}

static unsigned boundary_check(Staging *staging, const Op *op, int rank) {
    int64_t dims[TYPE_MAX_RANK];
    const Staged *given = staged_named(staging, op, "boundary_check");
    int count = given ? staged_integers(given, dims, TYPE_MAX_RANK) : 0;
    unsigned checked = 0;
    for (int i = 0; i < count; i++) {
        if (dims[i] < 0 || dims[i] >= rank) stage_refuse(staging, "such a boundary_check");
        checked |= 1u << dims[i];
    }
    return checked;
}

static StageAccess pointer_access(Staging *staging, const Op *op, const Staged *value) {
    const Staged *pointer = staged_operand(staging, op, 0),
                 *mask = staged_named(staging, op, "mask");
    if (pointer && pointer->kind == TILE_BLOCK_POINTER) {
        const Staged *offsets[TYPE_MAX_RANK];
        if (staged_scalars(pointer->items[3], offsets, TYPE_MAX_RANK) != pointer->rank)
            stage_refuse(staging, "such a block pointer");
        return block_access(staging, op, pointer, offsets,
                            boundary_check(staging, op, pointer->rank));
    }
    if (!pointer || pointer->kind != TILE_POINTER || (mask && mask->kind != TILE_NUMBER))
        stage_refuse(staging, "%s through what is no pointer", op_rows[op->code].id);
    StageAccess access = {.rank = pointer->rank, .dtype = pointer->dtype, .line = line_of(op)};
    memcpy(access.dims, pointer->dims, sizeof access.dims);
    if ((mask && !staged_shapes_broadcast(&access.rank, access.dims, mask)) ||
        (value && pointer->rank && !staged_shapes_broadcast(&access.rank, access.dims, value)))
        stage_refuse(staging, "pointers, mask and value that do not broadcast");
    access.address = staged_broadcast_at(staging, pointer, access.rank, access.dims, "i");
    if (mask)
        access.on = arena_printf(
            staging->arena, "(%s) != 0",
            staged_plain(staging, mask,
                         staged_broadcast_at(staging, mask, access.rank, access.dims, "i")));
    return access;
}

/// What an element gets that reads nothing, over `i`.
static const Staged *load_access(Staging *staging, const StageAccess *access, const char *missing) {
    Staged *result = staged_new(staging, TILE_NUMBER, access->dtype, access->rank, access->dims);
    bool is_float = staged_is_float(result);
    const char *read =
        arena_printf(staging->arena, "tad_read%s(launch, %s, %d, %d, program, i)",
                     is_float ? "" : "_whole", access->address, (int)access->dtype, access->line);
    if (!is_float) read = stage_wrap(staging, read, access->dtype);
    stage_outputs_open(staging, result);
    const char *value =
        access->on ? arena_printf(staging->arena, "%s ? %s : %s", access->on, read, missing) : read;
    stage_outputs_close(staging, result, stage_rounded_loaded(staging, value, access->dtype));
    return result;
}

void stage_load(Staging *staging, const Op *op) {
    StageAccess access = pointer_access(staging, op, NULL);
    const Staged *other = staged_named(staging, op, "other");
    bool is_nan = str_is(staged_string(staging, op, "padding_option"), "nan");
    const char *missing = !dtype_code_is_float(access.dtype) ? "0"
                          : is_nan                           ? "TAD_REAL(TAD_NAN)"
                                                             : "TAD_REAL(0.0)";
    if (other && other->kind == TILE_NUMBER) {
        int rank = access.rank;
        int64_t dims[TYPE_MAX_RANK], count = shape_count(access.rank, access.dims);
        memcpy(dims, access.dims, sizeof dims);
        if (!staged_shapes_broadcast(&rank, dims, other) || rank != access.rank ||
            shape_count(rank, dims) != count)
            stage_refuse(staging, "`other` of another shape than the pointers");
        missing = stage_cast_text(staging, staged_broadcast_at(staging, other, rank, dims, "i"),
                                  other->dtype, access.dtype);
    } else if (other) {
        stage_refuse(staging, "`other` that is no number");
    }
    stage_result(staging, op, load_access(staging, &access, missing));
}

/// The stored value over `i`, in the elements' type.
static const char *stored_text(Staging *staging, const StageAccess *access, const Staged *value) {
    if (value->kind != TILE_NUMBER) stage_refuse(staging, "a store of what is no number");
    int rank = access->rank;
    int64_t dims[TYPE_MAX_RANK];
    memcpy(dims, access->dims, sizeof dims);
    const char *at;
    if (value->count == shape_count(access->rank, access->dims)) {
        at = staged_at(staging, value, "i");
    } else {
        if (!staged_shapes_broadcast(&rank, dims, value) || rank != access->rank ||
            memcmp(dims, access->dims, sizeof(int64_t) * (size_t)rank) != 0)
            stage_refuse(staging, "a store of a larger tile than there are pointers");
        at = staged_broadcast_at(staging, value, rank, dims, "i");
    }
    return stage_cast_at(staging, value, at, access->dtype);
}

/// `for` each element that takes part; one element is the first thread's.
static void access_open(Staging *staging, const StageAccess *access) {
    stage_open(staging, "EACH(i, %lld)", (long long)shape_count(access->rank, access->dims));
    if (access->on) stage_line(staging, "if (!(%s)) continue;", access->on);
}

static void access_close(Staging *staging) {
    stage_close(staging);
    stage_barrier(staging);
}

static void store_access(Staging *staging, const StageAccess *access, const Staged *value) {
    const char *text = stored_text(staging, access, value);
    access_open(staging, access);
    stage_line(staging, "tad_write%s(launch, %s, %d, %s, %d, program, i);",
               dtype_code_is_float(access->dtype) ? "" : "_whole", access->address,
               (int)access->dtype, text, access->line);
    access_close(staging);
}

static void no_result(Staging *staging, const Op *op) {
    if (op->result_count)
        stage_result(staging, op,
                     staged_known(staging, tile_special(&staging->folding->pool, TILE_NONE, NULL)));
}

void stage_store(Staging *staging, const Op *op) {
    const Staged *value = staged_named(staging, op, op->code == OP_STORE ? "value" : "val");
    if (!value) stage_refuse(staging, "a store of None");
    StageAccess access = pointer_access(staging, op, value);
    store_access(staging, &access, value);
    no_result(staging, op);
}

// --- atomics ------------------------------------------------------------------------------------------------------------

typedef struct ValueUses {
    const Value *value;
    bool found;
} ValueUses;

static bool visit_use(void *context, Op *op) {
    ValueUses *uses = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == uses->value) uses->found = true;
    return !uses->found;
}

static bool is_used(const Staging *staging, const Op *op) {
    ValueUses uses = {.value = op->result_count ? op->results[0] : NULL};
    if (uses.value) region_walk(staging->function->body, visit_use, &uses);
    return uses.found;
}

/// As the functions of the text number them.
static const int how[OP_COUNT] = {[OP_ATOMIC_ADD] = 0, [OP_DESCRIPTOR_ATOMIC_ADD] = 0,
                                  [OP_ATOMIC_MAX] = 1, [OP_DESCRIPTOR_ATOMIC_MAX] = 1,
                                  [OP_ATOMIC_MIN] = 2, [OP_DESCRIPTOR_ATOMIC_MIN] = 2,
                                  [OP_ATOMIC_AND] = 3, [OP_DESCRIPTOR_ATOMIC_AND] = 3,
                                  [OP_ATOMIC_OR] = 4,  [OP_DESCRIPTOR_ATOMIC_OR] = 4,
                                  [OP_ATOMIC_XOR] = 5, [OP_DESCRIPTOR_ATOMIC_XOR] = 5,
                                  [OP_ATOMIC_XCHG] = 6};

/// Whether the order of lanes and programs is seen: in what is given back, in how sums are rounded, in whose tangent is kept.
static bool keeps_order(const Staging *staging, const Op *op, const StageAccess *access) {
    bool is_float = dtype_code_is_float(access->dtype),
         is_free = how[op->code] == 0 && staging->adds_at_once;
    return op->code == OP_ATOMIC_CAS || op->code == OP_ATOMIC_XCHG || is_used(staging, op) ||
           (is_float && (staging->rounds || (staging->is_dual && !is_free)));
}

/// How one element is updated, as text whose value is what was there: of floats in order a TadReal, else a TadWord.
static const char *update_text(Staging *staging, const Op *op, const StageAccess *access,
                               const Staged *value, bool in_order) {
    const Staged *wanted = op->code == OP_ATOMIC_CAS ? staged_named(staging, op, "cmp") : NULL;
    bool is_float = dtype_code_is_float(access->dtype);
    int bits = is_float ? 0 : staged_bits(access->dtype);
    if (staging->is_dual && is_float && op->code == OP_ATOMIC_CAS)
        stage_refuse(staging, "the derivative of %s", op_rows[op->code].id);
    const char *text = stored_text(staging, access, value);
    if (is_float && in_order && op->code != OP_ATOMIC_CAS)
        return arena_printf(staging->arena, "tad_turn(launch, %s, %d, %d, %s, %d, program, i)",
                            access->address, (int)access->dtype, how[op->code], text, access->line);
    if (op->code != OP_ATOMIC_CAS)
        return arena_printf(staging->arena,
                            "tad_update(launch, %s, %d, %d, %d, %d, %s, %s, %d, program, i)",
                            access->address, (int)access->dtype, how[op->code], is_float, bits,
                            is_float ? text : "TAD_REAL(0.0)", is_float ? "0" : text, access->line);
    if (!wanted) stage_refuse(staging, "an atomic without a value");
    const char *word = is_float ? "tad_word(TAD_V" : "tad_word_whole",
               *other = stored_text(staging, access, wanted), *end = is_float ? ")" : "";
    return arena_printf(staging->arena,
                        "tad_swap(launch, %s, %d, %d, %s(%s)%s, %s(%s)%s, %d, program, i)",
                        access->address, (int)access->dtype, is_float, word, other, end, word, text,
                        end, access->line);
}

/// The first thread goes through the lanes, and one block runs all programs.
static void update_in_order(Staging *staging, const Op *op, const StageAccess *access,
                            const char *update) {
    bool is_float = dtype_code_is_float(access->dtype);
    Staged *old = staged_new(staging, TILE_NUMBER, access->dtype, access->rank, access->dims);
    const char *field = is_float ? "number" : "integer";
    const char *into = old->count > 1 ? staged_at(staging, old, "i")
                                      : arena_printf(staging->arena, "tad_box.%s", field);
    const char *before = op->code == OP_ATOMIC_CAS && is_float
                             ? arena_printf(staging->arena, "TAD_REAL(%s.number)", update)
                         : is_float ? update
                                    : arena_printf(staging->arena, "%s.integer", update);
    staging->is_ordered = true;
    stage_open(staging, "if (threadIdx.x == 0) for (long long i = 0; i < %lld; i++)",
               (long long)old->count);
    stage_line(staging, "%s = %s;", into, is_float ? "TAD_REAL(0.0)" : "0");
    stage_line(staging, "if (%s) %s = %s;", access->on ? access->on : "1", into, before);
    stage_close(staging);
    stage_barrier(staging);
    if (old->count == 1) {
        stage_line(staging, "%s = tad_box.%s;", old->text, field);
        stage_barrier(staging);
    }
    if (op->result_count) stage_result(staging, op, old);
}

static void update_access(Staging *staging, const Op *op, const StageAccess *access,
                          const Staged *value) {
    bool in_order = keeps_order(staging, op, access);
    const char *update = update_text(staging, op, access, value, in_order);
    if (in_order) {
        update_in_order(staging, op, access, update);
        return;
    }
    access_open(staging, access);
    stage_line(staging, "%s;", update);
    access_close(staging);
    no_result(staging, op);
}

/// What other programs have stored counts, and so does their order.
void stage_atomic_load(Staging *staging, const Op *op) {
    StageAccess access = pointer_access(staging, op, NULL);
    staging->is_ordered = true;
    bool is_float = dtype_code_is_float(access.dtype);
    stage_result(staging, op, load_access(staging, &access, is_float ? "TAD_REAL(0.0)" : "0"));
}

void stage_atomic(Staging *staging, const Op *op) {
    const Staged *value = staged_named(staging, op, "val");
    if (!value) stage_refuse(staging, "an atomic without a value");
    StageAccess access = pointer_access(staging, op, value);
    update_access(staging, op, &access, value);
}

// --- block pointers and descriptors -------------------------------------------------------------------------------------

static Staged *shaped(Staging *staging, const Op *op, TileKind kind, int count) {
    static const char *const names[] = {"base", "shape", "strides", "offsets"};
    int64_t dims[TYPE_MAX_RANK];
    const Staged *items[4], *base = staged_named(staging, op, "base");
    int rank = staged_integers(staged_named(staging, op, "block_shape"), dims, TYPE_MAX_RANK);
    if (!base || base->kind != TILE_POINTER || base->count != 1 || rank < 0)
        stage_refuse(staging, "such a block");
    for (int i = 0; i < count; i++) {
        items[i] = staged_named(staging, op, names[i]);
        if (!items[i]) stage_refuse(staging, "a block without `%s`", names[i]);
    }
    Staged *staged = staged_tuple(staging, items, count);
    staged->kind = kind;
    staged->dtype = base->dtype;
    staged->rank = rank;
    memcpy(staged->dims, dims, sizeof(int64_t) * (size_t)rank);
    staged->count = shape_count(rank, dims);
    return staged;
}

void stage_make_block_pointer(Staging *staging, const Op *op) {
    stage_result(staging, op, shaped(staging, op, TILE_BLOCK_POINTER, 4));
}

void stage_make_descriptor(Staging *staging, const Op *op) {
    Staged *staged = shaped(staging, op, TILE_DESCRIPTOR, 3);
    staged->is_weak = str_is(staged_string(staging, op, "padding_option"), "nan");
    stage_result(staging, op, staged);
}

void stage_advance(Staging *staging, const Op *op) {
    const Staged *block = staged_operand(staging, op, 0);
    if (!block || block->kind != TILE_BLOCK_POINTER)
        stage_refuse(staging, "advance() of what is no block pointer");
    const Staged *offsets[TYPE_MAX_RANK], *steps[TYPE_MAX_RANK], *moved[TYPE_MAX_RANK];
    int rank = block->rank;
    if (staged_scalars(block->items[3], offsets, TYPE_MAX_RANK) != rank ||
        staged_scalars(staged_named(staging, op, "offsets"), steps, TYPE_MAX_RANK) != rank)
        stage_refuse(staging, "such an advance()");
    for (int i = 0; i < rank; i++) {
        Staged *sum = staged_new(staging, TILE_NUMBER, offsets[i]->dtype, 0, NULL);
        stage_line(staging, "%s = %s + %s;", sum->text, offsets[i]->text, steps[i]->text);
        moved[i] = sum;
    }
    const Staged *items[4] = {block->items[0], block->items[1], block->items[2],
                              staged_tuple(staging, moved, rank)};
    Staged *result = staged_tuple(staging, items, 4);
    Staged *const *held = result->items;
    *result = *block;
    result->items = held;
    stage_result(staging, op, result);
}

static StageAccess descriptor_access(Staging *staging, const Op *op) {
    const Staged *descriptor = staged_operand(staging, op, 0), *offsets[TYPE_MAX_RANK];
    if (!descriptor || descriptor->kind != TILE_DESCRIPTOR ||
        staged_scalars(staged_named(staging, op, "offsets"), offsets, TYPE_MAX_RANK) !=
            descriptor->rank)
        stage_refuse(staging, "%s of such a descriptor", op_rows[op->code].id);
    return block_access(staging, op, descriptor, offsets, ~0u);
}

/// Rows `x_offsets` of a matrix, from column `y_offset` on.
static StageAccess gathered_access(Staging *staging, const Op *op) {
    const Staged *descriptor = staged_operand(staging, op, 0),
                 *rows = staged_named(staging, op, "x_offsets"),
                 *column = staged_named(staging, op, "y_offset"), *shape[2], *strides[2];
    bool is_matrix = descriptor && descriptor->kind == TILE_DESCRIPTOR && descriptor->rank == 2 &&
                     staged_scalars(descriptor->items[1], shape, 2) == 2 &&
                     staged_scalars(descriptor->items[2], strides, 2) == 2;
    if (!is_matrix || !rows || rows->kind != TILE_NUMBER || rows->rank != 1 || !column ||
        column->count != 1 || staged_is_float(column) || staged_is_float(rows))
        stage_refuse(staging, "%s of such a descriptor", op_rows[op->code].id);
    StageAccess access = {
        .rank = 2, .dims = {rows->count, descriptor->dims[1]}, .dtype = descriptor->dtype};
    access.line = line_of(op);
    long long width = (long long)descriptor->dims[1];
    const char *row = staged_at(staging, rows, arena_printf(staging->arena, "i / %lld", width)),
               *at = arena_printf(staging->arena, "(%s + i %% %lld)", column->text, width);
    access.address = arena_printf(staging->arena, "%s + %s * %s + %s * %s",
                                  staged_at(staging, descriptor->items[0], "0"), row,
                                  strides[0]->text, at, strides[1]->text);
    access.on = arena_printf(staging->arena, "%s >= 0 && %s < %s && %s >= 0 && %s < %s", row, row,
                             shape[0]->text, at, at, shape[1]->text);
    return access;
}

void stage_descriptor_load(Staging *staging, const Op *op) {
    StageAccess access = op->code == OP_DESCRIPTOR_GATHER ? gathered_access(staging, op)
                                                          : descriptor_access(staging, op);
    bool is_nan = staged_operand(staging, op, 0)->is_weak;
    const char *missing = !dtype_code_is_float(access.dtype) ? "0"
                          : is_nan                           ? "TAD_REAL(TAD_NAN)"
                                                             : "TAD_REAL(0.0)";
    stage_result(staging, op, load_access(staging, &access, missing));
}

void stage_descriptor_store(Staging *staging, const Op *op) {
    StageAccess access = op->code == OP_DESCRIPTOR_SCATTER ? gathered_access(staging, op)
                                                           : descriptor_access(staging, op);
    const Staged *value = staged_named(staging, op, "value");
    if (!value) stage_refuse(staging, "a store of None");
    store_access(staging, &access, value);
    no_result(staging, op);
}

void stage_descriptor_atomic(Staging *staging, const Op *op) {
    StageAccess access = descriptor_access(staging, op);
    const Staged *value = staged_named(staging, op, "value");
    if (!value) stage_refuse(staging, "an atomic without a value");
    update_access(staging, op, &access, value);
}
