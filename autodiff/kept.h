// Backwards of a snapshot's kernels that are kept with it, so that whoever asks about one text shares one derivation.
#ifndef TAD_AUTODIFF_KEPT_H
#define TAD_AUTODIFF_KEPT_H

#include "autodiff/backward.h"

/// backward_derive without other options than the wrapper: derived by the first who asks, and kept as long as the snapshot. The
/// result is the caller's own, in `arena`. A snapshot keeps some MiB of results; beyond, and where a helper's derivative is given by
/// hand, each who asks derives. What is interrupted is not kept. Threads that ask at once may both derive.
Backward *backward_kept(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        WrapperKind wrapper, Diagnostics *diagnostics);

#endif
