// The interpreter's frame: programs of a launch, regions, control flow, limits, operands. Ops themselves are in interp_*.c.
#include "gpu-runner/interp/interp.h"

#include <stdio.h>
#include <string.h>

enum { CHECK_EVERY = 512, STEPS_OF_AN_OPERATION = 8 };
static const int64_t DEFAULT_STEPS = 4000000000;
static const size_t DEFAULT_BYTES = (size_t)1 << 30;

static void pool_exceeded(void *context) {
    Interp *interp = context;
    interp_stop(interp, "the tiles of one program need more than %zu MiB",
                interp->pool.limit_bytes >> 20);
}

Interp *interp_new(Arena *arena, const InterpOptions *options) {
    Interp *interp = ARENA_NEW(arena, Interp);
    interp->arena = arena;
    interp->options = *options;
    if (!interp->options.max_steps) interp->options.max_steps = DEFAULT_STEPS;
    interp->pool.arena = arena;
    interp->pool.limit_bytes = options->max_bytes ? options->max_bytes : DEFAULT_BYTES;
    interp->pool.exceeded = pool_exceeded;
    interp->pool.context = interp;
    return interp;
}

/// Of the loops that run, the one with the most iterations.
static void note_loop(Interp *interp) {
    const RunningLoop *most = NULL;
    for (const RunningLoop *loop = interp->loop; loop; loop = loop->outer)
        if (!most || loop->iterations > most->iterations) most = loop;
    interp->loop_line = most && most->op->range.source ? range_line(most->op->range) : 0;
    interp->loop_iterations = most ? most->iterations : 0;
    interp->loop = NULL;
}

void interp_stop(Interp *interp, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(interp->arena, format, arguments);
    va_end(arguments);
    int line = interp->op && interp->op->range.source ? range_line(interp->op->range) : 0;
    const char *name = interp->function ? interp->function->name : "";
    note_loop(interp);
    interp->error = line ? arena_printf(interp->arena, "%s, line %d: %s", name, line, message)
                         : arena_printf(interp->arena, "%s: %s", name, message);
    longjmp(interp->stop, 1);
}

void interp_count(Interp *interp, int64_t elements) {
    Budget *budget = interp->options.budget;
    interp->steps += elements + STEPS_OF_AN_OPERATION;
    if (budget && !budget_take(budget, elements + STEPS_OF_AN_OPERATION)) {
        if (budget->end == BUDGET_HOLDS) budget->end = BUDGET_OUT_OF_STEPS;
        interp->is_over_budget = true;
        interp_stop(interp, "%s", budget_end_text(budget->end));
    }
    if (interp->steps > interp->options.max_steps)
        interp_stop(interp, "the launch does not end within the step limit");
    if (--interp->next_check > 0 && elements < 100000) return;
    interp->next_check = CHECK_EVERY;
    if (!budget || !budget_is_over(budget)) return;
    interp->is_over_budget = true;
    interp_stop(interp, "%s", budget_end_text(budget->end));
}

Tile *interp_value(Interp *interp, const Value *value) {
    Tile *tile = interp->values[value->id];
    if (tile) return tile;
    if (!value->constant) interp_stop(interp, "a value is used before it is set");
    tile = tile_from_constant(&interp->pool, value->constant);
    interp->values[value->id] = tile;
    return tile;
}

void interp_bind(Interp *interp, const Value *value, Tile *tile) {
    Tile *old = interp->values[value->id];
    interp->values[value->id] = tile;
    tile_release(&interp->pool, old);
}

void interp_results(Interp *interp, const Op *op, Tile *const *tiles, int count) {
    if (op->result_count == count) {
        for (int i = 0; i < count; i++) interp_bind(interp, op->results[i], tiles[i]);
    } else if (op->result_count == 1) {
        interp_result(interp, op, tile_tuple(&interp->pool, tiles, count));
    } else {
        interp_stop(interp, "%s has %d results, %d are expected", op_rows[op->code].id, count,
                    op->result_count);
    }
}

Tile *interp_consume(Interp *interp, Tile *tile, Tile *result) {
    tile_release(&interp->pool, tile);
    return result;
}

Tile *cast_number(Interp *interp, Tile *tile, DTypeCode dtype) {
    if (tile->kind != TILE_NUMBER)
        interp_stop(interp, "%s where a number is needed", tile_describe(interp->arena, tile));
    return tile_cast(&interp->pool, tile, dtype, interp->rounds);
}

// --- operands -----------------------------------------------------------------------------------------------------------

