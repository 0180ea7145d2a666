// Two texts in, a unified diff out.
#ifndef TAD_SERVER_REPORT_DIFF_H
#define TAD_SERVER_REPORT_DIFF_H

#include "base/list.h"
#include "base/text.h"

typedef struct DiffLines {
    LIST(Str) list;  // each with its line feed, if it has one
} DiffLines;

typedef enum EditKind { EDIT_KEEP, EDIT_DELETE, EDIT_INSERT } EditKind;

typedef struct Edits {
    LIST(EditKind) list;
} Edits;

DiffLines diff_lines(Arena *arena, Str text);
/// As few deletions and insertions as make `b` of `a`, in order; of texts that differ in thousands of lines all.
Edits diff_edits(Arena *arena, const DiffLines *a, const DiffLines *b);

/// Three lines of context, as `diff -u` and `patch` have it. Empty when the texts are equal. `old_text` NULL: there is no
/// such file yet (/dev/null).
const char *diff_unified(Arena *arena, const char *old_path, const char *old_text,
                         const char *new_path, const char *new_text);

#endif
