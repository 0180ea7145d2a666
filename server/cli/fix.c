// `--fix PATH...`: the safe fixes, round after round until none is left, each file written whole or not at all.
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "codeactions/codeactions.h"
#include "server/report/diff.h"
#include "server/settings/options.h"
#include "server/settings/result.h"
#include "server/settings/wanted.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/text/resolve.h"
#include "server/text/sieve.h"

/// A fix may show what the next one is for. More rounds than that are two fixes that undo each other.
enum { MOST_ROUNDS = 16 };

typedef struct FixRun {
    const Options *options;
    Report *report;
    SettingsCache *cache;
    ImportResolver *resolver;
    Buffer out;
    int fixes, files;
} FixRun;

typedef struct FileFix {
    FixRun *run;
    Arena *arena;
    const Settings *settings;
    const char *path;
    Buffer made;  // one line for each fix
    int count;
} FileFix;

static bool is_wanted(void *context, const Diagnostic *diagnostic) {
    const FileFix *fix = context;
    Diagnostic copy = *diagnostic;
    bool suppressed;
    // A hint that is not shown under --quiet is fixed all the same.
    Options options = *fix->run->options;
    options.quiet = false;
    Filter filter = filter_of(fix->arena, fix->settings, &options);
    return filter_take(&filter, &copy, &suppressed);
}

static int count_wrong(const Snapshot *snapshot) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += snapshot->diagnostics.list.items[i].severity <= SEVERITY_WARNING;
    return count;
}

static void note_made(FileFix *fix, const Snapshot *snapshot, const ActionEdit *edit) {
    for (LIST_EACH(int, i, edit->made)) {
        const FixMade *made = &edit->made.items[i];
        int line, column;
        source_position(snapshot->source, made->diagnostic->range.start, &line, &column);
        buffer_printf(&fix->made, "%s:%d: %s: %s\n", text_visible(fix->arena, fix->path), line + 1,
                      diagnostic_rows[made->diagnostic->id].name,
                      text_visible(fix->arena, made->label));
        fix->count++;
    }
}

static Snapshot *analyse(FileFix *fix, Str text) {
    SnapshotOptions options = {.resolver = import_resolver_interface(fix->run->resolver)};
    return snapshot_build(fix->path, text, &options);
}

/// The text after all rounds. What two fixes together make worse is not done.
static Str fixed_text(FileFix *fix, Str text) {
    Snapshot *snapshot = analyse(fix, text);
    bool is_broken = snapshot->module->has_syntax_errors;
    if (is_broken) say("%s: has a syntax error: nothing is fixed there", fix->path);
    for (int round = 0; round < MOST_ROUNDS && !is_broken; round++) {
        ActionEdit edit = actions_fix_all(fix->arena, snapshot, is_wanted, fix);
        if (edit.edits.count == 0) break;
        Str next = edits_applied(fix->arena, text, &edit);
        Snapshot *after = analyse(fix, next);
        if (count_wrong(after) > count_wrong(snapshot)) {
            snapshot_release(after);
            break;
        }
        note_made(fix, snapshot, &edit);
        snapshot_release(snapshot);
        snapshot = after;
        text = next;
    }
    snapshot_release(snapshot);
    return text;
}

/// In the place of the file, where that is still as it was read.
static Error replace_file(Arena *arena, const char *path, Str before, Str text) {
    Str now;
    Error error = file_read(arena, path, &now);
    if (error) return error;
    if (!str_equal(now, before))
        return arena_printf(arena, "%s: has changed in the meantime; nothing was written", path);
    Output output = {.path = path, .is_forced = true};
    return output_write(arena, &output, text.data);
}

static void fix_text(FileFix *fix, Str text) {
    FixRun *run = fix->run;
    BugGuard guard;
    if (!BUG_GUARD(&guard)) {
        report_problem(run->report, "%s: internal error: %s; nothing was written", fix->path,
                       guard.message);
        return;
    }
    Str fixed = fixed_text(fix, text);
    bug_guard_end(&guard);
    if (str_equal(fixed, text)) return;
    if (run->options->diff) {
        const char *name = text_visible(fix->arena, fix->path);
        buffer_puts(&run->out, lines_visible(fix->arena, diff_unified(fix->arena, name, text.data,
                                                                      name, fixed.data)));
    } else {
        Error error = replace_file(fix->arena, fix->path, text, fixed);
        if (error) {
            report_problem(run->report, "%s", error);
            return;
        }
        if (!run->options->quiet) buffer_puts(&run->out, buffer_text(&fix->made));
    }
    run->fixes += fix->count;
    run->files++;
}

static void fix_file(FixRun *run, const FileItem *file) {
    Arena *arena = arena_new();
    FileFix fix = {.run = run,
                   .arena = arena,
                   .settings = settings_for(run->cache, file->path),
                   .path = file->path,
                   .made = buffer_new(arena)};
    Str text;
    bool is_excluded = !file->was_named && settings_exclude(fix.settings, arena, file->path);
    Error error = is_excluded ? NULL : file_read(arena, file->path, &text);
    if (error)
        report_problem(run->report, "%s", error);
    else if (!is_excluded && text_may_concern_kernels(text.data))
        fix_text(&fix, text);
    arena_free(arena);
}

static int fix_status(const FixRun *run) {
    if (run->report->problems.count) return STATUS_TROUBLE;
    return run->options->diff && run->fixes ? STATUS_FINDINGS : STATUS_CLEAN;
}

int command_fix(const Options *options) {
    Arena *arena = arena_new();
    Error error = names_refuse(arena, "--select", &options->select);
    if (!error) error = names_refuse(arena, "--ignore", &options->ignore);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    Report report = {.arena = arena};
    FixRun run = {.options = options,
                  .report = &report,
                  .cache = settings_cache_new(arena, &report),
                  .resolver = import_resolver_new(NULL),
                  .out = buffer_new(arena)};
    FileList files = files_collect(arena, &report, options->operands, options->operand_count);
    for (LIST_EACH(int, i, files.items)) fix_file(&run, &files.items.items[i]);
    import_resolver_free(run.resolver);
    if (!options->quiet)
        say("%d fix%s in %d file%s%s", run.fixes, run.fixes == 1 ? "" : "es", run.files,
            run.files == 1 ? "" : "s", options->diff ? ", none of them written" : "");
    int status = result_write(arena, options, (Output){0}, buffer_text(&run.out), fix_status(&run));
    arena_free(arena);
    return status;
}
