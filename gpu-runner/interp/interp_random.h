// Random numbers, bit for bit as Triton's: Philox, its conversion to uniform floats, Box-Muller in float32.
#ifndef TAD_GPU_RUNNER_INTERP_INTERP_RANDOM_H
#define TAD_GPU_RUNNER_INTERP_INTERP_RANDOM_H

#include "gpu-runner/interp/philox.h"

void philox_4x32(uint32_t counter[4], uint32_t key0, uint32_t key1, int rounds);
void philox_4x64(uint64_t counter[4], uint64_t key0, uint64_t key1, int rounds);
/// Triton's conversions of random bits to [0, 1), in float32.
float philox_uniform32(uint32_t bits);
float philox_uniform64(uint64_t bits);

#endif
