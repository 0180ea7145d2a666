// Which parameters are tuples that a launch passes at run time: `x.stride()` for `x_stride`, of which the kernel reads
// `x_stride[0]`.
#ifndef TAD_ANALYSIS_PARAMETERS_TUPLES_H
#define TAD_ANALYSIS_PARAMETERS_TUPLES_H

#include "analysis/parameters/knowledge.h"
#include "analysis/parameters/roles.h"

/// Parameters that one pass only took apart, at places that are written, become tuples of int32, as long as the largest of these
/// places needs. One whose items turn out to be pointers or floats, or that is used otherwise, is none. True when something new was
/// learnt.
bool tuples_learn(Arena *arena, Function *function, const Roles *roles, const bool *is_fixed,
                  ParameterKnowledge *knowledge);

#endif
