// Forward and backward on fresh memory per run; directional derivatives by duals and central differences against <gradient, direction>.
#include "gpu-runner/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENT_TRIALS = 96 };
static const double SEARCH_SECONDS = 0.4;  // for the element that is most wrong
static const double TOLERANCE = 1e-6;      // relative, of a directional derivative
static const double STEP = 1e-4;           // of central differences; the second step is twice this
static const double ROUNDING = 1e-14;      // of the loss, relative to the sizes of its terms
static const double SMALLEST = 1e-10;      // derivative; TOLERANCE of it is the rounding of 1.0
static const double ROUNDED_AWAY = 1e-14;  // sums of numbers of size 1 that cancel differ by that
static const double NUDGE = 1e-13;  // of inputs; a derivative that notices is one of rounding
static const double CONSISTENT =
    1e-5;  // two step sizes agree this well where the function is smooth

/// One problem being checked.
typedef struct Checker {
    Arena *arena;
    const Problem *problem;
    Interp *interp;
    bool left_domain;  // the forward divided by zero somewhere, if only in lanes that it drops
    Map excluded;  // output * 2^48 + offset -> marker: elements that are not finite, left out of the loss
    bool has_excluded;
    Arena *keeps_in;  // runs live here instead of in an arena of their own
} Checker;

/// What one forward run is perturbed by.
typedef struct Perturbation {
    const bool *active;  // per input, NULL: none
    uint64_t seed;
    bool is_single;  // only element `single` of the active input
    int64_t single;
    double step;
    bool is_tangent;
} Perturbation;

typedef struct Run {
    Arena *arena;
    Memory *memory;
    MemoryBuffer **buffers;  // per forward parameter, NULL for scalars
    MemoryBuffer **gradients;
    MemoryBuffer **upstreams;
    MemoryBuffer **befores;
    MemoryBuffer **scratch;
    const char **scratch_names;
    int scratch_count;
    Error error;
} Run;

static uint64_t input_seed(const Perturbation *perturbation, int parameter) {
    return hash_mix(perturbation->seed ^ hash_mix((uint64_t)parameter + 77));
}

static bool is_output(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->output_count; i++)
        if (problem->outputs[i] == parameter) return true;
    return false;
}

static int input_of(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->input_count; i++)
        if (problem->inputs[i] == parameter) return i;
    return -1;
}

