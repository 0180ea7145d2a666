// `--bench PATH...`: forward and backward of all forward kernels on this machine's GPU; a table, data, a page, and what became slower.
#include <stdio.h>

#include "base/escape.h"
#include "server/proofs/runner_client.h"
#include "server/settings/result.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/system/target.h"
#include "server/text/sieve.h"
#include "server/times/timed_files.h"

typedef struct Bench {
    const Options *options;
    Report report;
    Arena *arena;
    SettingsCache *settings;
    ImportResolver *resolver;
    TimedFiles *files;
    LIST(const char *) inputs;
    Json *times;
} Bench;

static void take_kernels(Bench *bench, const char *path, Str text, const char *only) {
    SnapshotOptions options = {.resolver = import_resolver_interface(bench->resolver)};
    Snapshot *snapshot = snapshot_build(path, text, &options);
    int count = timed_files_take(bench->files, snapshot, settings_for(bench->settings, path), only);
    if (only && !count) report_problem(&bench->report, "%s has no forward kernel `%s`", path, only);
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

/// The exit status.
static int write_all(Bench *bench, double allowed) {
    Arena *arena = bench->arena;
    const Options *options = bench->options;
    Comparison comparison = {.text = ""};
    Error error = NULL;
    bool has_times = times_count(bench->times) > 0,
         lacks_setup = timed_files_lack_setup(bench->files);
    if (!has_times && !lacks_setup)
        report_problem(&bench->report, "%s", "no kernel could be timed");
    if (options->compare_times && !lacks_setup)
        error = kept_compare(arena, bench->times, options, allowed, &comparison);
    if (error) report_problem(&bench->report, "%s", error);
    error = has_times && options->save_times
                ? kept_write(arena, bench->times, options, bench->inputs.items, bench->inputs.count)
                : NULL;
    if (error) report_problem(&bench->report, "%s", error);
    if (options->compare_times) kept_put(bench->times, &comparison);
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
    Error error = kept_allowed(arena, options, &allowed);
    if (!error) runner_find(arena, options->runner, &error);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Bench bench = {.options = options,
                   .report = {.arena = arena},
                   .arena = arena,
                   .resolver = import_resolver_new(NULL)};
    bench.settings = settings_cache_new(arena, &bench.report);
    bench.files = timed_files_new(arena, options, &bench.report, bench.resolver);
    take_operands(&bench);
    bench.times = timed_files_run(bench.files);
    import_resolver_free(bench.resolver);
    int status = write_all(&bench, allowed);
    arena_free(arena);
    return status;
}
