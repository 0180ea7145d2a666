// Edits of source text: nodes of the syntax tree in, replaced bytes out.
#include "codeactions/fix.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

static void add_edit(Fix *fix, uint32_t start, uint32_t end, const char *text) {
    TextEdit edit = {{fix->source, start, end}, text};
    LIST_PUSH(fix->arena, &fix->edit->edits, edit);
    // Kept sorted; there are few.
    for (int i = fix->edit->edits.count - 1; i > 0; i--) {
        TextEdit *now = &fix->edit->edits.items[i], *before = now - 1;
        if (before->range.start <= now->range.start) break;
        TextEdit swapped = *now;
        *now = *before;
        *before = swapped;
    }
}

void fix_replace(Fix *fix, uint32_t start, uint32_t end, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_edit(fix, start, end, arena_vprintf(fix->arena, format, arguments));
    va_end(arguments);
}

void fix_replace_node(Fix *fix, SyntaxNode node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Range range = node_range(fix->source, node);
    add_edit(fix, range.start, range.end, arena_vprintf(fix->arena, format, arguments));
    va_end(arguments);
}

void fix_refuse(Fix *fix, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fix->edit->refusal = arena_vprintf(fix->arena, format, arguments);
    va_end(arguments);
}

void fix_title(Fix *fix, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fix->title = arena_vprintf(fix->arena, format, arguments);
    va_end(arguments);
}

void fix_clear(Fix *fix) {
    fix->edit->edits.count = 0;
    fix->edit->files.count = 0;
}

SyntaxNode fix_root(const Fix *fix) { return syntax_root(fix->snapshot->module->tree); }

bool node_is(SyntaxNode node, SyntaxKind kind) {
    return !node_is_null(node) && node_kind(node) == kind;
}

SyntaxNode fix_node(const Fix *fix, Range range) {
    SyntaxNode node = node_at(fix_root(fix), range.start, range.end);
    Range own = node_range(fix->source, node);
    if (node_is_null(node) || own.start != range.start || own.end != range.end)
        return (SyntaxNode){0};
    for (;;) {
        SyntaxNode parent = node_parent(node);
        if (node_is_null(parent)) return node;
        own = node_range(fix->source, parent);
        if (own.start != range.start || own.end != range.end || node_is(parent, SYNTAX_MODULE) ||
            node_is(parent, SYNTAX_EXPRESSION_STATEMENT) || node_is(parent, SYNTAX_BLOCK) ||
            node_is(parent, SYNTAX_ARGUMENT_LIST))
            return node;
        node = parent;
    }
}

SyntaxNode node_above(SyntaxNode node, SyntaxKind kind) {
    while (!node_is_null(node) && node_kind(node) != kind) node = node_parent(node);
    return node;
}

SyntaxNode fix_call(const Fix *fix, Range range) {
    SyntaxNode node = fix_node(fix, range);
    if (node_is_null(node)) node = node_at(fix_root(fix), range.start, range.end);
    return node_is_null(node) ? node : node_above(node, SYNTAX_CALL);
}

const char *fix_text(const Fix *fix, SyntaxNode node) {
    return str_dup(fix->arena, node_text(fix->source, node));
}

const char *fix_operand(const Fix *fix, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:
    case SYNTAX_INTEGER:
    case SYNTAX_FLOAT:
    case SYNTAX_CALL:
    case SYNTAX_ATTRIBUTE:
    case SYNTAX_SUBSCRIPT:
    case SYNTAX_PARENTHESIZED: return fix_text(fix, node);
    default: return arena_printf(fix->arena, "(%s)", fix_text(fix, node));
    }
}

