// What a worker is asked to time: a forward kernel beside its backward, or alone, at each size that the file says.
#ifndef TAD_SERVER_TIMES_TIMED_KERNEL_H
#define TAD_SERVER_TIMES_TIMED_KERNEL_H

#include "server/proofs/proof.h"
#include "server/proofs/timing.h"

typedef struct TimedKernel {
    const char *name;
    const char *module;       // text with the kernels that are timed
    const char *no_backward;  // why the forward is alone; NULL: it is not
    Json **params;            // one for each `# tad time:` line; one where there is none
    int count;
} TimedKernel;

/// Free of the snapshot, in `arena`. `seed`: of the tensors' contents.
TimedKernel timed_kernel(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                         const ProofFile *file, int seed, double max_seconds);

#endif
