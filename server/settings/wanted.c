// One decision for the command line and the editor, and the copy of what is left.
#include "server/settings/wanted.h"

#include <string.h>

#include "server/report/suppress.h"

static bool same_finding(const Finding *a, const Finding *b) {
    return a->row == b->row &&
           memcmp(&a->place.start, &b->place.start, sizeof a->place.start) == 0 &&
           strcmp(a->place.file, b->place.file) == 0 && strcmp(a->message, b->message) == 0;
}

/// A helper's finding shows up again in each file that calls it.
static bool is_repeated(const Report *report, const Finding *finding) {
    for (LIST_EACH(int, i, report->findings))
        if (same_finding(&report->findings.items[i], finding)) return true;
    return false;
}

static Finding finding_of(Arena *arena, const Diagnostic *diagnostic) {
    Finding finding = {
        .row = &diagnostic_rows[diagnostic->id],
        .severity = diagnostic->severity,
        .place = place_of(arena, diagnostic->range),
        .message = arena_strdup(arena, diagnostic->message),
        .notes = ARENA_ARRAY(arena, Note, diagnostic->related_count),
    };
    for (int i = 0; i < diagnostic->related_count; i++) {
        const Related *related = &diagnostic->related[i];
        if (!related->range.source) continue;
        finding.notes[finding.note_count++] =
            (Note){place_of(arena, related->range), arena_strdup(arena, related->message)};
    }
    return finding;
}

bool diagnostic_is_wanted(const Diagnostic *diagnostic, const Settings *settings,
                          const Options *options, bool *suppressed) {
    const DiagnosticRow *row = &diagnostic_rows[diagnostic->id];
    *suppressed = false;
    if (!diagnostic->range.source || !settings_want(settings, options, row)) return false;
    if (options->quiet && diagnostic->severity == SEVERITY_HINT) return false;
    *suppressed = is_suppressed(diagnostic->range, row);
    return !*suppressed;
}

void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options) {
    for (LIST_EACH(int, i, diagnostics->list)) {
        const Diagnostic *diagnostic = &diagnostics->list.items[i];
        bool suppressed;
        bool wanted = diagnostic_is_wanted(diagnostic, settings, options, &suppressed);
        report->suppressed += suppressed;
        if (!wanted) continue;
        Finding finding = finding_of(report->arena, diagnostic);
        if (!is_repeated(report, &finding)) LIST_PUSH(report->arena, &report->findings, finding);
    }
}
