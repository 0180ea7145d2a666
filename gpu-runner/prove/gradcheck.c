// The request `gradcheck`: every configuration of a kernel is run and compared; what was found is put into one result.
#include "gpu-runner/prove/gradcheck.h"

#include <math.h>
#include <string.h>

#include "analysis/launches/launch_joined.h"
#include "gpu-runner/configure/relations.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/configure/spec_guess.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/execute/derivative.h"
#include "gpu-runner/execute/large.h"
#include "gpu-runner/prove/certain.h"
#include "gpu-runner/prove/check.h"
#include "gpu-runner/prove/covered.h"
#include "gpu-runner/prove/own_report.h"
#include "gpu-runner/prove/problem_read.h"
#include "gpu-runner/prove/request.h"
#include "gpu-runner/prove/wide.h"
#include "gpu-runner/rules/tried.h"

static const double DEFAULT_SECONDS = 30, SHARE_OF_STEPS = 0.6;
/// Of all configurations of a request; what is proved by then is proved, the rest is named.
static const int64_t MOST_STEPS = 1000000000;
/// With this many configurations proved, no other is begun after so many steps.
enum { ENOUGH_PROVED = 2, ENOUGH_DISCARDED = 2, ENOUGH_SPREAD = 2, ENOUGH_RAGGED = 3 };
static const int64_t ENOUGH_STEPS = 100000000;
/// As long as only single programs are proved along an axis, configurations with several are run beyond those.
static const int64_t ENOUGH_WIDENING_STEPS = 300000000;
static const int64_t MOST_RULE_STEPS = 60000000;  // of all rules by hand, tried alone
enum { RUNS_OF_A_CHECK = 25 };  // of the forward, what the backward takes included, about

typedef struct InputSummary {
    const char *name;
    double error;
    int directions;
    Json *worst;  // or NULL
} InputSummary;

/// What failed in a configuration made up for the kernel alone, for want of owners of the elements that its programs share.
typedef struct SharedElements {
    const PlanConfiguration *configuration;
    Problem problem;
    CheckResult result;
} SharedElements;

typedef struct Gradcheck {
    Arena *arena;
    const Json *params;
    Sources *sources;
    const FunctionDefinition *forward,
        *before;  // what the forward was rewritten from, by the request's "before"; or NULL
    Function *symbolic;
    const int
        *joined;  // per parameter of the forward: the one that it shares its tensor with, or -1
    const ParameterFacts *facts;
    const Module *backward;
    const Json *launches;
    Budget budget;
    int64_t most_steps;
    Covered *covered;
    Need need;
    double started, most_seconds;
    uint64_t seed;
    // what was found
    CheckStatus status;
    const char *reason, *invalid_reason;
    InputSummary *inputs;
    int input_count, proved, checked, spread, redundant;
    int undefined;  // configurations that store what masked-off loads left undefined
    int ragged;     // configurations of the kernel alone whose last tiles reach what nobody defined
    double worst_error, dot_error, together;
    int together_directions;
    bool has_kink, is_told, is_spreading;
    bool
        is_widening;  // sizes that are multiples of the blocks, where only single programs are proved
    bool fills_zero;  // what is undefined is taken to be 0
    bool is_settled;  // by what a launch of the file does
    bool
        is_launch_clean;  // proved with a launch of the file, in which no program stores an element twice
    bool is_infinite_empty;  // where loops have no iteration, a gradient is not finite
    bool is_contradicted;    // what was measured as wrong was put down to the configuration
    Json *configurations, *discarded, *findings;
    LIST(SharedElements) shared;
    ProvedRuns runs;
    CudaUse cuda;
} Gradcheck;

// --- one configuration --------------------------------------------------------------------------------------------------

/// The offset of an element as indices: by the shape where it is known, else by the strides that its address uses.
static Json *index_json(Arena *arena, const PlanArgument *argument, int64_t offset) {
    Json *index = json_array(arena);
    if (argument->kind != ARGUMENT_POINTER) return index;
    if (argument->stride_count == 0 || offset < 0) {
        json_push(index, json_number(arena, (double)offset));
        return index;
    }
    for (int i = 0; i < argument->stride_count; i++) {
        int64_t stride = argument->strides[i] > 0 ? argument->strides[i] : 1;
        int64_t quotient = offset / stride;
        json_push(index, json_number(arena, (double)quotient));
        offset %= stride;
    }
    return index;
}

static void take_inputs(Gradcheck *check, const PlanConfiguration *configuration,
                        const Problem *problem, const CheckResult *result) {
    for (int k = 0; k < problem->input_count; k++) {
        const InputResult *input = &result->inputs[k];
        const PlanArgument *argument = &configuration->arguments[input->parameter];
        for (int i = 0; i < check->input_count; i++) {
            InputSummary *summary = &check->inputs[i];
            if (!str_is(argument->name, summary->name)) continue;
            summary->directions += input->directions;
            if (input->error > summary->error || !summary->directions)
                summary->error = input->error;
            if (!input->has_worst || summary->worst) continue;
            summary->worst = json_object(check->arena);
            json_set(summary->worst, "index",
                     index_json(check->arena, argument, input->worst_offset));
            json_set_number(summary->worst, "expected", input->expected);
            json_set_number(summary->worst, "actual", input->actual);
        }
    }
}

