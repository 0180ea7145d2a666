// Long runs of comments for a parser that looks at all that follow from each of them.
#ifndef TAD_ANALYSIS_SYNTAX_SYNTAX_COMMENTS_H
#define TAD_ANALYSIS_SYNTAX_SYNTAX_COMMENTS_H

#include "base/text.h"

/// `text`, or a copy in which long runs of comment lines are one comment each: the line ends between them are blanks. Every other
/// byte is what it was. Within a string nothing is lost but line ends.
Str comments_join(Arena *arena, Str text);

#endif
