// The configurations and launches whose numbers a kernel's cost is told for.
#ifndef TAD_ANALYSIS_COST_COST_INSTANCES_H
#define TAD_ANALYSIS_COST_COST_INSTANCES_H

#include "analysis/lowering/kernel.h"

typedef struct CostInstance {
    const char *name;  // "configuration 2", "the launch in run"
    Range range;
    const Constant *const *values;  // by parameter; NULL: open
} CostInstance;

typedef struct CostInstances {
    LIST(CostInstance) list;
} CostInstances;

/// In the order of the file, each set of numbers once.
CostInstances cost_instances(Arena *arena, const Kernel *kernel);

#endif
