// What is known of parameters between two passes of the lowering.
#ifndef TAD_ANALYSIS_PARAMETERS_KNOWLEDGE_H
#define TAD_ANALYSIS_PARAMETERS_KNOWLEDGE_H

#include "analysis/ir/ir.h"

/// What is known of the parameters' types between two passes.
typedef struct ParameterKnowledge {
    Type *types;  // by parameter
    bool *
        may_be_descriptor;  // the same: used as a pointer or as a descriptor, whatever it turns out to be
    bool *is_cut;           // what is loaded is cast to an integer and meets no float
    bool *is_kept;          // a number that is stored among floats, itself or what is made of it
    bool *is_no_tuple;  // taken apart as a tuple, and not one of whole numbers alone
    int count;
} ParameterKnowledge;

#endif
