// The proof's answer as text, a line a configuration.
#include "server/dumps/dump_configurations.h"

#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "server/proofs/grad.h"

static void put_rows(Buffer *out, const Json *rows, const char *instead) {
    for (int i = 0; rows && rows->kind == JSON_ARRAY && i < rows->count; i++) {
        const Json *row = rows->items[i];
        buffer_printf(out, "    %s (%s): %s\n", json_get_string(row, "status", instead),
                      json_get_string(row, "source", ""), json_get_string(row, "text", ""));
        const char *covered = json_get_string(row, "covered", ""),
                   *reason = json_get_string(row, "reason", "");
        if (*covered) buffer_printf(out, "        covers %s\n", covered);
        if (*reason) buffer_printf(out, "        %s\n", reason);
    }
}

static void put_kernel(Buffer *out, const KernelResult *result) {
    buffer_printf(out, "%s: %s%s%s\n", result->name, kernel_status_name(result->status),
                  *result->reason ? ": " : "", result->reason);
    if (!result->proof) return;
    put_rows(out, json_get(result->proof, "configurations"), "run");
    put_rows(out, json_get(result->proof, "discarded"), "not run");
    int redundant = json_get_int(result->proof, "redundant", 0);
    if (redundant)
        buffer_printf(out, "    %d more ran forward only: they show nothing new\n", redundant);
    if (result->covered) buffer_printf(out, "    covered: %s\n", result->covered);
    if (result->own_types) buffer_printf(out, "    own types: %s\n", result->own_types);
    buffer_printf(out, "    %.0f steps\n", json_get_number(result->proof, "steps", 0));
}

int dump_configurations(const Options *options, const Snapshot *snapshot, ImportResolver *resolver,
                        const char *path, const char *kernel) {
    Arena *arena = arena_new();
    Loop *loop = loop_new();
    Report report = {.arena = arena, .with_kernels = true};
    SettingsCache *settings = settings_cache_new(arena, &report);
    Grad *grad = grad_new(arena, loop, &report, resolver, options);
    grad_derive(grad, snapshot, settings_for(settings, path), kernel);
    grad_prove(grad);
    loop_free(loop);
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, report.kernels)) put_kernel(&out, &report.kernels.items[i]);
    fputs(lines_visible(arena, buffer_text(&out)), stdout);
    int status = report.problems.count ? STATUS_TROUBLE : STATUS_CLEAN;
    arena_free(arena);
    return status;
}
