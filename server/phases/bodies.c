// A body is cut out by lines: from the one below its signature to the one that its last statement ends on.
#include "server/phases/bodies.h"

#include <ctype.h>

#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/emitted.h"

enum { LONGEST_ANSWER = 200000 };

/// The only function of the text with the name; NULL where there is none, or several.
static const FunctionDefinition *only_function(const Snapshot *snapshot, const char *name) {
    const FunctionDefinition *found = NULL;
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        const FunctionDefinition *function = snapshot->module->functions.items[i];
        if (!str_is(function->name, name)) continue;
        if (found) return NULL;
        found = function;
    }
    return found;
}

OpenBodies bodies_open(Arena *arena, const Snapshot *snapshot, const Kernel *forward) {
    OpenBodies open = {0};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        const char *name = str_dup(arena, kernel->definition->name);
        if (kernel_of_backward(snapshot, kernel) == forward && only_function(snapshot, name))
            LIST_PUSH(arena, &open.names, name);
    }
    return open;
}

static bool is_open(const OpenBodies *open, Str name) {
    for (LIST_EACH(int, i, open->names))
        if (str_is(name, open->names.items[i])) return true;
    return false;
}

// --- where a body lies

static size_t line_start(Str text, size_t at) {
    while (at > 0 && text.data[at - 1] != '\n') at--;
    return at;
}

static size_t line_end(Str text, size_t at) {
    while (at < text.size && text.data[at] != '\n') at++;
    return at;
}

/// Whether the line says nothing: blank, or a comment.
static bool is_silent(Str line) {
    Str trimmed = str_trim(line);
    return trimmed.size == 0 || trimmed.data[0] == '#';
}

/// Whole lines, without the last one's end. False where it begins on the line of its signature.
static bool body_lines(const Snapshot *snapshot, const FunctionDefinition *function, size_t *start,
                       size_t *end) {
    Str text = snapshot->source->text;
    Range body = node_range(snapshot->source, function->body);
    size_t first = line_start(text, body.start), last = body.end;
    Str before = {text.data + first, body.start - first};
    if (body.end <= body.start || str_trim(before).size || first <= function->name_range.end)
        return false;
    while (last > body.start && strchr(" \t\r\n", text.data[last - 1])) last--;
    // Comments above the first statement are the body's.
    while (first > function->name_range.end) {
        size_t above = line_start(text, first - 1);
        Str line = {text.data + above, first - 1 - above};
        if (above <= function->name_range.end || !is_silent(line)) break;
        first = above;
    }
    *start = first;
    *end = line_end(text, last);
    return true;
}

static Str body_of(const Snapshot *snapshot, const FunctionDefinition *function) {
    size_t start, end;
    if (!body_lines(snapshot, function, &start, &end)) return (Str){0};
    return (Str){snapshot->source->text.data + start, end - start};
}

/// From the first decorator to the line above the body.
static Str head_of(const Snapshot *snapshot, const FunctionDefinition *function) {
    size_t start, end;
    if (!body_lines(snapshot, function, &start, &end)) return (Str){0};
    return (Str){snapshot->source->text.data + function->range.start,
                 start - function->range.start};
}

const char *bodies_text(Arena *arena, const Snapshot *snapshot, const OpenBodies *open) {
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, open->names)) {
        const FunctionDefinition *function = only_function(snapshot, open->names.items[i]);
        if (!function) continue;
        Str text = source_slice(function->range);
        buffer_printf(&out, "%s%.*s\n", out.size ? "\n\n" : "", STR_ARGS(text));
    }
    return buffer_text(&out);
}

static bool count_node(void *context, SyntaxNode node) {
    int *count = context;
    *count += node_kind(node) != SYNTAX_COMMENT;
    return true;
}

int bodies_size(const Snapshot *snapshot, const OpenBodies *open) {
    int size = 0;
    for (LIST_EACH(int, i, open->names)) {
        const FunctionDefinition *function = only_function(snapshot, open->names.items[i]);
        if (function) syntax_walk(function->body, count_node, &size);
    }
    return size;
}

static bool is_in_open(const Snapshot *snapshot, const OpenBodies *open, Range place) {
    const FunctionDefinition *function =
        place.source == snapshot->source ? snapshot_function_around(snapshot, place) : NULL;
    return function && is_open(open, function->name);
}

int bodies_findings(const Snapshot *snapshot, const OpenBodies *open) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += is_in_open(snapshot, open, snapshot->diagnostics.list.items[i].range);
    return count;
}

const char *bodies_findings_text(Arena *arena, const Snapshot *snapshot, const OpenBodies *open) {
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &snapshot->diagnostics.list.items[i];
        if (!is_in_open(snapshot, open, diagnostic->range)) continue;
        Str place = source_slice(diagnostic->range);
        Str line = {place.data, line_end(place, 0)};
        buffer_printf(&out, "`%.*s`: %s (%s)\n", STR_ARGS(line), diagnostic->message,
                      diagnostic_rows[diagnostic->id].name);
    }
    return buffer_text(&out);
}

