// A launch that was reached: its arguments and its grid.
#ifndef TAD_ANALYSIS_HOST_LAUNCH_BIND_H
#define TAD_ANALYSIS_HOST_LAUNCH_BIND_H

#include "analysis/host_values/host.h"

/// Binds the arguments and the grid of `host->site`, whose call stands in `frame`.
void host_bind_launch(Host *host, HostFrame *frame);
/// Whether a keyword of a launch, or a key of a configuration, is an option of a compiler behind Triton (launch_options.def).
bool launch_option_is_known(Str name);

#endif
