// A search along one axis after the other. It is replayed from its start each time a trial has ended, up to the first point that was not
// tried: so nothing but the trials is remembered.
#include "server/times/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "server/times/ahead.h"
#include "server/times/space.h"

enum {
    PLAN_LIMIT_MS = 60000,
    TRIAL_LIMIT_MS = 120000,
    SPARE_MS = 10000,  // for a worker to say that it has no time left
    MOST_TRIALS = 120,
    MOST_SWEEPS = 3,
    MOST_RESTARTS = 3,
};
static const double WORTH = 0.995;  // of the best time so far: less is noise

typedef struct TuningTrial {
    SpacePoint point;
    TunedVariant variant;
    bool is_pruned;
} TuningTrial;

typedef struct ComingPoints {
    LIST(SpacePoint) list;
} ComingPoints;

struct Tuning {
    Arena *arena;
    Loop *loop;
    Snapshot *snapshot;
    RunnerClient *worker;
    const char *line;  // `# tad time: ...`
    Json *params;      // of `plan`
    Json *python;
    const Json *plan;     // of the kernel as it is
    const char *module;   // text with the backward's kernels, or NULL: the forward is tuned
    const Json *passed;   // by its launch
    const Kernel *tuned;  // it, or a kernel of its backward
    Space space;
    LIST(TuningTrial) trials;  // the first: the kernel as it is
    SpacePoint current;
    Ahead *ahead;          // NULL: nothing is compiled ahead
    ComingPoints *coming;  // not NULL: a search notes here what it would try, and goes on
    int architecture;
    int spilled, restarts, tried;
    bool lost_reference;  // the worker was started anew, and knows no result
    const char *device, *triton;
    TuningEvents events;
    uint64_t deadline_ms;
    bool is_ended, was_cut;
};

static void tuning_free(void *context) {
    Tuning *tuning = context;
    snapshot_release(tuning->snapshot);
    arena_free(tuning->arena);
}

static void tuning_end(Tuning *tuning, const TuningResult *result, const char *problem) {
    if (tuning->is_ended) return;
    tuning->is_ended = true;
    tuning->events.done(tuning->events.context, result, problem);
    runner_client_close(tuning->worker);
    if (tuning->ahead) ahead_close(tuning->ahead);
    timer_start(tuning->loop, 0, 0, tuning_free, tuning);  // callbacks are still on the stack
}

// --- the search -------------------------------------------------------------------------------------------------------

static TuningTrial *trial_of(const Tuning *tuning, const SpacePoint *point) {
    for (LIST_EACH(int, i, tuning->trials))
        if (space_same(&tuning->space, &tuning->trials.items[i].point, point))
            return &tuning->trials.items[i];
    return NULL;
}

/// `pruned`: why it needs no trial, or NULL.
static TuningTrial *trial_new(Tuning *tuning, const SpacePoint *point, const char *pruned) {
    Arena *arena = tuning->arena;
    const Space *space = &tuning->space;
    int *blocks = ARENA_ARRAY(arena, int, space->count + 1), count = 0;
    TuningTrial trial = {.point = *point, .variant.text = space_text(arena, space, point)};
    for (int i = 0; i < space->count; i++) {
        int value = space->axes[i].values[point->at[i]];
        if (space->axes[i].kind == AXIS_BLOCK) blocks[count++] = value;
        if (space->axes[i].kind == AXIS_WARPS) trial.variant.warps = value;
        if (space->axes[i].kind == AXIS_STAGES) trial.variant.stages = value;
    }
    trial.variant.blocks = blocks;
    trial.variant.problem = pruned;
    trial.is_pruned = pruned != NULL;
    LIST_PUSH(arena, &tuning->trials, trial);
    return &tuning->trials.items[tuning->trials.count - 1];
}

/// Takes the point where it is better; false where it has to be tried first, as `*wanted`.
static bool search_point(Tuning *tuning, const SpacePoint *point, SpacePoint *best, double *best_ms,
                         SpacePoint *wanted) {
    const TuningTrial *trial = trial_of(tuning, point);
    if (!trial) {
        const char *pruned = space_prune(tuning->arena, &tuning->space, point, 0);
        *wanted = *point;
        if (tuning->coming && !pruned) LIST_PUSH(tuning->arena, &tuning->coming->list, *point);
        if (tuning->coming) return true;
        if (!pruned) return false;
        trial = trial_new(tuning, point, pruned);
    }
    if (trial->variant.problem || trial->variant.median_ms >= *best_ms * WORTH) return true;
    *best_ms = trial->variant.median_ms;
    *best = *point;
    return true;
}

