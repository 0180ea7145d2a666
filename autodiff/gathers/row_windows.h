// Windows along rows that begin at every few elements, by programs that each have a block of a row's windows.
#ifndef TAD_AUTODIFF_GATHERS_ROW_WINDOWS_H
#define TAD_AUTODIFF_GATHERS_ROW_WINDOWS_H

#include "autodiff/state/differentiation.h"

/// From an addition in loops over taps, at `row + window * step + tap`, to one for each element of the row, in a loop over elements that the
/// programs of the row share out: each element asks the windows that have it. The new addition; the loops of the old one are still there.
/// No two programs share an element: the Function looks at each call whether rows lie on each other. NULL where the kernel does something
/// else, or where nothing ends the windows.
Op *row_windows_gather(Differentiation *state, const Accumulation *statement);

#endif
