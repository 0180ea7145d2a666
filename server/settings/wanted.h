// Which diagnostics the command line, the settings and comments leave, and their way into a report.
#ifndef TAD_SERVER_SETTINGS_WANTED_H
#define TAD_SERVER_SETTINGS_WANTED_H

#include "server/report/report.h"
#include "server/report/suppress.h"
#include "server/settings/settings.h"

/// What decides: `options` and `settings` are borrowed. For findings of one run over sources that live as long.
typedef struct Filter {
    const Settings *settings;
    const Options *options;
    Silences *silences;
} Filter;

Filter filter_of(Arena *arena, const Settings *settings, const Options *options);
/// Whether the command line and the settings want `diagnostic`, which gets the severity that they give it. `*suppressed`: they do, but a
/// comment silences it.
bool filter_take(const Filter *filter, Diagnostic *diagnostic, bool *suppressed);
/// What is wrong with the comments of the snapshot's text, once all of its findings were taken.
Diagnostics filter_comments(const Filter *filter, Arena *arena, const Snapshot *snapshot);
/// The findings of the snapshot as report_take does, and what is wrong with comments that silence.
void report_take_snapshot(Report *report, const Snapshot *snapshot, const Settings *settings,
                          const Options *options);
/// Copies the diagnostics that are wanted and not suppressed into the report; each place and message once.
void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options);

#endif
