// A proof is about kernels: an edit beside them leaves the gradients unproved.
#include "server/gradients/around.h"

#include "server/report/suppress.h"

FunctionEdits around_edits(Request *request, const Snapshot *snapshot, const Original *original) {
    ImportResolver *own = original->resolver ? NULL : import_resolver_new(request->server->overlay);
    const Resolver *resolver = import_resolver_interface(own ? own : original->resolver);
    FunctionEdits edits = function_edits(request->arena, snapshot, original->snapshot, resolver);
    if (own) import_resolver_free(own);
    return edits;
}

EditsAround around_kernel(Arena *arena, const FunctionEdits *edits, const Kernel *kernel) {
    EditsAround around = {0};
    Silences *silences = silences_new(arena);
    const DiagnosticRow *row = &diagnostic_rows[DIAGNOSTIC_GRADIENT_FUNCTION_EDITED];
    for (LIST_EACH(int, i, *edits)) {
        const FunctionEdit *edit = &edits->items[i];
        if (*edit->kernel && !str_is(kernel->definition->name, edit->kernel)) continue;
        int line = range_line(edit->range);
        if (!around.findings) around.findings = json_array(arena);
        Json *finding = json_object(arena);
        json_set_string(finding, "kernel", str_dup(arena, kernel->definition->name));
        json_set_string(finding, "kind", row->name);
        json_set_number(finding, "line", line);
        json_set_string(finding, "message", edit->message);
        json_push(around.findings, finding);
        if (!around.line && !silences_hold(silences, edit->range, row)) around.line = line;
    }
    return around;
}

void around_take(Arena *arena, const EditsAround *around, GradientStatus *status) {
    if (!around->findings || !status->details) return;
    Json *all = json_array(arena);
    const Json *own = json_get(status->details, "findings");
    for (int i = 0; own && own->kind == JSON_ARRAY && i < own->count; i++)
        json_push(all, own->items[i]);
    for (int i = 0; i < around->findings->count; i++) json_push(all, around->findings->items[i]);
    json_set(status->details, "findings", all);
    if (status->state != GRADIENT_PROVED || !around->line) return;
    status->state = GRADIENT_UNPROVED;
    status->reason = arena_printf(
        arena, "the kernels are proved, and what is edited around them in line %d is not",
        around->line);
}