static void take_findings(Gradcheck *check, const CheckResult *result) {
    for (LIST_EACH(int, i, result->findings)) {
        const MemoryFinding *finding = &result->findings.items[i];
        bool known = false;
        for (int k = 0; k < check->findings->count && !known; k++) {
            const Json *other = check->findings->items[k];
            known = strcmp(json_get_string(other, "kind", ""), finding_name(finding->kind)) == 0 &&
                    json_get_int(other, "line", 0) == finding->line &&
                    strcmp(json_get_string(other, "kernel", ""), finding->kernel) == 0;
        }
        if (!known) json_push(check->findings, finding_json(check->arena, finding));
    }
}

static Json *configuration_json(const Gradcheck *check, const PlanConfiguration *configuration) {
    Json *json = json_object(check->arena);
    json_set_string(json, "text", configuration_print(check->arena, configuration));
    json_set_string(json, "source", spec_origin_name(configuration->origin));
    return json;
}

static void discard(Gradcheck *check, const PlanConfiguration *configuration, const char *reason) {
    Json *json = configuration_json(check, configuration);
    json_set_string(json, "reason", reason);
    json_push(check->discarded, json);
    if (!check->invalid_reason || !configuration->is_guess) check->invalid_reason = reason;
}

/// What it would have shown counts: with more programs than are proved it leaves the proof open.
static void lose(Gradcheck *check, const PlanConfiguration *configuration, const char *reason,
                 const CheckResult *result) {
    discard(check, configuration, reason);
    // what is tried besides, where single programs are proved, takes nothing away
    if (!check->is_widening) covered_lose(check->covered, configuration, reason, result);
}

/// Enough configurations are proved, with several programs along each axis: others may show further cases, where they are cheap.
static bool is_enough(const Gradcheck *check) {
    return check->proved >= ENOUGH_PROVED && !covered_is_narrow(check->covered);
}

/// Failed beats unproved beats proved; what is invalid says nothing about the gradient, and what the clock ended is nothing.
static void take_result(Gradcheck *check, const PlanConfiguration *configuration,
                        const Problem *problem, const CheckResult *result) {
    if (budget_is_over(&check->budget)) return;
    bool is_spare = result->status == CHECK_UNPROVED && is_enough(check) &&
                    configuration->is_guess && check->budget.end == BUDGET_OUT_OF_STEPS;
    if (result->status == CHECK_REDUNDANT || is_spare) {
        check->redundant++;
        return;
    }
    if (result->status == CHECK_INVALID) {
        if (result->cause == CHECK_CAUSE_UNDEFINED) {
            check->undefined++;
            if (configuration->origin == SPEC_KERNEL) check->ragged++;
        }
        if (result->is_kernels_own)
            discard(check, configuration, result->reason);
        else
            lose(check, configuration, result->reason, result);
        return;
    }
    // Values made up for the kernel alone that its derivative is not made for say nothing either, nor do rows that reach into each
    // other, as those of the file's launches do not.
    bool overlaps = result->is_contradicted && result->stores_twice && check->is_launch_clean;
    bool is_beyond = result->status == CHECK_UNPROVED && configuration->origin == SPEC_KERNEL &&
                     (result->cause == CHECK_CAUSE_NOT_FINITE ||
                      result->cause == CHECK_CAUSE_ROUNDING || overlaps);
    if (is_beyond) {
        lose(check, configuration, result->reason, result);
        return;
    }
    check->is_settled = check->is_settled || result->cause == CHECK_CAUSE_LAUNCH;
    if (result->status == CHECK_UNPROVED && !check->is_settled &&
        check->budget.end == BUDGET_OUT_OF_STEPS) {
        lose(check, configuration, "it takes more steps than a proof may", result);
        return;
    }
    Json *json = configuration_json(check, configuration);
    json_set_string(json, "covered",
                    configuration_words(check->arena, configuration, check->symbolic, check->facts,
                                        problem->coverage));
    static const char *const names[] = {"proved", "failed", "unproved", "invalid"};
    json_set_string(json, "status", names[result->status]);
    if (result->is_large) json_set_string(json, "backend", "cuda");
    json_push(check->configurations, json);
    take_inputs(check, configuration, problem, result);
    take_findings(check, result);
    if (result->error > check->worst_error) check->worst_error = result->error;
    if (result->dot_error > check->dot_error) check->dot_error = result->dot_error;
    if (result->together > check->together) check->together = result->together;
    check->together_directions += result->together_directions;
    if (result->has_kink) check->has_kink = true;
    // NaN where others of the kernel's results are numbers is what a user of this launch gets.
    bool is_infinite = result->status == CHECK_UNPROVED && result->cause == CHECK_CAUSE_NOT_FINITE;
    if (result->is_contradicted || is_infinite) check->is_contradicted = true;
    if (result->status == CHECK_PROVED) {
        check->proved++;
        if (configuration->origin == SPEC_LAUNCHER && !result->stores_twice)
            check->is_launch_clean = true;
        covered_take(check->covered, configuration, problem->coverage);
        if (check->fills_zero) covered_note_filled(check->covered);
        if (result->excluded)
            covered_note_infinite(check->covered, result->excluded, result->stored,
                                  result->excluded_names);
        ProvedRun run = {configuration_copy(check->arena, configuration, 0), problem->input_count,
                         result->forward_steps, result->backward_steps};
        if (!result->is_large) LIST_PUSH(check->arena, &check->runs, run);
    }
    bool worse = check->checked == 0 ||
                 (result->status == CHECK_FAILED && check->status != CHECK_FAILED) ||
                 (result->status == CHECK_UNPROVED && check->status == CHECK_PROVED);
    if (worse) {
        check->status = result->status;
        check->reason = result->reason;
    }
    check->checked++;
}

