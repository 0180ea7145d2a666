// What a derivation comes to: the emitted kernels, how they are launched, and what was found on the way.
#ifndef TAD_AUTODIFF_STATE_RESULT_H
#define TAD_AUTODIFF_STATE_RESULT_H

#include "analysis/addresses/axis.h"
#include "analysis/module/given_rules.h"
#include "analysis/snapshot.h"

typedef enum WrapperKind { WRAPPER_AUTOGRAD, WRAPPER_NONE, WRAPPER_TRITON_OP } WrapperKind;

/// Told after each pass of autodiff/passes.def: the function that it has changed, which the passes behind it change further.
typedef struct PassObserver {
    void (*after)(void *context, const char *pass, const Function *function);
    void *context;
} PassObserver;

/// A derivative given by hand that a backward rests on.
typedef struct GivenUse {
    const GivenRule *rule;
    bool is_checked;  // differences of the helper say whether it is right
} GivenUse;

typedef struct GivenUses {
    LIST(GivenUse) list;
} GivenUses;

typedef struct BackwardOptions {
    const char *const
        *wrt;  // names of the inputs to differentiate; NULL: every floating-point input
    int wrt_count;
    WrapperKind wrapper;
    bool
        keeps_schedule;  // one kernel in the forward's schedule, with atomics where its programs share gradients
    const int *joined;             // parameters that stand for others (Backward's)
    const PassObserver *observer;  // may be NULL
    GivenUses *given;              // out: what is given by hand; may be NULL
    bool skips_scalars;            // numbers that launchers read off tensors stay numbers
    bool is_untuned;  // the kernels of a tuned forward run in the configuration that its tuner took
    bool
        joins_loops;  // loops over one range that the author divided are made one first (joins/joined_loops.h)
    const SavedValues *saved;  // the snapshot's own
    const char *const *
        running;  // outputs whose gradient is one running buffer, as in another variant of the kernel
    int running_count;
    bool excludes;  // the forward was lowered without some numbers of constexprs, and asserts so
} BackwardOptions;

typedef enum BackwardStatus {
    BACKWARD_DERIVED,
    BACKWARD_REFUSED,            // differentiable in principle; `reason` says what is in the way
    BACKWARD_NOT_DIFFERENTIABLE  // no floating-point input reaches a floating-point output
} BackwardStatus;

/// What an argument of an emitted kernel is bound to.
typedef enum ArgumentUse {
    ARGUMENT_SAME,  // the forward's argument `of` (after the forward ran); of a descriptor the tensor that it describes
    ARGUMENT_SHAPE,     // how far the descriptor `of` reaches along `axis`
    ARGUMENT_STRIDE,    // its stride along `axis`, in elements
    ARGUMENT_UPSTREAM,  // gradient of the forward's output `of`, same layout as the output
    ARGUMENT_GRADIENT,  // gradient of the forward's input `of`, same layout, zero where nothing is `stored`
    ARGUMENT_RUNNING,  // `of` is updated in place: a copy of its upstream gradient, in the end its gradient as an input
    ARGUMENT_KEPT,  // a copy of the upstream gradient of `of`, in the end that of what `of` held before; None: not wanted
    ARGUMENT_BEFORE,  // a copy of the forward's argument `of` from before the forward ran
    ARGUMENT_AMID,  // another such copy, of its own, in which the backward repeats stores of the forward
    ARGUMENT_SCRATCH,  // memory for `elements` a program, whatever it holds
    ARGUMENT_STEPS,  // how many tiles the scratch of one loop holds: any number from 1 on is right, more are faster
    ARGUMENT_STAGES,  // how many iterations of a loop are in flight: any number from 1 on is right; the parameter has a default
    ARGUMENT_SLICES,  // how many programs share a sum at most: any number from 1 on is right
    ARGUMENT_FILL,  // whether the kernel stores zeros beside the gradient `of`, all that is `filled`; the parameter has a default: no
    ARGUMENT_PROGRAMS,  // how many programs the forward has along `axis` of the grid
    ARGUMENT_TOGETHER,  // of how many of these a program does the work; the parameter has a default: one
    ARGUMENT_PARTS,  // in how many parts a loop takes the forward's block `of`, which it divides; the parameter has a default: one
    ARGUMENT_DESCRIBED,  // whether tiles are loaded by descriptors, which the launch asks of its `described`; the parameter has a default: no
    ARGUMENT_RUN_TILE,  // the size along `axis` of a tile of runs, 0: how many, 1: lanes of each. Any powers of two are right; the parameter has a default
    ARGUMENT_PART_STRIDE,  // of a gradient `is_parts`, of the input `of`: elements from one sum to the next
} ArgumentUse;

