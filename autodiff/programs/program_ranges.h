// Inside autodiff/: loops whose bounds depend on the program id, each program with a range of numbers of its own.
#ifndef TAD_AUTODIFF_PROGRAMS_PROGRAM_RANGES_H
#define TAD_AUTODIFF_PROGRAMS_PROGRAM_RANGES_H

#include "autodiff/state/differentiation.h"

typedef enum ProgramRange {
    RANGE_COMMON,  // where the loop starts does not depend on the id
    RANGE_OPEN,    // it does; whether two programs run a number both is not known
    RANGE_OWNED    // programs take the numbers from 0 on in their order, each once
} ProgramRange;

/// What an integer was before it was cast to another integer type; NULL of NULL.
Value *integer_without_casts(Value *value);

/// How the programs along one axis share the numbers that a loop runs through: `range(pid * PER, (pid + 1) * PER)`,
/// `range(start, start + per + (pid < rest))`, `range(pid * n // programs, (pid + 1) * n // programs)`, each also cut at
/// a bound that all programs have.
ProgramRange program_range(Arena *arena, const Op *loop, int axis);
/// Whether what a `while` carries, `index` of it, is such a number: it starts at one that depends on the id, and grows.
bool while_counts_in_range(Arena *arena, const Op *loop, int index, int axis);

#endif
