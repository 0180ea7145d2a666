// Loads, stores and atomics through pointers, block pointers and tensor descriptors.
#include <math.h>
#include <string.h>

#include "gpu-runner/interp/interp.h"

/// Where one memory op goes: an address per lane and whether the lane takes part.
typedef struct AccessLanes {
    TilePool *pool;
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t count;
    int64_t *addresses;
    uint8_t *on;
    DTypeCode dtype;  // of the elements
} AccessLanes;

static AccessLanes lanes_new(Interp *interp, int rank, const int64_t *dims, DTypeCode dtype) {
    AccessLanes lanes = {.pool = &interp->pool, .rank = rank, .dtype = dtype};
    for (int i = 0; i < rank; i++) lanes.dims[i] = dims[i];
    lanes.count = shape_count(rank, dims);
    lanes.addresses = pool_block(&interp->pool, sizeof(int64_t) * (size_t)lanes.count);
    lanes.on = pool_block(&interp->pool, (size_t)lanes.count);
    memset(lanes.on, 1, (size_t)lanes.count);
    return lanes;
}

static void lanes_free(const AccessLanes *lanes) {
    pool_free(lanes->pool, lanes->addresses, sizeof(int64_t) * (size_t)lanes->count);
    pool_free(lanes->pool, lanes->on, (size_t)lanes->count);
}

/// Steps a row-major index; false after the last.
static bool next_index(const AccessLanes *lanes, int64_t *at) {
    for (int d = lanes->rank - 1; d >= 0; d--) {
        if (++at[d] < lanes->dims[d]) return true;
        at[d] = 0;
    }
    return false;
}

/// Lanes of a block at `offsets` of a tensor: `checked` dims drop lanes outside `shape`.
static AccessLanes block_lanes(Interp *interp, const Tile *block, const int64_t *offsets,
                               unsigned checked) {
    int64_t shape[TYPE_MAX_RANK], strides[TYPE_MAX_RANK];
    int rank = block->rank;
    if (tile_integers(block->items[1], shape, TYPE_MAX_RANK) != rank ||
        tile_integers(block->items[2], strides, TYPE_MAX_RANK) != rank)
        interp_stop(interp, "a block whose shape or strides have another rank than the block");
    AccessLanes lanes = lanes_new(interp, rank, block->dims, block->dtype);
    int64_t base = block->items[0]->integer[0], at[TYPE_MAX_RANK] = {0};
    int64_t step = memory_step(interp->memory, block->dtype);
    for (int64_t i = 0; i < lanes.count; i++) {
        int64_t address = base;
        for (int d = 0; d < rank; d++) {
            int64_t index = offsets[d] + at[d];
            address += index * strides[d] * step;
            if ((checked >> d) & 1 && (index < 0 || index >= shape[d])) lanes.on[i] = 0;
        }
        lanes.addresses[i] = address;
        next_index(&lanes, at);
    }
    return lanes;
}

static unsigned boundary_check(Interp *interp, const Op *op, int rank) {
    int64_t dims[TYPE_MAX_RANK];
    Tile *given = operand_named(interp, op, "boundary_check");
    int count = given ? tile_integers(given, dims, TYPE_MAX_RANK) : 0;
    unsigned checked = 0;
    for (int i = 0; i < count; i++) {
        if (dims[i] < 0 || dims[i] >= rank || (checked >> dims[i]) & 1)
            interp_stop(interp, "boundary_check of axis %lld of %d, or twice", (long long)dims[i],
                        rank);
        checked |= 1u << dims[i];
    }
    return checked;
}

