// Inside autodiff/: a gradient of every second element of a row, with what lies between them.
#ifndef TAD_AUTODIFF_GATHERS_BETWEEN_H
#define TAD_AUTODIFF_GATHERS_BETWEEN_H

#include "autodiff/gathers/whole_store.h"

/// Lanes may read every `STEP`-th element of a row, `x + row * n + lane * STEP`. The gradient of a kernel that does nothing else is stored there
/// alone, by lanes that are apart in memory, and set to 0 before. So here is another store, by which programs go through all elements of a
/// row, under a mask that leaves out those between: where that is all of a tensor, the kernel may store their zeros itself
/// (fills_choose). NULLs where there is no such gradient. Once it is stored plainly.
WholeStore gradient_find_whole_rows(Differentiation *state);

#endif
