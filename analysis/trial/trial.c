// Runs the whole numbers of a kernel, program after program. Where a branch or a loop depends on what memory holds, what it may
// store is left open.
#include "analysis/trial/trial.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/trial/trial_memory.h"

static void run_region(TrialState *state, const Region *region);

const TrialTile *trial_value(TrialState *state, const Value *value) {
    if (value->constant && value->constant->kind != CONSTANT_NONE)
        return trial_constant(&state->pool, value->constant);
    const TrialTile *tile =
        value->id < state->function->value_count ? state->values[value->id] : NULL;
    return tile ? tile : trial_unknown();
}

static void set(TrialState *state, const Value *value, const TrialTile *tile) {
    if (value->id < state->function->value_count) state->values[value->id] = tile;
}

/// What is known of a result whose elements are not: its shape.
static const TrialTile *shaped(TrialState *state, Type type, TrialKind kind, int buffer) {
    TrialTile *tile = ARENA_NEW(state->pool.arena, TrialTile);
    *tile = (TrialTile){.kind = kind, .buffer = buffer, .rank = type.rank, .count = 1};
    for (int i = 0; i < type.rank; i++) {
        if (!type.dims[i] || !poly_is_constant(type.dims[i], &tile->dims[i]) || tile->dims[i] < 1)
            return trial_unknown();
        tile->count *= tile->dims[i];
    }
    return tile;
}

static void open_region(TrialState *state, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        if (op_is_access(op) || (op_rows[op->code].effects & EFFECT_WRITES))
            trial_leave_open(state, op);
        for (int r = 0; r < op->region_count; r++) open_region(state, op->regions[r]);
        for (int r = 0; r < op->result_count; r++)
            set(state, op->results[r],
                shaped(state, op->results[r]->type,
                       op->results[r]->type.kind == TYPE_NUMBER ? TRIAL_NUMBER : TRIAL_UNKNOWN, 0));
    }
}

static void yield_to(TrialState *state, const Region *region, Value *const *targets, int count) {
    const Op *end = region_terminator(region);
    const TrialTile **next = ARENA_ARRAY(state->pool.arena, const TrialTile *, count + 1);
    for (int i = 0; i < count; i++)
        next[i] =
            end && i < end->operand_count ? trial_value(state, end->operands[i]) : trial_unknown();
    for (int i = 0; i < count; i++) set(state, targets[i], next[i]);
}

static void run_if(TrialState *state, const Op *op) {
    int64_t condition;
    if (!trial_int(trial_value(state, op->operands[0]), &condition)) {
        for (int r = 0; r < op->region_count; r++) open_region(state, op->regions[r]);
        for (int i = 0; i < op->result_count; i++) set(state, op->results[i], trial_unknown());
        return;
    }
    const Region *taken = op->regions[condition ? 0 : 1];
    run_region(state, taken);
    yield_to(state, taken, op->results, op->result_count);
}

static void run_for(TrialState *state, const Op *op) {
    enum { MOST_ITERATIONS = 4096 };
    int64_t from, to, step;
    const Region *body = op->regions[0];
    bool is_known = trial_int(trial_value(state, op->operands[0]), &from) &&
                    trial_int(trial_value(state, op->operands[1]), &to) &&
                    trial_int(trial_value(state, op->operands[2]), &step) && step != 0 &&
                    (to - from) / step < MOST_ITERATIONS;
    for (int i = 0; i < op->result_count; i++)
        set(state, op->results[i],
            is_known ? trial_value(state, op->operands[3 + i]) : trial_unknown());
    if (!is_known) {
        for (int i = 0; i < body->argument_count; i++)
            set(state, body->arguments[i], trial_unknown());
        open_region(state, body);
        return;
    }
    int64_t turns = 0;
    for (int64_t at = from; (step > 0 ? at < to : at > to) && !state->pool.is_cut; at += step) {
        turns++;
        set(state, body->arguments[0], trial_number(&state->pool, (double)at));
        for (int i = 0; i < op->result_count; i++)
            set(state, body->arguments[1 + i], trial_value(state, op->results[i]));
        run_region(state, body);
        yield_to(state, body, op->results, op->result_count);
    }
    if (turns > state->trial->turns) state->trial->turns = turns;
}

