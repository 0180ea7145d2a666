// The forward's sizes and a GPU in; the first tiles that fit out, or the forward's.
#include "analysis/choices/tiles.h"

#include <string.h>

#include "analysis/choices/product_tiles.h"

enum { WARPS_UNASKED = 4, STAGES_UNASKED = 3 };

static int64_t blocks_of(int64_t length, int64_t size) {
    return size > 0 ? (length + size - 1) / size : 0;
}

/// The programs that blocks of these sizes take; false where the forward's grid has fewer along an axis.
static bool grid_for(const ProductSizes *sizes, const int64_t own[3], int64_t grid[PROGRAM_AXES]) {
    const ProductSide *const sides[] = {&sizes->rows, &sizes->columns, &sizes->terms};
    bool is_covered = true;
    memcpy(grid, sizes->grid, sizeof sizes->grid);
    for (int i = 0; i < 3; i++)
        if (sides[i]->axis >= 0) grid[sides[i]->axis] = 1;
    for (int i = 0; i < 3; i++)
        if (sides[i]->axis >= 0) grid[sides[i]->axis] *= blocks_of(sides[i]->length, own[i]);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) is_covered &= sizes->grid[axis] >= grid[axis];
    return is_covered;
}

/// Whether enough programs, and enough tiles of the result, keep three multiprocessors of four at work.
static bool fills(const ProductSizes *sizes, const ProductTile *tile, const int64_t *grid,
                  TileCard card) {
    int64_t programs = 1, tiles = blocks_of(sizes->rows.length, tile->rows) *
                                  blocks_of(sizes->columns.length, tile->columns);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        bool is_numbered =
            axis == sizes->rows.axis || axis == sizes->columns.axis || axis == sizes->terms.axis;
        programs *= grid[axis];
        if (!is_numbered) tiles *= sizes->grid[axis];
        if (axis && grid[axis] >= 1 << 16) return false;
    }
    return 4 * (programs < tiles ? programs : tiles) >= 3 * card.processors;
}

static bool fits(const ProductSizes *sizes, const ProductTile *tile, int64_t depth, TileCard card) {
    int64_t used =
        tile->stages * depth *
        (tile->rows * sizes->rows.widths.sum + tile->columns * sizes->columns.widths.sum);
    return used <= card.shared_bytes && tile->rows < 2 * sizes->rows.length &&
           tile->columns < 2 * sizes->columns.length;
}

ProductChoice choose_product_tiles(const ProductSizes *sizes, TileCard card) {
#define TILE_SIZES(...) {__VA_ARGS__},
    static const ProductTile tiles[] = {PRODUCT_TILES(TILE_SIZES)};
    const int64_t forward[] = {sizes->rows.size, sizes->columns.size, sizes->terms.size};
    const TileWidths *rows = &sizes->rows.widths, *columns = &sizes->columns.widths;
    int64_t width = rows->widest > columns->widest ? rows->widest : columns->widest;
    ProductChoice choice = {.rows = forward[0],
                            .columns = forward[1],
                            .terms = forward[2],
                            .warps = sizes->warps ? sizes->warps : WARPS_UNASKED,
                            .stages = sizes->stages ? sizes->stages : STAGES_UNASKED};
    bool is_free = grid_for(sizes, forward, choice.grid) && rows->count && columns->count &&
                   width > 0 && width <= sizes->widest;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles && is_free; i++) {
        const ProductTile *tile = &tiles[i];
        int64_t own[] = {tile->rows, tile->columns, tile->bytes / width};
        grid_for(sizes, own, choice.grid);
        if (!fits(sizes, tile, own[2], card) || !fills(sizes, tile, choice.grid, card)) continue;
        choice.rows = own[0], choice.columns = own[1], choice.terms = own[2];
        choice.warps = tile->warps, choice.stages = tile->stages;
        return choice;
    }
    memcpy(choice.grid, sizes->grid, sizeof choice.grid);
    return choice;
}

static bool divides_all(const LoopSizes *sizes, int64_t size) {
    for (int i = 0; i < sizes->divide_count; i++)
        if (size < 1 || sizes->divides[i] % size) return false;
    return true;
}

static int64_t lanes(LaneSizes count, int64_t size) { return count.fixed + count.each * size; }

/// How a tile is chosen: with as many warps as share its sums, and a place in shared memory for so many programs.
typedef struct LoopTry {
    int64_t sums, used;
    int warps, programs;
} LoopTry;

