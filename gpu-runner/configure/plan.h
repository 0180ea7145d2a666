// What to run a kernel with: a value per argument and a grid. Made by spec*.c, run by execution.c.
#ifndef TAD_GPU_RUNNER_CONFIGURE_PLAN_H
#define TAD_GPU_RUNNER_CONFIGURE_PLAN_H

#include "analysis/lowering/lower.h"
#include "gpu-runner/interp/interp.h"

typedef enum PlanArgumentKind {
    ARGUMENT_OPEN,     // nothing decided yet
    ARGUMENT_POINTER,  // a buffer
    ARGUMENT_INTEGER,
    ARGUMENT_FLOAT,
    ARGUMENT_CONSTANT,  // a constexpr, or None
} PlanArgumentKind;

typedef struct PlanArgument {
    Str name;
    PlanArgumentKind kind;
    DTypeCode dtype;    // of the elements, or of the scalar
    bool is_type_open;  // neither the kernel nor its launcher says the elements' type: any float
    int64_t integer;
    double number;
    const Constant *constant;
    Content content;
    int rank;  // of a buffer with known shape, else 0
    int64_t dims[TYPE_MAX_RANK];
    int64_t strides
        [TYPE_MAX_RANK];  // elements; of a buffer without known shape: those its address uses, largest first
    int stride_count;
    bool is_dense;   // a tensor whose rows follow each other without gaps, as far as is known
    int64_t extent;  // elements, 0: not known
    bool has_start;  // it is known what lies in front of the pointer:
    int64_t before;  // so many elements of the tensor that it points into
    int block_rank;  // of a tensor descriptor, else 0
    int64_t block[TYPE_MAX_RANK];
    bool has_known_content;  // the launcher fills it
    bool
        is_caller_choice;  // a scalar that the launcher is given, and computes from no tensor's sizes
    /// Of a launch: the one tensor of the caller's whose sizes decide the number, or how large the buffer is; NULL: none does.
    const void *source;
    int64_t
        written;  // the block that the launch has for a constexpr as it is written; 0: none that is known
    bool has_sources;  // several do, or nobody says
    bool
        has_guessed_rank;  // a launcher asks the tensor for its strides and does not tell how many there are
} PlanArgument;

/// Where a configuration comes from, the most trustworthy first.
typedef enum SpecOrigin { SPEC_COMMENT, SPEC_PYPROJECT, SPEC_LAUNCHER, SPEC_KERNEL } SpecOrigin;

typedef struct PlanConfiguration {
    PlanArgument *arguments;  // one per parameter of the kernel
    int argument_count;
    int64_t grid[3];
    bool grid_is_known;
    int warps, stages;  // of the launch; 0: it does not say
    SpecOrigin origin;
    bool is_fallback;    // to be tried only when nothing else runs
    bool fills_zero;     // masked-off loads without `other` read 0
    bool is_transposed;  // its made-up strides rise where those of a dense tensor fall
    bool
        is_divisible;  // its sizes have whole halves, thirds and quarters: counts beside an odd one
    bool is_extra;     // for cases that others may not have: not at any cost
    bool is_empty;     // its loops, if sizes say how far they go, have no iteration
    bool is_guess;     // not the user's word: trouble in the forward means a bad configuration
    bool
        is_launch;  // its numbers are what the launcher passes, all from the sizes of one tensor of its caller
    const void *site;  // the launch in the file that it is made from, or NULL
    bool is_passed;    // its numbers are what the launcher passes, from whatever sizes
    bool
        fits_object;  // some number and some tensor come out of one object (`ctx.n`, `ctx.saved_tensors`): sizes that it was made with, no choice
    const void *grid_source[PROGRAM_AXES];  // per axis, as of an argument
    bool has_grid_sources[PROGRAM_AXES];
} PlanConfiguration;

typedef LIST(PlanConfiguration) Configurations;

/// The line that reproduces it: `# tad: M=128, X=f32[M, N], grid=(4,)`.
const char *configuration_print(Arena *arena, const PlanConfiguration *configuration);
/// What a list says of parts of rows, as a `# tad:` line does: `starts` in `parts(starts)`.
const char *part_list_name(PartList list);
bool part_list_named(Str name, PartList *list);
/// As Python writes it.
void constant_print(Buffer *text, const Constant *constant);
/// "comment", "pyproject", "launcher" or "kernel", as the protocol says it.
const char *spec_origin_name(SpecOrigin origin);
/// A copy with room for `more` arguments.
PlanConfiguration configuration_copy(Arena *arena, const PlanConfiguration *configuration,
                                     int more);
/// Other contents of the float buffers, where these are plain data: uniform in [low, high).
void configuration_set_contents(PlanConfiguration *configuration, double low, double high);
/// Whether a launch says by a number of its own, and by no size, how many programs there are along some axis with several.
bool configuration_has_literal_grid(const PlanConfiguration *configuration);
/// Bindings for lowering: constants, None, and the types of the rest.
Binding *configuration_bindings(Arena *arena, const PlanConfiguration *configuration, int *count);
/// a * b, at most 2^56 away from 0: no memory has so much, and eight of them can be added.
int64_t size_product(int64_t a, int64_t b);
/// A buffer of a given shape: dense row-major strides and the extent that follow.
void argument_set_shape(PlanArgument *argument, int rank, const int64_t *dims);

#endif