/// The lanes of a load, store or atomic: pointers broadcast with the mask (and the value, for stores).
static AccessLanes pointer_lanes(Interp *interp, const Op *op, Tile *mask, Tile *value) {
    Tile *pointer = operand_at(interp, op, 0);
    if (!pointer) interp_stop(interp, "%s through None", op_rows[op->code].id);
    if (pointer->kind == TILE_BLOCK_POINTER) {
        int64_t offsets[TYPE_MAX_RANK];
        if (tile_integers(pointer->items[3], offsets, TYPE_MAX_RANK) != pointer->rank)
            interp_stop(interp, "a block pointer's offsets");
        return block_lanes(interp, pointer, offsets, boundary_check(interp, op, pointer->rank));
    }
    if (pointer->kind != TILE_POINTER)
        interp_stop(interp, "%s through %s", op_rows[op->code].id,
                    tile_describe(interp->arena, pointer));
    int rank = pointer->rank;
    int64_t dims[TYPE_MAX_RANK];
    memcpy(dims, pointer->dims, sizeof dims);
    if ((mask && !shapes_broadcast(&rank, dims, mask)) ||
        (value && value->kind == TILE_NUMBER && pointer->rank &&
         !shapes_broadcast(&rank, dims, value)))
        interp_stop(interp, "pointers, mask and value do not broadcast");
    AccessLanes lanes = lanes_new(interp, rank, dims, pointer->dtype);
    Tile *all = tile_broadcast(&interp->pool, pointer, rank, dims);
    memcpy(lanes.addresses, all->integer, sizeof(int64_t) * (size_t)lanes.count);
    tile_release(&interp->pool, all);
    if (mask) {
        Tile *wide = tile_broadcast(&interp->pool, mask, rank, dims);
        for (int64_t i = 0; i < lanes.count; i++) lanes.on[i] = tile_number_at(wide, i) != 0;
        tile_release(&interp->pool, wide);
    }
    return lanes;
}

static void note_access(Interp *interp, const Op *op, const AccessLanes *lanes) {
    if (interp->coverage)
        coverage_access(interp->coverage, op, lanes->rank, lanes->dims, lanes->on);
    if (interp->traffic) traffic_access(interp->traffic, op, lanes->dtype, lanes->count, lanes->on);
}

static Tile *mask_of(Interp *interp, const Op *op) {
    Tile *mask = operand_named(interp, op, "mask");
    if (mask && mask->kind != TILE_NUMBER) interp_stop(interp, "a mask that is no number");
    return mask;
}

/// What a lane gets that reads nothing: `other`, padding, or nothing defined.
typedef struct Fill {
    Tile *other;  // broadcast, or NULL
    double number;
    bool is_defined;
} Fill;

#define NOT_AN_ADDRESS                                                                             \
    "a number from memory that is the address of none of the kernel's tensors, and a proof has "    \
    "no others"

static Tile *load_lanes(Interp *interp, const AccessLanes *lanes, Fill fill) {
    VirtualMemory *memory = interp->memory;
    Tile *tile = tile_new(&interp->pool, TILE_NUMBER, lanes->dtype, lanes->rank, lanes->dims);
    for (int64_t i = 0; i < lanes->count; i++) {
        Element element = {.number = fill.number, .integer = (int64_t)fill.number};
        if (lanes->on[i]) {
            memory->lane = i;
            if (memory->by_bytes)
                memory_check_alignment(memory, lanes->addresses[i], lanes->dtype, "reads");
            if (!memory_load(memory, lanes->addresses[i], &element))
                interp_stop(interp, "loads through " NOT_AN_ADDRESS);
        } else if (fill.other) {
            element.number = tile_number_at(fill.other, i);
            element.integer = tile_integer_at(fill.other, i);
            element.tangent = fill.other->tangent ? fill.other->tangent[i] : 0;
            element.poison = fill.other->poison && fill.other->poison[i];
        } else {
            element.poison = !fill.is_defined && !memory->fills_zero;
        }
        if (tile->number)
            tile->number[i] = element.number;
        else
            tile->integer[i] = wrap_integer(element.integer, lanes->dtype);
        if (element.tangent != 0 && tile->number)
            tile_need_tangent(&interp->pool, tile)[i] = element.tangent;
        if (element.poison) tile_need_poison(&interp->pool, tile)[i] = 1;
    }
    if (interp->rounds && tile->number)
        for (int64_t i = 0; i < tile->count; i++)
            tile->number[i] = round_float(tile->number[i], lanes->dtype);
    return tile;
}

