// Inside autodiff/: gradients that several programs add to, summed by a kernel of their own: iterations of a loop of the forward own
// the elements there, and the forward's programs are what is looped over (scheduling.md, section 3: interchange, two stages).
#ifndef TAD_AUTODIFF_SCHEDULE_REDUCTIONS_H
#define TAD_AUTODIFF_SCHEDULE_REDUCTIONS_H

#include "analysis/addresses/affine.h"
#include "analysis/addresses/axis.h"
#include "autodiff/schedule/tile_orders.h"
#include "autodiff/state/differentiation.h"

/// What a gradient-reduction kernel may sum over: axes of the grid, and behind them the rows and the columns of the tiles that the ids
/// along an axis number.
enum { SUMMED_AXES = (1 + TILE_MOST_DIGITS) * PROGRAM_AXES };

/// The row (digit 0) or the column (1) of the tiles of an axis of the grid, or a digit below these; AXIS_WHOLE: the axis.
static inline int summed_axis(int axis, int digit) {
    return digit < 0 ? axis : PROGRAM_AXES + TILE_MOST_DIGITS * axis + digit;
}

/// The axis of the grid that one of SUMMED_AXES is of.
static inline int summed_grid_axis(int axis) {
    return axis < PROGRAM_AXES ? axis : (axis - PROGRAM_AXES) / TILE_MOST_DIGITS;
}

/// The digit that it is, or AXIS_WHOLE.
static inline int summed_digit(int axis) {
    return axis < PROGRAM_AXES ? AXIS_WHOLE : (axis - PROGRAM_AXES) % TILE_MOST_DIGITS;
}

/// What moves to a gradient-reduction kernel.
typedef struct ReductionPlan {
    Arena *arena;
    LIST(SharedStatement *) statements;
    Op *loop;  // of the backward, whose iterations own the elements; NULL: none does
    bool summed[SUMMED_AXES];  // axes whose programs add to the same elements
    const TileOrders *orders;  // what the ids along the axes of the grid number
    bool
        is_sliced;  // owners are too few to fill a GPU: several programs sum a share each, and add it
    bool
        is_gathered;  // memory says which elements some of the sums are: these are added, not stored
    bool
        is_own;  // each program keeps what it adds apart, and does all else as before: as many slices as there is room for
    bool
        is_large;  // with `is_own`: what is kept apart is as large as what a program reads, which is busy with loops or products
    Value *
        turns;  // of a flat index: how many turns programs share for each owner; NULL: one for each program of the forward
    Value *rows;  // of a flat index: rows of owners in a tile, whose sums are apart; NULL: one
    LIST(Value *)
    saved;  // results of loops, or what is smaller: of each program of the forward, from memory
} ReductionPlan;

typedef struct ReductionPlans {
    ReductionPlan items[BACKWARD_MOST_REDUCTIONS];
    int count;
} ReductionPlans;

#endif
