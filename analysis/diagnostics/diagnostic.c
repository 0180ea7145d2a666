// Collects what the analysis has to say, each thing once.
#include "analysis/diagnostics/diagnostic.h"

#include <stdarg.h>
#include <string.h>

const DiagnosticRow diagnostic_rows[DIAGNOSTIC_COUNT] = {
#define DIAGNOSTIC(id, name, severity, family, title, page)                                        \
    [DIAGNOSTIC_##id] = {#id, name, SEVERITY_##severity, family, title, page},
#include "analysis/diagnostics/diagnostics.def"
#undef DIAGNOSTIC
};

static bool range_equal(Range a, Range b) {
    return a.source == b.source && a.start == b.start && a.end == b.end;
}

Diagnostic *diagnose(Diagnostics *sink, DiagnosticId id, Range range, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(sink->arena, format, arguments);
    va_end(arguments);
    for (LIST_EACH(int, i, sink->list)) {
        Diagnostic *old = &sink->list.items[i];
        if (old->id == id && range_equal(old->range, range) && strcmp(old->message, message) == 0)
            return old;
    }
    Diagnostic diagnostic = {
        .id = id, .severity = diagnostic_rows[id].severity, .range = range, .message = message};
    LIST_PUSH(sink->arena, &sink->list, diagnostic);
    return &sink->list.items[sink->list.count - 1];
}

void diagnostic_relate(Diagnostics *sink, Diagnostic *diagnostic, Range range,
                       const char *message) {
    int count = diagnostic->related_count;
    diagnostic->related =
        arena_grow(sink->arena, diagnostic->related, sizeof(Related) * (size_t)count,
                   sizeof(Related) * (size_t)(count + 1));
    diagnostic->related[count] = (Related){range, arena_strdup(sink->arena, message)};
    diagnostic->related_count = count + 1;
}

const char *diagnostic_page(Arena *arena, const DiagnosticRow *row) {
    static const char fence[] = "```python\n", between[] = "```\n\n```python\n";
    const char *page = row->page, *first = NULL, *end = strstr(page, between);
    for (const char *at = strstr(page, fence); end && at && at < end; at = strstr(at + 1, fence))
        first = at;
    if (!first) return page;
    const char *second = end + strlen(between) - strlen(fence);
    return arena_printf(arena, "%.*sReported:\n\n%.*sMended:\n\n%s", (int)(first - page), page,
                        (int)(second - first), first, second);
}

/// The name that is written now in the place of one from before; others as they are.
static Str present_name(Str name) {
    static const struct {
        const char *former;
        DiagnosticId id;
    } formers[] = {
#define FORMER(former, id) {former, DIAGNOSTIC_##id},
#include "analysis/diagnostics/diagnostics_former.def"
#undef FORMER
    };
    for (size_t i = 0; i < sizeof formers / sizeof *formers; i++)
        if (str_is(name, formers[i].former)) return str_from(diagnostic_rows[formers[i].id].name);
    return name;
}

const DiagnosticRow *diagnostic_find(Str name) {
    const Str present = present_name(name);
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
        if (str_is(present, diagnostic_rows[i].name)) return &diagnostic_rows[i];
    return NULL;
}

bool diagnostic_is_meant(const DiagnosticRow *row, Str name) {
    return str_is(present_name(name), row->name) || str_is(name, row->family);
}

const char *diagnostic_suggest(Str name) {
    const char *best = NULL;
    int best_distance = 2 + (int)name.size / 3;
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        const char *candidates[] = {diagnostic_rows[i].name, diagnostic_rows[i].family};
        for (int k = 0; k < 2; k++) {
            int distance = str_distance(name, str_from(candidates[k]));
            if (distance >= best_distance) continue;
            best_distance = distance;
            best = candidates[k];
        }
    }
    return best;
}