typedef struct BackwardArgument {
    const char *name;  // of the emitted kernel's parameter
    ArgumentUse use;
    const char *of;
    int axis;  // of _SHAPE, _STRIDE and _RUN_TILE, and with an `upstream` or an `input`
    // Python over the forward's arguments and those of ARGUMENT_STEPS:
    const char *elements;  // of _SCRATCH, a program's; of _STEPS, a tile's
    const char *trips;     // ARGUMENT_STEPS: about as many tiles as can be used; NULL: nobody knows
    const char
        *dtype;  // ARGUMENT_SCRATCH, as torch names it; NULL: float32, float64 where a tensor is
    const char *
        stored;  // ARGUMENT_GRADIENT: what the launch stores for certain, as `[(step, length), ...]` in Python over the
    // forward's arguments and `grid.0`, programs along an axis: elements `step * i + ...` for i below length; NULL: not known
    const char *
        filled;  // ARGUMENT_GRADIENT: the same of what it stores under ARGUMENT_FILL, where that is all of the tensor; NULL: there is none
    const char
        *unfilled;  // with `filled`: the same of what it stores without the flag; NULL: not known
    const char *
        upstream;  // ARGUMENT_SAME: the output along whose `axis` this is the stride, and which alone it addresses: the upstream
    // gradient's own stride does as well; NULL: none
    const char *
        input;  // ARGUMENT_SAME: the input along whose `axis` this is the stride, and which alone it addresses, with its gradient: in
    // place of the input, a copy with a stride of its own does as well; NULL: none
    const char **
        read;  // with an `input`: how far the launch may go along its axes, `(axis, length)` in Python over the forward's arguments
    // and `grid.0`, as far as no launch shows that the input is as long
    int read_count;
    int rank;  // with an `input`: of it
    const char *
        same_as;  // ARGUMENT_GRADIENT: another gradient of the launch, or an upstream one, that has the same numbers at the same
    // elements: where the tensors have one layout it does for both, and the kernel takes None for this one; NULL: none
    bool is_constexpr;
    bool
        is_program_sum;  // ARGUMENT_GRADIENT of a scalar: one element a program, whose sum is the gradient
    bool
        is_parts;  // ARGUMENT_GRADIENT: as many buffers as ARGUMENT_SLICES says, whose sum is the gradient; `stored` is of each of them
    const char *
        turns;  // ARGUMENT_SLICES of a flat index: elements of the launch, those of an owner that follow each other, owners and lanes
    // of a tile, as arguments of `_flat_slices` over the forward's arguments and `grid.0`; NULL: it is none
    const char *
        alone;  // ARGUMENT_GRADIENT in parts of a flat index: what is stored, as `stored` has it, where there is one sum; or NULL
    bool has_own;  // ARGUMENT_SLICES: each program has its own as far as there is room
    bool
        has_large;  // with `has_own`: sums of programs with loops or products, as large as what these read
    const char *
        programs;  // ARGUMENT_SLICES: those that share the sums, as `grid.0 * grid.1`; NULL: not known
    const char *
        most;  // ARGUMENT_SLICES without `programs`: more of them share no sum, in Python over the forward's arguments and `grid.0`; or NULL
    bool
        is_optional;  // ARGUMENT_GRADIENT: the kernel takes None, too, and leaves out what is for this gradient alone
    bool
        is_float32;  // ARGUMENT_GRADIENT and _RUNNING: the buffer is float32 whatever the input is (atomics), cast afterwards
} BackwardArgument;

