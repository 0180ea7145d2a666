// Launches: arguments bound to parameters, and what all launches of one kernel have in common.
#ifndef TAD_AUTODIFF_PLAN_LAUNCH_PLAN_H
#define TAD_AUTODIFF_PLAN_LAUNCH_PLAN_H

#include "autodiff/state/result.h"

/// A tensor whose numbers a launcher passes, to one kernel at least that has no gradient for its own: it stays a number in all
/// launches, or its gradient would lack a part.
typedef struct CutTensor {
    const FunctionDefinition *launcher;
    Str name;
    const char *where;  // the parameter without a gradient, and its kernel
    const char *why;
    bool is_named;  // inputs were asked for by name: a part that is missing is a refusal
    bool is_noted;
} CutTensor;
typedef LIST(CutTensor) CutTensors;

/// How the launches of one kernel spell its arguments.
typedef struct LaunchPlan {
    const FunctionDefinition *kernel;
    const Backward *backward;
    const char *class_name;
    const char *callee;                // the forward kernel's name in the class
    const char *ctx, *grid, *options;  // what the class calls its own; no parameter has these names
    bool
        fixes_grid;  // some launch's grid may come to something else after it: it is evaluated there
    bool *passed;    // per parameter of the kernel: some launch passes it
    const SavedValue **
        saved;  // per parameter: what the forward stores for its backward alone, of which the Function makes it; or NULL
    int *saved_axis;  // of these: of the grid, whose step it is; 0: it is the memory
    int axes;         // of the grid, where anything is stored so
    int positional;  // so many arguments stand in their places: a function that prunes configurations gets these by name
    bool has_options;  // some launch passes num_warps or the like
    bool has_launch;   // the class has a method that takes arguments as a launch does
    const char *
        hoisted;  // the forward kernel at module level, where it is defined inside something; or NULL
    bool is_apart;           // it cannot be there: its backward kernel alone is written
    const char *inner_text;  // what stands behind it, where it stays inside its function; or NULL
    const CutTensors *cuts;  // of all plans together
    bool *is_part;  // per parameter: the kernel loads what lies around the view that it gets
    bool *
        is_indexed;  // per parameter, of no part: numbers from memory, or of the caller's, say where the kernel touches it
    bool *is_numbered;  // the same of the caller's numbers alone
    bool *is_checked;   // per parameter: its tensor may share memory with one that is written
    const char **
        stored_if;  // of such that are written: Python of the flags that it is stored under; or NULL
} LaunchPlan;

/// One launch with its arguments bound to the kernel's parameters.
typedef struct BoundLaunch {
    const LaunchSite *site;
    Str *arguments;  // per parameter; empty where not passed
    Str spread;  // `*x.stride(), *y.stride()`: these fill the parameters from spread_first to spread_last
    int spread_first;
    int spread_last;
    LIST(Str) option_names;
    LIST(Str) options;
} BoundLaunch;

/// False where the launch passes ** or spreads more than the parameters it should fill: then nothing is known of the places.
bool launch_bind(Arena *arena, const Module *module, const LaunchSite *site, BoundLaunch *bound);
/// A parameter that Triton has no value for in this launch, which it refuses; NULL: none.
const char *launch_lacks(const LaunchPlan *plan, const BoundLaunch *bound);
LaunchPlan launch_plan(Arena *arena, const Module *module, const Backward *backward);
/// `name`, with underscores behind it where a parameter of the kernel or of its backward has that name.
const char *plan_name(Arena *arena, const LaunchPlan *plan, const char *name);
/// What the first launch passes as the `use` of the forward's parameter `of`; NULL: nothing.
const BackwardArgument *launch_argument(const Backward *backward, ArgumentUse use, const char *of);
const Parameter *plan_parameter(const LaunchPlan *plan, int index);
/// -1: the kernel has no such parameter.
int parameter_find(const FunctionDefinition *kernel, Str name);
/// A pointer or a descriptor.
bool parameter_is_pointer(const Parameter *parameter);
/// Whether a launcher passes, or may pass, a tensor descriptor to a kernel's parameter.
bool parameter_is_descriptor(const Parameter *parameter);
bool plan_has_descriptors(const LaunchPlan *plan);
bool parameter_is_output(const Parameter *parameter);
/// Whether autotune or heuristics set the parameter.
bool kernel_tunes(const FunctionDefinition *kernel, Str name);
/// Whether `apply` will do: every written tensor has a name, and none is a view of another, which autograd takes only as a
/// function's first input and only result.
bool launch_is_plain(const Module *module, const LaunchPlan *plan, const BoundLaunch *bound);
/// Whether the class's methods have a value of the parameter's name.
bool plan_has(const LaunchPlan *plan, int parameter);
/// Whether the Function has all parameters of the forward that a text names.
bool plan_has_names(const LaunchPlan *plan, const char *text);
bool plan_has_all_names(const LaunchPlan *plan, const char *const *texts, int count);
/// Whether only Python can tell which parameters get which arguments: `**meta`, `*arguments`, `*x.stride(), 16`.
bool launch_binds_late(Arena *arena, const Module *module, const LaunchSite *site);

#endif
