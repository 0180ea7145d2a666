// `--check --grad` and `--backward`: derives the backward of every forward kernel, has it proved by worker processes, fills the report's kernels.
#ifndef TAD_SERVER_PROOFS_GRAD_H
#define TAD_SERVER_PROOFS_GRAD_H

#include "analysis/snapshot.h"
#include "server/report/report.h"
#include "server/settings/options.h"
#include "server/settings/settings.h"
#include "server/system/loop.h"
#include "server/text/resolve.h"

typedef struct Grad Grad;

Grad *grad_new(Arena *arena, Loop *loop, Report *report, ImportResolver *resolver,
               const Options *options);
/// From now on a proof also wants the kernel to compute what that of the same name in this text does. The text has to live as long.
void grad_compare(Grad *grad, const char *before);
/// Derives every forward kernel of the snapshot, or only the one named `kernel`, and queues the proofs. Keeps nothing of the
/// snapshot.
void grad_derive(Grad *grad, const Snapshot *snapshot, const Settings *settings,
                 const char *kernel);
/// The same with the kernels whose names stand in [start, end) of the text.
void grad_derive_part(Grad *grad, const Snapshot *snapshot, const Settings *settings,
                      uint32_t start, uint32_t end);
/// Runs the queued proofs, several at a time, to the last one.
void grad_prove(Grad *grad);

#endif
