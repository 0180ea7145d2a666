// Inside autodiff/: what a combine function of a reduction or a scan computes, told by numbers put into it.
#ifndef TAD_AUTODIFF_COMBINE_H
#define TAD_AUTODIFF_COMBINE_H

#include "autodiff/adjoint.h"

enum { COMBINE_MAX = 6 };

/// Runs a combine function on numbers. False where it does something else than arithmetic.
bool combine_run(Arena *arena, const Region *region, const double *arguments, double *results);
/// Numbers from `low` on, `width` wide, the same in each run. `*state`: 0 at first.
double combine_number(uint64_t *state, double low, double width);
bool combine_is_close(double a, double b);

/// Whether it is log(base^a + base^b) of two numbers; `*base` is e or 2.
bool combine_adds_exponentials(Arena *arena, const Region *region, double *base);
/// Whether it merges (maximum m, sum s of base^(x - m)) of two groups; `*maximum`: which of the two values is m.
bool combine_merges_softmax(Arena *arena, const Region *region, int *maximum, double *base);
/// Whether it is one of the two groups of values that it is given, all of it: the larger of two numbers with its place, say.
bool combine_selects(Arena *arena, const Region *region);
/// Whether it sums all elements but the last: (s, x) and (t, y) to (s + x + t, y). `*sum`: which of the two values is s.
bool combine_sums_before(Arena *arena, const Region *region, int *sum);

/// adjoint_combine.c: a reduction or a scan of the primal again, over other items.
Op *combine_again(Differentiation *state, const Op *op, Value *items);
/// The adjoints of these. False where the combine function is another.
bool reduce_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients);
bool reduce_by_selection(Differentiation *state, const Op *op, Value *const *gradients);
bool scan_by_exponentials(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                          bool reverse);
/// A running maximum, say, also with its place: what is taken at a lane stays taken until another lane is.
bool scan_by_selection(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                       bool reverse);
bool scan_of_sums_before(Differentiation *state, const Op *op, Value *const *gradients, int axis,
                         bool reverse);

#endif
