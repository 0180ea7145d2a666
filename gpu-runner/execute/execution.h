// Runs a problem's kernels on fresh memory: the forward alone, or the forward and then its backward kernels.
#ifndef TAD_GPU_RUNNER_EXECUTE_EXECUTION_H
#define TAD_GPU_RUNNER_EXECUTE_EXECUTION_H

#include "gpu-runner/configure/problem.h"

/// What the executions of one problem share.
typedef struct Executor {
    const Problem *problem;
    Interp *interp;
    Map excluded;  // (output, offset) -> marker: elements that are not finite, left out of the loss
    bool has_excluded;
    bool has_nan;                // or +inf that no mask of the kernel's says
    const char *excluded_names;  // of all outputs that have some, ", " between; or NULL
    int excluded_parameter;      // of the first of them
    int64_t excluded_offset;
    bool rounds_contents;  // tensors hold numbers of their types at first
    const VirtualMemory *
        footprint;  // what the forward touches, where perturbed ones run on the GPU (Problem.cuda); or NULL
    const struct Execution *
        traced;  // a forward and backward whose programs do not meet: others run on the GPU, too; or NULL
    const struct Execution *
        forward;  // the unmoved forward of `forward_of`, once it ran in memory that yields no zeros: others begin with a copy; or NULL
    const PlanConfiguration *forward_of;
    bool interprets_tangents;  // they do not run on the GPU, whatever else does
    bool in_order;             // on the GPU one program runs after the other: some meet
    bool zeros_yield;          // as memory's
    bool keeps_layouts;  // upstream gradients lie in memory as the outputs do (upstream_outgrows)
    bool adds_whole;     // one program has all of a gradient's sum: it is not in parts
    Arena *keeps_in;     // executions live here; NULL: each in an arena of its own
} Executor;

/// What a forward is moved by.
typedef struct Perturbation {
    const bool *active;  // per input, NULL: none
    uint64_t seed;       // of the random direction
    bool is_single;      // only element `single` of the active input
    int64_t single;
    double step;
    bool is_tangent;  // the direction is what the dual numbers follow
} Perturbation;

/// Memory and what lies in it, after kernels ran.
typedef struct Execution {
    Arena *arena;
    VirtualMemory *memory;
    MemoryBuffer **buffers;    // per parameter of the forward, NULL for scalars
    MemoryBuffer **gradients;  // the same, made when a backward kernel asks for it
    MemoryBuffer **parts;      // the same, of gradients in parts: all of their sums
    MemoryBuffer **upstreams;
    MemoryBuffer **laid_out;  // upstream gradients in layouts of their own
    MemoryBuffer **befores;
    MemoryBuffer **amids;
    LIST(MemoryBuffer *) scratch;
    int64_t *steps;         // per launch of the backward: elements computed
    Error error;            // why it stopped early, or NULL
    const char *misplaced;  // a sum that is stored where nobody adds it up, one sentence; or NULL
} Execution;

/// The interpreter's tiles are in `arena`.
Executor executor_new(Arena *arena, const Problem *problem);
/// Buffers with their first contents; nothing has run.
Execution execution_new(const Executor *executor, const Perturbation *perturbation);
/// The forward's arguments, for interp_launch or interp_begin.
Tile **execution_arguments(Executor *executor, Execution *execution,
                           const Perturbation *perturbation);
/// Where the unmoved forward ran before (`executor->forward`) its memory is copied, and its steps are paid for again.
Execution execution_forward(Executor *executor, const Perturbation *perturbation);
/// The forward as it is, on the GPU of this process; where it cannot run there, in the interpreter. Buffers say how large they are.
Execution execution_on_gpu(Executor *executor, CudaUse *use);
/// Compiles what `run` is followed by on the GPU, kernels beside each other: the forward with its numbers in `count` ways, and the backward's
/// kernels with theirs in one (NULL: not those). `run`: what the interpreter had of the same.
void execution_prepare(Executor *executor, Execution *run, const StagedNumbers *forwards, int count,
                       const StagedNumbers *backwards);
/// Forward, then the backward kernels in order, each with its programs from first to last or `reversed`. `perturbation` moves
/// the buffers; NULL: nothing does. With `executor->traced` they run on the GPU, whose memory knows nothing of who wrote it.
Execution execution_backward(Executor *executor, bool reversed, const Perturbation *perturbation);
/// The forward, and the backward kernels before the launch `index`, in the interpreter. What they find of memory is dropped.
Execution execution_before(Executor *executor, int index);
/// The arguments of the backward's launch `index`; buffers that it needs are made.
Tile **execution_actuals(Executor *executor, Execution *execution, int index);
/// The buffer of a gradient, made where it is not there yet.
MemoryBuffer *gradient_buffer(const Problem *problem, Execution *run, const Actual *actual);
void execution_free(Execution *execution);

/// How a parameter of the forward is moved.
Direction perturbation_direction(const Problem *problem, const Perturbation *perturbation,
                                 int parameter);
/// What the loss weighs an output with; of the content `upstream_content` and 0 where the element is left out.
Content upstream_content(const Problem *problem, int parameter);
double upstream_at(const Executor *executor, const Content *content, int parameter, int64_t offset);
/// Leaves outputs that are not finite out of the loss; how many of how many.
void executor_exclude_infinite(Executor *executor, Execution *forward, int64_t *excluded,
                               int64_t *all);

#endif
