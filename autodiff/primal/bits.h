// Inside autodiff/: whole numbers that hold the bits of a float with a gradient, and what becomes of them.
#ifndef TAD_AUTODIFF_PRIMAL_BITS_H
#define TAD_AUTODIFF_PRIMAL_BITS_H

#include "autodiff/state/differentiation.h"

/// Which bits of each element of a value may be those of a float with a gradient: a set of 64. Also of a pointer parameter's contents.
uint64_t bits_of_value(const Differentiation *state, const Value *value);
/// Notes what an op makes of such bits, in whole numbers that it gives or stores. Whether that was news.
bool bits_follow(Differentiation *state, const Op *op);
/// Adds bits to those of a value. Whether that was news.
bool bits_add(Differentiation *state, const Value *value, uint64_t bits);
/// Whether an op makes a float of such bits.
bool op_makes_float_of_bits(const Differentiation *state, const Op *op);
/// Whether a bitcast is below a question by which its operand is of integers, as in `if x.dtype == tl.uint8:`: these carry no gradient.
bool bitcast_is_of_integers(const Op *op);
/// Whether an address goes through a pointer that was cast to another element type than that of its parameter.
bool pointer_is_cast(const Value *pointer);
/// Refuses a kernel that stores floats, or their bits, through a pointer of another type, or bits as whole numbers where
/// the file's host code looks at memory as at another type.
void bits_refuse_stores(Differentiation *state);
/// Whether a kernel stores the bits of a float that it loads. `function` is not changed.
bool function_stores_bits(Arena *arena, Function *function);

#endif
