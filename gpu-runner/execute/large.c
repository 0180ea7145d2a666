// An Execution names the buffers and what they hold at first; the elements are the GPU's alone.
#include "gpu-runner/execute/large.h"

#include <math.h>

#include "gpu-runner/cuda/dense.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/execute/derivative.h"

/// Of all tensors: what a GPU has time for, and what the interpreter takes seconds for.
static const int64_t LARGE_ELEMENTS = (int64_t)1 << 18, SLOW_ELEMENTS = (int64_t)1 << 19;
static const double STEPS_AGREE = 1e-5;        // relative, where the function is smooth
static const double ROUNDING_OF_LOSS = 1e-14;  // relative to the sizes of its terms
static const double SAME_IN_ANY_ORDER = 1e-9;
static const double NOTHING_LEFT = 1e-12;  // of the largest gradient
static const double NEAR_A_KINK = 0.05;    // error that some elements at kinks may leave

typedef struct LargeRun {
    Arena *arena;  // of this check
    Problem problem;
    Executor executor;
    DenseMemory *dense;
    Execution base;  // buffers of forward and backward
    int forwards;    // of them, the forward's
    bool *is_stored,
        *is_moved;      // per buffer of the forward: it stores to it; it holds moved elements
    bool has_no_duals;  // some operation has no tangent
    int64_t launches, backwards;
} LargeRun;

bool large_is(const PlanConfiguration *configuration) {
    int64_t elements = 0;
    for (int i = 0; i < configuration->argument_count; i++)
        if (configuration->arguments[i].kind == ARGUMENT_POINTER)
            elements += configuration->arguments[i].extent;
    return elements >= (device_is_eager() ? LARGE_ELEMENTS : SLOW_ELEMENTS);
}

static int64_t programs_of(const LargeRun *large) {
    const int64_t *grid = large->problem.configuration->grid;
    return grid[0] * grid[1] * grid[2];
}

static int index_of(const MemoryBuffer *buffer) { return buffer->id - 1; }

/// Runs a kernel and gives the tiles back.
static Error launch(LargeRun *large, const VirtualMemory *memory, CudaCall call, Tile **tiles,
                    bool traced) {
    if (budget_is_over(large->problem.budget)) return budget_end_text(large->problem.budget->end);
    call.arguments = tiles;
    call.grid = large->problem.configuration->grid;
    Error error = dense_launch(large->dense, memory, &call, traced);
    for (int i = 0; i < call.function->parameter_count; i++)
        tile_release(&large->executor.interp->pool, tiles[i]);
    large->launches++;
    return error;
}

// --- forward ------------------------------------------------------------------------------------------------------------

static Error run_base(LargeRun *large) {
    VirtualMemory *memory = large->base.memory;
    Error error = NULL;
    large->forwards = memory->buffers.count;
    large->is_stored = ARENA_ARRAY(large->arena, bool, large->forwards + 1);
    large->is_moved = ARENA_ARRAY(large->arena, bool, large->forwards + 1);
    for (int i = 0; i < large->forwards && !error; i++) error = dense_fill(large->dense, memory, i);
    if (error) return error;
    Tile **tiles = execution_arguments(&large->executor, &large->base, NULL);
    CudaCall call = {.function = large->problem.forward};
    error = launch(large, memory, call, tiles, true);
    const Content nothing = {.kind = CONTENT_ZERO};
    for (int i = 0; i < large->forwards && !error; i++) {
        const DenseTerms terms = {
            .buffer = i, .marked = i, .written_only = true, .content = &nothing};
        DenseSum sum;
        error = dense_mark(large->dense, i);
        if (!error) error = dense_sum(large->dense, memory, &terms, &sum);
        large->is_stored[i] = !error && sum.written > 0;
        bool is_float = dtype_code_is_float(memory->buffers.items[i]->dtype);
        if (!error && is_float && sum.infinite)
            error = arena_printf(large->arena, "%lld elements of %s are not finite at these sizes",
                                 (long long)sum.infinite, memory->buffers.items[i]->name);
    }
    return error;
}

