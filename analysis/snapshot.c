// The pipeline from a file's text to its kernels and diagnostics.
#include "analysis/snapshot.h"

#include <string.h>

typedef struct Understanding {
    const Function *function;
    bool complete;
} Understanding;

static bool visit_understood(void *context, Op *op) {
    Understanding *understanding = context;
    if (op->code == OP_UNKNOWN) understanding->complete = false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.kind == TYPE_UNKNOWN) understanding->complete = false;
    return understanding->complete;
}

static bool function_is_understood(const Function *function) {
    Understanding understanding = {function, true};
    region_walk(function->body, visit_understood, &understanding);
    return understanding.complete;
}

/// A fault of ours in one kernel leaves the others as they are.
static void kernel_build(Snapshot *snapshot, const FunctionDefinition *definition, bool skip_checks) {
    Kernel kernel = {.definition = definition, .is_helper = definition->is_helper};
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        Function *function = lower_kernel(snapshot->arena, definition, NULL, &snapshot->diagnostics);
        kernel.function = function;
        kernel.understood = function_is_understood(function);
        LIST_PUSH(snapshot->arena, &snapshot->kernels, kernel);
        if (!skip_checks)
            check_kernel(snapshot->arena, &snapshot->kernels.items[snapshot->kernels.count - 1],
                         &snapshot->diagnostics);
        bug_guard_end(&guard);
        return;
    }
    diagnose(&snapshot->diagnostics, DIAGNOSTIC_INTERNAL_ERROR, definition->name_range,
             "tad-lsp failed on this kernel (%s).", guard.message);
}

/// What was found in other files is told when these are looked at.
static void diagnostics_keep_own(Snapshot *snapshot) {
    int kept = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        Diagnostic diagnostic = snapshot->diagnostics.list.items[i];
        if (diagnostic.range.source && diagnostic.range.source != snapshot->source) continue;
        snapshot->diagnostics.list.items[kept++] = diagnostic;
    }
    snapshot->diagnostics.list.count = kept;
}

Snapshot *snapshot_build(const char *path, Str text, const SnapshotOptions *options) {
    Arena *arena = arena_new();
    Snapshot *snapshot = ARENA_NEW(arena, Snapshot);
    snapshot->arena = arena;
    snapshot->diagnostics.arena = arena;
    Str copy = {arena_strndup(arena, text.data, text.size), text.size};
    snapshot->source = source_new(arena, arena_strdup(arena, path), copy);
    snapshot->module = module_build(arena, snapshot->source, options ? options->resolver : NULL,
                                    &snapshot->diagnostics);
    for (LIST_EACH(int, i, snapshot->module->functions))
        if (snapshot->module->functions.items[i]->is_jit)
            kernel_build(snapshot, snapshot->module->functions.items[i], options && options->skip_checks);
    diagnostics_keep_own(snapshot);
    return snapshot;
}

void snapshot_free(Snapshot *snapshot) {
    if (!snapshot) return;
    module_release(snapshot->module);
    arena_free(snapshot->arena);
}

const Kernel *snapshot_find_kernel(const Snapshot *snapshot, Str name) {
    for (LIST_EACH(int, i, snapshot->kernels))
        if (str_equal(snapshot->kernels.items[i].definition->name, name)) return &snapshot->kernels.items[i];
    return NULL;
}
