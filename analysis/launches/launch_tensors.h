// Inside analysis/: host expressions of numbers that come from tensors, and what else a launcher does with those numbers.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_TENSORS_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_TENSORS_H

#include "analysis/host/launch.h"

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

LaunchTensor launch_tensor(Arena *arena, const Module *module, const LaunchSite *site,
                           int parameter);
/// The expression that a launch passes for a parameter of its kernel; a null node where that is not known, or none.
SyntaxNode launch_argument_node(const Module *module, const LaunchSite *site, int parameter);
/// Sets `comes_from_tensor` of the kernel's scalars.
void launch_note_tensors(Arena *arena, const Module *module, const LaunchSite *site,
                         Function *function);
/// Whether there are launches in the file, and each passes a tensor for the parameter.
bool launches_pass_tensors(Arena *arena, const Function *function, int parameter);

#endif
