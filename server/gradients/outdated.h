// Whether a kernel that changed beside the module with its backward, or in it, has another backward by that.
#ifndef TAD_SERVER_GRADIENTS_OUTDATED_H
#define TAD_SERVER_GRADIENTS_OUTDATED_H

#include "server/gradients/written.h"

/// The other of the two files that hold the forward kernel: the module beside the file, or the file of a module. Its name is NULL where there
/// is none. On any queue.
Neighbour outdated_neighbour(Request *request, const Snapshot *snapshot, const Kernel *kernel);
/// The two texts as one number.
uint64_t outdated_hash(const Snapshot *snapshot, const Kernel *kernel, const Neighbour *other);
/// Whether both have the same backward, apart from lines that comments name, and the same parameters. Derives both: on a slow queue.
bool outdated_is_same(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                      const Neighbour *other);

#endif
