// What a kernel's operations demand of its constexprs together: shapes that meet, powers of two, whole quotients.
#ifndef TAD_GPU_RUNNER_CONFIGURE_RELATIONS_H
#define TAD_GPU_RUNNER_CONFIGURE_RELATIONS_H

#include "gpu-runner/configure/plan.h"

typedef struct Relations Relations;

/// The demands in `function` (symbolic constexprs).
const Relations *relations_of(Arena *arena, const Function *function);

/// Other values for integer constexprs, so that more of the demands hold; those in `fixed` that are decided stay. False where nothing
/// was changed.
bool relations_repair(Arena *arena, const Relations *relations, const PlanConfiguration *fixed,
                      PlanConfiguration *configuration);

#endif