// --- from an answer

/// The code of the answer: what stands between fences, one below the other; all of it where there are none.
static Str code_of(Arena *arena, const char *answer) {
    Buffer out = buffer_new(arena);
    bool is_inside = false, has_fence = false;
    for (const char *at = answer; *at;) {
        size_t size = strcspn(at, "\n");
        Str line = str_trim((Str){at, size});
        if (str_starts(line, "```")) {
            is_inside = !is_inside;
            has_fence = true;
        } else if (is_inside) {
            buffer_printf(&out, "%.*s\n", (int)size, at);
        }
        at += size + (at[size] != 0);
    }
    if (has_fence) return (Str){buffer_text(&out), out.size};
    return str_from(answer);
}

static const char *refuse_text(Str text) {
    if (text.size > LONGEST_ANSWER) return "its code is longer than kernels are";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c > '~')
            return "its code has characters that no kernel needs";
    }
    return str_contains(text, STR("tad:"))
               ? "its code has a comment for tad-lsp, which only the author may write"
               : NULL;
}

/// Whether the two are equal but for blanks, line ends and a comma before the closing bracket.
static bool same_head(Str a, Str b) {
    for (size_t i = 0, k = 0;;) {
        while (i < a.size && (isspace((unsigned char)a.data[i]) || a.data[i] == ',')) i++;
        while (k < b.size && (isspace((unsigned char)b.data[k]) || b.data[k] == ',')) k++;
        if (i == a.size || k == b.size) return i == a.size && k == b.size;
        if (a.data[i++] != b.data[k++]) return false;
    }
}

static size_t indent_of(Str line) {
    size_t size = 0;
    while (size < line.size && line.data[size] == ' ') size++;
    return size;
}

static size_t least_indent(Str body) {
    size_t least = body.size;
    for (size_t at = 0; at < body.size; at++) {
        size_t end = line_end(body, at);
        Str line = {body.data + at, end - at};
        if (!is_silent(line) && indent_of(line) < least) least = indent_of(line);
        at = end;
    }
    return least;
}

const char *answer_indented(Arena *arena, Str body, size_t indent) {
    Buffer out = buffer_new(arena);
    size_t common = least_indent(body);
    for (size_t at = 0; at < body.size; at++) {
        size_t end = line_end(body, at);
        Str line = {body.data + at, end - at};
        size_t own = indent_of(line);
        if (str_trim(line).size) {
            size_t cut = own < common ? own : common;
            line = (Str){line.data + cut, line.size - cut};
            while (line.size && strchr(" \t\r", line.data[line.size - 1])) line.size--;
            buffer_printf(&out, "%*s%.*s", (int)indent, "", STR_ARGS(line));
        }
        if (end < body.size) buffer_putc(&out, '\n');
        at = end;
    }
    return buffer_text(&out);
}

/// What is not open may stand in the answer only as it is.
static const char *refuse_functions(Arena *arena, const Snapshot *base, const Snapshot *answer,
                                    const OpenBodies *open) {
    for (LIST_EACH(int, i, answer->module->functions)) {
        const FunctionDefinition *function = answer->module->functions.items[i];
        const char *name = str_dup(arena, function->name);
        const FunctionDefinition *own = only_function(base, name);
        if (is_open(open, function->name)) {
            if (!only_function(answer, name))
                return arena_printf(arena, "it defines `%s` several times", name);
            if (!own || !body_of(answer, function).size)
                return arena_printf(arena, "the body of `%s` cannot be told from its head", name);
            if (!same_head(head_of(answer, function), head_of(base, own)))
                return arena_printf(
                    arena, "the signature or a decorator of `%s` is another: both are locked",
                    name);
        } else if (!own) {
            return arena_printf(arena, "it adds a function `%s`: only bodies are open", name);
        } else if (!str_equal(str_trim(source_slice(own->range)),
                              str_trim(source_slice(function->range)))) {
            return arena_printf(arena, "`%s` is locked", name);
        }
    }
    return NULL;
}

