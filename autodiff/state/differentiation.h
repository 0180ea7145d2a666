// Reverse mode over the tile IR, inside autodiff/: the state that the sweep and its rules share.
#ifndef TAD_AUTODIFF_STATE_DIFFERENTIATION_H
#define TAD_AUTODIFF_STATE_DIFFERENTIATION_H

#include "analysis/addresses/axis.h"
#include "analysis/host/launch.h"
#include "analysis/ir/loops.h"
#include "analysis/lowering/lower.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/result.h"

/// Adjoints of the region under way: primal value -> adjoint in the backward function. What a region adds to values
/// defined outside it is handed to the enclosing frame when the region ends.
typedef struct AdjointFrame {
    Map adjoints;
    struct AdjointFrame *outer;
} AdjointFrame;

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

/// Axes around a statement in whose address memory or a flag of the launch decides, for each value of the flags by itself (shared_axes.h).
typedef struct FlagAxes {
    bool is_free
        [PROGRAM_AXES]
        [1 +
         TILE_MOST_DIGITS];  // under some value programs along this digit, or the axis (the last one), share elements
    bool is_owned[PROGRAM_AXES]
                 [1 + TILE_MOST_DIGITS];  // under some value they share none, and differ by it
    bool loop_is_free[LOOPS_MOST_NESTED], loop_is_owned[LOOPS_MOST_NESTED];  // the innermost first
    bool loop_is_open[LOOPS_MOST_NESTED];  // under some value nobody knows
    bool ends_rows;                        // no row reaches into the next one (statement_ends_rows)
    const Op *told_by[1 << FLAGS_MOST];    // as of SharedStatement, under each value
    const struct SegmentRows
        *segments[1 << FLAGS_MOST];  // rows that tell programs apart, in each of these cases
} FlagAxes;

/// A statement that adds to elements which other programs add to as well.
typedef struct SharedStatement {
    Accumulation statement;  // its op is an atomic add
    Gradient *gradient;
    bool meets;              // another statement of the gradient may add to the same elements
    bool is_one_of_several;  // of one gradient
    bool is_moved;           // to a kernel of its own: here it is no more
    bool has_to_stay;        // as another one of the gradient has
    bool is_of_program;      // no program has by it what another has by it
    // What takes the upstream gradient of a store that tells which program has what, of those that differ by more than `alike`; or NULL.
    const Op *told_by;
    AlikePrograms alike;
    const FlagAxes *by_flags;  // where nothing is known of the axes otherwise; or NULL
} SharedStatement;

/// Which part of a backward is derived.
typedef struct BackwardPart {
    enum {
        PART_WHOLE,      // one kernel in the forward's schedule
        PART_REDUCTION,  // one that sums what programs share (reductions.h)
        PART_PROGRAMS,   // the rest
        PART_ONE_PASS,   // both in one kernel
        PART_FLAT,  // both in one kernel, whose tiles are others than the forward's (flat_kernel.h)
    } kind;
    int index;                             // of PART_REDUCTION
    bool moved[BACKWARD_MOST_REDUCTIONS];  // of PART_PROGRAMS: those that there are
    bool keeps_shares;  // PART_WHOLE and PART_PROGRAMS: programs keep what they add apart
    int most_atomics;   // of gradients, with `keeps_shares`: where more are left, nobody wants it
    bool keeps_all;     // likewise, each from all others, also where nobody knows who meets
    bool has_digits;    // ids are taken by more digits than rows and columns (tile_orders.h)
    bool
        has_whole_rows;  // rows that the forward walks in blocks are taken to fit in one (blocks/whole_rows.h)
    bool
        deals_tiles;  // programs that take turns with tiles are derived as one program a tile (shared_tiles.h)
} BackwardPart;

/// Tiles that programs take turns with (shared_tiles.h).
typedef struct TileTurns {
    int axis;          // of the grid
    Value *count;      // of the primal; NULL: there are none
    const char *name;  // of a tile's number
    Range range;
} TileTurns;

/// A load of the primal whose values the backward keeps as it goes through the forward once more (load_tape.h).
typedef struct SavedLoad {
    Op *load;     // of the buffer itself
    Op *recall;   // of the tape: stands for it in the rest of the primal; NULL: it happens but once
    Value *tape;  // parameter of the primal
    const char *name;      // of the buffer
    const char *elements;  // of a program's slice, as Python
    const char *tile;      // of a tile
    const char *dtype;     // of torch; NULL: the launch decides
} SavedLoad;

/// What carries a gradient (activity.h, bits.h).
typedef struct ActivityState {
    Map active;  // primal values that depend on an input and may reach an output
    Map constant;  // primal values that no gradient flows through (shift-invariant values), although active
    Map bits;  // whole numbers, and pointer parameters, that hold bits of an active float (bits.h)
    bool ignores_bits;  // floats made of bits count as constants
} ActivityState;

/// The parameters that take gradients (gradient_parameters.h, memory.h).
typedef struct BufferState {
    Map gradients;  // pointer parameter of the primal -> its gradient's parameter (inputs)
    Map upstreams;  // pointer parameter of the primal -> its upstream gradient's parameter (outputs)
    Map running;  // pointer parameters whose gradient changes as the sweep goes: one buffer, upstream at first
    Map kept;  // pointer parameters that may hold something before -> the parameter for its gradient, which may be None
} BufferState;

