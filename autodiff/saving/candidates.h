// A forward in; the values of its rows that a backward would run a loop for out.
#ifndef TAD_AUTODIFF_SAVING_CANDIDATES_H
#define TAD_AUTODIFF_SAVING_CANDIDATES_H

#include "analysis/snapshot.h"

/// A value that the forward could store: a number for each program or for each lane of a block, or what was drawn for each lane.
typedef struct RowValue {
    const char *name;        // after which parameter and buffer are called
    const char *expression;  // in the kernel's own text, behind the statement
    SyntaxNode statement;    // of the kernel's body, behind which the value is known
    Str lanes;        // how many lanes it has, as the kernel spells it; empty: it is a number
    Str columns;      // of a tile with as many rows as `lanes`; empty: it has one axis
    bool is_choice;   // true or false for each lane, by random numbers
    bool is_log_sum;  // the maximum of an online loop, with the logarithm of its sum
    const Value *value;
    bool is_covered;  // it only serves to compute another one of the candidates
    const Op *loop;   // whose state it is; NULL: it is computed from such states
} RowValue;

typedef LIST(RowValue) RowValues;

/// Values with fewer axes than what the loops load, that are computed from what a loop ends with: small beside the kernel's tensors. And
/// what random numbers decided, a byte for each lane: to draw them again takes longer than to move the tensors.
RowValues saving_candidates(Arena *arena, const Snapshot *snapshot, const Kernel *kernel);

#endif