static Direction direction_of(const Problem *problem, const Perturbation *perturbation,
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

static Tile *scalar_tile(TilePool *pool, const Argument *argument, Direction direction) {
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

static Run run_new(const Checker *checker, const Perturbation *perturbation) {
    const Problem *problem = checker->problem;
    const Configuration *configuration = problem->configuration;
    int count = configuration->argument_count;
    Run run = {.arena = checker->keeps_in ? checker->keeps_in : arena_new()};
    run.memory = memory_new(run.arena);
    run.buffers = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.gradients = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.upstreams = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    run.befores = ARENA_ARRAY(run.arena, MemoryBuffer *, count + 1);
    for (int i = 0; i < count; i++) {
        const Argument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_POINTER) continue;
        run.buffers[i] = memory_add(run.memory, str_dup(run.arena, argument->name), argument->dtype,
                                    argument->content);
        run.buffers[i]->extent = argument->extent;
        run.buffers[i]->direction = direction_of(problem, perturbation, i);
        run.buffers[i]->is_uninitialised =
            is_output(problem, i) && input_of(problem, i) < 0 && !configuration->is_guess;
    }
    return run;
}

static void run_free(Run *run) { arena_free(run->arena); }

/// Executes the forward of a fresh run.
static Run run_forward(Checker *checker, const Perturbation *perturbation) {
    const Problem *problem = checker->problem;
    const Configuration *configuration = problem->configuration;
    const Function *forward = problem->forward;
    Run run = run_new(checker, perturbation);
    Tile **tiles = ARENA_ARRAY(run.arena, Tile *, forward->parameter_count + 1);
    TilePool *pool = &checker->interp->pool;
    for (int i = 0; i < forward->parameter_count && i < configuration->argument_count; i++) {
        Direction direction = direction_of(problem, perturbation, i);
        tiles[i] = run.buffers[i] ? pointer_tile(pool, run.buffers[i])
                                  : scalar_tile(pool, &configuration->arguments[i], direction);
    }
    run.error =
        interp_launch(checker->interp, run.memory, forward, tiles, configuration->grid, false);
    for (int i = 0; i < forward->parameter_count; i++) tile_release(pool, tiles[i]);
    return run;
}

// --- the loss -----------------------------------------------------------------------------------------------------------

static uint64_t excluded_key(int parameter, int64_t offset) {
    return hash_mix(((uint64_t)parameter << 48) ^ (uint64_t)offset);
}

/// Nothing comes from above an output of integers.
static Content upstream_content(const Problem *problem, int parameter) {
    if (!dtype_code_is_float(problem->configuration->arguments[parameter].dtype))
        return (Content){.kind = CONTENT_ZERO};
    return (Content){.kind = CONTENT_NORMAL,
                     .seed = hash_mix(problem->seed ^ (0xF00Du + (uint64_t)parameter))};
}

static double upstream_at(const Checker *checker, const Content *content, int parameter,
                          int64_t offset) {
    if (checker->has_excluded &&
        map_has_number(&checker->excluded, excluded_key(parameter, offset)))
        return 0;
    return content_number(content, offset);
}

/// sum of upstream * output, or of upstream * tangent; `size` is the sum of the terms' sizes.
static double loss(const Checker *checker, Run *run, bool tangent, double *size) {
    const Problem *problem = checker->problem;
    double sum = 0;
    *size = 0;
    for (int k = 0; k < problem->output_count; k++) {
        int parameter = problem->outputs[k];
        MemoryBuffer *buffer = run->buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Content content = upstream_content(problem, parameter);
        Offsets written = {0};
        memory_touched(run->arena, buffer, true, &written);
        for (int i = 0; i < written.count; i++) {
            int64_t offset = written.items[i];
            double upstream = upstream_at(checker, &content, parameter, offset);
            if (upstream == 0) continue;
            double term = upstream * (tangent ? memory_peek_tangent(run->memory, buffer, offset)
                                              : memory_peek(run->memory, buffer, offset));
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

/// Marks outputs that are not finite; how many of how many.
static void exclude_infinite(Checker *checker, Run *run, int64_t *excluded, int64_t *all) {
    const Problem *problem = checker->problem;
    static const char marker;
    *excluded = *all = 0;
    for (int k = 0; k < problem->output_count; k++) {
        int parameter = problem->outputs[k];
        MemoryBuffer *buffer = run->buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Offsets written = {0};
        memory_touched(run->arena, buffer, true, &written);
        *all += written.count;
        for (int i = 0; i < written.count; i++) {
            if (isfinite(memory_peek(run->memory, buffer, written.items[i]))) continue;
            ++*excluded;
            checker->has_excluded = true;
            map_set_number(&checker->excluded, excluded_key(parameter, written.items[i]),
                           (void *)(uintptr_t)&marker);
        }
    }
}

// --- backward -----------------------------------------------------------------------------------------------------------

static MemoryBuffer *gradient_buffer(const Problem *problem, Run *run, int parameter) {
    if (!run->gradients[parameter]) {
        const Argument *argument = &problem->configuration->arguments[parameter];
        const char *name =
            arena_printf(run->arena, "the gradient of %.*s", STR_ARGS(argument->name));
        MemoryBuffer *buffer =
            memory_add(run->memory, name, argument->dtype, (Content){.kind = CONTENT_ZERO});
        buffer->is_gradient = true;
        if (argument->kind == ARGUMENT_POINTER) buffer->extent = argument->extent;
        run->gradients[parameter] = buffer;
    }
    return run->gradients[parameter];
}

static MemoryBuffer *upstream_buffer(const Checker *checker, Run *run, int parameter) {
    const Problem *problem = checker->problem;
    if (run->upstreams[parameter]) return run->upstreams[parameter];
    const Argument *argument = &problem->configuration->arguments[parameter];
    const char *name = arena_printf(run->arena, "the gradient of %.*s", STR_ARGS(argument->name));
    MemoryBuffer *buffer =
        memory_add(run->memory, name, argument->dtype, upstream_content(problem, parameter));
    buffer->extent = argument->kind == ARGUMENT_POINTER ? argument->extent : 0;
    run->upstreams[parameter] = buffer;
    MemoryBuffer *output = run->buffers[parameter];
    if (!checker->has_excluded || !output) return buffer;
    Offsets written = {0};
    memory_touched(run->arena, output, true, &written);
    for (int i = 0; i < written.count; i++)
        if (map_has_number(&checker->excluded, excluded_key(parameter, written.items[i])))
            memory_poke(run->memory, buffer, written.items[i], 0);
    return buffer;
}

static int compare_offsets(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/// The gradient of a buffer that the forward updates in place. What the forward reads and leaves as it is takes no
/// part in the loss: its upstream gradient is 0.
static MemoryBuffer *running_buffer(const Checker *checker, Run *run, int parameter) {
    if (run->gradients[parameter]) return run->gradients[parameter];
    MemoryBuffer *buffer = upstream_buffer(checker, run, parameter);
    run->gradients[parameter] = buffer;
    MemoryBuffer *forward = run->buffers[parameter];
    if (!forward) return buffer;
    Offsets read = {0}, written = {0};
    memory_touched(run->arena, forward, false, &read);
    memory_touched(run->arena, forward, true, &written);
    for (int i = 0; i < read.count; i++)
        if (!bsearch(&read.items[i], written.items, (size_t)written.count, sizeof *written.items,
                     compare_offsets))
            memory_poke(run->memory, buffer, read.items[i], 0);
    return buffer;
}

static MemoryBuffer *before_buffer(const Checker *checker, Run *run, int parameter) {
    if (run->befores[parameter]) return run->befores[parameter];
    const Argument *argument = &checker->problem->configuration->arguments[parameter];
    const char *name = arena_printf(run->arena, "%.*s before the launch", STR_ARGS(argument->name));
    MemoryBuffer *buffer = memory_add(run->memory, name, argument->dtype, argument->content);
    buffer->extent = argument->kind == ARGUMENT_POINTER ? argument->extent : 0;
    run->befores[parameter] = buffer;
    return buffer;
}

static MemoryBuffer *scratch_buffer(Run *run, const Actual *actual) {
    for (int i = 0; i < run->scratch_count; i++)
        if (strcmp(run->scratch_names[i], actual->name) == 0) return run->scratch[i];
    if (!run->scratch) {
        run->scratch = ARENA_ARRAY(run->arena, MemoryBuffer *, 64);
        run->scratch_names = ARENA_ARRAY(run->arena, const char *, 64);
    }
    MemoryBuffer *buffer =
        memory_add(run->memory, actual->name, actual->dtype, (Content){.kind = CONTENT_ZERO});
    buffer->extent = actual->extent;
    buffer->is_uninitialised = buffer->is_gradient = true;
    if (run->scratch_count == 64) return buffer;
    run->scratch_names[run->scratch_count] = actual->name;
    run->scratch[run->scratch_count++] = buffer;
    return buffer;
}

static Tile *actual_tile(Checker *checker, Run *run, const Actual *actual) {
    const Problem *problem = checker->problem;
    TilePool *pool = &checker->interp->pool;
    switch (actual->kind) {
    case ACTUAL_SAME: {
        MemoryBuffer *buffer = run->buffers[actual->parameter];
        if (buffer) return pointer_tile(pool, buffer);
        return scalar_tile(pool, &problem->configuration->arguments[actual->parameter],
                           (Direction){0});
    }
    case ACTUAL_UPSTREAM:
        return pointer_tile(pool, upstream_buffer(checker, run, actual->parameter));
    case ACTUAL_GRADIENT:
        return pointer_tile(pool, gradient_buffer(problem, run, actual->parameter));
    case ACTUAL_RUNNING: return pointer_tile(pool, running_buffer(checker, run, actual->parameter));
    case ACTUAL_BEFORE: return pointer_tile(pool, before_buffer(checker, run, actual->parameter));
    case ACTUAL_SCRATCH: return pointer_tile(pool, scratch_buffer(run, actual));
    case ACTUAL_CONSTANT: return tile_from_constant(pool, actual->constant);
    case ACTUAL_PROGRAMS: break;
    }
    return tile_int(pool, problem->configuration->grid[actual->axis], DTYPE_INT32);
}

/// Forward, then the backward kernels in order.
static Run run_backward(Checker *checker, bool reversed) {
    const Problem *problem = checker->problem;
    Run run = run_forward(checker, NULL);
    run.memory->findings.count = 0;  // the forward's were seen before
    for (int k = 0; k < problem->launch_count && !run.error; k++) {
        const GradientLaunch *launch = &problem->launches[k];
        int count = launch->function->parameter_count;
        Tile **tiles = ARENA_ARRAY(run.arena, Tile *, count + 1);
        for (int i = 0; i < count; i++) tiles[i] = actual_tile(checker, &run, &launch->actuals[i]);
        const int64_t *grid = launch->has_grid ? launch->grid : problem->configuration->grid;
        run.error =
            interp_launch(checker->interp, run.memory, launch->function, tiles, grid, reversed);
        for (int i = 0; i < count; i++) tile_release(&checker->interp->pool, tiles[i]);
    }
    return run;
}

// --- comparing ----------------------------------------------------------------------------------------------------------

/// Offsets of an input that the forward reads. A scalar has one, 0.
static void input_offsets(const Problem *problem, const Run *forward, Arena *arena, int parameter,
                          Offsets *offsets) {
    if (problem->configuration->arguments[parameter].kind != ARGUMENT_POINTER)
        LIST_PUSH(arena, offsets, 0);
    else
        memory_touched(arena, forward->buffers[parameter], false, offsets);
}

/// The derived gradient at an element; of a scalar, the sum of what the kernels wrote (one partial sum per program).
static double gradient_at(const Problem *problem, Run *backward, int parameter, int64_t offset) {
    MemoryBuffer *buffer = backward->gradients[parameter];
    if (!buffer) return 0;
    if (problem->configuration->arguments[parameter].kind == ARGUMENT_POINTER)
        return memory_peek(backward->memory, buffer, offset);
    Offsets written = {0};
    memory_touched(backward->arena, buffer, true, &written);
    double sum = 0;
    for (int i = 0; i < written.count; i++)
        sum += memory_peek(backward->memory, buffer, written.items[i]);
    return sum;
}

/// <gradient, direction> over the elements that the forward reads, and the size to judge errors by.
static double projected(const Problem *problem, const Run *forward, Run *backward,
                        const Perturbation *perturbation, double *size) {
    double sum = 0, square = 0;
    for (int k = 0; k < problem->input_count; k++) {
        if (!perturbation->active[k]) continue;
        int parameter = problem->inputs[k];
        Direction direction = direction_of(problem, perturbation, parameter);
        Offsets offsets = {0};
        input_offsets(problem, forward, backward->arena, parameter, &offsets);
        for (int i = 0; i < offsets.count; i++) {
            double component = direction_at(&direction, offsets.items[i]);
            if (component == 0) continue;
            double term = component * gradient_at(problem, backward, parameter, offsets.items[i]);
            sum += term;
            square += term * term;
        }
    }
    *size = sqrt(square);
    return sum;
}

/// Differences within `noise`, or within the rounding of numbers of size 1, are rounding.
static double relative_error(double expected, double actual, double size, double noise) {
    if (!isfinite(expected) || !isfinite(actual)) return INFINITY;
    double scale = fmax(fmax(fabs(expected), fabs(actual)), size),
           difference = fabs(expected - actual) - noise;
    return difference <= 0 ? 0 : difference / fmax(scale, SMALLEST);
}

/// What the measurements of one direction say.
typedef struct Measured {
    double dual;        // derivative by forward-mode duals
    double difference;  // by central differences, extrapolated
    bool is_smooth;     // two step sizes agree
    double noise;       // rounding in `difference`
    Error error;
} Measured;

static double loss_at_step(Checker *checker, Perturbation perturbation, double step, double *size,
                           Error *error) {
    perturbation.step = step;
    perturbation.is_tangent = false;
    Run run = run_forward(checker, &perturbation);
    double value = loss(checker, &run, false, size);
    if (run.error && !*error) *error = arena_strdup(checker->arena, run.error);
    run_free(&run);
    return value;
}

/// Of the forward with its inputs moved by `perturbation.step` along the direction.
static double dual_derivative(Checker *checker, Perturbation perturbation, Error *error) {
    perturbation.is_tangent = true;
    Run run = run_forward(checker, &perturbation);
    double size, value = loss(checker, &run, true, &size);
    if (run.error && !*error) *error = arena_strdup(checker->arena, run.error);
    run_free(&run);
    return value;
}

/// Central differences with h and 2h; Richardson's extrapolation leaves an error of order h^4.
static void measure_differences(Checker *checker, Perturbation perturbation, Measured *measured) {
    double slopes[2], size = 0;
    for (int i = 0; i < 2; i++) {
        double step = STEP * (i + 1);
        double above = loss_at_step(checker, perturbation, step, &size, &measured->error);
        double below = loss_at_step(checker, perturbation, -step, &size, &measured->error);
        slopes[i] = (above - below) / (2 * step);
    }
    measured->noise = ROUNDING * size / STEP;
    measured->difference = (4 * slopes[0] - slopes[1]) / 3;
    measured->is_smooth = relative_error(slopes[0], slopes[1], 0, measured->noise) < CONSISTENT;
}

/// Central differences are trusted where they agree with themselves; a kink leaves the word to the duals.
static double judge(const Measured *measured, double actual, double size, double *dual_error,
                    bool *kink) {
    double by_dual = relative_error(measured->dual, actual, size, 0);
    double by_difference = relative_error(measured->difference, actual, size, measured->noise);
    *dual_error = by_dual;
    if (by_difference < TOLERANCE)
        return fmin(by_dual, by_difference > 0 ? by_difference : by_dual);
    if (measured->is_smooth || !isfinite(by_dual)) return by_difference;
    *kink = true;
    return by_dual;
}

/// By duals; where those disagree, or where `differences` asks for it, by central differences, too.
static bool check_direction(Checker *checker, const Run *forward, Run *backward,
                            CheckResult *result, const bool *active, uint64_t seed,
                            bool differences) {
    const Problem *problem = checker->problem;
    Perturbation perturbation = {.active = active, .seed = seed};
    double size, actual = projected(problem, forward, backward, &perturbation, &size);
    Measured measured = {0};
    measured.dual = dual_derivative(checker, perturbation, &measured.error);
    double dual_error = relative_error(measured.dual, actual, size, 0), error = dual_error;
    if (differences || !(dual_error < TOLERANCE)) {
        if (!measured.error) measure_differences(checker, perturbation, &measured);
        error = judge(&measured, actual, size, &dual_error, &result->has_kink);
    }
    if (measured.error) {
        if (result->status == CHECK_FAILED) return false;  // what is known to be wrong stays wrong
        result->status = CHECK_UNPROVED;
        result->reason =
            arena_printf(checker->arena, "a perturbed forward does not run: %s", measured.error);
        return false;
    }
    result->dot_error = fmax(result->dot_error, dual_error);
    result->error = fmax(result->error, error);
    for (int k = 0; k < problem->input_count; k++) {
        if (!active[k]) continue;
        bool alone = true;
        for (int j = 0; j < problem->input_count; j++) alone = alone && (j == k || !active[j]);
        if (!alone) continue;
        InputResult *input = &result->inputs[k];
        input->directions++;
        input->error = fmax(input->error, error);
        input->dual_error = fmax(input->dual_error, dual_error);
    }
    return true;
}

/// Looks for the single element that is most wrong.
static void find_worst_element(Checker *checker, const Run *forward, Run *backward,
                               InputResult *input, int index) {
    const Problem *problem = checker->problem;
    bool *active = ARENA_ARRAY(checker->arena, bool, problem->input_count);
    active[index] = true;
    Offsets offsets = {0};
    input_offsets(problem, forward, checker->arena, input->parameter, &offsets);
    int stride = offsets.count > ELEMENT_TRIALS ? offsets.count / ELEMENT_TRIALS : 1;
    double worst = -1, until = clock_seconds() + SEARCH_SECONDS;
    for (int i = 0; i < offsets.count && clock_seconds() < until; i += stride) {
        Perturbation perturbation = {
            .active = active, .is_single = true, .single = offsets.items[i]};
        Error error = NULL;
        double expected = dual_derivative(checker, perturbation, &error),
               actual = gradient_at(problem, backward, input->parameter, offsets.items[i]);
        if (error) return;
        double difference = fabs(expected - actual);
        if (isnan(difference)) difference = INFINITY;
        if (difference <= worst) continue;
        worst = difference;
        input->has_worst = true;
        input->worst_offset = offsets.items[i];
        input->expected = expected;
        input->actual = actual;
    }
}

// --- ownership ----------------------------------------------------------------------------------------------------------

/// Gradients where the forward reads nothing must stay 0; a second run from the last program to the first must agree.
static void check_ownership(Checker *checker, const Run *forward, Run *backward,
                            CheckResult *result) {
    const Problem *problem = checker->problem;
    Run again = run_backward(checker, true);
    for (int k = 0; k < problem->input_count && !again.error; k++) {
        int parameter = problem->inputs[k];
        MemoryBuffer *buffer = backward->gradients[parameter];
        if (!buffer || problem->configuration->arguments[parameter].kind != ARGUMENT_POINTER)
            continue;
        Str name = problem->configuration->arguments[parameter].name;
        Offsets written = {0}, read = {0};
        memory_touched(backward->arena, buffer, true, &written);
        memory_touched(backward->arena, forward->buffers[parameter], false, &read);
        Map touched = map_new(backward->arena);
        for (int i = 0; i < read.count; i++)
            map_set_number(&touched, (uint64_t)read.items[i], buffer);
        double largest = 0;
        for (int i = 0; i < written.count; i++)
            largest = fmax(largest, fabs(memory_peek(backward->memory, buffer, written.items[i])));
        for (int i = 0; i < written.count && result->status == CHECK_PROVED; i++) {
            int64_t offset = written.items[i];
            double first = memory_peek(backward->memory, buffer, offset);
            double second = again.gradients[parameter]
                                ? memory_peek(again.memory, again.gradients[parameter], offset)
                                : 0;
            bool same = first == second || fabs(first - second) <= 1e-9 * largest;
            if (!same) {
                result->status = CHECK_FAILED;
                result->reason = arena_printf(
                    checker->arena,
                    "the gradient of %.*s depends on the order in which programs run (element %lld: %g or %g)",
                    STR_ARGS(name), (long long)offset, first, second);
            } else if (first != 0 && fabs(first) > 1e-12 * largest &&
                       !map_has_number(&touched, (uint64_t)offset)) {
                result->status = CHECK_FAILED;
                result->reason = arena_printf(
                    checker->arena,
                    "the gradient of %.*s is written at element %lld, which the forward never reads",
                    STR_ARGS(name), (long long)offset);
            }
        }
    }
    run_free(&again);
}

static void keep_findings(Arena *arena, const Memory *memory, Findings *findings) {
    for (LIST_EACH(int, i, memory->findings)) {
        Finding finding = memory->findings.items[i];
        finding.kernel = arena_strdup(arena, finding.kernel);
        finding.message = arena_strdup(arena, finding.message);
        LIST_PUSH(arena, findings, finding);
    }
}

// --- one configuration --------------------------------------------------------------------------------------------------

static const char *finding_text(const Checker *checker, const Finding *finding) {
    return arena_printf(checker->arena, "%s, line %d: %s", finding->kernel, finding->line,
                        finding->message);
}

static bool forward_is_usable(Checker *checker, Run *forward, CheckResult *result) {
    const Problem *problem = checker->problem;
    result->status = CHECK_INVALID;
    if (forward->error) {
        result->reason = arena_strdup(checker->arena, forward->error);
        return false;
    }
    keep_findings(checker->arena, forward->memory, &result->findings);
    if (problem->configuration->is_guess && result->findings.count) {
        result->reason = finding_text(checker, &result->findings.items[0]);
        return false;
    }
    int64_t excluded, written;
    exclude_infinite(checker, forward, &excluded, &written);
    if (written == 0)
        result->reason = "the forward writes no output";
    else if (2 * excluded > written)
        result->reason = "most outputs of the forward are not finite";
    for (int k = 0; k < problem->input_count; k++) {
        Offsets read = {0};
        input_offsets(problem, forward, checker->arena, problem->inputs[k], &read);
        result->elements += read.count;
    }
    if (!result->reason && result->elements == 0) result->reason = "the forward reads no input";
    return result->reason == NULL;
}

/// Whether the true derivative itself changes with the last digits of the inputs: an iteration that has converged or diverges,
/// say. Then nothing can be compared with it. Also where the time is up before that is known.
static bool is_ill_conditioned(Checker *checker, const bool *active, uint64_t seed) {
    Perturbation perturbation = {.active = active, .seed = seed};
    Error error = NULL;
    double here = dual_derivative(checker, perturbation, &error);
    for (int side = -1; side <= 1 && !error; side += 2) {
        perturbation.step = side * NUDGE;
        double there = dual_derivative(checker, perturbation, &error);
        if (!error && relative_error(here, there, 0, 0) > TOLERANCE) return true;
    }
    return error != NULL;  // out of time: no verdict
}

/// One input alone. False where the forward does not run.
static bool check_input(Checker *checker, const Run *forward, Run *backward, CheckResult *result,
                        int index, bool differences) {
    const Problem *problem = checker->problem;
    InputResult *input = &result->inputs[index];
    bool *active = ARENA_ARRAY(checker->arena, bool, problem->input_count + 1);
    active[index] = true;
    uint64_t seed = hash_mix(problem->seed + (uint64_t)(100 * index));
    if (!check_direction(checker, forward, backward, result, active, seed, differences))
        return false;
    if (input->error < TOLERANCE) return true;
    Str name = problem->configuration->arguments[input->parameter].name;
    bool is_infinite = !isfinite(input->error);
    bool is_noise = !is_infinite && is_ill_conditioned(checker, active, seed);
    find_worst_element(checker, forward, backward, input, index);
    // where the forward itself leaves its domain, other contents are tried
    const char *source = problem->configuration->source;
    bool is_made_up = strcmp(source, "kernel") == 0 || strcmp(source, "launcher") == 0;
    bool is_trusted = !checker->left_domain || !is_made_up;
    bool alone = is_infinite && !checker->has_excluded && input->has_worst &&
                 isfinite(input->expected) && is_trusted;
    bool is_rounding =
        !is_infinite && input->has_worst && fabs(input->expected - input->actual) < ROUNDED_AWAY;
    bool is_open = (is_infinite && !alone) || is_rounding;
    result->status = is_noise  ? CHECK_INVALID  // other inputs may tell
                     : is_open ? CHECK_UNPROVED
                               : CHECK_FAILED;
    if (alone)
        result->reason = arena_printf(checker->arena,
                                      "the gradient of %.*s is not finite where its derivative is",
                                      STR_ARGS(name));
    else if (is_rounding && !is_noise)
        result->reason = arena_printf(
            checker->arena, "the gradient of %.*s is as small as rounding with these inputs",
            STR_ARGS(name));
    else if (is_noise)
        result->reason = arena_printf(
            checker->arena, "the derivative by %.*s changes with the last digits of these inputs",
            STR_ARGS(name));
    else if (!is_infinite)
        result->reason =
            arena_printf(checker->arena, "the gradient of %.*s is wrong: relative error %.2g",
                         STR_ARGS(name), input->error);
    else
        result->reason = arena_printf(
            checker->arena, "the gradient of %.*s is not finite with these inputs", STR_ARGS(name));
    return true;
}

/// Each input alone by duals, then all together by duals and by differences, which check the duals' own rules.
static void check_gradients(Checker *checker, const Run *forward, Run *backward,
                            CheckResult *result) {
    const Problem *problem = checker->problem;
    bool *active = ARENA_ARRAY(checker->arena, bool, problem->input_count + 1);
    result->status = CHECK_PROVED;
    for (int k = 0; k < problem->input_count; k++)
        if (!check_input(checker, forward, backward, result, k, false)) return;
    if (result->status != CHECK_PROVED) return;
    for (int k = 0; k < problem->input_count; k++) active[k] = true;
    if (!check_direction(checker, forward, backward, result, active, hash_mix(problem->seed + 9999),
                         true))
        return;
    if (result->error < TOLERANCE) return;
    for (int k = 0; k < problem->input_count && result->status == CHECK_PROVED; k++)
        if (!check_input(checker, forward, backward, result, k, true)) return;
    if (result->status != CHECK_PROVED) return;
    result->status = CHECK_FAILED;
    result->reason = arena_printf(
        checker->arena, "the gradients together are wrong: relative error %.2g", result->error);
}

/// Nothing is proved of kernels that race, leave their buffers or use what nobody defined. The backward's certain
/// faults are ours; those of the forward, the first `first`, leave open what its derivative is.
static void judge_findings(Checker *checker, CheckResult *result, int first) {
    for (int i = 0; i < result->findings.count && result->status != CHECK_FAILED; i++) {
        const Finding *finding = &result->findings.items[i];
        bool fails = i >= first && finding->is_certain;
        if (!fails && result->status != CHECK_PROVED) continue;
        result->status = fails ? CHECK_FAILED : CHECK_UNPROVED;
        result->reason = arena_printf(checker->arena, "%s in %s", finding_name(finding->kind),
                                      finding_text(checker, finding));
    }
}

/// The backward touches no element but those that the forward touched: anything else may lie outside of the tensor.
static void check_footprint(Checker *checker, const Run *forward, const Run *backward,
                            CheckResult *result) {
    const Configuration *configuration = checker->problem->configuration;
    for (int i = 0; i < configuration->argument_count && result->status == CHECK_PROVED; i++) {
        const MemoryBuffer *footprint = forward->buffers[i];
        const MemoryBuffer *used[] = {backward->buffers[i], backward->upstreams[i],
                                      backward->gradients[i]};
        for (size_t k = 0; k < sizeof used / sizeof *used; k++) {
            Beyond beyond;
            if (!footprint || !used[k] || !memory_beyond(used[k], footprint, &beyond)) continue;
            result->status = CHECK_FAILED;
            result->reason = arena_printf(
                checker->arena,
                "the backward %s element %lld of %s, which the forward never touches",
                beyond.is_write ? "writes" : "reads", (long long)beyond.offset, used[k]->name);
        }
    }
}

static Checker checker_new(Arena *arena, const Problem *problem) {
    InterpOptions options = {.deadline = problem->deadline, .cancelled = problem->cancelled};
    return (Checker){.arena = arena,
                     .problem = problem,
                     .interp = interp_new(arena, &options),
                     .excluded = map_new(arena)};
}

CheckResult check_configuration(Arena *arena, const Problem *problem) {
    CheckResult result = {.inputs = ARENA_ARRAY(arena, InputResult, problem->input_count + 1)};
    for (int k = 0; k < problem->input_count; k++) result.inputs[k].parameter = problem->inputs[k];
    Arena *scratch = arena_new();  // of the interpreter's tiles
    Checker checker = checker_new(scratch, problem);
    checker.arena = arena;
    Run forward = run_forward(&checker, NULL), backward = {0};
    checker.left_domain = checker.interp->left_domain;
    if (forward_is_usable(&checker, &forward, &result)) {
        int first = result.findings.count;
        backward = run_backward(&checker, false);
        keep_findings(arena, backward.memory, &result.findings);
        if (backward.error) {
            result.status = CHECK_UNPROVED;
            result.reason = arena_printf(arena, "the backward does not run: %s", backward.error);
        } else {
            check_gradients(&checker, &forward, &backward, &result);
            judge_findings(&checker, &result, first);
            check_footprint(&checker, &forward, &backward, &result);
            if (result.status == CHECK_PROVED)
                check_ownership(&checker, &forward, &backward, &result);
            // a made-up configuration in which elements collide proves nothing against the gradient
            if (result.status == CHECK_FAILED && problem->configuration->is_guess &&
                forward.memory->overwritten) {
                result.status = CHECK_INVALID;
                result.reason = arena_strdup(arena, forward.memory->overwritten);
            }
        }
    } else if (checker.interp->out_of_time) {
        result.status = CHECK_UNPROVED;
    }
    if (backward.arena) run_free(&backward);
    run_free(&forward);
    arena_free(scratch);
    return result;
}

Error check_run_forward(Arena *arena, const Problem *problem, bool own_types, Memory **memory,
                        MemoryBuffer ***buffers) {
    Checker checker = checker_new(arena, problem);
    checker.interp->options.own_types = own_types;
    checker.interp->options.allow_tf32 = own_types;
    checker.keeps_in = arena;
    Run run = run_forward(&checker, NULL);
    *memory = run.memory;
    *buffers = run.buffers;
    return run.error;
}

Error check_run_corners(Arena *arena, const Problem *problem, Memory **memory,
                        MemoryBuffer ***buffers) {
    enum { CORNERS = 8 };
    Checker checker = checker_new(arena, problem);
    checker.keeps_in = arena;
    Run run = run_new(&checker, NULL);
    const Function *forward = problem->forward;
    Tile **tiles = ARENA_ARRAY(arena, Tile *, forward->parameter_count + 1);
    for (int i = 0; i < forward->parameter_count; i++)
        tiles[i] = run.buffers[i]
                       ? pointer_tile(&checker.interp->pool, run.buffers[i])
                       : scalar_tile(&checker.interp->pool, &problem->configuration->arguments[i],
                                     (Direction){0});
    const int64_t *grid = problem->configuration->grid;
    interp_begin(checker.interp, run.memory, forward, tiles, grid);
    for (int corner = 0; corner < CORNERS && !run.error; corner++) {
        int64_t program[3];
        for (int axis = 0; axis < 3; axis++)
            program[axis] = (corner >> axis) & 1 ? grid[axis] - 1 : 0;
        run.error = interp_program(checker.interp, program);
    }
    *memory = run.memory;
    *buffers = run.buffers;
    return run.error;
}

// --- the grid -----------------------------------------------------------------------------------------------------------

enum { MOST_PROGRAMS = 24, IDLE_PROGRAMS = 8, UNLIMITED_PROGRAMS = 3 };

static bool reads_num_programs(void *context, Op *op) {
    bool *axes = context;
    int64_t axis;
    if (op->code == OP_NUM_PROGRAMS && op->operand_count && op->operands[0] &&
        value_is_int(op->operands[0], &axis) && axis >= 0 && axis < 3)
        axes[axis] = true;
    return true;
}

static bool reads_program_id(void *context, Op *op) {
    bool *axes = context;
    int64_t axis = 0;
    if (op->code == OP_PROGRAM_ID &&
        (!op->operand_count || !op->operands[0] || value_is_int(op->operands[0], &axis)) &&
        axis >= 0 && axis < 3)
        axes[axis] = true;
    return true;
}

/// Programs along `axis` until one fails, or several in a row store nothing or only where earlier ones did.
static int64_t programs_along(Checker *checker, Run *run, int axis, Tile *const *tiles,
                              Error *first_error) {
    const Problem *problem = checker->problem;
    int64_t grid[3] = {1, 1, 1}, useful = 0;
    grid[axis] = MOST_PROGRAMS;
    interp_begin(checker->interp, run->memory, problem->forward, tiles, grid);
    for (int64_t i = 0; i < MOST_PROGRAMS && i - useful < IDLE_PROGRAMS; i++) {
        int64_t program[3] = {0};
        program[axis] = i;
        Error error = interp_program(checker->interp, program);
        if (error && i == 0) *first_error = error;
        if (error) break;
        if (run->memory->new_elements) useful = i + 1;
    }
    return useful;
}

Error check_find_grid(Arena *arena, const Function *forward, Configuration *configuration,
                      const Problem *problem) {
    bool used[3] = {false}, counted[3] = {false};
    region_walk(forward->body, reads_program_id, used);
    region_walk(forward->body, reads_num_programs, counted);
    Problem probe = *problem;
    probe.forward = forward;
    probe.configuration = configuration;
    for (int axis = 0; axis < 3; axis++) configuration->grid[axis] = counted[axis] ? 2 : 1;
    Arena *scratch = arena_new();
    Checker checker = checker_new(scratch, &probe);
    Error error = NULL;
    for (int axis = 0; axis < 3 && !error; axis++) {
        if (!used[axis] || counted[axis]) continue;
        Run run = run_new(&checker, NULL);
        Tile **tiles = ARENA_ARRAY(run.arena, Tile *, forward->parameter_count + 1);
        for (int i = 0; i < forward->parameter_count && i < configuration->argument_count; i++)
            tiles[i] = run.buffers[i] ? pointer_tile(&checker.interp->pool, run.buffers[i])
                                      : scalar_tile(&checker.interp->pool,
                                                    &configuration->arguments[i], (Direction){0});
        int64_t useful = programs_along(&checker, &run, axis, tiles, &error);
        configuration->grid[axis] = useful == MOST_PROGRAMS ? UNLIMITED_PROGRAMS
                                    : useful > 0            ? useful
                                                            : 1;
        if (error) error = arena_strdup(arena, error);
        run_free(&run);
    }
    arena_free(scratch);
    configuration->grid_is_known = true;
    return error;
}