Tile *operand_at(Interp *interp, const Op *op, int index) {
    if (index < 0 || index >= op->operand_count || !op->operands[index]) return NULL;
    Tile *tile = interp_value(interp, op->operands[index]);
    return tile->kind == TILE_NONE ? NULL : tile;
}

/// Names are literals of ours, so that one is known by its address.
static int parameter_index(Interp *interp, OpCode code, const char *name) {
    uintptr_t mixed = (uintptr_t)name / 4 + (uintptr_t)code * 31;
    KnownParameter *known = &interp->parameters[mixed % INTERP_KNOWN_PARAMETERS];
    if (known->name != name || known->code != code)
        *known = (KnownParameter){name, code, op_parameter_index(code, str_from(name))};
    return known->index;
}

Tile *operand_named(Interp *interp, const Op *op, const char *name) {
    return operand_at(interp, op, parameter_index(interp, op->code, name));
}

Tile *operand_number(Interp *interp, const Op *op, int index) {
    Tile *tile = operand_at(interp, op, index);
    if (tile && tile->kind == TILE_NUMBER) return tile;
    interp_stop(interp, "operand %d of %s is %s, not a number", index + 1, op_rows[op->code].id,
                tile ? tile_describe(interp->arena, tile) : "None");
}

int64_t operand_int(Interp *interp, const Op *op, const char *name, int64_t missing) {
    Tile *tile = operand_named(interp, op, name);
    return tile && tile->kind == TILE_NUMBER && tile->count == 1 ? tile_integer_at(tile, 0)
                                                                 : missing;
}

bool operand_flag(Interp *interp, const Op *op, const char *name, bool missing) {
    Tile *tile = operand_named(interp, op, name);
    return tile ? tile_truth(tile) : missing;
}

Str operand_string(Interp *interp, const Op *op, const char *name) {
    Tile *tile = operand_named(interp, op, name);
    if (tile && tile->kind == TILE_CONSTANT && tile->constant->kind == CONSTANT_STRING)
        return tile->constant->string;
    return (Str){0};
}

DTypeCode operand_dtype(Interp *interp, const Op *op, const char *name, DTypeCode missing) {
    Tile *tile = operand_named(interp, op, name);
    if (!tile || tile->kind != TILE_CONSTANT) return missing;
    DTypeCode code = DTYPE_UNKNOWN;
    if (tile->constant->kind == CONSTANT_DTYPE) code = tile->constant->dtype.code;
    if (tile->constant->kind == CONSTANT_STRING) code = dtype_from_name(tile->constant->string);
    if (code <= DTYPE_OF_PARAMETER)
        interp_stop(interp, "`%s` is not a concrete element type", name);
    return code;
}

static int integers_into(const Tile *tile, int64_t *integers, int capacity, int count) {
    if (tile->kind == TILE_TUPLE) {
        for (int i = 0; i < tile->item_count && count >= 0; i++)
            count = integers_into(tile->items[i], integers, capacity, count);
        return count;
    }
    if (tile->kind != TILE_NUMBER || tile->count != 1 || count >= capacity) return -1;
    integers[count] = tile_integer_at(tile, 0);
    return count + 1;
}

int tile_integers(const Tile *tile, int64_t *integers, int capacity) {
    return tile ? integers_into(tile, integers, capacity, 0) : -1;
}

int operand_axis(Interp *interp, const Op *op, const char *name, int rank, int missing) {
    int64_t axis = operand_int(interp, op, name, missing);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
        interp_stop(interp, "axis %lld of a tile of rank %d", (long long)axis, rank);
    return (int)axis;
}

// --- structural ops -----------------------------------------------------------------------------------------------------

static void run_constant(Interp *interp, const Op *op) {
    if (!op->results[0]->constant) interp_stop(interp, "a constant without a value");
    interp_result(interp, op, tile_from_constant(&interp->pool, op->results[0]->constant));
}

/// Of a global that only Python knows, too: harmless as an option such as `input_precision`.
static void run_undefined(Interp *interp, const Op *op) {
    interp_result(interp, op, tile_special(&interp->pool, TILE_UNDEFINED, NULL));
}

static void run_unknown(Interp *interp, const Op *op) {
    interp_stop(interp, "not understood: %s", op->note ? op->note : "an operation");
}

