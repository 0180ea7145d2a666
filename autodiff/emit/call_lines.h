// Calls and displays of Python, on one line where that fits.
#ifndef TAD_AUTODIFF_EMIT_CALL_LINES_H
#define TAD_AUTODIFF_EMIT_CALL_LINES_H

#include "base/arena.h"

/// `prefix(arguments...)` on one line where it fits `room` columns, else one argument a line; continuation lines indented by `indent`.
const char *call_lines(Arena *arena, const char *prefix, const char *const *arguments, int count,
                       int indent);
/// The same with room for `tail` columns after the closing bracket.
const char *call_lines_before(Arena *arena, const char *prefix, const char *const *arguments,
                              int count, int indent, size_t tail);
/// A tuple display: unlike a call's arguments, ruff gives each item a line as soon as one line is too short.
const char *tuple_lines(Arena *arena, const char *prefix, const char *const *items, int count,
                        int indent);

#endif