/// A launcher's shapes are partly made up: what its allocations say may be wrong, too.
static bool drop_extents(PlanConfiguration *configuration) {
    bool dropped = false;
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (argument->extent) dropped = true;
        argument->extent = 0;
        argument->rank = 0;
    }
    return dropped && configuration->origin == SPEC_LAUNCHER;
}

static bool is_outside(const CheckResult *result) {
    for (LIST_EACH(int, i, result->findings))
        if (result->findings.items[i].kind == FINDING_OUT_OF_BOUNDS) return true;
    return false;
}

static bool is_not_finite(const CheckResult *result) {
    return result->cause == CHECK_CAUSE_NOT_FINITE &&
           (result->status == CHECK_INVALID || result->status == CHECK_UNPROVED);
}

static SpecRequest spec_request(const Gradcheck *check) {
    const Json *spec = json_get(check->params, "spec"), *pyproject = json_get(spec, "pyproject");
    return (SpecRequest){
        .module = check->forward->module,
        .kernel = check->forward,
        .symbolic = check->symbolic,
        .comment = json_get_string(spec, "text", NULL),
        .pyproject = pyproject && pyproject->kind != JSON_NULL ? pyproject : NULL,
        .uses_launchers = json_get_bool(spec, "launchers", true),
        .seed = check->seed,
    };
}

/// Of what a launch finds outside of its tensors only that is said as a finding which does not depend on made-up lengths, numbers or
/// contents of memory.
static void keep_certain(Arena *arena, const Problem *problem, CheckResult *result) {
    int count = 0;
    for (LIST_EACH(int, i, result->findings)) {
        const MemoryFinding *finding = &result->findings.items[i];
        if (finding->kind != FINDING_OUT_OF_BOUNDS ||
            places_are_launched(arena, problem, finding->buffer, true))
            result->findings.items[count++] = *finding;
    }
    result->findings.count = count;
}

/// Lists of integers that are made up each by itself may contradict each other: then all are about the same parts.
/// Where they do not run so, either, the sizes do not fit: `*is_made_up`, for what is read outside of tensors is nobody's launch.
static CheckResult check_parts(Gradcheck *check, PlanConfiguration *configuration, Problem *problem,
                               CheckResult result, bool *is_made_up) {
    PlanConfiguration other = configuration_copy(check->arena, configuration, 0);
    if (!configuration->is_guess || !part_lists_set(check->facts, &other)) return result;
    *is_made_up = true;
    problem->configuration = &other;
    CheckResult again = check_configuration(check->arena, problem);
    if (again.status == CHECK_INVALID && is_outside(&again) && drop_extents(&other))
        again = check_configuration(check->arena, problem);
    problem->configuration = configuration;
    if (again.status == CHECK_INVALID) return result;
    *configuration = other;
    return again;
}

/// Other contents where these are not finite: a logarithm's argument must be positive, an exponential's small.
static CheckResult check_contents(Gradcheck *check, PlanConfiguration *configuration,
                                  Problem *problem) {
    static const double ranges[][2] = {{0.2, 1.2}, {-0.05, 0.05}, {0.01, 0.06}};
    Arena *arena = check->arena;
    CheckResult result = check_configuration(arena, problem);
    if (result.status == CHECK_INVALID && is_outside(&result)) {
        bool is_ragged = counts_on_whole_blocks(problem->forward, &result.findings);
        if (drop_extents(configuration)) {
            result = check_configuration(arena, problem);
            result.is_ragged = is_ragged;
        }
    }
    bool is_made_up = false;
    if (result.status == CHECK_INVALID)
        result = check_parts(check, configuration, problem, result, &is_made_up);
    // Made-up sizes of several tensors may be none that the launcher is made for: no verdict, and with further sizes no word.
    if (result.status == CHECK_INVALID && is_outside(&result) &&
        configuration->origin == SPEC_LAUNCHER && !configuration->is_extra && !is_made_up &&
        (configuration->is_launch || !places_are_made_up(arena, problem, &result.findings))) {
        result.status = configuration->is_launch ? CHECK_FAILED : CHECK_UNPROVED;
        result.reason =
            arena_printf(arena, "%s, where neither it nor its gradient has memory", result.reason);
        keep_certain(arena, problem, &result);
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && is_not_finite(&result); i++) {
        PlanConfiguration other = configuration_copy(arena, configuration, 0);
        wide_set_contents(&other, ranges[i][0], ranges[i][1]);
        problem->configuration = &other;
        CheckResult again = check_configuration(arena, problem);
        problem->configuration = configuration;
        if (is_not_finite(&again)) continue;
        result = again;
        *configuration = other;
    }
    return result;
}

