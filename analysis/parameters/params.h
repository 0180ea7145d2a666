// What unannotated parameters are: pointer, integer or float, and what pointers point to. Read off the IR of a lowering
// pass by how values are used; the next pass starts with it.
#ifndef TAD_ANALYSIS_PARAMETERS_PARAMS_H
#define TAD_ANALYSIS_PARAMETERS_PARAMS_H

#include "analysis/parameters/knowledge.h"

/// What the IR of one pass says about parameters that are not annotated; true when something new was learnt.
bool parameters_learn(Arena *arena, Function *function, const bool *is_fixed,
                      ParameterKnowledge *knowledge);
/// Defaults for what no use decides: pointers point to floats, scalars are what their default value is. True when something changed.
/// One undecided parameter a call, as it may decide others, or all `at_once`; those that the body does not mention with it.
bool parameters_settle(const Function *function, ParameterKnowledge *knowledge,
                       const bool *is_fixed, bool at_once);
/// Whether parameters_settle would change nothing.
bool parameters_are_settled(Arena *arena, const Function *function,
                            const ParameterKnowledge *knowledge, const bool *is_fixed);
/// Fills what Parameter says about loads, stores and None.
void parameters_describe(Function *function);
Type parameter_type_of_annotation(Str annotation);

#endif
