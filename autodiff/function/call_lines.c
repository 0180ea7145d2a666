// Calls and displays of Python, on one line where that fits.
#include "autodiff/function/call_lines.h"

#include <string.h>

#include "base/text.h"

enum { LINE_LIMIT = 88 };

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
    for (int i = 0; i < count; i++) buffer_printf(&out, "%*s%s,\n", indent + 4, "", arguments[i]);
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
    for (int i = 0; i < count; i++) buffer_printf(&out, "%*s%s,\n", indent + 4, "", items[i]);
    buffer_printf(&out, "%*s)", indent, "");
    return buffer_text(&out);
}
