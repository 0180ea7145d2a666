// What arguments have to be together: constexprs whose shapes meet, lists of integers that are about the same parts of rows.
#ifndef TAD_GPU_RUNNER_CONFIGURE_RELATIONS_H
#define TAD_GPU_RUNNER_CONFIGURE_RELATIONS_H

#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/plan.h"

typedef struct Relations Relations;

/// The demands in `function` (symbolic constexprs).
const Relations *relations_of(Arena *arena, const Function *function);

/// Other values for integer constexprs, so that more of the demands hold; those in `fixed` that are decided stay. False where nothing
/// was changed.
bool relations_repair(Arena *arena, const Relations *relations, const PlanConfiguration *fixed,
                      PlanConfiguration *configuration);

/// Gives all lists of integers whose contents are made up contents that go with each other. False where there are fewer than two,
/// or where they have such contents already.
bool part_lists_set(const ParameterFacts *facts, PlanConfiguration *configuration);
/// Makes no row longer than the size that rows are apart by: made-up lengths end each before the next one begins.
void lengths_fit(const ParameterFacts *facts, PlanConfiguration *configuration);

#endif
