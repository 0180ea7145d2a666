// The products of a kernel in; which of its blocks are their rows, columns and terms out, where each may have any size.
#include <string.h>

#include "autodiff/blocks/origins.h"

enum { ROLE_COUNT = BLOCK_TERMS + 1 };

typedef struct ProductSearch {
    Blocks *blocks;
    BackwardLaunch *launch;
    Value *sizes[ROLE_COUNT];
    LIST(const char *) tensors[ROLE_COUNT];
    bool any, fits;
} ProductSearch;

/// The block along one dim of a tile; NULL: it is none.
static Value *block_along(const ProductSearch *search, const Value *tile, int dim) {
    bool is_other;
    return block_dim(search->blocks, tile->type.dims[dim], &is_other);
}

static bool is_left_out(const Value *operand) { return !operand || value_is_none(operand); }

/// All products have the same blocks in the same roles.
static bool visit_product(void *context, Op *op) {
    ProductSearch *search = context;
    if (!op_is_product(op->code)) return true;
    const Value *a = op->operands[0], *b = op->operands[1];
    search->fits &= op->code == OP_DOT && a->type.rank == 2 && b->type.rank == 2;
    if (!search->fits) return true;
    for (int i = 3; i < op->operand_count; i++)
        search->launch->is_precise |= !is_left_out(op->operands[i]);
    Value *sizes[ROLE_COUNT] = {[BLOCK_ROWS] = block_along(search, a, 0),
                                [BLOCK_COLUMNS] = block_along(search, b, 1),
                                [BLOCK_TERMS] = block_along(search, a, 1)};
    for (int role = BLOCK_ROWS; role < ROLE_COUNT; role++) {
        search->fits &= sizes[role] && (!search->any || sizes[role] == search->sizes[role]);
        for (int other = BLOCK_ROWS; other < role; other++)
            search->fits &= sizes[role] != sizes[other];
        search->sizes[role] = sizes[role];
    }
    search->any = true;
    return true;
}

const char *launch_tensor_of(const Blocks *blocks, const BackwardLaunch *launch, Op *load) {
    const Value *parameter = access_by(blocks->former, load).parameter;
    int index = launch_argument_of(blocks->function, launch, parameter);
    const BackwardArgument *argument = index < 0 ? NULL : &launch->arguments[index];
    if (argument && argument->use == ARGUMENT_SAME) return argument->of;
    return argument && argument->use == ARGUMENT_UPSTREAM ? argument->name : NULL;
}

/// Tiles along terms, which shared memory holds for the iterations that are in flight.
static bool visit_load(void *context, Op *op) {
    ProductSearch *search = context;
    if (op->code != OP_LOAD || op->results[0]->type.rank < 2) return true;
    const Value *tile = op->results[0], *first = block_along(search, tile, 0),
                *second = block_along(search, tile, 1);
    for (int role = BLOCK_ROWS; role <= BLOCK_COLUMNS; role++) {
        const Value *size = search->sizes[role], *terms = search->sizes[BLOCK_TERMS];
        bool is_it = (first == size && second == terms) || (first == terms && second == size);
        if (!is_it || tile->type.rank > 2) continue;
        const char *tensor = launch_tensor_of(search->blocks, search->launch, op);
        search->fits &= tensor != NULL;
        LIST_PUSH(search->blocks->arena, &search->tensors[role], tensor);
        return true;
    }
    search->fits = false;
    return true;
}

bool launch_is_repeatable(const BackwardLaunch *launch, bool scratch) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool fits = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_SHAPE ||
                    argument->use == ARGUMENT_STRIDE || argument->use == ARGUMENT_UPSTREAM ||
                    argument->use == ARGUMENT_GRADIENT ||
                    (scratch && argument->use == ARGUMENT_SCRATCH);
        if (!fits || argument->is_program_sum || argument->is_parts) return false;
    }
    return true;
}

LaunchBlock *launch_block_of(const Blocks *blocks, BackwardLaunch *launch, const Value *size) {
    int index = launch_argument_of(blocks->function, launch, size);
    for (int i = 0; index >= 0 && i < launch->block_count; i++)
        if (strcmp(launch->blocks[i].name, launch->arguments[index].name) == 0)
            return &launch->blocks[i];
    return NULL;
}

static LaunchBlock *launch_block(const ProductSearch *search, const Value *size) {
    return launch_block_of(search->blocks, search->launch, size);
}

/// Whether a block is free, with the elements that its blocks cover.
static bool settle_role(const ProductSearch *search, BlockRole role) {
    LaunchBlock *block = launch_block(search, search->sizes[role]);
    if (!block || block->why || block->needs_divisor || block->limit_count) return false;
    block->axis = -1;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!block->numbers[axis]) continue;
        if (block->axis >= 0) return false;
        block->axis = axis;
    }
    block->extent = block->axis >= 0
                        ? block->ends[block->axis]
                        : launch_number_text(search->blocks, search->launch,
                                             blocks_end(search->blocks, search->sizes[role]));
    block->tensors = search->tensors[role].items;
    block->tensor_count = search->tensors[role].count;
    return block->extent && (role == BLOCK_TERMS || block->tensor_count);
}

void products_describe(Blocks *blocks, BackwardLaunch *launch) {
    ProductSearch search = {
        .blocks = blocks, .launch = launch, .fits = launch_is_repeatable(launch, false)};
    if (search.fits) region_walk(blocks->function->body, visit_product, &search);
    if (!search.any || !search.fits) return;
    region_walk(blocks->function->body, visit_load, &search);
    for (int role = BLOCK_ROWS; role < ROLE_COUNT && search.fits; role++)
        search.fits = settle_role(&search, (BlockRole)role);
    if (!search.fits) return;
    launch->has_tiles = true;
    for (int role = BLOCK_ROWS; role < ROLE_COUNT; role++)
        launch_block(&search, search.sizes[role])->role = (BlockRole)role;
}
