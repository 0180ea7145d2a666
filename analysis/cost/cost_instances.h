// The configurations and launches whose numbers a kernel's cost is told for.
#ifndef TAD_ANALYSIS_COST_COST_INSTANCES_H
#define TAD_ANALYSIS_COST_COST_INSTANCES_H

#include "analysis/cost/footprint.h"
#include "analysis/lowering/kernel.h"

typedef struct CostInstance {
    const char *name;  // "configuration 2", "the launch in run"
    Range range;
    bool is_configuration;          // else a launch
    const Constant *const *values;  // by parameter; NULL: open
    int warps, stages;              // 0: not said; -1: not known
} CostInstance;

typedef struct CostInstances {
    LIST(CostInstance) list;
} CostInstances;

/// In the order of the file, each set of numbers once.
CostInstances cost_instances(Arena *arena, const Kernel *kernel);
/// The same of a kernel that is launched with what another was tuned to: values of constexprs of one name, with its warps and stages.
CostInstances cost_instances_as(Arena *arena, const Kernel *kernel, const Kernel *tuned);

/// How the instance is launched, or what Triton does unasked where there is none. Warps of -1: not known.
FootprintOptions cost_options(const CostInstance *instance, int capability);
/// What a program of the kernel takes with these numbers, or with none; not known where that leaves tiles open.
Footprint cost_footprint(Arena *arena, const Kernel *kernel, const CostInstance *instance,
                         FootprintOptions options);

#endif