/// The loss of a forward that is moved, or its derivative by dual numbers where the perturbation is a tangent.
static Error loss_of(LargeRun *large, const Perturbation *perturbation, double *loss,
                     double *size) {
    Execution run = execution_new(&large->executor, perturbation);
    bool is_dual = perturbation->is_tangent;
    Error error = NULL;
    for (int i = 0; i < large->forwards && !error; i++) {
        const Direction *direction = &run.memory->buffers.items[i]->direction;
        bool is_moving = direction->active && direction->step != 0;
        if (is_dual) error = dense_fill_tangents(large->dense, run.memory, i);
        if (error || (!is_moving && !large->is_moved[i] && !large->is_stored[i])) continue;
        large->is_moved[i] = is_moving;
        error = dense_fill(large->dense, run.memory, i);
    }
    CudaCall call = {.function = large->problem.forward,
                     .numbers = {.is_dual = is_dual, .adds_at_once = true}};
    if (!error)
        error = launch(large, run.memory, call,
                       execution_arguments(&large->executor, &run, perturbation), false);
    *loss = *size = 0;
    for (int k = 0; k < large->problem.output_count && !error; k++) {
        int parameter = large->problem.outputs[k];
        const MemoryBuffer *buffer = run.buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Content content = upstream_content(&large->problem, parameter);
        const DenseTerms terms = {.buffer = index_of(buffer),
                                  .marked = index_of(buffer),
                                  .written_only = true,
                                  .of_tangents = is_dual,
                                  .content = &content};
        DenseSum sum;
        error = dense_sum(large->dense, run.memory, &terms, &sum);
        *loss += sum.sum;
        *size += sum.size;
    }
    if (error) error = arena_strdup(large->arena, error);
    execution_free(&run);
    return error;
}

// --- backward -----------------------------------------------------------------------------------------------------------

/// What backward kernels find at first, in buffers from `first` on.
static Error fill_backward(LargeRun *large, int first) {
    VirtualMemory *memory = large->base.memory;
    Error error = NULL;
    for (int i = first; i < memory->buffers.count && !error; i++) {
        MemoryBuffer *buffer = memory->buffers.items[i];
        if (!buffer->extent && buffer->is_gradient)
            buffer->extent = programs_of(large);  // of a number: a sum per program
        error = dense_fill(large->dense, memory, i);
    }
    for (int p = 0; p < large->problem.configuration->argument_count && !error; p++) {
        const MemoryBuffer *buffer = large->base.gradients[p];
        bool is_running = buffer && buffer == large->base.upstreams[p] && index_of(buffer) >= first;
        if (is_running)
            error =
                dense_clear_read(large->dense, index_of(buffer), index_of(large->base.buffers[p]));
    }
    return error;
}

static Error run_backward(LargeRun *large, bool reversed) {
    VirtualMemory *memory = large->base.memory;
    Error error = reversed ? fill_backward(large, large->forwards) : NULL;
    for (int k = 0; k < large->problem.launch_count && !error; k++) {
        int first = memory->buffers.count;
        Tile **tiles = execution_actuals(&large->executor, &large->base, k);
        error = fill_backward(large, first);
        if (!error)
            error = launch(
                large, memory,
                (CudaCall){.function = large->problem.launches[k].function, .reversed = reversed},
                tiles, !reversed);
        large->backwards++;
    }
    return error;
}

/// <gradient, direction>, and the size to judge errors by. Gradients that are not finite, or that no element of the forward has, are
/// a sentence in `*fault`.
static Error slope_by_gradient(LargeRun *large, const Perturbation *perturbation, double *slope,
                               double *size, const char **fault) {
    const Content one = {.kind = CONTENT_RANDOM, .low = 1, .high = 1};
    const VirtualMemory *memory = large->base.memory;
    double square = 0;
    *slope = 0;
    for (int k = 0; k < large->problem.input_count; k++) {
        int parameter = large->problem.inputs[k];
        const MemoryBuffer *gradient = large->base.gradients[parameter],
                           *buffer = large->base.buffers[parameter];
        if (!perturbation->active[k] || !gradient) continue;
        Direction direction = perturbation_direction(&large->problem, perturbation, parameter);
        const DenseTerms terms = {.buffer = index_of(gradient),
                                  .marked = buffer ? index_of(buffer) : -1,
                                  .content = buffer ? NULL : &one,
                                  .direction = &direction};
        DenseSum sum;
        Error error = dense_sum(large->dense, memory, &terms, &sum);
        if (error) return error;
        double component = buffer ? 1 : direction_at(&direction, 0);
        *slope += component * sum.sum;
        square += buffer ? sum.square : component * sum.sum * component * sum.sum;
        bool is_zeroed = gradient->content.kind == CONTENT_ZERO && !gradient->is_uninitialised;
        if (sum.infinite)
            *fault = arena_printf(large->arena, "%s has %lld elements that are not finite",
                                  gradient->name, (long long)sum.infinite);
        else if (buffer && is_zeroed && sum.beyond > NOTHING_LEFT * sum.largest)
            *fault = arena_printf(large->arena,
                                  "%s is written at elements which the forward never touches",
                                  gradient->name);
    }
    *size = sqrt(square);
    return NULL;
}

