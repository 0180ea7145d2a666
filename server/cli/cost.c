// `--cost FILE[:KERNEL]`: what kernels move and compute, estimated without running anything; with `--sizes` counted for one launch.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cost/card.h"
#include "analysis/cost/cost_instances.h"
#include "analysis/cost/count.h"
#include "analysis/cost/footprint.h"
#include "analysis/lowering/lower.h"
#include "base/escape.h"
#include "base/json.h"
#include "features/features.h"
#include "server/report/cost_json.h"
#include "server/settings/result.h"
#include "server/settings/settings.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/text/resolve.h"

enum { MOST_STEPS = 20000000 };

typedef struct CostRun {
    const Options *options;
    Arena *arena;
    const Snapshot *snapshot;
    const char *card;
    Json *kernels;
    Buffer text;
    Error error;
} CostRun;

/* ---- one launch ---- */

/// What `--sizes` says of a name, or NULL.
static const char *size_of(const CostRun *run, const char *name) {
    const Names *sizes = &run->options->sizes;
    size_t length = strlen(name);
    for (int i = 0; i < sizes->count; i++)
        if (strncmp(sizes->items[i], name, length) == 0 && sizes->items[i][length] == '=')
            return sizes->items[i] + length + 1;
    return NULL;
}

/// NaN where it is none.
static double number_of(const char *text) {
    char *end;
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) return text[0] == 'T';
    double number = strtod(text, &end);
    return *text && !*end ? number : NAN;
}

static bool read_grid(const char *text, int64_t *grid) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) grid[axis] = 1;
    for (int axis = 0; text && axis < PROGRAM_AXES; axis++) {
        char *end;
        grid[axis] = strtoll(text, &end, 10);
        if (end == text || grid[axis] < 1 || (*end && *end != 'x')) return false;
        if (!*end) return true;
        text = end + 1;
    }
    return false;
}

static const Constant *constant_of(CostRun *run, const char *text) {
    double number = number_of(text);
    bool is_truth = strcmp(text, "True") == 0 || strcmp(text, "False") == 0;
    Constant constant = {.kind = CONSTANT_STRING, .string = str_from(text)};
    if (is_truth)
        constant = (Constant){.kind = CONSTANT_BOOL, .integer = (int64_t)number};
    else if (strcmp(text, "None") == 0)
        constant = (Constant){.kind = CONSTANT_NONE};
    else if (number == floor(number) && fabs(number) < 9e15)
        constant = (Constant){.kind = CONSTANT_INT, .integer = (int64_t)number};
    else if (!isnan(number))
        constant = (Constant){.kind = CONSTANT_FLOAT, .number = number};
    return constant_new(run->arena, constant);
}

/// The arguments of the launch: bindings for the lowering, numbers and sizes of elements for the count.
static Error read_arguments(CostRun *run, const Kernel *kernel, Binding *bindings, int *count,
                            double *numbers, int *bits) {
    const FunctionDefinition *definition = kernel->definition;
    CostInstances instances = cost_instances(run->arena, kernel);
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        const char *text = size_of(run, str_dup(run->arena, parameter->name));
        const Constant *known = instances.list.count ? instances.list.items[0].values[i] : NULL;
        numbers[i] = text ? number_of(text) : NAN;
        DTypeCode element = text ? dtype_from_name(str_from(text)) : DTYPE_UNKNOWN;
        if (element != DTYPE_UNKNOWN) bits[i] = dtype_bits(element);
        bool is_bound = parameter->is_constexpr || (text && strcmp(text, "None") == 0);
        if (is_bound && text) known = constant_of(run, text);
        if (is_bound && known)
            bindings[(*count)++] = (Binding){.name = parameter->name, .constant = known};
        if (parameter->is_constexpr && !known && !parameter->default_text.size)
            return arena_printf(run->arena, "%.*s: --sizes does not say `%.*s`",
                                STR_ARGS(definition->name), STR_ARGS(parameter->name));
    }
    return NULL;
}

/// An option of the launch that `--sizes` says.
static int count_of(const CostRun *run, const char *name, int unasked) {
    const char *text = size_of(run, name);
    long count = text ? strtol(text, NULL, 10) : 0;
    return count > 0 && count <= INT_MAX ? (int)count : unasked;
}

static Json *counted_json(Arena *arena, const Counts *counts) {
    Json *json = json_object(arena);
    static const char *const names[WORK_KINDS] = {"read", "written", "updated", "dot_flop",
                                                  "other_flop"};
    static const char *const on[WORK_MEMORY_KINDS] = {"read_unmasked", "written_unmasked",
                                                      "updated_unmasked"};
    for (int i = 0; i < WORK_KINDS; i++) json_set_number(json, names[i], (double)counts->work[i]);
    for (int i = 0; i < WORK_MEMORY_KINDS; i++) json_set_number(json, on[i], (double)counts->on[i]);
    json_set_bool(json, "exact", !counts->is_open);
    json_set_bool(json, "masks_exact", !counts->is_open && !counts->is_on_open);
    return json;
}

