// Host code around a launch, evaluated without running Python: what every kernel parameter gets, as a tree over what
// comes from outside (the launcher's arguments and their sizes), and one choice of concrete values for all of it.
#ifndef TAD_ANALYSIS_HOST_LAUNCH_H
#define TAD_ANALYSIS_HOST_LAUNCH_H

#include "analysis/host_values/host_launch.h"

/// What the function around the launch does up to the call, with the conditions on the way met. Never fails: what is not
/// understood is HOST_UNKNOWN, and `reason` names the first such argument. Evaluated once for each policy, and what it says of
/// `function`, in the life of `module`, whose launch `site` is; shared between threads, immutable, alive as long as the module.
const HostLaunch *host_launch(const Module *module, const LaunchSite *site,
                              const HostPolicy *policy);

/// Told of each evaluation before it begins, on the thread that does it: for tests that count. `policy->function` is NULL.
typedef void HostLaunchWatcher(const LaunchSite *site, const HostPolicy *policy);
/// To be called before any launch is evaluated. NULL: nobody is told.
void host_launch_watch(HostLaunchWatcher *told);

typedef LIST(const HostLaunch *) HostLaunches;
/// All launches of a kernel in its module, with the block sizes that stand there. `function`: the kernel, lowered.
HostLaunches host_launches(Arena *arena, const FunctionDefinition *kernel,
                           const Function *function);
/// The same, and each of them once more for each flag of its launcher (an argument that may be None, a truth) and each decision turned over alone, where the
/// launch is reached then: what a caller passes instead of a default.
HostLaunches host_launches_by_flags(Arena *arena, const FunctionDefinition *kernel,
                                    const Function *function);

typedef enum HostZero {
    HOST_ZERO_NEVER,    // as far as the text tells
    HOST_ZERO_ABSENT,   // where there is no tensor
    HOST_ZERO_PRESENT,  // for a tensor that is there
} HostZero;

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

#define LAUNCH_LEAST_UNKNOWN INT64_MAX

/// A jit function that a launch may pass for a constexpr, or (`function` is NULL) None.
typedef struct LaunchFunction {
    const FunctionDefinition *function;
    Str name;  // in the kernel's module
} LaunchFunction;
typedef LIST(LaunchFunction) LaunchFunctions;
typedef LIST(int) LaunchLengths;

/// How many programs a kernel is launched with along an axis of the grid, which it may read or not.
typedef enum GridAxis {
    GRID_AXIS_UNKNOWN,  // it has no launches here, or none that is understood
    GRID_AXIS_ONE,
    GRID_AXIS_SEVERAL,
} GridAxis;

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

#endif
