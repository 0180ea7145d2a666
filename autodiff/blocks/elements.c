// A kernel without products in, each program of which has one block along the axis that lies in memory; that block, where it is free, out.
#include <string.h>

#include "autodiff/blocks/origins.h"

typedef struct ElementSearch {
    Blocks *blocks;
    const Value *symbol;  // of the lanes that lie side by side
    bool fits;
} ElementSearch;

/// The block whose lanes are one element apart; NULL: none.
static const Value *lanes_side_by_side(Blocks *blocks, Op *store) {
    const Type *type = &store->operands[0]->type;
    Affine offset = access_by(blocks->former, store).offset;
    int64_t step;
    bool is_other;
    for (int k = 0; offset.known && k < offset.rank && k < type->rank; k++)
        if (poly_is_constant(offset.lane[k], &step) && step == 1)
            return block_dim(blocks, type->dims[k], &is_other);
    return NULL;
}

static bool visit_store(void *context, Op *op) {
    ElementSearch *search = context;
    if (op->code != OP_STORE) return true;
    const Value *symbol = lanes_side_by_side(search->blocks, op);
    search->fits &= symbol && (!search->symbol || symbol == search->symbol);
    search->symbol = symbol;
    return search->fits;
}

/// The one axis of the grid that numbers the blocks, with an end that the launch knows; -1.
static int numbered_axis(const LaunchBlock *block) {
    int found = -1;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!block->numbers[axis]) continue;
        if (found >= 0 || !block->ends[axis]) return -1;
        found = axis;
    }
    return found;
}

/// Tiles of runs have sizes of their own: the forward's block is in none of them, and says how many elements the programs have. There is
/// room for one more than the tiles' blocks.
static void add_flat_block(BackwardLaunch *launch) {
    bool is_tiled = false;
    const BackwardArgument *lanes = NULL;
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        is_tiled |= argument->use == ARGUMENT_RUN_TILE;
        if (argument->use == ARGUMENT_SAME && strcmp(argument->of, launch->flat_lanes) == 0)
            lanes = argument;
    }
    if (is_tiled && lanes)
        launch->blocks[launch->block_count++] = (LaunchBlock){.name = lanes->name, .of = lanes->of};
}

/// Owners of a flat index go through all elements in turns of a block, whatever it is.
static void describe_flat(BackwardLaunch *launch) {
    add_flat_block(launch);
    for (int i = 0; launch->flat_end && launch->loaded_count && i < launch->block_count; i++) {
        LaunchBlock *block = &launch->blocks[i];
        if (strcmp(block->of, launch->flat_lanes) != 0) continue;
        launch->elements = "1";
        block->role = BLOCK_ELEMENTS;
        block->axis = 0;
        block->extent = launch->flat_end;
        block->tensors = launch->loaded;
        block->tensor_count = launch->loaded_count;
    }
    if (!launch->elements) launch->flat_end = NULL;
}

void elements_describe(Blocks *blocks, BackwardLaunch *launch) {
    ElementSearch search = {.blocks = blocks, .fits = true};
    bool is_chosen = launch->has_tiles || launch->loop || launch->stream || launch->turns_end;
    if (launch->flat_lanes && !is_chosen) {
        describe_flat(launch);
        return;
    }
    if (is_chosen || !launch->tile || !launch->loaded_count || !launch_is_repeatable(launch, false))
        return;
    region_walk(blocks->function->body, visit_store, &search);
    if (!search.fits || !search.symbol) return;
    LaunchBlock *block = launch_block_of(blocks, launch, search.symbol);
    if (!block || block->why || block->needs_divisor || block->limit_count) return;
    int axis = numbered_axis(block);
    const char *lanes = factors_but(blocks->arena, launch->tile, block->of);
    if (axis < 0 || !lanes) return;
    launch->elements = lanes;
    block->role = BLOCK_ELEMENTS;
    block->axis = axis;
    block->extent = block->ends[axis];
    block->tensors = launch->loaded;
    block->tensor_count = launch->loaded_count;
}
