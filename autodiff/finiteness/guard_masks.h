// Inside autodiff/schedule/guard*.c: the conditions of finiteness.h, written as masks.
#ifndef TAD_AUTODIFF_FINITENESS_GUARD_MASKS_H
#define TAD_AUTODIFF_FINITENESS_GUARD_MASKS_H

#include "autodiff/finiteness/finiteness.h"

/// An expression of vectors that was built for a mask.
typedef struct Vector {
    OpCode code;
    const Value *a, *b;
    Value *value;
} Vector;

typedef struct Guard {
    const Differentiation *state;
    Arena *arena;
    Finiteness *finiteness;
    const Condition *condition;  // under assumption
    LIST(Vector) vectors;
    Map masked;  // values whose origins are masked
    Map made;    // tiles that are masked here
    Map done;    // how many masks there are, by value, condition and slot
    bool changed;
} Guard;

/// The condition at the builder's place, laid along the axes of `tile` that `slot` says; NULL where that cannot be written. Of a test for
/// NaN, whether the tile itself is finite.
Value *guard_mask(Guard *guard, Builder *builder, Value *tile, Slot slot);
/// Takes away vectors, with ids from `first_id` on, that nothing came to need.
void guard_drop_vectors(Guard *guard, int first_id);

#endif
