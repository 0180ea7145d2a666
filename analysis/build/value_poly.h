// Integer scalars as polynomials over what cannot be taken apart: parameters, program ids, loaded values, quotients.
#ifndef TAD_ANALYSIS_BUILD_VALUE_POLY_H
#define TAD_ANALYSIS_BUILD_VALUE_POLY_H

#include "analysis/build/infer.h"

/// The value of an integer scalar as a polynomial over atoms (parameters, program ids, opaque values); never NULL.
const Poly *value_poly(Arena *arena, Value *value);

#endif
