// Inside autodiff/: the states of a recurrence, saved in scratch memory on the way forwards and read on the way back.
#ifndef TAD_AUTODIFF_TAPE_TAPE_H
#define TAD_AUTODIFF_TAPE_TAPE_H

#include "autodiff/state/differentiation.h"

/// One carried value of a loop in memory: a slice a program, in it one tile for each iteration that is saved.
typedef struct Tape {
    const char *name;  // the user's, of the carried value
    Op *sweep;         // the loop that fills it; NULL: it is a value at the end of the loops
    Value *buffer;     // pointer parameter of the backward
    Value
        *steps;  // its parameter that says how many tiles a slice has; NULL: one for each iteration
    const char
        *elements;  // of a slice, as Python over the forward's parameters and the name of `steps`
    const char *tile;  // of a tile, the same
    const char
        *trips;  // iterations of the loop, at least about; NULL: nobody knows before the launch
    const char *dtype;  // as torch names it; NULL: float32, or float64 where the launch has doubles
    LIST(Op *) ops;     // stores, and the barriers between them and the loads
} Tape;

/// A carried value: on a tape, or a sum of equal steps.
typedef struct TapedValue {
    Tape *tape;
    Value *slice;      // where the program's tiles begin
    Value *lanes;      // offsets in a tile; NULL: a scalar
    Value *size;       // elements of a tile
    Value *increment;  // of the primal; NULL: it is on the tape
} TapedValue;

/// Whether values of the type can be saved: numbers of known shape.
bool tape_holds(Type type);
/// Of the buffer with elements of a type of torch (NULL: float32, or float64 where the launch has doubles).
Type tape_type(const char *dtype);
/// Lays out a program's slice of `buffer`, `tiles` tiles of `type`, in `value`. Its size in elements.
Value *tape_slice(Builder *b, TapedValue *value, Value *buffer, Type type, Value *program,
                  Value *tiles, const char *name);
/// A parameter of the backward that is not the forward's, under this name or, where that is taken, with a number behind it.
Value *backward_add_parameter(Differentiation *state, const char *name, Type type);
/// Elements of a tile of `type`, as Python; NULL where the launcher cannot tell.
const char *tape_tile_text(Differentiation *state, Type type);
/// Scratch for one tile a program of what `value`, of the backward, is; its elements, in `*address`, are built at `b`.
Tape *tape_of_value(Differentiation *state, Builder *b, const Value *value, Value **address);
/// What is at `address` on the tape, as a value with such elements.
Value *tape_read(Builder *b, const Tape *tape, Value *address, DType element);
/// The elements of the slice's tile `slot`.
Value *tape_address(Builder *b, const TapedValue *value, Value *slot);

/// A loop whose states are saved, in the region under way.
typedef struct TapedLoop {
    const Op *loop;  // of the primal
    Op *sweep;       // its recomputation, which stores them
    Value *trips;
    Value *every;  // one state is saved of so many iterations; NULL: all are
    TapedValue *values;
} TapedLoop;

/// Has the recomputation of `loop` keep what it carries, as it is at the start of an iteration. NULL where that is not
/// worth it (few iterations, unrolled) or cannot be (a carried value that is no number of known shape).
TapedLoop *tape_keep(Differentiation *state, const Op *loop);
/// Notes that the states of the loop are computed anew for each iteration, unless these are few.
void tape_refused(Differentiation *state, const Op *loop);
/// The carried values as saved for iteration `trip`, at the builder's place, into `values`. The iteration that they are the
/// start of: `trip` itself, or an earlier one where not every state is saved.
Value *tape_recall(Differentiation *state, const TapedLoop *taped, Value *trip, Value **values);
/// What grows by equal steps is an expression of the number of the iteration: the primal's carried values of the kind are mapped.
void tape_map_steps(Differentiation *state, const TapedLoop *taped, Value *trip);
/// A while loop's trips: it runs once more at `place`, with a counter.
Value *while_count(Differentiation *state, const Op *loop, Builder *place);
/// Number of the program among those that differ, 64 bits wide or as wide as its identifiers. NULL: there is but one.
Value *program_number(const Differentiation *state, Builder *b, bool is_wide);
/// Which iteration of a `for` has this value of its variable.
Value *iteration_number(Builder *b, Value *variable, Value *lower, Value *step);
/// Drops tapes that nothing reads any more, and what only they needed.
void tapes_prune(Differentiation *state);
/// Notes for the user: what is saved of which loop.
void tapes_describe(Differentiation *state);
/// The tape that a parameter of the backward is of, or whose number of tiles it is. NULL for other parameters.
const Tape *tape_of(const Differentiation *state, const Value *parameter);
/// What a load of the backward finds on a tape: the value that is stored there in each iteration. NULL for other loads.
const Value *tape_value(const Differentiation *state, const Op *load);
/// Elements of one step of the tapes that share `steps`, as Python.
const char *tape_step_elements(const Differentiation *state, const Value *steps);

#endif
