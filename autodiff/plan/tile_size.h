// How much an emitted kernel that streams works on at once, for the number of threads that it is launched with.
#ifndef TAD_AUTODIFF_PLAN_TILE_SIZE_H
#define TAD_AUTODIFF_PLAN_TILE_SIZE_H

#include "autodiff/state/result.h"

/// Fills `tile` and `loaded` of the launch, whose arguments are in the order of the parameters of `backward`. Where lanes add with atomics to
/// elements at no equal steps, and no loop and no sum waits besides, the tile counts as 8 times as large, and of more than three such additions as 16 times: a thread
/// waits for each of them. Measured in docs/gpu.md.
void tile_size_describe(Arena *arena, const Function *backward, BackwardLaunch *launch);
/// Of lanes that read several elements each, which follow each other: a thread of a large tile has many lanes side by side, so that threads
/// go through memory in large steps. So the tile counts as 16 times as large, and a thread has two lanes. Measured in docs/gpu.md.
void tile_size_read_apart(Arena *arena, BackwardLaunch *launch);

#endif
