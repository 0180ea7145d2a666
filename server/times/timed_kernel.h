// What a worker is asked to time: a forward kernel beside its backward, or alone, at each size that the file says.
#ifndef TAD_SERVER_TIMES_TIMED_KERNEL_H
#define TAD_SERVER_TIMES_TIMED_KERNEL_H

#include "server/proofs/proof.h"
#include "server/proofs/timing.h"

/// Lines of the text that is timed, which are those of the user's file from `own` on. All counted from 1.
typedef struct TimedLines {
    int first, count, own;
} TimedLines;

typedef struct TimedKernel {
    const char *name;
    const char *module;       // text with the kernels that are timed
    const char *no_backward;  // why the forward is alone; NULL: it is not
    Json **params;            // one for each `# tad time:` line; one where there is none
    int count;
    const char *path;     // of the user's file
    const char *comment;  // above the kernel
    LIST(TimedLines) lines;
} TimedKernel;

/// Free of the snapshot, in `arena`. `seed`: of the tensors' contents.
TimedKernel timed_kernel(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                         const ProofFile *file, int seed, double max_seconds);
/// The same of a backward that stands in the snapshot's file: `backward` launches its kernels (pair_settle).
TimedKernel timed_pair(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const Backward *backward, const ProofFile *file, int seed,
                       double max_seconds);
/// Fills `lines` of a kernel that has its `module`.
void timed_kernel_lines(Arena *arena, const Snapshot *snapshot, TimedKernel *timed);
/// Of a row of a result's `lines`: "6 instructions: loads 2, constants 1".
const char *timed_line_text(Arena *arena, const Json *row);
/// A result whose kernels' `lines` name lines of the user's file, where these are its own; each has its "text". Others, of the backward, have "is_derived".
Json *timed_kernel_result(Arena *arena, const TimedKernel *kernel, const Json *result);
/// A problem that names a place of the user's file where it named one of the text that was compiled. `*line`: of the file, or 0.
const char *timed_kernel_problem(Arena *arena, const TimedKernel *kernel, const char *problem,
                                 int *line);

#endif
