// What is written is read again by the front end, and derived and proved like any other text: a value that is not what it was taken for
// costs a store, and makes no gradient wrong.
#include "autodiff/saving/saving_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/saving/launch_sizes.h"

typedef struct Insertion {
    uint32_t at;
    const char *text;
    int order;
} Insertion;

typedef struct SavingWriting {
    Arena *arena;
    const Source *source;
    const Module *module;
    const FunctionDefinition *kernel;
    const RowValues *values;
    const char **names;    // of parameters, by value
    const char **buffers;  // what launchers call them
    int axes;              // of the grids
    LIST(Insertion) insertions;
} SavingWriting;

static void insert(SavingWriting *writing, uint32_t at, const char *text) {
    Insertion insertion = {at, text, writing->insertions.count};
    LIST_PUSH(writing->arena, &writing->insertions, insertion);
}

/// A name that the text does not have, nor another value.
static const char *fresh(const SavingWriting *writing, const char *name, const char *suffix,
                         int known) {
    for (int i = 0;; i++) {
        const char *found = i ? arena_printf(writing->arena, "%s_%d%s", name, i, suffix)
                              : arena_printf(writing->arena, "%s%s", name, suffix);
        bool is_taken = str_has_word(writing->source->text, str_from(found));
        for (int k = 0; k < known && !is_taken; k++)
            is_taken =
                strcmp(writing->names[k], found) == 0 || strcmp(writing->buffers[k], found) == 0;
        if (!is_taken) return found;
    }
}

static void name_all(SavingWriting *writing) {
    for (LIST_EACH(int, i, *writing->values)) {
        const char *name = writing->values->items[i].name;
        writing->names[i] = fresh(writing, name, "_saved_ptr", i);
        writing->buffers[i] = fresh(writing, name, "_saved", i);
    }
}

/// The steps of a buffer along the grid's axes but the first, as parameters of the kernel.
static const char *step_name(const SavingWriting *writing, int value, int axis) {
    return arena_printf(writing->arena, "%s_step_%d", writing->buffers[value], axis);
}

// --- The kernel

static const char *line_indent(const SavingWriting *writing, uint32_t at) {
    const char *text = writing->source->text.data;
    uint32_t start = at;
    while (start > 0 && text[start - 1] != '\n') start--;
    for (uint32_t i = start; i < at; i++)
        if (text[i] != ' ' && text[i] != '\t') return NULL;
    return str_dup(writing->arena, (Str){text + start, at - start});
}

static uint32_t line_end(const SavingWriting *writing, uint32_t at) {
    Str text = writing->source->text;
    while (at < text.size && text.data[at] != '\n' && text.data[at] != '\r') at++;
    return at;
}

/// `tl.store(m_saved_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), m)`, in a line of its own behind the statement.
static bool write_store(SavingWriting *writing, int value) {
    const RowValue *candidate = &writing->values->items[value];
    Range statement = node_range(writing->source, candidate->statement);
    const char *indent = line_indent(writing, statement.start);
    uint32_t end = line_end(writing, statement.end);
    for (uint32_t i = statement.end; i < end; i++)
        if (writing->source->text.data[i] == ';') return false;
    if (!indent) return false;
    Buffer out = buffer_new(writing->arena);
    buffer_printf(&out, "\n%stl.store(%s", indent, writing->names[value]);
    for (int axis = writing->axes - 1; axis > 0; axis--)
        buffer_printf(&out, " + tl.program_id(%d) * %s", axis, step_name(writing, value, axis));
    buffer_puts(&out, " + tl.program_id(0)");
    Str lanes = candidate->lanes;
    if (lanes.size)
        buffer_printf(&out, " * %.*s + tl.arange(0, %.*s)", STR_ARGS(lanes), STR_ARGS(lanes));
    buffer_printf(&out, ", %s)", candidate->expression);
    insert(writing, end, buffer_text(&out));
    return true;
}

/// The first parameter that callers may leave out, or is a constexpr, if no launch passes it by its place.
static int parameter_place(const SavingWriting *writing, int most_positional) {
    const FunctionDefinition *kernel = writing->kernel;
    int place = 0;
    while (place < kernel->parameter_count && !kernel->parameters[place].is_constexpr &&
           !kernel->parameters[place].default_text.size &&
           !kernel->parameters[place].is_keyword_only && !kernel->parameters[place].is_variadic)
        place++;
    return place >= most_positional && place < kernel->parameter_count ? place : -1;
}

static bool write_parameters(SavingWriting *writing, int most_positional) {
    const FunctionDefinition *kernel = writing->kernel;
    Buffer out = buffer_new(writing->arena);
    for (LIST_EACH(int, i, *writing->values)) {
        buffer_printf(&out, "%s, ", writing->names[i]);
        for (int axis = writing->axes - 1; axis > 0; axis--)
            buffer_printf(&out, "%s, ", step_name(writing, i, axis));
    }
    int place = parameter_place(writing, most_positional);
    if (place >= 0) {
        insert(writing, kernel->parameters[place].range.start, buffer_text(&out));
        return true;
    }
    // at the end, where nothing in front may be left out
    for (int i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].default_text.size || kernel->parameters[i].is_keyword_only ||
            kernel->parameters[i].is_variadic)
            return false;
    const char *text = buffer_text(&out);
    const char *behind = arena_printf(writing->arena, ", %.*s", (int)strlen(text) - 2, text);
    insert(writing, kernel->parameters[kernel->parameter_count - 1].range.end, behind);
    return true;
}

// --- Launches

