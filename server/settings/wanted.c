// One decision for the command line and the editor, and the copy of what is left.
#include "server/settings/wanted.h"

#include <string.h>

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

Filter filter_of(Arena *arena, const Settings *settings, const Options *options) {
    return (Filter){settings, options, silences_new(arena)};
}

bool filter_take(const Filter *filter, Diagnostic *diagnostic, bool *suppressed) {
    const DiagnosticRow *row = &diagnostic_rows[diagnostic->id];
    bool is_off;
    *suppressed = false;
    if (!diagnostic->range.source || !settings_want(filter->settings, filter->options, row))
        return false;
    diagnostic->severity =
        settings_severity(filter->settings, filter->options, row, diagnostic->severity, &is_off);
    if (is_off || (filter->options->quiet && diagnostic->severity == SEVERITY_HINT)) return false;
    *suppressed = silences_hold(filter->silences, diagnostic->range, row);
    return !*suppressed;
}

static bool is_looked_for(const void *context, const DiagnosticRow *row) {
    const Filter *filter = context;
    bool is_off;
    settings_severity(filter->settings, filter->options, row, row->severity, &is_off);
    return !is_off && settings_want(filter->settings, filter->options, row);
}

Diagnostics filter_comments(const Filter *filter, Arena *arena, const Snapshot *snapshot) {
    Diagnostics found = {.arena = arena};
    silences_diagnose(filter->silences, snapshot, is_looked_for, filter, &found);
    return found;
}

static void take_all(Report *report, const Filter *filter, const Diagnostics *diagnostics) {
    for (LIST_EACH(int, i, diagnostics->list)) {
        Diagnostic diagnostic = diagnostics->list.items[i];
        bool suppressed;
        bool is_wanted = filter_take(filter, &diagnostic, &suppressed);
        report->suppressed += suppressed;
        if (!is_wanted) continue;
        Finding finding = finding_of(report->arena, &diagnostic);
        if (!is_repeated(report, &finding)) LIST_PUSH(report->arena, &report->findings, finding);
    }
}

void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options) {
    Filter filter = filter_of(report->arena, settings, options);
    take_all(report, &filter, diagnostics);
}

void report_take_snapshot(Report *report, const Snapshot *snapshot, const Settings *settings,
                          const Options *options) {
    Filter filter = filter_of(report->arena, settings, options);
    take_all(report, &filter, &snapshot->diagnostics);
    Diagnostics comments = filter_comments(&filter, report->arena, snapshot);
    take_all(report, &filter, &comments);
}
