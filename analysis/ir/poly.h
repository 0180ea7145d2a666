// Polynomials with integer coefficients over SSA values: dimensions, sizes and affine addresses.
// Immutable and canonical (terms sorted, no zero terms), so equality is structural.
#ifndef TAD_ANALYSIS_IR_POLY_H
#define TAD_ANALYSIS_IR_POLY_H

#include "base/list.h"
#include "base/map.h"
#include "base/text.h"

typedef struct Value Value;

typedef struct Monomial {
    int64_t coefficient;
    int atom_count;
    Value *const *atoms;  // sorted by value id, repeated for powers
} Monomial;

typedef struct Poly {
    int count;
    const Monomial *terms;
} Poly;

const Poly *poly_constant(Arena *arena, int64_t value);
const Poly *poly_atom(Arena *arena, Value *value);
/// The same in memory of its own: nothing of it is in the arena that `poly` was made in. NULL for NULL.
const Poly *poly_copy(Arena *arena, const Poly *poly);
const Poly *poly_add(Arena *arena, const Poly *a, const Poly *b);
const Poly *poly_subtract(Arena *arena, const Poly *a, const Poly *b);
const Poly *poly_multiply(Arena *arena, const Poly *a, const Poly *b);
/// a / b where b divides a exactly, else NULL.
const Poly *poly_divide_exact(Arena *arena, const Poly *a, const Poly *b);
bool poly_is_constant(const Poly *poly, int64_t *value);
/// False for NULL.
bool poly_is_zero(const Poly *poly);
/// False when unequal or when either is NULL.
bool poly_equal(const Poly *a, const Poly *b);
bool poly_mentions(const Poly *poly, const Value *atom);
/// poly = quotient * atom + rest, where `rest` does not mention atom. Where atom occurs squared, returns false.
bool poly_split(Arena *arena, const Poly *poly, Value *atom, const Poly **quotient,
                const Poly **rest);
const Poly *poly_substitute(Arena *arena, const Poly *poly, Value *atom, const Poly *by);
/// Python text; atoms by their names. "?" for NULL.
const char *poly_print(Arena *arena, const Poly *poly);

#endif