/// No configuration may take all the steps.
static void allow_share(Gradcheck *check) {
    Budget *budget = &check->budget;
    int64_t rest = check->most_steps - budget->steps;
    budget->limit = budget->steps + (rest > 0 ? (int64_t)((double)rest * SHARE_OF_STEPS) : 0);
    if (budget->end == BUDGET_OUT_OF_STEPS) budget->end = BUDGET_HOLDS;
}

static ProblemReader problem_reader(Gradcheck *check) {
    return (ProblemReader){check->arena,    check->params, check->sources, check->forward,
                           check->symbolic, check->joined, check->facts,   check->backward,
                           check->launches, check->seed,   check->proved,  &check->budget,
                           check->before};
}

/// A result of no run.
static CheckResult result_open(Arena *arena, const Problem *problem, CheckStatus status,
                               const char *reason) {
    CheckResult result = {.status = status, .reason = reason};
    result.inputs = ARENA_ARRAY(arena, InputResult, problem->input_count + 1);
    for (int k = 0; k < problem->input_count; k++) result.inputs[k].parameter = problem->inputs[k];
    return result;
}

/// Whether one that reads the same has a verdict.
static bool is_checked(const Gradcheck *check, const PlanConfiguration *configuration) {
    const char *text = configuration_print(check->arena, configuration);
    for (int i = 0; i < check->configurations->count; i++)
        if (strcmp(json_get_string(check->configurations->items[i], "text", ""), text) == 0)
            return true;
    return false;
}

/// A configuration made ready and checked. `*error` where it cannot be run at all.
static CheckResult check_ready(Gradcheck *check, PlanConfiguration *configuration, Problem *problem,
                               Error *error) {
    Arena *arena = check->arena;
    allow_share(check);
    ProblemReader reader = problem_reader(check);
    Error launch_error = NULL;
    *error = problem_read(&reader, configuration, problem, &launch_error);
    if (*error) return (CheckResult){.status = CHECK_INVALID, .reason = *error};
    problem->coverage = coverage_new(arena);
    problem->need = &check->need;
    if (device_is_wanted()) problem->cuda = &check->cuda;
    bool is_large = !launch_error && problem->cuda && !check->before &&
                    configuration->origin <= SPEC_PYPROJECT && large_is(configuration);
    CheckResult result = result_open(arena, problem, CHECK_REDUNDANT, NULL);
    if (is_large && (is_checked(check, configuration) || check_large(arena, problem, &result)))
        return result;
    if (!launch_error) return check_contents(check, configuration, problem);
    // The backward's ranges are as long as the forward's tiles: such tiles Triton does not have.
    if (check->sources->refusal == DIAGNOSTIC_ARANGE_NOT_POWER_OF_TWO) {
        *error = launch_error;
        return (CheckResult){.status = CHECK_INVALID, .reason = launch_error};
    }
    return result_open(arena, problem, CHECK_UNPROVED, launch_error);
}

/// Whether all tensors have a shape that the host code says.
static bool has_shapes(const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++)
        if (configuration->arguments[i].kind == ARGUMENT_POINTER &&
            !configuration->arguments[i].extent)
            return false;
    return true;
}

/// The tensors whose gradients were measured as wrong; all inputs where none was.
static ParameterSet wrong_inputs(const CheckResult *result, int count) {
    ParameterSet wrong = {0}, all = {0};
    for (int k = 0; k < count; k++) {
        const InputResult *input = &result->inputs[k];
        set_add(&all, input->parameter);
        if (input->directions && input->error >= DERIVATIVE_TOLERANCE)
            set_add(&wrong, input->parameter);
    }
    return set_is_empty(wrong) ? all : wrong;
}

/// The shapes that a launcher's tensors are given may contradict each other, so that rows overlap, and so may strides that
/// are made up. What goes wrong is tried with rows far apart; where the gradient is right then, the strides were to blame.
static bool check_spread(Gradcheck *check, const PlanConfiguration *configuration,
                         const CheckResult *result, int inputs) {
    bool is_launch = configuration->origin == SPEC_LAUNCHER;
    bool is_settled = result->cause == CHECK_CAUSE_LAUNCH || result->overwrites;
    if (check->budget.steps > check->most_steps || is_settled) return false;
    bool is_doubt = configuration->is_guess && result->status == CHECK_UNPROVED &&
                    result->is_contradicted && !is_launch;
    if (!is_launch && !is_doubt && (!configuration->is_guess || result->status != CHECK_FAILED))
        return false;
    bool finds = result->status == CHECK_UNPROVED && result->findings.count > 0;
    bool is_open = result->status == CHECK_FAILED || result->status == CHECK_INVALID;
    if (!is_open && !finds && !is_doubt) return false;
    if (result->status == CHECK_INVALID && check->spread++ >= ENOUGH_SPREAD) return false;
    SpecRequest request = spec_request(check);
    PlanConfiguration other = configuration_copy(check->arena, configuration, 0);
    Spread spread = spec_spread(check->arena, &request, wrong_inputs(result, inputs), &other);
    if (spread == SPREAD_NONE) return false;
    Problem problem;
    Error error = NULL;
    check->is_spreading = true;
    CheckResult again = check_ready(check, &other, &problem, &error);
    check->is_spreading = false;
    bool proved = !error && again.status == CHECK_PROVED;
    if (again.status == CHECK_FAILED || (!proved && result->status != CHECK_FAILED)) return false;
    bool is_certain = is_launch && (has_shapes(configuration) || spread == SPREAD_CHOICES);
    if (!proved || (result->status != CHECK_INVALID && is_certain)) {
        again = *result;
        // What was measured as wrong in a launch of the file is wrong, whatever explains it.
        bool fails = result->status == CHECK_FAILED;
        again.status = proved && fails ? CHECK_FAILED : CHECK_UNPROVED;
        again.is_contradicted = fails;
        again.reason =
            arena_printf(check->arena,
                         proved ? "%s; it is right where different rows do not overlap"
                                : "%s; whether that is due to rows that overlap is not known",
                         result->reason);
    }
    take_result(check, &other, &problem, &again);
    return true;
}

