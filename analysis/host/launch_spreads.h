// How many strides `*x.stride()` gives in a launch, where nobody says how many dimensions the tensor has.
#ifndef TAD_ANALYSIS_HOST_LAUNCH_SPREADS_H
#define TAD_ANALYSIS_HOST_LAUNCH_SPREADS_H

#include "analysis/host_values/host.h"

/// Gives the tensors of `call->spreads` so many dimensions that the `missing` parameters of the kernel get something. Parameters of one
/// tensor are called alike; where their names say nothing, each tensor has as many. Does nothing where ranks are still being found.
void host_fit_spreads(Host *host, const HostCall *call, int missing);

#endif
