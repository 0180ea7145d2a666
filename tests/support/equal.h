// Whether a snapshot that came about by edits says what a new one of the same text says: both printed in full.
#ifndef TAD_TESTS_SUPPORT_EQUAL_H
#define TAD_TESTS_SUPPORT_EQUAL_H

#include <string.h>

#include "analysis/frames/sightings.h"
#include "analysis/ir/ir_print.h"
#include "analysis/snapshot.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct SnapshotPrinter {
    Buffer out;
    const Snapshot *snapshot;
} SnapshotPrinter;

static void print_range(SnapshotPrinter *printer, Range range) {
    Range now = snapshot_range(printer->snapshot, range);
    const char *where = !now.source                               ? "none"
                        : now.source == printer->snapshot->source ? ""
                                                                  : "other";
    Str text = source_slice(now);
    buffer_printf(&printer->out, "[%s%u-%u %zu]", where, now.start, now.end, text.size);
}

static bool print_op_ranges(void *context, Op *op) {
    SnapshotPrinter *printer = context;
    buffer_printf(&printer->out, "%d", (int)op->code);
    print_range(printer, op->range);
    for (int i = 0; i < op->result_count; i++) print_range(printer, op->results[i]->range);
    for (const CallSite *call = op->call; call; call = call->outer) {
        print_range(printer, call->range);
        buffer_printf(&printer->out, "in %.*s", STR_ARGS(call->callee->name));
    }
    buffer_puts(&printer->out, op->note ? op->note : "");
    return true;
}

static void print_definition(SnapshotPrinter *printer, const FunctionDefinition *definition) {
    Buffer *out = &printer->out;
    const Source *source = definition->module->source;
    buffer_printf(out, "def %.*s%d%d%d%d%d%d%d ", STR_ARGS(definition->name), definition->is_jit,
                  definition->is_autotuned, definition->has_heuristics, definition->is_helper,
                  definition->returns_value, source == printer->snapshot->source,
                  definition->module == printer->snapshot->module);
    print_range(printer, definition->name_range);
    print_range(printer, definition->range);
    print_range(printer, definition->header_range);
    print_range(printer, node_range(source, definition->node));
    print_range(printer, node_range(source, definition->body));
    for (LIST_EACH(int, i, definition->decorators))
        print_range(printer, node_range(source, definition->decorators.items[i]));
    for (LIST_EACH(int, i, definition->tuned_names))
        buffer_printf(out, " %.*s", STR_ARGS(definition->tuned_names.items[i]));
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        buffer_printf(out, "\n    %.*s: %.*s = %.*s %d%d%d", STR_ARGS(parameter->name),
                      STR_ARGS(parameter->annotation), STR_ARGS(parameter->default_text),
                      parameter->is_constexpr, parameter->is_keyword_only, parameter->is_variadic);
        print_range(printer, parameter->range);
        print_range(printer, node_range(source, parameter->default_node));
    }
    buffer_printf(out, "\n    %.*s\n", STR_ARGS(definition->comment));
}

static void print_kernel(SnapshotPrinter *printer, const Kernel *kernel) {
    Buffer *out = &printer->out;
    const Function *function = kernel->function;
    print_definition(printer, kernel->definition);
    buffer_printf(out, "kernel %d%d%d%d %s\n", kernel->is_helper, kernel->understood,
                  kernel_is_entry(kernel), function->definition == kernel->definition,
                  function_print(out->arena, function));
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        buffer_printf(out, " %s %s", parameter->name,
                      type_print(out->arena, parameter->value->type));
        print_range(printer, parameter->range);
    }
    region_walk(function->body, print_op_ranges, printer);
    // Expressions are found where they stand now.
    Range range = kernel->definition->range;
    for (uint32_t start = range.start; start < range.end; start += 7)
        for (uint32_t end = start + 1; end < start + 12; end++) {
            const Value *value = function_value_at(function, start, end);
            if (value) buffer_printf(out, " %u-%u:%%%d", start, end, value->id);
        }
    buffer_puts(out, "\n");
}

/// All that can be seen of a snapshot. Owned by `arena`.
static const char *snapshot_text(Arena *arena, const Snapshot *snapshot) {
    SnapshotPrinter printer = {buffer_new(arena), snapshot};
    Buffer *out = &printer.out;
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        buffer_printf(out, "%s %d ", diagnostic_rows[diagnostic->id].name,
                      (int)diagnostic->severity);
        print_range(&printer, diagnostic->range);
        buffer_printf(out, "%d %s\n", diagnostic->range.source == snapshot->source,
                      diagnostic->message);
        for (int k = 0; k < diagnostic->related_count; k++) {
            print_range(&printer, diagnostic->related[k].range);
            buffer_printf(out, " %s\n", diagnostic->related[k].message);
        }
    }
    for (LIST_EACH(int, i, snapshot->module->functions))
        print_definition(&printer, snapshot->module->functions.items[i]);
    for (LIST_EACH(int, i, snapshot->module->launches)) {
        const LaunchSite *site = &snapshot->module->launches.items[i];
        buffer_printf(out, "launch %.*s by %.*s ", STR_ARGS(site->kernel->name),
                      STR_ARGS(site->launcher ? site->launcher->name : STR("module")));
        print_range(&printer, site->range);
        print_range(&printer, node_range(snapshot->source, site->grid));
        buffer_puts(out, "\n");
    }
    for (LIST_EACH(int, i, snapshot->kernels)) print_kernel(&printer, &snapshot->kernels.items[i]);
    return buffer_text(out);
}

/// NULL when `edited` equals a new snapshot of its text; else the lines where they part, owned by `arena`.
static const char *snapshot_difference(Arena *arena, const Snapshot *edited) {
    Snapshot *built = snapshot_build(edited->source->path, edited->source->text, &edited->options);
    const char *expected = snapshot_text(arena, built);
    const char *actual = snapshot_text(arena, edited);
    snapshot_release(built);
    if (strcmp(expected, actual) == 0) return NULL;
    size_t at = 0;
    while (expected[at] == actual[at]) at++;
    size_t from = at < 200 ? 0 : at - 200;
    return arena_printf(arena, "built:  ...%.300s\n\nedited: ...%.300s\n", expected + from,
                        actual + from);
}

#endif
