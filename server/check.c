// Each file is one snapshot, freed before the next; what is reported is copied out of it.
#include "server/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/contain.h"
#include "server/files.h"
#include "server/formats.h"
#include "server/grad.h"
#include "server/loop.h"
#include "server/resolve.h"
#include "server/suppress.h"

/// Whether colour goes to `stdout`.
static bool wants_color(const Options *options) {
    if (options->color != COLOR_AUTO) return options->color == COLOR_ALWAYS;
    const char *off = getenv("NO_COLOR");
    return !options->output && isatty(STDOUT_FILENO) && !(off && *off);
}

int output_write(Arena *arena, const Options *options, const char *text, int status) {
    if (options->output) {
        Error error = file_write(arena, options->output, text);
        if (!error) return status;
        say("%s", error);
        return STATUS_TROUBLE;
    }
    fputs(text, stdout);
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    if (errno == EPIPE) return status;  // `| head` has seen enough
    say("writing to stdout failed");
    return STATUS_TROUBLE;
}

static bool same_finding(const Finding *a, const Finding *b) {
    return a->row == b->row &&
           memcmp(&a->place.start, &b->place.start, sizeof a->place.start) == 0 &&
           strcmp(a->place.file, b->place.file) == 0 && strcmp(a->message, b->message) == 0;
}

/// A helper's finding shows up again in each file that calls it.
static bool is_repeated(const Report *report, const Finding *finding) {
    for (LIST_EACH(int, i, report->findings))
        if (same_finding(&report->findings.items[i], finding)) return true;
    return false;
}

static Finding finding_of(Arena *arena, const Diagnostic *diagnostic) {
    Finding finding = {
        .row = &diagnostic_rows[diagnostic->id],
        .severity = diagnostic->severity,
        .place = place_of(arena, diagnostic->range),
        .message = arena_strdup(arena, diagnostic->message),
        .notes = ARENA_ARRAY(arena, Note, diagnostic->related_count),
    };
    for (int i = 0; i < diagnostic->related_count; i++) {
        const Related *related = &diagnostic->related[i];
        if (!related->range.source) continue;
        finding.notes[finding.note_count++] =
            (Note){place_of(arena, related->range), arena_strdup(arena, related->message)};
    }
    return finding;
}

bool diagnostic_is_wanted(const Diagnostic *diagnostic, const Settings *settings,
                          const Options *options, bool *suppressed) {
    const DiagnosticRow *row = &diagnostic_rows[diagnostic->id];
    *suppressed = false;
    if (!diagnostic->range.source || !settings_want(settings, options, row)) return false;
    if (options->quiet && diagnostic->severity == SEVERITY_HINT) return false;
    *suppressed = is_suppressed(diagnostic->range, row);
    return !*suppressed;
}

void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options) {
    for (LIST_EACH(int, i, diagnostics->list)) {
        const Diagnostic *diagnostic = &diagnostics->list.items[i];
        bool suppressed;
        bool wanted = diagnostic_is_wanted(diagnostic, settings, options, &suppressed);
        report->suppressed += suppressed;
        if (!wanted) continue;
        Finding finding = finding_of(report->arena, diagnostic);
        if (!is_repeated(report, &finding)) LIST_PUSH(report->arena, &report->findings, finding);
    }
}

typedef struct Check {
    const Options *options;
    Report *report;
    SettingsCache *settings;
    ImportResolver *resolver;
    Grad *grad;  // NULL without --grad
    Containment *containment;
} Check;

static void check_snapshot(Check *check, const Snapshot *snapshot, const Settings *settings) {
    report_take(check->report, &snapshot->diagnostics, settings, check->options);
    check->report->kernel_count += snapshot->kernels.count;
    if (check->grad) grad_derive(check->grad, snapshot, settings, NULL);
}

static bool is_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether the `](` at `close` may end the grid of a launch: a name stands before its bracket, unlike in Markdown's links.
static bool may_launch(const char *text, const char *close) {
    enum { LONGEST_GRID = 300 };
    int depth = 1;
    const char *at = close;
    while (at > text && depth) {
        if (close - at > LONGEST_GRID) return true;
        at--;
        depth += (*at == ']') - (*at == '[');
    }
    return at > text && depth == 0 && is_name(at[-1]);
}

/// Kernels need one of these words, launches `name[...](`.
bool text_may_concern_kernels(const char *text) {
    if (strstr(text, "triton") || strstr(text, "jit")) return true;
    for (const char *at = text; (at = strstr(at, "tl.")); at++)
        if (at == text || !is_name(at[-1])) return true;
    for (const char *at = text; (at = strstr(at, "](")); at++)
        if (may_launch(text, at)) return true;
    return false;
}

static void check_file(Check *check, const FileItem *file) {
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

static void check_files(Check *check, const Options *options) {
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
    return error ? error : names_refuse(arena, "--ignore", &options->ignore);
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
    Check check = {
        options, &report,    settings_cache_new(arena, &report), import_resolver_new(NULL),
        NULL,    containment};
    if (options->grad) check.grad = grad_new(arena, loop, &report, check.resolver, options);
    check_files(&check, options);
    report.seconds = (double)(loop_now_ms(loop) - started) / 1000;
    loop_free(loop);
    import_resolver_free(check.resolver);

    Buffer out = buffer_new(arena);
    FormatOptions format = {wants_color(options), options->quiet};
    report_write(&out, &report, (Format)options->format, &format);
    int status = output_write(arena, options, buffer_text(&out), report_status(&report));
    arena_free(arena);
    return status;
}

int command_check(const Options *options) { return contain_run(options, check_all); }
