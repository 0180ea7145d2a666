// `# tad: ignore` and `# tad: ignore[name, family]` at the end of a line silence what is reported there.
#ifndef TAD_SERVER_REPORT_SUPPRESS_H
#define TAD_SERVER_REPORT_SUPPRESS_H

#include "analysis/diagnostics/diagnostic.h"

/// Whether a comment on the first or last line of `range` silences `row`.
bool is_suppressed(Range range, const DiagnosticRow *row);

#endif
