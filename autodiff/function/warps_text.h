// The number of warps that the Function launches a backward kernel with, where the forward's launch says nothing, and of iterations
// whose loads are in flight.
#ifndef TAD_AUTODIFF_FUNCTION_WARPS_TEXT_H
#define TAD_AUTODIFF_FUNCTION_WARPS_TEXT_H

#include "analysis/choices/choices.h"
#include "autodiff/plan/launch_plan.h"

/// `num_warps=...`, or NULL: as many as Triton takes unasked.
const char *warps_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                       int indent);
/// The argument `name` of a launch whose arguments stand at `indent`: the number of stages. NULL: the parameter's default.
const char *stages_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const char *name, int indent);

/// A size of a tile of runs, which has as many elements as a block: `LANES=...`. NULL: the parameter's default.
const char *run_tile_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                          const BackwardArgument *argument);

/// Whether the launch counts its warps (`_warps`) where the forward's launch says none.
bool launch_counts_warps(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch);
/// Whether the launch asks `_byte_warps`, which takes what the forward's launch says, too.
bool launch_counts_byte_warps(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch);

/// What the launch says of the programs that share the sums of its argument `slices`. A constexpr has no rule but the most, and where that
/// is 0 the kernel's default.
SlicesRule slices_rule(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                       const BackwardArgument *slices);
/// How many programs share a sum at most, as the argument `slices` of the launch; NULL: the kernel's default.
const char *slices_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const BackwardArgument *slices);
/// The name, in the Function's backward, of the number of programs that share sums in its launch `number`.
const char *slices_name(Arena *arena, const LaunchPlan *plan, int number);
/// The lines that compute it, for each launch that has one.
const char *slices_statements(Arena *arena, const LaunchPlan *plan);

/// The names that the Function's backward has for the grid and the tiles of a launch of its own.
typedef struct TileNames {
    const char *grid, *rows, *columns, *terms, *warps, *stages,
        *tile,   // of a loop, whose grid is the forward's
        *parts,  // how many a block is taken in; NULL: it is taken as a whole
        *tuned,  // the configuration that a tuner took for the first launch; NULL: none
        *block;  // of a row, whose grid is the forward's, as its stages are; or how many programs are one
} TileNames;

/// Whether a launch has tiles of its own; with their names.
bool tiles_are_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                   TileNames *names);
/// Whether a launch has a program for each turn that programs of the forward take.
bool turns_are_own(const LaunchPlan *plan, const BackwardLaunch *launch);
/// The grid of launch `number` in Python: `grid`, or a call that makes another one of it, with a program for each turn, or for each slice.
const char *launched_grid_text(Arena *arena, const LaunchPlan *plan, int number, const char *grid);
/// The same as a statement, where a line is too short for it: `name = _all_turns(...)`.
const char *launched_grid_statement(Arena *arena, const LaunchPlan *plan, int number,
                                    const char *name, const char *grid, int indent);
/// The statement that chooses them.
const char *tiles_statement(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                            int indent);
/// What a launch passes for an argument ARGUMENT_PROGRAMS: `programs=grid[0]`.
const char *programs_text(Arena *arena, const BackwardArgument *argument, const char *grid);
/// The options that the forward's launch said, `**ctx.options`, with the warps and stages of the tiles.
const char *options_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                         int indent);
/// What the launch passes for its parameter `name`; NULL: it is none of the tiles' sizes.
const char *tile_size_text(const BackwardLaunch *launch, const TileNames *names, const char *name);

/// Each whole word of a text that is `word`, as `by`.
const char *text_with_word(Arena *arena, const char *text, const char *word, const char *by);

/* ---- rows that a block holds ---- */

/// The class's method for such rows.
#define WHOLE_ROWS_METHOD "backward_of_whole_rows"

/// Whether the class has that method: the launch knows how long a row is, and may choose its block.
bool rows_are_own(const LaunchPlan *plan);
/// The same plan, of the backward that has one kernel.
LaunchPlan whole_rows_plan(const LaunchPlan *plan);
const BackwardLaunch *whole_rows_launch(const LaunchPlan *own);
/// The method's parameters in front of the upstream gradients: the block, which has the forward's name, and the warps.
Texts whole_rows_leading(Arena *arena, const LaunchPlan *own);
const char *whole_rows_warps(Arena *arena, const LaunchPlan *own);
/// How many sums each lane of the block has in registers.
int whole_rows_sums(const BackwardLaunch *launch);
/// Statements that return what that method gives, where it can; "" where there is none. `parameters`: of the class's backward.
const char *whole_rows_dispatch(Arena *arena, const LaunchPlan *plan, const Texts *parameters);

#endif
