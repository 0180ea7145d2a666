// A kernel without products in; the one of its blocks that loops go over, and that is free, with what a lane of it takes, out.
#include <string.h>

#include "autodiff/blocks/free_blocks.h"
#include "autodiff/blocks/origins.h"

/// Whether loops go over its blocks, in each program over all of them.
static bool is_looped(const Blocks *blocks, const Value *symbol) {
    bool any = false;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (origin->symbol != symbol) continue;
        if (origin->kind != ORIGIN_LOOP) return false;
        any = true;
    }
    return any;
}

static const Value *symbol_of(const Blocks *blocks, const BackwardLaunch *launch,
                              const LaunchBlock *block) {
    for (LIST_EACH(int, i, blocks->blocks)) {
        const Value *symbol = blocks->blocks.items[i].symbol;
        int index = launch_argument_of(blocks->function, launch, symbol);
        if (index >= 0 && strcmp(launch->arguments[index].name, block->name) == 0) return symbol;
    }
    return NULL;
}

const char *factors_but(Arena *arena, const char *product, const char *name) {
    Buffer rest = buffer_new(arena);
    int found = 0;
    for (const char *at = product; *at;) {
        const char *end = strstr(at, " * ");
        size_t size = end ? (size_t)(end - at) : strlen(at);
        bool is_it = size == strlen(name) && strncmp(at, name, size) == 0;
        if (!is_it) buffer_printf(&rest, "%s%.*s", rest.size ? " * " : "", (int)size, at);
        found += is_it;
        at += size + (end ? 3 : 0);
    }
    if (found != 1) return NULL;
    return rest.size ? buffer_text(&rest) : "1";
}

/// Whether a text of the launch has the name: memory, or what is stored, would be another with another size.
static bool is_told(const BackwardLaunch *launch, const char *name) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        const char *const texts[] = {argument->elements, argument->stored};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (texts[k] && strstr(texts[k], name)) return true;
    }
    return false;
}

/// Whether the launch may run in other blocks than the forward's: sums in parts are apart by programs, whatever their blocks are.
static bool may_have_blocks(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool fits = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_SHAPE ||
                    argument->use == ARGUMENT_STRIDE || argument->use == ARGUMENT_UPSTREAM ||
                    argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_SCRATCH ||
                    argument->use == ARGUMENT_PART_STRIDE ||
                    (argument->use == ARGUMENT_SLICES && !argument->is_constexpr);
        if (!fits || argument->is_program_sum) return false;
    }
    return true;
}

typedef struct CarriedTiles {
    int most;
} CarriedTiles;

static bool visit_carried(void *context, Op *op) {
    CarriedTiles *tiles = context;
    int count = 0;
    for (int i = 0; op->code == OP_FOR && i < op->result_count; i++)
        count += op->results[i]->type.rank > 0;
    tiles->most = count > tiles->most ? count : tiles->most;
    return true;
}

int carried_tiles(const Function *function) {
    CarriedTiles tiles = {0};
    region_walk(function->body, visit_carried, &tiles);
    return tiles.most;
}

void streams_describe(Blocks *blocks, BackwardLaunch *launch) {
    if (launch->has_tiles || launch->loop || !launch->tile || !launch->loaded_count ||
        !may_have_blocks(launch))
        return;
    LaunchBlock *found = NULL;
    for (int i = 0; i < launch->block_count; i++) {
        LaunchBlock *block = &launch->blocks[i];
        bool is_free = !block->why && !block->needs_divisor && !block->limit_count;
        const Value *symbol = is_free ? symbol_of(blocks, launch, block) : NULL;
        if (!symbol || !is_looped(blocks, symbol)) continue;
        if (found) return;
        found = block;
        found->extent = launch_number_text(blocks, launch, blocks_end(blocks, symbol));
    }
    const char *lanes = found ? factors_but(blocks->arena, launch->tile, found->of) : NULL;
    if (!lanes || !found->extent || is_told(launch, found->of)) return;
    launch->stream = lanes;
    launch->stream_sums = carried_tiles(blocks->function);
    found->role = BLOCK_STREAM;
    found->axis = -1;
    found->tensors = launch->loaded;
    found->tensor_count = launch->loaded_count;
}
