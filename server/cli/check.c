// Each file is one snapshot, freed before the next; what is reported is copied out of it.
#include "server/settings/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "server/cli/outcome.h"
#include "server/cli/shard.h"
#include "server/crash/contain.h"
#include "server/proofs/grad.h"
#include "server/report/results.h"
#include "server/settings/wanted.h"
#include "server/system/files.h"
#include "server/system/loop.h"
#include "server/system/output.h"
#include "server/text/resolve.h"
#include "server/text/sieve.h"
#include "server/times/timed_files.h"

typedef struct FileCheck {
    const Options *options;
    Report *report;
    SettingsCache *settings;
    ImportResolver *resolver;
    Grad *grad;         // NULL without --grad
    TimedFiles *timed;  // NULL without --time
    Containment *containment;
    Shard shard;
} FileCheck;

/// What this run does of a file: its parts are shard.parts[first .. next).
typedef struct FileParts {
    int first, next;
} FileParts;

static bool owns_findings(const FileCheck *check, FileParts parts) {
    return check->shard.parts.items[parts.first].is_first;
}

static void check_snapshot(FileCheck *check, const Snapshot *snapshot, const Settings *settings,
                           FileParts parts) {
    if (owns_findings(check, parts)) {
        report_take_snapshot(check->report, snapshot, settings, check->options);
        check->report->kernel_count += snapshot->kernels.count;
    }
    for (int i = parts.first; check->grad && i < parts.next; i++) {
        const ShardPart *part = &check->shard.parts.items[i];
        grad_derive_part(check->grad, snapshot, settings, part->start, part->end);
    }
    if (check->timed) timed_files_take(check->timed, snapshot, settings, NULL);
}

static void check_file(FileCheck *check, const FileItem *file, FileParts parts) {
    Arena *arena = arena_new();
    const Settings *settings = settings_for(check->settings, file->path);
    Str text;
    if (!file->was_named && settings_exclude(settings, arena, file->path)) {
        arena_free(arena);
        return;
    }
    bool owns = owns_findings(check, parts);
    if (owns) {
        LIST_PUSH(check->report->arena, &check->report->files, file->path);
        LIST_PUSH(check->report->arena, &check->report->files_at, check->report->at);
    }
    if (!contain_may_enter(check->containment, check->report, file->path)) {
        arena_free(arena);
        return;
    }
    Error error = file_read(arena, file->path, &text);
    if (error) report_problem(check->report, "%s", error);
    BugGuard guard;
    Snapshot *volatile snapshot = NULL;
    if (!error && !text_may_concern_kernels(text.data)) {
        arena_free(arena);
        return;
    }
    if (!error && BUG_GUARD(&guard)) {
        SnapshotOptions options = {.resolver = import_resolver_interface(check->resolver),
                                   .skip_checks = !owns,
                                   .card = check->options->card ? check->options->card
                                                                : settings->card};
        snapshot = snapshot_build(file->path, text, &options);
        check_snapshot(check, snapshot, settings, parts);
        bug_guard_end(&guard);
    } else if (!error) {
        report_problem(check->report, "%s: internal error: %s", file->path, guard.message);
    }
    snapshot_release(snapshot);
    arena_free(arena);
}

/// The times into the report, with what became slower where --fail-slower asks.
static void time_files(FileCheck *check) {
    const Options *options = check->options;
    Report *report = check->report;
    Arena *arena = report->arena;
    Comparison comparison = {.text = ""};
    double allowed;
    Error error = kept_allowed(arena, options, &allowed);
    Json *times = timed_files_run(check->timed);
    if (!error && options->compare_times && !timed_files_lack_setup(check->timed))
        error = kept_compare(arena, times, options, allowed, &comparison);
    if (error) report_problem(report, "%s", error);
    error = options->save_times && times_count(times)
                ? kept_write(arena, times, options, report->files.items, report->files.count)
                : NULL;
    if (error) report_problem(report, "%s", error);
    if (options->compare_times) kept_put(times, &comparison);
    if (options->fail_slower) timed_files_report(check->timed, &comparison);
    report->times = times;
    report->times_text =
        arena_printf(arena, "%s%s%s", lines_visible(arena, times_table(arena, times)),
                     *comparison.text ? "\n" : "", comparison.text);
}

