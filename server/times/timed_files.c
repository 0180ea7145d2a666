// A row of the times is a task, in the order in which they were taken.
#include "server/times/timed_files.h"

#include <string.h>

#include "server/system/files.h"
#include "server/times/reference.h"
#include "server/times/timed_kernel.h"

/// One kernel at one size.
typedef struct TimedTask {
    const char *path;
    const Settings *settings;
    Range name;  // in a source that lives as long
    TimedKernel kernel;
    int configuration;
} TimedTask;

struct TimedFiles {
    Arena *arena;
    const Options *options;
    Report *report;
    ImportResolver *resolver;
    Loop *loop;  // while they are timed
    LIST(TimedTask) tasks;
    const TimedTask *current;
    TimingRequest request;
    Json *times;
    bool lacks_setup;  // what lacks was said; it is no kernel's fault
};

TimedFiles *timed_files_new(Arena *arena, const Options *options, Report *report,
                            ImportResolver *resolver) {
    TimedFiles *files = ARENA_NEW(arena, TimedFiles);
    *files = (TimedFiles){.arena = arena,
                          .options = options,
                          .report = report,
                          .resolver = resolver,
                          .times = times_new(arena)};
    return files;
}

int timed_files_take(TimedFiles *files, const Snapshot *snapshot, const Settings *settings,
                     const char *only) {
    Arena *arena = files->arena;
    const char *path = arena_strdup(arena, snapshot->source->path);
    Str text = snapshot->source->text;
    text = (Str){str_dup(arena, text), text.size};
    const Source *source = source_new(arena, path, text);
    ProofFile file = {source, settings, import_resolver_closure(files->resolver, arena, path)};
    int count = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (only && !str_is(kernel->definition->name, only)) continue;
        Range name = kernel->definition->name_range;
        name.source = source;
        TimedTask task = {.path = path, .settings = settings, .name = name};
        task.kernel = timed_kernel(arena, snapshot, kernel, &file, files->options->seed,
                                   files->options->time_limit_s);
        for (; task.configuration < task.kernel.count; task.configuration++)
            LIST_PUSH(arena, &files->tasks, task);
        count++;
    }
    return count;
}

/// What Triton said, at the line that it named.
static void report_uncompiled(TimedFiles *files, const TimedTask *task, int line,
                              const char *problem) {
    Diagnostics diagnostics = {.arena = files->arena};
    const char *place = arena_printf(files->arena, "%s:%d: ", task->path, line),
               *said = strstr(problem, place);
    diagnose(&diagnostics, DIAGNOSTIC_NOT_COMPILED,
             proof_line_range(task->name.source, line, task->name),
             "Triton does not compile `%s` for its timed launch: %s", task->kernel.name,
             said ? said + strlen(place) : problem);
    report_take(files->report, &diagnostics, task->settings, files->options);
}

static void task_done(void *context, const Json *result, const char *problem) {
    TimedFiles *files = context;
    const TimedTask *task = files->current;
    loop_stop_later(files->loop);
    int line = 0;
    if (result) {
        times_add(files->times, task->path, task->kernel.name,
                  timed_kernel_result(files->arena, &task->kernel, result),
                  task->kernel.no_backward);
    } else if (timing_lacks_setup(problem)) {
        report_problem(files->report, "%s", problem);
        files->lacks_setup = true;
    } else {
        problem = timed_kernel_problem(files->arena, &task->kernel, problem, &line);
        say("%s:%s: %s", task->path, task->kernel.name, problem);
        if (line) report_uncompiled(files, task, line, problem);
        times_add_problem(files->times, task->path, task->kernel.name, problem);
    }
}

static void run_tasks(TimedFiles *files) {
    files->loop = loop_new();
    for (LIST_EACH(int, i, files->tasks)) {
        const TimedTask *task = &files->tasks.items[i];
        files->current = task;
        files->request.params = task->kernel.params[task->configuration];
        files->request.module = task->kernel.module;
        files->request.reference = reference_of(files->arena, files->options->reference,
                                                str_from(task->kernel.comment), task->kernel.name);
        files->request.only_launched = task->kernel.no_backward != NULL;
        if (!files->options->quiet)
            say("[%d/%d] %s:%s", i + 1, files->tasks.count, task->path, task->kernel.name);
        timing_start(files->loop, &files->request, task_done, files);
        loop_run_with_signals(files->loop);
        if (files->lacks_setup) break;
    }
    loop_free(files->loop);
}

Json *timed_files_run(TimedFiles *files) {
    Arena *arena = files->arena;
    Error error = NULL;
    const char *runner = runner_find(arena, files->options->runner, &error);
    if (error) {
        report_problem(files->report, "%s", error);
        files->lacks_setup = true;
        return files->times;
    }
    files->request.runner = runner_command(arena, runner);
    files->request.python = timing_python(arena, files->options->python);
    run_tasks(files);
    return files->times;
}

bool timed_files_lack_setup(const TimedFiles *files) { return files->lacks_setup; }

void timed_files_report(TimedFiles *files, const Comparison *comparison) {
    for (LIST_EACH(int, i, comparison->list)) {
        const ComparedTime *compared = &comparison->list.items[i];
        if (!compared->is_slower || compared->row >= files->tasks.count) continue;
        const TimedTask *task = &files->tasks.items[compared->row];
        Diagnostics diagnostics = {.arena = files->arena};
        diagnose(&diagnostics, DIAGNOSTIC_KERNEL_SLOWER, task->name, "`%s`, %s: %s",
                 task->kernel.name, compared->direction, compared->text);
        report_take(files->report, &diagnostics, task->settings, files->options);
    }
}
