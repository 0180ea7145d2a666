// Inside gpu-runner/verdict/: one configuration, run and compared.
#ifndef TAD_GPU_RUNNER_VERDICT_CONFIGURATION_CHECK_H
#define TAD_GPU_RUNNER_VERDICT_CONFIGURATION_CHECK_H

#include "gpu-runner/verdict/gradcheck_run.h"

/// Checks a configuration, with other contents, lengths, rows and grids where those that were made up do not fit, and takes the result.
/// A bug of ours in one configuration is no reason to lose the others: it is noted as discarded.
void configuration_check(Gradcheck *check, PlanConfiguration *configuration);
/// About how many steps its forward takes, by the programs at the corners of its grid; 0 where that is not known.
int64_t configuration_cost(Gradcheck *check, const PlanConfiguration *configuration);

#endif