/// What stands for descriptors of the launcher (descriptors.h).
typedef struct DescriptorState {
    Map numbers;  // parameters that the launcher reads off a descriptor -> DescriptorNumber
    Map pointer_names;  // pointer parameters that are descriptors of the launcher -> their names in the backward
} DescriptorState;

/// Versions of buffers that are read and written, and what restores them (memory.h, replay.h, load_tape.h).
typedef struct VersionState {
    Map origins;  // parameters that stand for another version of a buffer -> the forward's parameter
    Map replays;  // those of them that the backward brings up to the state which loads see (replay.h)
    Map load_tapes;  // parameters that are tapes of loads -> the load of the tape (load_tape.h)
    Map first_stores;  // stores of the backward where it goes through the forward for the tapes of loads
    Map lost;          // those of them whose contents nobody saved -> the forward's parameter
    Map iterations_apart;  // loops whose iterations are taken to touch different elements of the buffer at hand
    struct Places *places;     // of accesses, while each pair of them is compared (place.h)
    const FunctionAxes *axes;  // of the function that they are in, as long
    Map ordered;               // loops that have to be walked backwards because of what they store
    LIST(Op *) replay_ops;     // stores into copies, each followed by its barriers (or NULL)
    LIST(SavedLoad) saved_loads;
    bool keeps_loads;   // what loads see and the kernel overwrites later goes to tapes
    bool loses_values;  // the backward needs such a value and has no tape of it
} VersionState;

/// Whose gradient stored elements have (stores.h).
/// What ends rows of a tensor, each of which belongs to a program.
typedef struct RowEnds {
    const char *lengths;  // a parameter, of which each program reads its element; NULL: not known
    const char *step;     // from row to row, in Python over the forward's arguments
    int program_axis;     // of the grid
} RowEnds;

/// A constexpr block size that is a multiple of another, or loops that were joined are not the author's (joined_loops.h); or is equal to it.
typedef struct Multiple {
    const char *size, *of;
} Multiple;

typedef struct StoreState {
    bool adding_axes
        [PROGRAM_AXES];  // along which each program adds to an output for itself, also those that nothing reads
    bool adds;                           // an active value to an output
    GridAxis unread_axes[PROGRAM_AXES];  // of the grid, that nothing reads; _ONE for others
    Map owners;  // stores that several programs do alike -> the primal condition of the one with the gradient
    Map distinct;  // stores of which no two programs have one element, or the gradient would be wrong already
    Map upstreams;  // loads of the backward, of what such a store takes -> the store
    LIST(Value *)
    owned_upstreams;  // conditions of the backward under which one of several programs takes an upstream gradient
    Map told;  // statements that add to gradients -> which programs share their elements (sharing.c)
    Map tellings;  // accesses that are compared with others -> the stores that tell their rows (sharing.c)
    const struct FlagCases *
        cases;  // the backward by the flags of a launch, while it is scheduled; NULL: not asked yet
    LIST(Assumption) assumptions;
    LIST(Multiple)
    equals;  // sizes that are equal, or programs store mirror images over each other's blocks
    LIST(StepCheck) steps;  // what the Function looks at (programs/steps.h)
    Map ends_unknown;  // parameters of the primal: masks end their rows by something that is not understood (a length in memory) -> RowEnds
} StoreState;

/// A pointer of any element type that the kernel takes for one to `taken` (widths.h).
typedef struct OpenPointer {
    DType own, taken;
} OpenPointer;

/// Which pointers may be to float64 (widths.h).
typedef struct WidthState {
    LIST(const bool *) doubles;  // choices of parameters that may be to float64 together (widths.h)
    int double_count;            // how many parameters each is about
    LIST(OpenPointer) taken;
} WidthState;

/// Adjoints and the statements that add to gradients (adjoint.h).
typedef struct SweepState {
    AdjointFrame *frame;
    LIST(Accumulation) accumulations;
    LIST(RunningStep) running_steps;
    Map extremes;       // steps of running maxima (extremes.h) -> ExtremeStep
    Map extreme_loops;  // what loops carry that is one
} SweepState;

/// Of a kernel whose tiles number elements (flat_kernel.h): lanes of a tile, elements of an owner that follow each other, and owners.
typedef struct FlatSizes {
    const Poly *lanes, *run, *owners;  // NULL: it is none
    const Poly *period;                // elements after which owners are others; NULL: none
    const Poly *bound;                 // of all elements; NULL: none
    Map plain;  // gradients, by their parameters, in which an owner's number is its element's
    bool
        has_turns;  // programs of the forward take turns with tiles: all elements have one, whatever the grid is
} FlatSizes;

/// Of a kernel whose lanes are a gradient's, in its order (in_order.h): elements, and lanes of a tile.
typedef struct OrderedSizes {
    const Poly *elements, *lanes;  // NULL: it is none
    bool
        reads_apart;  // a lane reads several elements that follow each other, and the next lane those behind
} OrderedSizes;

