// Scalars of a kernel under the numbers of one launch, and how many lanes a mask lets through. Private to analysis/cost/.
#ifndef TAD_ANALYSIS_COST_COUNTER_H
#define TAD_ANALYSIS_COST_COUNTER_H

#include "analysis/addresses/affine.h"
#include "analysis/cost/count.h"

typedef struct Counter {
    Arena *arena;
    const Function *function;
    const CountedLaunch *launch;  // a grid of -1 is not known
    Former *former;
    int value_count;
    double *numbers;                // by value id; NaN: not known now
    int64_t program[PROGRAM_AXES];  // -1: any
    int64_t steps;
    // Of a kernel with open constexprs: what parameters are, NULL where it is not known. NULL: whatever is no None here is there.
    const Constant *const *values;
    bool is_symbolic;
} Counter;

/// NaN where it is not known.
double counter_number(const Counter *counter, const Value *value);
void counter_set(Counter *counter, const Value *value, double number);
/// Sets the results of an operation without regions, as far as they follow.
void counter_take(Counter *counter, const Op *op);
/// NaN where a part of it is not known.
double counter_poly(const Counter *counter, const Poly *poly);
/// Lanes of an access that take part; -1: not known.
int64_t counter_lanes_on(Counter *counter, Op *op);

#endif
