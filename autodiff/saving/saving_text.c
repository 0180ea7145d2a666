// What is written is read again by the front end, and derived and proved like any other text: a value that is not what it was taken for
// costs a store, and makes no gradient wrong.
#include "autodiff/saving/saving_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/saving/launch_sizes.h"
#include "autodiff/state/saved_parameters.h"

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
    SavedPieces pieces;
} SavingWriting;

static void add_piece(SavingWriting *writing, const char *from, const char *to) {
    LIST_PUSH(writing->arena, &writing->pieces, ((SavedPiece){from, to}));
}

/// Everything stands in a line that is there: what is said of lines holds for the user's text.
static void insert(SavingWriting *writing, uint32_t at, const char *text, const char *to) {
    Insertion insertion = {at, text, writing->insertions.count};
    LIST_PUSH(writing->arena, &writing->insertions, insertion);
    if (to) add_piece(writing, text, to);
}

/// The steps of a buffer along the grid's axes but the first, as parameters of the kernel.
static const char *step_name(const SavingWriting *writing, int value, int axis) {
    return saved_step_name(writing->arena, writing->names[value], axis);
}

static bool is_taken(const SavingWriting *writing, const char *name, int known) {
    for (int k = 0; k < known; k++)
        if (strcmp(writing->names[k], name) == 0) return true;
    return str_has_word(writing->source->text, str_from(name));
}

/// Names that the text does not have, nor another value.
static void name_all(SavingWriting *writing) {
    Arena *arena = writing->arena;
    for (LIST_EACH(int, i, *writing->values)) {
        const char *name = writing->values->items[i].name;
        for (int n = 0;; n++) {
            const char *stem = n ? arena_printf(arena, "%s_%d", name, n) : name;
            writing->names[i] = arena_printf(arena, "%s_saved_ptr", stem);
            writing->buffers[i] = arena_printf(arena, "%s_saved", stem);
            bool taken = is_taken(writing, writing->names[i], i) ||
                         is_taken(writing, writing->buffers[i], 0);
            for (int axis = 1; axis < PROGRAM_AXES; axis++)
                taken |= is_taken(writing, step_name(writing, i, axis), 0);
            if (!taken) break;
        }
    }
}

// --- The kernel

/// The blanks in front of what begins a line; NULL: something else stands there.
static const char *line_indent(const SavingWriting *writing, uint32_t at) {
    const char *text = writing->source->text.data;
    uint32_t start = at;
    while (start > 0 && text[start - 1] != '\n') start--;
    for (uint32_t i = start; i < at; i++)
        if (text[i] != ' ') return NULL;
    return str_dup(writing->arena, (Str){text + start, at - start});
}

/// What stands behind a statement in its line: blanks and a comment; NULL: something else.
static const char *line_rest(const SavingWriting *writing, uint32_t at) {
    Str text = writing->source->text;
    uint32_t end = at;
    while (end < text.size && (text.data[end] == ' ' || text.data[end] == '\t')) end++;
    bool is_comment = end < text.size && text.data[end] == '#';
    while (is_comment && end < text.size && text.data[end] != '\n' && text.data[end] != '\r') end++;
    if (end < text.size && text.data[end] != '\n' && text.data[end] != '\r') return NULL;
    return str_dup(writing->arena, (Str){text.data + at, is_comment ? end - at : 0});
}

/// Whether another value is known behind the same statement.
static bool shares_statement(const SavingWriting *writing, int value) {
    const RowValue *values = writing->values->items;
    for (int i = 0; i < writing->values->count; i++)
        if (i != value && node_same(values[i].statement, values[value].statement)) return true;
    return false;
}

/// `tl.store(m_saved_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), m)`
static const char *store_text(const SavingWriting *writing, int value) {
    const RowValue *candidate = &writing->values->items[value];
    // lanes may be more than an int32 counts, rows are not
    const char *wide = candidate->is_choice ? ".to(tl.int64)" : "";
    Buffer out = buffer_new(writing->arena);
    buffer_printf(&out, "tl.store(%s", writing->names[value]);
    for (int axis = writing->axes - 1; axis > 0; axis--)
        buffer_printf(&out, " + tl.program_id(%d)%s * %s", axis, wide,
                      step_name(writing, value, axis));
    buffer_printf(&out, " + tl.program_id(0)%s", wide);
    Str lanes = candidate->lanes, columns = candidate->columns;
    if (columns.size)
        buffer_printf(&out,
                      " * %.*s * %.*s + tl.arange(0, %.*s)[:, None] * %.*s"
                      " + tl.arange(0, %.*s)[None, :]",
                      STR_ARGS(lanes), STR_ARGS(columns), STR_ARGS(lanes), STR_ARGS(columns),
                      STR_ARGS(columns));
    else if (lanes.size)
        buffer_printf(&out, " * %.*s + tl.arange(0, %.*s)", STR_ARGS(lanes), STR_ARGS(lanes));
    buffer_printf(&out, ", %s)", candidate->expression);
    return buffer_text(&out);
}

