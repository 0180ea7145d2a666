// The picture of a load or store under the cursor, as JSON.
#include "features/features.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"
#include "server/requests/request_command.h"

static Json *amount_json(Arena *arena, const AccessAmount *amount) {
    if (!amount->text) return json_null(arena);
    Json *json = json_object(arena);
    json_set_string(json, "text", amount->text);
    if (amount->is_known) json_set_number(json, "number", (double)amount->number);
    return json;
}

static void set_text(Json *json, const char *key, const char *text) {
    if (text) json_set_string(json, key, text);
}

Json *access_json(Request *request, const Snapshot *snapshot, uint32_t offset) {
    Arena *arena = request->arena;
    const Kernel *kernel = snapshot_kernel_at(snapshot, offset);
    AccessReport report;
    if (!kernel || !access_report(arena, snapshot, kernel, offset, &report))
        return json_null(arena);
    Json *json = json_object(arena), *axes = json_array(arena), *programs = json_array(arena);
    json_set(json, "kernel", json_str(arena, kernel->definition->name));
    json_set(json, "range", request_range_json(request, snapshot, report.range));
    set_text(json, "kind", report.kind);
    set_text(json, "pointer", report.pointer);
    set_text(json, "lanes", report.lanes);
    set_text(json, "configuration", report.configuration);
    json_set_bool(json, "known", report.is_known);
    json_set_bool(json, "masked", report.is_masked);
    json_set_bool(json, "type_open", report.is_type_open);
    json_set_number(json, "element_bytes", report.element_bytes);
    json_set(json, "bytes", amount_json(arena, &report.bytes));
    for (int i = 0; i < report.rank; i++) {
        Json *axis = json_object(arena);
        json_set(axis, "extent", amount_json(arena, &report.axes[i].extent));
        json_set(axis, "stride", amount_json(arena, &report.axes[i].stride));
        json_push(axes, axis);
    }
    json_set(json, "axes", axes);
    for (int i = 0; i < ACCESS_PROGRAM_AXES; i++) {
        if (!report.programs[i].is_there) continue;
        Json *program = json_object(arena);
        json_set_number(program, "axis", i);
        json_set(program, "step", amount_json(arena, &report.programs[i].step));
        json_push(programs, program);
    }
    json_set(json, "programs", programs);
    return json;
}
