// From a pointer and a mask to elements of a buffer: those beyond it are counted, those that are stored are noted with who did it.
#include "analysis/trial/trial_memory.h"

#include <string.h>

#include "analysis/addresses/affine.h"

static const TrialTile *operand_named(TrialState *state, const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    const Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value && !value_is_none(value) ? trial_value(state, value) : NULL;
}

static TrialAccess *access_at(TrialState *state, const Op *op) {
    LaunchTrial *trial = state->trial;
    uintptr_t at = (uintptr_t)map_get_pointer(&state->accesses, op);
    if (!at) {
        LIST_PUSH(state->arena, &trial->accesses, ((TrialAccess){.op = op, .buffer = -1}));
        at = (uintptr_t)trial->accesses.count;
        map_set_pointer(&state->accesses, op, (void *)at);
    }
    return &trial->accesses.items[at - 1];
}

static bool writes(const Op *op) { return (op_rows[op->code].effects & EFFECT_WRITES) != 0; }

static void open_buffers(TrialState *state, int buffer) {
    for (int i = 0; i < state->trial->buffer_count; i++)
        if (buffer < 0 || buffer == i) state->trial->buffers[i].is_open = true;
}

void trial_leave_open(TrialState *state, const Op *op) {
    TrialAccess *access = access_at(state, op);
    access->is_open = true;
    if (!writes(op)) return;
    state->stores = true;
    int buffer = access->buffer;
    if (buffer < 0) {
        Access form = access_of(state->pool.arena, (Op *)(uintptr_t)op);
        int index = form.parameter ? form.parameter->index : -1;
        if (index >= 0 && index < state->launch->argument_count &&
            state->launch->arguments[index].kind == CONCRETE_TENSOR)
            buffer = state->launch->arguments[index].buffer;
    }
    open_buffers(state, buffer);
}

/* ---- blocks ---- */

enum { BLOCK_BASE, BLOCK_SHAPE, BLOCK_STRIDES, BLOCK_OFFSETS, BLOCK_ITEMS };

static const TrialTile *advanced(TrialState *state, const TrialTile *block, const TrialTile *by) {
    TrialTile *result = ARENA_NEW(state->pool.arena, TrialTile);
    const TrialTile **items = ARENA_ARRAY(state->pool.arena, const TrialTile *, BLOCK_ITEMS);
    int64_t moved[TYPE_MAX_RANK], start[TYPE_MAX_RANK];
    int rank = trial_ints(by, moved, TYPE_MAX_RANK);
    *result = *block;
    memcpy(items, block->items, sizeof *items * BLOCK_ITEMS);
    if (rank != block->rank ||
        trial_ints(block->items[BLOCK_OFFSETS], start, TYPE_MAX_RANK) != rank)
        return trial_unknown();
    TrialTile *offsets = ARENA_NEW(state->pool.arena, TrialTile);
    const TrialTile **numbers = ARENA_ARRAY(state->pool.arena, const TrialTile *, rank + 1);
    for (int i = 0; i < rank; i++)
        numbers[i] = trial_number(&state->pool, (double)(start[i] + moved[i]));
    *offsets = (TrialTile){.kind = TRIAL_TUPLE, .items = numbers, .item_count = rank};
    items[BLOCK_OFFSETS] = offsets;
    result->items = items;
    return result;
}

const TrialTile *trial_block(TrialState *state, const Op *op) {
    const TrialTile *base = trial_value(state, op->operands[0]);
    if (op->code == OP_ADVANCE)
        return base->kind == TRIAL_BLOCK
                   ? advanced(state, base, operand_named(state, op, "offsets"))
                   : trial_unknown();
    if (base->kind != TRIAL_POINTER) return trial_unknown();
    TrialTile *block = ARENA_NEW(state->pool.arena, TrialTile);
    const TrialTile **items = ARENA_ARRAY(state->pool.arena, const TrialTile *, BLOCK_ITEMS);
    items[BLOCK_BASE] = base;
    items[BLOCK_SHAPE] = operand_named(state, op, "shape");
    items[BLOCK_STRIDES] = operand_named(state, op, "strides");
    items[BLOCK_OFFSETS] =
        op->code == OP_MAKE_BLOCK_POINTER ? operand_named(state, op, "offsets") : NULL;
    *block = (TrialTile){
        .kind = TRIAL_BLOCK, .buffer = base->buffer, .items = items, .item_count = BLOCK_ITEMS};
    block->rank = trial_ints(operand_named(state, op, "block_shape"), block->dims, TYPE_MAX_RANK);
    return block->rank > 0 ? block : trial_unknown();
}

/// Which axes of a block pointer the access checks; all of a descriptor.
static unsigned checked_axes(TrialState *state, const Op *op, int rank) {
    int64_t axes[TYPE_MAX_RANK];
    unsigned checked = 0;
    if (op->code != OP_LOAD && op->code != OP_STORE) return ~0u;
    int count = trial_ints(operand_named(state, op, "boundary_check"), axes, TYPE_MAX_RANK);
    for (int i = 0; i < count; i++)
        if (axes[i] >= 0 && axes[i] < rank) checked |= 1u << axes[i];
    return checked;
}

