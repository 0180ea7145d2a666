// Inside autodiff/: the programs of the forward that add to the elements of one owner, as the numbers from 0 on.
#ifndef TAD_AUTODIFF_SCHEDULE_SUMMED_PROGRAMS_H
#define TAD_AUTODIFF_SCHEDULE_SUMMED_PROGRAMS_H

#include "autodiff/schedule/reductions.h"

/// Of an axis whose ids number tiles: what there is of them, and where this program's lies.
typedef struct TileNumbers {
    Value *rows, *columns, *group;  // NULL where the order has none
    Value *first;                   // row of the group; NULL without groups
    Value *place;                   // of the row, in the order of the ids
    Value *row, *column;
} TileNumbers;

/// Neighbouring digits of an id that are summed over, as one number.
typedef struct DigitGroup {
    int first, last;  // the highest and the lowest of them
    Value *weight;    // what one more adds to the id; NULL: 1
    Value *size;      // how many values the number has; NULL: as many as the grid has programs for
} DigitGroup;

/// Of an axis whose ids have more digits than rows and columns.
typedef struct DigitNumbers {
    DigitGroup groups[2];  // the lower one first
    int group_count;
    Value *base;                     // the id with 0 in their places
    Value *count;                    // how many programs differ in them alone
    Value *sizes[TILE_MOST_DIGITS];  // how many values each digit has, but for the highest
} DigitNumbers;

typedef struct SummedPrograms {
    Value *own;    // which of them this program is
    Value *count;  // how many there are
    Value *counts
        [SUMMED_AXES];  // along each axis; NULL where it is not summed. Of one of more digits: how many values it has
    TileNumbers tiles[PROGRAM_AXES];
    DigitNumbers digits[PROGRAM_AXES];
    FunctionAxes axes;               // of the backward, before anything is copied
    LIST(Op *) ids;                  // of the backward: what differs along the summed axes
    LIST(Op *) reads;                // each tl.program_id
    const char *names[SUMMED_AXES];  // the user's for an id along each axis, or NULL
} SummedPrograms;

/// Makes the numbers at the builder's place. False where they cannot be computed there.
bool summed_programs_find(Differentiation *state, Builder *b, const ReductionPlan *plan,
                          SummedPrograms *programs);
/// How many programs there are along the axis that an id, a row or a column of tiles is of.
Value *summed_count_of(const SummedPrograms *programs, const Value *id);
/// How many there are without those along the axis of `id`, which may be NULL: a product at the builder's place.
Value *summed_count_but(Builder *b, const ReductionPlan *plan, const SummedPrograms *programs,
                        const Op *id);
/// In the region, the ids along the summed axes are those of number `program`; but for `id`, which may be NULL and has a loop of its own.
void summed_programs_place(const Differentiation *state, const ReductionPlan *plan, Region *region,
                           const SummedPrograms *programs, const Op *id, Value *program);
/// In the region, `id` is `number`.
void summed_programs_place_along(Region *region, const SummedPrograms *programs, const Op *id,
                                 Value *number);
/// A `for` without a body yet, at the builder's place, which moves into it.
Op *open_loop(Builder *b, Value *lower, Value *upper, Value *step, Value **variable);
/// The parameter for how many sums a gradient in parts has.
Value *parts_most(Differentiation *state);
/// That for the elements from one sum of a gradient to the next.
Value *part_stride(Differentiation *state, Value *gradient);

#endif
