// Messages on stderr.
#include "server/report/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/escape.h"

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Arena *arena = arena_new();
    const char *message = text_visible(arena, arena_vprintf(arena, format, arguments));
    fprintf(stderr, "tad-lsp: %s\n", message);
    arena_free(arena);
    va_end(arguments);
}
