// Inside analysis/: host expressions of numbers that come from tensors, and what else a launcher does with those numbers.
#ifndef TAD_ANALYSIS_LAUNCH_TENSORS_H
#define TAD_ANALYSIS_LAUNCH_TENSORS_H

#include "analysis/launch.h"

typedef struct Splice {
    uint32_t start, end;
    const char *text;
} Splice;

/// One launch whose arguments are read.
typedef struct TensorReader {
    Arena *arena;
    const Module *module;
    const Source *source;
    const LaunchSite *site;
    // of the last expression:
    LIST(Splice) splices;  // in the order of the text
    LIST(Str) tensors;     // that numbers are read off
    int conversions;       // by `float`, which may be of numbers
} TensorReader;

/// The expression with tensors for their numbers; NULL where it has none, or does more than tensors can.
const char *tensor_text(TensorReader *reader, SyntaxNode node);
/// The tensor of which this is the whole or an item.
Str tensor_whole(Str tensor);
/// Whether every number that the launcher reads off a tensor gets to launches as that tensor, or decides what is done and no
/// more: else the tensor's gradient would lack a part.
bool tensor_is_followed(TensorReader *reader, Str tensor);

#endif
