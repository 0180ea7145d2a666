// Rows of JSON: the one form that all writers read.
#include "server/times/times.h"

#include <string.h>

#include "server/proofs/timing.h"
#include "server/times/reference.h"

Json *times_new(Arena *arena) {
    Json *times = json_object(arena);
    json_set_number(times, "tad_times", 1);
    json_set(times, "kernels", json_array(arena));
    return times;
}

static Json *row_new(Json *times, const char *file, const char *kernel) {
    Json *row = json_object(times->arena);
    json_set_string(row, "file", file);
    json_set_string(row, "kernel", kernel);
    json_push(json_get(times, "kernels"), row);
    return row;
}

/// `bytes`: what this direction has to move at the least.
static void add_direction(Json *row, const char *name, const Json *measured, double bytes,
                          double operations, double copy, double matrix) {
    double milliseconds = json_get_number(measured, "median_ms", 0);
    if (milliseconds <= 0) return;
    Json *direction = json_copy(row->arena, measured);
    if (bytes > 0) {
        double rate = bytes / milliseconds / 1e6;
        json_set_number(direction, "bytes", bytes);
        json_set_number(direction, "gb_s", rate);
        if (copy > 0) json_set_number(direction, "share_of_copy", rate / copy);
    }
    double speed = operations / milliseconds / 1e9;
    if (operations > 0) json_set_number(direction, "tflop_s", speed);
    if (operations > 0 && matrix > 0) json_set_number(direction, "share_of_matrix", speed / matrix);
    json_set(row, name, direction);
}

void times_add(Json *times, const char *file, const char *kernel, const Json *result,
               const char *no_backward) {
    static const char *const shared[] = {"device", "triton", "copy_gb_s", "matrix_tflop_s"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        const Json *value = json_get(result, shared[i]);
        if (value && !json_get(times, shared[i]))
            json_set(times, shared[i], json_copy(times->arena, value));
    }
    Json *row = row_new(times, file, kernel);
    double copy = json_get_number(result, "copy_gb_s", 0),
           matrix = json_get_number(result, "matrix_tflop_s", 0);
    double operations = json_get_number(result, "operations", 0);
    json_set_string(row, "configuration", json_get_string(result, "text", ""));
    if (operations > 0) json_set_number(row, "operations", operations);
    if (json_get_number(result, "bytes", 0) < TIMING_LEAST_BYTES)
        json_set_bool(row, "is_small", true);
    add_direction(row, "forward", json_get(result, "forward"), json_get_number(result, "bytes", 0),
                  operations, copy, matrix);
    add_direction(row, "backward", json_get(result, "backward"),
                  json_get_number(result, "backward_bytes", 0), 0, copy, matrix);
    if (no_backward) json_set_string(row, "no_backward", no_backward);
    const Json *reference = json_get(result, "reference");
    if (reference) json_set(row, "reference", json_copy(times->arena, reference));
    const Json *meters = json_get(result, "meters");
    if (meters) json_set(row, "meters", json_copy(times->arena, meters));
}

void times_add_problem(Json *times, const char *file, const char *kernel, const char *problem) {
    json_set_string(row_new(times, file, kernel), "problem", problem);
}

int times_count(const Json *times) {
    const Json *rows = json_get(times, "kernels");
    int count = 0;
    for (int i = 0; rows && i < rows->count; i++)
        count += json_get(rows->items[i], "forward") != NULL;
    return count;
}

bool times_are_ours(Arena *arena, Str text) {
    if (!text.size || str_starts(text, TIMES_PAGE_HEAD) || str_starts(text, TIMES_CSV_HEAD))
        return true;
    Error error = NULL;
    const Json *json = json_parse(arena, text, &error);
    const Json *rows = json_get(json, "kernels");
    return json_get(json, "tad_times") && rows && rows->kind == JSON_ARRAY;
}

// --- CSV ------------------------------------------------------------------------------------------------------------

/// Between quotes where it has to be; what a spreadsheet would take for a formula begins with an apostrophe.
static void put_field(Buffer *out, const char *text) {
    if (*text && strchr("=+-@\t\r", *text)) text = arena_printf(out->arena, "'%s", text);
    if (!strpbrk(text, ",\"\n\r")) {
        buffer_puts(out, text);
        return;
    }
    buffer_putc(out, '"');
    for (const char *at = text; *at; at++) {
        if (*at == '"') buffer_putc(out, '"');
        buffer_putc(out, *at);
    }
    buffer_putc(out, '"');
}

static void put_number(Buffer *out, const Json *of, const char *key) {
    const Json *value = json_get(of, key);
    buffer_putc(out, ',');
    if (value && value->kind == JSON_NUMBER) buffer_printf(out, "%.9g", value->number);
}

/// The first kernel's numbers where a direction has several would mislead: the largest of them.
static void put_largest(Buffer *out, const Json *direction, const char *key) {
    const Json *kernels = json_get(direction, "kernels");
    double most = -1;
    for (int i = 0; kernels && kernels->kind == JSON_ARRAY && i < kernels->count; i++) {
        double number = json_get_number(kernels->items[i], key, -1);
        if (number > most) most = number;
    }
    buffer_putc(out, ',');
    if (most >= 0) buffer_printf(out, "%.9g", most);
}

