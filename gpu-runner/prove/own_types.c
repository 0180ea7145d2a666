// Distances between gradients, and what explains them: the forward's tangents, rounded as its values are. A rounding by d of a
// tangent t whose adjoint is g moves a derivative by g*t*d, and so does a rounding by d of that adjoint on the way back: forward
// and backward in the same types are equally far from the truth, whatever they compute.
#include "gpu-runner/prove/own_types.h"

#include <math.h>

#include "gpu-runner/execute/derivative.h"
#include "gpu-runner/prove/beside.h"

/// Of a gradient: what sums in float32 may leave, which have another order on the way back. 256 roundings.
static const double FLOAT32_SUMS = 256.0 / (1 << 24);
/// With few outputs one direction may be explained by chance alone.
enum { ENOUGH_OUTPUTS = 32, MOST_TRIALS = 8 };
/// Of the squared distance: what the operation that is named makes alone.
static const double LEAST_SHARE = 0.1;
static const double NO_PART = 1e-9;  // of a derivative: what another way of taking it may differ by
static const int64_t SEARCH_STEPS = 300000000;  // for that operation

typedef LIST(const Op *) Ops;

/// Of one input.
typedef struct Yardstick {
    double explained;  // squared, of all trials together
    int trials;
    bool is_refined;
} Yardstick;

typedef struct Measure {
    Arena *arena;
    const Problem *problem;
    Executor exact, own;  // both with inputs of the launch's types
    Yardstick *yardsticks;
    Execution first;  // forward, in fp64 by the interpreter: where others run on the GPU
    Execution
        early;  // forward along the first direction, in fp64; its arena is NULL when it has been taken
    Beside *beside;            // has `truth`; or NULL
    Execution truth, rounded;  // forward and backward, in fp64 and in their own types
    OwnTypes *result;
} Measure;

static uint64_t trial_seed(const Measure *measure, int input, int trial) {
    return hash_mix(measure->problem->seed + (uint64_t)(7000 + 100 * input + trial));
}

static bool stop(Measure *measure, const char *what, const char *why) {
    if (measure->problem->budget->end == BUDGET_OUT_OF_STEPS)
        measure->result->obstacle = "it takes more steps than the proof leaves";
    else if (!measure->result->obstacle)
        measure->result->obstacle = arena_printf(measure->arena, "%s%s", what, why);
    return false;
}

// --- what the forward explains ------------------------------------------------------------------------------------------

typedef struct TangentDistance {
    double square;  // of the tangents of all outputs, each weighed as in the loss
    double size;    // the same of the tangents themselves
    int64_t outputs;
    bool is_finite;
} TangentDistance;

static TangentDistance tangent_distance(const Measure *measure, Execution *exact, Execution *own) {
    const Problem *problem = measure->problem;
    TangentDistance distance = {.is_finite = true};
    for (int k = 0; k < problem->output_count; k++) {
        int parameter = problem->outputs[k];
        MemoryBuffer *buffer = exact->buffers[parameter], *rounded = own->buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Content content = upstream_content(problem, parameter);
        Offsets written = {0};
        memory_touched(exact->arena, buffer, true, &written);
        distance.outputs += written.count;
        for (int i = 0; i < written.count; i++) {
            int64_t at = written.items[i];
            double weight = upstream_at(&measure->exact, &content, parameter, at);
            if (weight == 0) continue;
            double tangent = memory_peek_tangent(exact->memory, buffer, at);
            double error = weight * (memory_peek_tangent(own->memory, rounded, at) - tangent);
            distance.square += error * error;
            distance.size += weight * tangent * weight * tangent;
            if (!isfinite(memory_peek(own->memory, rounded, at))) distance.is_finite = false;
        }
    }
    if (!isfinite(distance.square)) distance.is_finite = false;
    return distance;
}

static Execution forward_along(Measure *measure, Executor *executor, int input, int trial,
                               bool holds_extremes) {
    bool *active = ARENA_ARRAY(measure->arena, bool, measure->problem->input_count + 1);
    active[input] = true;
    Perturbation direction = {
        .active = active, .seed = trial_seed(measure, input, trial), .is_tangent = true};
    executor->interp->options.holds_extremes = holds_extremes;
    Execution run = execution_forward(executor, &direction);
    executor->interp->options.holds_extremes = false;
    return run;
}

