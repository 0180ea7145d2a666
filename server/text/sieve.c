// A text is searched for the few words without which there is neither a kernel nor a launch.
#include "server/text/sieve.h"

#include <string.h>

static bool is_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether the `](` at `close` may end the grid of a launch: a name stands before its bracket, unlike in Markdown's links.
static bool may_launch(const char *text, const char *close) {
    enum { LONGEST_GRID = 300 };
    int depth = 1;
    const char *at = close;
    while (at > text && depth) {
        if (close - at > LONGEST_GRID) return true;
        at--;
        depth += (*at == ']') - (*at == '[');
    }
    return at > text && depth == 0 && is_name(at[-1]);
}

/// Kernels need one of these words, launches `name[...](`.
bool text_may_concern_kernels(const char *text) {
    if (strstr(text, "triton") || strstr(text, "jit")) return true;
    for (const char *at = text; (at = strstr(at, "tl.")); at++)
        if (at == text || !is_name(at[-1])) return true;
    for (const char *at = text; (at = strstr(at, "](")); at++)
        if (may_launch(text, at)) return true;
    return false;
}
