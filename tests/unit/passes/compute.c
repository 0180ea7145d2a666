// Parameters become buffers and numbers by their roles in the derivation; what is left in memory is read off.
#include "tests/unit/passes/compute.h"

#include <math.h>

#include "analysis/launches/launch_later.h"
#include "autodiff/arguments.h"
#include "autodiff/primal/descriptors.h"
#include "autodiff/tape/memory.h"
#include "gpu-runner/interp/interp.h"

enum { TILES_OF_A_TAPE = 3, SLICES = 2, MOST_STEPS = 40000000 };
static const double ROUNDING = 1e-9;
static const int64_t PART_STRIDE = (int64_t)1 << 40;

struct BackwardRun {
    Arena *arena;
    const Subject *subject;
    Interp *interp;
    VirtualMemory *memory;
    Map buffers;  // name -> MemoryBuffer
    Error error;
    bool is_unedited;
};

/* ---- memory ---- */

static int argument_index(const Subject *subject, const char *name) {
    const Function *forward = subject->forward;
    for (int i = 0; i < forward->parameter_count; i++)
        if (strcmp(forward->parameters[i].name, name) == 0)
            return subject->joined && subject->joined[i] >= 0 ? subject->joined[i] : i;
    return -1;
}

static MemoryBuffer *buffer_named(BackwardRun *run, const char *kind, const char *name,
                                  DTypeCode dtype, Content content) {
    const char *key = arena_printf(run->arena, "%s %s", kind, name);
    MemoryBuffer *buffer = map_get(&run->buffers, str_from(key));
    if (buffer) return buffer;
    buffer = memory_add(run->memory, key, dtype, content);
    map_set(&run->buffers, str_from(key), buffer);
    return buffer;
}

/// The forward's buffer of a parameter, or a copy of what it held before the launch.
static MemoryBuffer *argument_buffer(BackwardRun *run, const char *kind, int index) {
    const PlanArgument *argument = &run->subject->configuration->arguments[index];
    return buffer_named(run, kind, run->subject->forward->parameters[index].name, argument->dtype,
                        argument->content);
}

static bool is_float_buffer(const PlanArgument *argument) {
    return argument->kind == ARGUMENT_POINTER && dtype_code_is_float(argument->dtype);
}

/// Nobody reads what a kernel leaves in scratch memory: it is no output.
static Content weights_of(const Subject *subject, int index) {
    Arena *arena = arena_new();
    bool is_scratch = parameter_is_scratch(arena, subject->forward, index);
    arena_free(arena);
    if (is_scratch) return (Content){.kind = CONTENT_ZERO};
    return (Content){.kind = CONTENT_NORMAL,
                     .seed = hash_mix(subject->seed ^ (0xF00Du + (uint64_t)index))};
}

/// The gradient of an output: the loss weighs what the forward stored.
static MemoryBuffer *upstream_buffer(BackwardRun *run, const char *kind, int index) {
    const char *name = run->subject->forward->parameters[index].name;
    const PlanArgument *argument = &run->subject->configuration->arguments[index];
    if (map_has(&run->buffers, str_from(arena_printf(run->arena, "%s %s", kind, name))))
        return buffer_named(run, kind, name, argument->dtype, (Content){0});
    MemoryBuffer *buffer =
        buffer_named(run, kind, name, argument->dtype, (Content){.kind = CONTENT_ZERO});
    Content weights = weights_of(run->subject, index);
    Offsets written = {0};
    memory_touched(run->arena, argument_buffer(run, "forward", index), true, &written);
    for (LIST_EACH(int, i, written))
        memory_poke(run->memory, buffer, written.items[i],
                    content_number(&weights, written.items[i]));
    return buffer;
}

/* ---- arguments ---- */

static Tile *pointer_tile(BackwardRun *run, const MemoryBuffer *buffer) {
    Tile *tile = tile_new(&run->interp->pool, TILE_POINTER, buffer->dtype, 0, NULL);
    tile->integer[0] = address_make(buffer->id, 0);
    return tile;
}

static Tile *number_tile(BackwardRun *run, int64_t number) {
    return tile_int(&run->interp->pool, number, DTYPE_INT64);
}