static void check_files(FileCheck *check, const Options *options) {
    Report *report = check->report;
    FileList files =
        files_collect(report->arena, report, options->operands, options->operand_count);
    if (options->shard || options->results)
        shard_plan(report->arena, &files, options->grad, &check->shard);
    else
        shard_whole(report->arena, &files, &check->shard);
    if (options->shard && !options->quiet)
        say("%s", shard_text(report->arena, &check->shard, files.items.count));
    FileParts parts = {0};
    for (int count = check->shard.parts.count; parts.first < count; parts.first = parts.next) {
        int file = check->shard.parts.items[parts.first].file;
        while (parts.next < count && check->shard.parts.items[parts.next].file == file)
            parts.next++;
        report->at = file + 1;
        contain_enter(check->containment, files.items.items[file].path);
        check_file(check, &files.items.items[file], parts);
    }
    report->at = files.items.count + 1;
    contain_enter(check->containment, NULL);
    if (check->grad) grad_prove(check->grad);
    if (check->timed) time_files(check);
    report_sort(report);
}

/// What --time says, and what is said of times without it.
static Error times_refuse(Arena *arena, const Options *options) {
    double allowed;
    const char *lone = options->python          ? "--python"
                       : options->save_times    ? "--save-times"
                       : options->compare_times ? "--compare-times"
                       : options->fail_slower   ? "--fail-slower"
                       : options->reference     ? "--reference"
                                                : NULL;
    if (!options->time) return lone ? arena_printf(arena, "%s needs --time", lone) : NULL;
    if (options->shard || options->results)
        return "--time: the times of several machines are not merged; leave out --shard and --results";
    return kept_allowed(arena, options, &allowed);
}

static Error options_refuse(Arena *arena, const Options *options, Shard *shard) {
    Error error = names_refuse(arena, "--select", &options->select);
    if (!error) error = names_refuse(arena, "--ignore", &options->ignore);
    if (!error) error = levels_refuse(arena, "--severity", &options->severity);
    if (!error) error = card_refuse(arena, "--card", options->card);
    if (!error) error = outcome_refuse(options);
    if (!error) error = times_refuse(arena, options);
    if (!error) error = shard_parse(arena, options->shard, shard);
    if (!error && options->shard && (options->baseline || options->write_baseline))
        error = "--shard: a baseline is for all parts together; give it to --merge";
    if (!error && options->results && options->output &&
        strcmp(options->results, options->output) == 0)
        error = "--results and --output name the same file";
    return error;
}

/// The file of `--results`: with all findings, whatever a baseline knows.
static void write_results(const FileCheck *check) {
    Report *report = check->report;
    ResultsPart part = {check->shard.number, check->shard.count, check->shard.tree,
                        shard_words(report->arena, check->options)};
    Output output = {.path = check->options->results,
                     .is_ours = results_are_ours,
                     .is_forced = check->options->force,
                     .way_out = FORCE_HINT,
                     .inputs = report->files.items,
                     .input_count = report->files.count};
    Error error = output_write(report->arena, &output, results_text(report->arena, report, &part));
    if (error) report_problem(report, "%s", error);
}

static int check_all(const Options *options, Containment *containment) {
    Arena *arena = arena_new();
    Shard shard;
    Error error = options_refuse(arena, options, &shard);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Loop *loop = loop_new();
    uint64_t started = loop_now_ms(loop);
    Report report = {.arena = arena, .with_kernels = options->grad};
    FileCheck check = {.options = options,
                       .report = &report,
                       .settings = settings_cache_new(arena, &report),
                       .resolver = import_resolver_new(NULL),
                       .containment = containment,
                       .shard = shard};
    if (options->grad) check.grad = grad_new(arena, loop, &report, check.resolver, options);
    if (options->time) check.timed = timed_files_new(arena, options, &report, check.resolver);
    check_files(&check, options);
    report.seconds = (double)(loop_now_ms(loop) - started) / 1000;
    loop_free(loop);
    import_resolver_free(check.resolver);

    if (options->results) write_results(&check);
    int status = outcome_write(&report, options, NULL, 0);
    arena_free(arena);
    return status;
}

int command_check(const Options *options) {
    arena_keep_freed();
    return contain_run(options, check_all);
}
