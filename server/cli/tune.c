// `--tune FILE[:KERNEL]`: the fastest blocks, warps and stages of forward kernels on this machine's GPU, and the list for their autotune.
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "server/report/diff.h"
#include "server/settings/result.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/text/sieve.h"
#include "server/times/timed_kernel.h"
#include "server/times/tuned_list.h"

enum { USUAL_COUNT = 3, MOST_TOLD = 8 };

typedef struct TuneRun {
    const Options *options;
    Arena *arena;
    Loop *loop;
    const char *path;
    const char *const *runner, *const *python;
    Snapshot *snapshot;
    const Kernel *kernel;
    Buffer out;
    Str text;  // of the file, with what was tuned so far
    bool has_failed, has_edit;
    const char *problem, *summary;  // of the last one, for an editor
} TuneRun;

static void put_variant(Buffer *out, const TunedVariant *variant, double first) {
    buffer_printf(out, "  %9.4g ms (%.4g to %.4g) %6.2fx  %s\n", variant->median_ms,
                  variant->low_ms, variant->high_ms, first / variant->median_ms, variant->text);
}

static void put_result(TuneRun *run, const TuningResult *result) {
    Buffer *out = &run->out;
    double first = result->first->median_ms;
    buffer_printf(out, "%s on %s, Triton %s\n  %s\n", result->kernel, result->device,
                  result->triton, result->line);
    buffer_puts(out, "as it is:\n");
    put_variant(out, result->first, first);
    buffer_puts(out, "the fastest:\n");
    for (int i = 0; i < result->best_count && i < MOST_TOLD; i++)
        put_variant(out, result->best[i], first);
    buffer_printf(out, "%d tried, %d not tried as their tiles do not fit%s\n", result->tried,
                  result->pruned, result->was_cut ? "; the search was cut short" : "");
    for (int i = 0; i < result->fixed_count; i++) buffer_printf(out, "  %s\n", result->fixed[i]);
    for (int i = 0; i < result->dropped_count; i++)
        buffer_printf(out, "  dropped: %s: %s\n", result->dropped[i]->text,
                      result->dropped[i]->problem);
}

static void tune_progress(void *context, int done, const char *text) {
    const TuneRun *run = context;
    if (!run->options->quiet) say("%s: %d tried, now %s", run->kernel->function->name, done, text);
}

static void tune_done(void *context, const TuningResult *result, const char *problem) {
    TuneRun *run = context;
    loop_stop_later(run->loop);
    if (!result) {
        run->has_failed = true;
        run->problem = arena_strdup(run->arena, problem);
        if (!run->options->from_stdin) say("%s: %s", run->kernel->function->name, problem);
        return;
    }
    run->summary = arena_printf(run->arena, "%s: %.4g ms with %s, before %.4g ms", result->kernel,
                                result->best_count ? result->best[0]->median_ms : 0.0,
                                result->best_count ? result->best[0]->text : "nothing",
                                result->first->median_ms);
    put_result(run, result);
    int most = run->options->top_k ? run->options->top_k : USUAL_COUNT;
    ActionEdit edit = tuned_list_edit(run->arena, run->snapshot, run->kernel, result, most);
    if (edit.refusal) {
        run->summary = arena_printf(run->arena, "%s; %s", run->summary, edit.refusal);
        const char *list = tuned_list_text(run->arena, result, most);
        buffer_printf(&run->out, *list ? "%s:\n%s\n" : "%s%s\n", edit.refusal, list);
        return;
    }
    run->text = edits_applied(run->arena, run->snapshot->source->text, &edit);
    run->has_edit = true;
}

static Snapshot *analyse(TuneRun *run, ImportResolver *resolver) {
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver)};
    return snapshot_build(run->path, run->text, &options);
}

/// One kernel of the text as it is now; false where there is none of that number.
static bool tune_kernel(TuneRun *run, ImportResolver *resolver, SettingsCache *settings,
                        const char *only, int number, int *count) {
    run->snapshot = analyse(run, resolver);
    run->kernel = NULL;
    int seen = 0;
    for (LIST_EACH(int, i, run->snapshot->kernels)) {
        const Kernel *kernel = &run->snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (only && !str_is(kernel->definition->name, only)) continue;
        if (!only && !str_contains(kernel->definition->comment, STR("# tad time:"))) continue;
        if (seen++ == number) run->kernel = kernel;
    }
    *count = seen;
    if (run->kernel) {
        ProofFile file = {.source = run->snapshot->source,
                          .settings = settings_for(settings, run->path),
                          .imports = import_resolver_closure(resolver, run->arena, run->path)};
        TuningEvents events = {tune_progress, tune_done, run};
        tuning_start(run->loop, run->snapshot, run->kernel, &file, run->runner, run->python,
                     run->options->time_limit_s, events);
        loop_run_with_signals(run->loop);
    }
    bool was_one = run->kernel != NULL;
    snapshot_release(run->snapshot);
    return was_one;
}