static void store_lanes(Interp *interp, const AccessLanes *lanes, Tile *value) {
    VirtualMemory *memory = interp->memory;
    if (value->kind != TILE_NUMBER)
        interp_stop(interp, "a store of %s", tile_describe(interp->arena, value));
    Tile *cast = cast_number(interp, value, lanes->dtype);
    int rank = lanes->rank;
    int64_t dims[TYPE_MAX_RANK];
    memcpy(dims, lanes->dims, sizeof dims);
    if (cast->count == lanes->count && cast->rank != rank)
        cast = interp_consume(interp, cast, tile_reshape(&interp->pool, cast, rank, dims));
    if (!shapes_broadcast(&rank, dims, cast) || rank != lanes->rank ||
        memcmp(dims, lanes->dims, sizeof(int64_t) * (size_t)rank) != 0)
        interp_stop(interp, "a store of %s to fewer pointers", tile_describe(interp->arena, value));
    Tile *wide = tile_broadcast(&interp->pool, cast, rank, dims);
    for (int64_t i = 0; i < lanes->count; i++) {
        if (!lanes->on[i]) continue;
        Element element = {.number = tile_number_at(wide, i), .integer = tile_integer_at(wide, i)};
        if (wide->tangent) element.tangent = wide->tangent[i];
        if (wide->poison) element.poison = wide->poison[i];
        memory->lane = i;
        if (memory->by_bytes)
            memory_check_alignment(memory, lanes->addresses[i], lanes->dtype, "writes");
        if (!memory_store(memory, lanes->addresses[i], element))
            interp_stop(interp, "stores through " NOT_AN_ADDRESS);
    }
    tile_release(&interp->pool, wide);
    tile_release(&interp->pool, cast);
}

static Fill padding_of(Interp *interp, const Op *op) {
    Str option = operand_string(interp, op, "padding_option");
    if (str_is(option, "nan")) return (Fill){.number = NAN, .is_defined = true};
    return (Fill){.is_defined = str_is(option, "zero")};
}

void run_load(Interp *interp, const Op *op) {
    Tile *mask = mask_of(interp, op), *other = operand_named(interp, op, "other");
    AccessLanes lanes = pointer_lanes(interp, op, mask, NULL);
    note_access(interp, op, &lanes);
    Fill fill = padding_of(interp, op);
    Tile *cast = NULL;
    if (other && other->kind == TILE_NUMBER) {
        int rank = lanes.rank;
        int64_t dims[TYPE_MAX_RANK];
        memcpy(dims, lanes.dims, sizeof dims);
        if (!shapes_broadcast(&rank, dims, other) || rank != lanes.rank)
            interp_stop(interp, "`other` does not broadcast with the pointers");
        cast = cast_number(interp, other, lanes.dtype);
        fill.other = tile_broadcast(&interp->pool, cast, lanes.rank, lanes.dims);
        if (fill.other->count != lanes.count)
            interp_stop(interp, "`other` is larger than the pointers");
    }
    Tile *result = load_lanes(interp, &lanes, fill);
    tile_release(&interp->pool, fill.other);
    tile_release(&interp->pool, cast);
    lanes_free(&lanes);
    interp_result(interp, op, result);
}

void run_store(Interp *interp, const Op *op) {
    Tile *value = operand_named(interp, op, "value");
    if (!value) value = operand_named(interp, op, "val");
    if (!value) interp_stop(interp, "a store of None");
    AccessLanes lanes = pointer_lanes(interp, op, mask_of(interp, op), value);
    note_access(interp, op, &lanes);
    store_lanes(interp, &lanes, value);
    lanes_free(&lanes);
    if (op->result_count) interp_result(interp, op, tile_special(&interp->pool, TILE_NONE, NULL));
}

// --- atomics ------------------------------------------------------------------------------------------------------------

static double updated_number(OpCode code, double old, double value) {
    switch (code) {
    case OP_ATOMIC_ADD: return old + value;
    case OP_ATOMIC_MAX: return fmax(old, value);
    case OP_ATOMIC_MIN: return fmin(old, value);
    default: return value;
    }
}

static int64_t updated_integer(OpCode code, int64_t old, int64_t value) {
    switch (code) {
    case OP_ATOMIC_ADD: return (int64_t)((uint64_t)old + (uint64_t)value);
    case OP_ATOMIC_MAX: return old > value ? old : value;
    case OP_ATOMIC_MIN: return old < value ? old : value;
    case OP_ATOMIC_AND: return old & value;
    case OP_ATOMIC_OR: return old | value;
    case OP_ATOMIC_XOR: return old ^ value;
    default: return value;
    }
}

/// The descriptor's atomics are the same updates.
static OpCode plain_atomic(OpCode code) {
    switch (code) {
    case OP_DESCRIPTOR_ATOMIC_ADD: return OP_ATOMIC_ADD;
    case OP_DESCRIPTOR_ATOMIC_MAX: return OP_ATOMIC_MAX;
    case OP_DESCRIPTOR_ATOMIC_MIN: return OP_ATOMIC_MIN;
    case OP_DESCRIPTOR_ATOMIC_AND: return OP_ATOMIC_AND;
    case OP_DESCRIPTOR_ATOMIC_OR: return OP_ATOMIC_OR;
    case OP_DESCRIPTOR_ATOMIC_XOR: return OP_ATOMIC_XOR;
    default: return code;
    }
}

