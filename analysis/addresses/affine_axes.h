// From an access to what each axis around it (program ids, loops) does to its address: free, owned or scattered.
//
// The offset is a polynomial. Its stride symbols (scalars of the program that bound no lane and step no loop) part it into
// dimensions; within one dimension an axis owns what it touches when everything finer fits below its weight, as the digits
// of a number do. `x // c` and `x % c` of an axis x are two such digits that together are x.
#ifndef TAD_ANALYSIS_ADDRESSES_AFFINE_AXES_H
#define TAD_ANALYSIS_ADDRESSES_AFFINE_AXES_H

#include "analysis/addresses/affine.h"
#include "analysis/addresses/strides.h"

/// For each axis around `access->op` (all program ids that the function reads, then its enclosing loops, outermost first):
/// free, owned or scattered. Distinct stride symbols count as distinct dimensions. Returns the number of axes written.
/// A loop's variable is an axis of its own: a program id that only appears in the loop's bounds is free, it limits the domain.
/// Wraps count as padding only where the function itself compares the wrapped value with the same bound (a mask).
int access_axes(Arena *arena, const FunctionAxes *function, const Access *access, Axis *axes,
                AxisDependence *dependence, int capacity);
/// Whether all that the address moves with, ids of programs too, are digits of one number (nested_steps.h), whatever is passed for sizes of at
/// least 1: two that differ in one of them touch different elements. False where it is not known.
bool access_places_are_digits(Arena *arena, const FunctionAxes *function, const Access *access);
/// Whether no two iterations of the loops around an access of one program, nor two lanes, touch one element: their steps are digits of one
/// number (nested_steps.h), whatever is passed for sizes of at least 1. False where it is not known.
bool access_iterations_are_digits(Arena *arena, const FunctionAxes *function, const Access *access);

#endif
