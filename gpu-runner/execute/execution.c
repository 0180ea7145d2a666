// Arguments of a kernel become buffers and tiles, the interpreter runs it, and what is left in memory is kept.
#include "gpu-runner/execute/execution.h"

#include "gpu-runner/execute/parts.h"

#include <math.h>
#include <string.h>

static uint64_t input_seed(const Perturbation *perturbation, int parameter) {
    return hash_mix(perturbation->seed ^ hash_mix((uint64_t)parameter + 77));
}

static bool is_stored(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->output_count + problem->saved_count; i++)
        if (problem->outputs[i] == parameter) return true;
    return false;
}

static int input_of(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->input_count; i++)
        if (problem->inputs[i] == parameter) return i;
    return -1;
}

Direction perturbation_direction(const Problem *problem, const Perturbation *perturbation,
                                 int parameter) {
    int input = input_of(problem, parameter);
    if (!perturbation || !perturbation->active || input < 0 || !perturbation->active[input])
        return (Direction){0};
    return (Direction){.active = true,
                       .seed = input_seed(perturbation, parameter),
                       .is_single = perturbation->is_single,
                       .single = perturbation->single,
                       .step = perturbation->step,
                       .is_tangent = perturbation->is_tangent};
}

static Tile *scalar_tile(TilePool *pool, const PlanArgument *argument, Direction direction) {
    if (argument->kind == ARGUMENT_CONSTANT) return tile_from_constant(pool, argument->constant);
    if (argument->kind == ARGUMENT_INTEGER)
        return tile_int(pool, argument->integer, argument->dtype);
    double component = direction_at(&direction, 0);
    Tile *tile = tile_float(pool, argument->number + direction.step * component, argument->dtype);
    if (direction.is_tangent) tile_need_tangent(pool, tile)[0] = component;
    return tile;
}

static Tile *pointer_tile(TilePool *pool, const MemoryBuffer *buffer) {
    Tile *tile = tile_new(pool, TILE_POINTER, buffer->dtype, 0, NULL);
    tile->integer[0] = address_make(buffer->id, 0);
    return tile;
}

static Tile *argument_tile(TilePool *pool, const MemoryBuffer *buffer, const PlanArgument *argument,
                           Direction direction) {
    if (!buffer) return scalar_tile(pool, argument, direction);
    Tile *pointer = pointer_tile(pool, buffer);
    if (!argument->block_rank) return pointer;
    return tile_descriptor(pool, pointer, argument->block_rank, argument->block, argument->dims,
                           argument->strides);
}

Executor executor_new(Arena *arena, const Problem *problem) {
    InterpOptions options = {.budget = problem->budget};
    return (Executor){
        .problem = problem, .interp = interp_new(arena, &options), .excluded = map_new(arena)};
}

static void set_bounds(MemoryBuffer *buffer, const PlanArgument *argument) {
    buffer->extent = argument->extent;
    buffer->has_start = argument->has_start;
    buffer->before = argument->before;
}

Execution execution_new(const Executor *executor, const Perturbation *perturbation) {
    const Problem *problem = executor->problem;
    const PlanConfiguration *configuration = problem->configuration;
    int count = configuration->argument_count;
    Execution run = {.arena = executor->keeps_in ? executor->keeps_in : arena_new()};
    run.memory = memory_new(run.arena);
    run.memory->rounds_contents = executor->rounds_contents;
    run.memory->fills_zero = configuration->fills_zero;
    run.memory->zeros_yield = executor->zeros_yield;
    run.buffers = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.gradients = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.parts = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.upstreams = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.laid_out = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.befores = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.amids = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.steps = ARENA_ARRAY(run.arena, int64_t, problem->launch_count + 1);
    for (int i = 0; i < count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_POINTER) continue;
        run.buffers[i] = memory_add(run.memory, str_dup(run.arena, argument->name), argument->dtype,
                                    argument->content);
        set_bounds(run.buffers[i], argument);
        run.buffers[i]->direction = perturbation_direction(problem, perturbation, i);
        run.buffers[i]->is_uninitialised =
            is_stored(problem, i) && input_of(problem, i) < 0 && !configuration->is_guess;
    }
    return run;
}