static void update_element(OpCode code, Element *element, const Element *value,
                           const Element *expected) {
    if (code == OP_ATOMIC_CAS) {
        if (element->number != expected->number || element->integer != expected->integer) return;
        *element = *value;
        return;
    }
    double number = updated_number(code, element->number, value->number);
    if (code == OP_ATOMIC_ADD)
        element->tangent += value->tangent;
    else if (number == value->number)
        element->tangent = value->tangent;
    element->integer = updated_integer(code, element->integer, value->integer);
    element->number = number;
    element->poison = element->poison || value->poison;
}

static Tile *wide_operand(Interp *interp, const AccessLanes *lanes, Tile *tile) {
    if (!tile || tile->kind != TILE_NUMBER) interp_stop(interp, "an atomic without a value");
    Tile *cast = cast_number(interp, tile, lanes->dtype);
    return interp_consume(interp, cast,
                          tile_broadcast(&interp->pool, cast, lanes->rank, lanes->dims));
}

static Element element_at(const Tile *tile, int64_t at) {
    Element element = {.number = tile_number_at(tile, at),
                       .integer = tile->integer ? tile->integer[at] : 0};
    if (tile->tangent) element.tangent = tile->tangent[at];
    if (tile->poison) element.poison = tile->poison[at];
    return element;
}

/// Runs the update lane by lane; the old values are the result.
static Tile *atomic_lanes(Interp *interp, OpCode code, const AccessLanes *lanes, Tile *value,
                          Tile *expected) {
    VirtualMemory *memory = interp->memory;
    Tile *old = tile_new(&interp->pool, TILE_NUMBER, lanes->dtype, lanes->rank, lanes->dims);
    Tile *wide = value ? wide_operand(interp, lanes, value) : NULL;
    Tile *compared = expected ? wide_operand(interp, lanes, expected) : NULL;
    for (int64_t i = 0; i < lanes->count; i++) {
        Element element = {0};
        if (lanes->on[i] && memory->by_bytes)
            memory_check_alignment(memory, lanes->addresses[i], lanes->dtype, "atomically updates");
        if (lanes->on[i] && !memory_load_atomic(memory, lanes->addresses[i], &element))
            interp_stop(interp, "updates through " NOT_AN_ADDRESS);
        if (old->number)
            old->number[i] = element.number;
        else
            old->integer[i] = element.integer;
        if (element.tangent != 0 && old->number)
            tile_need_tangent(&interp->pool, old)[i] = element.tangent;
        if (!lanes->on[i]) continue;
        if (code == OP_ATOMIC_CAS || code == OP_ATOMIC_XCHG || code == OP_ATOMIC_LOAD ||
            code == OP_ATOMIC_POLL)
            memory->synchronised = true;
        if (!wide) continue;
        Element given = element_at(wide, i),
                wanted = compared ? element_at(compared, i) : (Element){0};
        update_element(code, &element, &given, &wanted);
        if (interp->rounds && dtype_code_is_float(lanes->dtype)) {
            element.number = round_float(element.number, lanes->dtype);
            element.tangent = round_precision(element.tangent, lanes->dtype);
        }
        memory_store_atomic(memory, lanes->addresses[i], element);
    }
    tile_release(&interp->pool, wide);
    tile_release(&interp->pool, compared);
    return old;
}

void run_atomic(Interp *interp, const Op *op) {
    bool reads_only = op->code == OP_ATOMIC_LOAD || op->code == OP_ATOMIC_POLL;
    Tile *mask = mask_of(interp, op), *value = reads_only ? NULL : operand_named(interp, op, "val");
    Tile *expected = op->code == OP_ATOMIC_CAS ? operand_named(interp, op, "cmp") : NULL;
    AccessLanes lanes = pointer_lanes(interp, op, mask, value);
    note_access(interp, op, &lanes);
    Tile *old = atomic_lanes(interp, op->code, &lanes, value, expected);
    lanes_free(&lanes);
    if (op->result_count)
        interp_result(interp, op, old);
    else
        tile_release(&interp->pool, old);
}

// --- block pointers and descriptors -------------------------------------------------------------------------------------

