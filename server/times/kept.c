// A row is known by its file, its kernel and the sizes that it was timed at.
#include "server/times/kept.h"

#include <string.h>

#include "base/escape.h"
#include "server/system/files.h"
#include "server/system/output.h"

/// Of a file, from the folder of the kept times; the whole path where it lies elsewhere.
static const char *relative(Arena *arena, const char *kept, const char *path) {
    const char *folder = path_real(arena, path_folder(arena, kept));
    const char *real = path_real(arena, path);
    size_t size = strlen(folder);
    bool is_below = strncmp(real, folder, size) == 0 && real[size] == '/';
    return is_below ? real + size + 1 : real;
}

/// The same times with files as they are named in `kept`.
static Json *renamed(Arena *arena, const Json *times, const char *kept) {
    Json *copy = json_copy(arena, times);
    Json *rows = json_get(copy, "kernels");
    for (int i = 0; i < rows->count; i++)
        json_set_string(rows->items[i], "file",
                        relative(arena, kept, json_get_string(rows->items[i], "file", "")));
    return copy;
}

Error kept_write(Arena *arena, const Json *times, const Options *options, const char *const *inputs,
                 int input_count) {
    Output output = {.path = options->save_times,
                     .is_ours = times_are_ours,
                     .is_forced = options->force,
                     .way_out = FORCE_HINT,
                     .inputs = inputs,
                     .input_count = input_count};
    const Json *named = renamed(arena, times, options->save_times);
    return output_write(arena, &output,
                        arena_printf(arena, "%s\n", json_print(arena, named, true)));
}

static bool same_text(const Json *a, const Json *b, const char *key) {
    return strcmp(json_get_string(a, key, ""), json_get_string(b, key, "")) == 0;
}

static const Json *row_like(const Json *rows, const Json *wanted, bool at_these_sizes) {
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i];
        if (same_text(row, wanted, "file") && same_text(row, wanted, "kernel") &&
            (!at_these_sizes || same_text(row, wanted, "configuration")))
            return row;
    }
    return NULL;
}

typedef struct Compare {
    Buffer out;
    double allowed;
    int slower;
} Compare;

static void compare_direction(Compare *compare, const Json *before, const Json *now,
                              const char *name) {
    const Json *old = json_get(before, name), *new = json_get(now, name);
    double was = json_get_number(old, "median_ms", 0), is = json_get_number(new, "median_ms", 0);
    const char *label =
        arena_printf(compare->out.arena, "%s:%s, %s", json_get_string(before, "file", ""),
                     json_get_string(before, "kernel", ""), name);
    if (was <= 0) return;
    if (is <= 0) {
        buffer_printf(&compare->out, "%s: it took %.4g ms, and has no time now\n", label, was);
        compare->slower++;
        return;
    }
    bool is_slower = is > was * (1 + compare->allowed) && json_get_number(new, "low_ms", is) > was;
    compare->slower += is_slower;
    buffer_printf(&compare->out, "%s: %.4g ms, before %.4g ms, %+.1f %%%s\n", label, is, was,
                  100 * (is / was - 1), is_slower ? ": slower" : "");
}

static void compare_rows(Compare *compare, const Json *kept, const Json *now) {
    const Json *old = json_get(kept, "kernels"), *new = json_get(now, "kernels");
    for (int i = 0; i < old->count; i++) {
        const Json *before = old->items[i], *after = row_like(new, before, true);
        if (!json_get(before, "forward") || !row_like(new, before, false)) continue;
        const Json *again = row_like(new, before, false);
        if (!after && json_get(again, "forward")) {
            buffer_printf(&compare->out, "%s:%s: not compared: it was timed at other sizes (%s)\n",
                          json_get_string(before, "file", ""),
                          json_get_string(before, "kernel", ""),
                          json_get_string(before, "configuration", ""));
            continue;
        }
        compare_direction(compare, before, after ? after : again, "forward");
        compare_direction(compare, before, after ? after : again, "backward");
    }
    for (int i = 0; i < new->count; i++)
        if (json_get(new->items[i], "forward") && !row_like(old, new->items[i], false))
            buffer_printf(&compare->out, "%s:%s: not compared: it is new\n",
                          json_get_string(new->items[i], "file", ""),
                          json_get_string(new->items[i], "kernel", ""));
}

Error kept_compare(Arena *arena, const Json *times, const Options *options, double allowed,
                   Comparison *comparison) {
    const char *path = options->compare_times;
    Str text;
    Error error = file_read(arena, path, &text);
    if (error) return error;
    const Json *kept = json_parse(arena, text, &error);
    const Json *rows = json_get(kept, "kernels");
    if (!json_get(kept, "tad_times") || !rows || rows->kind != JSON_ARRAY)
        return arena_printf(arena, "%s: has no kept times; --save-times writes them", path);
    if (times_count(times) && !same_text(kept, times, "device"))
        return arena_printf(arena, "%s: is of another GPU (%s, here %s): nothing was compared",
                            path, json_get_string(kept, "device", "?"),
                            json_get_string(times, "device", "?"));
    Compare compare = {buffer_new(arena), allowed, 0};
    compare_rows(&compare, kept, renamed(arena, times, path));
    *comparison = (Comparison){lines_visible(arena, buffer_text(&compare.out)), compare.slower};
    return NULL;
}