/// Values without tangents, on the GPU.
static const StagedNumbers in_own_types = {.rounds = true, .allow_tf32 = true};

/// Further forwards run on the GPU, which is told what this one touched.
static void use_gpu(Measure *measure, const Execution *forward) {
    const VirtualMemory *memory = forward->memory;
    if (!measure->problem->cuda || measure->first.memory || memory->findings.count) return;
    measure->first = *forward;
    Executor *const executors[] = {&measure->exact, &measure->own};
    for (int i = 0; i < 2; i++) {
        executors[i]->footprint = memory;
        executors[i]->in_order = memory_programs_meet(memory);
    }
    const StagedNumbers numbers[] = {
        {.is_dual = true}, {.is_dual = true, .rounds = true, .allow_tf32 = true}, in_own_types};
    execution_prepare(&measure->own, &measure->first, numbers, 3, NULL);
}

static bool is_first(int input, int trial) { return input == 0 && trial == 0; }

static void run_early(void *context) {
    Measure *measure = context;
    measure->early = forward_along(measure, &measure->exact, 0, 0, false);
}

/// Forward along the first direction and forward and backward without one, in fp64: both are the interpreter's.
static void begin(Measure *measure, int64_t steps) {
    measure->beside = beside_new(measure->arena, &measure->exact, steps);
    beside_add(measure->beside, measure->problem, false);
    beside_run_with(measure->beside, run_early, measure);
}

static Execution forward_exact(Measure *measure, int input, int trial) {
    Execution early = measure->early;
    if (!is_first(input, trial) || !early.arena)
        return forward_along(measure, &measure->exact, input, trial, false);
    measure->early = (Execution){0};
    return early;
}

/// One direction of one input. False where the forward does not run, or overflows in its own types.
static bool explain_direction(Measure *measure, int input, int trial) {
    Execution exact = forward_exact(measure, input, trial);
    if (!exact.error && is_first(input, trial)) {
        int64_t excluded, all;
        executor_exclude_infinite(&measure->exact, &exact, &excluded, &all);
        measure->own.excluded = measure->exact.excluded;
        measure->own.has_excluded = measure->exact.has_excluded;
    }
    if (!exact.error) use_gpu(measure, &exact);
    Execution own = forward_along(measure, &measure->own, input, trial, false);
    Error error = exact.error ? exact.error : own.error;
    bool runs = error ? stop(measure, "", error) : true;
    if (runs) {
        TangentDistance distance = tangent_distance(measure, &exact, &own);
        Yardstick *yardstick = &measure->yardsticks[input];
        yardstick->explained += distance.square;
        if (trial == 0 && distance.outputs && distance.outputs < ENOUGH_OUTPUTS) {
            int64_t wanted = (ENOUGH_OUTPUTS + distance.outputs - 1) / distance.outputs;
            yardstick->trials = wanted > MOST_TRIALS ? MOST_TRIALS : (int)wanted;
        }
        if (!distance.is_finite) runs = stop(measure, "the forward overflows in these types", "");
    }
    if (exact.memory != measure->first.memory) execution_free(&exact);
    execution_free(&own);
    return runs;
}

static bool explain(Measure *measure) {
    for (int k = 0; k < measure->problem->input_count; k++) {
        Yardstick *yardstick = &measure->yardsticks[k];
        yardstick->trials = 1;
        for (int trial = 0; trial < yardstick->trials; trial++)
            if (!explain_direction(measure, k, trial)) return false;
    }
    return true;
}

/// The same with maxima held, where they have no part in the derivative: subtracted for range alone, as by a softmax.
/// Negative where they have one, or where it does not run.
static double explain_held(Measure *measure, int input, int trial) {
    Execution exact = forward_along(measure, &measure->exact, input, trial, false);
    Execution held = forward_along(measure, &measure->exact, input, trial, true);
    Execution own = forward_along(measure, &measure->own, input, trial, true);
    double explained = -1;
    if (!exact.error && !held.error && !own.error) {
        TangentDistance same = tangent_distance(measure, &exact, &held),
                        distance = tangent_distance(measure, &exact, &own);
        if (same.square <= NO_PART * NO_PART * same.size && distance.is_finite)
            explained = distance.square;
    }
    execution_free(&exact);
    execution_free(&held);
    execution_free(&own);
    return explained;
}

