// Each file is one snapshot, freed before the next; what is reported is copied out of it.
#include "server/settings/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/crash/contain.h"
#include "server/proofs/grad.h"
#include "server/report/formats.h"
#include "server/report/ours.h"
#include "server/settings/baseline.h"
#include "server/settings/result.h"
#include "server/settings/wanted.h"
#include "server/system/files.h"
#include "server/system/loop.h"
#include "server/text/resolve.h"
#include "server/text/sieve.h"

/// Whether colour goes to `stdout`.
static bool wants_color(const Options *options) {
    if (options->color != COLOR_AUTO) return options->color == COLOR_ALWAYS;
    const char *off = getenv("NO_COLOR");
    return !options->output && isatty(STDOUT_FILENO) && !(off && *off);
}

typedef struct FileCheck {
    const Options *options;
    Report *report;
    SettingsCache *settings;
    ImportResolver *resolver;
    Grad *grad;  // NULL without --grad
    Containment *containment;
} FileCheck;

static void check_snapshot(FileCheck *check, const Snapshot *snapshot, const Settings *settings) {
    report_take_snapshot(check->report, snapshot, settings, check->options);
    check->report->kernel_count += snapshot->kernels.count;
    if (check->grad) grad_derive(check->grad, snapshot, settings, NULL);
}

static void check_file(FileCheck *check, const FileItem *file) {
    Arena *arena = arena_new();
    const Settings *settings = settings_for(check->settings, file->path);
    Str text;
    if (!file->was_named && settings_exclude(settings, arena, file->path)) {
        arena_free(arena);
        return;
    }
    LIST_PUSH(check->report->arena, &check->report->files, file->path);
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
        SnapshotOptions options = {.resolver = import_resolver_interface(check->resolver)};
        snapshot = snapshot_build(file->path, text, &options);
        check_snapshot(check, snapshot, settings);
        bug_guard_end(&guard);
    } else if (!error) {
        report_problem(check->report, "%s: internal error: %s", file->path, guard.message);
    }
    snapshot_release(snapshot);
    arena_free(arena);
}

static int compare_findings(const void *left, const void *right) {
    const Finding *a = left, *b = right;
    int order = strcmp(a->place.file, b->place.file);
    if (order == 0) order = a->place.start.line - b->place.start.line;
    if (order == 0) order = a->place.start.column - b->place.start.column;
    if (order == 0) order = (int)a->severity - (int)b->severity;
    return order ? order : strcmp(a->message, b->message);
}

static void check_files(FileCheck *check, const Options *options) {
    Report *report = check->report;
    FileList files =
        files_collect(report->arena, report, options->operands, options->operand_count);
    for (LIST_EACH(int, i, files.items)) {
        contain_enter(check->containment, files.items.items[i].path);
        check_file(check, &files.items.items[i]);
    }
    contain_enter(check->containment, NULL);
    if (check->grad) grad_prove(check->grad);
    if (report->findings.count)
        qsort(report->findings.items, (size_t)report->findings.count,
              sizeof *report->findings.items, compare_findings);
}

static Error options_refuse(Arena *arena, const Options *options) {
    Error error = names_refuse(arena, "--select", &options->select);
    if (!error) error = names_refuse(arena, "--ignore", &options->ignore);
    if (!error) error = levels_refuse(arena, "--severity", &options->severity);
    if (!error && options->baseline && options->write_baseline)
        error = "--baseline and --write-baseline: give one of them";
    bool leaves_out = options->select.count || options->ignore.count || options->quiet;
    if (!error && options->update_baseline && !options->baseline)
        error = "--update-baseline needs --baseline FILE";
    if (!error && options->update_baseline && leaves_out)
        error = "--update-baseline needs all findings: leave out --select, --ignore and --quiet";
    return error;
}

static int check_all(const Options *options, Containment *containment) {
    Arena *arena = arena_new();
    Error error = options_refuse(arena, options);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Loop *loop = loop_new();
    uint64_t started = loop_now_ms(loop);
    Report report = {.arena = arena, .with_kernels = options->grad};
    FileCheck check = {
        options, &report,    settings_cache_new(arena, &report), import_resolver_new(NULL),
        NULL,    containment};
    if (options->grad) check.grad = grad_new(arena, loop, &report, check.resolver, options);
    check_files(&check, options);
    report.seconds = (double)(loop_now_ms(loop) - started) / 1000;
    loop_free(loop);
    import_resolver_free(check.resolver);

    if (options->baseline) error = baseline_apply(&report, options);
    if (!error && options->write_baseline) error = baseline_write(&report, options);
    if (error) report_problem(&report, "%s", error);
    Buffer out = buffer_new(arena);
    FormatOptions format = {wants_color(options), options->quiet};
    report_write(&out, &report, (Format)options->format, &format);
    Output output = {
        .is_ours = report_is_ours, .inputs = report.files.items, .input_count = report.files.count};
    int status = result_write(arena, options, output, buffer_text(&out), report_status(&report));
    arena_free(arena);
    return status;
}

int command_check(const Options *options) { return contain_run(options, check_all); }
