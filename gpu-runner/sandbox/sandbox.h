// What a worker may do: compute, and talk over the streams that it was given. Entered by `main` before a request is read and before another
// thread runs; nothing leads out again.
#ifndef TAD_RUNNER_SANDBOX_H
#define TAD_RUNNER_SANDBOX_H

#include "base/error.h"
#include "base/json.h"

/// Whose rules hold: a column of system_calls.def.
typedef enum SandboxBackend {
    SANDBOX_CPU,  // the interpreter
    SANDBOX_GPU,  // a program that drives a GPU: it compiles, loads libraries and writes caches
    SANDBOX_BACKENDS
} SandboxBackend;

/// Empties the environment (CPU only), closes inherited files, sets limits and the filter of system calls. What the kernel lacks is left
/// out. A build with the address or the thread sanitizer does none of it: their runtimes need more.
void sandbox_enter(SandboxBackend backend);
/// {"system_calls", "no_new_privileges", "limits", "environment": bool, "memory_bytes", "lacking"}
Json *sandbox_json(Arena *arena);

/// Whoever ends the parent ends this process, and what it becomes.
void sandbox_follow_parent(void);

/// From now on this process may compute for so many seconds more (of all threads together); then SIGXCPU ends it.
void sandbox_grant_seconds(double seconds);

/// The parts, for `sandbox_enter` and the tests. Each returns false, and sets `*lacking`, where the kernel refuses.
bool sandbox_limit(SandboxBackend backend, Error *lacking);
bool sandbox_filter(SandboxBackend backend, Error *lacking);

#endif