static bool collides(const CheckResult *result) {
    if (result->status != CHECK_INVALID) return false;
    for (LIST_EACH(int, i, result->findings))
        if (result->findings.items[i].kind == FINDING_RACE ||
            result->findings.items[i].kind == FINDING_POISON)
            return true;
    return result->cause == CHECK_CAUSE_PROGRAMS_MEET;
}

/// A made-up grid may have more programs along an axis than the kernel is made for: fewer, where some collide or
/// lie beyond what they read.
static void check_narrow(Gradcheck *check, PlanConfiguration *configuration, Problem *problem,
                         CheckResult *result) {
    for (int axis = 2; axis >= 0; axis--) {
        for (int64_t programs = 2; programs > 0; programs--) {
            if (configuration->grid[axis] <= programs || !collides(result)) continue;
            PlanConfiguration other = configuration_copy(check->arena, configuration, 0);
            Problem
                narrow;  // read anew: the backward's arguments and what it is said to store follow the grid
            Error error = NULL;
            other.grid[axis] = programs;
            CheckResult again = check_ready(check, &other, &narrow, &error);
            if (error || again.status == CHECK_INVALID) continue;
            if (!result->is_kernels_own)
                covered_lose(check->covered, configuration, result->reason, result);
            *problem = narrow;
            problem->configuration = configuration;
            *configuration = other;
            *result = again;
        }
    }
}

/// Whether only gradients of tensors are wrong of whose rank the launcher says nothing, so that their rows may overlap.
static bool is_of_guessed_ranks(const PlanConfiguration *configuration, const CheckResult *result,
                                int count) {
    bool is_any = false;
    for (int i = 0; i < count; i++) {
        const InputResult *input = &result->inputs[i];
        if (input->directions && input->error < DERIVATIVE_TOLERANCE) continue;
        if (!configuration->arguments[input->parameter].has_guessed_rank) return false;
        is_any = true;
    }
    return is_any;
}

static void check_one(Gradcheck *check, PlanConfiguration *configuration) {
    Problem problem;
    Error error = NULL;
    bool grid_is_made_up = configuration->is_guess && !configuration->grid_is_known;
    CheckResult result = check_ready(check, configuration, &problem, &error);
    if (!error && grid_is_made_up && check->checked == 0)
        check_narrow(check, configuration, &problem, &result);
    if (error) {
        lose(check, configuration, error, &result);
        return;
    }
    SpecRequest request = spec_request(check);
    const char *zero = result.status == CHECK_FAILED
                           ? spec_zero_stride(check->arena, &request, configuration)
                           : NULL;
    if (zero) {
        result.status = CHECK_UNPROVED;
        result.reason = arena_printf(
            check->arena,
            "`%s` is 0, a stride of an expanded tensor, whose gradient has no memory of its own: "
            "the written module refuses such a tensor; pass `.contiguous()`",
            zero);
    }
    if (check_spread(check, configuration, &result, problem.input_count)) return;
    bool may_overlap =
        is_of_guessed_ranks(configuration, &result, problem.input_count) ||
        (configuration->origin == SPEC_KERNEL && result.cause == CHECK_CAUSE_READERS_MEET);
    bool is_doubtful = (may_overlap || result.is_ragged) && !result.overwrites;
    if (result.is_ragged && result.status == CHECK_FAILED) {
        if (is_doubtful && configuration->is_fallback) {
            lose(check, configuration, result.reason, &result);
            return;
        }
        if (result.overwrites) result.status = CHECK_UNPROVED;
        result.is_contradicted = true;
    }
    if (is_doubtful && !configuration->is_fallback && result.status == CHECK_FAILED) {
        SharedElements shared = {configuration, problem, result};
        LIST_PUSH(check->arena, &check->shared, shared);
        return;
    }
    // A softmax of nothing: that is no verdict on the sizes that a kernel is made for, but it is said.
    if (configuration->is_empty && result.cause == CHECK_CAUSE_NOT_FINITE && check->proved > 0) {
        check->is_infinite_empty = true;
        discard(check, configuration, result.reason);
        return;
    }
    take_result(check, configuration, &problem, &result);
}

/// A bug of ours in one configuration is no reason to lose the others.
static void check_guarded(Gradcheck *check, PlanConfiguration *configuration) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        check_one(check, configuration);
        bug_guard_end(&guard);
    } else {
        discard(check, configuration,
                arena_printf(check->arena, "internal error: %s", guard.message));
    }
}

