// What an autograd.Function does about descriptors among a kernel's arguments: autograd sees their tensors, the backward's
// kernel gets these with the shapes and strides.
#ifndef TAD_AUTODIFF_FUNCTION_DESCRIPTOR_TEXT_H
#define TAD_AUTODIFF_FUNCTION_DESCRIPTOR_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// Statements of the class's forward, indented, that keep what its backward reads of the descriptors, and reject other blocks
/// than it is made for. `described`: the name of their dictionary.
const char *descriptor_layout_text(Arena *arena, const LaunchPlan *plan, const char *described);
/// How the class's backward reads an ARGUMENT_SHAPE or ARGUMENT_STRIDE; NULL for other uses.
const char *descriptor_number_text(Arena *arena, const LaunchPlan *plan,
                                   const BackwardArgument *argument);
/// What the emitted kernel is to be given in the place of descriptors, as lines of comment.
const char *descriptor_comment(Arena *arena, const Function *backward,
                               const BackwardLaunch *launch);

#endif
