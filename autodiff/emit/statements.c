// The lines that the texts of a Function are put together from.
#include "autodiff/emit/statements.h"

const char *list_text(Arena *arena, const Texts *names) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < names->count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", names->items[i]);
    if (names->count == 1) buffer_putc(&text, ',');
    return buffer_text(&text);
}

void statement_at(Buffer *out, int indent, const char *format, const char *text) {
    buffer_printf(out, "%*s", indent, "");
    buffer_puts(out, arena_printf(out->arena, "%s%s\n", format, text));
}

void statement(Buffer *out, const char *format, const char *text) {
    statement_at(out, 8, format, text);
}
