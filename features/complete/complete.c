// Completion: which of its parts the cursor asks for, and the documentation of items.
#include "features/complete/complete.h"

#include "features/complete/complete_arguments.h"
#include "features/complete/complete_names.h"
#include "features/describe/describe.h"
#include "features/names/values.h"

#include <string.h>

void complete_add(Completer *completer, CompletionItem item) {
    Str label = str_from(item.label);
    if (map_has(&completer->seen, label)) return;
    map_set(&completer->seen, label, completer);
    if (!item.insert) item.insert = item.label;
    if (!item.detail) item.detail = "";
    if (!item.sort) item.sort = arena_printf(completer->arena, "5%s", item.label);
    LIST_PUSH(completer->arena, &completer->completions.list, item);
}

/// The parameters alone; the documentation has the whole signature.
static const char *operation_detail(Arena *arena, OpCode code, bool method) {
    const char *parameters = op_rows[code].parameters;
    if (!parameters) return "";
    const char *comma = method ? strchr(parameters, ',') : NULL;
    if (method) parameters = comma ? comma + 2 : "";
    return arena_printf(arena, "(%s)", parameters);
}

void complete_operation(Completer *completer, OpCode code, const char *label, bool method,
                        const char *sort) {
    const OpRow *row = &op_rows[code];
    int count;
    op_parameters(code, &count);
    bool is_call = row->kind == KIND_ORDINARY || row->kind == KIND_EXPANDS ||
                   row->kind == KIND_HINT || code == OP_FOR || code == OP_STATIC_FOR;
    bool takes = count > (method ? 1 : 0);
    CompletionItem item = {.label = label,
                           .kind = method ? COMPLETION_METHOD : COMPLETION_OPERATION,
                           .detail = operation_detail(completer->arena, code, method),
                           .is_deprecated = row->until != NULL,
                           .sort = sort};
    item.key = arena_printf(completer->arena, method ? "method:%s" : "op:%s", op_id(code));
    if (is_call && !completer->has_bracket) {
        item.insert = arena_printf(completer->arena, takes ? "%s($0)" : "%s()", label);
        item.is_snippet = takes;
    }
    complete_add(completer, item);
}

static void shift_ranges(Completions *completions, const Source *source) {
    completions->replace.source = source;
}

static Range prefix_before(const Source *source, uint32_t offset) {
    uint32_t start = offset;
    while (start > 0 && byte_is_word(source->text.data[start - 1])) start--;
    return (Range){source, start, offset};
}

static bool is_number(Str text) { return text.size && text.data[0] >= '0' && text.data[0] <= '9'; }

/// Where a name is made up, nothing is offered: `def |`, `as |`, `for |`.
static bool follows_naming_word(const Source *source, uint32_t offset) {
    static const char *const words[] = {"def", "as", "for", "class", "import", "from", "lambda"};
    uint32_t end = offset;
    while (end > 0 && source->text.data[end - 1] == ' ') end--;
    if (end == offset) return false;
    Range word = prefix_before(source, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(source_slice(word), words[i])) return true;
    return false;
}

static void complete_code(Completer *completer) {
    const Source *source = completer->names->source;
    uint32_t start = completer->prefix.start;
    if (is_number(source_slice(completer->prefix))) return;
    if (start > 0 && source->text.data[start - 1] == '.') {
        if (start > 1 && source->text.data[start - 2] == '.') return;
        complete_members(completer, (Range){source, completer->scan->start, start - 1});
        return;
    }
    if (follows_naming_word(source, start)) return;
    if (complete_arguments(completer)) return;
    if (completer->kernel) complete_names(completer);
}

static Completions complete_in(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                               bool may_repair);