// --- the request --------------------------------------------------------------------------------------------------------

/// What the derivation took for one parameter; NULL: nothing.
static const int *joined_parameters(const Gradcheck *check, const Json *names) {
    int count = check->forward->parameter_count;
    if (!names || names->kind != JSON_OBJECT) return NULL;
    int *joined = ARENA_ARRAY(check->arena, int, count + 1);
    for (int p = 0; p < count; p++) {
        const char *name = str_dup(check->arena, check->forward->parameters[p].name);
        const char *instead = json_get_string(names, name, "");
        joined[p] = -1;
        for (int q = 0; q < count; q++)
            if (q != p && str_is(check->forward->parameters[q].name, instead)) joined[p] = q;
    }
    return joined;
}

/// The clock has ended the run: that is no verdict, whatever was found so far.
static const char *incomplete_words(const Gradcheck *check) {
    return arena_printf(
        check->arena,
        "incomplete: out of time after %g s, with %d configuration%s checked and nothing "
        "wrong so far; allow more time (`--time-limit`, `tad.gradients.timeLimit`)",
        check->most_seconds, check->checked, check->checked == 1 ? "" : "s");
}

/// Why not everything that is wanted was had.
static const char *because(const Gradcheck *check) {
    if (check->budget.end == BUDGET_OUT_OF_TIME) return "out of time";
    if (check->is_told) return "the configurations are those that you wrote";
    if (check->budget.steps > ENOUGH_STEPS) return "enough steps were spent";
    if (check->is_infinite_empty)
        return "in none of the configurations that run, or the gradient is not finite there";
    return "in none of the configurations that run";
}

/// A bug of ours there is no reason to lose the proof.
static Json *own_types_json(Gradcheck *check) {
    ProblemReader reader = problem_reader(check);
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return json_null(check->arena);
    Json *json = own_types_report(&reader, &check->runs);
    bug_guard_end(&guard);
    return json;
}

/// A formula by hand may have other pieces than the proof came by.
static void check_given(Gradcheck *check) {
    bool rests = json_get_bool(json_get(check->params, "backward"), "given", false);
    if (!rests || check->status != CHECK_PROVED) return;
    ProblemReader reader = problem_reader(check);
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return;
    const char *doubt = wide_doubt(&reader, &check->runs);
    bool is_wrong = doubt != NULL;
    if (!doubt) {
        Budget budget = {.deadline = check->budget.deadline,
                         .cancelled = check->budget.cancelled,
                         .limit = MOST_RULE_STEPS};
        ProvedConfigurations proved = {0};
        for (LIST_EACH(int, i, check->runs))
            LIST_PUSH(check->arena, &proved, &check->runs.items[i].configuration);
        RulesTried tried = rules_try(check->arena, check->forward, &proved, check->seed, &budget);
        if (budget.end == BUDGET_OUT_OF_TIME) check->budget.end = budget.end;
        doubt = tried.doubt;
        is_wrong = tried.is_wrong;
        if (tried.words) covered_note_rules(check->covered, tried.words);
    }
    bug_guard_end(&guard);
    if (!doubt) return;
    check->status = CHECK_UNPROVED;
    check->reason = doubt;
    check->is_contradicted = is_wrong;
}

static Json *result_json(Gradcheck *check) {
    Arena *arena = check->arena;
    bool is_wrong = check->status == CHECK_FAILED && check->checked;
    bool is_incomplete = check->budget.end == BUDGET_OUT_OF_TIME && !is_wrong;
    bool proved = check->status == CHECK_PROVED && check->proved > 0 && !is_incomplete;
    const char *lost = proved && !check->is_told ? covered_lost_words(check->covered) : NULL;
    if (lost) proved = false;
    const MemoryFinding *crossing = lost ? covered_lost_crossing(check->covered) : NULL;
    if (crossing) json_push(check->findings, finding_json(arena, crossing));
    Json *result = json_object(arena), *inputs = json_array(arena);
    json_set_string(result, "status", proved ? "proved" : is_wrong ? "failed" : "unproved");
    const char *reason = is_incomplete ? incomplete_words(check) : lost ? lost : check->reason;
    if (!proved && !reason)
        reason = check->invalid_reason
                     ? arena_printf(arena, "no configuration runs: %s", check->invalid_reason)
                     : "there was nothing to run";
    json_set_string(result, "reason", proved ? "" : reason);
    for (int i = 0; i < check->input_count; i++) {
        const InputSummary *summary = &check->inputs[i];
        Json *json = json_object(arena);
        json_set_string(json, "name", summary->name);
        json_set(json, "error",
                 summary->directions ? json_number(arena, summary->error) : json_null(arena));
        json_set(json, "worst", summary->worst ? summary->worst : json_null(arena));
        json_set_number(json, "directions", summary->directions);
        json_push(inputs, json);
    }
    json_set(result, "inputs", inputs);
    json_set(result, "worst_error",
             check->checked ? json_number(arena, check->worst_error) : json_null(arena));
    json_set(result, "dot_test",
             check->checked ? json_number(arena, check->dot_error) : json_null(arena));
    if (check->together_directions) {
        Json *together = json_object(arena);
        json_set_number(together, "error", check->together);
        json_set_number(together, "directions", check->together_directions);
        json_set(result, "together", together);
    }
    json_set_bool(result, "kink", check->has_kink);
    json_set_bool(result, "incomplete", is_incomplete);
    json_set_string(result, "covered", covered_words(check->covered, because(check)));
    json_set(result, "coverage", covered_json(check->covered));
    json_set(result, "own_types", proved ? own_types_json(check) : json_null(arena));
    json_set_number(result, "redundant", check->redundant);
    json_set_number(result, "steps", (double)check->budget.steps);
    json_set_bool(result, "contradicted",
                  check->is_contradicted && !proved && check->status != CHECK_FAILED);
    json_set(result, "configurations", check->configurations);
    json_set(result, "discarded", check->discarded);
    json_set(result, "findings", check->findings);
    if (device_is_wanted()) json_set(result, "cuda", cuda_json(arena, &check->cuda));
    json_set_number(result, "seconds", clock_seconds() - check->started);
    return result;
}

