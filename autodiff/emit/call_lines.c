// Calls and displays of Python, on one line where that fits.
#include "autodiff/emit/call_lines.h"

#include <string.h>

#include "autodiff/emit/emit_layout.h"
#include "base/text.h"

/// One a line; one that has lines of its own already is left as it is.
static void one_a_line(Buffer *out, const char *const *items, int count, int indent) {
    for (int i = 0; i < count; i++) {
        if (strchr(items[i], '\n'))
            buffer_printf(out, "%*s%s,\n", indent, "", items[i]);
        else
            layout_argument(out, indent, items[i], ",");
    }
}

const char *call_lines_before(Arena *arena, const char *prefix, const char *const *arguments,
                              int count, int indent, size_t tail) {
    Buffer joined = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_printf(&joined, "%s%s", i ? ", " : "", arguments[i]);
    const char *inner = buffer_text(&joined);
    bool one_line = !strchr(inner, '\n');
    size_t width = strlen(prefix) + joined.size + 2 + (size_t)indent + tail;
    if (one_line && width <= LINE_LIMIT) return arena_printf(arena, "%s(%s)", prefix, inner);
    Buffer out = buffer_new(arena);
    if (one_line && joined.size + (size_t)indent + 4 <= LINE_LIMIT) {
        buffer_printf(&out, "%s(\n%*s%s\n%*s)", prefix, indent + 4, "", inner, indent, "");
        return buffer_text(&out);
    }
    buffer_printf(&out, "%s(\n", prefix);
    one_a_line(&out, arguments, count, indent + INDENT);
    buffer_printf(&out, "%*s)", indent, "");
    return buffer_text(&out);
}

const char *call_lines(Arena *arena, const char *prefix, const char *const *arguments, int count,
                       int indent) {
    return call_lines_before(arena, prefix, arguments, count, indent, 0);
}

const char *tuple_lines(Arena *arena, const char *prefix, const char *const *items, int count,
                        int indent) {
    Buffer line = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_printf(&line, "%s%s", i ? ", " : "", items[i]);
    if (strlen(prefix) + line.size + 2 + (size_t)indent <= LINE_LIMIT)
        return arena_printf(arena, "%s(%s)", prefix, buffer_text(&line));
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%s(\n", prefix);
    one_a_line(&out, items, count, indent + INDENT);
    buffer_printf(&out, "%*s)", indent, "");
    return buffer_text(&out);
}
