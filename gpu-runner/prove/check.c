// Forward and backward of one configuration run, their derivatives compared, what was seen judged.
#include "gpu-runner/prove/check.h"

#include <math.h>

#include "gpu-runner/cuda/device.h"
#include "gpu-runner/execute/derivative.h"
#include "gpu-runner/execute/large.h"
#include "gpu-runner/execute/same_values.h"
#include "gpu-runner/execute/stored.h"
#include "gpu-runner/execute/upstream_layout.h"
#include "gpu-runner/execute/zeros.h"
#include "gpu-runner/prove/alone.h"
#include "gpu-runner/prove/certain.h"

enum { ELEMENT_TRIALS = 96 };
static const int64_t SEARCH_STEPS = 15000000;  // for the element that is most wrong
/// Of a forward: as many times as a check runs it, the interpreter takes longer than a compiler and a GPU.
static const int64_t WORTH_A_COMPILER = 8000000;
static const double ROUNDED_AWAY = 1e-14;  // sums of numbers of size 1 that cancel leave that
static const double SAME_SUM = 1e-9;  // added in another order, relative to the largest gradient
static const double SHARE_OF_ROUNDING = 0.01;  // of an error: what the last digits make of it
static const double NOTHING = 1e-12;  // of the largest gradient: what is left of sums that cancel

/// One problem being checked.
typedef struct Checker {
    Arena *arena;  // of the result
    const Problem *problem;
    Executor executor;
    double named;     // error of the wrong input that the reason is about
    double rounding;  // of the backward: what sums of its numbers that cancel may leave
    Execution forward, backward;
    CheckResult *result;
} Checker;

