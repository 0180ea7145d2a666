// Types of tiles that are made rather than computed: ranges, constants, casts, random numbers, inline assembly.
#ifndef TAD_ANALYSIS_BUILD_INFER_CREATION_H
#define TAD_ANALYSIS_BUILD_INFER_CREATION_H

#include "analysis/build/infer_rules.h"

bool infer_creation_op(const Inference *inference);

#endif
