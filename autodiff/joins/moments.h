// Running means and squared deviations (Welford), as sums.
#ifndef TAD_AUTODIFF_JOINS_MOMENTS_H
#define TAD_AUTODIFF_JOINS_MOMENTS_H

#include "analysis/ir/ir.h"

/// A loop may carry the mean of all that it has loaded so far, and the sum of the squared distances from it. In whatever spelling: numbers
/// are put into the loop, and what it ends with is compared. Such a loop adds up the elements instead, and one over the same range
/// behind it the squares: what the loop carries is then no longer made of what it carried before. True where there was one.
bool function_sum_moments(Function *function);

#endif
