// The pipeline from a file's text to its kernels and diagnostics.
#include "analysis/snapshot.h"

#include <string.h>

typedef struct Understanding {
    const Function *function;
    bool complete;
} Understanding;

static bool visit_understood(void *context, Op *op) {
    Understanding *understanding = context;
    bool is_global =
        op->result_count && op->results[0]->type.is_constexpr;  // of a value computed elsewhere
    if (op->code == OP_UNKNOWN && !is_global) understanding->complete = false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.kind == TYPE_UNKNOWN) understanding->complete = false;
    return understanding->complete;
}

static bool function_is_understood(const Function *function) {
    Understanding understanding = {function, true};
    region_walk(function->body, visit_understood, &understanding);
    return understanding.complete;
}

/// A helper on its own has the types that the file's kernels call it with.
static void bind_observed(Arena *arena, LowerOptions *options,
                          const FunctionDefinition *definition) {
    const Type *types = map_get_pointer(options->observed, definition);
    if (!types || !definition->is_helper) return;
    Binding *bindings = ARENA_ARRAY(arena, Binding, definition->parameter_count + 1);
    int count = 0;
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        bool is_data = types[i].kind == TYPE_NUMBER || types[i].kind == TYPE_POINTER ||
                       types[i].kind == TYPE_BLOCK_POINTER || types[i].kind == TYPE_DESCRIPTOR;
        if (parameter->is_constexpr || !is_data) continue;
        bindings[count++] = (Binding){.name = parameter->name, .type = types[i]};
    }
    options->bindings = bindings;
    options->binding_count = count;
}

/// What the lowering said. The types of a helper's parameters are guesses until somebody calls it, so what is wrong
/// with types is told where it is inlined.
static void diagnostics_take(Snapshot *snapshot, const Kernel *kernel, const Diagnostics *found) {
    bool certain = kernel_is_entry(kernel);
    for (LIST_EACH(int, i, found->list)) {
        const Diagnostic *diagnostic = &found->list.items[i];
        if (!certain && strcmp(diagnostic_rows[diagnostic->id].family, "types") == 0) continue;
        Diagnostic *taken = diagnose(&snapshot->diagnostics, diagnostic->id, diagnostic->range,
                                     "%s", diagnostic->message);
        taken->severity = diagnostic->severity;
        if (!taken->related_count) {
            taken->related = diagnostic->related;
            taken->related_count = diagnostic->related_count;
        }
    }
}

/// A fault of ours in one kernel leaves the others as they are.
static void kernel_build(Snapshot *snapshot, Kernel *kernel, Map *observed, bool skip_checks) {
    const FunctionDefinition *definition = kernel->definition;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        LowerOptions options = {.observed = observed};
        bind_observed(snapshot->arena, &options, definition);
        Diagnostics found = {.arena = snapshot->arena};
        kernel->function = lower_kernel(snapshot->arena, definition, &options, &found);
        diagnostics_take(snapshot, kernel, &found);
        kernel->understood = function_is_understood(kernel->function);
        if (!skip_checks) check_kernel(snapshot->arena, kernel, &snapshot->diagnostics);
        bug_guard_end(&guard);
        return;
    }
    if (!kernel->function)
        kernel->function =
            function_new(snapshot->arena, str_dup(snapshot->arena, definition->name));
    diagnose(&snapshot->diagnostics, DIAGNOSTIC_INTERNAL_ERROR, definition->name_range,
             "tad-lsp failed on this kernel (%s).", guard.message);
}

/// Kernels first: they tell how the helpers are called.
static void kernels_build(Snapshot *snapshot, bool skip_checks) {
    Map observed = map_new(snapshot->arena);
    for (int helpers = 0; helpers < 2; helpers++)
        for (LIST_EACH(int, i, snapshot->kernels)) {
            Kernel *kernel = &snapshot->kernels.items[i];
            if (kernel->is_helper == (helpers == 1))
                kernel_build(snapshot, kernel, &observed, skip_checks);
        }
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
    atomic_init(&snapshot->count, 1);
    snapshot->diagnostics.arena = arena;
    Str copy = {arena_strndup(arena, text.data, text.size), text.size};
    snapshot->source = source_new(arena, arena_strdup(arena, path), copy);
    snapshot->module = module_build(arena, snapshot->source, options ? options->resolver : NULL,
                                    &snapshot->diagnostics);
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        const FunctionDefinition *definition = snapshot->module->functions.items[i];
        Kernel kernel = {.definition = definition, .is_helper = definition->is_helper};
        if (definition->is_jit) LIST_PUSH(arena, &snapshot->kernels, kernel);
    }
    kernels_build(snapshot, options && options->skip_checks);
    diagnostics_keep_own(snapshot);
    return snapshot;
}

Snapshot *snapshot_update(const Snapshot *previous, Str text, const SnapshotOptions *options) {
    return snapshot_build(previous->source->path, text, options);
}

Snapshot *snapshot_retain(const Snapshot *snapshot) {
    Snapshot *held = (Snapshot *)(uintptr_t)snapshot;
    if (held) atomic_fetch_add(&held->count, 1);
    return held;
}

void snapshot_release(const Snapshot *snapshot) {
    Snapshot *held = (Snapshot *)(uintptr_t)snapshot;
    if (!held || atomic_fetch_sub(&held->count, 1) > 1) return;
    module_release(held->module);
    arena_free(held->arena);
}

const Kernel *snapshot_kernel_at(const Snapshot *snapshot, uint32_t offset) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        Range range = snapshot_range(snapshot, snapshot->kernels.items[i].definition->range);
        if (range.start <= offset && offset < range.end) return &snapshot->kernels.items[i];
    }
    return NULL;
}

Range snapshot_range(const Snapshot *snapshot, Range range) {
    (void)snapshot;
    return range;
}

const Kernel *snapshot_find_kernel(const Snapshot *snapshot, Str name) {
    for (LIST_EACH(int, i, snapshot->kernels))
        if (str_equal(snapshot->kernels.items[i].definition->name, name))
            return &snapshot->kernels.items[i];
    return NULL;
}
