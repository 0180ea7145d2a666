// What is certain of a value's type, whatever the kernel is launched with.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_CERTAINTY_H
#define TAD_ANALYSIS_CHECKS_CHECK_CERTAINTY_H

#include "analysis/checks/check.h"

/// Whether an element type has a number of bits: none that is up to the caller.
bool check_is_concrete(DType dtype);
/// Whether the element type does not follow from what a caller passes.
bool check_is_certain(const Value *value);
/// Whether a value is certainly a float of 32 bits or more, even where it is open which.
bool check_is_wide_float(const Value *value);
/// Whether a value is certainly a float, of whatever width.
bool check_is_float(const Value *value);
/// Whether a value is certainly a tile: none that a branch on a constexpr makes a scalar of.
bool check_is_tile(const Value *value);
/// Whether Triton knows for sure that this is no constexpr: it comes from memory, a program id or a plain parameter.
bool check_is_runtime(const Check *check, const Value *value);

/// Whether a function of the author's prunes the configurations whose blocks number the programs along the axis: it may leave those
/// alone of which one program takes all.
bool check_may_be_pruned_to_one(const Check *check, int axis);

#endif
