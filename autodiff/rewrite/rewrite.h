// Rewrites of the tile IR that keep its meaning: copying, sharing, hoisting, dropping what nobody uses.
#ifndef TAD_AUTODIFF_REWRITE_REWRITE_H
#define TAD_AUTODIFF_REWRITE_REWRITE_H

#include "analysis/ir/ir.h"
#include "base/list.h"

typedef LIST(Op *) OpList;

/// A copy that can be rewritten. `values` (may be NULL) receives old value -> new value.
Function *function_copy(Arena *arena, const Function *function, const char *name, Map *values);

/// Whether the operands of an op and its result are elements at the same places, once they are spread out to one shape.
bool op_is_elementwise(const Op *op);
/// Whether an op is in a loop of its function.
bool op_is_in_loop(const Op *op);
/// What a function writes to: pointer parameters, and whether anything else.
typedef struct WrittenRoots {
    Map roots;
    bool has_unknown;
} WrittenRoots;

WrittenRoots function_writes(const Function *function);
bool load_is_stable(const WrittenRoots *writes, const Op *op);
/// A load through memory that `function` never writes (no store or atomic to the same parameter).
bool op_is_stable_load(const Function *function, const Op *op);
/// The pointer parameter that an address expression starts from, or NULL.
Value *pointer_root(Value *pointer);
/// Whether the kernel stores there for its backward alone: nobody else sees what it stores.
bool root_is_saved(const Function *function, const Value *root);
/// Back to where a pointer starts, or to the result of a branch. NULL: it comes out of something else.
const Value *pointer_root_or_branch(const Value *pointer);

void op_move_before(Op *op, Op *place);
/// Equal pure ops and equal stable loads become one (the outermost that dominates). Returns how many went away.
int function_share(Function *function);
/// Moves loop-invariant pure ops out of loops; stable loads, too, where all programs run the loop or none does.
void function_hoist(Function *function);
/// `n - 1 if REVERSE else 0`: whether the op is a branch that chooses a whole number, and does nothing else.
bool op_chooses_number(const Op *op);
/// Moves such branches out of a `for`, where they choose the same in each iteration.
void loop_hoist_choices(Op *loop);
/// Moves addresses that only branches of constexpr branches use into these: the pointer may be None where the flag is off.
void function_sink_addresses(Function *function);
/// Drops ops, loop results and carried values that no store, atomic or ordered op needs.
void function_drop_dead(Function *function);
/// Drops pure ops that nobody reads, and nothing else: assertions stay.
void function_drop_unread(Function *function);
/// All of the above until nothing changes.
void function_clean(Function *function);

/// ceil((upper - lower) / step) at the builder's place; at most 0 where the loop does not run. `step` counts as negative
/// where that follows from its constexprs being positive (a constant, or -BLOCK), else as positive.
Value *build_trip_count(Builder *builder, Value *lower, Value *upper, Value *step);

/// Number of uses of each value: Map by pointer -> (void *)(intptr_t)count.
Map function_count_uses(Arena *arena, const Function *function);

/// The ops that have each value as an operand, in the order of the text, once for each time: as the function is now.
Map function_readers(Arena *arena, const Function *function);
/// Those of one value; never NULL.
const OpList *value_readers(const Map *readers, const Value *value);

#endif