/// The forward's argument itself. `is_plain`: a descriptor is opened, its tensor is meant.
static Tile *same_tile(BackwardRun *run, int index, bool is_plain) {
    const PlanArgument *argument = &run->subject->configuration->arguments[index];
    TilePool *pool = &run->interp->pool;
    if (argument->kind == ARGUMENT_CONSTANT) return tile_from_constant(pool, argument->constant);
    if (argument->kind == ARGUMENT_INTEGER)
        return tile_int(pool, argument->integer, argument->dtype);
    if (argument->kind == ARGUMENT_FLOAT)
        return tile_float(pool, argument->number, argument->dtype);
    Tile *pointer = pointer_tile(run, argument_buffer(run, "forward", index));
    if (!argument->block_rank || is_plain) return pointer;
    return tile_descriptor(pool, pointer, argument->block_rank, argument->block, argument->dims,
                           argument->strides);
}

static Tile *scratch_tile(BackwardRun *run, const char *name) {
    return pointer_tile(
        run, buffer_named(run, "scratch", name, DTYPE_FLOAT32, (Content){.kind = CONTENT_ZERO}));
}

static Tile *role_tile(BackwardRun *run, const Differentiation *state, ArgumentUse use,
                       const char *of, const Value *primal) {
    if (use == ARGUMENT_SCRATCH) return scratch_tile(run, of);
    if (use == ARGUMENT_STEPS) return number_tile(run, TILES_OF_A_TAPE);
    if (use == ARGUMENT_SLICES || use == ARGUMENT_STAGES) return number_tile(run, SLICES);
    if (use == ARGUMENT_RUN_TILE) return number_tile(run, 2);
    if (use == ARGUMENT_FILL) return number_tile(run, false);
    if (use == ARGUMENT_TOGETHER || use == ARGUMENT_PARTS) return number_tile(run, 1);
    if (use == ARGUMENT_PART_STRIDE) return number_tile(run, PART_STRIDE);
    int index = argument_index(run->subject, of);
    if (index < 0) return NULL;
    const PlanArgument *argument = &run->subject->configuration->arguments[index];
    const DescriptorNumber *number = primal ? descriptor_number(state, primal) : NULL;
    const Content zero = {.kind = CONTENT_ZERO};
    switch (use) {
    case ARGUMENT_SHAPE: return number_tile(run, argument->dims[number->axis]);
    case ARGUMENT_STRIDE: return number_tile(run, argument->strides[number->axis]);
    case ARGUMENT_UPSTREAM: return pointer_tile(run, upstream_buffer(run, "upstream", index));
    case ARGUMENT_RUNNING: return pointer_tile(run, upstream_buffer(run, "running", index));
    case ARGUMENT_KEPT: return pointer_tile(run, upstream_buffer(run, "kept", index));
    case ARGUMENT_GRADIENT:
        if (argument->kind == ARGUMENT_CONSTANT)  // no tensor, no gradient of it
            return tile_from_constant(&run->interp->pool, argument->constant);
        return pointer_tile(
            run, buffer_named(run, argument->kind == ARGUMENT_POINTER ? "gradient" : "sum", of,
                              argument->dtype, zero));
    case ARGUMENT_BEFORE: return pointer_tile(run, argument_buffer(run, "before", index));
    case ARGUMENT_AMID: return pointer_tile(run, argument_buffer(run, "amid", index));
    default: break;
    }
    bool is_plain = primal && map_has_pointer(&state->descriptors.pointer_names, primal);
    return same_tile(run, index, is_plain);
}

/// The role of a parameter of a primal; `state` is NULL for that of the forward.
static Tile *primal_tile(BackwardRun *run, const Differentiation *state,
                         const Parameter *parameter) {
    if (!state) return role_tile(run, NULL, ARGUMENT_SAME, parameter->name, NULL);
    const DescriptorNumber *number = descriptor_number(state, parameter->value);
    if (number) return role_tile(run, state, number->use, number->of, parameter->value);
    if (map_has_pointer(&state->versions.origins, parameter->value))
        return role_tile(run, state, ARGUMENT_BEFORE,
                         parameter_of_root(state, parameter->value)->name, parameter->value);
    return role_tile(run, state, ARGUMENT_SAME, parameter->name, parameter->value);
}

