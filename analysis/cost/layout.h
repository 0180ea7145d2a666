// Which threads hold which elements of a tile, as Triton lays tiles out: each bit of an element's index is told apart by registers of a
// thread, by lanes of a warp, or by warps. Private to analysis/cost/.
#ifndef TAD_ANALYSIS_COST_LAYOUT_H
#define TAD_ANALYSIS_COST_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ir/limits.h"

enum { WARP_LANES = 32 };

typedef struct ThreadLayout {
    bool is_known;
    bool is_product;  // of the accumulator of a matrix product
    int rank;
    int fastest;                   // of an access: the axis along which neighbours lie together
    int bits[TYPE_MAX_RANK];       // of the extent of each axis
    uint32_t lane[TYPE_MAX_RANK];  // bits of the index that lanes tell apart
    uint32_t warp[TYPE_MAX_RANK];
} ThreadLayout;

/// The layout that neighbouring lanes of a warp reach memory in: `run` elements a thread along `fastest`, the other axes from the last on.
ThreadLayout layout_blocked(const int64_t *shape, int rank, int fastest, int64_t run, int warps);
/// Of the result of a product: `is_wide` as groups of four warps compute it (capability 9.0), else a warp by itself. `is_chained`:
/// its operand is another product's result, or the other way round.
ThreadLayout layout_product(const int64_t *shape, int rank, int warps, bool is_wide,
                            bool is_chained);
/// Elements that a thread holds: 1 at the least.
int64_t layout_elements(const ThreadLayout *layout);
/// Warps that hold different elements along an axis.
int layout_warps_along(const ThreadLayout *layout, int axis);
/// How often all warps together go over an axis: what each thread holds of it in several pieces.
int layout_turns(const ThreadLayout *layout, int axis);
/// Whether a tile goes from one to the other without leaving its warps. Of two accesses in the same order Triton makes one layout.
bool layout_keeps_warps(const ThreadLayout *from, const ThreadLayout *to);
/// Into how many parts a tile is cut that goes from one layout to the other by shared memory.
int64_t layout_parts(const ThreadLayout *from, const ThreadLayout *to, int element_bits);
/// Without an axis, or with a new one of length 1.
ThreadLayout layout_without(const ThreadLayout *layout, int axis);
ThreadLayout layout_with(const ThreadLayout *layout, int axis);

#endif
