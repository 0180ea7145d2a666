// The Philox 4x32 and 4x64 counter-based generators (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
#ifndef TAD_GPU_RUNNER_INTERP_PHILOX_H
#define TAD_GPU_RUNNER_INTERP_PHILOX_H

#include <stdint.h>

#endif