static void run_while(TrialState *state, const Op *op) {
    enum { MOST_ITERATIONS = 1024 };
    const Region *test = op->regions[0], *body = op->regions[1];
    for (int i = 0; i < op->result_count; i++)
        set(state, op->results[i], trial_value(state, op->operands[i]));
    for (int turn = 0; !state->pool.is_cut; turn++) {
        int64_t goes_on;
        for (int i = 0; i < op->result_count; i++) {
            set(state, test->arguments[i], trial_value(state, op->results[i]));
            set(state, body->arguments[i], trial_value(state, op->results[i]));
        }
        run_region(state, test);
        const Op *end = region_terminator(test);
        bool is_known =
            end && end->operand_count && trial_int(trial_value(state, end->operands[0]), &goes_on);
        if (is_known && !goes_on) return;
        if (!is_known || turn == MOST_ITERATIONS) {
            for (int i = 0; i < op->result_count; i++) set(state, op->results[i], trial_unknown());
            for (int i = 0; i < body->argument_count; i++)
                set(state, body->arguments[i], trial_unknown());
            open_region(state, body);
            return;
        }
        run_region(state, body);
        yield_to(state, body, op->results, op->result_count);
    }
}

/* ---- ordinary operations ---- */

static const TrialTile *run_arange(TrialState *state, const Op *op) {
    int64_t start, end;
    if (!trial_int(trial_value(state, op->operands[0]), &start) ||
        !trial_int(trial_value(state, op->operands[1]), &end) || end <= start)
        return trial_unknown();
    TrialTile *tile = ARENA_NEW(state->pool.arena, TrialTile);
    *tile = (TrialTile){.kind = TRIAL_NUMBER, .rank = 1, .dims = {end - start}};
    double *data = trial_room(&state->pool, tile);
    for (int64_t i = 0; data && i < tile->count; i++) data[i] = (double)(start + i);
    return tile;
}

/// The operand over the result's shape.
static const TrialTile *spread_to(TrialState *state, const TrialTile *from, Type type) {
    const TrialTile *shape = shaped(state, type, from->kind, from->buffer);
    if (shape->kind == TRIAL_UNKNOWN || from->kind == TRIAL_UNKNOWN) return trial_unknown();
    TrialTile *result = ARENA_NEW(state->pool.arena, TrialTile);
    *result = *shape;
    result->data = trial_spread(&state->pool, from, shape->rank, shape->dims);
    return result;
}

static const TrialTile *run_transposed(TrialState *state, const Op *op) {
    const TrialTile *from = trial_value(state, op->operands[0]);
    int64_t axes[TYPE_MAX_RANK];
    int order[TYPE_MAX_RANK], count = 0;
    if (from->kind != TRIAL_NUMBER && from->kind != TRIAL_POINTER) return trial_unknown();
    if (op->operand_count > 1 && op->operands[1])
        count = trial_ints(trial_value(state, op->operands[1]), axes, TYPE_MAX_RANK);
    for (int i = 0; i < from->rank; i++) order[i] = i;
    if (count == 0 && from->rank == 2) {
        order[0] = 1;
        order[1] = 0;
    } else if (count != from->rank || op->operand_count > 2) {
        return trial_unknown();
    }
    for (int i = 0; i < count; i++) {
        if (axes[i] < -count || axes[i] >= count) return trial_unknown();
        order[i] = (int)(axes[i] < 0 ? axes[i] + count : axes[i]);
    }
    return trial_permuted(&state->pool, from, order);
}

