// Conditions on the way to a launch: changes the chosen inputs until they hold. A local search over the inputs that a violated
// condition mentions; small, because launchers ask for little: a divisor, a power of two, an upper bound, a flag.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_SOLVE_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_SOLVE_H

#include "analysis/host_values/host.h"

// host_solve.c
void host_require(Host *host, const HostValue *condition, bool want, int weight);
/// Changes the inputs so that more conditions hold. Returns whether anything was changed.
bool host_solve(Host *host);
bool host_constraints_hold(const Host *host);
/// Where the launch has very many programs: makes sizes small that only count programs of the grid, each one by itself (heads, chunks,
/// batches), and what conditions tie to them. No block walks them, so that few show as much as many. Returns whether any was changed.
bool host_count_less(Host *host);

#endif
