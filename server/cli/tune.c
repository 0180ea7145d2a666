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
    Str text;             // of the file, with what was tuned so far
    Str module;           // of `--module`, likewise
    Snapshot *derived;    // of that text; NULL: the kernel itself is tuned
    const Kernel *tuned;  // it, or a kernel of `derived`
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
    if (!run->options->quiet) say("%s: %d tried, now %s", run->tuned->function->name, done, text);
}

static void tune_done(void *context, const TuningResult *result, const char *problem) {
    TuneRun *run = context;
    loop_stop_later(run->loop);
    if (!result) {
        run->has_failed = true;
        run->problem = arena_strdup(run->arena, problem);
        if (!run->options->from_stdin) say("%s: %s", run->tuned->function->name, problem);
        return;
    }
    run->summary = arena_printf(run->arena, "%s: %.4g ms with %s, before %.4g ms", result->kernel,
                                result->best_count ? result->best[0]->median_ms : 0.0,
                                result->best_count ? result->best[0]->text : "nothing",
                                result->first->median_ms);
    put_result(run, result);
    int most = run->options->top_k ? run->options->top_k : USUAL_COUNT;
    const Snapshot *snapshot = run->derived ? run->derived : run->snapshot;
    ActionEdit edit = tuned_list_edit(run->arena, snapshot, run->tuned, result, most);
    if (edit.refusal) {
        run->summary = arena_printf(run->arena, "%s; %s", run->summary, edit.refusal);
        const char *list = tuned_list_text(run->arena, result, most);
        buffer_printf(&run->out, *list ? "%s:\n%s\n" : "%s%s\n", edit.refusal, list);
        return;
    }
    *(run->derived ? &run->module : &run->text) =
        edits_applied(run->arena, snapshot->source->text, &edit);
    run->has_edit = true;
}

static Snapshot *analyse(const char *path, Str text, ImportResolver *resolver) {
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver)};
    return snapshot_build(path, text, &options);
}

/// A worker of somebody's own may be a node of a cluster: one of them unless more are asked for.
static int jobs_of(const Options *options) {
    enum { CORES_EACH = 2, MOST_JOBS = 8 };
    if (options->jobs || options->runner) return options->jobs;
    int jobs = processor_count() / CORES_EACH;
    return jobs > MOST_JOBS ? MOST_JOBS : jobs;
}

static void tune_one(TuneRun *run, const TuningLaunch *launch, const ProofFile *file) {
    TuningEvents events = {tune_progress, tune_done, run};
    run->tuned = launch ? launch->kernel : run->kernel;
    tuning_start(run->loop, run->snapshot, run->kernel, launch, file, run->runner, run->python,
                 jobs_of(run->options), run->options->time_limit_s, events);
    loop_run_with_signals(run->loop);
}

/// Where the module has the kernel as it is derived now; NULL, and a word about it, otherwise.
static const Kernel *derived_kernel(TuneRun *run, const char *name, const char *text) {
    for (LIST_EACH(int, i, run->derived->kernels)) {
        const Kernel *kernel = &run->derived->kernels.items[i];
        if (strcmp(kernel->function->name, name) != 0) continue;
        if (strstr(text, str_dup(run->arena, source_slice(kernel->definition->range))))
            return kernel;
        say("%s: `%s` is not what is derived from %s now: write it anew with --backward",
            run->options->module, name, run->path);
        return NULL;
    }
    say("%s has no kernel `%s`: write it with --backward", run->options->module, name);
    return NULL;
}

/// What the module's launch says of a derived kernel.
static Json *passed_numbers(const TuneRun *run, const Kernel *kernel) {
    static const char *const options[] = {"num_warps", "num_stages"};
    enum { OPTIONS = sizeof options / sizeof *options };
    const Function *function = kernel->function;
    Json *passed = json_object(run->arena);
    for (int i = 0; i < OPTIONS + function->parameter_count; i++) {
        const char *name = i < OPTIONS ? options[i] : function->parameters[i - OPTIONS].name;
        int number = tuned_launch_number(run->arena, run->derived, kernel, name);
        if (number > 0) json_set_number(passed, name, number);
    }
    return passed;
}

/// The kernels of its backward, one after the other.
static void tune_backward(TuneRun *run, ImportResolver *resolver, const ProofFile *file) {
    enum { LIMIT_S = 60 };
    TimedKernel timed = timed_kernel(run->arena, run->snapshot, run->kernel, file, 0, LIMIT_S);
    if (timed.no_backward) {
        say("%s: no backward: %s", timed.name, timed.no_backward);
        run->has_failed = true;
        return;
    }
    const Json *launches = json_get(json_get(timed.params[0], "backward"), "launches");
    for (int i = 0; launches && i < launches->count; i++) {
        const char *name = json_get_string(launches->items[i], "kernel", "");
        run->derived = analyse(run->options->module, run->module, resolver);
        TuningLaunch launch = {derived_kernel(run, name, timed.module), &timed, NULL};
        if (launch.kernel) launch.passed = passed_numbers(run, launch.kernel);
        if (launch.kernel)
            tune_one(run, &launch, file);
        else
            run->has_failed = true;
        snapshot_release(run->derived);
        run->derived = NULL;
    }
}

/// One kernel of the text as it is now; false where there is none of that number.
static bool tune_kernel(TuneRun *run, ImportResolver *resolver, SettingsCache *settings,
                        const char *only, int number, int *count) {
    run->snapshot = analyse(run->path, run->text, resolver);
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
        if (run->options->module)
            tune_backward(run, resolver, &file);
        else
            tune_one(run, NULL, &file);
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

/// `before`: of the file that changes.
static int tune_end(TuneRun *run, Str before) {
    Arena *arena = run->arena;
    if (run->options->from_stdin) return answer_editor(run, before);
    const char *path = run->options->module ? run->options->module : run->path;
    Str text = run->options->module ? run->module : run->text;
    int status = run->has_failed ? STATUS_TROUBLE : STATUS_CLEAN;
    if (run->has_edit && run->options->write) {
        Error error = replace_file(arena, path, before, text);
        if (error) {
            say("%s", error);
            status = STATUS_TROUBLE;
        }
    } else if (run->has_edit) {
        buffer_puts(&run->out,
                    diff_unified(arena, path, str_dup(arena, before), path, str_dup(arena, text)));
        if (!run->options->diff && !run->options->quiet)
            say("%s", "--write writes it into the file");
    }
    const char *inputs[] = {run->path, run->options->module};
    Output output = {.inputs = inputs, .input_count = run->options->module ? 2 : 1};
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
                  : options->module && options->from_stdin
                      ? "--module and --stdin: give one of them"
                  : options->from_stdin ? read_stdin(arena, &text)
                                        : file_read(arena, target.path, &text);
    if (!error && options->module) error = file_read(arena, options->module, &run.module);
    const char *runner = error ? NULL : runner_find(arena, options->runner, &error);
    int status = STATUS_TROUBLE;
    if (error) {
        say("%s", error);
    } else {
        run.loop = loop_new();
        run.runner = runner_command(arena, runner);
        run.python = timing_python(arena, options->python);
        run.text = text;
        Str module = run.module;
        tune_all(&run, target.kernel);
        loop_free(run.loop);
        status = tune_end(&run, options->module ? module : text);
    }
    arena_free(arena);
    return status;
}