SyntaxNode call_argument(const Fix *fix, SyntaxNode call, const char *keyword, int position) {
    SyntaxNode *arguments;
    SyntaxNode list = node_field(call, "arguments");
    if (!node_is(list, SYNTAX_ARGUMENT_LIST)) return (SyntaxNode){0};
    int count = node_children(fix->arena, list, &arguments), positional = 0;
    for (int i = 0; i < count; i++) {
        if (node_is(arguments[i], SYNTAX_KEYWORD_ARGUMENT)) {
            Str name = node_text(fix->source, node_field(arguments[i], "name"));
            if (str_is(name, keyword)) return node_field(arguments[i], "value");
        } else if (positional++ == position) {
            return arguments[i];
        }
    }
    return (SyntaxNode){0};
}

void call_add_keyword(Fix *fix, SyntaxNode call, const char *keyword, const char *value) {
    SyntaxNode list = node_field(call, "arguments");
    SyntaxNode *arguments;
    int count = node_children(fix->arena, list, &arguments);
    if (count == 0) {
        uint32_t at = node_range(fix->source, list).end - 1;
        fix_replace(fix, at, at, "%s=%s", keyword, value);
        return;
    }
    Range last = node_range(fix->source, arguments[count - 1]);
    uint32_t line = last.start;
    const char *text = fix->source->text.data;
    while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t')) line--;
    bool is_on_own_line = line > 0 && text[line - 1] == '\n';
    if (is_on_own_line)
        fix_replace(fix, last.end, last.end, ",\n%.*s%s=%s", (int)(last.start - line), text + line,
                    keyword, value);
    else
        fix_replace(fix, last.end, last.end, ", %s=%s", keyword, value);
}

void call_remove_argument(Fix *fix, SyntaxNode value) {
    SyntaxNode argument = value;
    if (node_is(node_parent(value), SYNTAX_KEYWORD_ARGUMENT)) argument = node_parent(value);
    Range range = node_range(fix->source, argument);
    const char *text = fix->source->text.data;
    uint32_t start = range.start;
    while (start > 0 && strchr(" \t\r\n", text[start - 1])) start--;
    if (start > 0 && text[start - 1] == ',') {
        fix_replace(fix, start - 1, range.end, "%s", "");
        return;
    }
    uint32_t end = range.end, size = (uint32_t)fix->source->text.size;
    while (end < size && strchr(", \t", text[end])) end++;
    fix_replace(fix, range.start, end, "%s", "");
}

Range fix_range_of(const Fix *fix, const Op *op) {
    Range range = snapshot_range(fix->snapshot, op->range);
    return range.source == fix->source ? range : (Range){0};
}

typedef struct OpSearch {
    const Fix *fix;
    Range range;
    OpCode code;
    Op *found;
} OpSearch;

static bool visit_op(void *context, Op *op) {
    OpSearch *search = context;
    if (search->code != OP_COUNT && op->code != search->code) return true;
    if (search->code == OP_COUNT && op_rows[op->code].kind == KIND_STRUCTURAL) return true;
    Range range = fix_range_of(search->fix, op);
    if (!range.source || range.start != search->range.start || range.end != search->range.end)
        return true;
    search->found = op;
    return false;
}

Op *fix_op(const Fix *fix, Range range, OpCode code) {
    OpSearch search = {fix, range, code, NULL};
    if (fix->kernel && fix->kernel->function)
        region_walk(fix->kernel->function->body, visit_op, &search);
    return search.found;
}

static const char *name_of_module(const Fix *fix, const char *dotted) {
    const ModuleScope *scope = fix->snapshot->module->scope;
    for (int i = 0; i < scope->names.count; i++) {
        Str name = scope->names.entries[i].key;
        ScopeEntry entry = module_resolve(fix->arena, fix->snapshot->module, name);
        if (entry.kind == SCOPE_EXTERNAL && str_is(entry.dotted, dotted))
            return str_dup(fix->arena, name);
    }
    return NULL;
}

const char *fix_language(const Fix *fix) { return name_of_module(fix, "triton.language"); }
const char *fix_triton(const Fix *fix) { return name_of_module(fix, "triton"); }

static int count_severity(const Snapshot *snapshot, Severity severity) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += snapshot->diagnostics.list.items[i].severity == severity;
    return count;
}

static int count_id(const Snapshot *snapshot, DiagnosticId id) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += snapshot->diagnostics.list.items[i].id == id;
    return count;
}

