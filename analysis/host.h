// Inside the host code evaluation (launch.h): shared by host_value.c, host_solve.c, host_tensor.c, host_call.c,
// host_expression.c, host_operator.c, host_statement.c, host_writes.c and launch.c. Nobody else includes it.
#ifndef TAD_ANALYSIS_HOST_H
#define TAD_ANALYSIS_HOST_H

#include "analysis/launch.h"
#include "analysis/module_scope.h"

/// A condition that has to hold (or not) so that the launch is reached as the author meant it.
typedef struct HostConstraint {
    const HostValue *condition;
    bool want;
    int weight;  // HOST_MUST or HOST_WISH
} HostConstraint;

enum { HOST_WISH = 1, HOST_MUST = 1000 };

typedef struct HostFrame {
    Map names;
    struct HostFrame *outer;
    const Module *module;
    bool is_on_path;          // the launch is inside this function
    bool is_global;           // literals are not block sizes of the launcher
    const HostValue *result;  // of a return statement
} HostFrame;

typedef struct Host {
    Arena *arena;
    const Module *module;
    const LaunchSite *site;
    HostPolicy policy;
    HostLaunch *launch;
    LIST(HostInput *) inputs;  // persist over the runs, with what was learnt about them
    int flag_count;
    // of one run
    Map modules;     // Module -> its HostFrame of global names
    Map attributes;  // "ctx.scale" -> value assigned
    LIST(HostConstraint) constraints;
    int buffer_count;
    int older_buffers;  // those made before the innermost loop or function that holds the launch, which may run often
    int step_count;
    int depth;        // of expressions
    int call_depth;   // of Python functions
    bool is_changed;  // something was learnt: run again
    bool is_reached;
    const char *obstacle;
} Host;

