#include "server/phases/backward_time.h"

#include "server/proofs/pair.h"
#include "server/settings/settings.h"
#include "server/times/timed_kernel.h"

/// One text that is timed, size by size.
typedef struct BackwardClock {
    Arena *arena;
    Loop *loop;
    TimedKernel timed;
    BackwardTime sum;
} BackwardClock;

static void size_done(void *context, const Json *result, const char *problem) {
    BackwardClock *clock = context;
    BackwardTime *sum = &clock->sum;
    loop_stop_later(clock->loop);
    int line;
    if (!result) {
        sum->missing = arena_strdup(
            clock->arena, timed_kernel_problem(clock->arena, &clock->timed, problem, &line));
        return;
    }
    const Json *backward = json_get(result, "backward");
    if (json_get_number(result, "bytes", 0) < TIMING_LEAST_BYTES)
        sum->missing = "a launch of these sizes takes longer than its work: say real ones above "
                       "the kernel (`# tad time: ...`)";
    else if (!(json_get_number(backward, "median_ms", 0) > 0))
        sum->missing = "the GPU gave no time";
    sum->median_ms += json_get_number(backward, "median_ms", 0);
    sum->low_ms += json_get_number(backward, "low_ms", 0);
    sum->high_ms += json_get_number(backward, "high_ms", 0);
    sum->device = arena_strdup(clock->arena, json_get_string(result, "device", "GPU"));
}

static void run_sizes(BackwardClock *clock, const Options *options) {
    Error error = NULL;
    const char *runner = runner_find(clock->arena, options->runner, &error);
    if (error) {
        clock->sum.missing = error;
        return;
    }
    TimingRequest request = {.runner = runner_command(clock->arena, runner),
                             .python = timing_python(clock->arena, options->python),
                             .module = clock->timed.module,
                             .only_launched = true};
    clock->loop = loop_new();
    for (int i = 0; i < clock->timed.count && !clock->sum.missing; i++) {
        request.params = clock->timed.params[i];
        timing_start(clock->loop, &request, size_done, clock);
        loop_run_with_signals(clock->loop);
        if (interrupted()) clock->sum.missing = "cancelled";
    }
    loop_free(clock->loop);
}

static bool visit_unknown(void *context, Op *op) {
    const Op **found = context;
    if (op->code == OP_UNKNOWN && !*found) *found = op;
    return !*found;
}

/// What is not understood in a kernel: it may be a call of anything, which Triton's compiler would make, also in a branch that no
/// launch takes. NULL where there is nothing.
static const char *unknown_part(Arena *arena, const Snapshot *snapshot) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Op *found = NULL;
        region_walk(snapshot->kernels.items[i].function->body, visit_unknown, &found);
        if (found)
            return arena_printf(arena, "line %d is not understood: nobody runs it before you do",
                                range_line(found->range));
    }
    return NULL;
}

/// Why there is nothing to time, or NULL.
static const char *prepare(const Gate *gate, ImportResolver *resolver, const Snapshot *snapshot,
                           TimedKernel *timed) {
    Arena *arena = gate->arena;
    const char *unknown = unknown_part(arena, snapshot);
    if (unknown) return unknown;
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(gate->forward));
    if (kernel && !str_contains(kernel->definition->comment, STR("# tad time:")))
        return "no line `# tad time: ...` above the kernel says real sizes";
    const BackwardOptions wrapper = {.wrapper = WRAPPER_AUTOGRAD};
    Diagnostics ignored = {.arena = arena};
    Backward *backward =
        kernel ? backward_derive(arena, snapshot, kernel, &wrapper, &ignored) : NULL;
    if (!backward || backward->status != BACKWARD_DERIVED ||
        !pair_is_written(snapshot, snapshot, backward))
        return "nobody knows how its kernels are launched";
    Range place;
    const char *obstacle = pair_settle(arena, snapshot, snapshot, backward, &place);
    if (obstacle) return obstacle;
    Report *report = ARENA_NEW(arena, Report);
    report->arena = arena;
    const char *path = snapshot->source->path;
    ProofFile file = {.source = snapshot->source,
                      .settings = settings_for(settings_cache_new(arena, report), path),
                      .imports = import_resolver_closure(resolver, arena, path)};
    *timed = timed_pair(arena, snapshot, kernel, backward, &file, gate->options->seed,
                        gate->options->time_limit_s);
    return NULL;
}

static BackwardTime measure(const Gate *gate, Str text) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return (BackwardTime){.missing = "it cannot be analysed"};
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    const Snapshot *snapshot = snapshot_build(gate->path, text, &options);
    BackwardClock clock = {.arena = gate->arena};
    clock.sum.missing = prepare(gate, resolver, snapshot, &clock.timed);
    if (!clock.sum.missing) run_sizes(&clock, gate->options);
    bug_guard_end(&guard);
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return clock.sum;
}

static Json *time_json(Arena *arena, const BackwardTime *time) {
    Json *json = json_object(arena);
    if (time->missing) {
        json_set_string(json, "missing", time->missing);
        return json;
    }
    json_set_number(json, "median_ms", time->median_ms);
    json_set_number(json, "low_ms", time->low_ms);
    json_set_number(json, "high_ms", time->high_ms);
    json_set_string(json, "device", time->device);
    return json;
}

BackwardTime backward_time(const Gate *gate, Asker *asker, Str text) {
    const Json *known = asker_measured(asker);
    BackwardTime time = {.missing = "it was not timed when the session was recorded"};
    if (known)
        time = (BackwardTime){.missing = json_get_string(known, "missing", NULL),
                              .median_ms = json_get_number(known, "median_ms", 0),
                              .low_ms = json_get_number(known, "low_ms", 0),
                              .high_ms = json_get_number(known, "high_ms", 0),
                              .device = json_get_string(known, "device", "GPU")};
    else if (!asker->played)
        time = measure(gate, text);
    if (!interrupted()) asker_note(asker, time_json(gate->arena, &time));
    return time;
}
