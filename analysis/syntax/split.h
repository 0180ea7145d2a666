// Where a Python file can be cut so that each piece parses on its own: before its top-level statements.
#ifndef TAD_ANALYSIS_SYNTAX_SPLIT_H
#define TAD_ANALYSIS_SYNTAX_SPLIT_H

#include "base/text.h"

/// The end of the piece of `text` that starts at byte `from` (0, or an end returned before): the start of the next one, or
/// the size of the text. A piece is one definition with its decorators, one other statement, or a run of imports,
/// with the comments and blank lines below. Where a bracket is never closed, the next definition starts a piece anyhow. Looks
/// at nothing before `from`, and behind the end at most at the piece that follows.
size_t split_next(Str text, size_t from);

#endif
