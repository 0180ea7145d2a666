// A kernel in, a number out that changes with the text that its gradient depends on: the kernel's own, that of helpers and
// globals that it reaches by name, here or in imported files, and that of a backward in the same file.
#ifndef TAD_SERVER_GRADIENTS_KERNEL_HASH_H
#define TAD_SERVER_GRADIENTS_KERNEL_HASH_H

#include "server/gradients/gradients.h"

/// The text that the kernel's gradient depends on, as one number. From any thread that holds the snapshot.
uint64_t kernel_hash(const Snapshot *snapshot, const Kernel *kernel);
/// The same without the comment above the kernel, which says sizes.
uint64_t kernel_code_hash(const Snapshot *snapshot, const Kernel *kernel);
/// Whether `text` holds, letter for letter, the kernel and what it reaches by name in its own file. From any thread likewise.
bool kernel_stands_in(const Snapshot *snapshot, const Kernel *kernel, Str text);
/// Whether its gradients are worth a check: understood, a forward, and no backward of another in the file.
bool kernel_has_gradients(const Snapshot *snapshot, const Kernel *kernel);

#endif