/// What looks like a finding gets more directions, and the way of differentiating that explains more.
static bool refine(Measure *measure, int input) {
    Yardstick *yardstick = &measure->yardsticks[input];
    yardstick->is_refined = true;
    for (; yardstick->trials < MOST_TRIALS; yardstick->trials++)
        if (!explain_direction(measure, input, yardstick->trials)) return false;
    double held = 0;
    for (int trial = 0; trial < MOST_TRIALS && held >= 0; trial++) {
        double explained = explain_held(measure, input, trial);
        held = explained < 0 ? -1 : held + explained;
    }
    yardstick->explained = fmax(yardstick->explained, held);
    return true;
}

// --- how far a backward is off ------------------------------------------------------------------------------------------

typedef struct GradientDistance {
    double square;  // of the distance from the truth, weighed with the directions of the tangents
    double size,
        storage;  // the same of the gradient itself, and of its rounding to its tensor's type
    bool is_finite;
    int count;
} GradientDistance;

static GradientDistance gradient_distance(const Measure *measure, Execution *run, int input) {
    const Problem *problem = measure->problem;
    Execution *truth = (Execution *)(uintptr_t)&measure->truth;
    int parameter = problem->inputs[input];
    DTypeCode dtype = problem->configuration->arguments[parameter].dtype;
    bool *active = ARENA_ARRAY(run->arena, bool, problem->input_count + 1);
    active[input] = true;
    GradientDistance distance = {.is_finite = true};
    Offsets offsets = {0};
    input_offsets(problem, truth, run->arena, parameter, &offsets);
    for (int i = 0; i < offsets.count; i++) {
        double weight = 0;
        for (int trial = 0; trial < measure->yardsticks[input].trials; trial++) {
            Perturbation perturbation = {.active = active,
                                         .seed = trial_seed(measure, input, trial)};
            Direction direction = perturbation_direction(problem, &perturbation, parameter);
            double component = direction_at(&direction, offsets.items[i]);
            weight += component * component;
        }
        double wanted = gradient_at(problem, truth, parameter, offsets.items[i]),
               had = gradient_at(problem, run, parameter, offsets.items[i]);
        if (!isfinite(wanted)) continue;
        if (!isfinite(had)) distance.is_finite = false;
        distance.count++;
        double stored = round_float(wanted, dtype) - wanted;
        distance.square += weight * (had - wanted) * (had - wanted);
        distance.size += weight * wanted * wanted;
        if (isfinite(stored)) distance.storage += weight * stored * stored;
    }
    return distance;
}

/// By how much the mean square of so many independent errors exceeds what is expected, once in ten thousand times at most
/// (Laurent and Massart's bound on a chi-squared variable).
static double chance(int count) {
    const double surprise = 9.2;  // -log(1e-4)
    return 1 + 2 * sqrt(surprise / count) + 2 * surprise / count;
}

static double times_explained(const Measure *measure, int input, const GradientDistance *distance) {
    if (!distance->is_finite) return INFINITY;
    double explained = measure->yardsticks[input].explained + distance->storage +
                       FLOAT32_SUMS * FLOAT32_SUMS * distance->size;
    if (distance->square == 0) return 0;
    return explained > 0 ? sqrt(distance->square / explained / chance(distance->count)) : INFINITY;
}

/// Backwards whose operations round as `rounding` says. False where it does not run.
static bool measure_backward(Measure *measure, const Map *rounding, bool is_exempt, int input,
                             GradientDistance *distance) {
    InterpOptions *options = &measure->own.interp->options;
    options->rounding = rounding;
    options->is_exempt = is_exempt;
    Execution run = execution_backward(&measure->own, false, NULL);
    options->rounding = NULL;
    bool runs = run.error == NULL;
    if (runs) *distance = gradient_distance(measure, &run, input);
    execution_free(&run);
    return runs;
}

