// Inside the host code evaluation (launch.h): shared by host_value.c, host_solve.c, host_tensor.c, host_call.c,
// host_expression.c, host_operator.c, host_statement.c, host_writes.c, launch_bind.c and launch.c. Nobody else includes it.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_H

#include "analysis/host_values/host_launch.h"
#include "analysis/module/module_scope.h"

/// A condition that has to hold (or not) so that the launch is reached as the author meant it.
typedef struct HostConstraint {
    const HostValue *condition;
    bool want;
    int weight;         // HOST_MUST or HOST_WISH
    bool is_concerned;  // by the change that the search tries; for host_solve.c alone
} HostConstraint;

enum { HOST_WISH = 1, HOST_MUST = 1000 };

/// Items of a sequence that host code makes. Shapes and lists of tensors have tens. Beyond: a value that is not known.
enum { HOST_MOST_ITEMS = 256 };

typedef struct HostFrame {
    Map names;
    struct HostFrame *outer;
    const Module *module;
    bool is_on_path;          // the launch is inside this function
    bool is_global;           // literals are not block sizes of the launcher
    const HostValue *result;  // of a return statement
} HostFrame;

/// What the lowered kernel does with a parameter.
typedef struct KernelUse {
    HostInputKind kind;  // that an undecided value has to have
    bool is_length;      // a range of the kernel is as long as it, and so it is a power of two
    int divisor;         // of `channels // groups`: the other parameter; else -1
    bool is_present;  // an address or a number is made of it whatever the flags are: it is no None
    Str texts[LAUNCH_MOST_TEXTS];  // that the kernel compares it with
    int text_count;
} KernelUse;
typedef LIST(KernelUse) KernelUses;

typedef struct Host {
    Arena *arena;
    const Module *module;
    const LaunchSite *site;
    HostPolicy policy;
    KernelUses uses;       // of the kernel; empty where it is not lowered
    uint64_t own_lengths;  // of its tiles, as numbers in its text: bit `i` for 2 ** i
    HostLaunch *launch;
    LIST(HostInput *) inputs;  // persist over the runs, with what was learnt about them
    int flag_count;
    int decision_count;  // of this run so far, and which were true
    uint32_t decisions;
    // of one run
    Map modules;               // Module -> its HostFrame of global names
    LIST(HostFrame *) frames;  // all that were made, in their order
    Map attributes;            // "ctx.scale" -> value assigned
    LIST(HostConstraint) constraints;
    int buffer_count;
    int older_buffers;  // those made before the innermost loop or function that holds the launch, which may run often
    int step_count;
    int depth;             // of expressions
    int call_depth;        // of Python functions
    bool is_changed;       // something was learnt: run again
    bool is_contradicted;  // a condition on the way is one number, and leads elsewhere
    bool is_reached;
    const char *obstacle;
} Host;

/// `*x.stride()` of a tensor of which nothing says how many dimensions it has.
typedef struct OpenSpread {
    const HostInput *input;
    int count;  // of the items that it came to
    int place;  // of the first of them
} OpenSpread;

/// Evaluated arguments of a call.
typedef struct HostCall {
    const HostValue **items;
    int count;
    Str *names;
    const HostValue **values;
    int name_count;
    SyntaxNode node;
    HostFrame *frame;
    bool is_open;   // spread from something unknown: more may follow
    int open_from;  // items from here on stand at a place that is not known; INT_MAX where none does
    HostInput *open_names;  // what else is passed by name is in this; NULL: nothing is
    Range *item_ranges;
    Range *name_ranges;
    LIST(OpenSpread) spreads;
} HostCall;

// host_statement.c
typedef enum HostFlow {
    FLOW_NEXT,
    FLOW_RETURN,
    FLOW_BREAK,
    FLOW_CONTINUE,
    FLOW_RAISE,
    FLOW_STOP
} HostFlow;

#endif
