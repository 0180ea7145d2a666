// A kernel whose loops walk several rows as one (the channels of a group, `index // size`), with a loop for the rows around one for each.
#ifndef TAD_AUTODIFF_BLOCKS_DIGIT_LOOPS_H
#define TAD_AUTODIFF_BLOCKS_DIGIT_LOOPS_H

#include "analysis/ir/ir.h"

/// Whether some loop divides numbers of its lanes, as a row's number is made of an element's.
bool function_divides_in_loops(const Function *function);
/// Whether it has loops in blocks alone beside such loops within others, as a group's elements may be walked as one and then by channel.
bool function_has_rows_beside(const Function *function);

/// Where all loops over the blocks of one free size go from 0 to `rows * size`, and divide the number of an element by `size` alone: makes
/// of each a loop over rows around one over the blocks of a row. So it is, too, where some of them are already a loop over a row within
/// one over rows: then nobody has to divide. What is read by a row's number is read once then, and what is added there
/// is a sum. The function computes what it did, but for the order of sums. False, and nothing is changed, where it has no such loops.
bool digit_loops_open(Arena *arena, Function *function);

#endif
