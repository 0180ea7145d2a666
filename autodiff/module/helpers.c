// Which helper functions an emitted module needs: those that are called in it, and in one another.
#include "autodiff/module/helpers.h"

#include <string.h>

#include "analysis/choices/choices.h"
#include "analysis/choices/product_tiles.h"
#include "base/text.h"

typedef struct Helper {
    const char *name, *text;
} Helper;

#define TEXT_OF(number) #number
#define NUMBER(name)    TEXT_OF(name)
#define TILE_LINE(rows, columns, bytes, warps, stages) \
    "        (" #rows ", " #columns ", " #bytes ", " #warps ", " #stages "),\n"

static const Helper helpers[] = {
#define HELPER(name, text) {name, text},
#include "autodiff/module/helpers.def"
#undef HELPER
};

enum { HELPER_COUNT = sizeof helpers / sizeof *helpers };

bool helper_is_named(Str name) {
    for (int i = 0; i < HELPER_COUNT; i++)
        if (str_is(name, helpers[i].name)) return true;
    return false;
}

static bool calls(const char *text, const char *name) {
    size_t size = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += size)
        if ((at == text || !byte_is_word(at[-1])) && (at[size] == '(' || at[size] == '.'))
            return true;
    return false;
}

static const char *text_with_name(Arena *arena, const char *text, const char *from,
                                  const char *to) {
    Buffer out = buffer_new(arena);
    size_t size = strlen(from);
    for (const char *at = text; *at;) {
        bool is_word = strncmp(at, from, size) == 0 && !byte_is_word(at[size]) &&
                       (at == text || !byte_is_word(at[-1]));
        if (is_word)
            buffer_puts(&out, to);
        else
            buffer_add(&out, at, 1);
        at += is_word ? size : 1;
    }
    return buffer_text(&out);
}

/// Marks the helpers that the text of a helper calls, and what these call.
static void mark_called(const char *text, bool *needed) {
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (needed[i] || !calls(text, helpers[i].name)) continue;
        needed[i] = true;
        mark_called(helpers[i].text, needed);
    }
}

static const char *name_in_module(Arena *arena, const Helper *helper, FindHelper *find,
                                  const void *context) {
    bool is_taken = find(context, helper->name, helper->text) == HELPER_TAKEN;
    return is_taken ? arena_printf(arena, "_gradient%s", helper->name) : helper->name;
}

const char *helpers_named(Arena *arena, const char *text, FindHelper *find, const void *context) {
    for (int i = 0; i < HELPER_COUNT; i++) {
        const char *name = helpers[i].name;
        if (!calls(text, name)) continue;
        const char *own = name_in_module(arena, &helpers[i], find, context);
        if (own != name) text = text_with_name(arena, text, name, own);
    }
    return text;
}

const char *helpers_text(Arena *arena, const char *text, FindHelper *find, const void *context) {
    bool needed[HELPER_COUNT] = {false};
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (needed[i] || !calls(text, name_in_module(arena, &helpers[i], find, context))) continue;
        needed[i] = true;
        mark_called(helpers[i].text, needed);
    }
    Buffer out = buffer_new(arena);
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (!needed[i] || find(context, helpers[i].name, helpers[i].text) == HELPER_PRESENT)
            continue;
        buffer_printf(&out, "%s%s", out.size ? "\n\n" : "",
                      helpers_named(arena, helpers[i].text, find, context));
    }
    return buffer_text(&out);
}
