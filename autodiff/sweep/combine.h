// Inside autodiff/: what a combine function of a reduction or a scan computes, told by numbers put into it.
#ifndef TAD_AUTODIFF_SWEEP_COMBINE_H
#define TAD_AUTODIFF_SWEEP_COMBINE_H

#include "autodiff/state/differentiation.h"

/// How far the numbers that are put into a function reach, in units of some 4.
typedef struct CombineReach {
    double items[COMBINE_MOST_CONSTANTS];
    int count;
} CombineReach;

/// Runs a combine function on numbers. False where it does something else than arithmetic.
bool combine_run(Arena *arena, const Region *region, const double *arguments, double *results);
/// Numbers from `low` on, `width` wide, the same in each run. `*state`: 0 at first.
double combine_number(uint64_t *state, double low, double width);
bool combine_is_close(double a, double b);
/// 1, and each constant of the function, so that numbers lie on both sides of each threshold. One beyond a million or
/// below a thousandth stands for infinity or zero. False where there are too many.
bool combine_reach(const Region *region, CombineReach *reach);

/// Whether it is log(base^a + base^b) of two numbers; `*base` is e or 2.
bool combine_adds_exponentials(Arena *arena, const Region *region, double *base);
/// Whether it merges (maximum m, sum s of base^(x - m)) of two groups; `*maximum`: which of the two values is m.
bool combine_merges_softmax(Arena *arena, const Region *region, int *maximum, double *base);
/// Whether it is one of the two groups of values that it is given, all of it: the larger of two numbers with its place, say.
bool combine_selects(Arena *arena, const Region *region);
/// Whether it sums all elements but the last: (s, x) and (t, y) to (s + x + t, y). `*sum`: which of the two values is s.
bool combine_sums_before(Arena *arena, const Region *region, int *sum);

#endif