/* ---- element types of parameters ---- */

typedef struct TypeBinding {
    const Subject *subject;
    Function *function;
} TypeBinding;

static void bind_type(const TypeBinding *binding, Value *value) {
    const Constant *constant = value ? value->constant : NULL;
    if (!constant || constant->kind != CONSTANT_DTYPE || constant->dtype.code != DTYPE_OF_PARAMETER)
        return;
    const char *name = binding->function->parameters[constant->dtype.parameter].name;
    int index = argument_index(binding->subject, name);
    if (index < 0) return;
    Constant copy = *constant;
    copy.dtype = dtype_of(binding->subject->configuration->arguments[index].dtype);
    value->constant = constant_new(binding->function->arena, copy);
}

static bool bind_types_of(void *context, Op *op) {
    const TypeBinding *binding = context;
    for (int i = 0; i < op->operand_count; i++) bind_type(binding, op->operands[i]);
    for (int i = 0; i < op->result_count; i++) bind_type(binding, op->results[i]);
    return true;
}

/* ---- runs ---- */

static void launch(BackwardRun *run, const Function *function, Tile **tiles,
                   const FunctionEdit *edit) {
    Function *copy = function_copy(run->arena, function, function->name, NULL);
    TypeBinding binding = {run->subject, copy};
    region_walk(copy->body, bind_types_of, &binding);
    if (edit && !edit->edit(copy, edit->seed)) run->is_unedited = true;
    if (run->error || run->is_unedited) return;
    run->error = interp_launch(run->interp, run->memory, copy, tiles,
                               run->subject->configuration->grid, false);
}

static BackwardRun *run_new(Arena *arena, const Subject *subject) {
    const InterpOptions options = {.max_steps = MOST_STEPS};
    BackwardRun *run = ARENA_NEW(arena, BackwardRun);
    *run = (BackwardRun){.arena = arena, .subject = subject, .buffers = map_new(arena)};
    run->interp = interp_new(arena, &options);
    run->memory = memory_new(arena);
    return run;
}

static void run_primal(BackwardRun *run, const Differentiation *state, const Function *function,
                       const FunctionEdit *edit) {
    Tile **tiles = ARENA_ARRAY(run->arena, Tile *, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++)
        tiles[i] = primal_tile(run, state, &function->parameters[i]);
    launch(run, function, tiles, edit);
}

BackwardRun *backward_run_new(Arena *arena, const Subject *subject) {
    BackwardRun *run = run_new(arena, subject);
    run_primal(run, NULL, subject->forward, NULL);
    run->memory->findings.count = 0;
    return run;
}

void backward_run_add(BackwardRun *run, const Differentiation *state, const Function *function,
                      const FunctionEdit *edit) {
    if (run->error) return;
    Tile **tiles = ARENA_ARRAY(run->arena, Tile *, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++) {
        const Value *value = function->parameters[i].value, *primal = NULL;
        const char *of = NULL;
        ArgumentUse use = argument_use(state, value, &of);
        for (int k = 0; k < state->primal->parameter_count && !primal; k++) {
            const Value *root = state->primal->parameters[k].value;
            if (map_get_pointer(&state->values, root) == value) primal = root;
        }
        if (of) tiles[i] = role_tile(run, state, use, of, primal);
    }
    launch(run, function, tiles, edit);
}

/* ---- what is left in memory ---- */

static uint64_t place_key(const char *buffer, int64_t offset) {
    return map_hash(str_from(buffer)) ^ hash_mix((uint64_t)offset + 1);
}

static void computed_add(Arena *arena, Computed *computed, const char *buffer, int64_t offset,
                         double value) {
    ComputedElement *element = map_get_number(&computed->places, place_key(buffer, offset));
    if (element) {
        element->value += value;  // of a sum
        return;
    }
    element = ARENA_NEW(arena, ComputedElement);
    *element = (ComputedElement){buffer, offset, value};
    map_set_number(&computed->places, place_key(buffer, offset), element);
}

