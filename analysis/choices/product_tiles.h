// The tiles that a kernel of products is launched with: those that fit stand before others.
#ifndef TAD_ANALYSIS_CHOICES_PRODUCT_TILES_H
#define TAD_ANALYSIS_CHOICES_PRODUCT_TILES_H

/// TILE(rows, columns, bytes of a row's terms, warps, stages). Shared memory holds a tile of each factor for each stage. The first
/// were the fastest of thirteen on an H200 (docs/differentiation.md); the third is for GPUs of 64 KiB.
#define PRODUCT_TILES(TILE)    \
    TILE(128, 256, 64, 8, 4)   \
    TILE(128, 128, 128, 4, 3)  \
    TILE(128, 128, 64, 4, 3)   \
    TILE(64, 128, 128, 4, 4)   \
    TILE(64, 64, 128, 4, 3)

typedef struct ProductTile {
    int rows, columns, bytes, warps, stages;
} ProductTile;

#endif
