// What host code comes to: values, tensors, inputs, and the launch that they end in.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_LAUNCH_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_LAUNCH_H

#include "analysis/addresses/axis.h"
#include "analysis/module/module.h"

typedef struct HostValue HostValue;

/// What an input from outside turned out to be, by its annotation, its default and the ways it is used.
typedef enum HostInputKind {
    INPUT_UNDECIDED,
    INPUT_TENSOR,
    INPUT_INT,
    INPUT_FLOAT,
    INPUT_BOOL,
    INPUT_STRING,
    INPUT_NONE,  // an optional argument, absent in this choice
    INPUT_DTYPE,
    INPUT_OBJECT,  // self, ctx, a module: only its attributes matter
} HostInputKind;

/// Something the host code gets from outside: an argument of the launcher, an attribute (`self.eps`), the result of a call
/// that is not understood. The choice of concrete values lives here.
typedef struct HostInput {
    const char *name;  // "x", "self.weight", "ctx.saved_tensors[0]", "plan(...)"
    bool
        is_argument;  // of the launcher; otherwise made up because the host code is not understood there
    int argument;  // its position when it is one
    HostInputKind kind;
    bool
        is_guess;  // only an operator beside a number has decided on it: what else it is asked has the last word
    bool is_optional;               // None is possible: compared with None, or the default
    HostInputKind kind_when_given;  // of an optional one that is absent in this choice
    int rank;                       // of a tensor
    bool is_rank_certain;  // the host code says so (unpacks the shape, asserts dim(), permutes...)
    bool has_rest;         // its shape is unpacked with a rest: `*rest, n = x.shape`
    int64_t dims[TYPE_MAX_RANK];
    bool is_dim_read[TYPE_MAX_RANK];      // the host code looks at this size
    bool is_dim_left_out[TYPE_MAX_RANK];  // it says that it does not care: `n, _, h, w = x.shape`
    bool is_count_read;                   // it asks how many elements there are
    bool is_last_stride_read;  // or at the stride of its last axis, as if there were no further one
    unsigned strides_from_front, strides_from_end;  // a bit for each axis whose stride it looks at
    unsigned sizes_from_front, sizes_from_end;  // the same of sizes, `x.shape[1]` and `x.shape[-1]`
    bool has_more_axes;  // than these tell: with fewer, one axis would have both names
    DTypeCode
        dtype;  // of a tensor, or the value of INPUT_DTYPE; DTYPE_UNKNOWN: floating, not said which
    Constant constant;  // of a scalar
    bool has_default;   // it is the number that the launcher has for a default
    const struct HostInput
        *divides;               // of a number: a condition wants it to divide a size of this tensor
    struct HostTensor *tensor;  // of this evaluation, made on first use
} HostInput;

typedef enum HostContents {
    CONTENTS_INPUT,  // the caller's
    CONTENTS_EMPTY,  // torch.empty and relatives: nothing written yet
    CONTENTS_ZEROS,
    CONTENTS_FILL,     // every element is `fill`
    CONTENTS_INDICES,  // arange
    CONTENTS_RANDOM,
    CONTENTS_COMPUTED,  // by host code from other tensors
} HostContents;

/// Memory that tensors are views of.
typedef struct HostBuffer {
    int id;
    const HostInput *input;  // CONTENTS_INPUT: whose; else NULL
    HostContents contents;
    bool
        may_be_written;  // since it was made, by another launch or by host code that is not followed
    const HostValue *fill;
    const HostValue *numel;
} HostBuffer;

typedef struct HostTensor {
    HostBuffer *buffer;
    int rank;
    const HostValue *dims[TYPE_MAX_RANK];
    const HostValue *strides[TYPE_MAX_RANK];  // in elements
    const HostValue *offset;                  // of its first element, in elements
    const HostValue *dtype;
    const HostInput *like;  // the input whose number of dimensions this tensor shares, or NULL
} HostTensor;

typedef enum HostKind {
    HOST_UNKNOWN,     // `note` says what was not understood
    HOST_CONSTANT,    // the same for every choice of inputs: `constant`
    HOST_INPUT,       // the scalar `input`
    HOST_SIZE,        // dimension `axis` of the tensor `input`
    HOST_RANK,        // number of dimensions of `input`
    HOST_DTYPE,       // element type of `input`
    HOST_IS_NONE,     // whether `input` is None
    HOST_OPERATION,   // `operation` over `items`
    HOST_TENSOR,      // `tensor`
    HOST_SEQUENCE,    // tuple, list, shape: `items`
    HOST_DICTIONARY,  // `keys`, `items`; a caller's keywords: all that `input` has besides
    HOST_FUNCTION,    // a Python function or lambda: `node`, `frame`
    HOST_OBJECT,      // a name of a module, class or built-in: `note` is its dotted name
} HostKind;

typedef enum HostOperation {
#define HOST_OPERATION(id, text, arity, code) HOST_OP_##id,
#include "analysis/host_values/host_operations.def"
#undef HOST_OPERATION
    HOST_OP_COUNT
} HostOperation;

