// Inside autodiff/: fewer statements that add to a gradient.
#ifndef TAD_AUTODIFF_SCHEDULE_SINK_H
#define TAD_AUTODIFF_SCHEDULE_SINK_H

#include "autodiff/state/differentiation.h"

/// Of two accumulations in consecutive loops of equal bounds that hit the same elements, the earlier one moves into the later
/// loop, where pure operations and loads of memory that nothing writes suffice to recompute what it adds. `op` of an
/// accumulation that is gone is NULL.
void accumulations_sink(Differentiation *state);
/// Where both branches of a condition add to the same elements, masks aside, one addition behind them does, of what the branch
/// chose.
void accumulations_join(Differentiation *state);

#endif
