// Inside autodiff/: the conditions that leave elements of a backward out.
#ifndef TAD_AUTODIFF_FINITENESS_CONDITIONS_H
#define TAD_AUTODIFF_FINITENESS_CONDITIONS_H

#include "autodiff/state/differentiation.h"

typedef enum ConditionReach {
    REACH_ALL,   // it is one number: all elements at once
    REACH_AXIS,  // it varies along one axis
    REACH_TILE,  // along several
} ConditionReach;

typedef struct ConditionPart {
    LIST(Value *) values;  // where it stands: equal ones, of different places
    bool is_negated;       // it leaves out the elements where it holds, else those where it fails
    ConditionReach reach;
    int axis;  // REACH_AXIS: of the first of `values`, from the last
} ConditionPart;

/// Leaves out what all of its parts leave out: of a sum of two adjoints, what is 0 in both; of a branch, what is 0 where it is
/// taken. Several parts are of one axis, or numbers.
typedef struct Condition {
    ConditionPart parts[2];
    int part_count;
    ConditionReach reach;
    bool is_beyond;  // it leaves out those with the larger index
    bool
        is_of_nan;  // it tells numbers from NaN: all that the tested value is made of may be none where it fails
} Condition;

typedef LIST(Condition) Conditions;

/// Those in `state->backward` as it is now: of upstream loads, and of what is 0 or infinite elsewhere. Those beyond a bound on
/// their number are left out, and what they guard is not guarded.
Conditions conditions_find(const Differentiation *state);
/// Whether a value is the part, and along which one axis of its own, if it has but one.
bool condition_is(const ConditionPart *part, const Value *value, int *axis);
/// Whether an op says of elements that both of its operands hold (`is_or`: that one does). A product of truths is one that both do.
bool op_joins_truths(const Op *op, bool is_or);
/// Whether `abs(x) < inf` of a value, as guards ask of what is NaN where the author dropped it.
bool is_test_of_finite(const Value *mask, const Value *value);
/// Whether a load reads an upstream gradient.
bool load_is_upstream(const Differentiation *state, const Op *load);
/// Whether a value has several elements along an axis, counted from the last.
bool value_varies_along(const Value *value, int axis);

#endif