/// The elements of a buffer that a run may have changed. A running gradient was there before: it is that of all that the forward stored.
static Offsets elements_of(BackwardRun *run, const MemoryBuffer *buffer) {
    Offsets elements = {0};
    memory_touched(run->arena, buffer, true, &elements);
    bool was_there = str_starts(str_from(buffer->name), "running ") ||
                     str_starts(str_from(buffer->name), "kept ");
    int index = was_there ? argument_index(run->subject, strchr(buffer->name, ' ') + 1) : -1;
    Offsets stored = {0};
    if (index >= 0)
        memory_touched(run->arena, argument_buffer(run, "forward", index), true, &stored);
    Map known = map_new(run->arena);
    for (LIST_EACH(int, i, elements))
        map_set_number(&known, (uint64_t)elements.items[i], run->arena);
    for (LIST_EACH(int, i, stored))
        if (!map_has_number(&known, (uint64_t)stored.items[i]))
            LIST_PUSH(run->arena, &elements, stored.items[i]);
    return elements;
}

/// Elements of all sums of a gradient that comes in parts, as that of the first one.
static int64_t of_first_part(int64_t offset) {
    int64_t rest = (offset + PART_STRIDE / 2) % PART_STRIDE;
    return (rest < 0 ? rest + PART_STRIDE : rest) - PART_STRIDE / 2;
}

/// What lies in buffers of these kinds. Of a "sum" only all elements together count.
static Computed computed_of(BackwardRun *run, const char *const *kinds) {
    Computed computed = {.error = run->error,
                         .is_plain = run->memory->findings.count == 0,
                         .is_unedited = run->is_unedited,
                         .places = map_new(run->arena)};
    for (int i = 0; i < run->buffers.count && !run->error; i++) {
        MemoryBuffer *buffer = run->buffers.entries[i].value;
        bool is_asked = false;
        for (int k = 0; kinds[k]; k++) is_asked |= str_starts(str_from(buffer->name), kinds[k]);
        int index = argument_index(run->subject, strchr(buffer->name, ' ') + 1);
        if (!is_asked ||
            (index >= 0 && parameter_is_scratch(run->arena, run->subject->forward, index)))
            continue;
        bool is_sum = str_starts(str_from(buffer->name), "sum ");
        Offsets written = elements_of(run, buffer);
        for (LIST_EACH(int, w, written))
            computed_add(run->arena, &computed, buffer->name,
                         is_sum ? 0 : of_first_part(written.items[w]),
                         memory_peek(run->memory, buffer, written.items[w]));
    }
    for (int i = 0; i < computed.places.count; i++)
        LIST_PUSH(run->arena, &computed.elements,
                  *(ComputedElement *)computed.places.entries[i].value);
    return computed;
}

Computed primal_compute(Arena *arena, const Subject *subject, const Differentiation *state,
                        const Function *function, const FunctionEdit *edit) {
    static const char *const outputs[] = {"forward ", NULL};
    BackwardRun *run = run_new(arena, subject);
    run_primal(run, state, function, edit);
    return computed_of(run, outputs);
}

Computed backward_run_gradients(BackwardRun *run) {
    static const char *const gradients[] = {"gradient ", "sum ", "running ", "kept ", NULL};
    return computed_of(run, gradients);
}

/* ---- slopes ---- */

static Direction direction_of(const Subject *subject, int index) {
    return (Direction){.active = true,
                       .seed = hash_mix(subject->seed ^ ((uint64_t)index + 77)),
                       .is_tangent = true};
}

static double dual_slope(BackwardRun *run, double *size) {
    double slope = 0;
    const PlanConfiguration *configuration = run->subject->configuration;
    for (int i = 0; i < configuration->argument_count; i++) {
        if (!is_float_buffer(&configuration->arguments[i]) ||
            (run->subject->joined && run->subject->joined[i] >= 0))
            continue;
        MemoryBuffer *buffer = argument_buffer(run, "forward", i);
        Content weights = weights_of(run->subject, i);
        Offsets written = {0};
        memory_touched(run->arena, buffer, true, &written);
        for (LIST_EACH(int, w, written)) {
            double part = memory_peek_tangent(run->memory, buffer, written.items[w]) *
                          content_number(&weights, written.items[w]);
            slope += part;
            *size += fabs(part);
        }
    }
    return slope;
}

