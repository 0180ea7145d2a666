// An emitted kernel in; of each of its block sizes whether it may have another than the forward's, and which axes of the grid follow, out.
#include "autodiff/blocks/free_blocks.h"

#include <string.h>

#include "autodiff/blocks/origins.h"

/* ---- the blocks ---- */

static bool visit_dims(void *context, Op *op) {
    Blocks *blocks = context;
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < op->results[i]->type.rank; d++) {
            const Poly *dim = op->results[i]->type.dims[d];
            for (int t = 0; dim && t < dim->count; t++)
                for (int a = 0; a < dim->terms[t].atom_count; a++) {
                    Value *atom = dim->terms[t].atoms[a];
                    bool is_parameter = !atom->op && !atom->region->parent;
                    if (is_parameter && !block_of(blocks, atom))
                        LIST_PUSH(blocks->arena, &blocks->blocks, ((BlockSize){.symbol = atom}));
                }
        }
    return true;
}

/* ---- what speaks against a block of its own ---- */

static bool is_of_axis(const Origin *origin, int axis) {
    return origin->kind != ORIGIN_LOOP && origin->axis == axis;
}

/// Where masks end the blocks that programs along an axis number; NULL: not known, or in several places.
static const Poly *end_along(const Blocks *blocks, int axis) {
    const Poly *end = NULL;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (!is_of_axis(origin, axis) || origin->kind == ORIGIN_OWNERS || !origin->symbol) continue;
        if (!origin->mask_end || (end && !poly_equal(end, origin->mask_end))) return NULL;
        end = origin->mask_end;
    }
    return end;
}

/// Programs along an axis have one block each, and all of these make the tensor: then nothing else may tell programs apart.
static void settle_axis(Blocks *blocks, int axis, Value **numbered) {
    bool is_shared_out = false, has_own = false;
    *numbered = NULL;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (!is_of_axis(origin, axis)) continue;
        is_shared_out |= origin->kind == ORIGIN_OWNERS;
        if (origin->kind == ORIGIN_OWNERS || !origin->symbol) continue;
        has_own |= origin->kind == ORIGIN_PROGRAM;
        if (*numbered && *numbered != origin->symbol) {
            block_stays(blocks, *numbered, "programs number blocks of two sizes");
            block_stays(blocks, origin->symbol, "programs number blocks of two sizes");
        }
        *numbered = origin->symbol;
    }
    if (!*numbered) return;
    if (has_own && is_shared_out)
        block_stays(blocks, *numbered, "programs with blocks of it share out other work");
    if (blocks->counts_programs[axis])
        block_stays(blocks, *numbered, "the number of programs is used by itself");
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        bool is_other = !origin->symbol && origin->kind == ORIGIN_PROGRAMS;
        if (is_of_axis(origin, axis) && origin->kind != ORIGIN_OWNERS &&
            (origin->is_plain || is_other))
            block_stays(blocks, *numbered, "the number of a program is used by itself");
    }
}

/// Whether as many rows, or columns, are numbered as there are blocks of the size: up to the masks' end, or all that the grid has room for.
static bool numbers_all(Blocks *blocks, int axis, const Value *size, const Poly *end) {
    const Value *index = blocks->tiles[axis], *extent = index ? index->op->operands[3] : NULL;
    Value *symbol;
    if (!index || !end) return false;
    if (!extent) return axis == block_axis(grid_axis(axis), 0);
    const Poly *reach = rounded_up(blocks, extent, &symbol);
    return reach && symbol == size && poly_equal(reach, end);
}

/// Rows and columns of tiles are numbered by one id, which nothing else may use.
static void settle_tiles(Blocks *blocks, int axis, Value *const *numbered) {
    int rows = block_axis(axis, 0), columns = block_axis(axis, 1);
    bool fits = !blocks->counts_programs[axis];
    if (!blocks->tiles[rows] && !blocks->tiles[columns]) return;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        fits &= !is_of_axis(origin, axis) || (!origin->is_plain && !origin->symbol);
    }
    for (int k = rows; k <= columns; k++)
        fits &= numbered[k] && numbers_all(blocks, k, numbered[k], end_along(blocks, k));
    block_stays(blocks, numbered[axis], "programs number tiles in another way, too");
    for (int k = rows; k <= columns && !fits; k++)
        block_stays(blocks, numbered[k],
                    "programs number tiles in another way than by two such blocks");
}

static void settle_origin(Blocks *blocks, const Origin *origin) {
    BlockSize *block = origin->symbol ? block_of(blocks, origin->symbol) : NULL;
    if (!block) return;
    bool is_masked = origin->mask_end && !origin->is_unmasked;
    if (origin->kind == ORIGIN_PROGRAM || origin->kind == ORIGIN_PROGRAMS) {
        block->needs_divisor |= !is_masked;
        return;
    }
    if (origin->is_plain)
        block_stays(blocks, block->symbol,
                    "the loop over its blocks uses a block's number by itself");
    bool ends_at_mask = is_masked && poly_equal(origin->mask_end, origin->end);
    if (!ends_at_mask && !loop_ends_alike(blocks, origin))
        block_stays(blocks, block->symbol,
                    "not every access is masked where the loop over its blocks ends");
}