/// What the blocks of a size are to the products of a kernel: a tile of rows and columns, summed over terms.
/// BLOCK_LOOP: loops of several products go over it, and no other block is chosen. BLOCK_STREAM: loops go over rows in it, in a kernel
/// without products. BLOCK_PARTS: loops of several products take it in parts (ARGUMENT_PARTS). BLOCK_FIXED: they go over it, and it stays the forward's. BLOCK_ELEMENTS: in such a kernel each program has one of it, along the axis whose elements lie side by side.
typedef enum BlockRole {
    BLOCK_OTHER,
    BLOCK_ROWS,
    BLOCK_COLUMNS,
    BLOCK_TERMS,
    BLOCK_LOOP,
    BLOCK_PARTS,
    BLOCK_FIXED,
    BLOCK_STREAM,
    BLOCK_ELEMENTS
} BlockRole;

/// A block size of an emitted kernel (autodiff/blocks).
typedef struct LaunchBlock {
    const char *name, *of;  // of the emitted kernel's parameter, and of the forward's
    const char
        *why;  // what speaks against another size than the forward's, a sentence; NULL: nothing
    bool needs_divisor;  // another one has to divide the forward's
    const char *
        *limits;  // parameters of the forward that it has to divide, as the forward's size does
    int limit_count;
    bool numbers[PROGRAM_AXES];  // programs along these axes of the grid number its blocks
    const char *ends
        [PROGRAM_AXES];  // and where masks end them, in Python over the forward's arguments; NULL: not known
    BlockRole role;
    int axis;            // of the grid, that numbers its blocks; -1: none. With a role:
    const char *extent;  // elements that the blocks cover, in Python over the forward's arguments
    const char **
        tensors;  // of BLOCK_ROWS and BLOCK_COLUMNS, in Python: of which the product's loop loads tiles along these and its terms
    int tensor_count;
} LaunchBlock;

/// Elements, in Python over the forward's arguments: `fixed`, and for each lane of a block so many more.
typedef struct LaneCount {
    const char *fixed, *each;
} LaneCount;

/// The loop of a kernel that computes several products in blocks of one free size, the others' sizes being the forward's. Where there is
/// none, in parts of a block: then the tile is a part; or in blocks of the forward's size.
typedef struct LoopTile {
    bool is_owned;     // the block is that of an owner, and the loop goes over other blocks
    const char *rows;  // of the products' results, other than the block's own, in Python
    LaneCount products, kept, loaded;  // results; tiles that are loaded before the loop; in it
    const char **tensors;              // of which it loads, in Python
    int tensor_count;
} LoopTile;

/// Which block holds a row, in a kernel that has no loop over its blocks.
typedef struct WholeRow {
    const char *block;   // the forward's parameter
    const char *length;  // of a row, in Python over the forward's arguments
    int sums;            // tiles of them that loops over several rows carry
} WholeRow;

/// Of what a launch asks whether its tiles may come by descriptors (ARGUMENT_DESCRIBED); all are arguments of the Function.
typedef struct DescribedLoads {
    const char **tensors;  // that tiles are loaded of
    int tensor_count;
    const char **strides;  // numbers that the places of all tiles are sums of multiples of
    int stride_count;
    const char **ones;  // numbers that have to be 1
    int one_count;
    const char **rows;  // numbers that have to be at least 1
    int row_count;
} DescribedLoads;

