// `--bench PATH...`: forward and backward of all forward kernels on this machine's GPU; a table, data, a page, and what became slower.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "server/settings/result.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/system/target.h"
#include "server/text/sieve.h"
#include "server/times/kept.h"
#include "server/times/timed_kernel.h"
#include "server/times/times.h"

static const double LESS_IS_NOISE = 0.05;  // where --fail-slower does not say

/// One kernel at one size.
typedef struct BenchTask {
    const char *file;
    TimedKernel kernel;
    int configuration;
} BenchTask;

typedef struct Bench {
    const Options *options;
    Report report;
    Arena *arena;
    Loop *loop;
    SettingsCache *settings;
    ImportResolver *resolver;
    LIST(BenchTask) tasks;
    LIST(const char *) inputs;
    Json *times;
    const BenchTask *current;
    TimingRequest request;
    bool lacks_setup;  // what lacks was said; it is no kernel's fault
} Bench;

static void take_kernels(Bench *bench, const char *path, Str text, const char *only) {
    SnapshotOptions options = {.resolver = import_resolver_interface(bench->resolver)};
    Snapshot *snapshot = snapshot_build(path, text, &options);
    ProofFile file = {
        .source = snapshot->source,
        .settings = settings_for(bench->settings, path),
        .imports = import_resolver_closure(bench->resolver, bench->arena, path),
    };
    bool is_found = !only;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (only && !str_is(kernel->definition->name, only)) continue;
        is_found = true;
        BenchTask task = {path,
                          timed_kernel(bench->arena, snapshot, kernel, &file, bench->options->seed,
                                       bench->options->time_limit_s),
                          0};
        for (; task.configuration < task.kernel.count; task.configuration++)
            LIST_PUSH(bench->arena, &bench->tasks, task);
    }
    if (!is_found) report_problem(&bench->report, "%s has no forward kernel `%s`", path, only);
    snapshot_release(snapshot);
}

static void take_file(Bench *bench, const FileItem *file, const char *only) {
    Arena *arena = bench->arena;
    const Settings *settings = settings_for(bench->settings, file->path);
    if (!file->was_named && settings_exclude(settings, arena, file->path)) return;
    LIST_PUSH(arena, &bench->inputs, file->path);
    Str text;
    Error error = file_read(arena, file->path, &text);
    BugGuard guard;
    if (error) {
        report_problem(&bench->report, "%s", error);
    } else if (text_may_concern_kernels(text.data) && BUG_GUARD(&guard)) {
        take_kernels(bench, file->path, text, only);
        bug_guard_end(&guard);
    } else if (text_may_concern_kernels(text.data)) {
        report_problem(&bench->report, "%s: internal error: %s", file->path, guard.message);
    }
}

static void take_operands(Bench *bench) {
    const Options *options = bench->options;
    for (int i = 0; i < options->operand_count; i++) {
        CommandTarget target = target_of(bench->arena, options->operands[i]);
        FileList files = files_collect(bench->arena, &bench->report, &target.path, 1);
        for (LIST_EACH(int, k, files.items)) take_file(bench, &files.items.items[k], target.kernel);
    }
}

static void task_done(void *context, const Json *result, const char *problem) {
    Bench *bench = context;
    const BenchTask *task = bench->current;
    loop_stop_later(bench->loop);
    if (result) {
        times_add(bench->times, task->file, task->kernel.name, result, task->kernel.no_backward);
    } else if (timing_lacks_setup(problem)) {
        report_problem(&bench->report, "%s", problem);
        bench->lacks_setup = true;
    } else {
        say("%s:%s: %s", task->file, task->kernel.name, problem);
        times_add_problem(bench->times, task->file, task->kernel.name, problem);
    }
}

