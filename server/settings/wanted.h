// Which diagnostics the command line, the settings and comments leave, and their way into a report.
#ifndef TAD_SERVER_SETTINGS_WANTED_H
#define TAD_SERVER_SETTINGS_WANTED_H

#include "server/report/report.h"
#include "server/settings/settings.h"

/// Whether the command line and the settings want `diagnostic`. `*suppressed`: they do, but a comment silences it.
bool diagnostic_is_wanted(const Diagnostic *diagnostic, const Settings *settings,
                          const Options *options, bool *suppressed);
/// Copies the diagnostics that are wanted and not suppressed into the report; each place and message once.
void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options);

#endif
