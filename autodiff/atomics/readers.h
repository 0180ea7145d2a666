// What another program, or another lane, computes of what it loads: made again at a builder's place.
#ifndef TAD_AUTODIFF_ATOMICS_READERS_H
#define TAD_AUTODIFF_ATOMICS_READERS_H

#include "autodiff/state/differentiation.h"

enum { MOST_COORDINATES = 4 };

/// What numbers the owners of elements along one direction: programs along an axis, the lanes of a tile, or both, `program * size + lane`.
typedef struct Coordinate {
    int axis;
    Value *program;      // the id along the axis; NULL: lanes alone
    const Poly *size;    // of the tile; NULL: programs are numbered
    int lane;            // the dimension of the tile
    const Poly *weight;  // what one step moves an address by
} Coordinate;

/// A reader that has other coordinates than the program and the lane that it is made for.
typedef struct OtherReader {
    const Function *function;  // the backward
    Builder *builder;
    const Coordinate *coordinates;
    int count, rank;                   // `rank`: of the tile that is added
    Value *numbers[MOST_COORDINATES];  // its coordinates; NULL: the same
    Value *inside[MOST_COORDINATES];   // whether it is one of the launch; NULL: it is
    const Poly
        *distances[MOST_COORDINATES];  // of the element that it reads from itself; NULL: not known
    Value *owners[MOST_COORDINATES];   // that element's coordinates
    const Op *nest;  // what is made in this loop is made again, in terms of `copies`; or NULL
    Map copies;      // value -> the reader's
    int left;        // values that may still be made
} OtherReader;

/// Whether the value counts what the coordinate numbers.
bool value_is_coordinate(Arena *arena, const Coordinate *coordinate, const Value *value);
/// The coordinate as a row of lanes, where `found` counts it along one axis of a tile.
Value *coordinate_number(Builder *b, const Coordinate *coordinate, Value *found);
/// A condition on a coordinate for a tile of so many axes. NULL where that is another tile than what is added.
Value *coordinate_spread(Builder *b, const Coordinate *coordinate, Value *condition, int rank,
                         int added_rank);
/// How far the coordinate goes.
Value *coordinate_end(Builder *b, const Coordinate *coordinate);
/// Whether the value is made of the coordinate.
bool value_has_coordinate(Arena *arena, const Coordinate *coordinate, const Value *value);
/// Whether the value is made by a loop: who makes it again runs that, too.
bool value_needs_loop(const Value *value);
/// What the reader has in the value's place; the value itself where that is the same. NULL where it cannot be made: it has to be made of
/// loads and of operations element by element, and of loops of these.
Value *reader_value(OtherReader *reader, Value *value);
/// A tile of zeros like what the op adds. NULL where its shape is not known.
Value *zeros_added(Builder *b, const Op *op);
/// Both conditions; one of them may be NULL.
Value *conditions_both(Builder *b, Value *a, Value *also);
/// A load like `load` of its `operands`, at least three and NULL where there is none, in the lanes where `also` is true; they
/// are changed.
Value *load_where_also(Builder *b, const Op *load, Value **operands, Value *also);

#endif
