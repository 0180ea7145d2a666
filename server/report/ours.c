// Known by what the writers put in, not by a mark of its own: the formats belong to others and have no place for one.
#include "server/report/ours.h"

#include <string.h>

#include "analysis/diagnostics/diagnostic.h"
#include "autodiff/backward.h"
#include "base/json.h"

static bool is_diagnostic(const char *name) { return diagnostic_find(str_from(name)) != NULL; }

/// GitLab's: a list of issues, each of one of our diagnostics.
static bool is_issues(const Json *json) {
    for (int i = 0; i < json->count; i++)
        if (!json_get(json->items[i], "fingerprint") ||
            !is_diagnostic(json_get_string(json->items[i], "check_name", "")))
            return false;
    return true;
}

static bool is_sarif(const Json *json) {
    const Json *runs = json_get(json, "runs");
    if (!runs || runs->kind != JSON_ARRAY || runs->count != 1) return false;
    const Json *driver = json_get(json_get(runs->items[0], "tool"), "driver");
    return strcmp(json_get_string(driver, "name", ""), "tad-lsp") == 0;
}

static bool is_data(Arena *arena, Str text) {
    Error error;
    const Json *json = json_parse(arena, text, &error);
    if (!json) return false;
    if (json->kind == JSON_ARRAY) return is_issues(json);
    const Json *summary = json_get(json, "summary");
    return is_sarif(json) || (json_get(json, "diagnostics") && json_get(summary, "suppressed"));
}

static Str take_line(Str *text) {
    const char *end = memchr(text->data, '\n', text->size);
    Str line = {text->data, end ? (size_t)(end - text->data) : text->size};
    size_t taken = line.size + (end != NULL);
    *text = (Str){text->data + taken, text->size - taken};
    return line;
}

static bool is_annotation(Str line) {
    return str_starts(line, "::error ") || str_starts(line, "::warning ") ||
           str_starts(line, "::notice ");
}

/// `2 errors; 1 file, 3 kernels, 0.01 s`
static bool is_summary(Arena *arena, Str line) {
    const char *counts = strrchr(str_dup(arena, line), ';');
    if (!counts || counts[1] != ' ') return false;
    size_t digits = strspn(counts + 2, "0123456789");
    const char *unit = counts + 2 + digits;
    return digits && str_starts(str_from(unit), " file") && strstr(unit, " kernel");
}

static bool is_lines(Arena *arena, Str text) {
    Str line = {0};
    bool all_annotations = true;
    while (text.size) {
        line = take_line(&text);
        all_annotations = all_annotations && is_annotation(line);
    }
    return all_annotations || is_summary(arena, line);
}

bool report_is_ours(Arena *arena, Str text) {
    if (!text.size) return true;
    if (text.data[0] == '{' || text.data[0] == '[') return is_data(arena, text);
    return str_contains(text, STR("<testsuites name=\"tad-lsp\">\n")) || is_lines(arena, text);
}

bool module_is_ours(Arena *arena, Str text) {
    (void)arena;
    return backward_origin(text).size > 0;
}

bool record_is_ours(Arena *arena, Str text) {
    (void)arena;
    return str_starts(text, "Content-Length: ");
}