static void tune_all(TuneRun *run, const char *only) {
    Report report = {.arena = run->arena};
    SettingsCache *settings = settings_cache_new(run->arena, &report);
    int number = 0, count = 0;
    for (;; number++) {
        ImportResolver *resolver = import_resolver_new(NULL);
        bool was_one = tune_kernel(run, resolver, settings, only, number, &count);
        import_resolver_free(resolver);
        if (!was_one) break;
    }
    if (number) return;
    run->has_failed = true;
    run->problem = "there is no such kernel with a line `# tad time: ...`";
    if (run->options->from_stdin) return;
    if (only)
        say("%s has no forward kernel `%s`", run->path, only);
    else
        say("%s: the sizes to tune for are not said: write `# tad time: ...` above a kernel",
            run->path);
}

/// In the place of the file, where that is still as it was read.
static Error replace_file(Arena *arena, const char *path, Str before, Str text) {
    Str now;
    Error error = file_read(arena, path, &now);
    if (error) return error;
    if (!str_equal(now, before))
        return arena_printf(arena, "%s: has changed in the meantime; nothing was written", path);
    Output output = {.path = path, .is_forced = true};
    return output_write(arena, &output, str_dup(arena, text));
}

/// Where the next line begins.
static size_t line_end(Str text, size_t at) {
    while (at < text.size && text.data[at] != '\n') at++;
    return at < text.size ? at + 1 : at;
}

/// The lines that differ, as one edit: {"line", "end", "text"}.
static Json *changed_lines(Arena *arena, Str before, Str after) {
    size_t start = 0, end = 0;
    int first = 0, until;
    for (;;) {
        size_t next = line_end(before, start);
        bool is_same = next > start && next <= after.size &&
                       memcmp(before.data + start, after.data + start, next - start) == 0;
        if (!is_same) break;
        start = next;
        first++;
    }
    size_t most = (before.size < after.size ? before.size : after.size) - start;
    while (end < most && before.data[before.size - 1 - end] == after.data[after.size - 1 - end])
        end++;
    // Back to the end of a line.
    while (end && before.data[before.size - end - 1] != '\n') end--;
    until = first;
    for (size_t at = start; at < before.size - end; at = line_end(before, at)) until++;
    Json *edits = json_array(arena), *edit = json_object(arena);
    json_set_number(edit, "line", first);
    json_set_number(edit, "end", until);
    json_set_string(edit, "text",
                    arena_strndup(arena, after.data + start, after.size - end - start));
    json_push(edits, edit);
    return edits;
}

static int answer_editor(const TuneRun *run, Str before) {
    Arena *arena = run->arena;
    Json *json = json_object(arena);
    if (run->has_failed) {
        json_set_string(json, "problem", run->problem);
    } else {
        json_set_string(json, "summary", run->summary);
        json_set_string(json, "report", buffer_text((Buffer *)(uintptr_t)&run->out));
        if (run->has_edit) json_set(json, "edits", changed_lines(arena, before, run->text));
    }
    puts(json_print(arena, json, false));
    return run->has_failed ? STATUS_TROUBLE : STATUS_CLEAN;
}

static int tune_end(TuneRun *run, Str before) {
    Arena *arena = run->arena;
    if (run->options->from_stdin) return answer_editor(run, before);
    int status = run->has_failed ? STATUS_TROUBLE : STATUS_CLEAN;
    if (run->has_edit && run->options->write) {
        Error error = replace_file(arena, run->path, before, run->text);
        if (error) {
            say("%s", error);
            status = STATUS_TROUBLE;
        }
    } else if (run->has_edit) {
        buffer_puts(&run->out, diff_unified(arena, run->path, str_dup(arena, before), run->path,
                                            str_dup(arena, run->text)));
        if (!run->options->diff && !run->options->quiet)
            say("%s", "--write writes it into the file");
    }
    Output output = {.inputs = &run->path, .input_count = 1};
    return result_write(arena, run->options, output, lines_visible(arena, buffer_text(&run->out)),
                        status);
}

/// All of stdin.
static Error read_stdin(Arena *arena, Str *text) {
    Buffer all = buffer_new(arena);
    char piece[4096];
    for (size_t size; (size = fread(piece, 1, sizeof piece, stdin)) > 0;) {
        buffer_add(&all, piece, size);
        if (all.size > FILE_LARGEST_BYTES) return "the text is over 10 MB";
    }
    *text = (Str){buffer_text(&all), all.size};
    return utf8_find_invalid(text->data, text->size) ? "the text is no UTF-8" : NULL;
}

int command_tune(const Options *options) {
    Arena *arena = arena_new();
    CommandTarget target = target_of(arena, options->operands[0]);
    TuneRun run = {
        .options = options, .arena = arena, .path = target.path, .out = buffer_new(arena)};
    Str text = {0};
    Error error = options->write && options->diff ? "--write and --diff: give one of them"
                  : options->from_stdin           ? read_stdin(arena, &text)
                                                  : file_read(arena, target.path, &text);
    const char *runner = error ? NULL : runner_find(arena, options->runner, &error);
    int status = STATUS_TROUBLE;
    if (error) {
        say("%s", error);
    } else {
        run.loop = loop_new();
        run.runner = runner_command(arena, runner);
        run.python = timing_python(arena, options->python);
        run.text = text;
        tune_all(&run, target.kernel);
        loop_free(run.loop);
        status = tune_end(&run, text);
    }
    arena_free(arena);
    return status;
}