void execution_free(Execution *run) { arena_free(run->arena); }

Tile **execution_arguments(Executor *executor, Execution *execution,
                           const Perturbation *perturbation) {
    const Problem *problem = executor->problem;
    const PlanConfiguration *configuration = problem->configuration;
    TilePool *pool = &executor->interp->pool;
    int count = problem->forward->parameter_count;
    Tile **tiles = ARENA_ARRAY(execution->arena, Tile *, count + 1);
    for (int i = 0; i < count && i < configuration->argument_count; i++) {
        Direction direction = perturbation_direction(problem, perturbation, i);
        tiles[i] =
            argument_tile(pool, execution->buffers[i], &configuration->arguments[i], direction);
    }
    return tiles;
}

/// One launch, into `execution->error`. Takes over the tiles.
static void launch(Executor *executor, Execution *execution, const Function *function, Tile **tiles,
                   const int64_t grid[3], bool reversed) {
    execution->error =
        interp_launch(executor->interp, execution->memory, function, tiles, grid, reversed);
    for (int i = 0; i < function->parameter_count; i++)
        tile_release(&executor->interp->pool, tiles[i]);
}

/// Runs a kernel on the GPU, with tangents where `call.numbers` says so. False where the interpreter has to run it, and its next launches.
static bool launch_on_gpu(Executor *executor, CudaUse *use, Execution *execution, CudaCall call,
                          Tile **tiles) {
    call.arguments = tiles;
    call.texts = cuda_texts(use);
    if (!call.grid) call.grid = executor->problem->configuration->grid;
    call.in_order = executor->in_order;
    const InterpOptions *options = &executor->interp->options;
    call.numbers.rounds = options->own_types;
    call.numbers.allow_tf32 = options->allow_tf32;
    call.numbers.holds_extremes = options->holds_extremes;
    Error error = cuda_launch(execution->arena, execution->memory, &call);
    if (error) {
        if (!use->refused) use->refused = arena_strdup(use->arena, error);
        return false;
    }
    use->launches++;
    if (call.numbers.is_dual) use->tangents++;
    if (call.numbers.rounds) use->rounded++;
    for (int i = 0; i < call.function->parameter_count; i++)
        tile_release(&executor->interp->pool, tiles[i]);
    return true;
}

/// Whether all operations round, or none: which of them do is no part of a kernel's text.
static bool rounds_alike(const Executor *executor) {
    return executor->interp->options.rounding == NULL;
}

/// A launch costs the steps that it had in the interpreter, so that verdicts are the same.
static void pay_steps(Executor *executor, Execution *execution, int64_t steps) {
    Budget *budget = executor->problem->budget;
    execution->memory->steps = steps;
    if (!budget_take(budget, execution->memory->steps) && budget->end == BUDGET_HOLDS)
        budget->end = BUDGET_OUT_OF_STEPS;
    if (budget->end == BUDGET_HOLDS && !budget_is_over(budget)) return;
    executor->interp->is_over_budget = true;
    execution->error = budget_end_text(budget->end);
}

static bool is_known(const Executor *executor) {
    return executor->forward && !executor->zeros_yield &&
           executor->forward_of == executor->problem->configuration;
}

/// The unmoved forward as it was.
static Execution forward_again(Executor *executor) {
    const Execution *known = executor->forward;
    Execution execution = execution_new(executor, NULL);
    execution.memory = memory_copy(execution.arena, known->memory);
    for (int i = 0; i < executor->problem->configuration->argument_count; i++)
        if (known->buffers[i])
            execution.buffers[i] = execution.memory->buffers.items[known->buffers[i]->id - 1];
    pay_steps(executor, &execution, known->memory->steps);
    return execution;
}