static Error prepare(Gradcheck *check) {
    Arena *arena = check->arena;
    const Json *params = check->params,
               *backward = json_get(json_get(params, "backward"), "source");
    Error error = NULL;
    if (!backward || backward->kind != JSON_STRING) return "gradcheck needs `backward.source`";
    check->launches = json_get(json_get(params, "backward"), "launches");
    if (!check->launches || check->launches->kind != JSON_ARRAY || check->launches->count == 0)
        return "gradcheck needs `backward.launches`";
    check->forward = sources_kernel(check->sources, params, &error);
    if (!check->forward) return error;
    check->backward =
        sources_module(check->sources, json_get_string(params, "path", ""), backward->string);
    const Json *before = json_get(params, "before");
    if (before) {
        Json *earlier = json_copy(arena, params);
        json_set(earlier, "source", json_copy(arena, before));
        json_set_number(earlier, "line", 0);
        check->before = sources_kernel(check->sources, earlier, &error);
        if (!check->before) return error;
    }
    LowerOptions options = {0};
    Diagnostics diagnostics = {.arena = arena};
    check->symbolic = lower_kernel(arena, check->forward, &options, &diagnostics);
    const Json *inputs = json_get(params, "inputs");
    check->input_count = inputs && inputs->kind == JSON_ARRAY ? inputs->count : 0;
    check->inputs = ARENA_ARRAY(arena, InputSummary, check->input_count + 1);
    for (int i = 0; i < check->input_count; i++)
        check->inputs[i].name =
            inputs->items[i]->kind == JSON_STRING ? inputs->items[i]->string.data : "";
    if (!check->symbolic) return "the kernel does not lower";
    if (check->symbolic->parameter_count > KERNEL_MOST_PARAMETERS)
        return arena_printf(arena, "the kernel has more than %d parameters",
                            KERNEL_MOST_PARAMETERS);
    check->joined = joined_parameters(check, json_get(json_get(params, "backward"), "joined"));
    function_join_parameters(check->symbolic, check->joined);
    check->facts = facts_of(arena, check->symbolic);
    check->covered = covered_new(arena, check->symbolic, check->facts);
    if (check->symbolic->parameter_count != check->forward->parameter_count)
        return "the kernel's parameters are not understood";
    return NULL;
}

/// Time is up, the request is cancelled, a gradient is wrong, or enough is proved.
static bool is_finished(Gradcheck *check) {
    bool is_enough = check->proved >= ENOUGH_PROVED;
    int64_t enough = covered_is_narrow(check->covered) ? ENOUGH_WIDENING_STEPS : ENOUGH_STEPS;
    return check->is_settled || budget_is_over(&check->budget) ||
           check->budget.steps > check->most_steps ||
           (check->status == CHECK_FAILED && check->checked) ||
           (is_enough && check->budget.steps > enough) ||
           (is_enough && covered_is_full(check->covered));
}

/// What the user says is run whatever it shows; what is only for further cases, where it has some and is not too dear.
static bool is_needed(void *context, const PlanConfiguration *configuration,
                      const Coverage *coverage, int64_t steps) {
    const Gradcheck *check = context;
    int64_t cost = steps * RUNS_OF_A_CHECK;
    bool is_dear = cost > ENOUGH_STEPS / 4 || check->budget.steps + cost > ENOUGH_STEPS;
    bool widens = covered_widens(check->covered, configuration);
    if (widens && check->budget.steps + cost <= ENOUGH_WIDENING_STEPS) return true;
    if (check->is_widening) return false;
    if (check->is_spreading || !configuration->is_guess || configuration->is_fallback) return true;
    if (configuration->is_extra && check->proved && is_dear) return false;
    if (!configuration->is_extra && check->proved < ENOUGH_PROVED) return true;
    return check->proved == 0 || covered_adds(check->covered, configuration, coverage);
}

