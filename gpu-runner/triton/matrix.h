// The rate of matrix products: a kernel of our own, compiled by the user's Triton.
#ifndef TAD_GPU_RUNNER_TRITON_MATRIX_H
#define TAD_GPU_RUNNER_TRITON_MATRIX_H

#include "gpu-runner/triton/stopwatch.h"

/// Operations a second of a product in half precision, a multiply-add being two; 0: not known. The compiler runs already. As the rate of a copy it is measured once in
/// thirty days, for each release of Triton. Products take some seconds then, most of them compiling.
double matrix_rate(Arena *arena, GpuBuffers *buffers, const char *release, Budget *budget);

#endif
