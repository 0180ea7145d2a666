// A kernel whose loops walk rows in blocks of one size, as it is where a row is no longer than such a block.
#ifndef TAD_AUTODIFF_BLOCKS_WHOLE_ROWS_H
#define TAD_AUTODIFF_BLOCKS_WHOLE_ROWS_H

#include "autodiff/state/differentiation.h"

/// Where all loops over the blocks of one free size go from 0 to one end that the launch knows: puts the one iteration that each of them
/// has with a block as long as that in its place. The function computes what it did for all lengths from 1 on that such a block holds.
/// False, and nothing is changed, where it has no such size or several.
bool whole_rows_take(Arena *arena, Function *function, WholeRow *row);
/// Whether each program of such a kernel has rows of its own alone, one after the other where there are several.
bool part_goes_through_rows(const BackwardPart *part);

#endif