static const TrialTile *run_tuple(TrialState *state, const Op *op) {
    TrialTile *tuple = ARENA_NEW(state->pool.arena, TrialTile);
    const TrialTile **items =
        ARENA_ARRAY(state->pool.arena, const TrialTile *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++) items[i] = trial_value(state, op->operands[i]);
    *tuple = (TrialTile){.kind = TRIAL_TUPLE, .items = items, .item_count = op->operand_count};
    return tuple;
}

static const TrialTile *run_item(TrialState *state, const Op *op) {
    const TrialTile *tuple = trial_value(state, op->operands[0]);
    int64_t index;
    if (tuple->kind != TRIAL_TUPLE || !trial_int(trial_value(state, op->operands[1]), &index))
        return trial_unknown();
    if (index < 0) index += tuple->item_count;
    return index >= 0 && index < tuple->item_count ? tuple->items[index] : trial_unknown();
}

static const TrialTile *run_ordinary(TrialState *state, const Op *op) {
    Type type = op->results[0]->type;
    const TrialTile *operands[ELEMENTWISE_MOST_OPERANDS] = {NULL};
    int64_t axis;
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
        if (!trial_int(trial_value(state, op->operands[0]), &axis) || axis < 0 || axis > 2)
            return trial_unknown();
        return trial_number(&state->pool, op->code == OP_PROGRAM_ID
                                              ? (double)state->program[axis]
                                              : (double)state->launch->grid[axis]);
    case OP_ARANGE: return run_arange(state, op);
    case OP_TUPLE: return run_tuple(state, op);
    case OP_ITEM: return run_item(state, op);
    case OP_FULL: return spread_to(state, trial_value(state, op->operands[1]), type);
    case OP_BROADCAST_TO: return spread_to(state, trial_value(state, op->operands[0]), type);
    case OP_TRANS:
    case OP_PERMUTE: return run_transposed(state, op);
    case OP_EXPAND_DIMS:
    case OP_RESHAPE:
    case OP_VIEW:
    case OP_SQUEEZE: {
        const TrialTile *from = trial_value(state, op->operands[0]);
        const TrialTile *shape = shaped(state, type, from->kind, from->buffer);
        bool fits = from->kind == TRIAL_NUMBER || from->kind == TRIAL_POINTER;
        return fits && shape->kind != TRIAL_UNKNOWN
                   ? trial_reshaped(&state->pool, from, shape->rank, shape->dims)
                   : trial_unknown();
    }
    case OP_CAST: {
        const TrialTile *from = trial_value(state, op->operands[0]);
        return op_keeps_numbers(op) ? from : shaped(state, type, TRIAL_NUMBER, 0);
    }
    case OP_MAKE_BLOCK_POINTER:
    case OP_MAKE_TENSOR_DESCRIPTOR:
    case OP_ADVANCE: return trial_block(state, op);
    default: break;
    }
    if (op_rows[op->code].kind == KIND_HINT && op->operand_count && op->operands[0])
        return trial_value(state, op->operands[0]);
    bool is_number = type.kind == TYPE_NUMBER || type.kind == TYPE_POINTER;
    bool is_whole = type.kind == TYPE_POINTER || (is_number && dtype_is_integer(type.element)) ||
                    (is_number && type.rank == 0);
    if (!is_whole || (op_rows[op->code].effects & ~EFFECT_PURE) || op->region_count ||
        op_rows[op->code].shape == SHAPE_SPECIAL || op_rows[op->code].shape == SHAPE_REDUCED)
        return is_number ? shaped(state, type, TRIAL_NUMBER, 0) : trial_unknown();
    for (int i = 0; i < op->operand_count && i < ELEMENTWISE_MOST_OPERANDS; i++)
        if (op->operands[i]) operands[i] = trial_value(state, op->operands[i]);
    return trial_elementwise(&state->pool, op, operands);
}