static void run_tuple(Interp *interp, const Op *op) {
    size_t size = sizeof(Tile *) * (size_t)op->operand_count;
    Tile **items = pool_block(&interp->pool, size);
    for (int i = 0; i < op->operand_count; i++)
        items[i] = tile_retain(interp_value(interp, op->operands[i]));
    interp_result(interp, op, tile_tuple(&interp->pool, items, op->operand_count));
    pool_free(&interp->pool, items, size);
}

static void run_item(Interp *interp, const Op *op) {
    Tile *tuple = operand_at(interp, op, 0), *index = operand_number(interp, op, 1);
    int64_t at = tile_integer_at(index, 0);
    if (!tuple || tuple->kind != TILE_TUPLE) interp_stop(interp, "an item of what is no tuple");
    if (at < 0) at += tuple->item_count;
    if (at < 0 || at >= tuple->item_count)
        interp_stop(interp, "item %lld of a tuple of %d", (long long)at, tuple->item_count);
    interp_result(interp, op, tile_retain(tuple->items[at]));
}

/// Reads the values yielded by `terminator`, then binds them: a value may be bound from another one's old tile.
static void bind_yielded(Interp *interp, const Op *terminator, Value *const *targets, int count) {
    if (terminator->operand_count != count)
        interp_stop(interp, "a region yields %d values, not %d", terminator->operand_count, count);
    enum { FEW = 16 };  // most regions yield no more; beyond, memory is asked for
    Tile *small[FEW];
    Tile **tiles = count <= FEW ? small : pool_block(&interp->pool, sizeof(Tile *) * (size_t)count);
    for (int i = 0; i < count; i++)
        tiles[i] = tile_retain(interp_value(interp, terminator->operands[i]));
    for (int i = 0; i < count; i++) interp_bind(interp, targets[i], tiles[i]);
    if (tiles != small) pool_free(&interp->pool, tiles, sizeof(Tile *) * (size_t)count);
}

/// Triton compiles no loop in which a variable changes from integer to float.
static void check_carried(Interp *interp, const Op *yield, Value *const *carried, int count) {
    for (int i = 0; i < count && i < yield->operand_count; i++) {
        const Tile *before = interp_value(interp, carried[i]);
        const Tile *after = interp_value(interp, yield->operands[i]);
        if (before->kind == TILE_NUMBER && after->kind == TILE_NUMBER &&
            tile_is_float(before) != tile_is_float(after))
            interp_stop(interp, "`%s` changes its type from %s to %s in a loop",
                        carried[i]->name ? carried[i]->name : "a variable",
                        dtype_name(before->dtype), dtype_name(after->dtype));
    }
}

static void bind_initial(Interp *interp, const Op *op, int first, Value *const *targets,
                         int count) {
    if (op->operand_count - first != count)
        interp_stop(interp, "a loop carries %d values, not %d", count, op->operand_count - first);
    for (int i = 0; i < count; i++)
        interp_bind(interp, targets[i], tile_retain(interp_value(interp, op->operands[first + i])));
}

static void bind_final(Interp *interp, const Op *op, Value *const *sources, int count) {
    if (op->result_count != count)
        interp_stop(interp, "a loop has %d results, not %d", op->result_count, count);
    for (int i = 0; i < count; i++)
        interp_bind(interp, op->results[i], tile_retain(interp_value(interp, sources[i])));
}

static void run_for(Interp *interp, const Op *op) {
    Tile *bounds[3];
    DTypeCode dtype = DTYPE_INT32;
    for (int i = 0; i < 3; i++) {
        bounds[i] = operand_number(interp, op, i);
        if (tile_is_float(bounds[i]) || bounds[i]->count != 1)
            interp_stop(interp, "a loop bound is no integer");
        if (bounds[i]->dtype == DTYPE_INT64 || bounds[i]->dtype == DTYPE_UINT64)
            dtype = DTYPE_INT64;
    }
    int64_t lower = bounds[0]->integer[0], upper = bounds[1]->integer[0],
            step = bounds[2]->integer[0];
    if (step == 0) interp_stop(interp, "a loop step of 0");
    const Region *body = op->regions[0];
    int carried = body->argument_count - 1;
    bind_initial(interp, op, 3, body->arguments + 1, carried);
    RunningLoop loop = {op, 0, interp->loop};
    interp->loop = &loop;
    for (int64_t i = lower; step > 0 ? i < upper : i > upper; i += step, loop.iterations++) {
        bool is_static = op->code == OP_STATIC_FOR;
        interp_bind(interp, body->arguments[0],
                    is_static ? tile_weak_int(&interp->pool, i)
                              : tile_int(&interp->pool, i, dtype));
        interp_count(interp, 1);
        const Op *yield = interp_region(interp, body);
        if (yield && op->code == OP_FOR) check_carried(interp, yield, body->arguments + 1, carried);
        if (yield)
            bind_yielded(interp, yield, body->arguments + 1, carried);
        else if (carried)
            interp_stop(interp, "a loop body without a yield");
    }
    interp->loop = loop.outer;
    if (interp->coverage && op->code == OP_FOR)
        coverage_loop(interp->coverage, op->range, loop.iterations);
    bind_final(interp, op, body->arguments + 1, carried);
}

