// The block shapes of tensor descriptors that the host makes, read off what a kernel does with the blocks: what they meet in
// arithmetic, dots and reshapes, and, where that does not tell, the steps in which their offsets move.
#ifndef TAD_ANALYSIS_PARAMETERS_DESCRIPTOR_BLOCKS_H
#define TAD_ANALYSIS_PARAMETERS_DESCRIPTOR_BLOCKS_H

#include "analysis/build/build.h"
#include "analysis/parameters/knowledge.h"

/// Block shapes of the descriptors that the host makes, as far as the IR of one pass tells; true when something new was learnt.
bool descriptor_blocks_learn(Arena *arena, Function *function, ParameterKnowledge *knowledge);
/// The same over the parameters of another pass, that of the builder. All atoms are parameters, or quotients of such.
const Poly *poly_in_function(Builder *builder, const Poly *poly);

#endif