/// The gradient that is furthest off.
static int worst_input(Measure *measure) {
    OwnTypes *result = measure->result;
    int worst = 0;
    result->times = -1;
    for (int k = 0; k < measure->problem->input_count; k++) {
        GradientDistance distance = gradient_distance(measure, &measure->rounded, k);
        double times = times_explained(measure, k, &distance);
        if (times <= result->times) continue;
        worst = k;
        result->times = times;
        result->parameter = measure->problem->inputs[k];
        result->error = distance.size > 0 ? sqrt(distance.square / distance.size) : 0;
    }
    return worst;
}

static bool compare_gradients(Measure *measure) {
    // What is left out of the loss was not known ahead.
    Beside *beside = measure->exact.has_excluded ? NULL : measure->beside;
    measure->truth = beside_backward(beside, &measure->exact, false);
    if (measure->truth.error) return stop(measure, "", measure->truth.error);
    if (measure->own.footprint) {
        measure->own.traced = &measure->truth;
        measure->own.in_order |= memory_programs_meet(measure->truth.memory);
        execution_prepare(&measure->own, &measure->truth, NULL, 0, &in_own_types);
    }
    measure->rounded = execution_backward(&measure->own, false, NULL);
    if (!measure->rounded.error) return true;
    return stop(measure, "the backward does not run: ", measure->rounded.error);
}

// --- the operation to blame ---------------------------------------------------------------------------------------------

static bool visit_rounding(void *context, Op *op) {
    struct {
        Arena *arena;
        Ops *ops;
    } *to = context;
    bool writes = (op_rows[op->code].effects & EFFECT_WRITES) != 0;
    bool is_float = op->result_count && dtype_is_float(op->results[0]->type.element);
    if (writes || is_float) LIST_PUSH(to->arena, to->ops, op);
    return true;
}

static Map set_of(const Measure *measure, const Ops *ops, int first, int count) {
    static const char marker;
    Map set = map_new(measure->arena);
    for (int i = first; i < first + count; i++)
        map_set_pointer(&set, ops->items[i], (void *)(uintptr_t)&marker);
    return set;
}

/// The distance where only these operations round; infinite where that is not finite, negative where it does not run.
static double distance_of_part(Measure *measure, const Ops *ops, int first, int count, int input) {
    Map part = set_of(measure, ops, first, count);
    GradientDistance distance;
    if (!measure_backward(measure, &part, false, input, &distance)) return -1;
    return distance.is_finite ? distance.square : INFINITY;
}

/// Halves the operations, and takes the half that alone moves the gradient more.
static void find_op(Measure *measure, int input) {
    Ops ops = {0};
    OwnTypes *result = measure->result;
    struct {
        Arena *arena;
        Ops *ops;
    } to = {measure->arena, &ops};
    const Problem *problem = measure->problem;
    for (int i = 0; i < problem->launch_count; i++)
        region_walk(problem->launches[i].function->body, visit_rounding, &to);
    int first = 0, count = ops.count;
    double all = distance_of_part(measure, &ops, first, count, input), kept = all;
    while (count > 1 && kept > 0) {
        int half = count / 2;
        double front = distance_of_part(measure, &ops, first, half, input),
               back = distance_of_part(measure, &ops, first + half, count - half, input);
        if (front < 0 || back < 0) return;
        first = front >= back ? first : first + half;
        count = front >= back ? half : count - half;
        kept = fmax(front, back);
    }
    if (count != 1 || !(kept > 0) || kept < LEAST_SHARE * all) return;
    Map named = set_of(measure, &ops, first, 1);
    GradientDistance without;
    if (!measure_backward(measure, &named, true, input, &without)) return;
    result->op = ops.items[first];
    result->times_without = times_explained(measure, input, &without);
    for (int i = 0; i < problem->launch_count; i++) {
        Ops own = {0};
        to.ops = &own;
        region_walk(problem->launches[i].function->body, visit_rounding, &to);
        for (int k = 0; k < own.count; k++)
            if (own.items[k] == result->op) result->kernel = problem->launches[i].function->name;
    }
}