static void run_while(Interp *interp, const Op *op) {
    const Region *condition = op->regions[0], *body = op->regions[1];
    int carried = condition->argument_count;
    bind_initial(interp, op, 0, condition->arguments, carried);
    RunningLoop loop = {op, 0, interp->loop};
    interp->loop = &loop;
    for (;; loop.iterations++) {
        interp_count(interp, 1);
        const Op *end = interp_region(interp, condition);
        if (!end || end->operand_count < 1) interp_stop(interp, "a while without a condition");
        if (!tile_truth(interp_value(interp, end->operands[0]))) {
            if (interp->coverage) coverage_loop(interp->coverage, op->range, loop.iterations);
            break;
        }
        for (int i = 0; i < carried; i++)
            interp_bind(interp, body->arguments[i],
                        tile_retain(interp_value(interp, condition->arguments[i])));
        const Op *yield = interp_region(interp, body);
        if (yield) bind_yielded(interp, yield, condition->arguments, carried);
    }
    interp->loop = loop.outer;
    bind_final(interp, op, condition->arguments, carried);
}

static void run_if(Interp *interp, const Op *op) {
    Tile *condition = interp_value(interp, op->operands[0]);
    if (condition->kind == TILE_UNDEFINED)
        interp_stop(interp, "a condition that no path has set, or that only Python knows");
    if (condition->count > 1)
        interp_stop(interp, "the condition of an `if` is a tile, %s",
                    tile_describe(interp->arena, condition));
    bool is_taken = tile_truth(condition);
    if (interp->coverage)
        coverage_place(interp->coverage, PLACE_BRANCH, op->range)
            ->had[is_taken ? BRANCH_TAKEN : BRANCH_PASSED] = true;
    const Op *yield = interp_region(interp, op->regions[is_taken ? 0 : 1]);
    if (yield)
        bind_yielded(interp, yield, op->results, op->result_count);
    else if (op->result_count)
        interp_stop(interp, "a branch without a yield");
}

static void run_program_id(Interp *interp, const Op *op) {
    int64_t axis = operand_int(interp, op, "axis", 0);
    if (axis < 0 || axis > 2) interp_stop(interp, "program axis %lld", (long long)axis);
    int64_t id = op->code == OP_PROGRAM_ID ? interp->program[axis] : interp->grid[axis];
    interp_result(interp, op, tile_int(&interp->pool, id, DTYPE_INT32));
}

static void run_type_of(Interp *interp, const Op *op) {
    Tile *tile = operand_at(interp, op, 0);
    if (!tile) interp_stop(interp, "the type of None");
    if (tile->kind == TILE_CONSTANT) {  // `ptr.dtype.element_ty`: the type itself was the operand
        interp_result(interp, op, tile_retain(tile));
        return;
    }
    Constant *constant = ARENA_NEW(interp->arena, Constant);
    *constant = (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype_of(tile->dtype)};
    constant->is_pointer = tile->kind == TILE_POINTER && op->code == OP_DTYPE_OF;
    interp_result(interp, op, tile_special(&interp->pool, TILE_CONSTANT, constant));
}

/// Hints compute nothing; those with a result give their first operand.
static void run_hint(Interp *interp, const Op *op) {
    if (op->result_count == 0) return;
    Tile *first = operand_at(interp, op, 0);
    if (interp->memory->by_bytes && first) promise_check(interp, op, first);
    interp_result(interp, op,
                  first ? tile_retain(first) : tile_special(&interp->pool, TILE_NONE, NULL));
}

static void run_device_assert(Interp *interp, const Op *op) {
    Tile *condition = operand_at(interp, op, 0), *mask = operand_named(interp, op, "mask");
    for (int64_t i = 0; condition && condition->kind == TILE_NUMBER && i < condition->count; i++) {
        bool on = !mask || mask->count != condition->count || tile_integer_at(mask, i) != 0;
        if (on && tile_number_at(condition, i) == 0)
            interp_stop(interp, "a device_assert does not hold");
    }
    run_hint(interp, op);
}