/// What the launch of `--sizes` does; NULL and the run's error where the sizes do not do.
static Json *count_kernel(CostRun *run, const Kernel *kernel) {
    Arena *arena = run->arena;
    int parameters = kernel->definition->parameter_count, count = 0;
    Binding *bindings = ARENA_ARRAY(arena, Binding, parameters + 1);
    double *numbers = ARENA_ARRAY(arena, double, parameters + 1);
    int *bits = ARENA_ARRAY(arena, int, parameters + 1);
    run->error = read_arguments(run, kernel, bindings, &count, numbers, bits);
    CountedLaunch launch = {.numbers = numbers, .bits = bits, .most_steps = MOST_STEPS};
    const char *grid = size_of(run, "grid");
    if (!run->error && !read_grid(grid, launch.grid))
        run->error = "--sizes needs the grid: grid=64, grid=64x8 or grid=64x8x2";
    if (run->error) return NULL;
    LowerOptions options = {.bindings = bindings, .binding_count = count, .unroll_static = true};
    Diagnostics ignored = {.arena = arena};
    Function *function = lower_kernel(arena, kernel->definition, &options, &ignored);
    if (!function || function->parameter_count != parameters) {
        run->error = "the kernel does not lower with these sizes";
        return NULL;
    }
    Counts counts = count_launch(arena, function, &launch);
    if (counts.is_wide_open) {
        run->error = arena_printf(arena,
                                  "%.*s: --sizes has to say block sizes, and element types as in "
                                  "`x_ptr=f16`, of all that it loads and stores",
                                  STR_ARGS(kernel->definition->name));
        return NULL;
    }
    Json *json = counted_json(arena, &counts);
    const Card *card = run->card ? card_find(str_from(run->card)) : NULL;
    FootprintOptions asked = {.capability = card ? card->capability : 0,
                              .warps = count_of(run, "num_warps", FOOTPRINT_WARPS_UNASKED),
                              .stages = count_of(run, "num_stages", FOOTPRINT_STAGES_UNASKED)};
    CostFootprint footprint = {0};
    if (card)
        footprint =
            footprint_told(arena, footprint_of(arena, function, &launch, asked), asked, card);
    json_set(json, "footprint", footprint_json(arena, &footprint));
    if (footprint.text) buffer_printf(&run->text, "  this launch: %s\n", footprint.text);
    return json;
}

/* ---- telling ---- */

static void set_text(Json *json, const char *key, const char *text) {
    json_set(json, key, text ? json_string(json->arena, text) : json_null(json->arena));
}

static Json *line_json(Arena *arena, const CostReportLine *line) {
    Json *json = json_object(arena);
    json_set_number(json, "line", line->line);
    json_set_string(json, "kind", line->kind);
    set_text(json, "amount", line->amount);
    set_text(json, "times", line->times);
    set_text(json, "lanes", line->lanes);
    json_set_bool(json, "masked", line->is_masked);
    json_set_bool(json, "type_open", line->is_type_open);
    return json;
}

static Json *totals_json(Arena *arena, const CostReportTotals *totals) {
    Json *json = json_object(arena);
    set_text(json, "name", totals->name);
    if (totals->name) json_set_number(json, "line", totals->line);
    set_text(json, "bound", totals->bound);
    set_text(json, "read", totals->read);
    set_text(json, "written", totals->written);
    set_text(json, "updated", totals->updated);
    set_text(json, "operations", totals->operations);
    json_set(json, "flop_per_byte", json_number(arena, totals->intensity));
    json_set_bool(json, "upper_bound", totals->is_upper);
    json_set_bool(json, "type_open", totals->is_type_open);
    json_set(json, "footprint", footprint_json(arena, &totals->footprint));
    return json;
}

static void put_counted(Buffer *out, const Json *counted) {
    bool exact = json_get_bool(counted, "exact", false);
    buffer_printf(
        out,
        "  this launch%s: reads %.0f bytes (%.0f unmasked), writes %.0f (%.0f), updates "
        "%.0f (%.0f), computes %.0f FLOP in dots and %.0f beside\n",
        exact ? "" : ", at most what its branches may do", json_get_number(counted, "read", 0),
        json_get_number(counted, "read_unmasked", 0), json_get_number(counted, "written", 0),
        json_get_number(counted, "written_unmasked", 0), json_get_number(counted, "updated", 0),
        json_get_number(counted, "updated_unmasked", 0), json_get_number(counted, "dot_flop", 0),
        json_get_number(counted, "other_flop", 0));
}

