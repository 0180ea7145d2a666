// `--time FILE[:KERNEL]`: forward and backward of each forward kernel on this machine's GPU, one line each.
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "server/report/formats.h"
#include "server/settings/result.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/times/reference.h"
#include "server/times/timed_kernel.h"

typedef struct TimeRun {
    const Options *options;
    Arena *arena;
    Loop *loop;
    const Snapshot *snapshot;
    ProofFile file;
    TimingRequest request;
    Buffer out;
    Json *results;       // of all kernels, for the format json
    const char *kernel;  // being timed
    TimedKernel timed;   // the same
    bool has_device, failed;
} TimeRun;

static void put_mix(Buffer *out, const Json *line) {
    const char *between = " (";
    for (int i = 0; i < line->count; i++) {
        const char *key = str_dup(out->arena, line->keys[i]);
        bool is_kind = line->items[i]->kind == JSON_NUMBER && strcmp(key, "line") != 0 &&
                       strcmp(key, "instructions") != 0;
        if (!is_kind) continue;
        for (char *at = strchr(key, '_'); at; at = strchr(at, '_')) *at = ' ';
        buffer_printf(out, "%s%s %d", between, key, (int)line->items[i]->number);
        between = ", ";
    }
    if (*between == ',') buffer_putc(out, ')');
}

/// The line with the most instructions that is not told yet; NULL: none is left.
static const Json *largest_line(const Json *lines, bool *told) {
    int best = -1, most = 0;
    for (int i = 0; i < lines->count; i++) {
        int count = json_get_int(lines->items[i], "instructions", 0);
        if (told[i] || count <= most || !json_get_int(lines->items[i], "line", 0)) continue;
        best = i;
        most = count;
    }
    if (best < 0) return NULL;
    told[best] = true;
    return lines->items[best];
}

/// What the compiled kernel has most of, by line. These are counts of its text: how often a loop runs is no part of them.
static void put_lines(Buffer *out, const Json *kernel) {
    enum { MOST_LINES = 4, LONGEST = 60 };
    const Json *lines = json_get(kernel, "lines");
    if (!lines || lines->kind != JSON_ARRAY || !lines->count) return;
    int all = 0;
    for (int i = 0; i < lines->count; i++) all += json_get_int(lines->items[i], "instructions", 0);
    buffer_printf(out, "    %d instructions, most of them for (static counts)\n", all);
    bool *told = ARENA_ARRAY(out->arena, bool, lines->count);
    for (int i = 0; i < MOST_LINES; i++) {
        const Json *line = largest_line(lines, told);
        if (!line) break;
        bool is_derived = json_get_bool(line, "is_derived", false);
        buffer_printf(out, "      %s%d: %d", is_derived ? "the derived text's line " : "line ",
                      json_get_int(line, "line", 0), json_get_int(line, "instructions", 0));
        put_mix(out, line);
        buffer_printf(out, "  %.*s\n", LONGEST, json_get_string(line, "text", ""));
    }
}

/// A row for each kernel of one direction: its time where there are several, and what it takes of a processor.
static void put_kernels(Buffer *out, const Json *direction) {
    const Json *kernels = json_get(direction, "kernels");
    for (int i = 0; kernels && kernels->kind == JSON_ARRAY && i < kernels->count; i++) {
        const Json *kernel = kernels->items[i];
        const Json *times = json_get(kernel, "median_ms") ? kernel : direction;
        buffer_printf(out, "  %-40s %8.4f ms (%.4f to %.4f, %d runs), %d warps, %d registers",
                      json_get_string(kernel, "kernel", ""), json_get_number(times, "median_ms", 0),
                      json_get_number(times, "low_ms", 0), json_get_number(times, "high_ms", 0),
                      json_get_int(times, "runs", 0), json_get_int(kernel, "warps", 0),
                      json_get_int(kernel, "registers", 0));
        const char *tiles = json_get_string(kernel, "tiles", NULL);
        if (tiles) buffer_printf(out, ", %s", tiles);
        int shared = json_get_int(kernel, "shared_bytes", 0),
            spilled = json_get_int(kernel, "spilled_bytes", 0);
        if (shared) buffer_printf(out, ", %d bytes shared", shared);
        if (spilled) buffer_printf(out, ", %d bytes of a thread spilled", spilled);
        double occupancy = json_get_number(kernel, "occupancy", 0);
        if (occupancy > 0)
            buffer_printf(out, ", occupancy %.0f %% at most, %.3g waves", 100 * occupancy,
                          json_get_number(kernel, "waves", 0));
        buffer_putc(out, '\n');
        put_lines(out, kernel);
    }
}

/// What the tensors of each direction take at once.
static void put_memory(Buffer *out, const Json *result) {
    static const char *const names[] = {"forward", "backward"};
    static const double MIB = 1 << 20;
    const char *told = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double bytes = json_get_number(json_get(result, names[i]), "peak_bytes", 0);
        if (bytes > 0)
            told = arena_printf(out->arena, "%s%s%s %.4g MiB", told, *told ? ", " : "", names[i],
                                bytes / MIB);
    }
    if (*told) buffer_printf(out, "  memory of the tensors at once: %s\n", told);
}

