// The tiles that a launch of products chooses by the GPU that it runs on: `_product_tiles` and `_loop_tile` of autodiff/module/helpers.def.
#ifndef TAD_ANALYSIS_CHOICES_TILES_H
#define TAD_ANALYSIS_CHOICES_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ir/limits.h"

/// `_card_of`: what a choice hangs on.
typedef struct TileCard {
    int64_t processors, shared_bytes;  // shared_bytes: of a program, at most
} TileCard;

/// Bytes of an element of the tensors that tiles are loaded of.
typedef struct TileWidths {
    int count;
    int64_t sum, widest;
} TileWidths;

typedef struct ProductSide {
    int64_t size;    // the forward's
    int axis;        // of the grid, that numbers its blocks; -1: none
    int64_t length;  // elements that these cover
    TileWidths widths;
} ProductSide;

typedef struct ProductSizes {
    int64_t grid[PROGRAM_AXES];
    ProductSide rows, columns, terms;
    int64_t widest;     // bytes of an element at most
    int warps, stages;  // that the forward's launch says; 0: none
} ProductSizes;

typedef struct ProductChoice {
    int64_t grid[PROGRAM_AXES], rows, columns, terms;
    int warps, stages;
} ProductChoice;

typedef struct LaneSizes {
    int64_t fixed, each;  // elements, and more of them for each lane of the tile
} LaneSizes;

typedef struct LoopSizes {
    int64_t size;  // the forward's tile
    TileWidths widths;
    int64_t rows;
    LaneSizes products, kept, loaded;
    const int64_t *divides;
    int divide_count;
    bool is_owned, is_fixed;  // is_fixed: the size stays
    int64_t widest;
    int warps, stages;
} LoopSizes;

typedef struct LoopChoice {
    int64_t size;
    int warps, stages;
} LoopChoice;

ProductChoice choose_product_tiles(const ProductSizes *sizes, TileCard card);
LoopChoice choose_loop_tile(const LoopSizes *sizes, TileCard card);

#endif