/// The lines of a statement that was laid out at so many columns, each without these.
static const char *moved_left(Arena *arena, const char *lines, size_t columns) {
    Buffer out = buffer_new(arena);
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        buffer_printf(&out, "%s%.*s", out.size ? "\n" : "", (int)(size - columns), lines + columns);
        lines += size + (lines[size] == '\n');
    }
    return buffer_text(&out);
}

/// Where no gradient is asked for, nothing is stored.
static const char *guarded_text(const SavingWriting *writing, int value, const char *store,
                                size_t indent) {
    Buffer lines = buffer_new(writing->arena);
    layout_statement(&lines, (int)indent + INDENT, "", store, "");
    return arena_printf(writing->arena, "if %s is not None:\n%s", writing->names[value],
                        moved_left(writing->arena, buffer_text(&lines), indent));
}

static bool is_simple(SyntaxNode statement) {
    return node_kind(statement) == SYNTAX_EXPRESSION_STATEMENT;
}

/// The statement of the kernel's body behind another one; a null node: there is none.
static SyntaxNode statement_behind(const SavingWriting *writing, SyntaxNode statement) {
    SyntaxNode *children;
    int count = node_children(writing->arena, writing->kernel->body, &children);
    for (int i = 0; i + 1 < count; i++)
        if (node_same(children[i], statement)) return children[i + 1];
    return (SyntaxNode){0};
}