enum {
    ROWS_OF_FOUR_WARPS = 64,
    MORE_WARPS = 8,
    THREADS_OF_A_WARP = 32,
    SUMS_OF_AN_OWNER = 3 << 13,  // of four warps
    SUMS_OF_A_STREAM = 1 << 14,
    MOST_OF_A_STREAM = 1 << 15,
    MOST_OF_A_THREAD = 192,  // an owner's; one with more than SUMS_OF_THREE_STAGES has two of them
    SUMS_OF_THREE_STAGES = 160,
};

static LoopTry loop_try(const LoopSizes *sizes, int64_t size, int stages) {
    int64_t most = sizes->is_owned ? SUMS_OF_AN_OWNER : SUMS_OF_A_STREAM;
    LoopTry tile = {
        .sums = lanes(sizes->products, size),
        .used = lanes(sizes->kept, size) + stages * lanes(sizes->loaded, size),
        .warps = WARPS_UNASKED,
        .programs = 2,
    };
    if (sizes->rows > ROWS_OF_FOUR_WARPS && tile.sums > most) tile.warps = MORE_WARPS;
    // an owner of more warps has a multiprocessor's registers for itself
    bool stays = sizes->is_owned || sizes->is_fixed;
    if (stays && tile.warps > WARPS_UNASKED) tile.programs = 1;
    return tile;
}

static bool sums_fit(const LoopSizes *sizes, const LoopTry *tile, int stages) {
    int64_t threads = THREADS_OF_A_WARP * tile->warps;
    if (!sizes->is_owned && !sizes->is_fixed) return tile->sums <= MOST_OF_A_STREAM;
    bool is_full = sizes->is_owned && stages > 2;
    return tile->sums <= threads * (is_full ? SUMS_OF_THREE_STAGES : MOST_OF_A_THREAD);
}

typedef struct LoopOption {
    int64_t size;
    int stages;
} LoopOption;

/// The tiles that are tried, in this order: an owner's is as large as possible; what is loaded anew has as many stages as possible.
static int loop_options(const LoopSizes *sizes, LoopOption options[4]) {
    static const LoopOption owned[] = {{64, 3}, {64, 2}, {32, 3}, {32, 2}},
                            streamed[] = {{64, 3}, {32, 3}, {64, 2}, {32, 2}};
    bool is_free = sizes->widths.count && divides_all(sizes, sizes->size) &&
                   sizes->widths.widest <= sizes->widest;
    int count = !is_free ? 0 : sizes->is_fixed ? 2 : 4;
    for (int i = 0; i < count; i++) {
        options[i] = sizes->is_owned ? owned[i] : streamed[i];
        if (sizes->is_fixed) options[i] = (LoopOption){sizes->size, 3 - i};
    }
    return count;
}

LoopChoice choose_loop_tile(const LoopSizes *sizes, TileCard card) {
    LoopOption options[4];
    int count = loop_options(sizes, options);
    bool has_many = sizes->rows > ROWS_OF_FOUR_WARPS;
    int least_programs = has_many && !sizes->is_owned ? 1 : 2;
    for (int most_programs = 2; most_programs >= least_programs; most_programs--)
        for (int i = 0; i < count; i++) {
            LoopTry tile = loop_try(sizes, options[i].size, options[i].stages);
            int programs = tile.programs < most_programs ? tile.programs : most_programs;
            // rows and what is laid out anew take room, too, which two programs leave anyway
            int64_t room = programs == 1 ? card.shared_bytes / 8 * 7 : card.shared_bytes;
            bool has_room = programs * sizes->widths.widest * tile.used <= room &&
                            sums_fit(sizes, &tile, options[i].stages);
            if (has_room && divides_all(sizes, options[i].size))
                return (LoopChoice){(int)options[i].size, tile.warps, options[i].stages};
        }
    int64_t longest = sizes->rows > sizes->size ? sizes->rows : sizes->size,
            most = sizes->is_owned ? SUMS_OF_AN_OWNER : SUMS_OF_A_STREAM;
    LoopChoice same = {sizes->size, sizes->warps ? sizes->warps : WARPS_UNASKED,
                       sizes->stages ? sizes->stages : STAGES_UNASKED};
    bool is_large = longest > ROWS_OF_FOUR_WARPS && lanes(sizes->products, sizes->size) > most;
    if (is_large && same.warps < MORE_WARPS) same.warps = MORE_WARPS;
    if (sizes->is_fixed && count && same.stages > 2) same.stages = 2;
    return same;
}
