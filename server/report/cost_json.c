#include "server/report/cost_json.h"

#include <math.h>

#include "analysis/cost/card.h"
#include "base/escape.h"

Json *footprint_json(Arena *arena, const CostFootprint *footprint) {
    if (!footprint->text) return json_null(arena);
    Json *json = json_object(arena);
    json_set_bool(json, "estimated", true);
    json_set_number(json, "shared_bytes", footprint->shared);
    json_set_number(json, "registers", footprint->registers);
    json_set_bool(json, "spills", footprint->is_spilled);
    json_set_number(json, "warps", footprint->warps);
    json_set_number(json, "stages", footprint->stages);
    json_set_number(json, "programs_at_once", footprint->programs);
    json_set_number(json, "occupancy", footprint->warps_share);
    json_set_string(json, "limited_by", footprint->limit);
    return json;
}

static void set_known(Json *json, const char *key, double number) {
    if (isfinite(number)) json_set_number(json, key, number);
}

static Json *point_json(Arena *arena, const char *kernel, const char *side,
                        const CostReportTotals *totals) {
    Json *json = json_object(arena);
    json_set_string(json, "kernel", kernel);
    json_set_string(json, "side", side);
    if (totals->name) json_set_string(json, "name", lines_visible(arena, totals->name));
    if (totals->bound) json_set_string(json, "bound", totals->bound);
    set_known(json, "flop_per_byte", totals->intensity);
    set_known(json, "peak_tflop_s", totals->peak);
    set_known(json, "reachable_tflop_s", totals->reachable);
    json_set(json, "footprint", footprint_json(arena, &totals->footprint));
    return json;
}

static Json *card_json(Arena *arena, const char *name) {
    const Card *card = name ? card_find(str_from(name)) : NULL;
    if (!card) return json_null(arena);
    Json *json = json_object(arena);
    json_set_string(json, "name", card->name);
    json_set_string(json, "title", card->title);
    json_set_number(json, "memory_gb_s", card->memory);
    json_set_number(json, "shared_bytes", card->shared_kib * 1024.0);
    return json;
}

Json *cost_points_json(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const ScheduleReport *schedule, const char *card) {
    Json *json = json_object(arena), *points = json_array(arena);
    CostReport report = cost_report(arena, snapshot, kernel, NULL, card);
    for (LIST_EACH(int, i, report.totals))
        json_push(points,
                  point_json(arena, kernel->function->name, "forward", &report.totals.items[i]));
    for (LIST_EACH(int, i, schedule->kernels)) {
        const ScheduleKernel *one = &schedule->kernels.items[i];
        for (LIST_EACH(int, k, one->totals))
            json_push(points, point_json(arena, one->name, "backward", &one->totals.items[k]));
    }
    json_set(json, "card", card_json(arena, card));
    json_set(json, "points", points);
    return json;
}
