// Random kernels as text: a module with one kernel under the comment that configures it.
#ifndef TAD_TESTS_UNIT_PASSES_GENERATE_H
#define TAD_TESTS_UNIT_PASSES_GENERATE_H

#include "base/text.h"

/// The same text for the same seed. Tensors that are read, written, and both; loads under masks and through pointers that a
/// branch chose, block pointers, elementwise functions, choices, reductions, scans, products of matrices, loops of three kinds,
/// branches on flags and on data, helper functions, atomics. No two programs store to one element.
const char *kernel_generate(Arena *arena, uint64_t seed);

#endif
