// Inside autodiff/: parts of a program's own block, in loops over these or one for each program.
#ifndef TAD_AUTODIFF_JOINS_WHOLE_STEPS_H
#define TAD_AUTODIFF_JOINS_WHOLE_STEPS_H

#include "autodiff/state/differentiation.h"

/// Takes `range(start, start + BLOCK, PART)` for a loop of whole steps: BLOCK is a multiple of PART, which the backward asserts
/// (joined_loops.h). Two constexprs for which no launch of the file says otherwise. Whether there is such a loop.
bool whole_steps_note(Differentiation *state);
/// Takes blocks that are numbered in parts, `a * BLOCK + (x % COUNT) * PART` or `a * BLOCK + 3 * PART`, to have room for these: the backward
/// asserts what something rests on. Constexprs for which no launch of the file says otherwise. Whether there are such blocks.
bool block_parts_note(Differentiation *state);
/// Whether a function has such blocks.
bool function_has_block_parts(Arena *arena, const Function *function);
/// Whether a function has such a loop.
bool function_has_part_steps(Arena *arena, const Function *function);
/// Whether the launches of the file pass sizes for which the first constexpr is no multiple of the second.
bool multiple_is_broken_by_launch(const Function *function, const Value *size, const Value *of);

#endif
