// Proofs that rest on a derivative by hand, once more with numbers far from 0: its formula may be another one there.
#ifndef TAD_GPU_RUNNER_VERDICT_WIDE_H
#define TAD_GPU_RUNNER_VERDICT_WIDE_H

#include "gpu-runner/verdict/own_report.h"

/// Where the gradients of the cheapest run differ with larger numbers: a sentence, else NULL. What is not finite there, or
/// too dear, says nothing. The clock of the reader's budget holds, its steps are its own.
const char *wide_doubt(const ProblemReader *reader, const ProvedRuns *runs);

#endif