Execution execution_forward(Executor *executor, const Perturbation *perturbation) {
    const Problem *problem = executor->problem;
    if (!perturbation && is_known(executor)) return forward_again(executor);
    Execution execution = execution_new(executor, perturbation);
    Tile **tiles = execution_arguments(executor, &execution, perturbation);
    CudaCall call = {.function = problem->forward,
                     .footprint = executor->footprint,
                     .numbers.is_dual = perturbation && perturbation->is_tangent};
    bool on_gpu = call.footprint && (perturbation || executor->traced) && rounds_alike(executor) &&
                  !(call.numbers.is_dual && executor->interprets_tangents);
    if (on_gpu && launch_on_gpu(executor, problem->cuda, &execution, call, tiles)) {
        memory_take_reads(execution.memory, call.footprint);
        pay_steps(executor, &execution, call.footprint->steps);
        return execution;
    }
    if (on_gpu && call.numbers.is_dual)
        executor->interprets_tangents = true;
    else if (on_gpu)
        executor->footprint = NULL;
    launch(executor, &execution, problem->forward, tiles, problem->configuration->grid, false);
    return execution;
}

Execution execution_on_gpu(Executor *executor, CudaUse *use) {
    const Problem *problem = executor->problem;
    Execution execution = execution_new(executor, NULL);
    Tile **tiles = execution_arguments(executor, &execution, NULL);
    CudaCall call = {.function = problem->forward};
    if (!launch_on_gpu(executor, use, &execution, call, tiles))
        launch(executor, &execution, problem->forward, tiles, problem->configuration->grid, false);
    return execution;
}

// --- the loss -----------------------------------------------------------------------------------------------------------

static uint64_t excluded_key(int parameter, int64_t offset) {
    return hash_mix(((uint64_t)parameter << 48) ^ (uint64_t)offset);
}

static bool is_excluded(const Executor *executor, int parameter, int64_t offset) {
    return executor->has_excluded &&
           map_has_number(&executor->excluded, excluded_key(parameter, offset));
}

/// Nothing comes from above an output of integers.
Content upstream_content(const Problem *problem, int parameter) {
    bool is_silent = problem->is_silent && problem->silent == parameter;
    if (is_silent || !dtype_code_is_float(problem->configuration->arguments[parameter].dtype))
        return (Content){.kind = CONTENT_ZERO};
    return (Content){.kind = CONTENT_NORMAL,
                     .seed = hash_mix(problem->seed ^ (0xF00Du + (uint64_t)parameter))};
}

double upstream_at(const Executor *executor, const Content *content, int parameter,
                   int64_t offset) {
    return is_excluded(executor, parameter, offset) ? 0 : content_number(content, offset);
}

static bool visit_infinity(void *context, Op *op) {
    bool *is_said = context;
    for (int i = 1; op->code == OP_WHERE && i < op->operand_count; i++) {
        const Constant *constant = op->operands[i]->constant;
        *is_said |= constant && constant->kind == CONSTANT_FLOAT && constant->number == INFINITY;
    }
    return !*is_said;
}

/// Whether a mask of the kernel puts +inf in the place of numbers, `tl.where(seen, x, float("inf"))`.
static bool masks_with_infinity(const Function *function) {
    bool is_said = false;
    region_walk(function->body, visit_infinity, &is_said);
    return is_said;
}

void executor_exclude_infinite(Executor *executor, Execution *run, int64_t *excluded,
                               int64_t *all) {
    const Problem *problem = executor->problem;
    static const char marker;
    *excluded = *all = 0;
    bool may_be_infinite = masks_with_infinity(problem->forward);
    for (int k = 0; k < problem->output_count; k++) {
        int parameter = problem->outputs[k];
        MemoryBuffer *buffer = run->buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Offsets written = {0};
        memory_touched(run->arena, buffer, true, &written);
        *all += written.count;
        int64_t before = *excluded;
        for (int i = 0; i < written.count; i++) {
            double number = memory_peek(run->memory, buffer, written.items[i]);
            if (isfinite(number)) continue;
            ++*excluded;
            bool is_mask = number == -INFINITY || (number == INFINITY && may_be_infinite);
            executor->has_nan = executor->has_nan || !is_mask;
            if (!executor->has_excluded) {
                executor->excluded_parameter = parameter;
                executor->excluded_offset = written.items[i];
            }
            executor->has_excluded = true;
            map_set_number(&executor->excluded, excluded_key(parameter, written.items[i]),
                           (void *)(uintptr_t)&marker);
        }
        if (*excluded == before) continue;
        const char *names = executor->excluded_names;
        executor->excluded_names =
            arena_printf(run->arena, "%s%s%.*s", names ? names : "", names ? ", " : "",
                         STR_ARGS(problem->configuration->arguments[parameter].name));
    }
}

