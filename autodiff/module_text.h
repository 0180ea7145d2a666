// Inside autodiff/: the emitted module's parts.
#ifndef TAD_AUTODIFF_MODULE_TEXT_H
#define TAD_AUTODIFF_MODULE_TEXT_H

#include "autodiff/backward.h"

/// Texts in a row: names, arguments of a call.
typedef LIST(const char *) Names;

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
    bool *passed;      // per parameter of the kernel: some launch passes it
    bool has_options;  // some launch passes num_warps or the like
    bool has_launch;   // the class has a method that takes arguments as a launch does
    const char *
        hoisted;  // the forward kernel at module level, where it is defined inside something; or NULL
    bool is_apart;           // it cannot be there: its backward kernel alone is written
    const CutTensors *cuts;  // of all plans together
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
LaunchPlan launch_plan(Arena *arena, const Module *module, const Backward *backward);
/// The torch.autograd.Function class.
const char *autograd_class(Arena *arena, const LaunchPlan *plan);
/// Whether all that a launch stores is whole numbers and constants, and no tensor with a gradient takes them.
bool launch_stores_constants(Arena *arena, const Snapshot *snapshot, const LaunchSite *site);
/// The text of a function or class with the launches in it replaced by the classes' apply or launch. NULL and `*why` where it
/// cannot be.
const char *launcher_text(Arena *arena, const Snapshot *snapshot, Range range,
                          const LaunchPlan *plans, int plan_count, const char **why);
/// What is written in the place of a launch: of the call, with a name that gets what it returns and that nothing reads. A
/// range without a source: the launch is part of an expression.
Range launch_place(const Module *module, const LaunchSite *site);
/// The next launch in a function from `at` to the end of `range`, or NULL.
const LaunchSite *launch_after(const Module *module, Range range, uint32_t at);
/// What the first launch passes as the `use` of the forward's parameter `of`; NULL: nothing.
const BackwardArgument *launch_argument(const Backward *backward, ArgumentUse use, const char *of);
/// Whether each binding of the name in the launcher up to the launch is an allocation of its own (torch.empty and its like).
bool launch_allocates(const Module *module, const LaunchSite *site, Str name);
/// decorator_text.c. Decorators of a backward kernel: the forward's own autotune and heuristics, then @triton.jit.
const char *backward_decorators(Arena *arena, const BackwardLaunch *launch,
                                const Backward *backward);
/// Whether the backward keeps the parameter although its body does not use it (autotune and heuristics ask for it by name).
bool decorators_mention(const FunctionDefinition *kernel, const char *name, bool is_constexpr);
/// Whether a function that launches the kernel names the parameter in a string: its grid may ask for it, as `meta["n"]`.
bool launchers_mention(const FunctionDefinition *kernel, const char *name);

/// descriptor_text.c: whether a launcher passes, or may pass, a tensor descriptor to a kernel's parameter.
bool parameter_is_descriptor(const Parameter *parameter);
bool plan_has_descriptors(const LaunchPlan *plan);
/// Statements of the class's forward, indented, that keep what its backward reads of the descriptors, and reject other blocks
/// than it is made for. `described`: the name of their dictionary.
const char *descriptor_layout_text(Arena *arena, const LaunchPlan *plan, const char *described);
/// How the class's backward reads an ARGUMENT_SHAPE or ARGUMENT_STRIDE; NULL for other uses.
const char *descriptor_number_text(Arena *arena, const BackwardArgument *argument);
/// What the emitted kernel is to be given in the place of descriptors, as lines of comment.
const char *descriptor_comment(Arena *arena, const Function *backward,
                               const BackwardLaunch *launch);

/// tape_text.c: what an emitted kernel's scratch has to be, as lines of comment; empty where it has none.
const char *tape_comment(Arena *arena, const BackwardLaunch *launch);
/// Whether a launcher has to allocate scratch, or sums of programs: then it has to know how many there are.
bool launch_counts_programs(const BackwardLaunch *launch);
/// Statements that allocate it, indented by `indent` columns, and `*rest`: the keyword arguments of the launch, by name
/// `name=value` in `call` so far. `grid`: Python of the grid.
const char *tape_statements(Arena *arena, const LaunchPlan *plan, const char *grid,
                            const char *const *call, int count, int indent, const char ***rest,
                            int *rest_count);
/// grid_text.c: the axes of the grid along which the forward must have one program, as a line of comment; empty where there
/// are none, or where the Function that goes with the kernel checks it.
const char *grid_comment(Arena *arena, const Backward *backward, WrapperKind wrapper);
/// A statement of the Function's forward that refuses other grids; `given`: the launch's arguments by name. Empty: none is wrong.
const char *grid_check_text(Arena *arena, const LaunchPlan *plan, const char *const *given,
                            int count);
/// scalar_text.c: what an emitted kernel's buffers for gradients of scalars have to be, as lines of comment.
const char *scalar_comment(Arena *arena, const BackwardLaunch *launch);
/// Statements of a Function's forward that make numbers of scalars which may be tensors; empty where none has a gradient.
const char *scalar_forms_text(Arena *arena, const BackwardLaunch *launch);
/// Python of how the gradient of a scalar has to look, in the Function's backward.
const char *scalar_form(Arena *arena, const BackwardLaunch *launch,
                        const BackwardArgument *argument);
/// What a launch passes to the Function in place of a number that it reads off a tensor; NULL: the number as it stands.
const char *scalar_argument_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                                 const LaunchSite *site, int parameter);
/// Finds the plans' `cuts`; adds a note on each number that comes from a tensor and has no gradient.
void scalars_cut(Arena *arena, const Module *module, LaunchPlan *plans, int plan_count,
                 Names *notes);
/// Why a launch cannot be written where inputs were asked for by name: a tensor's gradient would lack a part. Else NULL.
const char *scalar_refusal(Arena *arena, const Module *module, const LaunchPlan *plan,
                           const LaunchSite *site);
/// The text of a launcher between two places, with the lines that keep such tensors for the launches in `range`.
const char *scalar_bindings_text(Arena *arena, const Module *module, Range range,
                                 const LaunchPlan *plans, int plan_count, uint32_t from,
                                 uint32_t to);

/// helpers.c: whether a module has something of this name already.
typedef bool NameIsBound(const void *context, const char *name);
/// The Python functions of helpers.def that `text` calls, and that these call, without those that are bound; functions are two
/// empty lines apart, and the whole is empty where nothing is needed.
const char *helpers_text(Arena *arena, const char *text, NameIsBound *is_bound,
                         const void *context);

/// `prefix(arguments...)` on one line where it fits `room` columns, else one argument a line; continuation lines indented by `indent`.
const char *call_lines(Arena *arena, const char *prefix, const char *const *arguments, int count,
                       int indent);

#endif
