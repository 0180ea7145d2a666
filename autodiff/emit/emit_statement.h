// Inside autodiff/: lines of an emitted kernel.
#ifndef TAD_AUTODIFF_EMIT_EMIT_STATEMENT_H
#define TAD_AUTODIFF_EMIT_EMIT_STATEMENT_H

#include "autodiff/emit/emit_expression.h"

/// All ops of a region, a line or more each.
void emit_region(Emitter *emitter, const Region *region);

/// `head`, an expression and `tail` on as many lines as they take.
void emit_parts(Emitter *emitter, const char *head, const char *text, const char *tail);

/// What a use of the value prints from here on.
void text_set(Emitter *emitter, const Value *value, const char *text, int precedence);

#endif
