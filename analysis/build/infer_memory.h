// Types of loads, stores and atomics, of block pointers and of tensor descriptors.
#ifndef TAD_ANALYSIS_BUILD_INFER_MEMORY_H
#define TAD_ANALYSIS_BUILD_INFER_MEMORY_H

#include "analysis/build/infer_rules.h"

bool infer_memory_op(const Inference *inference);

#endif
