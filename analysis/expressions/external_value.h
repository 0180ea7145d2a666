// Values of other modules, by their dotted names (`math.pi`, `tl.float32`).
#ifndef TAD_ANALYSIS_EXPRESSIONS_EXTERNAL_VALUE_H
#define TAD_ANALYSIS_EXPRESSIONS_EXTERNAL_VALUE_H

#include "analysis/frames/lowering.h"

/// NULL where the name is none that is known.
Value *lower_external_value(Lowering *lowering, Str dotted);

#endif
