// Inside autodiff/addresses: an address as rows of a tensor, and what is beside them.
#ifndef TAD_AUTODIFF_ADDRESSES_TOLD_ROWS_H
#define TAD_AUTODIFF_ADDRESSES_TOLD_ROWS_H

#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/limits.h"

/// An address by its rows.
typedef struct Rows {
    Access access;
    int lane;  // along which rows follow each other; -1: the tile has one row
    const Poly *weight, *index, *rest;
} Rows;

typedef LIST(Value *) Atoms;

/// Ways to split an address.
typedef LIST(Rows) Splits;

typedef struct RowSearch {
    Arena *arena;
    const Function *function;
    Op *op;
    Access access;  // of `op`
    Limits limits;  // that hold where `op` touches an element
    Rows own;
    Atoms digits;  // of `own.rest`: what differs between programs, but for variables of loops
    Rows stored;   // of the store that is looked at
    Atoms first;   // variables of loops around it, of which the first iteration is looked at
    const Poly
        *within;  // of one row that a tile of the store has: which of its rows that is; else NULL
    const AlikePrograms *alike;
    bool takes_minima;  // a minimum is as large as what both of its sides are
} RowSearch;

/// Sets what holds where `search->op` touches an element, as far as it is understood.
void row_limits_find(RowSearch *search);
/// Splits an address into the multiples of a weight and the rest. False where its rows are the same in all programs.
bool rows_split(Arena *arena, const Access *access, int lane, const Poly *weight, Rows *rows);
void rows_list_splits(Arena *arena, const Access *access, Splits *splits);
/// Lists what differs between programs in the rest of the address, and in `within`, a part of the row's index (or NULL). False where that is no
/// number of the launch, or moves lanes.
bool row_digits_find(RowSearch *search, const Poly *within);
/// Whether elements of other rows, or of other digits, are other elements, whatever rows and digits there are.
bool rows_tell(RowSearch *search);
/// The same of rows that are numbered by blocks of so many, and by `within` in these: whether elements of other blocks, or of other digits, are
/// other elements, whatever blocks there are.
bool blocks_tell(RowSearch *search, const Poly *block, const Poly *within);
/// Whether a number is at least 1 where `search->op` is reached.
bool row_number_is_size(const RowSearch *search, const Poly *poly);

#endif
