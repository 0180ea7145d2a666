// What operations and kernels move and compute, in words. Private to features/.
#ifndef TAD_FEATURES_DESCRIBE_DESCRIBE_COST_H
#define TAD_FEATURES_DESCRIBE_DESCRIBE_COST_H

#include "analysis/cost/card.h"
#include "analysis/cost/cost_instances.h"
#include "features/features.h"
#include "features/names/locate.h"

/// The cost of a kernel under all of its configurations and launches; where there is none, under no numbers.
typedef struct KernelCosts {
    KernelCost *cost;
    CostInstances instances;
    CostNumbers **numbers;  // by instance; one without numbers where there is no instance
    int count;
} KernelCosts;

/// `tuned`: the kernel whose configurations this one is launched in, or NULL for its own. `tells_shared` as in kernel_cost.
KernelCosts kernel_costs(Arena *arena, const Kernel *kernel, const Kernel *tuned,
                         bool tells_shared);
/// "16 KiB", "8 to 32 KiB", "4*BLOCK bytes"; NULL where it is not known.
const char *bytes_label(Arena *arena, const KernelCosts *costs, const Poly *bytes);
/// The same of operations: "2.1 MFLOP".
const char *operations_label(Arena *arena, const KernelCosts *costs, const Poly *operations);
/// "coalesced", "gathered"; NULL for one element.
const char *lanes_label(Arena *arena, const KernelCosts *costs, const CostLine *line);
/// "up to 16 KiB an iteration, coalesced"; NULL where there is nothing to tell.
const char *cost_line_label(Arena *arena, const KernelCosts *costs, const CostLine *line);
/// What a program takes of the card under the numbers of an instance, or of none.
CostFootprint footprint_report(Arena *arena, const Kernel *kernel, const CostInstance *instance,
                               const Card *card);
/// A paragraph for a hover over the load, store, atomic or dot that is written at `place`; nothing where there is none.
void describe_cost(Buffer *out, FileNames *names, const Kernel *kernel, Range place);

#endif