/* ---- what the launch is told ---- */

const Poly *blocks_end(const Blocks *blocks, const Value *size) {
    const Poly *end = NULL;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (origin->symbol != size || !origin->end) continue;
        if (end && !poly_equal(end, origin->end)) return NULL;
        end = origin->end;
    }
    return end;
}

int launch_argument_of(const Function *backward, const BackwardLaunch *launch, const Value *value) {
    for (int i = 0; i < launch->argument_count; i++)
        if (backward->parameters[i].value == value) return i;
    return -1;
}

/// The same, where that is an argument of the forward's.
static int argument_of(const Function *backward, const BackwardLaunch *launch, const Value *value) {
    int index = launch_argument_of(backward, launch, value);
    return index >= 0 && launch->arguments[index].use == ARGUMENT_SAME ? index : -1;
}

const char *launch_number_text(const Blocks *blocks, const BackwardLaunch *launch,
                               const Poly *number) {
    for (int t = 0; number && t < number->count; t++)
        for (int a = 0; a < number->terms[t].atom_count; a++) {
            const Value *atom = number->terms[t].atoms[a];
            int index = argument_of(blocks->function, launch, atom);
            if (index < 0 ||
                strcmp(launch->arguments[index].of, launch->arguments[index].name) != 0)
                return NULL;
        }
    return number ? poly_print(blocks->arena, number) : NULL;
}

static void list_limits(const Blocks *blocks, const BackwardLaunch *launch, const BlockSize *block,
                        LaunchBlock *own) {
    own->limits = ARENA_ARRAY(blocks->arena, const char *, block->limits.count + 1);
    for (LIST_EACH(int, i, block->limits)) {
        int index = argument_of(blocks->function, launch, block->limits.items[i]);
        if (index >= 0)
            own->limits[own->limit_count++] = launch->arguments[index].of;
        else if (!own->why)
            own->why = "it divides a size that the launch does not know";
    }
}

static void list_blocks(Blocks *blocks, BackwardLaunch *launch, Value *const numbered[BLOCK_AXES]) {
    launch->blocks = ARENA_ARRAY(blocks->arena, LaunchBlock, blocks->blocks.count + 1);
    for (LIST_EACH(int, i, blocks->blocks)) {
        const BlockSize *block = &blocks->blocks.items[i];
        int index = argument_of(blocks->function, launch, block->symbol);
        if (index < 0) continue;
        LaunchBlock *own = &launch->blocks[launch->block_count++];
        *own = (LaunchBlock){.name = launch->arguments[index].name,
                             .of = launch->arguments[index].of,
                             .why = block->why,
                             .needs_divisor = block->needs_divisor};
        list_limits(blocks, launch, block, own);
        for (int axis = 0; axis < BLOCK_AXES; axis++) {
            if (numbered[axis] != block->symbol) continue;
            const char *end = launch_number_text(blocks, launch, end_along(blocks, axis));
            own->numbers[grid_axis(axis)] = true;
            own->ends[grid_axis(axis)] = end;
            own->needs_divisor |= !end;
        }
    }
}

/// Studies the function; the blocks that programs number along each axis, in `numbered`. False where it has no blocks.
static bool study(Blocks *blocks, Arena *arena, Function *function, Value *const *counts,
                  Value **numbered) {
    *blocks = (Blocks){.arena = arena,
                       .function = function,
                       .former = former_new(arena),
                       .nodes = map_new(arena),
                       .ends = map_new(arena),
                       .summed = map_new(arena),
                       .read = map_new(arena)};
    for (int i = 0; counts && i < BLOCK_AXES - PROGRAM_AXES; i++)
        blocks->counts[PROGRAM_AXES + i] = counts[i];
    region_walk(function->body, visit_dims, blocks);
    if (!blocks->blocks.count) return false;
    origins_find(blocks);
    statements_visit(blocks);
    sums_settle(blocks);
    for (int axis = 0; axis < BLOCK_AXES; axis++) settle_axis(blocks, axis, &numbered[axis]);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) settle_tiles(blocks, axis, numbered);
    for (LIST_EACH(int, i, blocks->origins)) settle_origin(blocks, &blocks->origins.items[i]);
    return true;
}

bool blocks_study(Blocks *blocks, Arena *arena, Function *function) {
    Value *numbered[BLOCK_AXES];
    return study(blocks, arena, function, NULL, numbered);
}

void blocks_describe(Arena *arena, Function *backward, Value *const *counts,
                     BackwardLaunch *launch) {
    Blocks blocks;
    Value *numbered[BLOCK_AXES];
    if (!study(&blocks, arena, backward, counts, numbered)) return;
    list_blocks(&blocks, launch, numbered);
    products_describe(&blocks, launch);
    loops_describe(&blocks, launch);
    streams_describe(&blocks, launch);
    turns_describe(&blocks, launch);
    elements_describe(&blocks, launch);
}