static Tile *shaped(Interp *interp, const Op *op, TileKind kind, int item_count) {
    Tile *base = operand_named(interp, op, "base"),
         *block = operand_named(interp, op, "block_shape");
    int64_t dims[TYPE_MAX_RANK];
    int rank = tile_integers(block, dims, TYPE_MAX_RANK);
    if (!base || base->kind != TILE_POINTER || base->count != 1 || rank < 0)
        interp_stop(interp, "a block of what is no pointer, or without a block shape");
    Tile *tile = tile_new(&interp->pool, kind, base->dtype, rank, dims);
    tile->item_count = item_count;
    tile->items = pool_block(&interp->pool, sizeof(Tile *) * (size_t)item_count);
    static const char *const names[] = {"base", "shape", "strides", "offsets"};
    for (int i = 0; i < item_count; i++) {
        Tile *item = operand_named(interp, op, names[i]);
        if (!item) interp_stop(interp, "%s without `%s`", op_rows[op->code].id, names[i]);
        tile->items[i] = tile_retain(item);
    }
    return tile;
}

void run_make_block_pointer(Interp *interp, const Op *op) {
    interp_result(interp, op, shaped(interp, op, TILE_BLOCK_POINTER, 4));
}

void run_make_descriptor(Interp *interp, const Op *op) {
    Tile *tile = shaped(interp, op, TILE_DESCRIPTOR, 3);
    tile->is_weak = str_is(operand_string(interp, op, "padding_option"),
                           "nan");  // a descriptor's own flag: pads with NaN
    interp_result(interp, op, tile);
}

void run_advance(Interp *interp, const Op *op) {
    Tile *block = operand_at(interp, op, 0);
    int64_t offsets[TYPE_MAX_RANK], steps[TYPE_MAX_RANK];
    if (!block || block->kind != TILE_BLOCK_POINTER)
        interp_stop(interp, "advance() of what is no block pointer");
    int rank = block->rank;
    if (tile_integers(block->items[3], offsets, TYPE_MAX_RANK) != rank ||
        tile_integers(operand_named(interp, op, "offsets"), steps, TYPE_MAX_RANK) != rank)
        interp_stop(interp, "advance() by other than %d offsets", rank);
    Tile *moved = tile_new(&interp->pool, TILE_BLOCK_POINTER, block->dtype, rank, block->dims),
         *items[TYPE_MAX_RANK];
    for (int i = 0; i < rank; i++) items[i] = tile_weak_int(&interp->pool, offsets[i] + steps[i]);
    moved->item_count = 4;
    moved->items = pool_block(&interp->pool, sizeof(Tile *) * 4);
    for (int i = 0; i < 3; i++) moved->items[i] = tile_retain(block->items[i]);
    moved->items[3] = tile_tuple(&interp->pool, items, rank);
    interp_result(interp, op, moved);
}

static AccessLanes descriptor_lanes(Interp *interp, const Op *op) {
    Tile *descriptor = operand_at(interp, op, 0);
    int64_t offsets[TYPE_MAX_RANK];
    if (!descriptor || descriptor->kind != TILE_DESCRIPTOR)
        interp_stop(interp, "%s of what is no descriptor", op_rows[op->code].id);
    if (tile_integers(operand_named(interp, op, "offsets"), offsets, TYPE_MAX_RANK) !=
        descriptor->rank)
        interp_stop(interp, "a descriptor needs %d offsets", descriptor->rank);
    return block_lanes(interp, descriptor, offsets, ~0u);
}

/// Rows `x_offsets` of a matrix, from column `y_offset` on.
static AccessLanes gathered_lanes(Interp *interp, const Op *op) {
    Tile *descriptor = operand_at(interp, op, 0), *rows = operand_named(interp, op, "x_offsets");
    int64_t shape[TYPE_MAX_RANK], strides[TYPE_MAX_RANK],
        column = operand_int(interp, op, "y_offset", 0);
    if (!descriptor || descriptor->kind != TILE_DESCRIPTOR || descriptor->rank != 2 || !rows ||
        rows->rank != 1 || tile_integers(descriptor->items[1], shape, 2) != 2 ||
        tile_integers(descriptor->items[2], strides, 2) != 2)
        interp_stop(interp, "gather and scatter need a descriptor of rank 2 and a tile of rows");
    int64_t dims[2] = {rows->count, descriptor->dims[1]};
    AccessLanes lanes = lanes_new(interp, 2, dims, descriptor->dtype);
    int64_t step = memory_step(interp->memory, descriptor->dtype);
    for (int64_t i = 0; i < lanes.count; i++) {
        int64_t row = tile_integer_at(rows, i / dims[1]), at = column + i % dims[1];
        lanes.addresses[i] =
            descriptor->items[0]->integer[0] + (row * strides[0] + at * strides[1]) * step;
        lanes.on[i] = row >= 0 && row < shape[0] && at >= 0 && at < shape[1];
    }
    return lanes;
}