static void run_tasks(Bench *bench) {
    for (LIST_EACH(int, i, bench->tasks)) {
        const BenchTask *task = &bench->tasks.items[i];
        bench->current = task;
        bench->request.params = task->kernel.params[task->configuration];
        bench->request.module = task->kernel.module;
        bench->request.only_launched = task->kernel.no_backward != NULL;
        if (!bench->options->quiet)
            say("[%d/%d] %s:%s", i + 1, bench->tasks.count, task->file, task->kernel.name);
        timing_start(bench->loop, &bench->request, task_done, bench);
        loop_run_with_signals(bench->loop);
        if (bench->lacks_setup) return;
    }
}

/// `text` to the file `path`, where one is named.
static void write_file(Bench *bench, const char *path, const char *text) {
    Output output = {.path = path,
                     .is_ours = times_are_ours,
                     .is_forced = bench->options->force,
                     .way_out = FORCE_HINT,
                     .inputs = bench->inputs.items,
                     .input_count = bench->inputs.count};
    Error error = path ? output_write(bench->arena, &output, text) : NULL;
    if (error) report_problem(&bench->report, "%s", error);
}

/// "10%" or "0.1"; negative where it is neither.
static double share_of(const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) return number / 100;
    return end != text && !*end ? number : -1;
}

static Error bench_refuse(Arena *arena, const Options *options, double *allowed) {
    *allowed = LESS_IS_NOISE;
    if (!options->fail_slower) return NULL;
    *allowed = share_of(options->fail_slower);
    if (!options->compare_times) return "--fail-slower needs --compare-times FILE";
    if (*allowed >= 0) return NULL;
    return arena_printf(arena, "--fail-slower takes a share such as 10%%, not `%s`",
                        options->fail_slower);
}

/// The exit status.
static int write_all(Bench *bench, double allowed) {
    Arena *arena = bench->arena;
    const Options *options = bench->options;
    Comparison comparison = {"", 0};
    Error error = NULL;
    bool has_times = times_count(bench->times) > 0;
    if (!has_times && !bench->lacks_setup)
        report_problem(&bench->report, "%s", "no kernel could be timed");
    if (options->compare_times && !bench->lacks_setup)
        error = kept_compare(arena, bench->times, options, allowed, &comparison);
    if (error) report_problem(&bench->report, "%s", error);
    error = has_times && options->save_times
                ? kept_write(arena, bench->times, options, bench->inputs.items, bench->inputs.count)
                : NULL;
    if (error) report_problem(&bench->report, "%s", error);
    write_file(bench, options->csv, times_csv(arena, bench->times));
    write_file(bench, options->html, times_page(arena, bench->times));
    const char *table = lines_visible(arena, times_table(arena, bench->times));
    const char *text =
        options->json
            ? arena_printf(arena, "%s\n", json_print(arena, bench->times, true))
            : arena_printf(arena, "%s%s%s", table, *comparison.text ? "\n" : "", comparison.text);
    if (options->json && *comparison.text) fputs(comparison.text, stderr);
    int status = bench->report.problems.count                    ? STATUS_TROUBLE
                 : options->fail_slower && comparison.slower > 0 ? STATUS_FINDINGS
                                                                 : STATUS_CLEAN;
    Output output = {.is_ours = times_are_ours,
                     .inputs = bench->inputs.items,
                     .input_count = bench->inputs.count};
    return result_write(arena, options, output, text, status);
}

int command_bench(const Options *options) {
    Arena *arena = arena_new();
    double allowed;
    Error error = bench_refuse(arena, options, &allowed);
    const char *runner = error ? NULL : runner_find(arena, options->runner, &error);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Bench bench = {.options = options,
                   .report = {.arena = arena},
                   .arena = arena,
                   .loop = loop_new(),
                   .resolver = import_resolver_new(NULL),
                   .times = times_new(arena)};
    bench.settings = settings_cache_new(arena, &bench.report);
    bench.request.runner = runner_command(arena, runner);
    bench.request.python = timing_python(arena, options->python);
    take_operands(&bench);
    run_tasks(&bench);
    loop_free(bench.loop);
    import_resolver_free(bench.resolver);
    int status = write_all(&bench, allowed);
    arena_free(arena);
    return status;
}