static bool visit_counted(void *context, Op *op) {
    (void)op;
    ++*(int *)context;
    return true;
}

/// About what another analysis of the text looks at: the kernel, or all of them, which may call what is changed.
static int analysis_size(const Fix *fix) {
    bool is_own = fix->kernel && !fix->kernel->definition->is_helper;
    int count = 0;
    for (LIST_EACH(int, i, fix->snapshot->kernels)) {
        const Kernel *kernel = &fix->snapshot->kernels.items[i];
        if (kernel->function && (!is_own || kernel == fix->kernel))
            region_walk(kernel->function->body, visit_counted, &count);
    }
    return count;
}

/// The text with the edits; NULL where that is more work than may be done now.
static Snapshot *analyse_again(Fix *fix) {
    int size = fix->effort ? analysis_size(fix) : 0;
    fix->is_untried |= fix->effort && size > *fix->effort;
    if (fix->is_untried) return NULL;
    if (fix->effort) *fix->effort -= size;
    SnapshotOptions options = {.resolver = fix->snapshot->module->resolver,
                               .skip_trials = !fix->tries_launches};
    Str text = edits_applied(fix->arena, fix->source->text, fix->edit);
    return snapshot_update(fix->snapshot, text, &options);
}

int fix_trouble(Fix *fix) {
    const Snapshot *after = analyse_again(fix);
    if (!after) return 0;
    int weight =
        100 * count_severity(after, SEVERITY_ERROR) + count_severity(after, SEVERITY_WARNING);
    snapshot_release(after);
    return weight;
}

/// Whether the diagnostic stands where the edits are, or around them.
static bool is_still_there(const Fix *fix, const Snapshot *after) {
    Range place = fix->diagnostic->range;
    uint32_t size_after = (uint32_t)after->source->text.size;
    uint32_t behind = (uint32_t)fix->source->text.size - place.end;
    for (LIST_EACH(int, i, after->diagnostics.list)) {
        const Diagnostic *diagnostic = &after->diagnostics.list.items[i];
        Range range = snapshot_range(after, diagnostic->range);
        if (diagnostic->id == fix->diagnostic->id && range.start <= size_after - behind &&
            place.start <= range.end)
            return true;
    }
    return false;
}

/// Once less in the file; or, where only the first place of a kernel has the hint, at the next one.
static bool diagnostic_is_gone(const Fix *fix, const Snapshot *after) {
    DiagnosticId id = fix->diagnostic->id;
    int before = count_id(fix->snapshot, id), now = count_id(after, id);
    bool moves_on = now == before && fix->diagnostic->severity > SEVERITY_WARNING;
    return now < before || (moves_on && !is_still_there(fix, after));
}

bool fix_holds(Fix *fix) {
    const Snapshot *after = analyse_again(fix);
    if (!after) return true;
    bool holds = after->module->has_syntax_errors <= fix->snapshot->module->has_syntax_errors;
    const Diagnostic *diagnostic = fix->diagnostic;
    if (diagnostic) holds &= diagnostic_is_gone(fix, after);
    // Past an error the analysis was silent: with it gone, others may be seen for the first time.
    for (Severity severity = SEVERITY_ERROR; severity <= SEVERITY_WARNING; severity++)
        if (!diagnostic || diagnostic->severity != SEVERITY_ERROR)
            holds &= count_severity(after, severity) <= count_severity(fix->snapshot, severity);
    if (holds && fix->holds) holds = fix->holds(fix, after);
    snapshot_release(after);
    return holds;
}

Nearest nearest_to(Str name) { return (Nearest){name, NULL, 2 + (int)name.size / 4}; }

void nearest_consider(Arena *arena, Nearest *nearest, Str candidate) {
    if (str_equal(nearest->name, candidate)) return;
    int distance = str_distance(nearest->name, candidate);
    if (distance >= nearest->distance) return;
    nearest->distance = distance;
    nearest->best = str_dup(arena, candidate);
}