/// The best point along one axis; false where `*wanted` has to be tried first. A larger tile is tried with twice the warps, too.
static bool search_axis(Tuning *tuning, int axis, SpacePoint *best, double *best_ms,
                        SpacePoint *wanted) {
    const SpacePoint start = *best;
    const Space *space = &tuning->space;
    for (int i = 0; i < space->axes[axis].count; i++) {
        SpacePoint point = start;
        point.at[axis] = i;
        if (!search_point(tuning, &point, best, best_ms, wanted)) return false;
        if (space->axes[axis].kind != AXIS_BLOCK || i <= start.at[axis]) continue;
        for (int k = 0; k < space->count; k++)
            if (space->axes[k].kind == AXIS_WARPS && point.at[k] + 1 < space->axes[k].count)
                point.at[k]++;
        if (!search_point(tuning, &point, best, best_ms, wanted)) return false;
    }
    return true;
}

/// False where `*wanted` has to be tried first.
static bool search(Tuning *tuning, SpacePoint *wanted) {
    SpacePoint best = tuning->trials.items[0].point;
    double best_ms = tuning->trials.items[0].variant.median_ms;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double before = best_ms;
        for (int axis = 0; axis < tuning->space.count; axis++)
            if (!search_axis(tuning, axis, &best, &best_ms, wanted)) return false;
        if (best_ms >= before) break;
    }
    return true;
}

// --- the result -------------------------------------------------------------------------------------------------------

static int by_time(const void *a, const void *b) {
    const TunedVariant *left = *(const TunedVariant *const *)a,
                       *right = *(const TunedVariant *const *)b;
    int order = (left->median_ms > right->median_ms) - (left->median_ms < right->median_ms);
    return order ? order : (left > right) - (left < right);  // else that which was tried first
}

static void tuning_finish(Tuning *tuning) {
    Arena *arena = tuning->arena;
    const Space *space = &tuning->space;
    int count = tuning->trials.count;
    const TunedVariant **best = ARENA_ARRAY(arena, const TunedVariant *, count + 1),
                       **dropped = ARENA_ARRAY(arena, const TunedVariant *, count + 1);
    const char **names = ARENA_ARRAY(arena, const char *, space->count + 1);
    TuningResult result = {.kernel = tuning->tuned->function->name,
                           .line = tuning->line,
                           .device = tuning->device,
                           .triton = tuning->triton,
                           .plan = tuning->plan,
                           .tried = tuning->tried,
                           .is_derived = tuning->module != NULL,
                           .was_cut = tuning->was_cut,
                           .fixed = (const char *const *)space->fixed.items,
                           .fixed_count = space->fixed.count,
                           .names = names,
                           .first = &tuning->trials.items[0].variant,
                           .best = best,
                           .dropped = dropped};
    for (int i = 0; i < space->count; i++)
        if (space->axes[i].kind == AXIS_BLOCK) names[result.name_count++] = space->axes[i].name;
    for (int i = 0; i < count; i++) {
        const TuningTrial *trial = &tuning->trials.items[i];
        result.pruned += trial->is_pruned;
        if (trial->is_pruned) continue;
        if (trial->variant.problem)
            dropped[result.dropped_count++] = &trial->variant;
        else
            best[result.best_count++] = &trial->variant;
    }
    qsort(best, (size_t)result.best_count, sizeof(TunedVariant *), by_time);
    tuning_end(tuning, &result, NULL);
}

// --- the worker -------------------------------------------------------------------------------------------------------

static void tuning_next(Tuning *tuning);

/// The launch that is tuned, in a plan.
static Json *launch_in(const Tuning *tuning, const Json *plan) {
    const Json *launches = json_get(plan, "launches");
    for (int i = 0; launches && launches->kind == JSON_ARRAY && i < launches->count; i++)
        if (strcmp(json_get_string(launches->items[i], "kernel", ""),
                   tuning->tuned->function->name) == 0)
            return launches->items[i];
    return NULL;
}

