// Tensors that stay on the GPU, whole: for runs of sizes that the interpreter's memory is too slow for. What they hold at first, and
// sums over them, are computed there. A VirtualMemory says what buffers there are; its own pages stay empty.
#ifndef TAD_GPU_RUNNER_CUDA_DENSE_H
#define TAD_GPU_RUNNER_CUDA_DENSE_H

#include "gpu-runner/cuda/launch.h"

typedef struct DenseMemory DenseMemory;

/// Nothing yet; the kernels of these calls are compiled, beside each other. A sentence in `*error` where there is no GPU.
DenseMemory *dense_new(Arena *arena, const CudaCall *calls, int count, Error *error);
/// Gives the GPU's memory back.
void dense_free(DenseMemory *dense);

/// Makes the elements of a buffer (its index in `memory`) what they are at first; those of one that nobody has initialised and that is
/// no output are NaN. The buffer says how large it is.
Error dense_fill(DenseMemory *dense, const VirtualMemory *memory, int buffer);
/// Makes the tangents of a buffer of floats the components of its direction, or 0 where it has none.
Error dense_fill_tangents(DenseMemory *dense, const VirtualMemory *memory, int buffer);
/// Runs a kernel on the buffers of `memory`, all of which are filled. `traced`: a sentence, too, where two programs use an element and
/// one of them writes it, but for atomic updates.
Error dense_launch(DenseMemory *dense, const VirtualMemory *memory, const CudaCall *call,
                   bool traced);

/// Keeps, for the sums below, which elements of a buffer the latest traced launch read or wrote.
Error dense_mark(DenseMemory *dense, int buffer);
/// Sets those to 0 that were marked as read and not as written of `marked`, another buffer of the same size.
Error dense_clear_read(DenseMemory *dense, int buffer, int marked);

typedef struct DenseSum {
    double sum, size, square;  // of the terms, their sizes and their squares
    double largest;            // element's size
    double beyond;             // the same of elements that are not marked
    int64_t infinite;          // elements that are not finite
    int64_t written;           // elements marked as written
} DenseSum;

/// What is summed: weight * element over the elements that are marked as read or written in `marked`.
typedef struct DenseTerms {
    int buffer, marked;          // an index as `buffer`; -1: over all
    bool written_only;           // over elements marked as written
    bool of_tangents;            // the tangents of the buffer's elements
    const Content *content;      // its numbers are the weights; NULL:
    const Direction *direction;  // its components are
} DenseTerms;

Error dense_sum(DenseMemory *dense, const VirtualMemory *memory, const DenseTerms *terms,
                DenseSum *sum);

#endif
