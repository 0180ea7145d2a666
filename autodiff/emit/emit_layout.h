// Inside autodiff/: lines of Python as `ruff format` breaks them.
#ifndef TAD_AUTODIFF_EMIT_EMIT_LAYOUT_H
#define TAD_AUTODIFF_EMIT_EMIT_LAYOUT_H

#include "base/text.h"

enum { LINE_LIMIT = 88, INDENT = 4 };

/// Adds `head`, the expression `text` and `tail` as one statement, indented by `indent` columns: on one line where that
/// fits, else broken in its last bracket or in parentheses at its outermost operators.
/// `head` is what cannot be broken (`x = `, `x += `, empty), `tail` what follows (`:`), both without line ends.
void layout_statement(Buffer *out, int indent, const char *head, const char *text,
                      const char *tail);

/// The same of an argument or an item, around which a bracket is open: `text` may be a keyword's (`x=f(y)`).
void layout_argument(Buffer *out, int indent, const char *text, const char *tail);

#endif