static const char *with_bodies(Arena *arena, const Snapshot *base, const Snapshot *answer,
                               const OpenBodies *open) {
    Str text = base->source->text;
    Buffer out = buffer_sized(arena, text.size + answer->source->text.size);
    size_t at = 0;
    for (LIST_EACH(int, i, base->module->functions)) {
        const FunctionDefinition *function = base->module->functions.items[i];
        size_t start, end;
        if (!is_open(open, function->name) || !body_lines(base, function, &start, &end)) continue;
        const FunctionDefinition *given = only_function(answer, str_dup(arena, function->name));
        if (!given || start < at) continue;
        Range body = node_range(base->source, function->body);
        size_t indent = body.start - line_start(text, body.start);
        buffer_add(&out, text.data + at, start - at);
        buffer_puts(&out, answer_indented(arena, body_of(answer, given), indent));
        at = end;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}

const char *answer_fault(Arena *arena, const Snapshot *parsed, uint32_t start, uint32_t end) {
    enum { LONGEST_SHOWN = 120 };
    Str text = parsed->source->text;
    for (LIST_EACH(int, i, parsed->diagnostics.list)) {
        const Diagnostic *diagnostic = &parsed->diagnostics.list.items[i];
        Range place = diagnostic->range;
        if (diagnostic->id != DIAGNOSTIC_SYNTAX_ERROR || place.source != parsed->source ||
            place.start < start || place.start >= end)
            continue;
        int line = 1;
        for (uint32_t at = start; at < place.start; at++) line += text.data[at] == '\n';
        size_t first = line_start(text, place.start);
        Str shown = str_trim((Str){text.data + first, line_end(text, first) - first});
        if (shown.size > LONGEST_SHOWN) shown.size = LONGEST_SHOWN;
        return arena_printf(arena, " (its line %d, `%.*s`)", line, STR_ARGS(shown));
    }
    return "";
}

static const char *take_code(Arena *arena, const Snapshot *base, const OpenBodies *open, Str code,
                             const char **why) {
    const SnapshotOptions options = {.skip_checks = true};
    const Snapshot *parsed = snapshot_build("answer.py", code, &options);
    const char *text = NULL;
    bool any = false;
    for (LIST_EACH(int, i, open->names)) any |= only_function(parsed, open->names.items[i]) != NULL;
    if (module_has_errors(parsed->module) && any)
        *why = arena_printf(arena, "its code does not parse%s",
                            answer_fault(arena, parsed, 0, (uint32_t)code.size));
    else if (!any)
        *why = "it has none of the kernels that are asked about";
    else
        *why = refuse_functions(arena, base, parsed, open);
    if (!*why) text = with_bodies(arena, base, parsed, open);
    snapshot_release(parsed);
    return text;
}

Str answer_code(Arena *arena, const char *answer, const char **why) {
    Str code = code_of(arena, answer);
    *why = refuse_text(code);
    return *why ? (Str){0} : code;
}

const char *bodies_take(Arena *arena, const Snapshot *base, const OpenBodies *open,
                        const char *answer, const char **why) {
    Str code = answer_code(arena, answer, why);
    if (*why) return NULL;
    BugGuard guard;
    *why = "its code cannot be analysed";
    if (!BUG_GUARD(&guard)) return NULL;
    const char *reason = NULL, *text = take_code(arena, base, open, code, &reason);
    bug_guard_end(&guard);
    *why = reason;
    return text;
}

// --- what is locked

/// The text with a NUL in the place of each open body.
static Str locked_text(Arena *arena, const Snapshot *snapshot, const OpenBodies *open) {
    Str text = snapshot->source->text;
    Buffer out = buffer_sized(arena, text.size + 1);
    size_t at = 0;
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        const FunctionDefinition *function = snapshot->module->functions.items[i];
        size_t start, end;
        if (!is_open(open, function->name) || !body_lines(snapshot, function, &start, &end))
            continue;
        if (start < at) continue;
        buffer_add(&out, text.data + at, start - at);
        buffer_putc(&out, '\0');
        at = end;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return (Str){buffer_text(&out), out.size};
}

Error bodies_refuse(Arena *arena, const Snapshot *base, const Snapshot *candidate,
                    const OpenBodies *open) {
    if (module_has_errors(candidate->module)) return "it does not parse";
    bool is_same = base->module->functions.count == candidate->module->functions.count &&
                   str_equal(locked_text(arena, base, open), locked_text(arena, candidate, open));
    return is_same ? NULL : "it changes more than the bodies that are open";
}

const char *bodies_marked(Arena *arena, const Snapshot *before, const Snapshot *after,
                          const OpenBodies *open, const char *mark) {
    Str text = after->source->text;
    Buffer out = buffer_sized(arena, text.size + 1);
    size_t at = 0;
    for (LIST_EACH(int, i, after->module->functions)) {
        const FunctionDefinition *function = after->module->functions.items[i];
        const FunctionDefinition *old = only_function(before, str_dup(arena, function->name));
        size_t start = line_start(text, function->range.start);
        if (!is_open(open, function->name) || !old || start < at) continue;
        if (str_equal(body_of(before, old), body_of(after, function))) continue;
        buffer_add(&out, text.data + at, start - at);
        buffer_printf(&out, "%.*s%s\n", (int)(function->range.start - start), text.data + start,
                      mark);
        at = start;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}
