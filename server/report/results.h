// A report as a file: what one machine found, to be merged with what others did. docs/ci.md says who needs that.
#ifndef TAD_SERVER_REPORT_RESULTS_H
#define TAD_SERVER_REPORT_RESULTS_H

#include "base/error.h"
#include "base/text.h"
#include "server/report/report.h"

/// Of which run a report is a part.
typedef struct ResultsPart {
    int number, count;  // 3 and 16 of `3/16`
    uint64_t tree;      // equal where the parts are of the same files
    const char *words;  // those of the command line by which more or less is found; "": none
} ResultsPart;

/// The text of the file, with all that report_write needs.
const char *results_text(Arena *arena, const Report *report, const ResultsPart *part);
/// The report of such a text, in `arena`; its problems are not said. Otherwise one sentence without the file's name.
Error results_read(Arena *arena, Str text, Report *report, ResultsPart *part);
bool results_are_ours(Arena *arena, Str text);
/// Adds what another part found. The report is ordered only by results_finish, which says its problems, too.
void results_add(Report *report, const Report *part);
void results_finish(Report *report);

#endif
