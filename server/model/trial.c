// The same steps as `--check --grad` takes, on a text that no file has.
#include "server/model/trial.h"

#include "server/proofs/given.h"
#include "server/proofs/grad.h"
#include "server/text/resolve.h"

typedef struct TrialRun {
    Arena *arena;
    Options options;
    const char *path, *text, *before;
    ImportResolver *resolver;
    const Snapshot *snapshot;
} TrialRun;

bool trial_is_better(const Trial *a, const Trial *b) {
    if (a->outcome != b->outcome) return a->outcome > b->outcome;
    return a->outcome == TRIAL_REFUTED && a->worst_error < b->worst_error;
}

static TrialRun trial_begin(Arena *arena, const Options *options, const char *path,
                            const char *text) {
    TrialRun run = {.arena = arena, .options = *options, .path = path, .text = text};
    run.options.quiet = true;
    run.options.wrapper = WRAPPER_AUTOGRAD;
    run.resolver = import_resolver_new(NULL);
    SnapshotOptions snapshot_options = {.resolver = import_resolver_interface(run.resolver)};
    run.snapshot = snapshot_build(path, str_from(text), &snapshot_options);
    return run;
}

static Report *prove(const TrialRun *run, const char *kernel) {
    Report *report = ARENA_NEW(run->arena, Report);
    report->arena = run->arena;
    Loop *loop = loop_new();
    SettingsCache *settings = settings_cache_new(run->arena, report);
    Grad *grad = grad_new(run->arena, loop, report, run->resolver, &run->options);
    grad_compare(grad, run->before);
    grad_derive(grad, run->snapshot, settings_for(settings, run->path), kernel);
    grad_prove(grad);
    loop_free(loop);
    return report;
}

/// What the front end finds wrong with a rule of this text.
static const char *faulty_rule(const TrialRun *run) {
    for (LIST_EACH(int, i, run->snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &run->snapshot->diagnostics.list.items[i];
        if (diagnostic->id != DIAGNOSTIC_GRADIENT_RULE) continue;
        Str at = source_slice(diagnostic->range);
        return arena_printf(run->arena, "`%.*s`: %s", STR_ARGS(at), diagnostic->message);
    }
    return NULL;
}

static Trial trial_of_result(const KernelResult *result) {
    Trial trial = {.outcome = TRIAL_OPEN, .words = result->reason};
    if (result->status == KERNEL_PROVED) trial.outcome = TRIAL_PROVED;
    if (result->status == KERNEL_FAILED || result->is_doubted) trial.outcome = TRIAL_REFUTED;
    trial.worst_error = result->worst_error;
    return trial;
}

static Trial try_kernel(const TrialRun *run, const char *name) {
    const Kernel *kernel = snapshot_find_kernel(run->snapshot, str_from(name));
    if (!kernel) return (Trial){TRIAL_UNUSABLE, "the text does not parse with it", 0, {0}};
    const char *fault = faulty_rule(run);
    if (fault) return (Trial){TRIAL_UNUSABLE, fault, 0, {0}};
    Diagnostics ignored = {.arena = run->arena};
    const BackwardOptions options = {.wrapper = WRAPPER_AUTOGRAD};
    const Backward *backward =
        backward_derive(run->arena, run->snapshot, kernel, &options, &ignored);
    if (backward->status == BACKWARD_NOT_DIFFERENTIABLE)
        return (Trial){TRIAL_UNUSABLE, "with it no gradient passes any more", 0, {0}};
    if (backward->status != BACKWARD_DERIVED)
        return (Trial){TRIAL_REFUSED, backward->reason ? backward->reason : "", 0,
                       backward->reason_range};
    const char *obstacle = given_obstacle(run->arena, backward);
    if (obstacle) return (Trial){TRIAL_UNCHECKED, obstacle, 0, {0}};
    const Report *report = prove(run, name);
    if (report->kernels.count == 0) return (Trial){TRIAL_OPEN, "nothing was proved", 0, {0}};
    Trial trial = trial_of_result(&report->kernels.items[0]);
    if (trial.outcome == TRIAL_OPEN && interrupted()) trial.words = TRIAL_CANCELLED;
    return trial;
}

Trial trial_run(Arena *arena, const Options *options, const char *path, const char *text,
                const char *kernel, const char *before, const Snapshot **snapshot) {
    Trial trial = {.outcome = TRIAL_UNUSABLE, .words = "it cannot be analysed"};
    BugGuard guard;
    *snapshot = NULL;
    if (!BUG_GUARD(&guard)) return trial;
    TrialRun run = trial_begin(arena, options, path, text);
    run.before = before;
    trial = try_kernel(&run, kernel);
    bug_guard_end(&guard);
    import_resolver_free(run.resolver);
    *snapshot = run.snapshot;
    return trial;
}

static const char *wrong_with(const TrialRun *run, const Report *report) {
    for (LIST_EACH(int, i, report->kernels)) {
        const KernelResult *result = &report->kernels.items[i];
        bool is_wrong = result->status == KERNEL_FAILED || result->is_doubted;
        if (is_wrong && result->given_line)
            return arena_printf(run->arena, "the gradient of `%s` is wrong with it: %s",
                                result->name, result->reason);
    }
    return NULL;
}

const char *trial_whole(Arena *arena, const Options *options, const char *path, const char *text) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return "the file cannot be analysed with it";
    TrialRun run = trial_begin(arena, options, path, text);
    const char *why = wrong_with(&run, prove(&run, NULL));
    bug_guard_end(&guard);
    snapshot_release(run.snapshot);
    import_resolver_free(run.resolver);
    return why;
}