/// On steps of its own: a finding is worth some.
static void judge(Measure *measure) {
    Budget *budget = measure->problem->budget;
    const int64_t rest = budget->limit - budget->steps;
    int worst = worst_input(measure);
    if (budget->limit) budget->limit = budget->steps + SEARCH_STEPS;
    bool is_judged = true;
    while (is_judged && measure->result->times > OWN_TYPES_MOST &&
           !measure->yardsticks[worst].is_refined) {
        is_judged = refine(measure, worst);
        worst = worst_input(measure);
    }
    if (is_judged && measure->result->times > OWN_TYPES_MOST) find_op(measure, worst);
    if (budget->limit) budget->limit = budget->steps + rest;
    if (budget->end == BUDGET_OUT_OF_STEPS) budget->end = BUDGET_HOLDS;
}

OwnTypes own_types_measure(Arena *arena, const Problem *problem, int64_t steps) {
    OwnTypes result = {0};
    Arena *scratch = arena_new();
    Measure measure = {.arena = scratch,
                       .problem = problem,
                       .exact = executor_new(scratch, problem),
                       .own = executor_new(scratch, problem),
                       .yardsticks = ARENA_ARRAY(scratch, Yardstick, problem->input_count + 1),
                       .result = &result};
    measure.exact.rounds_contents = measure.own.rounds_contents = true;
    measure.own.interp->options.own_types = measure.own.interp->options.allow_tf32 = true;
    int64_t before = problem->budget->steps;
    if (problem->input_count) begin(&measure, steps);
    if (explain(&measure) && compare_gradients(&measure)) judge(&measure);
    result.steps = problem->budget->steps - before;
    if (result.obstacle) result.obstacle = arena_strdup(arena, result.obstacle);
    if (measure.early.arena) execution_free(&measure.early);
    beside_free(measure.beside);
    if (measure.first.arena) execution_free(&measure.first);
    if (measure.truth.arena) execution_free(&measure.truth);
    if (measure.rounded.arena) execution_free(&measure.rounded);
    arena_free(scratch);
    return result;
}

// --- words --------------------------------------------------------------------------------------------------------------

static DType stored_type(const Op *op) {
    return op->operand_count && op->operands[0] ? op->operands[0]->type.element : (DType){0};
}

static bool visit_narrow(void *context, Op *op) {
    bool *is_narrow = context;
    DType type = op->result_count ? op->results[0]->type.element : stored_type(op);
    bool is_small = dtype_is_float(type) && type.code > DTYPE_OF_PARAMETER &&
                    dtype_bits(type.code) < dtype_bits(DTYPE_FLOAT32);
    if (is_small || op->code == OP_DOT) *is_narrow = true;
    return !*is_narrow;
}

bool own_types_are_narrow(const Problem *problem) {
    bool is_narrow = false;
    region_walk(problem->forward->body, visit_narrow, &is_narrow);
    for (int i = 0; i < problem->launch_count && !is_narrow; i++)
        region_walk(problem->launches[i].function->body, visit_narrow, &is_narrow);
    return is_narrow;
}

const char *own_types_rounding(Arena *arena, const Op *op) {
    bool writes = (op_rows[op->code].effects & EFFECT_WRITES) != 0;
    DType type = writes || !op->result_count ? stored_type(op) : op->results[0]->type.element;
    const char *name = type.code > DTYPE_OF_PARAMETER ? dtype_name(type.code) : "its type";
    if (op->code == OP_CAST) return arena_printf(arena, "the cast to %s", name);
    if (writes && !(op_rows[op->code].effects & EFFECT_ATOMIC))
        return arena_printf(arena, "the store to %s", name);
    if (writes) return arena_printf(arena, "the atomic update of %s", name);
    if (op->code == OP_SUM) return arena_printf(arena, "the sum in %s", name);
    if (op->code != OP_DOT) return arena_printf(arena, "the rounding to %s", name);
    return type.code == DTYPE_FLOAT32 ? "the dot, which rounds its operands to tf32"
                                      : arena_printf(arena, "the dot in %s", name);
}