/// The plan with the numbers of the point in the launch that is tuned.
static const Json *plan_at(const Tuning *tuning, const SpacePoint *point) {
    Json *plan = json_copy(tuning->arena, tuning->plan), *launch = launch_in(tuning, plan),
         *options = json_copy(tuning->arena, json_get(launch, "options"));
    const Json *arguments = json_get(launch, "arguments");
    for (int i = 0; i < tuning->space.count; i++) {
        const SpaceAxis *axis = &tuning->space.axes[i];
        int value = axis->values[point->at[i]];
        if (axis->kind != AXIS_BLOCK) json_set_number(options, axis->name, value);
        for (int k = 0; axis->kind == AXIS_BLOCK && k < arguments->count; k++)
            if (strcmp(json_get_string(arguments->items[k], "name", ""), axis->name) == 0)
                json_set_number(arguments->items[k], "value", value);
    }
    json_set(launch, "options", options);
    return plan;
}

/// A variant is one of the forward, without its backward, or one of a kernel of that.
static Json *time_params(const Tuning *tuning, const Json *plan, const char *check) {
    static const char *const taken[] = {"path", "modules", "kernel"};
    Arena *arena = tuning->arena;
    Json *params = json_object(arena), *copy = json_copy(arena, plan);
    if (!tuning->module) json_set(copy, "launches", json_array(arena));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        Json *value = json_get(tuning->params, taken[i]);
        if (value) json_set(params, taken[i], value);
    }
    json_set(params, "module", json_get(tuning->params, "source"));
    if (tuning->module) json_set_string(params, "module", tuning->module);
    if (tuning->module) json_set_string(params, "launch", tuning->tuned->function->name);
    json_set(params, "plan", copy);
    json_set(params, "python", tuning->python);
    json_set_string(params, "check", check);
    json_set_number(params, "max_seconds", (TRIAL_LIMIT_MS - SPARE_MS) / 1e3);
    if (strcmp(check, "compare") == 0) json_set_number(params, "most_spilled", tuning->spilled);
    return params;
}

static const Json *times_of(const Tuning *tuning, const Json *result) {
    return json_get(result, tuning->module ? "backward" : "forward");
}

static void note_times(const Tuning *tuning, TunedVariant *variant, const Json *result) {
    const Json *times = times_of(tuning, result);
    variant->median_ms = json_get_number(times, "median_ms", 0);
    variant->low_ms = json_get_number(times, "low_ms", 0);
    variant->high_ms = json_get_number(times, "high_ms", 0);
    if (variant->median_ms <= 0) variant->problem = "it has no time";
}

/// The kernel as it is: what all others are held against. Also after the worker was started anew.
static void first_timed(void *context, RunnerTrouble trouble, const Json *result,
                        const char *message) {
    enum { MORE_SPILLED = 64 };
    Tuning *tuning = context;
    if (trouble != RUNNER_OK && tuning->device) {
        tuning_finish(tuning);  // what is known by now
        return;
    }
    if (trouble != RUNNER_OK) {
        tuning_end(tuning, NULL, arena_strdup(tuning->arena, message));
        return;
    }
    tuning->lost_reference = false;
    if (!tuning->device) {
        Arena *arena = tuning->arena;
        const Json *kernels = json_get(times_of(tuning, result), "kernels");
        const Json *own = kernels && kernels->count ? kernels->items[0] : NULL;
        tuning->architecture = json_get_int(result, "architecture", 0);
        tuning->device = arena_strdup(arena, json_get_string(result, "device", "GPU"));
        tuning->triton = arena_strdup(arena, json_get_string(result, "triton", "?"));
        tuning->spilled = json_get_int(own, "spilled_bytes", 0) + MORE_SPILLED;
        note_times(tuning, &tuning->trials.items[0].variant, result);
        if (tuning->trials.items[0].variant.problem) {
            tuning_end(tuning, NULL, "the kernel as it is has no time");
            return;
        }
    }
    tuning_next(tuning);
}

/// A process whose GPU has failed is of no more use.
static bool is_lost(RunnerTrouble trouble, const char *message) {
    return trouble != RUNNER_REFUSED || strstr(message, "CUDA_ERROR") ||
           strstr(message, "GPU is lost");
}

