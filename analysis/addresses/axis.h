// What varies within a launch: program ids and loop variables, and the values that come from them.
#ifndef TAD_ANALYSIS_ADDRESSES_AXIS_H
#define TAD_ANALYSIS_ADDRESSES_AXIS_H

#include "analysis/ir/ir.h"

/// A number that is a multiple of another.
typedef struct MultipleSize {
    const Value *size, *of;
} MultipleSize;

/// `whole >= least`, of constexprs.
typedef struct PartsOfBlock {
    Value *whole;
    const Poly *least;
    bool *is_used;
} PartsOfBlock;

/// What access_axes asks of the whole function: gathered once, good until the function changes.
typedef struct FunctionAxes {
    Value *programs[PROGRAM_AXES];        // first tl.program_id by axis, NULL where not read
    Value *program_counts[PROGRAM_AXES];  // first tl.num_programs likewise
    Value *tiles
        [PROGRAM_AXES]
        [TILE_MOST_DIGITS];  // rows and columns of tiles that the id stands for (OP_TILE_INDEX), or more digits of it
    int digits[PROGRAM_AXES];  // how many digits the id along an axis has; 0: none stand for it
    LIST(Op *) comparisons;    // <, <=, >, >= in order
    LIST(MultipleSize)
    multiples;  // of the function's parameters, for who knows some; none, as function_axes has it
    LIST(PartsOfBlock) parts;  // what the function takes for granted of its blocks
} FunctionAxes;
/// Whether a number is at least 0 where the function's blocks have room for their parts.
bool poly_is_nonnegative_in_parts(Arena *arena, const FunctionAxes *axes, const Poly *poly);
FunctionAxes function_axes(Arena *arena, const Function *function);

/// Programs that are taken for one: all along an axis of the grid, or all in a row, or a column, of the tiles that its ids number.
typedef struct AlikePrograms {
    bool whole[PROGRAM_AXES];
    bool tiles[PROGRAM_AXES][TILE_MOST_DIGITS];  // along this digit of the ids
} AlikePrograms;

/// Whether `value` is the program id of `axis`, -1: of any.
bool value_is_program_id(const Value *value, int axis);
bool value_is_loop_variable(const Value *value);
/// Whether it is a row (digit 0) or a column (1) of tiles that the id of `axis` numbers, or a digit below these; -1: any.
bool value_is_tile_index(const Value *value, int axis, int digit);
/// Whether it is one of the three.
bool value_is_axis(const Value *value);

/// What a value comes from, loop variables not followed into their bounds.
typedef struct AxisSources {
    const Value *found;  // what was looked for, or NULL
    bool any_axis;
    bool carried_state;  // something that a loop carries
} AxisSources;
/// Walks back from `value`; `axis` is what is looked for (NULL: anything).
AxisSources axis_sources_of(Arena *arena, const Value *value, const Value *axis);

bool value_depends_on_axis(Arena *arena, const Value *value, const Value *axis);
/// Whether some atom of `poly` does.
bool poly_depends_on_axis(Arena *arena, const Poly *poly, const Value *axis);
/// Whether nothing that varies within a launch is in `poly`.
bool poly_is_fixed(Arena *arena, const Poly *poly);

#endif
