// Types of operations that move elements: axes added, taken away, exchanged, split and joined.
#ifndef TAD_ANALYSIS_BUILD_INFER_SHAPE_H
#define TAD_ANALYSIS_BUILD_INFER_SHAPE_H

#include "analysis/build/infer_rules.h"

/// Each types the ops of one family and says whether it knew the op.
bool infer_shape_op(const Inference *inference);

#endif
