#include "autodiff/saving/saving_read.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/state/saved_parameters.h"

typedef struct SavingReading {
    Arena *arena;
    const Source *source;
    const SavedValues *values;
    LIST(Range) cut;
} SavingReading;

static void cut(SavingReading *reading, uint32_t start, uint32_t end) {
    LIST_PUSH(reading->arena, &reading->cut, ((Range){reading->source, start, end}));
}

/// From the parameter up to the next one, or from the end of the one in front.
static void cut_parameters(SavingReading *reading, const FunctionDefinition *kernel,
                           const char *name) {
    int axis;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ParameterDefinition *parameter = &kernel->parameters[i];
        if (!saved_parameter(reading->values, name, parameter->name, &axis)) continue;
        bool is_last = i + 1 == kernel->parameter_count;
        if (!is_last)
            cut(reading, parameter->range.start, kernel->parameters[i + 1].range.start);
        else if (i > 0)
            cut(reading, kernel->parameters[i - 1].range.end, parameter->range.end);
    }
}

/// The lines of the statement.
static void cut_lines(SavingReading *reading, Range range) {
    Str text = reading->source->text;
    uint32_t start = range.start, end = range.end;
    while (start > 0 && text.data[start - 1] != '\n') start--;
    while (end < text.size && text.data[end] != '\n') end++;
    cut(reading, start, end < text.size ? end + 1 : end);
}

static bool asks_for_saved(const SavingReading *reading, Str condition, const char *kernel) {
    for (LIST_EACH(int, i, *reading->values)) {
        const SavedValue *value = &reading->values->items[i];
        if (strcmp(value->kernel, kernel) == 0 &&
            str_has_word(condition, str_from(value->parameter)))
            return true;
    }
    return false;
}

static void cut_stores(SavingReading *reading, const FunctionDefinition *kernel, const char *name) {
    SyntaxNode *statements;
    int count = node_children(reading->arena, kernel->body, &statements);
    for (int i = 0; i < count; i++) {
        SyntaxNode condition = node_field(statements[i], "condition");
        if (node_is_null(condition)) continue;
        if (asks_for_saved(reading, node_text(reading->source, condition), name))
            cut_lines(reading, node_range(reading->source, statements[i]));
    }
}

static int by_place(const void *a, const void *b) {
    const Range *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

const char *saving_removed(Arena *arena, const Snapshot *snapshot, const SavedValues *values) {
    SavingReading reading = {.arena = arena, .source = snapshot->source, .values = values};
    Str text = snapshot->source->text;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const FunctionDefinition *kernel = snapshot->kernels.items[i].definition;
        const char *name = str_dup(arena, kernel->name);
        cut_parameters(&reading, kernel, name);
        cut_stores(&reading, kernel, name);
    }
    if (reading.cut.count)
        qsort(reading.cut.items, (size_t)reading.cut.count, sizeof *reading.cut.items, by_place);
    Buffer out = buffer_sized(arena, text.size + 1);
    uint32_t at = 0;
    for (LIST_EACH(int, i, reading.cut)) {
        Range range = reading.cut.items[i];
        if (range.end <= at) continue;
        if (range.start > at) buffer_add(&out, text.data + at, range.start - at);
        at = range.end;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}

Snapshot *saving_plain(Arena *arena, const Snapshot *snapshot, const SavedValues *values) {
    Str text = snapshot->unsaved;
    if (!text.size) text = str_from(saving_removed(arena, snapshot, values));
    const SnapshotOptions options = {.resolver = snapshot->options.resolver,
                                     .imports_version = snapshot->options.imports_version,
                                     .skip_checks = true};
    return snapshot_build(snapshot->source->path, text, &options);
}
