// A launch plan and what its class keeps in, the methods that launch the forward out.
#ifndef TAD_AUTODIFF_FUNCTION_FORWARD_TEXT_H
#define TAD_AUTODIFF_FUNCTION_FORWARD_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// What the class keeps for its backward and returns, by name.
typedef struct {
    Texts saved;  // tensors; the first `read` of them are those that the kernel only reads
    int read;
    Texts scalars;  // numbers
    Texts outputs;  // what the kernel writes
    Texts fixed;    // of those, what has no gradient
} KeptNames;

/// `launch(...)`: arguments as a launch has them, positions, keywords and defaults; written tensors may be views.
void class_launch(Arena *arena, Buffer *out, const LaunchPlan *plan);
/// `forward(ctx, ...)`: launches the kernel, and saves what the backward reads.
void class_forward(Arena *arena, Buffer *out, const LaunchPlan *plan, const KeptNames *kept);

#endif
