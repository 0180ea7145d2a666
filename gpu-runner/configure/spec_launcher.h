// Configurations from the launchers of a module: host code evaluated symbolically (analysis/host/launch.h), small sizes chosen.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_LAUNCHER_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_LAUNCHER_H

#include "gpu-runner/configure/spec.h"

/// spec_launcher.c: what the launchers in the module pass; `is_even`: for tensors whose sizes are powers of two, as a last resort.
Configurations spec_from_launchers(Arena *arena, const SpecRequest *request, bool is_even);

#endif
