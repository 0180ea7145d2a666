// Two texts in, a unified diff out.
#ifndef TAD_SERVER_REPORT_DIFF_H
#define TAD_SERVER_REPORT_DIFF_H

#include "base/text.h"

/// Three lines of context, as `diff -u` and `patch` have it. Empty when the texts are equal. `old_text` NULL: there is no
/// such file yet (/dev/null).
const char *diff_unified(Arena *arena, const char *old_path, const char *old_text,
                         const char *new_path, const char *new_text);

#endif
