// A kernel whose loops compute several products in; the one of its blocks that is free, or that they may take in parts, with what products
// and loads of it take, out.
#include <string.h>

#include "autodiff/blocks/origins.h"
#include "autodiff/products/loop_parts.h"
#include "autodiff/rewrite/rewrite.h"

enum { FEWEST_PRODUCTS = 2 };

typedef struct LoopTileSearch {
    Blocks *blocks;
    const BackwardLaunch *launch;
    Value *symbol;  // of the block
    LIST(Op *) products;
    LIST(Op *) loads;
    const Region *loop;  // the body that has the most loads
    bool fits, is_precise;
} LoopTileSearch;

/// The body of the innermost loop around an operation; NULL: none.
static const Region *loop_around(const Op *op) {
    for (const Region *region = op->parent; region->parent; region = region->parent->parent)
        if (region->parent->code == OP_FOR || region->parent->code == OP_WHILE) return region;
    return NULL;
}

static bool is_around(const Region *outer, const Region *inner) {
    while (inner && inner != outer) inner = inner->parent ? inner->parent->parent : NULL;
    return inner != NULL;
}

static bool visit(void *context, Op *op) {
    LoopTileSearch *search = context;
    if (op_is_product(op->code)) {
        search->fits &= op->code == OP_DOT && op->results[0]->type.rank == 2;
        for (int i = 3; i < op->operand_count; i++)
            search->is_precise |= op->operands[i] && !value_is_none(op->operands[i]);
        LIST_PUSH(search->blocks->arena, &search->products, op);
    }
    if (op->code == OP_LOAD && op->results[0]->type.rank >= 2)
        LIST_PUSH(search->blocks->arena, &search->loads, op);
    return true;
}

static int loads_in(const LoopTileSearch *search, const Region *loop) {
    int count = 0;
    for (LIST_EACH(int, i, search->loads)) count += loop_around(search->loads.items[i]) == loop;
    return count;
}

/// The loop of several products that loads the most.
static void find_loop(LoopTileSearch *search) {
    for (LIST_EACH(int, i, search->products)) {
        const Region *loop = loop_around(search->products.items[i]);
        int count = 0;
        for (LIST_EACH(int, k, search->products))
            count += loop_around(search->products.items[k]) == loop;
        if (!loop || count < FEWEST_PRODUCTS) continue;
        if (!search->loop || loads_in(search, loop) > loads_in(search, search->loop))
            search->loop = loop;
    }
}

/// The one block of loops that may have another size.
static LaunchBlock *find_block(LoopTileSearch *search, BackwardLaunch *launch) {
    LaunchBlock *found = NULL;
    for (int i = 0; i < launch->block_count; i++) {
        LaunchBlock *block = &launch->blocks[i];
        bool is_numbered = false;
        for (int axis = 0; axis < PROGRAM_AXES; axis++) is_numbered |= block->numbers[axis];
        if (block->why || block->needs_divisor || is_numbered) continue;
        if (found) return NULL;
        found = block;
    }
    for (LIST_EACH(int, i, search->blocks->blocks)) {
        Value *symbol = search->blocks->blocks.items[i].symbol;
        int index = launch_argument_of(search->blocks->function, launch, symbol);
        if (found && index >= 0 && strcmp(launch->arguments[index].name, found->name) == 0)
            search->symbol = symbol;
    }
    return search->symbol ? found : NULL;
}

/// Python for what does not depend on the block, and for what there is of it a lane.
static LaneCount lane_count(LoopTileSearch *search, const Poly *elements) {
    const Poly *each, *fixed;
    if (!elements || !poly_split(search->blocks->arena, elements, search->symbol, &each, &fixed)) {
        search->fits = false;
        return (LaneCount){0};
    }
    LaneCount count = {launch_number_text(search->blocks, search->launch, fixed),
                       launch_number_text(search->blocks, search->launch, each)};
    search->fits &= count.fixed && count.each;
    return count;
}

static const Poly *add_elements(Arena *arena, const Poly *sum, const Type *type) {
    const Poly *elements = poly_constant(arena, 1);
    for (int d = 0; d < type->rank && elements; d++)
        elements = type->dims[d] ? poly_multiply(arena, elements, type->dims[d]) : NULL;
    return sum && elements ? poly_add(arena, sum, elements) : NULL;
}

/// Whether a load is on one side of a flag, and others are on the other side: they take the same room.
static bool is_otherwise(const LoopTileSearch *search, const Op *load) {
    for (const Region *side = load->parent; side->parent; side = side->parent->parent) {
        const Op *branch = side->parent;
        bool is_other = branch->code == OP_IF && branch->operands[0]->type.is_constexpr &&
                        side == branch->regions[1];
        for (int i = 0; is_other && i < search->loads.count; i++)
            if (is_around(branch->regions[0], search->loads.items[i]->parent)) return true;
    }
    return false;
}

static LaneCount count_loads(LoopTileSearch *search, bool is_inside) {
    const Poly *sum = poly_constant(search->blocks->arena, 0);
    for (LIST_EACH(int, i, search->loads)) {
        const Op *load = search->loads.items[i];
        const Region *around = loop_around(load);
        bool counts = is_inside ? around == search->loop
                                : around != search->loop && is_around(load->parent, search->loop);
        if (counts && !is_otherwise(search, load))
            sum = add_elements(search->blocks->arena, sum, &load->results[0]->type);
    }
    return lane_count(search, sum);
}

