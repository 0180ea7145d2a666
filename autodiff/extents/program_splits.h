// Inside autodiff/extents/: program ids that a kernel divides into digits, `pid // heads` and `pid % heads`.
#ifndef TAD_AUTODIFF_EXTENTS_PROGRAM_SPLITS_H
#define TAD_AUTODIFF_EXTENTS_PROGRAM_SPLITS_H

#include "autodiff/extents/stored_digits.h"

/// Splits the program ids of which an address has quotients and remainders, and variables of loops that go through programs along several axes. A division that does not fit the ones before is left as
/// it is: split_digits fails on it then, as on all that it does not know.
void find_splits(StoredSearch *coverage, const Poly *base);
/// The digits of a program's id, the id itself where it is not divided; the coarser ones first. `extent` and `count` are the id's. Of an
/// id whose count is no multiple of a divisor, those programs are counted that have each value of the finer digits.
void add_split_digits(StoredSearch *coverage, StoredDigit whole);
/// Whether an id, or the variable of a loop over programs, is divided.
bool digit_is_split(const StoredSearch *coverage, const Value *whole);
/// What a quotient or a remainder, or an id that is divided, is in digits; NULL for other atoms.
const Poly *split_of_atom(const StoredSearch *coverage, Value *atom);

#endif
