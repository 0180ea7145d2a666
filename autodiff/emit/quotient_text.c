// Calls of `triton.cdiv` in, the quotients themselves out.
#include "autodiff/emit/quotient_text.h"

#include <stdbool.h>
#include <string.h>

#define CALL "triton.cdiv("

/// The end of the argument that begins at `at`: a comma, or the parenthesis behind the last one.
static const char *argument_end(const char *at) {
    for (int depth = 0; *at; at++) {
        if (!depth && (*at == ',' || *at == ')')) return at;
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    return NULL;
}

static const char *operand(Arena *arena, const char *start, const char *end) {
    const char *text =
        quotients_in_place(arena, arena_printf(arena, "%.*s", (int)(end - start), start));
    bool is_atom = *text != '-';
    int depth = 0;
    for (const char *at = text; *at; at++) {
        depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        is_atom = is_atom && (depth || *at != ' ');
    }
    return is_atom ? text : arena_printf(arena, "(%s)", text);
}

const char *quotients_in_place(Arena *arena, const char *text) {
    const char *call = strstr(text, CALL);
    const char *first = call ? call + strlen(CALL) : NULL,
               *comma = first ? argument_end(first) : NULL;
    const char *second = comma && *comma == ',' ? comma + strlen(", ") : NULL,
               *end = second ? argument_end(second) : NULL;
    if (!end || *end != ')') return text;
    return arena_printf(arena, "%.*s-(-%s // %s)%s", (int)(call - text), text,
                        operand(arena, first, comma), operand(arena, second, end),
                        quotients_in_place(arena, end + 1));
}
