// Inside autodiff/: an interval of what an element may hold, and what operations make of intervals.
#ifndef TAD_AUTODIFF_FINITENESS_FACT_H
#define TAD_AUTODIFF_FINITENESS_FACT_H

#include "analysis/ops/op.h"

/// Stands for finite numbers of any size; its square is a number still.
#define LARGEST 1e30

/// How an index changes along the axis that is asked about.
typedef enum Slope { SLOPE_NONE, SLOPE_UP, SLOPE_DOWN, SLOPE_ANY } Slope;

/// What an element holds. Truth values are 0 and 1.
typedef struct Fact {
    double low, high;
    double peak;  // of the elements along the other axes the largest is at least this
    bool may_be_nan;
    bool counts;  // computed as elements that count are: finite, and fit to divide by
    bool
        is_zero;  // an adjoint of what does not count, or a factor that has vanished: meant to be 0
    Slope slope;  // of an index
    bool
        is_index;  // of indices and what counts: its exponential overflows where elements count, or nowhere
} Fact;

/// The same number everywhere.
Fact fact_number(double number);
/// A finite number of any size, of an element that counts or of another one.
Fact fact_data(bool counts);
/// Infinities and NaN included.
Fact fact_anything(void);
/// `fact` as known of elements that count: finite, where it is not an infinity that the author wrote.
Fact fact_trusted(Fact fact);
/// Either of two.
Fact fact_join(Fact a, Fact b);
/// What an operation makes of numbers, by its VALUE and TRAITS; anything where its row says nothing.
Fact fact_apply(OpCode code, const Fact *operands, int count);
/// ==, !=, <, <=, >, >=. `is_beyond`: the elements asked about have a larger index than those that count.
Fact fact_compare(OpCode code, Fact a, Fact b, bool is_beyond);
/// The sum of one or several elements that hold this.
Fact fact_sum(Fact fact);
/// An index computed from two.
Slope slope_of_binary(OpCode code, Slope a, Slope b);

bool fact_is_finite(Fact fact);
static inline bool fact_is(Fact fact, double number) {
    return fact.low == number && fact.high == number && !fact.may_be_nan;
}
static inline bool fact_is_true(Fact fact) { return fact_is(fact, 1); }
static inline bool fact_is_false(Fact fact) { return fact_is(fact, 0); }
/// 0 wherever one looks: added to something that is meant to be 0 it changes nothing.
static inline bool fact_is_nothing(Fact fact) { return fact.counts && fact_is(fact, 0); }
/// Meant to be 0, and maybe something else.
static inline bool fact_is_spoilt(Fact fact) { return fact.is_zero && !fact_is(fact, 0); }

#endif
