// Inside autodiff/: reads at shifted places, and what their masks say of the elements that they touch.
#ifndef TAD_AUTODIFF_ATOMICS_TAP_BOUNDS_H
#define TAD_AUTODIFF_ATOMICS_TAP_BOUNDS_H

#include "autodiff/atomics/readers.h"

enum { MOST_TAP_LOOPS = 2 };

/// A read of the tensor, in loops over taps or by itself.
typedef struct TapRead {
    const Accumulation *statement;
    Op *loops[MOST_TAP_LOOPS];  // from outside
    int depth;
    const Poly
        *distance[MOST_COORDINATES];  // of its element from the owner that has its coordinates
} TapRead;

typedef struct Taps {
    Differentiation *state;
    Arena *arena;
    Coordinate coordinates[MOST_COORDINATES];
    int count;
    TapRead *reads;
    int read_count;
    int own;                         // the read that the owners are numbered by
    const Poly *at[MOST_TAP_LOOPS];  // in which iteration of its loops that is
} Taps;

typedef LIST(Value *) TapConditions;

static inline Value *tap_variable(const TapRead *read, int loop) {
    return read->loops[loop]->regions[0]->arguments[0];
}
/// The distance where the owner's own iteration takes place.
const Poly *tap_at_own(const Taps *taps, const Poly *number);
/// Whether a number is 0 or more in each iteration of the read.
bool tap_is_never_negative(const Taps *taps, const TapRead *read, const Poly *number);
/// The same of `-number`.
bool tap_is_never_positive(const Taps *taps, const TapRead *read, const Poly *number);
/// What a mask consists of.
TapConditions tap_conditions(Arena *arena, Value *mask);
/// Whether a part of the owner's mask holds for each owner.
bool tap_condition_is_idle(const Taps *taps, Value *condition);
/// Whether a part of the owner's mask holds for each element that the read touches.
bool tap_condition_holds(const Taps *taps, Value *condition, const TapRead *read);
/// Whether a part of the read's own mask holds for each owner that stores: it is idle, or a part of the owner's mask.
bool tap_condition_is_owners(const Taps *taps, Value *condition, const TapRead *read);
/// Whether each element that the read touches has an owner in the launch.
bool tap_has_owners(const Taps *taps, const TapRead *read);

#endif