// --- comparing ----------------------------------------------------------------------------------------------------------

/// What is known of the derivative along one direction.
typedef struct Along {
    double actual, size;  // by the gradient; the size to judge errors by
    bool has_dual;
    double by_dual;  // error
    bool is_settled;
    double by_difference;  // error where it is settled; else the least that some step had
} Along;

/// Central differences with steps h and 2h. Steps whose rounding would hide an error are none.
static Error by_differences(LargeRun *large, Perturbation perturbation, Along *along,
                            double *slope) {
    static const double steps[] = {1e-3, 1e-4, 1e-5};
    Error error = NULL;
    along->by_difference = INFINITY;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !error; i++) {
        double slopes[2], above, below, terms = 0;
        for (int k = 0; k < 2 && !error; k++) {
            double wide = steps[i] * (k + 1);
            perturbation.step = wide;
            error = loss_of(large, &perturbation, &above, &terms);
            perturbation.step = -wide;
            if (!error) error = loss_of(large, &perturbation, &below, &terms);
            slopes[k] = error ? 0 : (above - below) / (2 * wide);
        }
        if (error) break;
        double wanted = (4 * slopes[0] - slopes[1]) / 3,
               noise = ROUNDING_OF_LOSS * terms / steps[i],
               scale = fmax(fmax(fabs(along->actual), fabs(wanted)), along->size);
        if (!(noise < DERIVATIVE_TOLERANCE * scale)) continue;
        double off = relative_error(wanted, along->actual, along->size, 0);
        bool is_smooth = relative_error(slopes[0], slopes[1], along->size, noise) < STEPS_AGREE;
        along->is_settled = along->is_settled || is_smooth || off < DERIVATIVE_TOLERANCE;
        along->by_difference = fmin(along->by_difference, off);
        *slope = fmax(*slope, fabs(wanted));
        if (off < DERIVATIVE_TOLERANCE) break;
    }
    return error;
}

/// One direction: by dual numbers where all operations have them, and by differences where those are asked for or duals do not agree.
/// Among millions of elements some stand at a kink, where no step is small enough: there duals decide, if differences are not far.
static Error check_direction(LargeRun *large, Perturbation perturbation, bool differences,
                             LargeResult *result, double *worst, bool *is_settled) {
    Along along = {0};
    const char *fault = NULL;
    Error error = slope_by_gradient(large, &perturbation, &along.actual, &along.size, &fault);
    if (error) return error;
    result->slope = fmax(result->slope, fabs(along.actual));
    double dual, terms;
    perturbation.is_tangent = true;
    along.has_dual = !large->has_no_duals && !loss_of(large, &perturbation, &dual, &terms);
    perturbation.is_tangent = false;
    large->has_no_duals = !along.has_dual;
    along.by_dual = along.has_dual ? relative_error(dual, along.actual, along.size, 0) : INFINITY;
    if (along.has_dual) result->slope = fmax(result->slope, fabs(dual));
    bool is_right = along.by_dual < DERIVATIVE_TOLERANCE;
    if (!is_right || differences)
        error = by_differences(large, perturbation, &along, &result->slope);
    if (error) return error;
    bool is_asked = !is_right || differences;
    bool is_kink = is_asked && is_right && !along.is_settled && along.by_difference < NEAR_A_KINK;
    result->has_kink = result->has_kink || is_kink;
    result->dual = along.has_dual ? fmax(result->dual, along.by_dual) : result->dual;
    *is_settled = !is_asked || is_kink || along.is_settled;
    *worst = !is_asked || is_kink ? along.by_dual : along.by_difference;
    return NULL;
}

static void conclude(LargeResult *result, LargeVerdict verdict, const char *reason) {
    result->verdict = verdict;
    result->reason = reason;
}

static const char *name_of(const LargeRun *large, int parameter) {
    return str_dup(large->arena, large->problem.configuration->arguments[parameter].name);
}

