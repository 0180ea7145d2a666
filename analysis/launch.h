// Host code around a launch, evaluated without running Python: what every kernel parameter gets, as a tree over what
// comes from outside (the launcher's arguments and their sizes), and one choice of concrete values for all of it.
#ifndef TAD_ANALYSIS_LAUNCH_H
#define TAD_ANALYSIS_LAUNCH_H

#include "analysis/axis.h"
#include "analysis/module.h"

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
    bool is_optional;               // None is possible: compared with None, or the default
    HostInputKind kind_when_given;  // of an optional one that is absent in this choice
    int rank;                       // of a tensor
    bool is_rank_certain;  // the host code says so (unpacks the shape, asserts dim(), permutes...)
    int64_t dims[TYPE_MAX_RANK];
    bool is_dim_read[TYPE_MAX_RANK];  // the host code looks at this size
    DTypeCode
        dtype;  // of a tensor, or the value of INPUT_DTYPE; DTYPE_UNKNOWN: floating, not said which
    Constant constant;          // of a scalar
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
    HOST_DICTIONARY,  // `keys`, `items`
    HOST_FUNCTION,    // a Python function or lambda: `node`, `frame`
    HOST_OBJECT,      // a name of a module, class or built-in: `note` is its dotted name
} HostKind;

typedef enum HostOperation {
#define HOST_OPERATION(id, text, arity, code) HOST_OP_##id,
#include "analysis/host_operations.def"
#undef HOST_OPERATION
    HOST_OP_COUNT
} HostOperation;

