// Inside autodiff/: until where in the emitted text a value is read, and so which later value may take its name.
#ifndef TAD_AUTODIFF_EMIT_EMIT_LIFETIMES_H
#define TAD_AUTODIFF_EMIT_EMIT_LIFETIMES_H

#include "analysis/ir/ir.h"

typedef struct Lifetimes Lifetimes;

/// `inlined`: the values whose expression stands at each of their uses instead of a name (a set by pointer; the caller keeps
/// it). Everything lives in `arena` and speaks of `function` as it is now.
Lifetimes *lifetimes_of(Arena *arena, const Function *function, const Map *inlined);

/// Whether `value`, a result of `op`, may be assigned to the variable that holds `holder`: nothing reads `holder` after that
/// assignment, both stand in the same block, and Triton accepts the second type there. The result of an `if` may take the name
/// of a value that its branches still change; an assignment in a loop that of the carried value which it makes.
bool lifetimes_let_reuse(Lifetimes *lifetimes, const Value *holder, const Value *value,
                         const Op *op);

/// Whether the end of a branch of `branch` may assign its result `index` already where the value is made: then the variable's
/// former value, `holder` (NULL: none), is not read between.
bool lifetimes_let_promise(Lifetimes *lifetimes, const Value *holder, const Op *branch, int side,
                           int index);

/// Whether the loop's carried value `index` can go on with the variable of its initial value: nothing else reads that.
bool lifetimes_let_carry(Lifetimes *lifetimes, const Op *loop, int index);

#endif
