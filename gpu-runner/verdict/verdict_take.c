// The result of one configuration in; status, errors, findings and coverage of the run out.
#include "gpu-runner/verdict/verdict_take.h"

#include <string.h>

#include "gpu-runner/prove/certain.h"

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

void verdict_discard(Gradcheck *check, const PlanConfiguration *configuration, const char *reason) {
    Json *json = configuration_json(check, configuration);
    json_set_string(json, "reason", reason);
    json_push(check->discarded, json);
    if (!check->invalid_reason || !configuration->is_guess) check->invalid_reason = reason;
}

void verdict_lose(Gradcheck *check, const PlanConfiguration *configuration, const char *reason,
                  const CheckResult *result) {
    verdict_discard(check, configuration, reason);
    // what is tried besides, where single programs are proved, takes nothing away
    if (!check->is_widening) covered_lose(check->covered, configuration, reason, result);
}

/// Whether programs met where numbers made up in memory led them, or stored to one place by strides that nobody says to be those of the
/// launch: rows may overlap for no other reason. What the forward does is in front of what its backward does there.
static bool is_led_together(const Gradcheck *check, const Problem *problem,
                            const CheckResult *result) {
    const MemoryFinding *race = NULL;
    for (LIST_EACH(int, i, result->findings))
        if (!race && result->findings.items[i].kind == FINDING_RACE)
            race = &result->findings.items[i];
    bool stores_twice = race && race->is_certain;
    if (stores_twice && !places_are_launched(check->arena, problem, race->buffer, false))
        return true;
    return places_are_made_up(check->arena, problem, &result->findings, FINDING_RACE);
}

static SiteRecord *record_of(Gradcheck *check, const PlanConfiguration *configuration) {
    for (LIST_EACH(int, i, check->sites))
        if (check->sites.items[i].site == configuration->site) return &check->sites.items[i];
    LIST_PUSH(check->arena, &check->sites, (SiteRecord){.site = configuration->site});
    return &check->sites.items[check->sites.count - 1];
}

/// A launch whose several programs did not meet where they store to all of its outputs, with whatever sizes, is a right one.
static void note_site(Gradcheck *check, const PlanConfiguration *configuration,
                      const CheckResult *result) {
    SiteRecord *record = record_of(check, configuration);
    bool is_right = result->status == CHECK_PROVED || result->status == CHECK_REDUNDANT;
    if (is_right && !result->is_alone && !result->is_in_part) record->is_right = true;
}

/// Notes programs that met, so that the forward has no meaning with these sizes.
static void note_met(Gradcheck *check, const PlanConfiguration *configuration,
                     const Problem *problem, const CheckResult *result) {
    if (!check_met(result)) return;
    if (is_led_together(check, problem, result)) return;
    CheckResult *kept = ARENA_NEW(check->arena, CheckResult);
    *kept = *result;
    if (configuration->origin != SPEC_LAUNCHER) return;
    if (!check->met) check->met = kept;
    SiteRecord *record = record_of(check, configuration);
    if (configuration->is_passed && !record->met) record->met = kept;
}

const char *verdict_lost_words(const Gradcheck *check, const MemoryFinding **crossing) {
    const char *lost = covered_lost_words(check->covered);
    *crossing = lost ? covered_lost_crossing(check->covered) : NULL;
    if (lost) return lost;
    const CheckResult *met = NULL;
    for (LIST_EACH(int, i, check->sites))
        if (!met && !check->sites.items[i].is_right) met = check->sites.items[i].met;
    bool is_launch = met != NULL;
    if (!met && check->proved && !check->is_reached) met = check->met;
    if (!met) return NULL;
    *crossing = check_crossing(check->arena, met);
    return arena_printf(check->arena,
                        is_launch ? "race in a launch of this file: %s"
                                  : "proved where the programs of the launch reach a part of what "
                                    "they store to, not where they reach all of it: %s",
                        met->reason);
}

/// Enough configurations are proved, with several programs along each axis: others may show further cases, where they are cheap.
static bool is_enough(const Gradcheck *check) {
    return check->proved >= ENOUGH_PROVED && !covered_is_narrow(check->covered);
}

/// A loop that has run so often is named: its step may be 0, or what it waits for never come.
static const char *endless_words(const Gradcheck *check, const Problem *problem,
                                 const CheckResult *result) {
    enum { MANY_ITERATIONS = 1000 };
    if (!result->loop_line || result->loop_iterations < MANY_ITERATIONS) return TOO_MANY_STEPS;
    return arena_printf(
        check->arena, "%s, line %d: " TOO_MANY_STEPS "; this loop has run %lld times, and goes on",
        problem->forward->name, result->loop_line, (long long)result->loop_iterations);
}

void verdict_take(Gradcheck *check, const PlanConfiguration *configuration, const Problem *problem,
                  const CheckResult *result) {
    if (budget_is_over(&check->budget)) return;
    if (configuration->origin == SPEC_LAUNCHER) note_site(check, configuration, result);
    bool is_spare = result->status == CHECK_UNPROVED && is_enough(check) &&
                    configuration->is_guess && check->budget.end == BUDGET_OUT_OF_STEPS;
    if (result->status == CHECK_REDUNDANT || is_spare) {
        check->redundant++;
        return;
    }
    if (result->status == CHECK_INVALID) {
        note_met(check, configuration, problem, result);
        if (result->cause == CHECK_CAUSE_UNDEFINED) {
            check->undefined++;
            if (configuration->origin == SPEC_KERNEL) check->ragged++;
        }
        if (result->is_kernels_own)
            verdict_discard(check, configuration, result->reason);
        else
            verdict_lose(check, configuration, result->reason, result);
        return;
    }
    // Values made up for the kernel alone that its derivative is not made for say nothing either, nor do rows that reach into each
    // other, as those of the file's launches do not.
    bool overlaps = result->is_contradicted && result->stores_twice && check->is_launch_clean;
    bool is_unfit =
        configuration->origin == SPEC_KERNEL && (result->cause == CHECK_CAUSE_NOT_FINITE ||
                                                 result->cause == CHECK_CAUSE_ROUNDING || overlaps);
    // So it is with further sizes of a launch: fewer rows and columns than one tile has, which no mask ends.
    bool is_beyond =
        result->status == CHECK_UNPROVED && (is_unfit || (configuration->origin == SPEC_LAUNCHER &&
                                                          configuration->is_extra && overlaps));
    if (is_beyond) {
        verdict_lose(check, configuration, result->reason, result);
        return;
    }
    check->is_settled = check->is_settled || result->cause == CHECK_CAUSE_LAUNCH;
    if (result->status == CHECK_UNPROVED && !check->is_settled &&
        check->budget.end == BUDGET_OUT_OF_STEPS) {
        verdict_lose(check, configuration, endless_words(check, problem, result), result);
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
        check->is_reached = check->is_reached || !result->is_in_part;
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