/// One Python value of the host code. Immutable. Operations that do not depend on inputs are folded.
struct HostValue {
    HostKind kind;
    HostOperation operation;
    bool is_concrete;  // a scalar whose value under the present choice of inputs is `constant`
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

typedef struct HostLaunch {
    const LaunchSite *site;
    const FunctionDefinition *kernel;
    bool is_reached;  // the call was reached along a path whose conditions could all be met
    const char *
        reason;  // what stood in the way, or the first argument that is not understood; NULL when complete
    int flag_count;            // how many bits of a variant matter
    LIST(HostInput *) inputs;  // the launcher's arguments first
    HostArgument *arguments;   // one per kernel parameter
    int argument_count;
    LIST(HostOption) options;
    int grid_rank;  // 0: not understood
    const HostValue *grid[3];
    LIST(HostProblem)
    problems;  // certain mistakes only; nothing when an argument list is spread from something unknown
} HostLaunch;

/// Which of the many possible choices of sizes and flags.
typedef struct HostPolicy {
    uint64_t seed;  // other sizes
    int variant;  // bits flip the undecided flags and the presence of optional arguments, first input lowest
    bool
        keep_blocks;  // otherwise power-of-two literals of 32 and more (block sizes) are made 16 or 32, so that small sizes have many blocks
    bool
        is_even;  // sizes are powers of two, as kernels want them that cover a dimension with one tile
    const Function *function;  // the lowered kernel, for the kinds of its parameters; may be NULL
} HostPolicy;

/// Evaluates the function around the launch up to the call, meeting the conditions on the way. Never fails: what is not understood
/// is HOST_UNKNOWN, and `reason` names the first such argument. Bounded in steps. Allocates in `arena`.
HostLaunch *host_launch(Arena *arena, const Module *module, const LaunchSite *site,
                        const HostPolicy *policy);

typedef LIST(const HostLaunch *) HostLaunches;
/// All launches of a kernel in its module, with the block sizes that stand there. `function`: the kernel, lowered.
HostLaunches host_launches(Arena *arena, const FunctionDefinition *kernel,
                           const Function *function);

/// Whether a scalar is what somebody chose (`stride=2`), not what follows from the sizes of tensors.
bool host_argument_is_chosen(const HostArgument *argument);

typedef enum HostZero {
    HOST_ZERO_NEVER,    // as far as the text tells
    HOST_ZERO_ABSENT,   // where there is no tensor
    HOST_ZERO_PRESENT,  // for a tensor that is there
} HostZero;

/// Whether, by its text, the launcher passes 0 for the parameter on one of its ways.
HostZero host_argument_zero(const HostLaunch *launch, int parameter);

/// Whether some parameter is an integer that bounds nothing in the kernel.
bool function_may_have_chosen(Arena *arena, const Function *function);
/// Marks the parameters of the kernel whose value a launcher's caller picks and that bound nothing in it, as the stride of a
/// convolution, and what is less than a size or a stride (`x.stride(0) // 2`): they do not tell how far apart the rows of a tensor are.
void launch_note_chosen(Arena *arena, const HostLaunch *launch, Function *function);
/// Sets `may_have_contents` of the tensors that the kernel stores to where the launch passes what is not certainly new.
void launch_note_contents(const HostLaunch *launch, Function *function);
/// The Python function that `launch_tensor` has take a tensor, or a number, in double precision.
#define LAUNCH_DOUBLE_OF "_double_of"
/// The Python function by which an emitted Function has the number of a tensor, or of a number.
#define LAUNCH_NUMBER_OF "_number_of"
/// A number that the launcher reads off a tensor of its caller's, as a tensor: for autograd to see where it comes from.
typedef struct LaunchTensor {
    const char *text;     // Python of the tensor; NULL: the number comes from none
    const char *name;     // to pass instead; NULL: `text` itself
    uint32_t start, end;  // with a name: what takes the place of this part of the launcher
    const char *binding;  // the same, so that the name is bound
    const Str *sources;   // the tensors that it is read off; of an item, the whole
    int source_count;
} LaunchTensor;
LaunchTensor launch_tensor(Arena *arena, const Module *module, const LaunchSite *site,
                           int parameter);
/// The tensor whose number the launch passes, of which `launch_tensor` can say no more; empty: none.
Str launch_tensor_lost(Arena *arena, const Module *module, const LaunchSite *site, int parameter);
/// The expression that a launch passes for a parameter of its kernel; a null node where that is not known, or none.
SyntaxNode launch_argument_node(const Module *module, const LaunchSite *site, int parameter);
/// Sets `comes_from_tensor` of the kernel's scalars.
void launch_note_tensors(Arena *arena, const Module *module, const LaunchSite *site,
                         Function *function);
/// All three for all launches of the kernel in its module.
void launches_note(Arena *arena, const FunctionDefinition *kernel, Function *function);

#define LAUNCH_LEAST_UNKNOWN INT64_MAX

/// The smallest value that the launches of a kernel can pass for an integer parameter, as far as it follows from sizes of
/// tensors and constants; LAUNCH_LEAST_UNKNOWN where nobody says, as for what a launcher's caller picks.
int64_t launches_least(Arena *arena, const Function *function, int parameter);

/// A jit function that a launch may pass for a constexpr, or (`function` is NULL) None.
typedef struct LaunchFunction {
    const FunctionDefinition *function;
    Str name;  // in the kernel's module
} LaunchFunction;
typedef LIST(LaunchFunction) LaunchFunctions;
/// All that the launches of a kernel in its module, its default and its `# tad:` lines pass, by their text, and what callers bring;
/// empty where the kernel does not call the parameter, or no function is among them. Others may come from outside of the module.
LaunchFunctions launches_functions(Arena *arena, const Function *function, int parameter);
typedef LIST(int) LaunchLengths;
/// How many whole numbers the launches pass in a tuple for a constexpr that the kernel takes apart; empty where none is known to.
LaunchLengths launches_lengths(Arena *arena, const Function *function, int parameter);
Constant launch_function_constant(const LaunchFunction *function);

/// How many programs a kernel is launched with along an axis of the grid, which it may read or not.
typedef enum GridAxis {
    GRID_AXIS_UNKNOWN,  // it has no launches here, or none that is understood
    GRID_AXIS_ONE,
    GRID_AXIS_SEVERAL,
} GridAxis;
/// What the launches of a kernel and the `# tad:` lines above it say of the axes.
void launches_axes(Arena *arena, const Function *function, GridAxis axes[PROGRAM_AXES]);

/// One kernel argument with numbers in it.
typedef struct ConcreteArgument {
    enum {
        CONCRETE_NOTHING,
        CONCRETE_TENSOR,
        CONCRETE_SCALAR
    } kind;      // CONCRETE_NOTHING: not understood
    int buffer;  // index into buffers
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t strides[TYPE_MAX_RANK];
    int64_t offset;
    DTypeCode dtype;    // DTYPE_UNKNOWN: floating, the reader's choice
    Constant constant;  // of a scalar; None, numbers, flags, strings, dtypes
} ConcreteArgument;

typedef struct ConcreteBuffer {
    const char
        *name;  // of the launcher's argument or the kernel parameter that it is first passed as
    HostContents contents;
    double fill;
    int64_t numel;
    DTypeCode dtype;
    bool
        is_extent_certain;  // allocated by the host code, or every size of the input is looked at by it
    bool may_be_written;  // as in HostBuffer
} ConcreteBuffer;

typedef struct ConcreteLaunch {
    ConcreteArgument *arguments;  // one per kernel parameter
    int argument_count;
    LIST(ConcreteBuffer) buffers;
    int64_t grid[3];   // 1 where the grid has fewer axes; 0 everywhere when it is not understood
    bool is_complete;  // every argument and the grid
} ConcreteLaunch;

/// The numbers of one evaluation. Other sizes come from another host_launch with another seed or variant.
ConcreteLaunch *host_concretize(Arena *arena, const HostLaunch *launch);

/// Python text of a value: `cdiv(x.shape[0], 16)`.
const char *host_print(Arena *arena, const HostValue *value);
/// One line per kernel parameter, `name = text  # value`, then the grid.
const char *host_launch_print(Arena *arena, const HostLaunch *launch);

/// The values of a scalar under the present choice.
bool host_int(const HostValue *value, int64_t *integer);
bool host_number(const HostValue *value, double *number);

#endif
