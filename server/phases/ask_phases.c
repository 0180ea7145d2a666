// `--ask --phase faster,tidy`: a backward that is proved is rewritten by a model; the best text that is proved again is kept.
#include "autodiff/emit/emitted.h"
#include "server/model/agreement.h"
#include "server/phases/ask.h"
#include "server/phases/phase.h"
#include "server/system/loop.h"
#include "server/text/resolve.h"

enum { MOST_SHOWN_NAME = 60 };

static const char LATER[] =
    "Later requests add the answers, what the check says of them, and the best kernels so far.\n";

typedef struct ForwardNames {
    LIST(const char *) list;
} ForwardNames;

/// Those that were named, or all.
static ForwardNames forwards_of(Ask *ask) {
    ForwardNames names = {0};
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    const Snapshot *snapshot = snapshot_build(ask->target.path, str_from(ask->best), &options);
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        const char *name = kernel->function ? kernel->function->name : NULL;
        if (!name || !kernel_is_forward(kernel) || kernel_of_backward(snapshot, kernel)) continue;
        if (ask->target.kernel && strcmp(name, ask->target.kernel) != 0) continue;
        LIST_PUSH(ask->arena, &names.list, arena_strdup(ask->arena, name));
    }
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return names;
}

static void report_tries(Ask *ask, const PhaseRun *run, const char *kernel) {
    Buffer *out = &ask->out;
    buffer_printf(out, "%s: `%s`, %s: %s\n", ask->target.path, kernel, phase_name(run->id),
                  phase_summary(run));
    for (LIST_EACH(int, i, run->tries)) {
        const PhaseTry *try
            = &run->tries.items[i];
        buffer_printf(out, "    answer %d %s%s\n", i + 1, try->is_kept ? "kept, " : "", try->words);
        ask_put_diff(out, try->diff);
    }
    if (run->stopped) buffer_printf(out, "    stopped: %s\n", run->stopped);
}

/// Who has proposed the best text, and how well it is proved.
typedef struct Mark {
    const char *model;
    double worst_error;
} Mark;

/// One phase of one kernel. `*text` is its best text afterwards. False where nothing more is to be asked.
static bool run_phase(Ask *ask, PhaseId id, const char *kernel, const char **text, Mark *mark) {
    Arena *arena = ask->arena;
    PhaseRun run;
    bool goes_on = true;
    ask_use_settings(ask, phase_name(id));
    asker_tell(&ask->asker, arena_printf(arena, "%s: `%s` is checked", phase_name(id), kernel));
    Error error =
        phase_begin(arena, ask->options, ask->target.path, *text, kernel, id, &ask->asker, &run);
    if (error) {
        buffer_printf(&ask->out, "%s: %s: %s\n", ask->target.path, phase_name(id), error);
        ask->last = error;
        ask->phases += id != PHASE_REPAIR || run.base.refused;  // nothing to do is no failure
    } else if (!ask->asker.played &&
               !ask_is_agreed(ask, ask_request(ask, &run.chat), AGREEMENT_KERNELS, LATER)) {
        ask->is_failed = true;
        goes_on = false;
    } else {
        phase_run(&run);
        report_tries(ask, &run, kernel);
        ask->phases++;
        ask->is_failed |= run.is_failed;
        ask->gains += phase_has_gain(&run);
        bool is_all = run.is_failed && !phase_has_gain(&run);
        ask->last = arena_printf(arena, "%s", is_all ? run.stopped : phase_summary(&run));
        if (phase_has_gain(&run)) {
            *text = str_dup(arena, phase_text(&run));
            *mark = (Mark){ask->settings.model, run.best.worst_error};
        }
        goes_on = !run.is_failed;
    }
    phase_end(&run);
    return goes_on;
}

/// The text with a comment above each kernel that a model has rewritten.
static const char *marked(Ask *ask, const char *kernel, const char *before, const char *after,
                          Mark by) {
    Arena *arena = ask->arena;
    char *name = arena_printf(arena, "%.*s", MOST_SHOWN_NAME, by.model);
    for (char *at = name; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
    const char *mark =
        arena_printf(arena, "# Proposed by a model (%s), proved with `%s`: worst error %.1e.", name,
                     kernel, by.worst_error);
    const SnapshotOptions options = {.skip_checks = true};
    const Snapshot *old = snapshot_build(ask->target.path, str_from(before), &options),
                   *new = snapshot_build(ask->target.path, str_from(after), &options);
    const Kernel *forward = snapshot_find_kernel(new, str_from(kernel));
    OpenBodies open = {0};
    if (forward) open = bodies_open(arena, new, forward);
    const char *text = bodies_marked(arena, old, new, &open, mark);
    snapshot_release(old);
    snapshot_release(new);
    return text;
}

static bool run_kernel(Ask *ask, const char *kernel) {
    Arena *arena = ask->arena;
    const char *why;
    const char *before = phase_with_backward(arena, ask->target.path, ask->best, kernel, &why);
    const char *text = before;
    Mark mark = {0};
    bool goes_on = true;
    if (!before) {
        buffer_printf(&ask->out, "%s: `%s` has no backward: %s\n", ask->target.path, kernel, why);
        ask->last = why;
        ask->phases++;
        return true;
    }
    for (int id = PHASE_COMPLETE + 1; id < PHASE_COUNT && goes_on && !interrupted(); id++)
        if (ask_wants(ask, phase_name((PhaseId)id)))
            goes_on = run_phase(ask, (PhaseId)id, kernel, &text, &mark);
    if (text != before) ask->best = marked(ask, kernel, before, text, mark);
    return goes_on;
}

void ask_phases(Ask *ask) {
    ForwardNames names = forwards_of(ask);
    for (LIST_EACH(int, i, names.list))
        if (interrupted() || !run_kernel(ask, names.list.items[i])) return;
}
