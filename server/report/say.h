// What the program says on stderr, and the statuses that it exits with.
#ifndef TAD_SERVER_REPORT_SAY_H
#define TAD_SERVER_REPORT_SAY_H

enum { STATUS_CLEAN = 0, STATUS_FINDINGS = 1, STATUS_TROUBLE = 2 };

/// Prints `tad-lsp: message` to stderr, one line: strangers' text in it is shown, not obeyed (base/escape.h).
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
