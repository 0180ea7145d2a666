// Mistakes that a rewrite could make, planted into a function to see that they are found.
#ifndef TAD_TESTS_UNIT_PASSES_MISTAKES_H
#define TAD_TESTS_UNIT_PASSES_MISTAKES_H

#include "analysis/ir/ir.h"

/// Makes one mistake in `function`: operands swapped, another operation, branches of a choice exchanged, a store or a mask
/// lost, a loop that ends early. The seed says which and where. False where the function has no place for one.
bool mistake_plant(Function *function, uint64_t seed);

#endif
