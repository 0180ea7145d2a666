// The request `gradcheck`: every configuration of a kernel is run and compared; what was found is put into one result.
#include "gpu-runner/verdict/gradcheck.h"

#include <math.h>
#include <string.h>

#include "analysis/launches/launch_joined.h"
#include "gpu-runner/rules/tried.h"
#include "gpu-runner/verdict/configuration_check.h"
#include "gpu-runner/verdict/verdict_json.h"
#include "gpu-runner/verdict/verdict_take.h"
#include "gpu-runner/verdict/wide.h"

static const double DEFAULT_SECONDS = 30;
/// Of all configurations of a request; what is proved by then is proved, the rest is named.
static const int64_t MOST_STEPS = 1000000000;
enum { ENOUGH_DISCARDED = 2, ENOUGH_RAGGED = 3 };
static const int64_t MOST_RULE_STEPS = 60000000;  // of all rules by hand, tried alone
enum { RUNS_OF_A_CHECK = 25 };     // of the forward, what the backward takes included, about
enum { RUNS_BESIDE_INPUTS = 12 };  // of these, with one input

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

/// A formula by hand may have other pieces than the proof came by.
static void check_given(Gradcheck *check) {
    bool rests = json_get_bool(json_get(check->params, "backward"), "given", false);
    if (!rests || check->status != CHECK_PROVED) return;
    ProblemReader reader = gradcheck_problem_reader(check);
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

static bool has_run(const Gradcheck *check, const void *site) {
    for (LIST_EACH(int, i, check->sites))
        if (check->sites.items[i].site == site) return true;
    return false;
}

/// Before `next`, or before whatever is left where that is NULL: time is up, the request is cancelled, a gradient is wrong, or enough is proved.
static bool is_finished(Gradcheck *check, const PlanConfiguration *next) {
    // a launch of which nothing ran may be the one whose programs meet
    bool is_new = next && next->is_passed && !has_run(check, next->site);
    // where programs that no size counts reach a part of a tensor, smaller ones may show that they meet
    bool is_enough = check->proved >= ENOUGH_PROVED && (check->is_reached || check->met);
    int64_t enough = covered_is_narrow(check->covered) ? ENOUGH_WIDENING_STEPS : ENOUGH_STEPS;
    return check->is_settled || budget_is_over(&check->budget) ||
           check->budget.steps > check->most_steps ||
           (check->status == CHECK_FAILED && check->checked) ||
           (is_enough && check->budget.steps > enough) ||
           (is_enough && !is_new && covered_is_full(check->covered));
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
    bool counts = !configuration->is_extra || configuration->is_divisible;
    if (counts && check->proved < ENOUGH_PROVED) return true;
    return check->proved == 0 || covered_adds(check->covered, configuration, coverage);
}

/// Leaves out of those from `first` on what would take more steps than there are, as one did.
static void leave_dear(Gradcheck *check, Configurations *candidates, int first) {
    const int runs = check->input_count + RUNS_BESIDE_INPUTS, count = candidates->count;
    candidates->count = first;
    for (int i = first; i < count; i++) {
        const PlanConfiguration one = candidates->items[i];
        const int64_t rest = check->most_steps - check->budget.steps;
        if (configuration_cost(check, &one) <= rest / runs)
            candidates->items[candidates->count++] = one;
        else
            verdict_lose(check, &one, TOO_MANY_STEPS, &(CheckResult){.status = CHECK_UNPROVED});
    }
}

/// In order; but where a launcher's first configurations do not run, its others, which will not either, come last.
static void check_candidates(Gradcheck *check, Configurations *candidates,
                             ProgressCallback *progress, void *context) {
    bool *put_off = ARENA_ARRAY(check->arena, bool, candidates->count + 1);
    bool are_dear_left = false;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < candidates->count; i++) {
            PlanConfiguration *candidate = &candidates->items[i];
            if (is_finished(check, candidate)) break;
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
            configuration_check(check, candidate);
            check->is_widening = false;
            bool is_short = check->budget.end == BUDGET_OUT_OF_STEPS && !check->checked;
            if (is_short && !are_dear_left) leave_dear(check, candidates, i + 1);
            are_dear_left = are_dear_left || is_short;
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
            if (fits && check->budget.steps < check->most_steps) configuration_check(check, even);
        }
        const char *reason = arena_printf(
            check->arena, "%s; its programs read the same elements, whose sizes are made up",
            shared->result.reason);
        if (check->checked > checked) {
            verdict_discard(check, shared->configuration, reason);
            continue;
        }
        shared->result.status = CHECK_UNPROVED;
        shared->result.is_contradicted = true;
        shared->result.reason = reason;
        verdict_take(check, shared->configuration, &shared->problem, &shared->result);
    }
}

/// Where nothing runs, or only single programs do, because masked-off loads without `other` decide what is stored, they read 0, as
/// Triton's own backends and interpreter have it. That it was assumed is part of the result.
static void check_filled(Gradcheck *check, Configurations *candidates, ProgressCallback *progress,
                         void *context) {
    bool is_open = !check->checked || covered_lost_words(check->covered);
    if (!is_open || !check->undefined || check->is_told || is_finished(check, NULL)) return;
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
        SpecRequest request = gradcheck_spec_request(&check);
        Error spec_error = NULL;
        Configurations candidates = spec_configurations(arena, &request, &spec_error);
        for (LIST_EACH(int, i, candidates))
            covered_want_written(check.covered, &candidates.items[i]);
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
            result = verdict_json(&check);
    }
    sources_return(check.sources);
    return result;
}
