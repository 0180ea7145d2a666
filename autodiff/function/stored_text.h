// What the backward's launches store for certain, as the Function tells it to the helper that allocates a gradient.
#ifndef TAD_AUTODIFF_FUNCTION_STORED_TEXT_H
#define TAD_AUTODIFF_FUNCTION_STORED_TEXT_H

#include "autodiff/plan/launch_plan.h"

/// `stored=[(step, length), ...]`; NULL where the launcher does not know what it is made of.
const char *stored_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient);
/// The list alone, in an operator's names: `grid`, and those of the kernel's parameters.
const char *stored_operator_text(Arena *arena, const LaunchPlan *plan,
                                 const BackwardArgument *gradient);
/// The same where a tuner chooses blocks or grid: what is stored whatever it chooses, which the Function may find to be unknown (None) when
/// it runs. NULL where it cannot ask.
const char *stored_by_all_text(Arena *arena, const LaunchPlan *plan,
                               const BackwardArgument *gradient);
/// The same of what a kernel stores under its flag ARGUMENT_FILL; NULL where the Function does not set that.
const char *filled_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient);
/// `apart=[(step, length), ...]`: ranges of the elements that a kernel of a launched file touches at most, of which no two sums are one
/// where the gradient is right; a length may be None. NULL where the kernel's own numbers say so, or nobody knows.
const char *apart_text(Arena *arena, const LaunchPlan *plan, const BackwardArgument *gradient);
/// Statements that these texts need in front of them, or "".
const char *stored_programs_text(Arena *arena, const LaunchPlan *plan);

/// Python with `grid.0` in it, in the Function's names; NULL where the Function lacks one of them.
const char *grid_text_of(Arena *arena, const LaunchPlan *plan, const char *text);
/// The same where `stored_programs_text` does not stand in front of it.
const char *grid_text_alone(Arena *arena, const LaunchPlan *plan, const char *text);

/// What a forward that checks steps calls its own.
typedef struct StepsPlace {
    const char *ctx, *grid;  // `grid`: in numbers
    int before;              // arguments in front of the kernel's
    int indent;
    bool is_operator;  // which writes to new tensors of its own
} StepsPlace;

/// Lines that raise where steps of a kernel without a launch in its file lie on each other.
const char *steps_check_text(Arena *arena, const LaunchPlan *plan, const StepsPlace *place);
/// Lines that raise where what an output held has a gradient, or where it is a view: a kernel without a launch in its file gives
/// no gradient back for the one, and autograd loses those of the other.
const char *new_check_text(Arena *arena, const LaunchPlan *plan, const StepsPlace *place);
/// Steps as comments, where nothing runs but the kernel; "" where there is nothing to look at.
const char *steps_comment(Arena *arena, const Backward *backward, WrapperKind wrapper);
/// Statements that check what the gradients assume of offsets, as the backward launches; "" where they assume nothing.
/// `grid`: a tuple, in Python.
const char *offsets_check_text(Arena *arena, const LaunchPlan *plan, const char *grid, int indent);

/// What a launch stores in an output, `[(step, length), ...]` in what the class's `launch` knows; NULL where that is not known.
const char *stored_output_text(Arena *arena, const LaunchPlan *plan, int parameter);

#endif
