// Inside autodiff/blocks/: where the blocks of a kernel lie, and how its values depend on that.
#ifndef TAD_AUTODIFF_BLOCKS_ORIGINS_H
#define TAD_AUTODIFF_BLOCKS_ORIGINS_H

#include "analysis/addresses/affine.h"
#include "autodiff/state/result.h"

/// Axes of the grid; and behind them the rows and the columns of tiles that the ids along an axis number.
enum { BLOCK_AXES = 3 * PROGRAM_AXES };

static inline int block_axis(int axis, int digit) { return PROGRAM_AXES + 2 * axis + digit; }
/// The axis of the grid that a row or a column of tiles, or an axis of the grid, is of.
static inline int grid_axis(int axis) {
    return axis < PROGRAM_AXES ? axis : (axis - PROGRAM_AXES) / 2;
}

/// A constexpr that is the length of tiles along some axis.
typedef struct BlockSize {
    Value *symbol;
    const char *why;  // it stays the forward's; NULL: nothing speaks against another
    bool needs_divisor;
    LIST(Value *) limits;  // other sizes that it has to divide, as the forward's does
} BlockSize;

typedef enum OriginKind {
    ORIGIN_PROGRAM,   // a program id: each program has its block
    ORIGIN_PROGRAMS,  // a loop over all programs of an axis
    ORIGIN_OWNERS,    // a loop over blocks that the programs of an axis share out
    ORIGIN_LOOP,      // a loop over blocks
} OriginKind;

/// What says where a block begins: `variable * block + lane`, or `variable + lane` where a loop goes in steps of the block.
typedef struct Origin {
    OriginKind kind;
    Value *variable;
    int axis;       // one of BLOCK_AXES; not of _LOOP
    Op *loop;       // not of _PROGRAM
    Value *symbol;  // of the block; NULL: not known yet
    bool counts_blocks;
    const Poly *end;       // of _OWNERS and _LOOP: where the loop ends, in elements
    bool is_plain;         // used without lanes
    bool is_unmasked;      // an access has no mask that ends it, or two have other ends
    const Poly *mask_end;  // where masks end it; NULL: no access yet
} Origin;

/// What a mask leaves of an origin's elements: those below `end`.
typedef struct MaskEnd {
    int origin;
    const Poly *end;
} MaskEnd;

typedef struct Reduction {
    Op *op;
    int node;
    Value *symbol;
} Reduction;

/// One kernel under study. Dimensions of values that are no affine numbers are nodes; operations join them.
typedef struct Blocks {
    Arena *arena;
    Function *function;
    Former *former;
    LIST(BlockSize) blocks;
    LIST(Origin) origins;
    bool counts_programs[BLOCK_AXES];  // how many there are along an axis is used by itself
    const Value
        *counts[BLOCK_AXES];  // how many there are, where that is no OP_NUM_PROGRAMS; or NULL
    const Value *tiles[BLOCK_AXES];  // the OP_TILE_INDEX of a row or a column; or NULL
    Map read;                        // operations that do more than number tiles -> the kernel
    Map nodes;                       // value -> its first node, plus 1
    LIST(int)
    parents, labels;  // of nodes: the one that it is joined with; its origin, -1: none known
    Map ends;         // comparisons -> MaskEnd
    LIST(Reduction) reductions;
    Map summed;  // reductions that a loop adds up over all blocks
} Blocks;

BlockSize *block_of(Blocks *blocks, const Value *symbol);
/// The constexpr that is the dim, NULL where it is something else; `*is_other`: something that is made of one.
Value *block_dim(Blocks *blocks, const Poly *dim, bool *is_other);
void block_stays(Blocks *blocks, const Value *symbol, const char *why);
/// All blocks that the type's dims mention stay.
void type_stays(Blocks *blocks, const Type *type, const char *why);
/// The number of a scalar, where its form says all; NULL.
const Poly *scalar_poly(Blocks *blocks, Value *value);
/// The n of `(n + block - 1) // block`, with the block; NULL.
const Poly *rounded_up(Blocks *blocks, const Value *value, Value **symbol);
/// The origins of the function: program ids, and loops that go from block to block.
void origins_find(Blocks *blocks);
int origin_of_loop(const Blocks *blocks, const Op *loop);

