// Which kernels of a file are backwards that were emitted into it: told by their names.
#ifndef TAD_AUTODIFF_EMIT_EMITTED_H
#define TAD_AUTODIFF_EMIT_EMITTED_H

#include "analysis/snapshot.h"

/// Whether `name` is one that a kernel of the backward of `forward` gets: `forward_backward`, `forward_backward_dW_dB`.
bool name_is_backward_of(Str name, Str forward);
/// The forward kernel of the file that `backward` is of, by its name; NULL where there is none.
const Kernel *kernel_of_backward(const Snapshot *snapshot, const Kernel *backward);

#endif