// --- backward -----------------------------------------------------------------------------------------------------------

static MemoryBuffer *buffer_beside(Execution *run, const PlanArgument *argument, DTypeCode dtype,
                                   const char *name, Content content) {
    MemoryBuffer *buffer = memory_add(run->memory, name, dtype, content);
    if (argument->kind == ARGUMENT_POINTER) set_bounds(buffer, argument);
    return buffer;
}

static const char *gradient_name(Arena *arena, const PlanArgument *argument) {
    return arena_printf(arena, "the gradient of %.*s", STR_ARGS(argument->name));
}

MemoryBuffer *gradient_buffer(const Problem *problem, Execution *run, const Actual *actual) {
    int parameter = actual->parameter;
    if (run->gradients[parameter]) return run->gradients[parameter];
    const PlanArgument *argument = &problem->configuration->arguments[parameter];
    MemoryBuffer *buffer =
        buffer_beside(run, argument, actual->dtype, gradient_name(run->arena, argument),
                      (Content){.kind = CONTENT_ZERO});
    buffer->is_gradient = true;
    buffer->is_uninitialised = actual->stored != NULL && !actual->is_parts;
    return run->gradients[parameter] = buffer;
}

static MemoryBuffer *upstream_copy(const Executor *executor, Execution *run, const Actual *actual) {
    int parameter = actual->parameter;
    const Problem *problem = executor->problem;
    const PlanArgument *argument = &problem->configuration->arguments[parameter];
    MemoryBuffer *buffer =
        buffer_beside(run, argument, actual->dtype, gradient_name(run->arena, argument),
                      upstream_content(problem, parameter));
    MemoryBuffer *output = run->buffers[parameter];
    if (!executor->has_excluded || !output) return buffer;
    Offsets written = {0};
    memory_touched(run->arena, output, true, &written);
    for (int i = 0; i < written.count; i++)
        if (is_excluded(executor, parameter, written.items[i]))
            memory_poke(run->memory, buffer, written.items[i], 0);
    return buffer;
}

static MemoryBuffer *upstream_buffer(const Executor *executor, Execution *run,
                                     const Actual *actual) {
    MemoryBuffer **buffer = &run->upstreams[actual->parameter];
    if (!*buffer) *buffer = upstream_copy(executor, run, actual);
    return *buffer;
}

/// The upstream gradient in the problem's layout for it; what lies between its elements may be anything.
static MemoryBuffer *laid_out_buffer(const Executor *executor, Execution *run,
                                     const Actual *actual) {
    int parameter = actual->parameter;
    MemoryBuffer *plain = upstream_buffer(executor, run, actual);
    const UpstreamLayout *layouts = executor->problem->layouts;
    if (!layouts || !layouts[parameter].is_own || executor->keeps_layouts) return plain;
    if (run->laid_out[parameter]) return run->laid_out[parameter];
    const UpstreamLayout *layout = &layouts[parameter];
    Content between = upstream_content(executor->problem, parameter);
    between.seed = hash_mix(between.seed);
    MemoryBuffer *buffer = memory_add(run->memory, plain->name, plain->dtype, between);
    buffer->extent = layout->extent;
    buffer->has_start = true;
    int64_t index[TYPE_MAX_RANK] = {0};
    for (int axis = 0; axis >= 0;) {
        int64_t from = 0, to = 0;
        for (int i = 0; i < layout->rank; i++) {
            from += index[i] * layout->output[i];
            to += index[i] * layout->strides[i];
        }
        memory_poke(run->memory, buffer, to, memory_peek(run->memory, plain, from));
        for (axis = layout->rank - 1; axis >= 0 && ++index[axis] == layout->dims[axis]; axis--)
            index[axis] = 0;
    }
    return run->laid_out[parameter] = buffer;
}

