// Inside autodiff/gathers/: windows of a picture that overlap, as a flat kernel goes through them.
#ifndef TAD_AUTODIFF_GATHERS_WINDOWS_H
#define TAD_AUTODIFF_GATHERS_WINDOWS_H

#include "autodiff/gathers/ordered_places.h"

/// Which digits of the output's number the address has, where windows begin at multiples of a step and overlap:
/// `x[c, oh * S + kh - P, ow * S + kw - P]`. Along each axis of the input one digit, times its step, says where a window begins. What is
/// added to it is few: a digit of its own (`kw`, an unfolded window), the variable of a loop, a number. The former are in `idle`.
/// False where the address is of another form, or a window may reach over the end of a row. `ordering`: its store and its loops over taps.
bool places_find_windows(Ordering *ordering);
/// Where masks keep each element of a window within its axis, what they say of it goes from `terms`. Of axes that they leave open the
/// Function is to check that windows end where a row does (`check`). False where that is not known.
bool windows_take_bounds(Ordering *ordering);
/// The mask, of elements alone that some window has along each axis: of others nobody knows whether the input has them. To be called while the
/// digits are an element's own numbers along each axis.
Value *windows_have(const Ordering *ordering, Builder *b, Value *mask);
/// Where windows begin at multiples of a step: has loops go through the windows of an element, in place of all taps (`turns`), of axes with one
/// tap each whose number nothing that is added depends on. To be called once `terms` are those that stay.
void windows_take_turns(Ordering *ordering);
/// What a loop over taps, or over a digit that is one, goes through in place of these; NULL: the taps.
WindowTurns *windows_turns_of(const Ordering *ordering, const Op *loop, const OrderedPlace *tap);
/// Whether an element is some tap of the window that the loops are at; NULL where the axis is gone through by taps.
Value *windows_have_tap(Builder *b, const OrderedPlace *place);
/// Where a window begins of which an element is the tap that the loops are at: the digits, of the element's numbers along each axis.
void windows_compute_digits(Ordering *ordering, Builder *b, Map *taps);
/// Whether all numbers of the output are those of whole windows.
bool windows_are_whole(const Ordering *ordering);

#endif
