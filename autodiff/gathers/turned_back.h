// Inside autodiff/: a gradient of elements that other programs' numbers shift, stored by whoever has an element's own number.
#ifndef TAD_AUTODIFF_GATHERS_TURNED_BACK_H
#define TAD_AUTODIFF_GATHERS_TURNED_BACK_H

#include "autodiff/gathers/whole_store.h"

/// A program may read what lies at `program + shift`, where other numbers decide the shift (access_unshifted). Its gradient is stored there, and
/// set to 0 before, for some elements have no reader. So here is another store: the program whose number an element has stores what
/// the reader `program - shift` would have, and 0 where that is none of the launch, or does not read it. Elements
/// beyond the numbers of the launch are stored by who reads them. NULLs where there is no such gradient. Once it is stored plainly.
WholeStore gradient_find_turned_back(Differentiation *state);

#endif
