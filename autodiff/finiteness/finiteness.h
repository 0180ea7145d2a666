// Inside autodiff/: what elements hold that do not count: beyond a mask, or not chosen by a `where`.
//
// An adjoint is 0 where its element does not count. 0 times an infinity is NaN, though, and a sum along an axis takes that
// NaN to elements which do count. So each condition that leaves elements out is taken to fail, and every value of the
// backward is followed under that assumption, as an interval. What is asked: may this adjoint, meant to be 0, be something
// else? The answer is used to insert a guard, `where(condition, x, 0)`, and to remove one.
//
// Assumed: elements that count are finite, and so is what the forward computes from them; whoever divides by 0 there gets
// what PyTorch gives. A number that the launcher passes is positive. Exponentials may overflow. An operation whose row does
// not say what it is good for may make anything of anything.
#ifndef TAD_AUTODIFF_FINITENESS_FINITENESS_H
#define TAD_AUTODIFF_FINITENESS_FINITENESS_H

#include "autodiff/finiteness/conditions.h"
#include "autodiff/finiteness/fact.h"

/// Which elements of a value: 0, those that count; from 1 on, those that the condition leaves out. Of a condition along one axis
/// there is one slot for each axis of the value, from the last; of a condition on a tile its own order of axes, and the last
/// two swapped. A condition that is one number leaves out all elements: slot 0.
typedef int Slot;
enum {
    NO_SLOT = -1,
    SLOT_COUNTS,
    SLOT_TILE,
    SLOT_SWAPPED,
};

typedef struct Finiteness Finiteness;

/// Finds the conditions in `state->backward`, as it is now. Lives in `state->arena`.
Finiteness *finiteness_new(const Differentiation *state);
int finiteness_condition_count(const Finiteness *finiteness);
const Condition *finiteness_condition(const Finiteness *finiteness, int index);

/// Follows all values with condition `index` failing. The facts of another condition are forgotten.
void finiteness_assume(Finiteness *finiteness, int index);
/// The fact of the elements in `slot`; of those that count where the condition says nothing about the value.
Fact finiteness_fact(const Finiteness *finiteness, const Value *value, Slot slot);
/// Whether a value has elements in `slot`, of which others than those that count may be left out.
bool finiteness_varies(const Finiteness *finiteness, const Value *value, Slot slot);
/// Whether a value is a sum of multiples of upstream gradients.
bool finiteness_is_adjoint(const Finiteness *finiteness, const Value *value);
/// The slot of `op`'s operand whose elements come to lie in `slot` of its result; NO_SLOT: there is none, or it is not known.
Slot finiteness_operand_slot(const Finiteness *finiteness, const Op *op, int operand, Slot slot);
/// The slot of `op`'s result in which the elements of an operand's slot come to lie; NO_SLOT: they are summed up, or spread.
Slot finiteness_result_slot(const Finiteness *finiteness, const Op *op, int operand, Slot slot);
/// What a product of two holds.
Fact finiteness_product(Fact a, Fact b);
/// The axis, from the last, that a reduction or a scan goes along. False where it goes over all of several, or is not known.
bool reduced_axis(const Op *op, int *axis);

#endif