static void trial_ended(Tuning *tuning, RunnerTrouble trouble, const Json *result,
                        const char *message) {
    TunedVariant *variant = &trial_new(tuning, &tuning->current, NULL)->variant;
    tuning->tried++;
    if (trouble == RUNNER_OK) {
        note_times(tuning, variant, result);
    } else {
        variant->problem = arena_strdup(tuning->arena, message);
        if (is_lost(trouble, message)) {
            runner_client_close(tuning->worker);
            tuning->lost_reference = true;
            tuning->restarts++;
        }
    }
    tuning_next(tuning);
}

static void trial_timed(void *context, RunnerTrouble trouble, const Json *result,
                        const char *message) {
    trial_ended(context, trouble, result, message);
}

static void trial_planned(void *context, RunnerTrouble trouble, const Json *result,
                          const char *message) {
    Tuning *tuning = context;
    if (trouble != RUNNER_OK) {
        trial_ended(tuning, trouble, NULL, message);
        return;
    }
    runner_client_request(tuning->worker, "time", time_params(tuning, result, "compare"),
                          TRIAL_LIMIT_MS, trial_timed, tuning);
}

/// Of the request `plan` for a point of the forward.
static Json *plan_params(const Tuning *tuning, const SpacePoint *point) {
    Json *params = json_copy(tuning->arena, tuning->params);
    json_set_string(json_get(params, "spec"), "text",
                    space_line(tuning->arena, &tuning->space, point, tuning->line));
    return params;
}

/// What comes next if nothing gets faster is compiled meanwhile.
static void look_ahead(Tuning *tuning) {
    enum { MOST_AHEAD = 16 };
    ComingPoints coming = {0};
    SpacePoint ignored;
    tuning->coming = &coming;
    search(tuning, &ignored);
    tuning->coming = NULL;
    // The first one is compiled where it is timed.
    for (int i = 1; i < coming.list.count && i < MOST_AHEAD; i++) {
        const SpacePoint *point = &coming.list.items[i];
        const char *text = space_text(tuning->arena, &tuning->space, point);
        if (ahead_knows(tuning->ahead, text)) continue;
        const Json *plan = tuning->module ? plan_at(tuning, point) : tuning->plan;
        AheadWish wish = {.text = text, .compile = time_params(tuning, plan, "compile")};
        json_set_number(wish.compile, "architecture", tuning->architecture);
        if (!tuning->module) wish.plan = plan_params(tuning, point);
        ahead_wish(tuning->ahead, &wish);
    }
}

/// The present point, when nobody else compiles it.
static void tuning_try(void *context) {
    Tuning *tuning = context;
    if (tuning->is_ended) return;
    if (tuning->module) {
        const Json *plan = plan_at(tuning, &tuning->current);
        runner_client_request(tuning->worker, "time", time_params(tuning, plan, "compare"),
                              TRIAL_LIMIT_MS, trial_timed, tuning);
        return;
    }
    runner_client_request(tuning->worker, "plan", plan_params(tuning, &tuning->current),
                          PLAN_LIMIT_MS, trial_planned, tuning);
}

static void tuning_next(Tuning *tuning) {
    if (tuning->is_ended) return;
    bool is_over = tuning->tried >= MOST_TRIALS || tuning->restarts > MOST_RESTARTS ||
                   loop_now_ms(tuning->loop) >= tuning->deadline_ms;
    tuning->was_cut |= is_over;
    if (is_over || search(tuning, &tuning->current)) {
        tuning_finish(tuning);
        return;
    }
    if (tuning->lost_reference) {
        runner_client_request(tuning->worker, "time", time_params(tuning, tuning->plan, "keep"),
                              TRIAL_LIMIT_MS, first_timed, tuning);
        return;
    }
    const char *text = space_text(tuning->arena, &tuning->space, &tuning->current);
    tuning->events.progress(tuning->events.context, tuning->tried, text);
    if (tuning->ahead) look_ahead(tuning);
    if (tuning->ahead && ahead_wait(tuning->ahead, text, tuning_try, tuning)) return;
    tuning_try(tuning);
}

