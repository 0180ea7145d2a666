// Shapes and types beside names, where they say something that the text does not.
#include "analysis/module/module_launch.h"
#include "analysis/syntax/syntax_nodes.h"
#include "features/describe/describe.h"
#include "features/features.h"
#include "features/names/targets.h"

#include <string.h>

enum { LABEL_LIMIT = 60 };

typedef struct HintWriter {
    FileNames *names;
    const Kernel *kernel;
    uint32_t start, end;
    Map labels;  // by name: the last label
    InlayHints hints;
} HintWriter;

static void hint_add(HintWriter *writer, uint32_t offset, const char *label) {
    if (offset < writer->start || offset > writer->end) return;
    if (strlen(label) > LABEL_LIMIT)
        label = arena_printf(writer->names->arena, "%.*s…", LABEL_LIMIT, label);
    Range range = snapshot_range(writer->names->snapshot, writer->kernel->definition->range);
    InlayHint hint = {.offset = offset, .label = label, .kernel_end = range.end};
    LIST_PUSH(writer->names->arena, &writer->hints.list, hint);
}

static OpCode callee_code(FileNames *names, SyntaxNode call) {
    if (node_kind(call) != SYNTAX_CALL) return OP_COUNT;
    return callee_resolve(names, call).op;
}

/// Whether the text beside the name says it all: a literal, a program id, tl.zeros with its shape and type.
static bool is_obvious(FileNames *names, const Target *target, const Value *value) {
    if (value->constant || value->type.is_constexpr || value->type.kind == TYPE_NONE) return true;
    bool is_index = value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
                    value->type.element.code == DTYPE_INT32;
    if (target->kind == TARGET_LOOP) return is_index;
    if (target->is_item) return false;
    switch (callee_code(names, target->right)) {
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: return true;
    case OP_ZEROS:
    case OP_FULL:
        return node_kind(node_child(node_field(target->right, "arguments"), 0)) == SYNTAX_LIST;
    default: break;
    }
    return is_index && node_kind(target->right) != SYNTAX_CALL;
}

static void hint_target(HintWriter *writer, const Target *target) {
    FileNames *names = writer->names;
    Told told = told_at(names, writer->kernel, range_of(names, target->node),
                        value_of_node(names, writer->kernel, target->node));
    const Value *value = told.value;
    const char *label = told.label;
    if (!value || !label || value->type.kind == TYPE_TUPLE) return;
    if (strcmp(label, "?") == 0 || strcmp(label, "None") == 0) return;
    Str name = text_of(names, target->node);
    const char *last = map_get(&writer->labels, name);
    bool is_new = !last || strcmp(last, label) != 0;
    map_set(&writer->labels, name, (void *)(uintptr_t)label);
    if (!is_new || target->is_annotated) return;
    if (!last && is_obvious(names, target, value)) return;
    hint_add(writer, range_of(names, target->node).end, arena_printf(names->arena, ": %s", label));
}

static bool parameter_is_plain(const ParameterDefinition *definition) {
    return !definition->is_constexpr && !definition->annotation.size && !definition->is_variadic;
}

static void hint_parameters(HintWriter *writer) {
    FileNames *names = writer->names;
    const Function *function = writer->kernel->function;
    const FunctionDefinition *definition = writer->kernel->definition;
    for (int i = 0; i < function->parameter_count && i < definition->parameter_count; i++) {
        const Value *value = function->parameters[i].value;
        Range range = snapshot_range(names->snapshot, definition->parameters[i].range);
        range.end = range.start + (uint32_t)definition->parameters[i].name.size;
        Told told = told_at(names, writer->kernel, range, value);
        const char *label = told.label ? told.label : "?";
        map_set(&writer->labels, definition->parameters[i].name, (void *)(uintptr_t)label);
        if (!parameter_is_plain(&definition->parameters[i]) || !told.value || !told.label) continue;
        if (strcmp(label, "number") == 0 || told.value->type.kind == TYPE_NONE) continue;
        hint_add(writer, range.end, arena_printf(names->arena, ": %s", label));
    }
}

static void hint_return(HintWriter *writer, SyntaxNode function) {
    FileNames *names = writer->names;
    if (!node_is_null(node_field(function, "return_type"))) return;
    const char *label = return_label(names, writer->kernel);
    if (label && strcmp(label, "None") != 0)
        hint_add(writer, range_of(names, node_field(function, "parameters")).end,
                 arena_printf(names->arena, " -> %s", label));
}

static void hint_kernel(HintWriter *writer, const Kernel *kernel) {
    FileNames *names = writer->names;
    SyntaxNode function = node_of_kernel(names, kernel);
    if (node_is_null(function) || !kernel->function) return;
    writer->kernel = kernel;
    writer->labels = map_new(names->arena);
    hint_parameters(writer);
    hint_return(writer, function);
    Targets targets = targets_of(names, function);
    for (LIST_EACH(int, i, targets.list)) hint_target(writer, &targets.list.items[i]);
}

