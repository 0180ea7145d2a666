// What an autograd.Function does about tensors of one launch that may share memory.
#ifndef TAD_AUTODIFF_FUNCTION_ALIAS_TEXT_H
#define TAD_AUTODIFF_FUNCTION_ALIAS_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// A statement of the Function's forward that refuses tensors which share memory; empty where the launchers show that none do.
const char *alias_check_text(Arena *arena, const LaunchPlan *plan);
/// Statements behind its launch: what the flags kept the kernel from storing to is no output, and may be any tensor.
const char *alias_unstored_text(Arena *arena, const LaunchPlan *plan);

#endif
