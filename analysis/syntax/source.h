// A source text and places in it.
#ifndef TAD_ANALYSIS_SYNTAX_SOURCE_H
#define TAD_ANALYSIS_SYNTAX_SOURCE_H

#include "base/text.h"

/// How the path of a cell of a notebook ends: names that it does not define may come from other cells.
#define SOURCE_CELL "<cell>"

/// An immutable text. Lines are found on first use.
typedef struct Source {
    const char *path;  // as the user gave it; "" for text without a file
    Str text;
    uint32_t *line_starts;
    int line_count;
    bool is_cell;     // of a notebook
    bool is_library;  // no file of the user's: nothing that an editor could open
} Source;

/// A half-open byte range of one source. `source` is NULL for made-up code.
typedef struct Range {
    const Source *source;
    uint32_t start;
    uint32_t end;
} Range;

/// Indexes the lines of `text` (borrowed; must outlive the source).
Source *source_new(Arena *arena, const char *path, Str text);
/// Zero-based line and byte column of a byte offset.
void source_position(const Source *source, uint32_t offset, int *line, int *column);
Str source_slice(Range range);
/// One-based, for messages.
int range_line(Range range);

#endif