/// The block's elements, and a mask of those that are within what the access checks; false where they are not known.
static bool block_elements(TrialState *state, const Op *op, const TrialTile *block,
                           TrialTile *pointer, TrialTile *mask) {
    int64_t shape[TYPE_MAX_RANK], strides[TYPE_MAX_RANK], start[TYPE_MAX_RANK];
    int rank = block->rank;
    bool is_pointer = block->items[BLOCK_OFFSETS] != NULL;
    const TrialTile *offsets =
        is_pointer ? block->items[BLOCK_OFFSETS] : operand_named(state, op, "offsets");
    const TrialTile *base = block->items[BLOCK_BASE];
    if (trial_ints(block->items[BLOCK_SHAPE], shape, TYPE_MAX_RANK) != rank || !base->data ||
        trial_ints(block->items[BLOCK_STRIDES], strides, TYPE_MAX_RANK) != rank ||
        trial_ints(offsets, start, TYPE_MAX_RANK) != rank)
        return false;
    unsigned checked = checked_axes(state, op, rank);
    *pointer = *mask = (TrialTile){.kind = TRIAL_POINTER, .buffer = block->buffer, .rank = rank};
    memcpy(pointer->dims, block->dims, sizeof block->dims);
    memcpy(mask->dims, block->dims, sizeof block->dims);
    for (int i = 0; i < rank; i++)
        if (!(checked >> i & 1)) mask->dims[i] = 1;
    TrialTile whole = *mask;
    memcpy(whole.dims, block->dims, sizeof block->dims);
    double *places = trial_room(&state->pool, pointer), *within = trial_room(&state->pool, &whole);
    int64_t index[TYPE_MAX_RANK] = {0};
    if (!places || !within) return false;
    for (int64_t i = 0; i < pointer->count; i++) {
        double at = base->data[0];
        bool is_inside = true;
        for (int axis = 0; axis < rank; axis++) {
            int64_t place = start[axis] + index[axis];
            at += (double)place * (double)strides[axis];
            if ((checked >> axis & 1) && (place < 0 || place >= shape[axis])) is_inside = false;
        }
        places[i] = at;
        within[i] = is_inside;
        for (int axis = rank - 1; axis >= 0 && ++index[axis] == block->dims[axis]; axis--)
            index[axis] = 0;
    }
    mask->data = whole.data;  // with the dims that say what is checked
    return true;
}

/* ---- elements ---- */

static unsigned axes_of(const TrialTile *tile, int rank) {
    unsigned axes = 0;
    for (int i = 1; i <= tile->rank && i <= rank; i++)
        if (tile->dims[tile->rank - i] > 1) axes |= 1u << (rank - i);
    return axes;
}

static void store_element(TrialState *state, TrialBuffer *buffer, int64_t element) {
    int32_t *writer = &buffer->writer[element];
    int32_t own = (int32_t)(state->number + 1);
    if (!*writer)
        buffer->written++;
    else if (*writer != own)
        buffer->twice++;
    *writer = own;
}

static void note_read(TrialState *state, TrialAccess *access, const TrialBuffer *buffer,
                      int64_t element) {
    if (!access->seen || access->seen_of != access->buffer)
        access->seen = ARENA_ARRAY(state->arena, uint8_t, (size_t)(buffer->numel / 8 + 1));
    access->seen_of = access->buffer;
    uint8_t bit = (uint8_t)(1u << (element & 7));
    access->distinct += !(access->seen[element >> 3] & bit);
    access->seen[element >> 3] |= bit;
}

static void touch_elements(TrialState *state, TrialAccess *access, const TrialTile *pointer,
                           const double *mask) {
    TrialBuffer *buffer = &state->trial->buffers[pointer->buffer];
    bool stores = writes(access->op);
    state->pool.steps_left -= pointer->count;
    for (int64_t i = 0; i < pointer->count; i++) {
        if (mask && mask[i] == 0) continue;
        int64_t element = (int64_t)pointer->data[i];
        if (stores) state->stores = true;
        if (element >= 0 && element < buffer->numel) {
            access->inside++;
            if (stores) store_element(state, buffer, element);
            if (access->op->code == OP_LOAD && !access->is_of_several)
                note_read(state, access, buffer, element);
        } else if (!access->outside++) {
            access->element = element;
            memcpy(access->program, state->program, sizeof access->program);
        }
    }
}

void trial_touch(TrialState *state, const Op *op) {
    TrialAccess *access = access_at(state, op);
    const TrialTile *pointer = trial_value(state, op->operands[0]);
    const TrialTile *mask = operand_named(state, op, "mask");
    TrialTile places, within;
    if (pointer->kind == TRIAL_BLOCK && block_elements(state, op, pointer, &places, &within)) {
        pointer = &places;
        mask = &within;
    }
    if (pointer->kind == TRIAL_POINTER || pointer->kind == TRIAL_BLOCK) {
        access->is_of_several |= access->buffer >= 0 && access->buffer != pointer->buffer;
        access->buffer = access->is_of_several ? -1 : pointer->buffer;
    }
    bool is_known = pointer->kind == TRIAL_POINTER && pointer->data && (!mask || mask->data);
    const double *lanes = NULL;
    TrialTile whole = is_known ? *pointer : (TrialTile){0};
    if (is_known && mask == &within) {
        lanes = within.data;
    } else if (is_known && mask) {
        is_known = trial_common(mask, &whole.rank, whole.dims);
        const double *spread =
            is_known ? trial_spread(&state->pool, pointer, whole.rank, whole.dims) : NULL;
        lanes = spread ? trial_spread(&state->pool, mask, whole.rank, whole.dims) : NULL;
        is_known = lanes != NULL;
        whole.data = spread;
        whole.count = 1;
        for (int i = 0; i < whole.rank; i++) whole.count *= whole.dims[i];
    }
    if (!is_known || state->pool.is_cut) {
        trial_leave_open(state, op);
        return;
    }
    access->wide |= axes_of(&whole, whole.rank);
    if (mask) access->bounded |= axes_of(mask, whole.rank);
    touch_elements(state, access, &whole, lanes);
}
