// Inside gpu-runner/verdict/: what one configuration showed, put to what others did.
#ifndef TAD_GPU_RUNNER_VERDICT_VERDICT_TAKE_H
#define TAD_GPU_RUNNER_VERDICT_VERDICT_TAKE_H

#include "gpu-runner/verdict/gradcheck_run.h"

/// Why a configuration is lost.
#define TOO_MANY_STEPS "it takes more steps than a proof may"

/// Notes that a configuration says nothing, and why.
void verdict_discard(Gradcheck *check, const PlanConfiguration *configuration, const char *reason);
/// The same, where what it would have shown counts: with more programs than are proved it leaves the proof open.
void verdict_lose(Gradcheck *check, const PlanConfiguration *configuration, const char *reason,
                  const CheckResult *result);
/// Failed beats unproved beats proved; what is invalid says nothing about the gradient, and what the clock ended is nothing.
void verdict_take(Gradcheck *check, const PlanConfiguration *configuration, const Problem *problem,
                  const CheckResult *result);
/// Why what was proved is no proof of the kernel: programs meet in what its launches do beyond it. `*crossing`: where, or NULL. NULL: it is one.
const char *verdict_lost_words(const Gradcheck *check, const MemoryFinding **crossing);

#endif
