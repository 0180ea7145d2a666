// Texts of a request's launches, each made once.
#ifndef TAD_GPU_RUNNER_STAGING_TEXTS_H
#define TAD_GPU_RUNNER_STAGING_TEXTS_H

#include "gpu-runner/staging/lower.h"

typedef struct LoweredTexts {
    Map known;  // by what a text hangs on
} LoweredTexts;

/// In `arena`, for as long as the functions of its launches live.
LoweredTexts *lowered_texts_new(Arena *arena);
/// As lower_function, whose text lives as long as `texts` where it is not NULL.
Error lower_known(LoweredTexts *texts, Arena *arena, const Function *function,
                  Tile *const *arguments, StagedNumbers options, Lowered *lowered);

#endif
