// `--check`: files in, a Report out.
#ifndef TAD_SERVER_CHECK_H
#define TAD_SERVER_CHECK_H

#include "analysis/snapshot.h"
#include "server/options.h"
#include "server/report.h"
#include "server/settings.h"

/// Whether the command line and the settings want `diagnostic`. `*suppressed`: they do, but a comment silences it.
bool diagnostic_is_wanted(const Diagnostic *diagnostic, const Settings *settings,
                          const Options *options, bool *suppressed);
/// Copies the diagnostics that are wanted and not suppressed into the report; each place and message once.
void report_take(Report *report, const Diagnostics *diagnostics, const Settings *settings,
                 const Options *options);
/// Whether a file with this text, which ends in a NUL byte, may hold kernels or launches; most of a package's files do not.
bool text_may_concern_kernels(const char *text);
/// Writes `text` to the output file, or to stdout. The exit status, `status` where all went well.
int output_write(Arena *arena, const Options *options, const char *text, int status);

#endif
