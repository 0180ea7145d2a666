// A proved backward once more, in the element types of the launch: how far its gradients then are from those in fp64, measured
// in what the forward's own rounding makes of its derivative.
#ifndef TAD_GPU_RUNNER_PROVE_OWN_TYPES_H
#define TAD_GPU_RUNNER_PROVE_OWN_TYPES_H

#include "gpu-runner/configure/problem.h"

/// A gradient this many times as far off as the forward's rounding explains is a finding.
#define OWN_TYPES_MOST 2.0

typedef struct OwnTypes {
    const char *obstacle;  // why there is no measure, or NULL
    int parameter;         // of the forward: whose gradient is furthest off
    double times;          // how many times what is explained; INFINITY: it is not finite
    double error;          // its distance relative to the gradient's norm
    int64_t steps;
    // Where `times` is above OWN_TYPES_MOST: the operation that rounds most of it away, as far as that is known.
    const Op *op;
    const char *kernel;
    double times_without;  // with every rounding but this one
} OwnTypes;

/// `problem` is one that was proved, whose backward took so many steps. Results live in `arena`.
OwnTypes own_types_measure(Arena *arena, const Problem *problem, int64_t steps);
/// Whether something of forward or backward has fewer bits than float32, dots of float32 in TF32 included.
bool own_types_are_narrow(const Problem *problem);
/// "the cast to bfloat16", "the dot in tf32".
const char *own_types_rounding(Arena *arena, const Op *op);

#endif