/// In order; but where a launcher's first configurations do not run, its others, which will not either, come last.
static void check_candidates(Gradcheck *check, Configurations *candidates,
                             ProgressCallback *progress, void *context) {
    bool *put_off = ARENA_ARRAY(check->arena, bool, candidates->count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < candidates->count && !is_finished(check); i++) {
            PlanConfiguration *candidate = &candidates->items[i];
            if (pass == 1 && (!put_off[i] || check->checked > 0)) continue;
            bool is_wider = covered_widens(check->covered, candidate);
            if (candidate->is_fallback && check->checked > 0 && !is_wider) continue;
            // what is left is only for the axes along which single programs are proved
            if (check->proved >= ENOUGH_PROVED && check->budget.steps > ENOUGH_STEPS && !is_wider)
                continue;
            // Such kernels are made for sizes that are multiples of their blocks.
            if (check->ragged >= ENOUGH_RAGGED && check->checked == 0 && !candidate->is_fallback)
                continue;
            put_off[i] = pass == 0 && check->checked == 0 &&
                         check->discarded->count >= ENOUGH_DISCARDED &&
                         candidate->origin == SPEC_LAUNCHER;
            if (put_off[i]) continue;
            candidate->fills_zero = check->fills_zero;
            check->is_widening = candidate->is_fallback && check->checked > 0;
            if (progress)
                progress(context, json_get_string(check->params, "kernel", ""), i,
                         candidates->count, "checking");
            check_guarded(check, candidate);
            check->is_widening = false;
        }
    }
}

/// Whether constexprs that are true or false are so in both.
static bool has_same_flags(const PlanConfiguration *a, const PlanConfiguration *b) {
    for (int i = 0; i < a->argument_count; i++) {
        const PlanArgument *first = &a->arguments[i], *second = &b->arguments[i];
        if (first->kind != ARGUMENT_CONSTANT || first->constant->kind != CONSTANT_BOOL) continue;
        if (second->kind != ARGUMENT_CONSTANT || second->constant->kind != CONSTANT_BOOL ||
            first->constant->integer != second->constant->integer)
            return false;
    }
    return true;
}

/// Kernels that are told that no tile is cut (`EVEN_N=True`) reach into the next row where one is. What fails in such a
/// configuration is tried with sizes that are multiples of the blocks: a gradient that lacks an owner fails there, too.
static void settle_shared(Gradcheck *check, Configurations *candidates) {
    for (LIST_EACH(int, i, check->shared)) {
        SharedElements *shared = &check->shared.items[i];
        int checked = check->checked;
        for (int k = 0; k < candidates->count && check->checked == checked; k++) {
            PlanConfiguration *even = &candidates->items[k];
            bool fits = even->is_fallback && has_same_flags(shared->configuration, even);
            if (fits && check->budget.steps < check->most_steps) check_guarded(check, even);
        }
        const char *reason = arena_printf(
            check->arena, "%s; its programs read the same elements, whose sizes are made up",
            shared->result.reason);
        if (check->checked > checked) {
            discard(check, shared->configuration, reason);
            continue;
        }
        shared->result.status = CHECK_UNPROVED;
        shared->result.is_contradicted = true;
        shared->result.reason = reason;
        take_result(check, shared->configuration, &shared->problem, &shared->result);
    }
}

/// Where nothing runs, or only single programs do, because masked-off loads without `other` decide what is stored, they read 0, as
/// Triton's own backends and interpreter have it. That it was assumed is part of the result.
static void check_filled(Gradcheck *check, Configurations *candidates, ProgressCallback *progress,
                         void *context) {
    bool is_open = !check->checked || covered_lost_words(check->covered);
    if (!is_open || !check->undefined || check->is_told || is_finished(check)) return;
    check->fills_zero = true;
    check->ragged = 0;
    check->discarded = json_array(check->arena);
    check_candidates(check, candidates, progress, context);
}

Json *request_gradcheck(Arena *arena, const Json *params, const atomic_bool *cancelled,
                        ProgressCallback *progress, void *context, Error *error) {
    Gradcheck check = {
        .arena = arena,
        .params = params,
        .started = clock_seconds(),
        .cuda = {.arena = arena, .before = device_times(), .interpreting = interp_seconds()}};
    check.seed = hash_mix((uint64_t)json_get_number(params, "seed", 0) + 1);
    check.most_seconds = json_get_number(params, "max_seconds", DEFAULT_SECONDS);
    check.most_steps = (int64_t)json_get_number(params, "max_steps", (double)MOST_STEPS);
    check.budget = (Budget){.deadline = check.started + check.most_seconds, .cancelled = cancelled};
    if (device_is_wanted()) device_limit(check.budget.deadline);
    check.need = (Need){is_needed, &check};
    check.sources = sources_borrow(params);
    check.configurations = json_array(arena);
    check.discarded = json_array(arena);
    check.findings = json_array(arena);
    *error = prepare(&check);
    Json *result = NULL;
    if (!*error) {
        SpecRequest request = spec_request(&check);
        Error spec_error = NULL;
        Configurations candidates = spec_configurations(arena, &request, &spec_error);
        check.invalid_reason = spec_error;
        check.is_told = candidates.count && candidates.items[0].origin <= SPEC_PYPROJECT;
        check_candidates(&check, &candidates, progress, context);
        check_filled(&check, &candidates, progress, context);
        bool is_open = check.status != CHECK_FAILED || !check.checked;
        if (is_open && !check.is_settled) settle_shared(&check, &candidates);
        check_given(&check);
        if (cancelled && atomic_load(cancelled))
            *error = "cancelled";
        else
            result = result_json(&check);
    }
    sources_return(check.sources);
    return result;
}