/// What the kernel only reads, and what it updates. What an output held before it is stored has no gradient.
static bool is_moved(const Differentiation *state, const char *name) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Value *root = state->primal->parameters[i].value;
        if (strcmp(state->primal->parameters[i].name, name) != 0) continue;
        return !map_has_pointer(&state->memory->stored, root) ||
               map_has_pointer(&state->buffers.running, root) ||
               map_has_pointer(&state->buffers.kept, root);
    }
    return false;
}

bool slopes_compute(Arena *arena, const Subject *subject, const Differentiation *state,
                    const Computed *gradients, double *dual, double *gradient, double *size) {
    BackwardRun *run = run_new(arena, subject);
    const Function *forward = subject->forward;
    for (int i = 0; i < forward->parameter_count; i++)
        if (is_float_buffer(&subject->configuration->arguments[i]) &&
            argument_index(subject, forward->parameters[i].name) == i &&
            is_moved(state, forward->parameters[i].name))
            argument_buffer(run, "forward", i)->direction = direction_of(subject, i);
    run_primal(run, NULL, forward, NULL);
    if (run->error || gradients->error || state->buffers.gradients.count == 0) return false;
    *size = *gradient = 0;
    *dual = dual_slope(run, size);
    for (LIST_EACH(int, i, gradients->elements)) {
        const ComputedElement *element = &gradients->elements.items[i];
        if (str_starts(str_from(element->buffer), "sum ")) continue;
        int index = argument_index(subject, strchr(element->buffer, ' ') + 1);
        Direction direction = direction_of(subject, index);
        double part = element->value * direction_at(&direction, element->offset);
        *gradient += part;
        *size += fabs(part);
    }
    return isfinite(*dual) && isfinite(*gradient);
}

/* ---- differences ---- */

static bool is_like(double before, double after, double size, Likeness likeness) {
    bool asks_all = likeness == ALIKE_BITS || likeness == ALIKE_VALUES;
    if (!asks_all && !isfinite(before)) return true;
    if (likeness == ALIKE_VALUES || likeness == ALIKE_NUMBERS) {
        if (!isfinite(before) || !isfinite(after)) return isfinite(before) == isfinite(after);
        return fabs(before - after) <= ROUNDING * fmax(size, 1);
    }
    return before == after || (isnan(before) && isnan(after));
}

static double largest(const Computed *computed) {
    double size = 0;
    for (LIST_EACH(int, i, computed->elements))
        if (isfinite(computed->elements.items[i].value))
            size = fmax(size, fabs(computed->elements.items[i].value));
    return size;
}

/// What the other holds at the place of an element: gradients start at 0, and nobody need store a 0.
static double value_at(const Computed *computed, const ComputedElement *place) {
    const ComputedElement *element =
        map_get_number(&computed->places, place_key(place->buffer, place->offset));
    return element ? element->value : 0.0;
}

static const char *difference(Arena *arena, const ComputedElement *element, double before,
                              double after) {
    return arena_printf(arena, "element %lld of `%s` was %.17g and is %.17g",
                        (long long)element->offset, element->buffer, before, after);
}

const char *computed_difference(Arena *arena, const Computed *before, const Computed *after,
                                Likeness likeness) {
    if (before->error) return NULL;
    if (after->error) return arena_printf(arena, "it does not run any more: %s", after->error);
    double size = largest(before);
    for (LIST_EACH(int, i, before->elements)) {
        const ComputedElement *element = &before->elements.items[i];
        double value = value_at(after, element);
        if (!is_like(element->value, value, size, likeness))
            return difference(arena, element, element->value, value);
    }
    for (LIST_EACH(int, i, after->elements)) {
        const ComputedElement *element = &after->elements.items[i];
        double value = value_at(before, element);
        if (!is_like(value, element->value, size, likeness))
            return difference(arena, element, value, element->value);
    }
    return NULL;
}
