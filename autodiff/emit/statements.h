// Names and lines in, Python out: what the texts of a Function's forward and backward share.
#ifndef TAD_AUTODIFF_EMIT_STATEMENTS_H
#define TAD_AUTODIFF_EMIT_STATEMENTS_H

#include "base/text.h"

/// The names between the brackets of a tuple: `a, b`, or `a,` of one name.
const char *list_text(Arena *arena, const Texts *names);
/// One line of Python, indented by `indent` columns: `format` as it is, and `text` behind it.
void statement_at(Buffer *out, int indent, const char *format, const char *text);
/// The same in the body of a method: eight columns.
void statement(Buffer *out, const char *format, const char *text);

#endif
