// The Philox 4x32 and 4x64 counter-based generators (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
#ifndef TAD_RUNNER_PHILOX_H
#define TAD_RUNNER_PHILOX_H

#include <stdint.h>

void philox_4x32(uint32_t counter[4], uint32_t key0, uint32_t key1, int rounds);
void philox_4x64(uint64_t counter[4], uint64_t key0, uint64_t key1, int rounds);
/// Triton's conversions of random bits to [0, 1), in float32.
float philox_uniform32(uint32_t bits);
float philox_uniform64(uint64_t bits);

#endif