static void conclude(Checker *checker, CheckStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void conclude(Checker *checker, CheckStatus status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    checker->result->status = status;
    checker->result->cause = CHECK_CAUSE_OTHER;
    checker->result->reason = arena_vprintf(checker->arena, format, arguments);
    va_end(arguments);
}

static const PlanArgument *argument_of(const Checker *checker, int parameter) {
    return &checker->problem->configuration->arguments[parameter];
}

// --- comparing derivatives ----------------------------------------------------------------------------------------------

/// By duals; where those disagree, or where `differences` asks for it, by central differences, too. A kink next to the inputs
/// is out of reach of smaller steps; a wrong rule of the duals is not. `*is_unsettled`: duals agree, and differences neither
/// with them nor with themselves. False where the forward does not run.
static bool check_direction(Checker *checker, const bool *active, uint64_t seed, bool differences,
                            InputResult *alone, bool *is_unsettled) {
    static const double steps[] = {1e-4, 1e-5, 1e-6, 1e-7};
    Perturbation perturbation = {.active = active, .seed = seed};
    CheckResult *result = checker->result;
    double size, actual = derivative_by_gradient(checker->problem, &checker->forward,
                                                 &checker->backward, &perturbation, &size);
    Measured measured = {0};
    measured.dual = derivative_by_duals(&checker->executor, perturbation, &measured.error);
    double dual_error = relative_error(measured.dual, actual, size, checker->rounding),
           error = dual_error;
    bool is_open = differences || !(dual_error < DERIVATIVE_TOLERANCE), was_smooth = false;
    for (size_t i = 0; is_open && i < sizeof steps / sizeof *steps; i++) {
        if (!measured.error)
            derivative_by_differences(&checker->executor, perturbation, steps[i], &measured);
        error = measured_error(&measured, actual, size, &result->has_kink);
        was_smooth = was_smooth || measured.is_smooth;
        is_open = dual_error < DERIVATIVE_TOLERANCE && !(error < DERIVATIVE_TOLERANCE);
    }
    *is_unsettled = is_open && !was_smooth;
    if (measured.error) {
        if (result->status != CHECK_FAILED)  // what is known to be wrong stays wrong
            conclude(checker, CHECK_UNPROVED, "a perturbed forward does not run: %s",
                     measured.error);
        return false;
    }
    double slope = fmax(fabs(actual), fmax(fabs(measured.dual), fabs(measured.difference)));
    result->slope = fmax(result->slope, slope);
    result->dot_error = fmax(result->dot_error, dual_error);
    result->error = fmax(result->error, error);
    double *worst = alone ? &alone->error : &result->together;
    int *directions = alone ? &alone->directions : &result->together_directions;
    *worst = fmax(*worst, error);
    ++*directions;
    if (alone) {
        alone->slope_expected = measured.dual;
        alone->slope_actual = actual;
    }
    return true;
}

/// Where the whole gradient is off by one factor, which often tells the mistake: ", half of what it should be,"; else "".
static const char *factor_words(Arena *arena, const InputResult *input) {
    static const double SAME = 1e-6;
    static const struct {
        double factor;
        const char *words;
    } names[] = {
        {2, "twice"},      {0.5, "half of"},       {3, "three times"},     {1.0 / 3, "a third of"},
        {4, "four times"}, {0.25, "a quarter of"}, {-1, "the negative of"}};
    double factor = input->actual / input->expected;
    double along = input->slope_actual / input->slope_expected;
    bool is_one = input->has_worst && isfinite(factor) && isfinite(along) && factor != 0 &&
                  fabs(factor - along) <= SAME * fabs(factor);
    if (!is_one) return "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fabs(factor - names[i].factor) <= SAME * fabs(factor))
            return arena_printf(arena, ", %s what it should be,", names[i].words);
    return arena_printf(arena, ", %.4g times what it should be,", factor);
}

/// Looks for the single element that is most wrong.
static void find_worst_element(Checker *checker, InputResult *input, const bool *active) {
    const Problem *problem = checker->problem;
    Offsets offsets = {0};
    input_offsets(problem, &checker->forward, checker->arena, input->parameter, &offsets);
    int stride = offsets.count > ELEMENT_TRIALS ? offsets.count / ELEMENT_TRIALS : 1;
    double worst = -1;
    const int64_t until = checker->problem->budget->steps + SEARCH_STEPS;
    for (int i = 0; i < offsets.count && problem->budget->steps < until; i += stride) {
        Perturbation perturbation = {
            .active = active, .is_single = true, .single = offsets.items[i]};
        Error error = NULL;
        double expected = derivative_by_duals(&checker->executor, perturbation, &error),
               actual =
                   gradient_at(problem, &checker->backward, input->parameter, offsets.items[i]);
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

typedef enum Difference {
    DIFFERENCE_WRONG,
    DIFFERENCE_NOISE,
    DIFFERENCE_ROUNDING,
    DIFFERENCE_NOT_FINITE,
    DIFFERENCE_ALONE_NOT_FINITE,
    DIFFERENCE_UNSETTLED,
} Difference;

/// Whether the gradient along a direction is another where all inputs differ in their last digits, by so much that this may be
/// all that is wrong with it: what numbers of 1e30 that cancel leave, say.
static bool gradient_is_rounding(Checker *checker, const bool *active, uint64_t seed) {
    const Problem *problem = checker->problem;
    bool *all = ARENA_ARRAY(checker->arena, bool, problem->input_count + 1);
    for (int k = 0; k < problem->input_count; k++) all[k] = true;
    Perturbation direction = {.active = active, .seed = seed},
                 nudge = {.active = all, .seed = seed, .step = LAST_DIGITS};
    Error error = NULL;
    double size, wanted = derivative_by_duals(&checker->executor, direction, &error),
                 here = derivative_by_gradient(problem, &checker->forward, &checker->backward,
                                               &direction, &size);
    Execution run = execution_backward(&checker->executor, false, &nudge);
    bool runs = !error && !run.error;
    double there =
        runs ? derivative_by_gradient(problem, &checker->forward, &run, &direction, &size) : here;
    execution_free(&run);
    return relative_error(here, there, size, 0) > DERIVATIVE_TOLERANCE &&
           fabs(here - there) > fabs(here - wanted) * SHARE_OF_ROUNDING;
}

/// Why gradient and derivative differ, as far as can be told.
static Difference difference_of(Checker *checker, const InputResult *input, const bool *active,
                                uint64_t seed) {
    if (input->is_unsettled) return DIFFERENCE_UNSETTLED;
    if (isfinite(input->error)) {
        if (derivative_is_rounding(&checker->executor, active, seed)) return DIFFERENCE_NOISE;
        double allowed = fmax(ROUNDED_AWAY, checker->rounding);
        bool is_small = input->has_worst && fabs(input->expected - input->actual) < allowed;
        if (is_small || gradient_is_rounding(checker, active, seed)) return DIFFERENCE_ROUNDING;
        return DIFFERENCE_WRONG;
    }
    // whatever the forward computes in elements that it drops: its derivative is finite
    bool is_alone =
        !checker->executor.has_excluded && input->has_worst && isfinite(input->expected);
    if (!is_alone) return DIFFERENCE_NOT_FINITE;
    // an iteration that diverges overflows on the way back first
    bool is_noise = derivative_is_rounding(&checker->executor, active, seed);
    return is_noise ? DIFFERENCE_NOISE : DIFFERENCE_ALONE_NOT_FINITE;
}

/// Says where the forward itself is not finite, if it is not.
static const char *infinite_output(const Checker *checker) {
    const Executor *executor = &checker->executor;
    if (!executor->has_excluded) return "";
    int parameter = executor->excluded_parameter;
    int64_t offset = executor->excluded_offset;
    double value =
        memory_peek(checker->forward.memory, checker->forward.buffers[parameter], offset);
    return arena_printf(checker->arena,
                        ", nor is the forward: it writes %s to element %lld of %.*s",
                        isnan(value) ? "nan"
                        : value > 0  ? "inf"
                                     : "-inf",
                        (long long)offset, STR_ARGS(argument_of(checker, parameter)->name));
}

/// One input alone. False where the forward does not run.
static bool check_input(Checker *checker, int index, bool differences) {
    static const struct {
        CheckStatus status;
        CheckCause cause;
        const char *what, *is;
    } verdicts[] = {
        [DIFFERENCE_WRONG] = {CHECK_FAILED, CHECK_CAUSE_OTHER, "gradient of", "is wrong"},
        [DIFFERENCE_NOISE] = {CHECK_INVALID, CHECK_CAUSE_OTHER, "derivative by",
                              "changes with the last digits of these inputs"},
        [DIFFERENCE_ROUNDING] = {CHECK_UNPROVED, CHECK_CAUSE_ROUNDING, "gradient of",
                                 "is as small as rounding with these inputs"},
        [DIFFERENCE_NOT_FINITE] = {CHECK_UNPROVED, CHECK_CAUSE_NOT_FINITE, "gradient of",
                                   "is not finite with these inputs"},
        [DIFFERENCE_ALONE_NOT_FINITE] = {CHECK_FAILED, CHECK_CAUSE_NOT_FINITE, "gradient of",
                                         "is not finite where its derivative is"},
        [DIFFERENCE_UNSETTLED] = {CHECK_UNPROVED, CHECK_CAUSE_OTHER, "derivative by",
                                  "is another by central differences, which do not settle"},
    };
    InputResult *input = &checker->result->inputs[index];
    bool *active = ARENA_ARRAY(checker->arena, bool, checker->problem->input_count + 1);
    active[index] = true;
    uint64_t seed = hash_mix(checker->problem->seed + (uint64_t)(100 * index));
    if (!check_direction(checker, active, seed, differences, input, &input->is_unsettled))
        return false;
    if (input->error < DERIVATIVE_TOLERANCE) return true;
    find_worst_element(checker, input, active);
    Difference difference = difference_of(checker, input, active, seed);
    if (difference == DIFFERENCE_WRONG) {
        if (input->error <= checker->named) return true;  // the reason names one that is worse
        checker->named = input->error;
    }
    // What is known to be wrong stays wrong.
    if (checker->result->status == CHECK_FAILED && verdicts[difference].status != CHECK_FAILED)
        return true;
    conclude(checker, verdicts[difference].status, "the %s %.*s %s%s", verdicts[difference].what,
             STR_ARGS(argument_of(checker, input->parameter)->name), verdicts[difference].is,
             difference == DIFFERENCE_NOT_FINITE ? infinite_output(checker) : "");
    checker->result->cause = verdicts[difference].cause;
    if (difference == DIFFERENCE_WRONG)
        checker->result->reason = arena_printf(
            checker->arena, "%s: relative error %.2g%s along a random direction",
            checker->result->reason, input->error, factor_words(checker->arena, input));
    return true;
}

/// Each input alone by duals, then all together by duals and by differences, which check the duals' own rules.
static void check_gradients(Checker *checker) {
    const Problem *problem = checker->problem;
    CheckResult *result = checker->result;
    bool *active = ARENA_ARRAY(checker->arena, bool, problem->input_count + 1);
    result->status = CHECK_PROVED;
    for (int k = 0; k < problem->input_count; k++)
        if (!check_input(checker, k, false)) return;
    if (result->status != CHECK_PROVED) return;
    for (int k = 0; k < problem->input_count; k++) active[k] = true;
    InputResult *alone = problem->input_count == 1 ? result->inputs : NULL;
    bool is_unsettled;
    uint64_t seed = hash_mix(problem->seed + 9999);
    if (!check_direction(checker, active, seed, true, alone, &is_unsettled)) return;
    if (result->error < DERIVATIVE_TOLERANCE) return;
    for (int k = 0; k < problem->input_count && result->status == CHECK_PROVED; k++)
        if (!check_input(checker, k, true)) return;
    if (result->status != CHECK_PROVED) return;
    if (is_unsettled)
        conclude(checker, CHECK_UNPROVED,
                 "the derivative along all inputs is another by central differences, which do not "
                 "settle");
    else
        conclude(checker, CHECK_FAILED, "the gradients together are wrong: relative error %.2g",
                 result->error);
}

// --- ownership ----------------------------------------------------------------------------------------------------------

/// One gradient buffer, and the same after the programs ran from last to first.
static void check_owner(Checker *checker, int parameter, Execution *again) {
    Execution *backward = &checker->backward;
    MemoryBuffer *buffer = backward->gradients[parameter], *other = again->gradients[parameter];
    const PlanArgument *argument = argument_of(checker, parameter);
    if (!buffer || argument->kind != ARGUMENT_POINTER) return;
    Offsets written = {0}, read = {0};
    memory_touched(backward->arena, buffer, true, &written);
    memory_touched(backward->arena, checker->forward.buffers[parameter], false, &read);
    Map touched = map_new(backward->arena);
    for (int i = 0; i < read.count; i++) map_set_number(&touched, (uint64_t)read.items[i], buffer);
    double largest = 0;
    for (int i = 0; i < written.count; i++)
        largest = fmax(largest, fabs(memory_peek(backward->memory, buffer, written.items[i])));
    for (int i = 0; i < written.count && checker->result->status == CHECK_PROVED; i++) {
        int64_t offset = written.items[i];
        double first = memory_peek(backward->memory, buffer, offset);
        double second = other ? memory_peek(again->memory, other, offset) : 0;
        if (first != second && !(fabs(first - second) <= SAME_SUM * largest))
            conclude(
                checker, CHECK_FAILED,
                "the gradient of %.*s depends on the order in which programs run (element %lld: %g or %g)",
                STR_ARGS(argument->name), (long long)offset, first, second);
        else if (fabs(first) > NOTHING * largest && !map_has_number(&touched, (uint64_t)offset))
            conclude(
                checker, CHECK_FAILED,
                "the gradient of %.*s is written at element %lld, which the forward never reads",
                STR_ARGS(argument->name), (long long)offset);
    }
}

/// What is to run on the GPU is compiled at once.
static void prepare_gpu(Checker *checker) {
    const StagedNumbers numbers[] = {{.is_dual = false}, {.is_dual = true}};
    const int count = checker->executor.interprets_tangents ? 1 : 2;
    if (checker->executor.footprint)
        execution_prepare(&checker->executor, &checker->backward, numbers, count, numbers);
}

/// A backward whose programs do not meet but in atomic updates gives the same in any order, but for rounding. Others run in the
/// interpreter's order, where the GPU is to do all that it can.
static void trace_backward(Checker *checker, int first) {
    const VirtualMemory *memory = checker->backward.memory;
    Executor *executor = &checker->executor;
    if (checker->result->findings.count > first || !executor->footprint) return;
    if (memory_programs_meet(memory) && !device_is_eager()) return;
    executor->in_order = executor->in_order || memory_programs_meet(memory);
    executor->traced = &checker->backward;
}

/// Gradients where the forward reads nothing must stay 0; a second run from the last program to the first must agree.
static void check_ownership(Checker *checker, Beside *beside) {
    const Problem *problem = checker->problem;
    Execution again = checker->executor.traced ? execution_backward(&checker->executor, true, NULL)
                                               : beside_backward(beside, &checker->executor, true);
    if (again.error)
        conclude(checker, CHECK_UNPROVED,
                 "from its last program to its first the backward does not run: %s", again.error);
    for (int k = 0; k < problem->input_count && checker->result->status == CHECK_PROVED; k++)
        check_owner(checker, problem->inputs[k], &again);
    execution_free(&again);
}

/// A gradient is what it is, whether others are asked for or not, and whether an upstream gradient is 0 or None.
static void check_alone(Checker *checker, Beside *beside) {
    const char *fault = alone_fault(checker->arena, &checker->executor, beside, &checker->backward);
    if (!fault) fault = absent_fault(checker->arena, &checker->executor, beside);
    bool is_spent = checker->executor.interp->is_over_budget;  // then it says nothing of gradients
    if (fault) conclude(checker, is_spent ? CHECK_UNPROVED : CHECK_FAILED, "%s", fault);
}

/// Tiles of another size make the same gradients.
static void check_tiles(Checker *checker, Beside *beside) {
    const Execution *backward = &checker->backward;
    const char *fault = tiles_fault(checker->arena, &checker->executor, beside, backward);
    if (!fault) fault = whole_rows_fault(checker->arena, &checker->executor, beside, backward);
    bool is_spent = checker->executor.interp->is_over_budget;
    if (fault) conclude(checker, is_spent ? CHECK_UNPROVED : CHECK_FAILED, "%s", fault);
}

/// Elements of a gradient of which a kernel stores all itself, zeros where the forward touches nothing: these are looked at as gradients,
/// and the tensor has them, so that they may be read. Their number, up to the last; 0: there is no such kernel.
static int64_t filled_elements(const Problem *problem, int parameter) {
    for (int i = 0; i < problem->launch_count; i++)
        for (int k = 0; k < problem->launches[i].function->parameter_count; k++) {
            const Actual *actual = &problem->launches[i].actuals[k];
            if (actual->kind != ACTUAL_GRADIENT || actual->parameter != parameter ||
                !actual->is_filled)
                continue;
            int64_t elements = 1;
            for (int r = 0; r < actual->stored->count; r++)
                elements += actual->stored->items[r].step * (actual->stored->items[r].length - 1);
            return elements;
        }
    return 0;
}

/// What is to be right of a backward whose gradients are: in any order of programs, of fewer gradients, in other tiles. All of these runs
/// are made beside each other.
static void check_other_runs(Checker *checker) {
    CheckResult *result = checker->result;
    Arena *scratch = arena_new();
    Beside *beside = beside_new(scratch, &checker->executor, result->backward_steps);
    if (!checker->executor.traced) beside_add(beside, checker->problem, true);
    alone_beside(beside, &checker->executor);
    beside_run(beside);
    check_ownership(checker, beside);
    if (result->status == CHECK_PROVED) check_alone(checker, beside);
    if (result->status == CHECK_PROVED) check_tiles(checker, beside);
    beside_free(beside);
    arena_free(scratch);
}

/// The backward touches no element but those that the forward touched: anything else may lie outside of the tensor.
static void check_footprint(Checker *checker) {
    const Execution *backward = &checker->backward;
    int count = checker->problem->configuration->argument_count;
    for (int i = 0; i < count && checker->result->status == CHECK_PROVED; i++) {
        const MemoryBuffer *footprint = checker->forward.buffers[i];
        const int64_t filled = filled_elements(checker->problem, i);
        const MemoryBuffer *used[] = {backward->buffers[i], backward->upstreams[i],
                                      filled ? NULL : backward->gradients[i]};
        for (size_t k = 0; k < sizeof used / sizeof *used; k++) {
            Beyond beyond;
            if (!footprint || !used[k] ||
                !memory_beyond(used[k], footprint, k ? 0 : filled, &beyond))
                continue;
            conclude(checker, CHECK_FAILED,
                     "the backward %s element %lld of %s, which the forward never touches",
                     beyond.is_write ? "writes" : "reads", (long long)beyond.offset, used[k]->name);
        }
    }
}

// --- findings -----------------------------------------------------------------------------------------------------------

static void keep_findings(Checker *checker, const VirtualMemory *memory) {
    for (LIST_EACH(int, i, memory->findings)) {
        MemoryFinding finding = memory->findings.items[i];
        finding.kernel = arena_strdup(checker->arena, finding.kernel);
        finding.message = arena_strdup(checker->arena, finding.message);
        if (finding.buffer) finding.buffer = arena_strdup(checker->arena, finding.buffer);
        LIST_PUSH(checker->arena, &checker->result->findings, finding);
    }
}

static const char *finding_text(const Checker *checker, const MemoryFinding *finding) {
    return arena_printf(checker->arena, "%s, line %d: %s", finding->kernel, finding->line,
                        finding->message);
}

/// Nothing is proved of kernels that race, leave their buffers or use what nobody defined. The backward's certain
/// faults are ours; those of the forward, the first `first`, leave open what its derivative is.
static void judge_findings(Checker *checker, int first) {
    CheckResult *result = checker->result;
    for (int i = 0; i < result->findings.count && result->status != CHECK_FAILED; i++) {
        const MemoryFinding *finding = &result->findings.items[i];
        bool fails = i >= first && finding->is_certain;
        if (!fails && result->status != CHECK_PROVED) continue;
        conclude(checker, fails ? CHECK_FAILED : CHECK_UNPROVED, "%s in %s",
                 finding_name(finding->kind), finding_text(checker, finding));
    }
}

// --- one configuration --------------------------------------------------------------------------------------------------

/// What a forward touches outside of its tensors where somebody has said how large these are, above the kernel or in `pyproject.toml`,
/// or which element its programs store to in any order then: the sizes are wrong, or the forward is, and not a gradient.
static const MemoryFinding *fault_as_said(const Checker *checker) {
    const PlanConfiguration *configuration = checker->problem->configuration;
    bool is_said = configuration->origin == SPEC_COMMENT || configuration->origin == SPEC_PYPROJECT;
    if (!is_said || configuration->is_guess) return NULL;
    for (LIST_EACH(int, i, checker->result->findings)) {
        const MemoryFinding *finding = &checker->result->findings.items[i];
        bool is_race = finding->kind == FINDING_RACE && finding->is_certain;
        if (is_race || finding->kind == FINDING_OUT_OF_BOUNDS) return finding;
    }
    return NULL;
}

/// Keeps what one program reads and another one stores later, as a finding, in front of those of the backward.
static void keep_crossing(Checker *checker) {
    Findings *findings = &checker->result->findings;
    MemoryFinding crossing = checker->forward.memory->crossing;
    crossing.kernel = arena_strdup(checker->arena, crossing.kernel);
    crossing.message = arena_strdup(checker->arena, crossing.message);
    crossing.buffer = arena_strdup(checker->arena, crossing.buffer);
    LIST_PUSH(checker->arena, findings, crossing);
    for (int i = findings->count - 1; i > 0; i--) findings->items[i] = findings->items[i - 1];
    findings->items[0] = crossing;
}

/// What goes wrong in the forward by the launch of the file itself, or by what is said of it, if anything.
static const MemoryFinding *fault_of_launch(Checker *checker) {
    const Problem *problem = checker->problem;
    const VirtualMemory *memory = checker->forward.memory;
    if (!problem->configuration->is_passed) return fault_as_said(checker);
    if (memory->crossing.message &&
        places_are_launched(checker->arena, problem, memory->crossing.buffer, false))
        keep_crossing(checker);
    for (LIST_EACH(int, i, checker->result->findings)) {
        const MemoryFinding *finding = &checker->result->findings.items[i];
        bool counts = finding->kind == FINDING_RACE || finding->kind == FINDING_OUT_OF_BOUNDS;
        bool is_sized = finding->kind == FINDING_OUT_OF_BOUNDS;
        if (counts && places_are_launched(checker->arena, problem, finding->buffer, is_sized))
            return finding;
    }
    return NULL;
}

enum { ENOUGH_NUMBERS = 32 };

/// Whether too little of what was stored is numbers. Scores of which most are masked are -inf there, and the others show enough.
static bool is_mostly_infinite(const Checker *checker, int64_t excluded, int64_t written) {
    bool are_masked = !checker->executor.has_nan && written - excluded >= ENOUGH_NUMBERS;
    return 2 * excluded > written && !are_masked;
}

/// Whether it ran, read inputs and wrote numbers; if not, the reason is in the result.
static bool forward_is_usable(Checker *checker) {
    const Problem *problem = checker->problem;
    Execution *forward = &checker->forward;
    CheckResult *result = checker->result;
    result->status = CHECK_INVALID;
    if (forward->error) {
        result->reason = arena_strdup(checker->arena, forward->error);
        return false;
    }
    keep_findings(checker, forward->memory);
    const MemoryFinding *fault = fault_of_launch(checker);
    if (fault) {
        conclude(checker, CHECK_UNPROVED, "%s in %s: %s", finding_name(fault->kind),
                 problem->configuration->is_passed ? "a launch of this file"
                                                   : "the forward, with the sizes that are said",
                 finding_text(checker, fault));
        result->cause = CHECK_CAUSE_LAUNCH;
        return false;
    }
    if (problem->configuration->is_guess && result->findings.count) {
        const MemoryFinding *first = &result->findings.items[0];
        result->reason = finding_text(checker, first);
        if (first->kind == FINDING_POISON) result->cause = CHECK_CAUSE_UNDEFINED;
        return false;
    }
    int64_t excluded, written, elements = 0;
    executor_exclude_infinite(&checker->executor, forward, &excluded, &written);
    result->excluded = excluded;
    result->stored = written;
    if (excluded)
        result->excluded_names = arena_strdup(checker->arena, checker->executor.excluded_names);
    if (written == 0) {
        result->reason = "the forward writes no output";
    } else if (is_mostly_infinite(checker, excluded, written)) {
        result->reason = "most outputs of the forward are not finite";
        result->cause = CHECK_CAUSE_NOT_FINITE;
    }
    for (int k = 0; k < problem->input_count; k++) {
        Offsets read = {0};
        input_offsets(problem, forward, checker->arena, problem->inputs[k], &read);
        elements += read.count;
    }
    if (!result->reason && elements == 0) result->reason = "the forward reads no input";
    return result->reason == NULL;
}

/// The rounding of the backward is that of its largest gradient: smaller ones may be what is left of numbers of that size.
static double backward_rounding(Checker *checker) {
    const Problem *problem = checker->problem;
    double largest = 0;
    for (int k = 0; k < problem->input_count; k++) {
        int parameter = problem->inputs[k];
        Offsets offsets = {0};
        input_offsets(problem, &checker->forward, checker->arena, parameter, &offsets);
        for (int i = 0; i < offsets.count; i++) {
            double size =
                fabs(gradient_at(problem, &checker->backward, parameter, offsets.items[i]));
            if (isfinite(size)) largest = fmax(largest, size);
        }
    }
    return ROUNDED_AWAY * largest;
}

/// Whether programs store to one element of a gradient, and only where programs of the forward read one.
static bool readers_meet(const Checker *checker) {
    bool is_contested = false;
    for (int k = 0; k < checker->problem->input_count; k++) {
        int parameter = checker->problem->inputs[k];
        const MemoryBuffer *gradient = checker->backward.gradients[parameter];
        const MemoryBuffer *input = checker->forward.buffers[parameter];
        if (gradient && input && !memory_meets_as_read(gradient, input, &is_contested))
            return false;
    }
    return is_contested;
}

/// A launch's shapes may contradict each other.
static void note_outgrown(Checker *checker) {
    const Problem *problem = checker->problem;
    for (int k = 0; k < problem->output_count && problem->layouts; k++) {
        const int output = problem->outputs[k];
        checker->executor.keeps_layouts |= upstream_outgrows(
            checker->arena, &problem->layouts[output], checker->forward.buffers[output]);
    }
}

static void check_backward(Checker *checker) {
    CheckResult *result = checker->result;
    note_outgrown(checker);
    int first = result->findings.count;
    const int64_t before = checker->problem->budget->steps;
    checker->backward = execution_backward(&checker->executor, false, NULL);
    result->backward_steps = checker->problem->budget->steps - before;
    keep_findings(checker, checker->backward.memory);
    if (checker->backward.error) {
        conclude(checker, CHECK_UNPROVED, "the backward does not run: %s", checker->backward.error);
        return;
    }
    prepare_gpu(checker);
    checker->rounding = backward_rounding(checker);
    trace_backward(checker, first);
    check_gradients(checker);
    if (result->status == CHECK_PROVED && !(result->slope > 0))
        conclude(checker, CHECK_INVALID, "every derivative is 0 with these values");
    judge_findings(checker, first);
    const char *left = stored_fault(checker->arena, checker->problem, &checker->backward);
    if (!left) left = checker->backward.misplaced;
    if (left && result->status != CHECK_FAILED) conclude(checker, CHECK_FAILED, "%s", left);
    check_footprint(checker);
    if (result->status == CHECK_PROVED) check_other_runs(checker);
    // a made-up configuration in which programs collide proves nothing against the gradient
    const VirtualMemory *memory = checker->forward.memory;
    bool fails = result->status == CHECK_FAILED;
    if (fails && !memory->overwritten)
        result->overwrites = zeros_overwrite(&checker->executor, &checker->forward);
    if (result->overwrites)
        result->reason =
            arena_printf(checker->arena, "%s; programs store zeros over the gradients of others",
                         result->reason);
    bool races = memory->overwritten_by_two && result->findings.count > first;
    const char *buffer = memory->overwritten_buffer;
    if ((!fails && !races) || !checker->problem->configuration->is_guess) return;
    if (memory->overwritten && places_are_launched(checker->arena, checker->problem, buffer, false))
        return;
    result->is_contradicted = fails;
    if (!memory->overwritten && !result->overwrites && readers_meet(checker))
        result->cause = CHECK_CAUSE_READERS_MEET;
    if (!memory->overwritten) return;
    if (memory->overwritten_by_two) {
        conclude(checker, CHECK_INVALID, "%s", memory->overwritten);
        if (memory->crossing.message) keep_crossing(checker);
        result->cause = CHECK_CAUSE_PROGRAMS_MEET;
    } else {  // with these sizes, or with any
        conclude(checker, CHECK_UNPROVED, "%s with sizes that are made up: %s", result->reason,
                 memory->overwritten);
    }
}

/// Programs that meet wherever the kernel is launched with several of them.
static void note_own_meeting(Checker *checker) {
    CheckResult *result = checker->result;
    const char *buffer = checker->forward.memory->overwritten_buffer;
    if (result->status != CHECK_INVALID || checker->problem->configuration->origin != SPEC_KERNEL)
        return;
    for (LIST_EACH(int, i, result->findings))
        if (result->findings.items[i].kind == FINDING_RACE)
            buffer = result->findings.items[i].buffer;
    result->is_kernels_own = places_are_the_programs(checker->arena, checker->problem, buffer);
}

static bool is_needed(const Problem *problem, int64_t steps) {
    const Need *need = problem->need;
    return !need ||
           need->is_needed(need->context, problem->configuration, problem->coverage, steps);
}

/// A forward whose programs meet gives what their order makes of it: the GPU keeps that order, one program after the other, where it is to
/// do all that it can.
static void use_gpu(Checker *checker) {
    const VirtualMemory *memory = checker->forward.memory;
    CudaUse *use = checker->problem->cuda;
    if (!device_is_eager() && memory->steps < WORTH_A_COMPILER) return;
    if (memory->findings.count || (memory_programs_meet(memory) && !device_is_eager())) {
        if (!use->refused)
            use->refused =
                "its programs meet in memory, or use what nobody defined: the cpu backend has the order for it";
        return;
    }
    checker->executor.footprint = memory;
    checker->executor.in_order = memory_programs_meet(memory);
    checker->executor.interprets_tangents =
        !device_is_eager();  // they are few: no worth of a compile
}

/// Whether a forward that was rewritten computes what it did.
static bool stays_the_same(Checker *checker) {
    const char *fault =
        checker->problem->before ? same_values_fault(checker->arena, checker->problem) : NULL;
    if (fault) conclude(checker, CHECK_FAILED, "%s", fault);
    return !fault;
}

/// The fewest runs of its forward that a check costs, with one input and with more; each input is a run of its own besides
/// RUNS_BESIDE. A made-up launch without so many steps is left.
enum { LEAST_RUNS = 10, LEAST_RUNS_OF_SEVERAL = 16, RUNS_BESIDE = 9 };

static Execution first_forward(Checker *checker) {
    Budget *budget = checker->problem->budget;
    const int64_t limit = budget->limit, before = budget->steps;
    const int inputs = checker->problem->input_count;
    int runs = inputs > 1 ? LEAST_RUNS_OF_SEVERAL : LEAST_RUNS;
    if (inputs + RUNS_BESIDE > runs) runs = inputs + RUNS_BESIDE;
    if (limit && checker->problem->configuration->is_guess)
        budget->limit = before + (limit - before) / runs;
    Execution forward = execution_forward(&checker->executor, NULL);
    budget->limit = limit;
    checker->result->forward_steps = budget->steps - before;
    return forward;
}

/// Whether there are several programs, and one alone stores.
static bool stores_alone(const Checker *checker) {
    const PlanConfiguration *configuration = checker->problem->configuration;
    int32_t writer = 0;
    if (configuration->grid[0] * configuration->grid[1] * configuration->grid[2] < 2) return false;
    for (int i = 0; i < configuration->argument_count; i++) {
        const MemoryBuffer *buffer = checker->forward.buffers[i];
        if (buffer && !memory_has_one_writer(buffer, &writer)) return false;
    }
    return true;
}

/// Such programs may be too few for a tensor as large as it was made up.
static bool stores_in_part(const Checker *checker) {
    const PlanConfiguration *configuration = checker->problem->configuration;
    if (!configuration_has_literal_grid(configuration)) return false;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        const MemoryBuffer *buffer = checker->forward.buffers[i];
        Offsets written = {0};
        if (argument->kind != ARGUMENT_POINTER || !argument->extent || !buffer) continue;
        memory_touched(checker->forward.arena, buffer, true, &written);
        if (argument->is_dense && written.count && written.count < argument->extent) return true;
    }
    return false;
}

CheckResult check_configuration(Arena *arena, const Problem *problem) {
    CheckResult result = {.inputs = ARENA_ARRAY(arena, InputResult, problem->input_count + 1)};
    for (int k = 0; k < problem->input_count; k++) result.inputs[k].parameter = problem->inputs[k];
    Arena *scratch = arena_new();  // of the interpreter's tiles
    Checker checker = {.arena = arena,
                       .problem = problem,
                       .executor = executor_new(scratch, problem),
                       .result = &result};
    if (problem->coverage) *problem->coverage = *coverage_new(arena);
    checker.executor.interp->coverage = problem->coverage;
    checker.forward = first_forward(&checker);
    checker.executor.interp->coverage = NULL;
    const VirtualMemory *memory = checker.forward.memory;
    result.stores_twice = memory && memory->overwritten && !memory->overwritten_by_two;
    bool is_usable = forward_is_usable(&checker);
    result.is_in_part = is_usable && stores_in_part(&checker);
    result.is_alone = is_usable && stores_alone(&checker);
    if (is_usable && problem->cuda) use_gpu(&checker);
    checker.executor.forward = is_usable ? &checker.forward : NULL;
    checker.executor.forward_of = problem->configuration;
    if (is_usable && !is_needed(problem, checker.forward.memory->steps))
        result.status = CHECK_REDUNDANT;
    else if (is_usable && stays_the_same(&checker))
        check_backward(&checker);
    else if (checker.executor.interp->is_over_budget) {
        result.status = CHECK_UNPROVED;
        result.loop_line = checker.executor.interp->loop_line;
        result.loop_iterations = checker.executor.interp->loop_iterations;
    }
    note_own_meeting(&checker);
    if (checker.backward.arena) execution_free(&checker.backward);
    execution_free(&checker.forward);
    arena_free(scratch);
    return result;
}

bool check_large(Arena *arena, const Problem *problem, CheckResult *result) {
    static const CheckStatus statuses[] = {[LARGE_PROVED] = CHECK_PROVED,
                                           [LARGE_FAILED] = CHECK_FAILED,
                                           [LARGE_UNPROVED] = CHECK_UNPROVED,
                                           [LARGE_INVALID] = CHECK_INVALID};
    LargeResult large;
    if (!large_check(arena, problem, &large)) return false;
    result->is_large = true;
    result->status = statuses[large.verdict];
    result->reason = large.reason;
    result->error = large.error;
    result->slope = large.slope;
    result->dot_error = large.dual;
    result->has_kink = large.has_kink;
    if (large.together >= 0) {
        result->together = large.together;
        result->together_directions = 1;
    }
    for (int k = 0; k < problem->input_count; k++) {
        if (large.errors[k] < 0) continue;
        result->inputs[k].error = large.errors[k];
        result->inputs[k].directions = 1;
    }
    return true;
}

bool check_met(const CheckResult *result) {
    bool meets = result->cause == CHECK_CAUSE_PROGRAMS_MEET;
    for (LIST_EACH(int, i, result->findings))
        meets = meets || result->findings.items[i].kind == FINDING_RACE;
    return meets && result->status == CHECK_INVALID;
}

const MemoryFinding *check_crossing(Arena *arena, const CheckResult *result) {
    for (LIST_EACH(int, i, result->findings)) {
        const MemoryFinding *finding = &result->findings.items[i];
        // Stores that meet are certain where their values differ, and of gradients where they do not.
        bool is_crossing = finding->kind == FINDING_RACE && !finding->is_certain;
        if (result->status != CHECK_INVALID || !is_crossing) continue;
        MemoryFinding *kept = ARENA_NEW(arena, MemoryFinding);
        *kept = *finding;
        return kept;
    }
    return NULL;
}