/// `of`: the row itself, or what stands beside its times; `name`: a direction there, told as `told`.
static void put_csv_row(Buffer *out, const Json *times, const Json *row, const Json *of,
                        const char *name, const char *told) {
    static const char *const measured[] = {"median_ms",     "low_ms",  "high_ms",
                                           "runs",          "bytes",   "gb_s",
                                           "share_of_copy", "tflop_s", "peak_bytes"};
    static const char *const largest[] = {"registers", "spilled_bytes", "shared_bytes", "warps"};
    static const char *const texts[] = {"file", "kernel", "configuration"};
    const Json *direction = json_get(of, name);
    if (!direction) return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_field(out, json_get_string(row, texts[i], ""));
        buffer_putc(out, ',');
    }
    buffer_puts(out, told);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        put_number(out, direction, measured[i]);
    for (size_t i = 0; i < sizeof largest / sizeof *largest; i++)
        put_largest(out, direction, largest[i]);
    buffer_putc(out, ',');
    put_field(out, json_get_string(times, "device", ""));
    buffer_putc(out, ',');
    put_field(out, json_get_string(times, "triton", ""));
    buffer_puts(out, "\r\n");
}

const char *times_csv(Arena *arena, const Json *times) {
    const Json *rows = json_get(times, "kernels");
    Buffer out = buffer_new(arena);
    buffer_puts(
        &out, TIMES_CSV_HEAD
        ",low_ms,high_ms,runs,bytes,gb_s,share_of_copy,tflop_s,peak_bytes,registers,spilled_bytes,"
        "shared_bytes,warps,device,triton\r\n");
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i], *reference = json_get(row, "reference"),
                   *eager = json_get(reference, "eager"),
                   *compiled = json_get(reference, "compile");
        put_csv_row(&out, times, row, row, "forward", "forward");
        put_csv_row(&out, times, row, row, "backward", "backward");
        put_csv_row(&out, times, row, eager, "forward", "eager forward");
        put_csv_row(&out, times, row, eager, "backward", "eager backward");
        put_csv_row(&out, times, row, compiled, "forward", "compile forward");
        put_csv_row(&out, times, row, compiled, "backward", "compile backward");
    }
    return buffer_text(&out);
}

// --- the table ----------------------------------------------------------------------------------------------------------

/// Median, spread, share of a copy, and MiB of the tensors that are there at once; blanks where there are none, or where they would say nothing.
static void put_columns(Buffer *out, const Json *direction, bool is_small) {
    static const double MIB = 1 << 20;
    double median = json_get_number(direction, "median_ms", 0);
    double low = json_get_number(direction, "low_ms", median),
           high = json_get_number(direction, "high_ms", median);
    const Json *share = json_get(direction, "share_of_copy");
    if (median <= 0) {
        buffer_printf(out, " %10s %6s %8s %6s %8s", "", "", "", "", "");
        return;
    }
    buffer_printf(out, " %10.4g %5.1f%%", median, 50 * (high - low) / median);
    if (is_small) {
        buffer_printf(out, " %8s %6s %8s", "", "", "");
        return;
    }
    buffer_printf(out, " %8.0f", json_get_number(direction, "gb_s", 0));
    buffer_printf(out, " %6s",
                  share ? arena_printf(out->arena, "%.0f%%", 100 * share->number) : "");
    double peak = json_get_number(direction, "peak_bytes", 0);
    buffer_printf(out, " %8s", peak > 0 ? arena_printf(out->arena, "%.4g", peak / MIB) : "");
}

static void put_table_row(Buffer *out, const Json *row, const char **file) {
    const char *of = json_get_string(row, "file", ""), *kernel = json_get_string(row, "kernel", "");
    const char *problem = json_get_string(row, "problem", NULL),
               *no_backward = json_get_string(row, "no_backward", NULL);
    if (!*file || strcmp(*file, of) != 0) buffer_printf(out, "%s\n", of);
    *file = of;
    if (problem) {
        buffer_printf(out, "  %-30s %s\n", kernel, problem);
        return;
    }
    const Json *forward = json_get(row, "forward"), *backward = json_get(row, "backward");
    buffer_printf(out, "  %-30s", kernel);
    bool is_small = json_get_bool(row, "is_small", false);
    put_columns(out, forward, is_small);
    put_columns(out, backward, is_small);
    double first = json_get_number(forward, "median_ms", 0),
           second = json_get_number(backward, "median_ms", 0);
    if (first > 0 && second > 0) buffer_printf(out, " %7.2f", second / first);
    while (out->size && out->data[out->size - 1] == ' ') out->size--;
    buffer_printf(out, "\n    %s\n", json_get_string(row, "configuration", ""));
    if (no_backward) buffer_printf(out, "    no backward: %s\n", no_backward);
    buffer_puts(out, reference_text(out->arena, row, "    "));
}

const char *times_table(Arena *arena, const Json *times) {
    const Json *rows = json_get(times, "kernels");
    Buffer out = buffer_new(arena);
    double copy = json_get_number(times, "copy_gb_s", 0),
           matrix = json_get_number(times, "matrix_tflop_s", 0);
    if (times_count(times)) {
        buffer_printf(&out, "%s, Triton %s", json_get_string(times, "device", "GPU"),
                      json_get_string(times, "triton", "?"));
        if (copy > 0) buffer_printf(&out, "; a copy runs at %.0f GB/s", copy);
        if (matrix > 0)
            buffer_printf(&out, ", a matrix product in half precision at %.0f TFLOP/s", matrix);
        buffer_printf(&out, "\n\n%-32s %10s %6s %8s %6s %8s %10s %6s %8s %6s %8s %7s\n", "",
                      "forward ms", "+-", "GB/s", "copy", "MiB", "backward", "+-", "GB/s", "copy",
                      "MiB", "bwd/fwd");
    }
    const char *file = NULL;
    int small = 0;
    for (int i = 0; i < rows->count; i++) {
        put_table_row(&out, rows->items[i], &file);
        small += json_get_bool(rows->items[i], "is_small", false);
    }
    if (small)
        buffer_printf(&out,
                      "\n%d of %d at sizes of a proof, where a launch takes longer than the work: "
                      "say real ones with `# tad time:`\n",
                      small, rows->count);
    return buffer_text(&out);
}