/// Handlers of the ops that are not plain elementwise arithmetic (those have a VALUE column).
static OpHandler *const handlers[OP_COUNT] = {
#include "gpu-runner/interp/handlers.inc"
};

static bool op_rounds(const InterpOptions *options, const Op *op) {
    return options->own_types &&
           (!options->rounding || map_has_pointer(options->rounding, op) != options->is_exempt);
}

static void run_op(Interp *interp, const Op *op) {
    interp->op = op;
    interp->rounds = op_rounds(&interp->options, op);
    interp->memory->line = 0;
    interp->memory->place = op->range;
    interp->memory->lane = -1;
    OpHandler *handler = handlers[op->code];
    if (!handler) handler = op_rows[op->code].kind == KIND_HINT ? run_hint : run_elementwise;
    handler(interp, op);
    if (interp->traffic) traffic_operation(interp->traffic, interp, op);
    int64_t elements = 1;
    if (op->result_count && interp->values[op->results[0]->id])
        elements = interp->values[op->results[0]->id]->count;
    interp_count(interp, elements);
}

const Op *interp_region(Interp *interp, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        if (op->code == OP_YIELD || op->code == OP_CONDITION) return op;
        run_op(interp, op);
    }
    return NULL;
}

// --- launches -----------------------------------------------------------------------------------------------------------

void interp_begin(Interp *interp, VirtualMemory *memory, const Function *function,
                  Tile *const *arguments, const int64_t grid[3]) {
    for (int i = 0; i < interp->value_count; i++) tile_release(&interp->pool, interp->values[i]);
    interp->function = function;
    interp->memory = memory;
    interp->value_count = function->value_count;
    if (interp->value_capacity < function->value_count) {
        interp->value_capacity = 2 * function->value_count;
        interp->values = ARENA_ARRAY(interp->arena, Tile *, interp->value_capacity);
    }
    memset(interp->values, 0, sizeof(Tile *) * (size_t)interp->value_capacity);
    memcpy(interp->grid, grid, sizeof interp->grid);
    interp->steps = 0;
    interp->op = NULL;
    interp->error = NULL;
    interp->is_over_budget = false;
    memory->kernel = function->name ? function->name : "";
    memory->epoch++;
    for (int i = 0; i < function->parameter_count; i++)
        if (arguments[i])
            interp_bind(interp, function->parameters[i].value, tile_retain(arguments[i]));
}

Error interp_fold(Interp *interp, const Op *op, Tile *const *operands, Tile **result) {
    interp->error = NULL;
    if (setjmp(interp->stop) != 0) return interp->error;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) interp_bind(interp, op->operands[i], tile_retain(operands[i]));
    run_op(interp, op);
    *result = interp_value(interp, op->results[0]);
    return NULL;
}

Error interp_program(Interp *interp, const int64_t program[3]) {
    memcpy(interp->program, program, sizeof interp->program);
    VirtualMemory *memory = interp->memory;
    memory->program =
        (int32_t)((program[2] * interp->grid[1] + program[1]) * interp->grid[0] + program[0]);
    memory->synchronised = false;
    memory->new_elements = 0;
    memory->stores = 0;
    interp->error = NULL;
    interp->loop = NULL;
    interp->loop_line = 0;
    if (setjmp(interp->stop) != 0) return interp->error;
    interp_region(interp, interp->function->body);
    return NULL;
}

static _Thread_local double spent_s;

double interp_seconds(void) { return spent_s; }

void interp_waited(double seconds) { spent_s += seconds; }

static Error launch_programs(Interp *interp, const int64_t grid[3], bool reversed) {
    int64_t count = grid[0] * grid[1] * grid[2];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = reversed ? count - 1 - i : i;
        int64_t program[3] = {at % grid[0], at / grid[0] % grid[1], at / grid[0] / grid[1]};
        Error error = interp_program(interp, program);
        interp->memory->steps = interp->steps;
        if (error) return error;
    }
    return NULL;
}

Error interp_launch(Interp *interp, VirtualMemory *memory, const Function *function,
                    Tile *const *arguments, const int64_t grid[3], bool reversed) {
    double since = clock_seconds();
    interp_begin(interp, memory, function, arguments, grid);
    Error error = launch_programs(interp, grid, reversed);
    spent_s += clock_seconds() - since;
    return error;
}
