// Reverse mode over the tile IR, inside autodiff/: the state that the sweep and its rules share.
#ifndef TAD_AUTODIFF_ADJOINT_H
#define TAD_AUTODIFF_ADJOINT_H

#include "analysis/launch.h"
#include "analysis/loops.h"
#include "analysis/lower.h"
#include "autodiff/backward.h"
#include "autodiff/rewrite.h"

/// Adjoints of the region under way: primal value -> adjoint in the backward function. What a region adds to values
/// defined outside it is handed to the enclosing frame when the region ends.
typedef struct Frame {
    Map adjoints;
    struct Frame *outer;
} Frame;

/// The place a generated accumulation came from.
typedef struct Accumulation {
    Op *op;           // OP_ATOMIC_ADD in the backward function; scheduling may turn it into a store
    Value *gradient;  // the backward's parameter it adds to
    const Parameter *input;  // the forward's parameter
    Range range;             // the forward's load
    bool is_running;         // the gradient's buffer has contents already
    bool is_program_sum;     // of a scalar: a plain store of the program's own sum
} Accumulation;

/// Statements of the backward on a running or kept gradient, beside accumulations.
typedef struct RunningStep {
    Op *op;           // a store of 0 or a barrier
    Value *gradient;  // the backward's parameter that it is about
} RunningStep;

/// A statement that adds to elements which other programs add to as well.
typedef struct SharedStatement {
    Accumulation statement;  // its op is an atomic add
    Gradient *gradient;      // which has no other statement
} SharedStatement;

enum { MOST_OWNER_KERNELS = 4 };

/// Which part of a backward is derived.
typedef struct BackwardPart {
    enum {
        PART_WHOLE,     // one kernel in the forward's schedule
        PART_OWNERS,    // one that sums what programs share (owners.h)
        PART_PROGRAMS,  // the rest
    } kind;
    int index;                       // of PART_OWNERS
    bool moved[MOST_OWNER_KERNELS];  // of PART_PROGRAMS: those that there are
} BackwardPart;

/// A load of the primal whose values the backward keeps as it goes through the forward once more (load_tape.h).
typedef struct KeptLoad {
    Op *load;     // of the buffer itself
    Op *recall;   // of the tape: stands for it in the rest of the primal; NULL: it happens but once
    Value *tape;  // parameter of the primal
    const char *name;      // of the buffer
    const char *elements;  // of a program's slice, as Python
    const char *tile;      // of a tile
    const char *dtype;     // of torch; NULL: the launch decides
} KeptLoad;

typedef struct Differentiation {
    Arena *arena;
    Function *primal;    // normalized forward
    Function *backward;  // under construction
    Builder builder;
    Map values;     // primal value -> its recomputation in the backward function
    Map active;     // primal values that depend on an input and may reach an output
    Map constant;   // primal values that no gradient flows through (gauges), although active
    Map gradients;  // pointer parameter of the primal -> its gradient's parameter (inputs)
    Map upstreams;  // pointer parameter of the primal -> its upstream gradient's parameter (outputs)
    Map running;  // pointer parameters whose gradient changes as the sweep goes: one buffer, upstream at first
    Map kept;  // pointer parameters that may hold something before -> the parameter for its gradient, which may be None
    Map numbers;  // parameters that the launcher reads off a descriptor -> DescriptorNumber
    Map pointer_names;  // pointer parameters that are descriptors of the launcher -> their names in the backward
    Map origins;  // parameters that stand for another version of a buffer -> the forward's parameter
    Map replays;  // those of them that the backward brings up to the state which loads see (replay.h)
    Map load_tapes;  // parameters that are tapes of loads -> the load of the tape (load_tape.h)
    Map first_stores;  // stores of the backward where it goes through the forward for the tapes of loads
    Map lost;          // those of them whose contents nobody kept -> the forward's parameter
    Map turns_apart;  // loops whose turns are taken to touch different elements of the buffer at hand
    struct Places *places;     // of accesses, while each pair of them is compared (place.h)
    const FunctionAxes *axes;  // of the function that they are in, as long
    Map ordered;               // loops that have to be walked backwards because of what they store
    bool adding_axes
        [PROGRAM_AXES];  // along which each program adds to an output for itself, also those that nothing reads
    bool adds;                           // an active value to an output
    GridAxis unread_axes[PROGRAM_AXES];  // of the grid, that nothing reads; _ONE for others
    LIST(const bool *) doubles;  // choices of parameters that may be to float64 together (widths.h)
    int double_count;            // how many parameters each is about
    Map owners;  // stores that several programs do alike -> the primal condition of the one with the gradient
    LIST(Assumption) assumptions;
    Frame *frame;
    LIST(Accumulation) accumulations;
    LIST(RunningStep) running_steps;
    LIST(SharedStatement) shared;
    BackwardPart part;
    Value *slices;      // parameter of a kernel of owners: how many programs share a sum; or NULL
    int owner_kernels;  // how many PART_OWNERS there may be
    LIST(Op *) replay_ops;  // stores into copies, each followed by its barriers (or NULL)
    LIST(KeptLoad) kept_loads;
    bool keeps_loads;           // what loads see and the kernel overwrites later goes to tapes
    bool loses_values;          // the backward needs such a value and has no tape of it
    LIST(struct Tape *) tapes;  // states kept in memory (tape.h)
    LIST(LoopNote) loop_notes;
    Diagnostics *diagnostics;
    bool failed;
    const char *failure;
    Range failure_range;
    int failure_id;  // DiagnosticId
} Differentiation;