static void tell_kernel(CostRun *run, const Kernel *kernel) {
    Arena *arena = run->arena;
    CostReport report = cost_report(arena, run->snapshot, kernel, NULL, run->card);
    Json *json = json_object(arena), *lines = json_array(arena), *totals = json_array(arena);
    const char *name = str_dup(arena, kernel->definition->name);
    buffer_printf(&run->text, "%s: %s\n", name, report.summary ? report.summary : "not known");
    for (LIST_EACH(int, i, report.totals)) {
        const CostReportTotals *row = &report.totals.items[i];
        buffer_printf(&run->text, "  %s: %s\n", row->name ? row->name : "a program",
                      cost_totals_text(arena, row));
        if (row->footprint.text) buffer_printf(&run->text, "    %s\n", row->footprint.text);
        json_push(totals, totals_json(arena, &report.totals.items[i]));
    }
    for (LIST_EACH(int, i, report.lines)) {
        const CostReportLine *line = &report.lines.items[i];
        buffer_printf(&run->text, "  line %d %s %s%s", line->line, line->kind,
                      line->is_masked ? "up to " : "", line->amount ? line->amount : "?");
        if (!line->times || strcmp(line->times, "1") != 0)
            buffer_printf(&run->text, ", %s times", line->times ? line->times : "?");
        buffer_printf(&run->text, "%s%s\n", line->lanes ? ", " : "",
                      line->lanes ? line->lanes : "");
        json_push(lines, line_json(arena, line));
    }
    json_set_string(json, "kernel", name);
    json_set_number(json, "line",
                    range_line(snapshot_range(run->snapshot, kernel->definition->name_range)));
    set_text(json, "summary", report.summary);
    json_set(json, "programs", totals);
    json_set(json, "lines", lines);
    if (run->options->sizes.count) {
        Json *counted = count_kernel(run, kernel);
        if (counted) put_counted(&run->text, counted);
        json_set(json, "launch", counted ? counted : json_null(arena));
    }
    json_push(run->kernels, json);
}

/// A name of `--sizes` that is no parameter of a kernel told.
static Error refuse_sizes(CostRun *run, const CommandTarget *target) {
    const Names *sizes = &run->options->sizes;
    for (int i = 0; i < sizes->count; i++) {
        Str name = {sizes->items[i], strcspn(sizes->items[i], "=")};
        bool is_known =
            (str_is(name, "grid") || str_is(name, "num_warps") || str_is(name, "num_stages")) &&
            sizes->items[i][name.size];
        for (LIST_EACH(int, k, run->snapshot->kernels)) {
            const FunctionDefinition *kernel = run->snapshot->kernels.items[k].definition;
            bool is_told = !target->kernel || str_is(kernel->name, target->kernel);
            for (int p = 0; is_told && p < kernel->parameter_count; p++)
                is_known |=
                    str_equal(kernel->parameters[p].name, name) && sizes->items[i][name.size];
        }
        if (!is_known)
            return arena_printf(run->arena, "--sizes: no kernel has `%.*s`", STR_ARGS(name));
    }
    return NULL;
}

static Error tell_file(CostRun *run, const CommandTarget *target) {
    int told = 0;
    run->error = refuse_sizes(run, target);
    if (run->error) return run->error;
    for (LIST_EACH(int, i, run->snapshot->kernels)) {
        const Kernel *kernel = &run->snapshot->kernels.items[i];
        if (kernel->is_helper || !kernel->function) continue;
        if (target->kernel && !str_is(kernel->definition->name, target->kernel)) continue;
        tell_kernel(run, kernel);
        told++;
        if (run->error) return run->error;
    }
    if (told) return NULL;
    return target->kernel
               ? arena_printf(run->arena, "%s has no kernel `%s`", target->path, target->kernel)
               : arena_printf(run->arena, "%s has no kernel", target->path);
}

static Error refuse(CostRun *run) {
    const Options *options = run->options;
    if (options->format != FORMAT_FULL && options->format != FORMAT_JSON)
        return "--cost has the formats full and json";
    return card_refuse(run->arena, "--card", options->card);
}

static const char *written(CostRun *run) {
    if (run->options->format != FORMAT_JSON)
        return lines_visible(run->arena, buffer_text(&run->text));
    Json *json = json_object(run->arena);
    set_text(json, "card", run->card);
    json_set(json, "kernels", run->kernels);
    return arena_printf(run->arena, "%s\n", json_print(run->arena, json, true));
}

int command_cost(const Options *options) {
    Arena *arena = arena_new();
    CommandTarget target = target_of(arena, options->operands[0]);
    CostRun run = {.options = options,
                   .arena = arena,
                   .kernels = json_array(arena),
                   .text = buffer_new(arena)};
    Str text;
    int status = STATUS_TROUBLE;
    Error error = refuse(&run);
    if (!error) error = file_read(arena, target.path, &text);
    if (!error) {
        Report report = {.arena = arena};
        const Settings *settings = settings_for(settings_cache_new(arena, &report), target.path);
        run.card = options->card ? options->card : settings->card;
        ImportResolver *resolver = import_resolver_new(NULL);
        SnapshotOptions snapshot = {.resolver = import_resolver_interface(resolver)};
        Snapshot *made = snapshot_build(target.path, text, &snapshot);
        run.snapshot = made;
        error = tell_file(&run, &target);
        Output output = {.inputs = &target.path, .input_count = 1};
        if (!error) status = result_write(arena, options, output, written(&run), STATUS_CLEAN);
        snapshot_release(made);
        import_resolver_free(resolver);
    }
    if (error) say("%s", error);
    arena_free(arena);
    return status;
}
