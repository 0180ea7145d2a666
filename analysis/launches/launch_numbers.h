// Numbers that host code reads off tensors and hands on to a launch by ways that no gradient takes.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_NUMBERS_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_NUMBERS_H

#include "analysis/host/launch.h"

typedef struct NumberRead {
    Str tensor;   // as it is spelled
    Range range;  // of the call that reads it
} NumberRead;

/// Whether a launch's argument is made of a number that is read off a tensor which may have a gradient. Followed are names,
/// attributes of `self`, loops, arguments of callers in the file and results of its functions. What is read off
/// `x.detach()`, `x.data`, a comparison, or under `no_grad` is a plain number on purpose. With `makes_tensors` the argument is
/// a tensor, and asked is whether it is made of such numbers: `torch.tensor(x.tolist())`.
bool launch_number_read(Arena *arena, const Module *module, const LaunchSite *site, int parameter,
                        bool makes_tensors, NumberRead *read);

#endif