/// Of one kernel of a backward, on the forward's grid.
typedef struct BackwardLaunch {
    const char *kernel;
    const char *text;  // of the kernel
    BackwardArgument *arguments;
    int argument_count;
    int loop_work;    // loads, products and reductions that its loops hold
    int loops_again;  // loops of the forward that it runs as they were
    int draws;        // operations that draw random numbers
    const char *
        tile;  // elements of the largest tile of a kernel without products, in Python over the forward's constexprs; or NULL
    const char *
        *loaded;  // the tensors, in Python, of which it loads such tiles at once; one for each load
    int loaded_count;
    const char **
        stages;  // the tensors, in Python, of which a loop over programs loads a tile of that size each iteration
    int stage_count;
    bool
        has_bytes;  // one of these may have elements of one byte beside wider ones: a mask, or what was drawn
    LaunchBlock *blocks;
    int block_count;
    bool
        has_tiles;  // three blocks have roles: whatever their sizes are, the gradients are the same
    const LoopTile *loop;  // a block has the role BLOCK_LOOP; or NULL
    const char *
        stream;  // elements of `tile` for each lane of the block with the role BLOCK_STREAM, in Python; NULL: none has it
    int stream_sums;       // tiles that one of its loops carries at once
    const char *elements;  // the same of the role BLOCK_ELEMENTS
    const char *flat_end,
        *flat_lanes;  // of owners of a flat index: where the launch's elements end, and the block that numbers them, in Python over the
    // forward's arguments; NULL: not known, or it has none
    const char *
        flat_run;  // with `flat_lanes`: how many elements each owner has, one after the other, likewise; NULL: not known
    bool
        has_flat_turns;  // programs of the forward take turns up to `flat_end`: so many as its grid has count for nothing
    const char *turns_end,
        *turns_step;  // the programs along the first axis take turns with `range(0, end, step)`, in Python over the forward's arguments,
    // which is all that the kernel does: as many programs as turns are as right; NULL: it is not so
    bool
        has_together;  // a program may do the work of several (ARGUMENT_TOGETHER) along `together_axis` of the grid
    int together_axis;
    const char *
        together_least;  // so many, or one: these store elements that lie side by side, in Python over the forward's arguments; NULL: as many as fit
    bool
        together_iterates;  // not programs, but iterations of its loop over programs (ARGUMENT_SLICES)
    bool is_sliced,
        sliced
            [3];  // only as many programs as there are slices have something to do, and the launch may have these alone: the
    // slices along the first of these axes of the grid, one along the others
    WholeRow row;     // the kernel has no loop over blocks of a row; its `block` is NULL of others
    bool is_precise;  // a product says how precise it is: of float32, it may take no tensor cores
    DescribedLoads described;
    bool has_parts;  // loops take the block with the role BLOCK_PARTS in parts
    bool
        follows_tuner;  // the first launch is tuned: here its blocks stay, but for parts of them (ARGUMENT_PARTS), with warps and stages
    bool
        is_tuned_before;  // it runs in the configuration that the autotuner chose for the first launch
} BackwardLaunch;

/// How one gradient is written.
typedef struct Gradient {
    const char *input;
    bool is_atomic;
    bool adds_number;     // of atomics: each program adds one number, in no loop
    bool is_program_sum;  // of a scalar: each program stores a sum of its own
    bool is_parts;        // each of a few programs stores a sum of its own
    bool is_sum;      // several statements, iterations or programs add to it: the buffer is float32
    const char *why;  // for atomics: the axis and how many programs collide, one sentence
    Range range;      // the load that makes it so
    const char *
        picked;  // where elements are read by an index from memory, that the row's own store adds ("line 4"); or NULL
} Gradient;

/// What must hold for the gradient to be right and cannot be seen in the kernel.
typedef struct Assumption {
    const char *text;  // behind "the gradient assumes that"
    Range range;       // the access that it is about
    const char
        *offsets;  // the parameter whose elements do not decrease, as the Function checks; or NULL
    int program_axis;  // of the grid: each program reads its own offset and the next, or its own length; -1: digits of ids number them
    const char *
        blocks;  // of `offsets`: instead, no two pairs of its elements are one, "step, place, place" from pair to pair; or NULL
    const char
        *lengths;  // the parameter whose elements end rows of `of`, as the Function checks; or NULL
    const char *step, *of;  // from one row to the next, in Python over the forward's arguments
    const char *indices;    // the parameter whose elements differ, as the Function checks; or NULL
    const char *
        ranges;  // which of them: `[(step, length), ...]` in Python over the forward's arguments and `grid.0`
    const char *second_indices;  // the same of a second index of the place; or NULL
    const char *second_ranges;
    bool are_pairs;  // both indices together differ; else each by itself
    const char **
        more;  // of `are_pairs`: further indices that differ together with these, each a parameter and its ranges
    int more_count;
    int64_t further;  // no index may be that much larger than another one; 0: no two may be one
    const char *
        spans;  // where the rows of each program begin and end, and whether it has any, in Python over `@0`, `@1`; or NULL
    const char *span_counts;  // how many of each of these there are: a list over `grid.0`
    const char *span_flags;   // flags under which these rows are stored, in Python; NULL: always
    const char *span_reads;   // a parameter that they are read from
    int span_axes;            // how many numbers tell the programs
    int span_lanes;  // how many tell lanes, behind these: then each lane has one element, and no last one is said
} Assumption;