/// The store, behind the statement in its last line, or in front of the one that follows it.
static bool write_store(SavingWriting *writing, int value) {
    SyntaxNode statement = writing->values->items[value].statement;
    Range range = node_range(writing->source, statement);
    const char *store = store_text(writing, value), *indent = line_indent(writing, range.start);
    Str text = source_slice(range);
    bool is_line = is_simple(statement) && !memchr(text.data, '\n', text.size);
    if (!indent) return false;
    const char *rest = is_line ? line_rest(writing, range.end) : NULL;
    if (rest && (!*rest || !shares_statement(writing, value))) {
        const char *guarded = guarded_text(writing, value, store, strlen(indent));
        insert(writing, range.end, arena_printf(writing->arena, "; %s", store), NULL);
        add_piece(writing, arena_printf(writing->arena, "; %s%s", store, rest),
                  arena_printf(writing->arena, "%s\n%s", rest, guarded));
        return true;
    }
    SyntaxNode next = statement_behind(writing, statement);
    if (node_is_null(next) || !is_simple(next)) return false;
    range = node_range(writing->source, next);
    indent = line_indent(writing, range.start);
    if (!indent) return false;
    insert(
        writing, range.start, arena_printf(writing->arena, "%s; ", store),
        arena_printf(writing->arena, "%s\n", guarded_text(writing, value, store, strlen(indent))));
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

/// The parameters of one line, a line each.
static const char *apart(Arena *arena, const char *line) {
    Buffer out = buffer_new(arena);
    int depth = 0;
    for (const char *at = line; *at; at++) {
        depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
        bool is_end = *at == ',' && depth == 0;
        if (is_end && at[1] == ' ') {
            buffer_puts(&out, ",\n");
            at++;
        } else {
            buffer_printf(&out, "%c", *at);
        }
    }
    if (!str_ends(str_from(line), ",")) buffer_puts(&out, ",");
    return buffer_text(&out);
}

/// A header of one line, or of one for all parameters, broken where it is too long with `more` in it at `at`.
static void note_header(SavingWriting *writing, uint32_t at, const char *more) {
    Arena *arena = writing->arena;
    Str text = writing->source->text;
    uint32_t start = at, end = at;
    while (start > 0 && text.data[start - 1] != '\n') start--;
    while (end < text.size && text.data[end] != '\n' && text.data[end] != '\r') end++;
    size_t indent = 0;
    while (start + indent < at && text.data[start + indent] == ' ') indent++;
    start += (uint32_t)indent;
    const char *line = arena_printf(arena, "%.*s%s%.*s", (int)(at - start), text.data + start, more,
                                    (int)(end - at), text.data + at);
    static const char head[] = "def ", tail[] = "):";
    bool is_whole = str_starts(str_from(line), head) && str_ends(str_from(line), tail);
    if (indent + strlen(line) <= LINE_LIMIT) return;
    if (!is_whole && !strchr(line, '#')) add_piece(writing, line, apart(arena, line));
    if (!is_whole) return;
    Buffer lines = buffer_new(arena);
    const char *call = line + sizeof head - 1;
    layout_statement(&lines, (int)indent, head,
                     arena_printf(arena, "%.*s", (int)strlen(call) - 1, call), ":");
    add_piece(writing, line, moved_left(arena, buffer_text(&lines), indent));
}

static bool write_parameters(SavingWriting *writing, int most_positional) {
    const FunctionDefinition *kernel = writing->kernel;
    Buffer out = buffer_new(writing->arena), apart = buffer_new(writing->arena);
    for (LIST_EACH(int, i, *writing->values))
        for (int axis = writing->axes; axis > 0; axis--) {
            bool is_pointer = axis == writing->axes;
            const char *name = is_pointer ? writing->names[i] : step_name(writing, i, axis);
            buffer_printf(&out, "%s, ", name);
            buffer_printf(&apart, "%s,\n", name);
        }
    int place = parameter_place(writing, most_positional);
    if (place >= 0) {
        uint32_t at = kernel->parameters[place].range.start;
        const char *indent = line_indent(writing, at);
        insert(writing, at, buffer_text(&out), indent ? buffer_text(&apart) : NULL);
        if (!indent) note_header(writing, at, buffer_text(&out));
        return true;
    }
    // at the end, where nothing in front may be left out
    for (int i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].default_text.size || kernel->parameters[i].is_keyword_only ||
            kernel->parameters[i].is_variadic)
            return false;
    const char *text = buffer_text(&out);
    const char *behind = arena_printf(writing->arena, ", %.*s", (int)strlen(text) - 2, text);
    uint32_t at = kernel->parameters[kernel->parameter_count - 1].range.end;
    insert(writing, at, behind, NULL);
    note_header(writing, at, behind);
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

/// `m_saved = torch.empty((B * H, triton.cdiv(N, 64) * 64), ...)` in front of the launch, and what it passes of it. The derivation reads
/// it, and so does the proof; in a module the Function makes the buffer.
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
        Str columns = writing->values->items[i].columns;
        const char *size = lanes.size ? launch_size_text(arena, arguments, lanes) : "";
        const char *wide = columns.size ? launch_size_text(arena, arguments, columns) : "";
        if (!size || !wide) return false;
        if (*wide) size = arena_printf(arena, "%s * %s", size, wide);
        const char *name = writing->buffers[i];
        buffer_printf(&before, "%s = torch.empty((", name);
        for (int axis = writing->axes - 1; axis >= 0; axis--)
            buffer_printf(&before, "%s%s%s%s", arguments->grid[axis], *size && !axis ? " * " : "",
                          axis ? "" : size,
                          axis                 ? ", "
                          : writing->axes == 1 ? ","
                                               : "");
        const char *type = writing->values->items[i].is_choice ? "bool" : "float32";
        buffer_printf(&before, "), dtype=torch.%s, device=%s.device); ", type, tensor);
        buffer_printf(&passed, ", %s=%s", writing->names[i], name);
        for (int axis = writing->axes - 1; axis > 0; axis--)
            buffer_printf(&passed, ", %s=%s.stride(%d)", step_name(writing, i, axis), name,
                          writing->axes - 1 - axis);
    }
    insert(writing, start, buffer_text(&before), "");
    insert(writing, arguments->last_end, buffer_text(&passed), NULL);
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
                        const RowValues *values, const char **names, SavedPieces *pieces) {
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
        // What a tuner decides the grid may ask for, and then it is no tuple before the launch.
        if (kernel->definition->tuned_names.count && arguments.is_computed) return NULL;
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
    *pieces = writing.pieces;
    return written(&writing);
}