/// Results of the loop's products; and their rows, but for those that the block is.
static LaneCount count_products(LoopTileSearch *search, const char **rows) {
    Arena *arena = search->blocks->arena;
    const Poly *sum = poly_constant(arena, 0);
    LIST(const Poly *) seen = {0};
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, search->products)) {
        const Op *product = search->products.items[i];
        const Type *type = &product->results[0]->type;
        if (loop_around(product) != search->loop) continue;
        sum = add_elements(arena, sum, type);
        const Poly *height = type->dims[0];
        bool is_seen = !height || poly_equal(height, poly_atom(arena, search->symbol));
        for (LIST_EACH(int, k, seen)) is_seen = is_seen || poly_equal(seen.items[k], height);
        if (is_seen) continue;
        const char *text = launch_number_text(search->blocks, search->launch, height);
        search->fits &= text != NULL;
        buffer_printf(&out, "%s%s", seen.count ? ", " : "", text ? text : "");
        LIST_PUSH(arena, &seen, height);
    }
    *rows = seen.count > 1 ? arena_printf(arena, "max(%s)", buffer_text(&out)) : buffer_text(&out);
    if (!seen.count) *rows = "0";
    return lane_count(search, sum);
}

/// Rows of the tiles that the loop loads, where the products have none but the block's: it computes their transposes.
static const char *count_loaded_rows(LoopTileSearch *search) {
    const Poly *block = poly_atom(search->blocks->arena, search->symbol), *found = NULL;
    for (LIST_EACH(int, i, search->loads)) {
        const Op *load = search->loads.items[i];
        const Poly *height = load->results[0]->type.dims[0];
        if (loop_around(load) != search->loop || !height || poly_equal(height, block)) continue;
        if (found && !poly_equal(found, height)) return "0";
        found = height;
    }
    const char *text = found ? launch_number_text(search->blocks, search->launch, found) : NULL;
    return text ? text : "0";
}

static void list_tensors(LoopTileSearch *search, LoopTile *tile) {
    tile->tensors = ARENA_ARRAY(search->blocks->arena, const char *, search->loads.count + 1);
    for (LIST_EACH(int, i, search->loads)) {
        const char *name = launch_tensor_of(search->blocks, search->launch, search->loads.items[i]);
        bool is_new = name != NULL;
        search->fits &= is_new;
        for (int k = 0; k < tile->tensor_count && is_new; k++)
            is_new = strcmp(tile->tensors[k], name) != 0;
        if (is_new) tile->tensors[tile->tensor_count++] = name;
    }
    search->fits &= tile->tensor_count > 0;
}

/// Scratch memory has as many elements as before.
static bool is_in_scratch(const BackwardLaunch *launch, const char *name) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].elements && strstr(launch->arguments[i].elements, name))
            return true;
    return false;
}

/// Whether programs share out the blocks of that size; NULL: of any.
static bool has_owners(const Blocks *blocks, const Value *symbol) {
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (origin->kind == ORIGIN_OWNERS && (!symbol || origin->symbol == symbol)) return true;
    }
    return false;
}

void loops_describe(Blocks *blocks, BackwardLaunch *launch) {
    LoopTileSearch search = {
        .blocks = blocks, .launch = launch, .fits = launch_is_repeatable(launch, true)};
    if (launch->has_tiles || !search.fits) return;
    region_walk(blocks->function->body, visit, &search);
    find_loop(&search);
    if (!search.loop) return;
    Value *parted = loop_block_in_parts(blocks->arena, search.loop->parent);
    LaunchBlock *in_parts = parted ? launch_block_of(blocks, launch, parted) : NULL,
                *block = find_block(&search, launch);
    bool is_free = block && !is_in_scratch(launch, block->of) && !launch->follows_tuner;
    if (!is_free) {
        block = in_parts;
        search.symbol = parted;
    }
    if (!block) return;
    LoopTile *tile = ARENA_NEW(blocks->arena, LoopTile);
    *tile = (LoopTile){.kept = count_loads(&search, false), .loaded = count_loads(&search, true)};
    tile->products = count_products(&search, &tile->rows);
    // owners may be shared out among heads, too: their loop is around that of the products
    tile->is_owned = has_owners(blocks, is_free ? search.symbol : NULL) ||
                     (!is_free && op_is_in_loop(search.loop->parent));
    if (tile->is_owned && strcmp(tile->rows, "0") == 0) tile->rows = count_loaded_rows(&search);
    list_tensors(&search, tile);
    if (!search.fits) return;
    launch->loop = tile;
    launch->is_precise = search.is_precise;
    // beside a stream's own rows the launch would gain little by fewer lanes: it chooses warps and stages alone
    block->role = is_free ? BLOCK_LOOP : tile->is_owned ? BLOCK_PARTS : BLOCK_FIXED;
    block->axis = -1;
    if (in_parts && in_parts != block && tile->is_owned) in_parts->role = BLOCK_PARTS;
}
