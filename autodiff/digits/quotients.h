// Inside autodiff/: quotients and remainders of one number by several sizes, in terms of one another.
#ifndef TAD_AUTODIFF_DIGITS_QUOTIENTS_H
#define TAD_AUTODIFF_DIGITS_QUOTIENTS_H

#include "analysis/ir/ir.h"

/// Where a number is divided by C and by B * C, all further digits of it become those of `x // C`: `x // (B * C)` is `x // C // B`,
/// `x % (B * C) // C` is `x // C % B`, and `x % (B * C) % C` is `x % C`. Whoever looks for the digits of a program's id finds one chain.
/// Returns whether there was one.
bool function_chain_quotients(Function *function);

/// Sums of two neighbouring digits of a program's number become one: `x // C % B * C + x % C` is `x % (B * C)`, and `x // C // B` with it
/// `x // (B * C)`. Whoever looks for programs that share what these tell finds one digit. Returns whether there was such a sum.
bool function_join_digits(Function *function);
/// Whether it would.
bool function_has_split_digits(const Function *function);

#endif
