// What is to be proved: a forward, a configuration to run it in, and the backward kernels that follow.
#ifndef TAD_GPU_RUNNER_CONFIGURE_PROBLEM_H
#define TAD_GPU_RUNNER_CONFIGURE_PROBLEM_H

#include "gpu-runner/configure/plan.h"
#include "gpu-runner/cuda/launch.h"

/// Where an argument of a backward kernel comes from.
typedef enum ActualKind {
    ACTUAL_SAME,      // the forward's argument
    ACTUAL_UPSTREAM,  // the gradient of an output
    ACTUAL_GRADIENT,  // the gradient buffer of an input, zero at first
    ACTUAL_RUNNING,  // the gradient of a buffer updated in place: upstream at first, the input's at the end
    ACTUAL_KEPT,  // a copy of the upstream gradient, at the end the gradient of what was there before
    ACTUAL_BEFORE,   // the forward's argument as it was before the forward ran
    ACTUAL_AMID,     // another such copy, in which the backward repeats stores of the forward
    ACTUAL_SCRATCH,  // memory of `extent` elements, shared by name; nobody wrote to it before
    ACTUAL_NUMBER,   // a whole number at run time
    ACTUAL_CONSTANT,
    ACTUAL_PROGRAMS,  // programs of the forward's grid along an axis
    ACTUAL_SLICES,  // a whole number at run time: programs that share sums; 1 where gradients are not in parts
    ACTUAL_PART_STRIDE,  // elements from one sum of a gradient in parts to the next
} ActualKind;

/// Elements `step * i` for i from 0 to below `length`.
typedef struct StoredRange {
    int64_t step, length;
} StoredRange;

/// The sums of one element of each range.
typedef struct StoredRanges {
    StoredRange items[STORED_MOST_DIGITS];
    int count;
} StoredRanges;

typedef struct Actual {
    ActualKind kind;
    int parameter;  // of the forward
    bool
        is_upstream_stride;  // ACTUAL_SAME: the stride along `axis` of the output `upstream`, used for its gradient alone
    int upstream;
    const char *name;
    DTypeCode dtype;
    const Constant *constant;
    int axis;
    bool is_parts;   // ACTUAL_GRADIENT: as many sums as ACTUAL_SLICES says; `stored` is of each
    int64_t extent;  // of scratch; 0: not known
    int64_t number;
    const StoredRanges *
        stored;  // of a gradient: elements that the launch is said to store, which nobody sets to 0; or NULL
    bool is_filled;  // of a gradient: the kernel stores zeros to those of them that have none
} Actual;

/// The upstream gradient of an output in another layout than the output's, for kernels that are given its strides.
typedef struct UpstreamLayout {
    bool is_own;
    int rank;
    int64_t dims[TYPE_MAX_RANK], output[TYPE_MAX_RANK];  // the output's shape and strides
    int64_t strides[TYPE_MAX_RANK];
    int64_t extent;
} UpstreamLayout;

typedef struct GradientLaunch {
    const Function *function;
    const Actual *actuals;  // per parameter of `function`
    const int64_t *grid;    // NULL: the forward's
} GradientLaunch;

/// The backward where of the gradients that may be left out one alone is asked for: the pointers of the others are None. Or where the
/// upstream gradient of one output is None.
typedef struct GradientAlone {
    int parameter;  // of the forward
    const GradientLaunch *launches;
} GradientAlone;

/// Whether a configuration is worth a backward, by what its forward came by.
typedef struct Need {
    /// `steps`: of the forward.
    bool (*is_needed)(void *context, const PlanConfiguration *configuration,
                      const Coverage *coverage, int64_t steps);
    void *context;
} Need;

typedef struct Problem {
    const Function *forward;
    const Function *before;  // what `forward` was rewritten from, and has to compute; or NULL
    const PlanConfiguration *configuration;
    const GradientLaunch *launches;
    int launch_count;
    const GradientAlone *alone;
    int alone_count;
    const GradientAlone *absent;  // per output that may have no upstream gradient
    int absent_count;
    bool is_silent;  // the upstream gradient of the output `silent` is 0
    int silent;
    const struct Problem *
        whole_rows;  // with the launches that take the place of all where a block holds a row; or NULL
    const GradientLaunch *const *tiled;  // all launches once more, with tiles of their own
    int tiled_count;
    const UpstreamLayout *layouts;  // per parameter of the forward
    const int *inputs;              // parameters of the forward: float pointers or float scalars
    int input_count;
    const int *outputs;
    int output_count;
    int saved_count;  // further ones behind the outputs, for the backward alone: nobody has an upstream gradient of them
    uint64_t seed;
    Budget *budget;
    Coverage *coverage;  // filled by the forward; or NULL
    const Need *need;    // or NULL: it is needed
    CudaUse *cuda;       // perturbed forwards are to run on the GPU; or NULL
} Problem;

#endif
