// A configuration in; its result, taken, or that of one like it out.
#include "gpu-runner/verdict/configuration_check.h"

#include <string.h>

#include "gpu-runner/configure/relations.h"
#include "gpu-runner/configure/spec_guess.h"
#include "gpu-runner/execute/derivative.h"
#include "gpu-runner/execute/grid.h"
#include "gpu-runner/execute/large.h"
#include "gpu-runner/execute/stored.h"
#include "gpu-runner/prove/certain.h"
#include "gpu-runner/verdict/verdict_take.h"
#include "gpu-runner/verdict/wide.h"

static const double SHARE_OF_STEPS = 0.6;
enum { COST_PARTS = 400 };   // of the steps that are left: one finds out what a configuration costs
enum { ENOUGH_SPREAD = 2 };  // configurations that do not run and are tried with rows far apart

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
        (configuration->is_launch ||
         !places_are_made_up(arena, problem, &result.findings, FINDING_OUT_OF_BOUNDS))) {
        result.status = configuration->is_launch ? CHECK_FAILED : CHECK_UNPROVED;
        result.reason =
            arena_printf(arena, "%s, where neither it nor its gradient has memory", result.reason);
        keep_certain(arena, problem, &result);
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && is_not_finite(&result); i++) {
        PlanConfiguration other = configuration_copy(arena, configuration, 0);
        configuration_set_contents(&other, ranges[i][0], ranges[i][1]);
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
    ProblemReader reader = gradcheck_problem_reader(check);
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
    // The backward's ranges are as long as the forward's tiles: such tiles Triton does not have. Nor are loops unrolled that often.
    DiagnosticId refusal = check->sources->refusal;
    if (refusal == DIAGNOSTIC_ARANGE_NOT_POWER_OF_TWO || refusal == DIAGNOSTIC_LIMIT_REACHED) {
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
    SpecRequest request = gradcheck_spec_request(check);
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
    bool is_certain = is_launch && !configuration->fits_object &&
                      (has_shapes(configuration) || spread == SPREAD_CHOICES);
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
    verdict_take(check, &other, &problem, &again);
    return true;
}

/// Whether the written Function raises an error in place of each gradient that was measured as wrong: rows that it says are stored lie on
/// each other. A tuner's launch is not looked at so.
static bool is_refused_at_call(const Gradcheck *check, const Problem *problem,
                               const CheckResult *result) {
    const FunctionDefinition *kernel = check->symbolic->definition;
    bool any = false;
    if (result->status != CHECK_FAILED || kernel->is_autotuned || kernel->has_heuristics)
        return false;
    for (int k = 0; k < problem->input_count; k++) {
        const InputResult *input = &result->inputs[k];
        if (!input->directions || input->error < DERIVATIVE_TOLERANCE) continue;
        if (!stored_is_refused(problem, input->parameter)) return false;
        any = true;
    }
    return any;
}

/// Programs that are too many collide, or have nothing to read: what they store is not finite then.
static bool has_too_many_programs(const CheckResult *result) {
    if (result->status != CHECK_INVALID) return false;
    if (result->cause == CHECK_CAUSE_NOT_FINITE) return true;
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
            if (configuration->grid[axis] <= programs || !has_too_many_programs(result)) continue;
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

/// A number of a second block that is made up may be none of a kernel's blocks: then it reads nothing but what it masks, and writes
/// NaN, or reaches beyond. With the first block alone it is tried again.
static void check_first_blocks(Gradcheck *check, PlanConfiguration *configuration, Problem *problem,
                               CheckResult *result) {
    bool is_beyond = result->status == CHECK_INVALID || result->cause == CHECK_CAUSE_NOT_FINITE;
    PlanConfiguration other = configuration_copy(check->arena, configuration, 0);
    bool has_marks = false;
    for (int i = 0; i < other.argument_count; i++) {
        Content *content = &other.arguments[i].content;
        bool is_made_up = other.arguments[i].kind == ARGUMENT_POINTER &&
                          content->kind == CONTENT_SMALL && content->has_mark &&
                          (double)content->mark == content->high;
        if (is_made_up) content->has_mark = false;
        has_marks = has_marks || is_made_up;
    }
    if (!is_beyond || !has_marks || !configuration->is_guess || configuration->is_extra) return;
    Problem first;
    Error error = NULL;
    CheckResult again = check_ready(check, &other, &first, &error);
    if (error || again.status == CHECK_INVALID || again.cause == CHECK_CAUSE_NOT_FINITE) return;
    *problem = first;
    problem->configuration = configuration;
    *configuration = other;
    *result = again;
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
        verdict_lose(check, configuration, error, &result);
        return;
    }
    check_first_blocks(check, configuration, &problem, &result);
    SpecRequest request = gradcheck_spec_request(check);
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
    if (configuration->origin == SPEC_LAUNCHER && is_refused_at_call(check, &problem, &result)) {
        const char *reason = arena_printf(check->arena,
                                          "%s, where rows lie on each other: the written Function "
                                          "raises an error",
                                          result.reason);
        verdict_lose(check, configuration, reason, &result);
        return;
    }
    if (check_spread(check, configuration, &result, problem.input_count)) return;
    bool may_overlap =
        is_of_guessed_ranks(configuration, &result, problem.input_count) ||
        (configuration->origin == SPEC_KERNEL && result.cause == CHECK_CAUSE_READERS_MEET);
    bool is_doubtful = (may_overlap || result.is_ragged) && !result.overwrites;
    if (result.is_ragged && result.status == CHECK_FAILED) {
        if (is_doubtful && configuration->is_fallback) {
            verdict_lose(check, configuration, result.reason, &result);
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
        verdict_discard(check, configuration, result.reason);
        return;
    }
    verdict_take(check, configuration, &problem, &result);
}

void configuration_check(Gradcheck *check, PlanConfiguration *configuration) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        check_one(check, configuration);
        bug_guard_end(&guard);
    } else {
        verdict_discard(check, configuration,
                        arena_printf(check->arena, "internal error: %s", guard.message));
    }
}

static int64_t corners_cost(Gradcheck *check, PlanConfiguration *configuration) {
    Budget *budget = &check->budget;
    ProblemReader reader = gradcheck_problem_reader(check);
    Problem problem;
    Error launch_error = NULL;
    const int64_t most = (check->most_steps - budget->steps) / COST_PARTS;
    budget->limit = budget->steps + most;
    if (problem_read(&reader, configuration, &problem, &launch_error)) return 0;
    const int64_t *grid = configuration->grid, before = budget->steps;
    budget->limit = before + most;
    Arena *scratch = arena_new();
    Executor executor = executor_new(scratch, &problem);
    Execution run = grid_run_corners(&executor);
    bool is_known = !run.error || executor.interp->is_over_budget;
    execution_free(&run);
    arena_free(scratch);
    // Where not even the corners end, they cost so much at least.
    double each = (double)(budget->steps - before) / GRID_CORNERS;
    double cost = each * (double)grid[0] * (double)grid[1] * (double)grid[2];
    return is_known ? (int64_t)cost : 0;
}

int64_t configuration_cost(Gradcheck *check, const PlanConfiguration *configuration) {
    PlanConfiguration other = configuration_copy(check->arena, configuration, 0);
    int64_t cost = 0;
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return cost;
    cost = corners_cost(check, &other);
    bug_guard_end(&guard);
    return cost;
}
