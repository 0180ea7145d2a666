// What a run found in; its response out.
#include "gpu-runner/verdict/verdict_json.h"

#include "gpu-runner/verdict/verdict_take.h"

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
    ProblemReader reader = gradcheck_problem_reader(check);
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return json_null(check->arena);
    Json *json = own_types_report(&reader, &check->runs, device_is_eager() ? &check->cuda : NULL);
    bug_guard_end(&guard);
    return json;
}

Json *verdict_json(Gradcheck *check) {
    Arena *arena = check->arena;
    bool is_wrong = check->status == CHECK_FAILED && check->checked;
    bool is_incomplete = check->budget.end == BUDGET_OUT_OF_TIME && !is_wrong;
    bool proved = check->status == CHECK_PROVED && check->proved > 0 && !is_incomplete;
    const MemoryFinding *crossing = NULL;
    const char *lost = proved && !check->is_told ? verdict_lost_words(check, &crossing) : NULL;
    if (lost) proved = false;
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
