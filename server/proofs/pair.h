// A backward that stands in a file, edited or not, beside the forward that it belongs to.
#ifndef TAD_SERVER_PROOFS_PAIR_H
#define TAD_SERVER_PROOFS_PAIR_H

#include "autodiff/backward.h"

/// Whether the file has a kernel of the name of each kernel of the derived backward, and one that takes a gradient of it: by its name, or
/// by what is passed for it. Kernels that share names alone are the author's own. `forward`: the snapshot that `backward` was derived in.
bool pair_is_written(const Snapshot *snapshot, const Snapshot *forward, Backward *backward);
/// Takes the kernels as the file has them: `backward`, derived for the forward, is rewritten to launch those, with the parameters that
/// they have now. A parameter means what the derived one of its name means; where there is none, what the derived one means
/// that gets the same argument in the Function (`dout=_with_stride(dy, ...)`). A gradient that no kernel of the file takes is no
/// input any more, and `is_partial` is set. Returns NULL, or one sentence about a parameter whose meaning nobody knows, at `*place`.
/// Requires pair_is_written. Allocates in `arena`.
/// `forward`: the snapshot that `backward` was derived in, which may be that of another file.
const char *pair_settle(Arena *arena, const Snapshot *snapshot, const Snapshot *forward,
                        Backward *backward, Range *place);

/// Why a module is not proved whose launches are in the file `name`, and what helps. `origin`: that file, which has another
/// kernel of this name; or NULL: it is not beside the module.
const char *pair_without_origin(Arena *arena, const char *name, const Snapshot *origin);

#endif
