// `--check`: files in, a Report out.
#ifndef TAD_SERVER_CHECK_H
#define TAD_SERVER_CHECK_H

#include "analysis/snapshot.h"
#include "server/options.h"
#include "server/report.h"
#include "server/settings.h"

/// Copies the diagnostics that are wanted and not suppressed into the report; each place and message once.
void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options);
/// Whether colour goes to `stdout`.
bool wants_color(const Options *options);
/// Writes `text` to the output file, or to stdout. The exit status, `status` where all went well.
int output_write(Arena *arena, const Options *options, const char *text, int status);

#endif
