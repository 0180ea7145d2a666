// How often a loop runs, where that is used behind it.
#ifndef TAD_AUTODIFF_REWRITE_TRIPS_H
#define TAD_AUTODIFF_REWRITE_TRIPS_H

#include "analysis/build/build.h"

/// The iterations that a `for` loop has had. The formula of its bounds is below 0 for some loops that do not run at all
/// (`range(blocks - 1)`, `range(start, end)`): they have had none.
Value *build_iterations_run(Builder *builder, const Op *loop);

#endif
