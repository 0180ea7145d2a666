// `--explain NAME`: the page of a diagnostic, or what the operation table says of a Triton operation.
#include <stdio.h>
#include <string.h>

#include "analysis/ops/op.h"
#include "server/cli/explain.h"
#include "server/settings/result.h"
#include "server/settings/settings.h"

static const char *explain_diagnostic(Arena *arena, const DiagnosticRow *row) {
    return arena_printf(
        arena,
        "# %s\n\n%s\n\n*%s, family %s; silence it on a line with `# tad: ignore[%s]`*\n\n%s\n",
        row->name, row->title, severity_name(row->severity), row->family, row->name,
        diagnostic_page(arena, row));
}

static void put_gradient(Buffer *out, const OpRow *row) {
    if (row->gradient)
        buffer_printf(out, "\n## Derivative\n\n```python\n%s\n```\n", row->gradient);
    else if (row->gradient_unsupported)
        buffer_printf(out, "\n## Derivative\n\nNone: %s\n", row->gradient_unsupported);
    else if (row->gradient_none)
        buffer_puts(
            out, "\n## Derivative\n\nNone: its result does not depend smoothly on its operands.\n");
    else if (row->gradient_special)
        buffer_puts(out, "\n## Derivative\n\nKnown; it depends on how the operation is used.\n");
}

static const char *explain_operation(Arena *arena, const OpRow *row) {
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "# tl.%s\n\n```python\ntl.%s(%s)\n```\n\n%s\n", row->name, row->name,
                  row->parameters ? row->parameters : "", row->doc ? row->doc : "");
    if (row->method) buffer_printf(&out, "\nAlso a method of tensors: `x.%s(...)`.\n", row->method);
    if (row->aliases) buffer_printf(&out, "\nAlso spelled: %s.\n", row->aliases);
    if (row->since) buffer_printf(&out, "\nSince Triton %s.\n", row->since);
    if (row->until) buffer_printf(&out, "\nRemoved in Triton %s.\n", row->until);
    if (row->instead) buffer_printf(&out, "\nInstead: %s.\n", row->instead);
    put_gradient(&out, row);
    return buffer_text(&out);
}

/// "exp" of "tl.exp" and "triton.language.exp".
static Str operation_name(const char *name) {
    static const char *const prefixes[] = {"triton.language.", "tl."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (str_starts(str_from(name), prefixes[i])) return str_from(name + strlen(prefixes[i]));
    return str_from(name);
}

static const char *nearest_name(Str name, Str operation) {
    const char *diagnostic = diagnostic_suggest(name), *op = op_suggest(operation);
    if (!diagnostic || !op) return diagnostic ? diagnostic : op;
    bool op_is_nearer =
        str_distance(operation, str_from(op)) < str_distance(name, str_from(diagnostic));
    return op_is_nearer ? op : diagnostic;
}

const char *explain_page(Arena *arena, const char *text) {
    Str name = str_from(text);
    const DiagnosticRow *row = diagnostic_find(name);
    OpCode code = row ? OP_COUNT : op_find(operation_name(text));
    if (row) return explain_diagnostic(arena, row);
    return code != OP_COUNT ? explain_operation(arena, &op_rows[code]) : NULL;
}

int command_explain(const Options *options) {
    Arena *arena = arena_new();
    const char *name = options->operands[0];
    const char *page = explain_page(arena, name);
    int status = STATUS_TROUBLE;
    if (page) {
        status = result_write(arena, options, (Output){0}, page, STATUS_CLEAN);
    } else {
        const char *nearest = nearest_name(str_from(name), operation_name(name));
        say("there is no diagnostic and no Triton operation named `%s`%s%s%s", name,
            nearest ? "; did you mean `" : "", nearest ? nearest : "", nearest ? "`?" : "");
    }
    arena_free(arena);
    return status;
}