void run_descriptor_load(Interp *interp, const Op *op) {
    AccessLanes lanes = op->code == OP_DESCRIPTOR_GATHER ? gathered_lanes(interp, op)
                                                         : descriptor_lanes(interp, op);
    note_access(interp, op, &lanes);
    double padding = operand_at(interp, op, 0)->is_weak ? NAN : 0;
    interp_result(interp, op,
                  load_lanes(interp, &lanes, (Fill){.number = padding, .is_defined = true}));
    lanes_free(&lanes);
}

void run_descriptor_store(Interp *interp, const Op *op) {
    AccessLanes lanes = op->code == OP_DESCRIPTOR_SCATTER ? gathered_lanes(interp, op)
                                                          : descriptor_lanes(interp, op);
    Tile *value = operand_named(interp, op, "value");
    if (!value) interp_stop(interp, "a store of None");
    note_access(interp, op, &lanes);
    OpCode update = plain_atomic(op->code);
    if (update != op->code)
        tile_release(&interp->pool, atomic_lanes(interp, update, &lanes, value, NULL));
    else
        store_lanes(interp, &lanes, value);
    lanes_free(&lanes);
    if (op->result_count) interp_result(interp, op, tile_special(&interp->pool, TILE_NONE, NULL));
}

// --- promises: what a kernel tells its compiler of a value, by which Triton loads whole vectors ---------------------------

/// The promised number of an axis; 0: none.
static int64_t promised(Interp *interp, const Op *op, int axis, int rank) {
    int64_t values[TYPE_MAX_RANK];
    int count = tile_integers(operand_named(interp, op, "values"), values, TYPE_MAX_RANK);
    if (count == rank) return values[axis];
    return count == 1 && rank <= 1 ? values[0] : 0;
}

static int64_t value_at(const Tile *tile, int64_t at) {
    return tile->kind == TILE_POINTER ? address_offset(tile->integer[at]) : tile->integer[at];
}

/// Along one axis: the first of each run is a multiple, or runs are consecutive. The first element that breaks it is a finding.
static bool check_axis(Interp *interp, const Op *op, const Tile *tile, int axis) {
    int64_t number = promised(interp, op, axis, tile->rank);
    if (number <= 1) return true;
    AxisView view = axis_view_of(tile->rank, tile->dims, tile->rank ? axis : 0, false);
    int64_t step = tile->kind == TILE_POINTER ? memory_step(interp->memory, tile->dtype) : 1;
    bool is_multiple = op->code == OP_MULTIPLE_OF;
    for (int64_t i = 0; i < tile->count; i++) {
        int64_t along = tile->rank ? i / view.inner % view.length : 0;
        bool is_first = is_multiple ? along == 0 : along % number == 0;
        if (is_multiple != is_first) continue;
        int64_t value = value_at(tile, i);
        bool holds =
            is_multiple ? value % number == 0 : value == value_at(tile, i - view.inner) + step;
        if (holds) continue;
        interp->memory->lane = i;
        memory_report(interp->memory, FINDING_MISALIGNED, true, NULL,
                      is_multiple
                          ? "has %lld, which `tl.%s` says is a multiple of %lld"
                          : "has %lld, which `tl.%s` says follows the one before, in runs of %lld",
                      (long long)value, op_rows[op->code].name, (long long)number);
        return false;
    }
    return true;
}

void promise_check(Interp *interp, const Op *op, const Tile *tile) {
    bool is_whole = tile->kind == TILE_NUMBER || tile->kind == TILE_POINTER;
    if ((op->code != OP_MULTIPLE_OF && op->code != OP_MAX_CONTIGUOUS) || !is_whole ||
        !tile->integer)
        return;
    for (int axis = 0; axis < (tile->rank ? tile->rank : 1); axis++)
        if (!check_axis(interp, op, tile, axis)) return;
}
