// Inside autodiff/: addresses in which a digit is turned around, `(c + shift) % n` of `c` from 0 to below `n`, or shifted by what
// others decide.
#ifndef TAD_AUTODIFF_DIGITS_ROTATIONS_H
#define TAD_AUTODIFF_DIGITS_ROTATIONS_H

#include "analysis/ir/ir.h"

enum { MOST_ROTATIONS = 4 };

/// An access in whose address digits that were turned around are as they were before.
typedef struct Straightened {
    Op *access;  // a copy beside the function, with the mask and in the loops of the access; NULL: nothing is turned around
    const Poly *least
        [MOST_ROTATIONS];  // where none of these is below 0, each comes to the numbers from 0 on
    int count;
} Straightened;

/// `(c + shift) % n` goes through `n` numbers in a row where `c` does, each once: those from 0 on, and where `shift` is below 0 others. So two
/// programs, iterations or lanes touch one element with the access if and only if they do with the one that has `c` there. `c` is a digit
/// (`x % n` of a number that is never below 0), or a lane that the mask of the access keeps below `n`, and the rest of the address does
/// not vary with it.
Straightened access_straightened(Arena *arena, Op *access);

/// A number in an address, `program + shift`, or one that counts lanes.
typedef struct ShiftedBy {
    Value *whole;
    Value *program;  // NULL: it counts lanes
} ShiftedBy;

/// A copy of the access without what is added to a program's number in its address, or to what counts the lanes along one dimension, where
/// programs along other axes or other lanes decide that (`(t + step) * C + c` of a `step` that depends on `c`), and all else that the
/// address moves by are steps within those of that number, or around all that the mask lets it be. Programs and lanes
/// that have all else in common have one shift, and those that have not are apart: so two meet in the one if and only if they do in the
/// other. NULL where there is no such number. `by`, or NULL: what it is.
Op *access_unshifted(Arena *arena, Op *access, ShiftedBy *by);

#endif