// host_value.c: values
HostValue *host_new(Host *host, HostKind kind);
const HostValue *host_unknown(Host *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const HostValue *host_constant(Host *host, Constant constant);
const HostValue *host_of_int(Host *host, int64_t value);
const HostValue *host_of_bool(Host *host, bool value);
const HostValue *host_of_float(Host *host, double value);
const HostValue *host_of_string(Host *host, Str value);
const HostValue *host_of_dtype(Host *host, DTypeCode code);
const HostValue *host_none(Host *host);
const HostValue *host_object(Host *host, const char *name);
/// A jit function by the name that the module has for it: an object, and a constant where a launch passes it.
const HostValue *host_of_jit(Host *host, const FunctionDefinition *function, Str name);
const HostValue *host_sequence(Host *host, const HostValue *const *items, int count);
const HostValue *host_input_value(Host *host, HostInput *input);
const HostValue *host_input_property(Host *host, HostKind kind, HostInput *input, int axis);
const HostValue *host_apply(Host *host, HostOperation operation, const HostValue *a,
                            const HostValue *b);
const HostValue *host_equal(Host *host, const HostValue *a, const HostValue *b);
/// True where the value under the present choice is known and truthy; `*known` says whether it is known.
bool host_truth(const HostValue *value, bool *known);
bool host_is_none(const HostValue *value);
/// A scalar anew from what the inputs are now; false where it is not known.
bool host_compute(const HostValue *value, Constant *result);
const char *host_operation_text(HostOperation operation, int *arity);

// host_input.c: what comes from outside
HostInput *host_input(Host *host, const char *name);
void host_decide(Host *host, HostInput *input, HostInputKind kind);
/// The undecided inputs that the value is made of are integers (used as a size, a count, an index) or of the kind given.
void host_want(Host *host, const HostValue *value, HostInputKind kind);
void host_set_rank(Host *host, HostInput *input, int rank);
/// Notes that the host code looks at this size, when it is one; returns it.
const HostValue *host_look_at(const HostValue *size);
void host_default(Host *host, HostInput *input, Str annotation, const HostValue *value);

// host_solve.c
void host_require(Host *host, const HostValue *condition, bool want, int weight);
/// Changes the inputs so that more conditions hold. Returns whether anything was changed.
bool host_solve(Host *host);
bool host_constraints_hold(const Host *host);

// host_tensor.c
HostTensor *host_as_tensor(Host *host, const HostValue *value);
const HostValue *host_of_tensor(Host *host, HostTensor *tensor);
/// A new contiguous tensor of its own.
const HostValue *host_allocate(Host *host, const HostValue *const *dims, int rank,
                               const HostValue *dtype, HostContents contents,
                               const HostValue *fill);
/// The allocated `tensor`, which has as many dimensions as `model` whatever that turns out to be.
const HostValue *host_like(Host *host, const HostTensor *model, const HostValue *tensor);
/// Whether `actual` dimensions are enough; where they are not and the host code has not fixed them, asks for another run with `rank`.
bool host_need_rank(Host *host, const HostInput *like, int actual, int rank);
const HostValue *host_shape(Host *host, const HostTensor *tensor, bool strides);
const HostValue *host_numel(Host *host, const HostTensor *tensor);
/// `tensor.NAME`; NULL when there is no such attribute.
const HostValue *host_tensor_attribute(Host *host, const HostValue *self, HostTensor *tensor,
                                       Str name);
bool host_is_tensor_member(Str name);
const HostValue *host_tensor_subscript(Host *host, HostTensor *tensor, HostFrame *frame,
                                       SyntaxNode node);
/// Elementwise result over broadcast shapes.
const HostValue *host_elementwise(Host *host, HostTensor *a, HostTensor *b, const HostValue *dtype);

/// Evaluated arguments of a call.
typedef struct HostCall {
    const HostValue **items;
    int count;
    Str *names;
    const HostValue **values;
    int name_count;
    SyntaxNode node;
    HostFrame *frame;
    bool is_open;  // spread from something unknown: more may follow
    Range *item_ranges;
    Range *name_ranges;
} HostCall;

// host_tensor_call.c, host_call.c
const HostValue *host_tensor_method(Host *host, const HostValue *self, HostTensor *tensor, Str name,
                                    const HostCall *call);
const HostValue *host_keyword(const HostCall *call, const char *name);
/// Positional `index` or keyword `name`; NULL when neither is there.
const HostValue *host_argument(const HostCall *call, int index, const char *name);
const HostValue *host_library_call(Host *host, Str name, const char *dotted, const HostCall *call);
const HostValue *host_invoke(Host *host, const HostValue *function, const HostCall *call);
HostCall host_call_arguments(Host *host, HostFrame *frame, SyntaxNode call);

// host_writes.c
/// What is not followed may write to the tensors in the value: a method, an unknown function, an earlier turn of a loop.
void host_note_written(const HostValue *value);
void host_note_written_by(const HostCall *call);
/// The same for tensors whose names are in the text, without evaluating it.
void host_note_named(HostFrame *frame, SyntaxNode node);
/// The same for what an arm that is not taken binds to something else than new memory, and for what it calls.
void host_note_skipped(HostFrame *frame, SyntaxNode arm);
/// Whether the node is None or makes memory that holds nothing of another tensor: `torch.empty(...)`, `x.new_zeros(...)`.
bool host_call_allocates(const Source *source, SyntaxNode node);
/// Whether a Python function returns at several places.
bool host_has_several_results(const HostValue *function);

// host_expression.c
const HostValue *host_evaluate(Host *host, HostFrame *frame, SyntaxNode node);
/// Whether the items of `node` are meant, `*x.shape`. The grammar reads that as `(*x).shape`; evaluating it drops the star.
bool host_is_spread(SyntaxNode node);
/// The text under which a dictionary keeps `value`; false where it is not known.
bool host_key(Host *host, const HostValue *value, Str *key);
const HostValue *host_lookup(Host *host, HostFrame *frame, Str name);
/// What a name of a module stands for; `name` is for messages.
const HostValue *host_of_entry(Host *host, ScopeEntry entry, Str name);
HostFrame *host_module_frame(Host *host, const Module *module);
/// Items of an iterable that can be listed (64 at most); false otherwise.
bool host_items(Host *host, const HostValue *value, const HostValue *const **items, int *count);
const HostValue *host_item(Host *host, const HostValue *value, int64_t index);
/// Marks a sequence just made as growing with the input that one of its parts (`b` may be NULL) grows with.
const HostValue *host_growing(const HostValue *sequence, const HostValue *a, const HostValue *b);

// host_operator.c
bool host_is_tensor_like(const HostValue *value);
const HostValue *host_concatenated(Host *host, const HostValue *a, const HostValue *b);
/// NULL where the operator is none that is known.
const HostValue *host_binary(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_unary(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_not(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_boolean(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_comparison(Host *host, HostFrame *frame, SyntaxNode node);
const HostValue *host_conditional(Host *host, HostFrame *frame, SyntaxNode node);

// host_statement.c
typedef enum HostFlow {
    FLOW_NEXT,
    FLOW_RETURN,
    FLOW_BREAK,
    FLOW_CONTINUE,
    FLOW_RAISE,
    FLOW_STOP
} HostFlow;
HostFlow host_run_block(Host *host, HostFrame *frame, SyntaxNode block);
HostFlow host_run_statement(Host *host, HostFrame *frame, SyntaxNode node);
void host_assign(Host *host, HostFrame *frame, SyntaxNode target, const HostValue *value);
HostFrame *host_frame(Host *host, HostFrame *outer, const Module *module);
bool host_contains_site(const Host *host, const HostFrame *frame, SyntaxNode node);

// launch.c
void host_bind_launch(Host *host, HostFrame *frame);

#endif
