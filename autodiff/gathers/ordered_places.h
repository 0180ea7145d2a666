// Inside autodiff/gathers/: the digits that an address is made of, in the order of the elements that it is of.
#ifndef TAD_AUTODIFF_GATHERS_ORDERED_PLACES_H
#define TAD_AUTODIFF_GATHERS_ORDERED_PLACES_H

#include "autodiff/state/differentiation.h"

enum { MOST_TAPS = 3 };    // loops around a statement. Beyond: likewise
enum { MOST_PLACES = 6 };  // digits of an address. Beyond: the order of the forward stays

struct WindowTurns;

/// A digit of the output's number, `number // low % extent`, in the order of the input's.
typedef struct OrderedPlace {
    const Poly *low, *extent;  // extent NULL: as many as there are
    const Poly *weight;        // what one of it moves the address by
    const Poly *size;          // how many the input has along it; NULL of the coarsest
    const Poly *shift;         // what is added to it
    const Poly
        *repeat;   // so many that follow each other read one element; NULL: each reads its own
    bool is_back;  // counted from the other end
    const Poly *
        along;  // of the finest digit of a dimension of the input that may be longer than its digits: the length
    bool is_ragged;  // the coarsest digit of such a dimension; `size` is NULL
    Value *digit;    // as computed from the input's number; of those that repeat, the first
    const Poly *
        stride;  // of windows (windows.h): of the axis of the input that the digit moves along, by `step` each
    const Poly *step;
    const Poly *
        reach;  // elements that windows have along the axis, where masks do not end them: behind these there may be none; or NULL
    int axis;   // of a tap: the place whose window it is in
    Value *
        begin;  // of a window: the number along the axis that it begins at, of which the digit is a quotient
    struct WindowTurns
        *turns;  // of windows that are gone through by their own number, not by their taps; or NULL
} OrderedPlace;

/// Of an axis whose windows begin at every `step`-th element: few of all taps are those of one element. So a loop goes through the windows that
/// have it, from the last one back, and computes which of their taps it is.
typedef struct WindowTurns {
    const Op *loop;     // over taps, which this one takes the place of; or NULL
    OrderedPlace *tap;  // a digit, likewise; or NULL
    const Poly *first;  // the number of the first tap
    const Poly *taps;   // how many a window has
    Value *turn,
        *number;  // the loop's variable; the tap's number from the first one on, once it is computed
} WindowTurns;

typedef struct Ordering {
    Differentiation *state;
    Arena *arena;
    Op *store;
    Value *number;
    OrderedPlace places[MOST_PLACES];
    int count;
    OrderedPlace idle[MOST_PLACES];  // digits that the address does not depend on
    int idle_count;
    Op *taps[MOST_TAPS];  // loops around the statement, from outside
    int tap_count;
    bool sums;            // several digits of the output read one element
    const Poly *base;     // what is added to the digits
    const Poly *end;      // of the output's numbers
    bool is_other;        // the order of the input is another one, or its size
    LIST(Value *) terms;  // of the mask
    Value *parameter;     // the gradient
    bool is_windowed;     // `idle` has digits within windows
    bool has_check;       // the Function looks at this
    StepCheck check;
} Ordering;

/// The digits, in the order of the output's number, with what they move the address by. False where the address is not made of them.
bool ordering_find_places(Ordering *ordering);

/// Which digits of the output's number the address has, and which it has not, in the order of the input. False where it is not made of them.
bool places_find_order(Ordering *ordering);
/// Whether the input has as many along a digit as the output, and at the same numbers.
bool place_is_plain(const Ordering *ordering, const OrderedPlace *place);
/// Whether so few digits read one element that one lane may add them up.
bool sums_are_short(const Ordering *ordering);

#endif