enum { LABELS_NONE = -1 };

/// Whether a loop over blocks goes through the same elements whatever the size is: up to the masks' end, or to a multiple of another
/// size, which this one then has to divide.
bool loop_ends_alike(Blocks *blocks, const Origin *origin);
/// Whether a value is `start // other`, the same for all elements of a block whose size divides the other one: notes that it has to.
bool visit_quotient(Blocks *blocks, const Op *op);
/// The same of `start < middle`, where the middle is a multiple of the other size.
bool visit_middle(Blocks *blocks, const Op *op);
/// Whether an operation asserts that one size is a multiple of another, which then has to divide it: noted.
bool visit_assertion(Blocks *blocks, const Op *op);

/// Whether a value is a number, or an address, whose affine form says all about it.
bool value_is_affine(Blocks *blocks, Value *value);
/// Takes a form that something uses for what lies at `origin + lane`: notes what it uses otherwise. `labels`: the origin along each axis of
/// `type`, LABELS_NONE where nothing depends on it; `*rest`: what is left of the base. May be NULL, both.
void form_use(Blocks *blocks, const Affine *form, const Type *type, int *labels, const Poly **rest);
/// Notes a number of the program's that something uses.
void poly_use(Blocks *blocks, const Poly *poly);

/// Looks at all of a function: which of its blocks are free, and which origins they have. False where it has none.
bool blocks_study(Blocks *blocks, Arena *arena, Function *function);

/// What the statements of the kernel join, label, and sum up: visit.c.
void statements_visit(Blocks *blocks);
int node_root(Blocks *blocks, int node);
/// The first node of a value's dims.
int nodes_of(Blocks *blocks, const Value *value);
/// The first end that the mask has for an origin's elements; NULL: none.
const Poly *mask_end_of(const Blocks *blocks, const Value *mask, int origin);

/// Settles what sums along blocks, and what loops over them carry: sums.c.
void sums_settle(Blocks *blocks);

/// Gives the launch's blocks their roles, where all of them are free: products.c.
void products_describe(Blocks *blocks, BackwardLaunch *launch);
/// Describes the one free block that loops of several products go over, where there is one: loops.c.
void loops_describe(Blocks *blocks, BackwardLaunch *launch);
/// Gives the one free block that loops of a kernel without products go over its role, where there is one: streams.c.
void streams_describe(Blocks *blocks, BackwardLaunch *launch);
/// Gives the one free block of a program its role, along the axis that lies in memory, where programs number such blocks: elements.c.
void elements_describe(Blocks *blocks, BackwardLaunch *launch);
/// Says how many turns programs take, where all that the kernel does is one loop of them: turns.c.
void turns_describe(Blocks *blocks, BackwardLaunch *launch);
/// Where all loops over blocks of a size end; NULL: they have other ends.
const Poly *blocks_end(const Blocks *blocks, const Value *size);
/// Whether nothing of the launch is by program, and nothing is updated that a second run would find changed; `scratch`: but for memory
/// of its own.
bool launch_is_repeatable(const BackwardLaunch *launch, bool scratch);
/// What the launch is told of a block; NULL: nothing.
LaunchBlock *launch_block_of(const Blocks *blocks, BackwardLaunch *launch, const Value *size);
/// The other factors of a product of names, "1" where there are none; NULL: the name is not in it, or more than once.
const char *factors_but(Arena *arena, const char *product, const char *name);
/// The tensor that a tile is loaded from, in Python; NULL: it has no name where the launch stands.
const char *launch_tensor_of(const Blocks *blocks, const BackwardLaunch *launch, Op *load);
/// The argument of the launch that a parameter of the kernel is bound by; -1.
int launch_argument_of(const Function *backward, const BackwardLaunch *launch, const Value *value);
/// Python over the forward's arguments for a number of the kernel's; NULL: it is made of something else.
const char *launch_number_text(const Blocks *blocks, const BackwardLaunch *launch,
                               const Poly *number);

#endif