/// A tensor that the launch passes for something that the kernel stores to: it is on the right device.
static const char *tensor_of(const SavingWriting *writing, const Function *function,
                             const LaunchArguments *arguments) {
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        bool is_tensor = parameter->is_stored && parameter->value->type.kind == TYPE_POINTER;
        SyntaxNode passed = launch_passed_node(arguments, i);
        if (is_tensor && !parameter->is_optional && !node_is_null(passed) &&
            node_kind(passed) == SYNTAX_IDENTIFIER)
            return str_dup(writing->arena, node_text(writing->source, passed));
    }
    return NULL;
}

/// `m_saved = torch.empty((B * H, triton.cdiv(N, 64) * 64), ...)` in front of the launch, and what it passes of it.
static bool write_launch(SavingWriting *writing, const Function *function,
                         const LaunchArguments *arguments) {
    Arena *arena = writing->arena;
    SyntaxNode statement = node_parent(arguments->site->call);
    if (node_kind(statement) != SYNTAX_EXPRESSION_STATEMENT) return false;
    uint32_t start = node_range(writing->source, statement).start;
    const char *indent = line_indent(writing, start);
    const char *tensor = tensor_of(writing, function, arguments);
    if (!indent || !tensor) return false;
    Buffer before = buffer_new(arena), passed = buffer_new(arena);
    for (LIST_EACH(int, i, *writing->values)) {
        Str lanes = writing->values->items[i].lanes;
        const char *size = lanes.size ? launch_size_text(arena, arguments, lanes) : "";
        if (!size) return false;
        const char *name = writing->buffers[i];
        buffer_printf(&before, "%s = torch.empty((", name);
        for (int axis = writing->axes - 1; axis >= 0; axis--)
            buffer_printf(&before, "%s%s%s%s", arguments->grid[axis], *size && !axis ? " * " : "",
                          axis ? "" : size,
                          axis                 ? ", "
                          : writing->axes == 1 ? ","
                                               : "");
        buffer_printf(&before, "), dtype=torch.float32, device=%s.device)\n%s", tensor, indent);
        buffer_printf(&passed, ", %s=%s", writing->names[i], name);
        for (int axis = writing->axes - 1; axis > 0; axis--)
            buffer_printf(&passed, ", %s=%s.stride(%d)", step_name(writing, i, axis), name,
                          writing->axes - 1 - axis);
    }
    insert(writing, start, buffer_text(&before));
    insert(writing, arguments->last_end, buffer_text(&passed));
    return true;
}

static int by_place(const void *a, const void *b) {
    const Insertion *left = a, *right = b;
    if (left->at != right->at) return left->at < right->at ? -1 : 1;
    return left->order - right->order;
}

static const char *written(SavingWriting *writing) {
    qsort(writing->insertions.items, (size_t)writing->insertions.count,
          sizeof *writing->insertions.items, by_place);
    Buffer out = buffer_sized(writing->arena, writing->source->text.size + 1024);
    uint32_t at = 0;
    for (LIST_EACH(int, i, writing->insertions)) {
        const Insertion *insertion = &writing->insertions.items[i];
        buffer_add(&out, writing->source->text.data + at, insertion->at - at);
        buffer_puts(&out, insertion->text);
        at = insertion->at;
    }
    buffer_add(&out, writing->source->text.data + at, writing->source->text.size - at);
    return buffer_text(&out);
}

static bool is_called(const SavingWriting *writing, const char *name, const char *dotted) {
    ScopeEntry entry = module_resolve(writing->arena, writing->module, str_from(name));
    return entry.kind == SCOPE_EXTERNAL && str_is(entry.dotted, dotted);
}

typedef struct KernelUses {
    const Source *source;
    Str name;
    int count;
} KernelUses;

static bool visit_name(void *context, SyntaxNode node) {
    KernelUses *mentions = context;
    mentions->count += node_kind(node) == SYNTAX_IDENTIFIER &&
                       str_equal(node_text(mentions->source, node), mentions->name);
    return true;
}

const char *saving_text(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        const RowValues *values, const char **names) {
    SavingWriting writing = {.arena = arena,
                             .source = snapshot->source,
                             .module = snapshot->module,
                             .kernel = kernel->definition,
                             .values = values,
                             .names = names,
                             .buffers = ARENA_ARRAY(arena, const char *, values->count + 1)};
    if (!is_called(&writing, "tl", "triton.language") || !is_called(&writing, "torch", "torch"))
        return NULL;
    KernelUses mentions = {snapshot->source, kernel->definition->name, 0};
    syntax_walk(syntax_root(snapshot->module->tree), visit_name, &mentions);
    int launches = 0, most_positional = 0;
    LIST(LaunchArguments) all = {0};
    for (LIST_EACH(int, i, snapshot->module->launches)) {
        const LaunchSite *site = &snapshot->module->launches.items[i];
        if (site->kernel != kernel->definition) continue;
        LaunchArguments arguments;
        if (!launch_arguments_read(arena, snapshot->module, site, &arguments)) return NULL;
        if (launches && arguments.axes != writing.axes) return NULL;
        writing.axes = arguments.axes;
        if (arguments.positional > most_positional) most_positional = arguments.positional;
        LIST_PUSH(arena, &all, arguments);
        launches++;
    }
    // Besides its launches nothing may use the kernel: its parameters become more.
    if (!launches || mentions.count != launches + 1) return NULL;
    name_all(&writing);
    if (!write_parameters(&writing, most_positional)) return NULL;
    for (LIST_EACH(int, i, *values))
        if (!write_store(&writing, i)) return NULL;
    for (LIST_EACH(int, i, all))
        if (!write_launch(&writing, kernel->function, &all.items[i])) return NULL;
    return written(&writing);
}
