// Inside autodiff/: which values of an emitted kernel have names, and which print as expressions.
#ifndef TAD_AUTODIFF_EMIT_EMIT_INLINE_H
#define TAD_AUTODIFF_EMIT_EMIT_INLINE_H

#include "autodiff/emit/emit_expression.h"

/// How often a value is read.
int value_uses(const Emitter *emitter, const Value *value);

/// A number that Triton is to make a float32 tensor of: its name is assigned the bare number.
bool op_is_named_number(const Op *op);

/// Whether Triton writes the op out once for every iteration of a loop: no constexpr may be assigned there.
bool emit_is_unrolled(const Op *op);

/// Whether a use of `op`'s result prints `text` instead of a name. Decided, and noted in `inlined`, while no name is used again:
/// then they are longest.
bool emit_is_inlined(Emitter *emitter, const Op *op, EmittedText text);

#endif