static void put_meters(Buffer *out, const Json *meters) {
    if (!json_get(meters, "clock_mhz")) return;
    buffer_printf(
        out, "  under this load: %.0f MHz, memory %.0f MHz, %.0f W, %.0f degrees\n",
        json_get_number(meters, "clock_mhz", 0), json_get_number(meters, "memory_clock_mhz", 0),
        json_get_number(meters, "power_w", 0), json_get_number(meters, "temperature_c", 0));
}

static void timing_done(void *context, const Json *result, const char *problem) {
    TimeRun *run = context;
    loop_stop_later(run->loop);
    int line;
    if (!result) {
        run->failed = true;
        say("%s: %s", run->kernel, timed_kernel_problem(run->arena, &run->timed, problem, &line));
        return;
    }
    Json *kept = timed_kernel_result(run->arena, &run->timed, result);
    result = kept;
    json_set_string(kept, "kernel", run->kernel);
    json_set_string(kept, "summary", timing_summary(run->arena, result));
    json_push(run->results, kept);
    if (!run->has_device)
        buffer_printf(&run->out, "%s, Triton %s\n", json_get_string(result, "device", "GPU"),
                      json_get_string(result, "triton", "?"));
    run->has_device = true;
    buffer_printf(&run->out, "%-32s %s\n%s\n", run->kernel, timing_summary(run->arena, result),
                  json_get_string(result, "text", ""));
    put_kernels(&run->out, json_get(result, "forward"));
    put_kernels(&run->out, json_get(result, "backward"));
    put_memory(&run->out, result);
    buffer_puts(&run->out, reference_text(run->arena, result, "  "));
    put_meters(&run->out, json_get(result, "meters"));
}

static void time_kernel(TimeRun *run, const Kernel *kernel) {
    TimedKernel timed = timed_kernel(run->arena, run->snapshot, kernel, &run->file,
                                     run->options->seed, run->options->time_limit_s);
    run->kernel = timed.name;
    run->timed = timed;
    if (timed.no_backward) say("%s: no backward: %s", run->kernel, timed.no_backward);
    run->request.params = timed.params[0];
    run->request.module = timed.module;
    run->request.reference =
        reference_of(run->arena, run->options->reference, str_from(timed.comment), timed.name);
    run->request.only_launched = timed.no_backward != NULL;
    timing_start(run->loop, &run->request, timing_done, run);
    loop_run_with_signals(run->loop);
}

static void time_kernels(TimeRun *run, const char *name) {
    int count = 0;
    for (LIST_EACH(int, i, run->snapshot->kernels)) {
        const Kernel *kernel = &run->snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (name && !str_is(kernel->definition->name, name)) continue;
        time_kernel(run, kernel);
        count++;
    }
    if (count) return;
    run->failed = true;
    if (name)
        say("%s has no forward kernel `%s`", run->snapshot->source->path, name);
    else
        say("%s has no forward kernel", run->snapshot->source->path);
}

static void time_file(TimeRun *run, const char *path, Str text, const char *kernel) {
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver)};
    Snapshot *snapshot = snapshot_build(path, text, &options);
    Report report = {.arena = run->arena};
    run->snapshot = snapshot;
    run->file = (ProofFile){
        .source = snapshot->source,
        .settings = settings_for(settings_cache_new(run->arena, &report), path),
        .imports = import_resolver_closure(resolver, run->arena, path),
    };
    time_kernels(run, kernel);
    snapshot_release(snapshot);
    import_resolver_free(resolver);
}

int command_time(const Options *options) {
    Arena *arena = arena_new();
    CommandTarget target = target_of(arena, options->operands[0]);
    TimeRun run = {
        .options = options, .arena = arena, .out = buffer_new(arena), .results = json_array(arena)};
    Str text;
    bool is_json = options->format == FORMAT_JSON;
    Error error = is_json || options->format == FORMAT_FULL
                      ? file_read(arena, target.path, &text)
                      : "--time has the formats full and json";
    const char *runner = error ? NULL : runner_find(arena, options->runner, &error);
    int status = STATUS_TROUBLE;
    if (error) {
        say("%s", error);
    } else {
        run.loop = loop_new();
        run.request.runner = runner_command(arena, runner);
        run.request.python = timing_python(arena, options->python);
        time_file(&run, target.path, text, target.kernel);
        loop_free(run.loop);
        Output output = {.inputs = &target.path, .input_count = 1};
        Json *all = json_object(arena);
        json_set(all, "kernels", run.results);
        const char *said = is_json ? arena_printf(arena, "%s\n", json_print(arena, all, true))
                                   : lines_visible(arena, buffer_text(&run.out));
        status =
            result_write(arena, options, output, said, run.failed ? STATUS_TROUBLE : STATUS_CLEAN);
    }
    arena_free(arena);
    return status;
}