/// The statement at the cursor is broken, and its function with it: complete in a text where it is not.
static bool complete_repaired(Arena *arena, FileNames *names, const Scan *scan, Completions *out) {
    const char *text = text_repaired(names, scan);
    if (!text) return false;
    SnapshotOptions options = {.resolver = names->snapshot->module->resolver, .skip_checks = true};
    Snapshot *repaired = snapshot_update(names->snapshot, str_from(text), &options);
    *out = complete_in(arena, repaired, scan->offset, false);
    shift_ranges(out, names->source);
    // Texts of items are copies or rows of tables; nothing of the other snapshot stays.
    snapshot_release(repaired);
    return true;
}

/// Whether the statement around the cursor is a jit function, by its text: other functions are not worth a second analysis.
static bool looks_like_kernel(FileNames *names, const Scan *scan) {
    Str text = {names->source->text.data + scan->start, scan->offset - scan->start};
    if (!text.size || text.data[0] != '@') return false;
    for (size_t at = 1; at + 4 <= text.size; at++)
        if (text.data[at - 1] == '\n' && strncmp(text.data + at, "def ", 4) == 0)
            return text_contains((Str){text.data, at}, "jit");
    return false;
}

static Completions complete_in(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                               bool may_repair) {
    FileNames names = names_of(arena, snapshot);
    const Source *source = snapshot->source;
    Completer completer = {
        .arena = arena, .names = &names, .offset = offset, .seen = map_new(arena)};
    completer.prefix = completer.completions.replace = prefix_before(source, offset);
    Scan scan = scan_to(&names, offset);
    completer.scan = &scan;
    completer.kernel = kernel_at(&names, offset);
    uint32_t after = offset, start = completer.prefix.start;
    while (after < source->text.size && byte_is_word(source->text.data[after])) after++;
    completer.has_bracket = after < source->text.size && source->text.data[after] == '(';
    bool is_lost = !completer.kernel && !scan.in_comment && looks_like_kernel(&names, &scan);
    bool is_member = start > 0 && source->text.data[start - 1] == '.' && !scan.in_string;
    if (is_lost && is_member &&
        complete_language(&completer, (Range){source, scan.start, start - 1}))
        return completer.completions;
    Completions repaired;
    if (is_lost && may_repair && complete_repaired(arena, &names, &scan, &repaired))
        return repaired;
    if (scan.in_comment)
        complete_comment(&completer);
    else if (scan.in_string)
        complete_string(&completer);
    else
        complete_code(&completer);
    return completer.completions;
}

Completions completions_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    if (offset > snapshot->source->text.size) return (Completions){0};
    return complete_in(arena, snapshot, offset, true);
}

// --- Documentation

static OpCode code_of_id(const char *id) {
    for (int code = 0; code < OP_COUNT; code++)
        if (strcmp(op_rows[code].id, id) == 0) return (OpCode)code;
    return OP_COUNT;
}

const char *completion_detail(Arena *arena, const char *key) {
    bool is_method = strncmp(key, "method:", 7) == 0;
    if (!is_method && strncmp(key, "op:", 3) != 0) return NULL;
    OpCode code = code_of_id(strchr(key, ':') + 1);
    return code == OP_COUNT ? NULL : operation_detail(arena, code, is_method);
}

const char *completion_documentation(Arena *arena, const char *key) {
    const char *colon = key ? strchr(key, ':') : NULL;
    if (!colon) return NULL;
    const char *rest = colon + 1;
    Str kind = {key, (size_t)(colon - key)};
    Buffer out = buffer_new(arena);
    if (str_is(kind, "op") || str_is(kind, "method")) {
        OpCode code = code_of_id(rest);
        if (code == OP_COUNT) return NULL;
        describe_operation(&out, code, str_is(kind, "method"));
    } else if (str_is(kind, "diagnostic")) {
        const DiagnosticRow *row = diagnostic_find(str_from(rest));
        if (!row) return NULL;
        buffer_printf(&out, "**%s**\n\n%s", row->title, diagnostic_page(arena, row));
    } else if (str_is(kind, "text")) {
        buffer_puts(&out, rest);
    } else if (str_is(kind, "docstring")) {
        buffer_puts(&out, stranger_text(arena, str_from(rest)));
    } else {
        return NULL;
    }
    return buffer_text(&out);
}
