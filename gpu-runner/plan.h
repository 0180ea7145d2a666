// What to run a kernel with: a value per argument and a grid. Made by spec*.c, run by execution.c.
#ifndef TAD_RUNNER_PLAN_H
#define TAD_RUNNER_PLAN_H

#include "analysis/lower.h"
#include "gpu-runner/interp.h"

typedef enum ArgumentKind {
    ARGUMENT_OPEN,     // nothing decided yet
    ARGUMENT_POINTER,  // a buffer
    ARGUMENT_INTEGER,
    ARGUMENT_FLOAT,
    ARGUMENT_CONSTANT,  // a constexpr, or None
} ArgumentKind;

typedef struct Argument {
    Str name;
    ArgumentKind kind;
    DTypeCode dtype;  // of the elements, or of the scalar
    int64_t integer;
    double number;
    const Constant *constant;
    Content content;
    int rank;  // of a buffer with known shape, else 0
    int64_t dims[TYPE_MAX_RANK];
    int64_t strides
        [TYPE_MAX_RANK];  // elements; of a buffer without known shape: those its address uses, largest first
    int stride_count;
    int64_t extent;  // elements, 0: not known
    int block_rank;  // of a tensor descriptor, else 0
    int64_t block[TYPE_MAX_RANK];
    bool
        is_caller_choice;  // a scalar that the launcher is given, and computes from no tensor's sizes
} Argument;

/// Where a configuration comes from, the most trustworthy first.
typedef enum SpecOrigin { SPEC_COMMENT, SPEC_PYPROJECT, SPEC_LAUNCHER, SPEC_KERNEL } SpecOrigin;

typedef struct Configuration {
    Argument *arguments;  // one per parameter of the kernel
    int argument_count;
    int64_t grid[3];
    bool grid_is_known;
    SpecOrigin origin;
    bool is_fallback;  // to be tried only when nothing else runs
    bool is_guess;     // not the user's word: trouble in the forward means a bad configuration
} Configuration;

typedef LIST(Configuration) Configurations;

/// The line that reproduces it: `# tad: M=128, X=f32[M, N], grid=(4,)`.
const char *configuration_print(Arena *arena, const Configuration *configuration);
/// "comment", "pyproject", "launcher" or "kernel", as the protocol says it.
const char *spec_origin_name(SpecOrigin origin);
/// A copy with room for `more` arguments.
Configuration configuration_copy(Arena *arena, const Configuration *configuration, int more);
/// Bindings for lowering: constants, None, and the types of the rest.
Binding *configuration_bindings(Arena *arena, const Configuration *configuration, int *count);
/// A buffer of a given shape: dense row-major strides and the extent that follow.
void argument_set_shape(Argument *argument, int rank, const int64_t *dims);

#endif
