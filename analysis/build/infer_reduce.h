// Types of reductions, scans, sorting and matrix products.
#ifndef TAD_ANALYSIS_BUILD_INFER_REDUCE_H
#define TAD_ANALYSIS_BUILD_INFER_REDUCE_H

#include "analysis/build/infer_rules.h"

bool infer_reduce_op(const Inference *inference);

#endif