/// The gradient of what a buffer held before a forward that never reads it.
static MemoryBuffer *kept_buffer(const Executor *executor, Execution *run, const Actual *actual) {
    MemoryBuffer **buffer = &run->gradients[actual->parameter];
    if (!*buffer) *buffer = upstream_copy(executor, run, actual);
    return *buffer;
}

/// The gradient of a buffer that the forward updates in place. What the forward reads and leaves as it is takes no
/// part in the loss: its upstream gradient is 0.
static MemoryBuffer *running_buffer(const Executor *executor, Execution *run,
                                    const Actual *actual) {
    int parameter = actual->parameter;
    if (run->gradients[parameter]) return run->gradients[parameter];
    MemoryBuffer *buffer = upstream_buffer(executor, run, actual);
    run->gradients[parameter] = buffer;
    MemoryBuffer *forward = run->buffers[parameter];
    if (!forward) return buffer;
    Offsets read = {0};
    memory_touched_only(run->arena, forward, false, &read);
    for (int i = 0; i < read.count; i++) memory_poke(run->memory, buffer, read.items[i], 0);
    return buffer;
}

/// `copies`: those that only the backward reads, or those in which it repeats stores.
static MemoryBuffer *before_buffer(const Executor *executor, Execution *run, MemoryBuffer **copies,
                                   int parameter) {
    if (copies[parameter]) return copies[parameter];
    const PlanArgument *argument = &executor->problem->configuration->arguments[parameter];
    const char *name = arena_printf(run->arena, "%.*s before the launch", STR_ARGS(argument->name));
    return copies[parameter] =
               buffer_beside(run, argument, argument->dtype, name, argument->content);
}

static MemoryBuffer *scratch_buffer(Execution *run, const Actual *actual) {
    for (LIST_EACH(int, i, run->scratch))
        if (strcmp(run->scratch.items[i]->name, actual->name) == 0) return run->scratch.items[i];
    MemoryBuffer *buffer =
        memory_add(run->memory, actual->name, actual->dtype, (Content){.kind = CONTENT_ZERO});
    buffer->extent = actual->extent;
    buffer->is_uninitialised = buffer->is_gradient = true;
    LIST_PUSH(run->arena, &run->scratch, buffer);
    return buffer;
}

static Tile *actual_tile(Executor *executor, Execution *run, const Actual *actual) {
    const Problem *problem = executor->problem;
    TilePool *pool = &executor->interp->pool;
    switch (actual->kind) {
    case ACTUAL_SAME: {
        MemoryBuffer *buffer = run->buffers[actual->parameter];
        const PlanArgument *argument = &problem->configuration->arguments[actual->parameter];
        if (buffer) return pointer_tile(pool, buffer);
        if (actual->is_upstream_stride && problem->layouts && !executor->keeps_layouts &&
            problem->layouts[actual->upstream].is_own)
            return tile_int(pool, problem->layouts[actual->upstream].strides[actual->axis],
                            argument->dtype);
        return scalar_tile(pool, argument, (Direction){0});
    }
    case ACTUAL_UPSTREAM: return pointer_tile(pool, laid_out_buffer(executor, run, actual));
    case ACTUAL_GRADIENT:
        return pointer_tile(pool, actual->is_parts && !executor->adds_whole
                                      ? parts_buffer(problem, run, actual)
                                      : gradient_buffer(problem, run, actual));
    case ACTUAL_SLICES:
        return tile_int(pool, executor->adds_whole ? 1 : actual->number, DTYPE_INT32);
    case ACTUAL_PART_STRIDE:
        return tile_int(pool, parts_stride(problem, actual->parameter), DTYPE_INT64);
    case ACTUAL_RUNNING: return pointer_tile(pool, running_buffer(executor, run, actual));
    case ACTUAL_KEPT: return pointer_tile(pool, kept_buffer(executor, run, actual));
    case ACTUAL_BEFORE:
        return pointer_tile(pool, before_buffer(executor, run, run->befores, actual->parameter));
    case ACTUAL_AMID:
        return pointer_tile(pool, before_buffer(executor, run, run->amids, actual->parameter));
    case ACTUAL_SCRATCH: return pointer_tile(pool, scratch_buffer(run, actual));
    case ACTUAL_NUMBER: return tile_int(pool, actual->number, DTYPE_INT64);
    case ACTUAL_CONSTANT: return tile_from_constant(pool, actual->constant);
    case ACTUAL_PROGRAMS: break;
    }
    return tile_int(pool, problem->configuration->grid[actual->axis], DTYPE_INT32);
}

