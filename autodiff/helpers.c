// Which helper functions an emitted module needs: those that are called in it, and in one another.
#include <string.h>

#include "autodiff/module_text.h"

typedef struct Helper {
    const char *name, *text;
} Helper;

static const Helper helpers[] = {
#define HELPER(name, text) {name, text},
#include "autodiff/helpers.def"
#undef HELPER
};

enum { HELPER_COUNT = sizeof helpers / sizeof *helpers };

static bool calls(const char *text, const char *name) {
    size_t size = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += size)
        if ((at == text || !byte_is_word(at[-1])) && (at[size] == '(' || at[size] == '.'))
            return true;
    return false;
}

/// Marks what `text` calls, and what these call.
static void mark_called(const char *text, bool *needed) {
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (needed[i] || !calls(text, helpers[i].name)) continue;
        needed[i] = true;
        mark_called(helpers[i].text, needed);
    }
}

const char *helpers_text(Arena *arena, const char *text, NameIsBound *is_bound,
                         const void *context) {
    bool needed[HELPER_COUNT] = {false};
    mark_called(text, needed);
    Buffer out = buffer_new(arena);
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (!needed[i] || is_bound(context, helpers[i].name)) continue;
        buffer_printf(&out, "%s%s", out.size ? "\n\n" : "", helpers[i].text);
    }
    return buffer_text(&out);
}