/// Each input alone, then all together.
static Error check_directions(LargeRun *large, LargeResult *result) {
    int count = large->problem.input_count;
    result->verdict = LARGE_PROVED;
    for (int k = 0; k <= count && result->verdict == LARGE_PROVED; k++) {
        bool *active = ARENA_ARRAY(large->arena, bool, count + 1);
        for (int i = 0; i < count; i++) active[i] = k == count || i == k;
        if (k == count && count == 1) break;
        bool differences = k == count || count == 1;
        Perturbation perturbation = {
            .active = active, .seed = hash_mix(large->problem.seed + (uint64_t)(100 * k + 1))};
        double worst;
        bool is_settled;
        Error error =
            check_direction(large, perturbation, differences, result, &worst, &is_settled);
        if (error) return error;
        const char *of =
            k == count ? "all inputs together" : name_of(large, large->problem.inputs[k]);
        if (!is_settled) {
            conclude(result, LARGE_UNPROVED,
                     arena_printf(large->arena,
                                  "the derivative by %s does not settle by central differences",
                                  of));
            break;
        }
        result->error = fmax(result->error, worst);
        if (k < count) {
            result->errors[k] = worst;
        } else {
            result->together = worst;
        }
        if (!(worst < DERIVATIVE_TOLERANCE))
            conclude(result, LARGE_FAILED,
                     arena_printf(large->arena,
                                  "the gradient of %s is wrong: relative error %.2g along a random "
                                  "direction",
                                  of, worst));
    }
    if (result->verdict == LARGE_PROVED && !(result->slope > 0))
        conclude(result, LARGE_INVALID, "every derivative is 0 with these values");
    return NULL;
}

/// The gradients along one direction after programs ran from first to last, and from last to first.
static Error check_order(LargeRun *large, LargeResult *result) {
    int count = large->problem.input_count;
    bool *all = ARENA_ARRAY(large->arena, bool, count + 1);
    for (int k = 0; k < count; k++) all[k] = true;
    Perturbation direction = {.active = all, .seed = hash_mix(large->problem.seed + 9999)};
    double first, second, size;
    const char *fault = NULL;
    Error error = slope_by_gradient(large, &direction, &first, &size, &fault);
    if (!error) error = run_backward(large, true);
    if (!error) error = slope_by_gradient(large, &direction, &second, &size, &fault);
    if (error) return error;
    if (fault) {
        conclude(result, LARGE_UNPROVED, fault);
    } else if (!(fabs(first - second) <= SAME_IN_ANY_ORDER * fmax(fabs(first), size))) {
        conclude(result, LARGE_FAILED, "the gradients depend on the order in which programs run");
    }
    return NULL;
}

static bool check_on_gpu(LargeRun *large, LargeResult *result, Error *error) {
    *error = run_base(large);
    if (*error) return false;
    *error = run_backward(large, false);
    if (*error) return false;
    result->verdict = LARGE_PROVED;
    *error = check_order(large, result);
    if (!*error && result->verdict == LARGE_PROVED) *error = check_directions(large, result);
    return *error == NULL;
}

/// All that is going to be launched, with arguments of memory that no kernel sees: of addresses and numbers a text has no more than the
/// type.
static DenseMemory *dense_open(LargeRun *large, Error *error) {
    Execution other = execution_new(&large->executor, NULL);
    int count = 0;
    CudaCall *calls = ARENA_ARRAY(large->arena, CudaCall, large->problem.launch_count + 2);
    for (int is_dual = 0; is_dual < 2; is_dual++)
        calls[count++] = (CudaCall){
            .function = large->problem.forward,
            .arguments = execution_arguments(&large->executor, &other, NULL),
            .numbers = {.is_dual = is_dual, .adds_at_once = true},
        };
    for (int k = 0; k < large->problem.launch_count; k++)
        calls[count++] = (CudaCall){
            .function = large->problem.launches[k].function,
            .arguments = execution_actuals(&large->executor, &other, k),
        };
    DenseMemory *dense = dense_new(large->arena, calls, count, error);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < calls[i].function->parameter_count; k++)
            tile_release(&large->executor.interp->pool, calls[i].arguments[k]);
    execution_free(&other);
    return dense;
}

bool large_check(Arena *arena, const Problem *problem, LargeResult *result) {
    CudaUse *use = problem->cuda;
    LargeRun large = {.arena = arena_new(), .problem = *problem};
    large.problem.layouts = NULL;  // they are tried at small sizes
    large.executor = executor_new(large.arena, &large.problem);
    large.executor.adds_whole = true;
    *result = (LargeResult){.together = -1};
    result->errors = ARENA_ARRAY(arena, double, problem->input_count + 1);
    for (int k = 0; k < problem->input_count; k++) result->errors[k] = -1;
    Error error = NULL;
    large.base = execution_new(&large.executor, NULL);
    large.dense = dense_open(&large, &error);
    bool had = !error && check_on_gpu(&large, result, &error);
    use->launches += large.launches;
    use->backwards += large.backwards;
    if (error && !use->refused) use->refused = arena_strdup(use->arena, error);
    if (result->reason) result->reason = arena_strdup(arena, result->reason);
    dense_free(large.dense);
    execution_free(&large.base);
    arena_free(large.arena);
    return had;
}