/// A condition on a constexpr parameter: `if FLAG:`, or `if KIND == "value":`.
typedef struct LaunchFlag {
    const char *parameter;
    const Constant *value;  // what it is compared with; NULL: it is the condition
} LaunchFlag;
typedef LIST(LaunchFlag) LaunchFlags;

/// One kernel of several (reduction_kernel.h, reductions.h).
typedef struct PartState {
    LIST(SharedStatement) shared;   // whose gradients have no other statement
    LIST(SharedStatement) several;  // those of one gradient follow each other
    LaunchFlags
        flags;  // that keep programs' sums from owners: with each value by itself there may be some (flags_around.h)
    BackwardPart part;
    TileTurns tiles;
    Value *
        slices;  // parameter of a gradient-reduction kernel: how many programs share a sum; or NULL
    bool has_own_slices;  // for each program of the forward one, as far as there is room
    bool
        has_large_slices;  // these are as large as what programs read, which are busy with loops or products
    Map part_strides;  // parameter of a gradient that programs store parts of -> that of the elements between them
    int reduction_kernels;  // how many PART_REDUCTION there may be
    bool cannot_be_flat;    // no PART_FLAT can be made of it
    int beside_shares
        [2];  // how many gradients need atomics at least, if programs keep shares apart, or shares of all
    Value *
        stages;  // parameter: how many iterations of a loop over programs load ahead (stages.h); or NULL
    Value *run_tile
        [2];  // parameters: how many runs of a flat index a tile has, and lanes of each (flat_kernel.h); or NULL
    Value *fill;  // parameter: a flag under which the kernel stores zeros (fills.h); or NULL
    const Value *filled;      // that gradient's parameter
    const char *fill_ranges;  // what is stored under the flag
    bool fits_one_pass;       // whether there may be PART_ONE_PASS in their place
    FlatSizes flat;
    OrderedSizes ordered;
    WholeRow row;  // of a part that has_whole_rows
    Map optional;  // parameters of gradients that may be None: nobody asks for them (wanted.h)
    Value *tile_counts
        [2 *
         PROGRAM_AXES];  // how many programs have a tile in this one's column, and in its row, by the axis that numbers tiles; or NULL
} PartState;

/// States of loops that are saved in memory (tape.h).
typedef struct TapeState {
    LIST(struct Tape *) tapes;  // states saved in memory (tape.h)
    LIST(LoopNote) loop_notes;
} TapeState;

/// A constexpr that the derivation takes to be one of two numbers (known_values.h).
typedef struct KnownValues {
    const char *name;
    int64_t values[2];
} KnownValues;

/// Loops of the primal that were made one (joined_loops.h).
typedef struct JoinState {
    bool any;
    LIST(Multiple) multiples;
    LIST(KnownValues) values;
} JoinState;

/// What the passes of one derivation share: a part for each, and the functions that all change.
typedef struct Differentiation {
    Arena *arena;
    const BackwardOptions *options;  // may be NULL
    Backward *result;                // its gradients are filled in
    struct Memory *memory;           // what the primal loads and stores (memory.h)
    Function *primal;                // normalized forward
    Function *backward;              // under construction
    Builder builder;
    Map values;  // primal value -> its recomputation in the backward function
    ActivityState activity;
    BufferState buffers;
    DescriptorState descriptors;
    VersionState versions;
    StoreState stores;
    WidthState widths;
    SweepState sweep;
    PartState parts;
    TapeState tapes;
    JoinState joins;
    Diagnostics *diagnostics;
    bool is_constant;  // no float input reaches a float output
    bool failed;
    const char *
        communication;  // how programs pass values to each other, and where; NULL: they do not, as far as is known
    Range communication_range;
    bool is_bits;  // what failed is that a gradient has to pass through bits
    const char *failure;
    Range failure_range;
    int failure_id;  // DiagnosticId
} Differentiation;

/// With nothing known yet: all maps are there and empty.
Differentiation differentiation_new(Arena *arena);
/// Whether a parameter points to floats, or to something that may be one.
bool parameter_points_to_float(const Parameter *parameter);
/// The forward's own parameter that a pointer parameter of the primal stands for.
const Parameter *parameter_of_root(const Differentiation *state, const Value *root);

/// A primal type with its dims in terms of the backward's values.
Type type_recomputed(const Differentiation *state, Type type);
/// A tile of zeros shaped like `type`, float32 unless the value is float64.
Value *adjoint_zeros(Differentiation *state, Builder *builder, Type type, Range range);
/// What starts as a bare 0.0 is a tensor as soon as a loop or a branch has added to it.
static inline Type type_at_run_time(Type type) {
    type.is_constexpr = false;
    return type;
}

/// The recomputed value of a primal one.
static inline Value *recomputed(const Differentiation *state, Value *primal) {
    return value_mapped(&state->values, primal);
}
/// Remembers the first reason why this kernel has no backward.
void adjoint_fail(Differentiation *state, DiagnosticId id, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// Refuses the kernel because of a value whose type is not known, and says what was not understood there.
void adjoint_refuse_unknown(Differentiation *state, const Value *value);

#endif
