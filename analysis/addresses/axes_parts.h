// Inside analysis/addresses/: what is known of an access while the axes around it are looked at.
#ifndef TAD_ANALYSIS_ADDRESSES_AXES_PARTS_H
#define TAD_ANALYSIS_ADDRESSES_AXES_PARTS_H

#include "analysis/addresses/affine.h"
#include "analysis/addresses/axis.h"

/// Something that the base varies with.
typedef struct Mover {
    Value *atom;
    bool is_axis;  // a program id, a loop variable or a digit of one
    bool
        unbounded;  // varies in an unknown way inside the program (state of a while loop, a recurrence)
    const Poly *step;    // between two values
    const Poly *extent;  // number of values, NULL when unknown
    const Poly
        *span;  // of a loop without an extent: its last number less its first; NULL when unknown
    const Value *digit_of;  // a made-up `x % c`: x
} Mover;

typedef struct Analysis {
    Arena *arena;
    Former *former;
    const FunctionAxes *function;
    const Access *access;
    const Poly *base;
    Type tile;  // of the pointer: its dims are the lanes' extents
    Mover movers[ADDRESS_MOST_MOVERS];
    int mover_count;
    bool too_many;
    int synthetic;  // ids of made-up atoms count down from here
    // How often a loop runs, and how many values a digit has, is no stride of its own.
    bool has_counts;
} Analysis;

/// Notes all that the access moves with, in the loops around it, which go to `loops` from the innermost on. `ordered` and `loops`: the caller's memory,
/// as long as the analysis is used. How many loops there are; -1: too many, and no axis owns.
int axes_begin(Analysis *analysis, Arena *arena, const FunctionAxes *function, const Access *access,
               Access *ordered, Op **loops);
/// Whether no two values of all that moves the address, lanes too, touch one element: each step goes over what smaller ones reach. No symbol
/// is taken for a stride then. `within_program`: ids of programs move nothing.
bool axes_steps_are_digits(const Analysis *analysis, bool within_program);

#endif
