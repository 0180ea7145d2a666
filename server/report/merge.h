// Three texts in, one out that has what both sides changed: a three-way merge by lines, as `diff3 -m` makes it.
#ifndef TAD_SERVER_REPORT_MERGE_H
#define TAD_SERVER_REPORT_MERGE_H

#include "base/text.h"

typedef struct LineMerge {
    const char *text;
    int conflicts;       // places with markers
    int kept;            // places where `ours` differs from `base` and stayed
    int first_change;    // line from 1 where the text first differs from `ours`; 0: nowhere
    int first_conflict;  // line from 1; 0: there is none
} LineMerge;

/// `ours` with the changes between `base` and `theirs`. Where both differ from `base`, and from each other, the text has both between the
/// markers `<<<<<<< name`, `=======` and `>>>>>>> name`. Comments of ours that name a line of the forward do not count as changes.
LineMerge merge_lines(Arena *arena, Str base, Str ours, const char *our_name, Str theirs,
                      const char *their_name);

#endif
