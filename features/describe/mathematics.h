// Derivative rules as a person writes them: `x̄ += ȳ · exp(x)`. Private to features/.
#ifndef TAD_FEATURES_DESCRIBE_MATHEMATICS_H
#define TAD_FEATURES_DESCRIBE_MATHEMATICS_H

#include "analysis/ops/op.h"

typedef struct Rule {
    const char *computes;    // "y = exp(x)"; NULL where there is no good formula
    const char *derivative;  // "x̄ += ȳ · y"; never NULL
} Rule;

/// The rule of an operation, from its GRAD column or from mathematics.def.
Rule rule_of(Arena *arena, OpCode code);

#endif
