// From the text of launches to the few whole numbers that they pass for a constexpr.
#ifndef TAD_ANALYSIS_LAUNCHES_LAUNCH_VALUES_H
#define TAD_ANALYSIS_LAUNCHES_LAUNCH_VALUES_H

#include "analysis/host/launch.h"

typedef struct LaunchValues {
    int64_t items[LAUNCH_MOST_VALUES];  // rising
    int count;
} LaunchValues;

/// All that the launches of the kernel's file pass for the parameter, where each is a whole number that is written there, or a choice
/// between such numbers: `stage = 3 if causal else 1`. None where one launch passes something else, or nobody launches the kernel.
LaunchValues launches_values(const Function *function, int parameter);
/// The same, where True counts as 1 and False as 0.
LaunchValues launches_flags(const Function *function, int parameter);

#endif
