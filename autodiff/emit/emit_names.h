// Inside autodiff/: what the variables of an emitted kernel are called.
#ifndef TAD_AUTODIFF_EMIT_EMIT_NAMES_H
#define TAD_AUTODIFF_EMIT_EMIT_NAMES_H

#include "autodiff/emit/emit_expression.h"

/// A name that nothing in scope has: `hint`, or `hint_1` and so on; "t" where `hint` is NULL. It stands for no value yet; it
/// will for `value` (NULL: something of any type).
const char *name_new(Emitter *emitter, const Value *value, const char *hint);

/// A name for `value`, which `op` defines: `hint` itself where nothing reads what stands there any more, as one would write it
/// by hand; else a new one.
const char *name_again(Emitter *emitter, const Value *value, const Op *op, const char *hint);

/// What to call the result of `op`, which the user gave no name: after what it is of, or what it is for.
const char *name_hint(Emitter *emitter, const Op *op);

#endif
