// Findings that are known: a file that names them by file, name and text of the line, so that lines may move.
#ifndef TAD_SERVER_SETTINGS_BASELINE_H
#define TAD_SERVER_SETTINGS_BASELINE_H

#include "server/settings/options.h"

/// Takes out of the report what the file of `--baseline` has, each entry as often as it stands there; says on stderr what of the files that
/// were checked is there no longer, unless the options leave findings out. One sentence where the file cannot be read.
Error baseline_apply(Report *report, const Options *options);
/// Writes all findings of the report to the file of `--write-baseline`, and takes them out of the report.
Error baseline_write(Report *report, const Options *options);
/// Whether a text is a baseline.
bool baseline_is_ours(Arena *arena, Str text);

#endif