/// Whether a parameter points to floats, or to something that may be one.
bool parameter_points_to_float(const Parameter *parameter);
/// The forward's own parameter that a pointer parameter of the primal stands for.
const Parameter *parameter_of_root(const Differentiation *state, const Value *root);

/// Marks `active`: what depends on the inputs (keys of `gradients`) through float values.
void activity_mark(Differentiation *state);
bool value_is_active(const Differentiation *state, const Value *value);
/// Whether an address whose pointer is chosen among several may be one of an input with a gradient.
bool pointer_may_reach_gradient(const Differentiation *state, const Value *pointer);

/// Finds gauges: values whose common shift nobody sees (maxima subtracted before an exponential). Fills `constant`.
void gauge_mark(Differentiation *state);
/// Whether carried value `index` of the loop is a rescaled state whose gauge is in `constant`.
bool gauge_is_settled(const Differentiation *state, const Op *loop, const Carried *carried,
                      int index);

/// Recomputes the primal body and emits its adjoint sweep at the end of the backward function. `state->failed` tells.
void adjoint_sweep(Differentiation *state);

/// Adjoint statements of one op (loops and branches are the sweep's). `gradients[i]`: adjoint of result i or NULL.
void adjoint_rule(Differentiation *state, const Op *op, Value *const *gradients);

/// A tile of zeros shaped like `type`, float32 unless the value is float64.
Value *adjoint_zeros(Differentiation *state, Builder *builder, Type type, Range range);
/// What starts as a bare 0.0 is a tensor as soon as a loop or a branch has added to it.
static inline Type type_at_run_time(Type type) {
    type.is_constexpr = false;
    return type;
}

/// Adds `gradient`, summed down to the value's own shape, to the adjoint of a primal value.
void adjoint_add(Differentiation *state, Value *primal, Value *gradient);
/// Refuses the kernel because of a value whose type is not known, and says what was not understood there.
void adjoint_refuse_unknown(Differentiation *state, const Value *value);
/// The recomputed value of a primal one.
static inline Value *recomputed(const Differentiation *state, Value *primal) {
    return value_mapped(&state->values, primal);
}
/// Remembers the first reason why this kernel has no backward.
void adjoint_fail(Differentiation *state, DiagnosticId id, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// The axes of the backward, with those along which only additions to the forward's outputs tell programs apart.
FunctionAxes backward_axes(Differentiation *state);
/// After the sweep: decides per gradient between plain stores and atomics and rewrites the accumulations. Fills `gradients`.
void schedule_accumulations(Differentiation *state, Backward *result);

/// Python source of the kernel `function`, formatted as ruff format leaves it. `decorators`: text above the def ("@triton.jit\n");
/// `comment`: lines at the start of the body, indented. `helpers`: takes the combine functions that the file of the kernel
/// does not have (they came with a helper of another file), or "".
const char *emit_kernel(Arena *arena, const Function *function, const char *decorators,
                        const char *comment, const char **helpers);

#endif
