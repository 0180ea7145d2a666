// `# tad: ignore[name, family]` silences what is reported on its line; alone above a function, in the whole function; as
// `# tad: ignore-file[...]`, alone on any line, in the file. Without names: everything.
#ifndef TAD_SERVER_REPORT_SUPPRESS_H
#define TAD_SERVER_REPORT_SUPPRESS_H

#include "analysis/snapshot.h"

/// The comments of the files that findings were looked up in; each file is read once.
typedef struct Silences Silences;

Silences *silences_new(Arena *arena);
/// Whether a comment silences `row` at `range`: on its first or last line, above its function, or for its file. The comment counts as used.
bool silences_hold(Silences *silences, Range range, const DiagnosticRow *row);
/// What is wrong with the comments of the snapshot's own text after all its findings were looked up: names that no diagnostic has, and
/// comments that silence nothing. `is_wanted` says whether findings of a row are looked for at all.
void silences_diagnose(Silences *silences, const Snapshot *snapshot,
                       bool (*is_wanted)(const void *context, const DiagnosticRow *row),
                       const void *context, Diagnostics *sink);

#endif