Tile **execution_actuals(Executor *executor, Execution *run, int index) {
    const GradientLaunch *launch = &executor->problem->launches[index];
    int count = launch->function->parameter_count;
    Tile **tiles = ARENA_ARRAY(run->arena, Tile *, count + 1);
    for (int i = 0; i < count; i++) tiles[i] = actual_tile(executor, run, &launch->actuals[i]);
    return tiles;
}

Execution execution_backward(Executor *executor, bool reversed, const Perturbation *perturbation) {
    const Problem *problem = executor->problem;
    Execution run = execution_forward(executor, perturbation);
    run.memory->findings.count = 0;  // the forward's were seen before
    for (int k = 0; k < problem->launch_count && !run.error; k++) {
        const GradientLaunch *next = &problem->launches[k];
        Tile **tiles = execution_actuals(executor, &run, k);
        const Execution *traced = rounds_alike(executor) ? executor->traced : NULL;
        CudaCall call = {.function = next->function,
                         .grid = next->grid,
                         .reversed = reversed,
                         .footprint = traced ? traced->memory : NULL};
        if (traced && launch_on_gpu(executor, problem->cuda, &run, call, tiles)) {
            problem->cuda->backwards++;
            pay_steps(executor, &run, traced->steps[k]);
        } else {
            if (traced) executor->traced = NULL;
            const int64_t *grid = next->grid ? next->grid : problem->configuration->grid;
            launch(executor, &run, next->function, tiles, grid, reversed);
        }
        run.steps[k] = run.memory->steps;
        if (!run.error) parts_add_up(problem, &run, next);
    }
    return run;
}

void execution_prepare(Executor *executor, Execution *run, const StagedNumbers *forwards, int count,
                       const StagedNumbers *backwards) {
    const Problem *problem = executor->problem;
    Device *device = device_open();
    if (device_missing(device)) return;
    int call_count = 0, launches = backwards ? problem->launch_count : 0;
    CudaCall *calls = ARENA_ARRAY(run->arena, CudaCall, count + launches + 1);
    for (int i = 0; i < count; i++)
        calls[call_count++] = (CudaCall){.function = problem->forward,
                                         .arguments = execution_arguments(executor, run, NULL),
                                         .numbers = forwards[i]};
    for (int k = 0; k < launches; k++)
        calls[call_count++] = (CudaCall){.function = problem->launches[k].function,
                                         .arguments = execution_actuals(executor, run, k),
                                         .numbers = *backwards};
    for (int i = 0; i < call_count; i++) calls[i].texts = cuda_texts(problem->cuda);
    cuda_prepare(device, NULL, calls, call_count, true);
    for (int i = 0; i < call_count; i++)
        for (int k = 0; k < calls[i].function->parameter_count; k++)
            tile_release(&executor->interp->pool, calls[i].arguments[k]);
}

Execution execution_before(Executor *executor, int index) {
    const Problem *problem = executor->problem;
    Execution run = execution_forward(executor, NULL);
    executor->traced = NULL;
    for (int k = 0; k < index && !run.error; k++) {
        const GradientLaunch *next = &problem->launches[k];
        const int64_t *grid = next->grid ? next->grid : problem->configuration->grid;
        launch(executor, &run, next->function, execution_actuals(executor, &run, k), grid, false);
        if (!run.error) parts_add_up(problem, &run, next);
    }
    run.memory->findings.count = 0;
    return run;
}