/// Steps of the elements of one tensor that no launch of the file shows, and that the Function looks at: where two sums of the ranges
/// are one, its gradient would be wrong.
typedef struct StepCheck {
    const char *of;  // the tensor
    const char **
        ranges;  // `(step, length)`, each as in `stored` of an argument; a length may be None: as many as there are
    int range_count;
    bool is_doubted;    // the launches of the file do not show that no element is touched twice
    const char *guard;  // flags, in Python, under which it is touched; "": always
    bool
        is_of_windows;  // rows of a picture, of which windows end where these do: checked whatever launches there are
    const struct StepCheck *
        other;  // of a pair of stores, which are not to meet: the ranges of the second one; or NULL
    const char *distance;  // then from the base of the first to that of the second, in Python
    bool
        is_of_stores;  // of one store, which the launches of the file do not show to keep to its own elements
    const char **bounds;  // of `is_of_stores`: for each range one that no tuner decides, or NULL
    int programs;  // of a pair: so many ranges, the first ones, number programs, and only other programs have to keep apart; 0: all
} StepCheck;

/// How the backward has the states of a recurrence in reverse order.
typedef struct LoopNote {
    Range range;  // the forward's loop
    bool is_recomputed;
    const char *text;
} LoopNote;

typedef struct Backward {
    BackwardStatus status;
    const Kernel *kernel;
    const char *reason;  // for REFUSED and NOT_DIFFERENTIABLE: one sentence
    Range reason_range;
    bool only_fills;           // NOT_DIFFERENTIABLE, and no gradient is lost (kernel_only_fills)
    const char *kernel_text;   // the emitted kernels only
    const char *helper_text;   // combine functions that they need and the file lacks, or ""
    BackwardLaunch *launches;  // in this order, one after the other
    int launch_count;
    BackwardLaunch whole;  // the arguments of all of them, each name once
    struct Backward *
        whole_rows;  // one kernel in place of all, for rows that one block holds, in the block that its launch says; or NULL
    const char **inputs;  // parameter names that get a gradient
    int input_count;
    const char **outputs;  // parameter names whose upstream gradient is read
    int output_count;
    Gradient *gradients;  // one per input
    int gradient_count;
    const GivenUse *given;  // rules by hand that the gradients rest on
    int given_count;
    int atomics;      // gradients that need an atomic
    bool is_partial;  // options->wrt left inputs out
    bool is_untuned;  // the forward is tuned, and its backward runs in the same configuration
    const char
        *scalars_lost;      // why numbers that launchers read off tensors have no gradient; or NULL
    const char *flag_lost;  // which value of which flag the backward is not for, and why; or NULL
    Range flag_range;
    LoopNote *loop_notes;
    int loop_note_count;
    StepCheck *steps;
    int step_count;
    Assumption *assumptions;
    int assumption_count;
    const int *
        joined;  // per parameter of the forward: the one that it shares its tensor with in all launches, or -1; or NULL
    const char **
        stored;  // per parameter of the forward: what it stores for certain and loads nowhere else, as a gradient's `stored`; or NULL
    bool single_axes
        [PROGRAM_AXES];  // of the grid, which the kernel does not read: a launch has to have one program along them
} Backward;

/// Where an argument of that name stands among a launch's; -1: it has none.
int launch_index(const BackwardLaunch *launch, const char *name);
/// The first block of a launch that has the role; NULL.
const LaunchBlock *launch_block_with(const BackwardLaunch *launch, BlockRole role);
/// Whether one launch of a backward, and no more, has an argument of that name.
bool launch_alone(const Backward *backward, const char *name);
/// Whether two checks ask the same of the same tensor.
bool step_checks_are_equal(const StepCheck *a, const StepCheck *b);

#endif