// --- Launches

/// Calls `visit` with each positional argument of a launch and the index of its parameter.
typedef bool ArgumentVisitor(void *context, const LaunchSite *site, SyntaxNode argument, int index);

static void launch_walk(FileNames *names, const LaunchSite *site, ArgumentVisitor *visit,
                        void *context) {
    Range range = snapshot_range(names->snapshot, site->range);
    SyntaxNode call = node_at(names->root, range.start, range.end);
    SyntaxNode *arguments;
    int count = node_children(names->arena, node_field(call, "arguments"), &arguments);
    for (int i = 0; i < count && i < site->kernel->parameter_count; i++) {
        SyntaxKind kind = node_kind(arguments[i]);
        // What `*arguments` spreads is not counted here.
        if (kind == SYNTAX_KEYWORD_ARGUMENT || kind == SYNTAX_LIST_SPLAT ||
            kind == SYNTAX_DICTIONARY_SPLAT || site->kernel->parameters[i].is_variadic ||
            !visit(context, site, arguments[i], i))
            break;
    }
}

/// `x` for x_ptr tells enough: the argument is called as the parameter or a part of its name, letters' case aside.
static bool argument_tells(Str argument, Str parameter) {
    argument = text_last_component(argument);
    for (size_t i = 0; i < argument.size; i++)
        if (!byte_is_word(argument.data[i])) return false;
    for (size_t at = 0; at + argument.size <= parameter.size && argument.size; at++) {
        size_t end = at + argument.size;
        bool is_part = (at == 0 || parameter.data[at - 1] == '_') &&
                       (end == parameter.size || parameter.data[end] == '_');
        size_t same = 0;
        while (same < argument.size &&
               (argument.data[same] | 0x20) == (parameter.data[at + same] | 0x20))
            same++;
        if (is_part && same == argument.size) return true;
    }
    return false;
}

static bool hint_argument(void *context, const LaunchSite *site, SyntaxNode argument, int index) {
    HintWriter *writer = context;
    FileNames *names = writer->names;
    Str name = site->kernel->parameters[index].name;
    Range range = range_of(names, argument);
    bool is_shown = writer->start <= range.start && range.start <= writer->end;
    if (!is_shown || argument_tells(source_slice(range), name)) return true;
    InlayHint hint = {.offset = range.start,
                      .label = arena_printf(names->arena, "%.*s=", STR_ARGS(name)),
                      .is_parameter = true,
                      .kernel_end = range.end};
    LIST_PUSH(names->arena, &writer->hints.list, hint);
    return true;
}

static void hint_launches(HintWriter *writer) {
    const Module *module = writer->names->snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (launch_has_several(module, site)) continue;  // of which parameters?
        Range range = snapshot_range(writer->names->snapshot, site->range);
        if (range.start < writer->end && writer->start <= range.end)
            launch_walk(writer->names, site, hint_argument, writer);
    }
}

typedef struct ArgumentSearch {
    FileNames *names;
    uint32_t offset;
    Range parameter;
} ArgumentSearch;

static bool find_argument(void *context, const LaunchSite *site, SyntaxNode argument, int index) {
    ArgumentSearch *search = context;
    if (range_of(search->names, argument).start != search->offset) return true;
    search->parameter =
        snapshot_range(search->names->snapshot, site->kernel->parameters[index].range);
    return false;
}

/// The parameter whose name is shown before the argument at `offset`; source NULL: none of this file.
static Range parameter_shown(FileNames *names, uint32_t offset) {
    ArgumentSearch search = {names, offset, {0}};
    const Module *module = names->snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        Range range = snapshot_range(names->snapshot, module->launches.items[i].range);
        if (range.start < offset && offset < range.end)
            launch_walk(names, &module->launches.items[i], find_argument, &search);
    }
    if (search.parameter.source != names->source) search.parameter.source = NULL;
    return search.parameter;
}

InlayHints inlay_hints(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end) {
    FileNames names = names_of(arena, snapshot);
    HintWriter writer = {.names = &names, .start = start, .end = end};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->range);
        if (range.start < end && start <= range.end) hint_kernel(&writer, kernel);
    }
    hint_launches(&writer);
    return writer.hints;
}

const char *inlay_hint_tooltip(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    // A hint stands right behind a name, or behind the parameters of a helper.
    FileNames names = names_of(arena, snapshot);
    Range parameter = parameter_shown(&names, offset);
    if (parameter.source) return hover_at(arena, snapshot, parameter.start).markdown;
    SyntaxNode identifier = identifier_at(&names, offset);
    if (!node_is_null(identifier)) return hover_at(arena, snapshot, offset).markdown;
    SyntaxNode function = function_around(node_at(names.root, offset, offset));
    if (kernel_of_node(&names, function) == NULL) return NULL;
    return hover_at(arena, snapshot, range_of(&names, node_field(function, "name")).start).markdown;
}
