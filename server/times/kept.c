// A row is known by its file, its kernel and the sizes that it was timed at.
#include "server/times/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "server/system/files.h"
#include "server/system/output.h"

static const double LESS_IS_NOISE = 0.05;  // where --fail-slower does not say

/// "10%" or "0.1"; negative where it is neither.
static double share_of(const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) return number / 100;
    return end != text && !*end ? number : -1;
}

Error kept_allowed(Arena *arena, const Options *options, double *allowed) {
    *allowed = LESS_IS_NOISE;
    if (!options->fail_slower) return NULL;
    *allowed = share_of(options->fail_slower);
    if (!options->compare_times) return "--fail-slower needs --compare-times FILE";
    if (*allowed >= 0) return NULL;
    return arena_printf(arena, "--fail-slower takes a share such as 10%%, not `%s`",
                        options->fail_slower);
}

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

/// The index of such a row, or -1.
static int row_like(const Json *rows, const Json *wanted, bool at_these_sizes) {
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i];
        if (same_text(row, wanted, "file") && same_text(row, wanted, "kernel") &&
            (!at_these_sizes || same_text(row, wanted, "configuration")))
            return i;
    }
    return -1;
}

typedef struct Compare {
    Buffer out;
    double allowed;
    Comparison *comparison;
} Compare;

static void compare_direction(Compare *compare, const Json *before, const Json *rows, int row,
                              const char *name) {
    Arena *arena = compare->out.arena;
    const Json *now = rows->items[row];
    const Json *old = json_get(before, name), *new = json_get(now, name);
    double was = json_get_number(old, "median_ms", 0), is = json_get_number(new, "median_ms", 0);
    if (was <= 0) return;
    bool is_slower =
        is <= 0 || (is > was * (1 + compare->allowed) && json_get_number(new, "low_ms", is) > was);
    const char *text = is <= 0 ? arena_printf(arena, "it took %.4g ms, and has no time now", was)
                               : arena_printf(arena, "%.4g ms, before %.4g ms, %+.1f %%", is, was,
                                              100 * (is / was - 1));
    ComparedTime compared = {row, name, text, was, is_slower};
    LIST_PUSH(arena, &compare->comparison->list, compared);
    compare->comparison->slower += is_slower;
    buffer_printf(&compare->out, "%s:%s, %s: %s%s\n", json_get_string(before, "file", ""),
                  json_get_string(before, "kernel", ""), name, text,
                  is_slower && is > 0 ? ": slower" : "");
}

static void put_uncompared(Compare *compare, const Json *row, const char *why) {
    buffer_printf(&compare->out, "%s:%s: not compared: %s\n", json_get_string(row, "file", ""),
                  json_get_string(row, "kernel", ""), why);
}

static void compare_rows(Compare *compare, const Json *kept, const Json *now) {
    const Json *old = json_get(kept, "kernels"), *new = json_get(now, "kernels");
    for (int i = 0; i < old->count; i++) {
        const Json *before = old->items[i];
        int after = row_like(new, before, true), again = row_like(new, before, false);
        if (!json_get(before, "forward") || again < 0) continue;
        if (after < 0 && json_get(new->items[again], "forward")) {
            put_uncompared(compare, before,
                           arena_printf(compare->out.arena, "it was timed at other sizes (%s)",
                                        json_get_string(before, "configuration", "")));
            continue;
        }
        compare_direction(compare, before, new, after >= 0 ? after : again, "forward");
        compare_direction(compare, before, new, after >= 0 ? after : again, "backward");
    }
    for (int i = 0; i < new->count; i++)
        if (json_get(new->items[i], "forward") && row_like(old, new->items[i], false) < 0)
            put_uncompared(compare, new->items[i], "it is new");
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
    Compare compare = {buffer_new(arena), allowed, comparison};
    compare_rows(&compare, kept, renamed(arena, times, path));
    comparison->text = lines_visible(arena, buffer_text(&compare.out));
    return NULL;
}

void kept_put(Json *times, const Comparison *comparison) {
    static const char *const named[] = {"file", "kernel", "configuration"};
    Arena *arena = times->arena;
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, comparison->list)) {
        const ComparedTime *compared = &comparison->list.items[i];
        const Json *row = json_get(times, "kernels")->items[compared->row];
        const Json *now = json_get(json_get(row, compared->direction), "median_ms");
        Json *json = json_object(arena);
        for (size_t k = 0; k < sizeof named / sizeof *named; k++)
            json_set_string(json, named[k], json_get_string(row, named[k], ""));
        json_set_string(json, "direction", compared->direction);
        if (now) json_set_number(json, "median_ms", now->number);
        json_set_number(json, "before_ms", compared->before_ms);
        json_set_bool(json, "is_slower", compared->is_slower);
        json_push(list, json);
    }
    json_set(times, "compared", list);
}