/// Arguments and options of the launch that is tuned, with what its module passes, as those of a plan; NULL: there is none.
static const Json *launch_planned(const Tuning *tuning) {
    Json *launch = launch_in(tuning, tuning->plan);
    if (!launch) return NULL;
    Json *options = json_get(launch, "options"), *arguments = json_get(launch, "arguments");
    if (!options) options = json_get(tuning->plan, "options");
    options = options ? json_copy(tuning->arena, options) : json_object(tuning->arena);
    for (int i = 0; i < tuning->passed->count; i++) {
        const char *name = str_dup(tuning->arena, tuning->passed->keys[i]);
        double number = tuning->passed->items[i]->number;
        if (strncmp(name, "num_", 4) == 0) json_set_number(options, name, number);
        for (int k = 0; k < arguments->count; k++)
            if (strcmp(json_get_string(arguments->items[k], "name", ""), name) == 0 &&
                json_get_bool(arguments->items[k], "is_stages", false))
                json_set_number(arguments->items[k], "value", number);
    }
    json_set(launch, "options", options);
    return launch;
}

static void first_planned(void *context, RunnerTrouble trouble, const Json *result,
                          const char *message) {
    Tuning *tuning = context;
    if (trouble != RUNNER_OK) {
        tuning_end(tuning, NULL, arena_strdup(tuning->arena, message));
        return;
    }
    tuning->plan = json_copy(tuning->arena, result);
    const Json *planned = tuning->plan, *refused = json_get(tuning->plan, "refused");
    if (tuning->module) planned = launch_planned(tuning);
    if (!planned) {
        tuning_end(tuning, NULL,
                   refused && refused->kind == JSON_STRING ? refused->string.data
                                                           : "its backward has no such launch");
        return;
    }
    tuning->space =
        space_of(tuning->arena, tuning->tuned, planned, tuning->module ? NULL : tuning->line);
    SpacePoint start = space_start(&tuning->space);
    trial_new(tuning, &start, NULL);
    runner_client_request(tuning->worker, "time", time_params(tuning, tuning->plan, "keep"),
                          TRIAL_LIMIT_MS, first_timed, tuning);
}

static void tuning_refuse(void *context) {
    tuning_end(context, NULL,
               "the sizes to tune for are not said: write `# tad time: ...` above the kernel");
}

static const char *first_line(Arena *arena, Str comment) {
    const char *text = str_dup(arena, comment), *at = strstr(text, "# tad time:");
    return at ? arena_strndup(arena, at, strcspn(at, "\n")) : NULL;
}

Tuning *tuning_start(Loop *loop, const Snapshot *snapshot, const Kernel *kernel,
                     const TuningLaunch *launch, const ProofFile *file, const char *const *runner,
                     const char *const *python, int jobs, double seconds, TuningEvents events) {
    Arena *arena = arena_new();
    Tuning *tuning = ARENA_NEW(arena, Tuning);
    *tuning = (Tuning){.arena = arena,
                       .loop = loop,
                       .snapshot = snapshot_retain(snapshot),
                       .tuned = launch ? launch->kernel : kernel,
                       .passed = launch ? json_copy(arena, launch->passed) : NULL,
                       .module = launch ? arena_strdup(arena, launch->timed->module) : NULL,
                       .events = events,
                       .deadline_ms = loop_now_ms(loop) + (uint64_t)(seconds * 1e3),
                       .python = json_array(arena),
                       .line = first_line(arena, kernel->definition->comment)};
    for (const char *const *word = python; *word; word++)
        json_push(tuning->python, json_string(arena, *word));
    Backward alone = {.kernel = kernel};
    ProofPlan plan = proof_plan(arena, kernel, &alone, "", file->settings);
    tuning->params =
        json_copy(arena, launch ? launch->timed->params[0]
                                : proof_params(arena, file, &plan, 0, PLAN_LIMIT_MS / 1e3));
    tuning->worker =
        runner_client_new(arena, loop, runner_command_for(arena, runner, "cuda"), NULL, NULL);
    if (jobs > 1)
        tuning->ahead = ahead_new(arena, loop, runner_command_for(arena, runner, "cuda"), jobs - 1);
    if (!tuning->line) {
        timer_start(loop, 0, 0, tuning_refuse, tuning);
        return tuning;
    }
    json_set_string(json_get(tuning->params, "spec"), "text", tuning->line);
    if (launch) json_set_bool(tuning->params, "card", true);  // its tiles hang on the GPU
    runner_client_request(tuning->worker, "plan", tuning->params, PLAN_LIMIT_MS, first_planned,
                          tuning);
    return tuning;
}

void tuning_cancel(Tuning *tuning) { tuning_end(tuning, NULL, "cancelled"); }