static void run_region(TrialState *state, const Region *region) {
    for (const Op *op = region->first; op && !state->pool.is_cut; op = op->next) {
        state->pool.steps_left--;
        switch (op->code) {
        case OP_YIELD:
        case OP_CONDITION: continue;
        case OP_IF: run_if(state, op); continue;
        case OP_FOR:
        case OP_STATIC_FOR: run_for(state, op); continue;
        case OP_WHILE: run_while(state, op); continue;
        default: break;
        }
        if (op_is_access(op))
            trial_touch(state, op);
        else if (op_rows[op->code].effects & EFFECT_WRITES)
            trial_leave_open(state, op);
        if (op->result_count == 1)
            set(state, op->results[0], run_ordinary(state, op));
        else
            for (int i = 0; i < op->result_count; i++)
                set(state, op->results[i], shaped(state, op->results[i]->type, TRIAL_NUMBER, 0));
    }
}

/* ---- programs ---- */

static const TrialTile *argument_tile(TrialState *state, const ConcreteArgument *argument) {
    if (argument->kind == CONCRETE_SCALAR) return trial_constant(&state->pool, &argument->constant);
    if (argument->kind != CONCRETE_TENSOR) return trial_unknown();
    TrialTile *pointer = ARENA_NEW(state->pool.arena, TrialTile);
    *pointer = (TrialTile){.kind = TRIAL_POINTER, .buffer = argument->buffer};
    double *data = trial_room(&state->pool, pointer);
    if (data) *data = (double)argument->offset;
    return pointer;
}

LaunchTrial *trial_new(Arena *arena, const Function *function, const ConcreteLaunch *launch,
                       int64_t steps) {
    enum { MOST_ELEMENTS = 1 << 22 };
    if (launch->grid[0] < 1 || launch->grid[1] < 1 || launch->grid[2] < 1) return NULL;
    LaunchTrial *trial = ARENA_NEW(arena, LaunchTrial);
    TrialState *state = ARENA_NEW(arena, TrialState);
    trial->state = state;
    trial->turns = -1;
    trial->buffer_count = launch->buffers.count;
    trial->buffers = ARENA_ARRAY(arena, TrialBuffer, launch->buffers.count + 1);
    for (int i = 0; i < launch->buffers.count; i++) {
        int64_t numel = launch->buffers.items[i].numel;
        if (numel < 0 || numel > MOST_ELEMENTS) return NULL;
        trial->buffers[i].numel = numel;
        trial->buffers[i].writer = ARENA_ARRAY(arena, int32_t, numel + 1);
    }
    *state = (TrialState){.trial = trial,
                          .arena = arena,
                          .function = function,
                          .launch = launch,
                          .accesses = map_new(arena)};
    state->pool.steps_left = steps;
    state->values = ARENA_ARRAY(arena, const TrialTile *, function->value_count + 1);
    return trial;
}

void trial_run_program(LaunchTrial *trial, const int64_t program[3]) {
    TrialState *state = trial->state;
    Arena *scratch = arena_new_scratch();
    state->pool.arena = scratch;
    state->stores = false;
    state->number = trial->programs++;
    memcpy(state->program, program, sizeof state->program);
    memset(state->values, 0, sizeof *state->values * (size_t)state->function->value_count);
    for (int i = 0; i < state->function->parameter_count && i < state->launch->argument_count; i++)
        set(state, state->function->parameters[i].value,
            argument_tile(state, &state->launch->arguments[i]));
    run_region(state, state->function->body);
    if (!state->stores) trial->idle++;
    trial->is_cut = state->pool.is_cut;
    arena_free(scratch);
}

void trial_run_all(LaunchTrial *trial) {
    const int64_t *grid = trial->state->launch->grid;
    for (int64_t z = 0; z < grid[2]; z++)
        for (int64_t y = 0; y < grid[1]; y++)
            for (int64_t x = 0; x < grid[0] && !trial->is_cut; x++)
                trial_run_program(trial, (const int64_t[3]){x, y, z});
}