/// One Python value of the host code. Immutable. Operations that do not depend on inputs are folded.
struct HostValue {
    HostKind kind;
    HostOperation operation;
    bool is_concrete;  // a scalar whose value under the present choice of inputs is `constant`
    bool is_picked;    // a constant that is one of several: the key of it rests on inputs
    Constant constant;
    HostInput *input;
    int axis;
    HostTensor *tensor;
    const HostValue *const *items;
    const Str *keys;
    int count;
    const HostInput *
        shape_of;  // a sequence that grows with the number of dimensions of this input: its shape, strides, a slice of it
    SyntaxNode node;
    struct HostFrame *frame;
    const char *note;
    int size;  // of an operation: how many nodes its tree has; a tree too large to be read becomes a constant
};

typedef struct HostArgument {
    const HostValue *value;  // NULL when nothing is passed and there is no default
    Range range;             // of the expression, or of the call for defaults and tuned values
    bool is_tuned;           // set by autotune or heuristics
    bool is_default;         // the kernel's own default value
} HostArgument;

typedef struct HostOption {
    Str name;  // num_warps, num_stages, ...
    const HostValue *value;
} HostOption;

/// What is certainly wrong with the argument list.
typedef enum HostProblemKind {
    PROBLEM_TOO_MANY_ARGUMENTS,
    PROBLEM_UNKNOWN_KEYWORD,  // no parameter and no launch option of that name
    PROBLEM_GIVEN_TWICE,
    PROBLEM_MISSING_ARGUMENT,
    PROBLEM_TUNED_AND_GIVEN,  // autotune sets it, and the launch passes it, too
    PROBLEM_GRID_RANK,        // no axes, or more than three
} HostProblemKind;

typedef struct HostProblem {
    HostProblemKind kind;
    Range range;
    Str name;
} HostProblem;

/// Two sizes or numbers that a condition on the way wants to be one.
typedef struct HostEquality {
    const HostValue *a, *b;
} HostEquality;

typedef struct HostLaunch {
    const LaunchSite *site;
    const FunctionDefinition *kernel;
    bool is_reached;  // the call was reached along a path whose conditions could all be met
    bool
        is_contradicted;  // as far as the host code says, a condition on that path is never met: its values may be another path's
    const char *
        reason;  // what stood in the way, or the first argument that is not understood; NULL when complete
    int flag_count;  // how many bits of a variant matter
    int decision_count;  // conditions of `if` and of conditional expressions that rest on what the caller passes
    uint32_t decisions;        // which of the first 32 were true
    LIST(HostInput *) inputs;  // the launcher's arguments first
    HostArgument *arguments;   // one per kernel parameter
    int argument_count;
    LIST(HostOption) options;
    int grid_rank;  // 0: not understood
    const HostValue *grid[3];
    LIST(HostEquality) equalities;
    LIST(HostProblem)
    problems;  // certain mistakes only; nothing when an argument list is spread from something unknown
} HostLaunch;

/// How large the sizes are that nobody says, by what small blocks make of them.
typedef enum HostSizes {
    HOST_SIZES_USUAL,    // two blocks of 16 and a part of one along rows, three along what is last
    HOST_SIZES_SEVERAL,  // three blocks of 16, the last one cut, along both; the same in all tensors
    HOST_SIZES_LARGE,    // three blocks of 32
    HOST_SIZES_SMALL,    // less than a block of 16
    HOST_SIZES_EVEN,     // powers of two, as kernels want them that cover a dimension with one tile
    HOST_SIZES_WHOLE,  // several whole blocks, as kernels want them whose last block may not be cut
    HOST_SIZES_EIGHTFOLD,  // eight times the usual ones and a little more
    HOST_SIZES_TALL,       // the usual ones the other way round: what is larger there is less here
    HOST_SIZES_EIGHTFOLD_TALL,
    HOST_SIZES_TINY,  // two along each axis: any block is larger
    HOST_SIZES_LONG,  // eightfold along what is last, few rows
    HOST_SIZES_LONG_TALL,
    HOST_SIZES_LONGEST,  // eight times that along what is last: several blocks of 1,024 there
    HOST_SIZES_DIVISIBLE,  // multiples of 12, most with a part of a block of 16: halves, thirds and quarters are whole
    HOST_SIZES_FEW,  // some four rows of some five: a grid of a few programs has all of them
    HOST_SIZES_COUNT,
} HostSizes;

/// Which of the many possible choices of sizes and flags.
typedef struct HostPolicy {
    uint64_t seed;  // other sizes
    int variant;  // bits flip the undecided flags and the presence of optional arguments, first input lowest
    int turned;  // a decision of the launcher that goes the other way: its number from 1 on, below 0 to false; 0: none does
    bool
        keep_blocks;  // otherwise (and with `divide_blocks` false) power-of-two literals of 32 and more (block sizes) are made 16 or 32, so that small sizes have many blocks
    bool
        divide_blocks;  // power-of-two literals of 16 and more, and what tuning sets, by 8: their quotients stay
    uint64_t
        apart;  // constexprs of the launch that become small in their order, each another one: bit `i` for 2 ** i
    uint64_t apart_kept;       // those of them that stay as they are
    bool keeps_lengths;        // the sizes that a constexpr is are not wished to be powers of two
    HostSizes sizes;           // a new field belongs in key_of of analysis/host/launch.c
    const Function *function;  // the lowered kernel, for the kinds of its parameters; may be NULL
} HostPolicy;

#endif
