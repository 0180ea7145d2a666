// A proof has numbers in (-1, 1), which is enough for what the rules derive: they are the same formula everywhere. What a person
// writes may have pieces.
#include "gpu-runner/verdict/wide.h"

#include "gpu-runner/prove/check.h"

/// How large the numbers are. Beyond the second an exponential is not finite.
static const double SIZES[] = {8, 100, 10000};
/// Of the size. Less may be the rounding of differences between large numbers, where a helper has no dual numbers.
static const double OTHER_FORMULA = 1e-6;
static const int64_t MOST_STEPS = 30000000;  // of all sizes together

/// What was chosen to be positive stays so. What was chosen to be small, or is the user's word, stays as it is.
static void widen(PlanConfiguration *configuration, double size) {
    bool is_told = configuration->origin <= SPEC_PYPROJECT;
    for (int i = 0; i < configuration->argument_count && !is_told; i++) {
        Content *content = &configuration->arguments[i].content;
        if (content->kind == CONTENT_RANDOM && content->low > 0) content->high = size;
    }
    configuration_set_contents(configuration, -size, size);
}

static const ProvedRun *cheapest(const ProvedRuns *runs) {
    const ProvedRun *best = NULL;
    for (LIST_EACH(int, i, *runs))
        if (!best || runs->items[i].backward_steps < best->backward_steps) best = &runs->items[i];
    return best;
}

static const char *doubt_at(const ProblemReader *reader, const ProvedRun *run, double size) {
    PlanConfiguration configuration = configuration_copy(reader->arena, &run->configuration, 0);
    widen(&configuration, size);
    Problem problem;
    Error launch_error = NULL;
    if (problem_read(reader, &configuration, &problem, &launch_error) || launch_error) return NULL;
    CheckResult result = check_configuration(reader->arena, &problem);
    bool is_other = result.status == CHECK_FAILED ||
                    (result.status == CHECK_UNPROVED && result.is_contradicted);
    if (!is_other || result.error < OTHER_FORMULA * size) return NULL;
    return arena_printf(reader->arena,
                        "right with the numbers of the proof; with numbers up to %g %s", size,
                        result.reason);
}

const char *wide_doubt(const ProblemReader *reader, const ProvedRuns *runs) {
    const ProvedRun *run = cheapest(runs);
    Budget budget = *reader->budget;
    budget.steps = 0;
    budget.limit = MOST_STEPS;
    budget.end = BUDGET_HOLDS;
    ProblemReader own = *reader;
    own.budget = &budget;
    const char *doubt = NULL;
    for (size_t i = 0; run && i < sizeof SIZES / sizeof *SIZES && !doubt; i++)
        doubt = doubt_at(&own, run, SIZES[i]);
    return budget.end == BUDGET_HOLDS ? doubt : NULL;
}
