#include "analysis/cost/layout.h"

static int bits_of(int64_t number) {
    int bits = 0;
    while (number > 1) {
        number >>= 1;
        bits++;
    }
    return bits;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int ones(uint32_t mask) {
    int count = 0;
    for (; mask; mask &= mask - 1) count++;
    return count;
}

static ThreadLayout layout_of(const int64_t *shape, int rank) {
    ThreadLayout layout = {.rank = rank, .is_known = rank > 0 && rank <= TYPE_MAX_RANK};
    for (int i = 0; layout.is_known && i < rank; i++) layout.bits[i] = bits_of(shape[i]);
    return layout;
}

/// `count` bits of the axis from `first` on, as far as the axis has them.
static uint32_t span(const ThreadLayout *layout, int axis, int first, int count) {
    uint32_t mask = 0;
    for (int i = first; i < first + count && i < layout->bits[axis]; i++) mask |= 1u << i;
    return mask;
}

ThreadLayout layout_blocked(const int64_t *shape, int rank, int fastest, int64_t run, int warps) {
    ThreadLayout layout = layout_of(shape, rank);
    int order[TYPE_MAX_RANK] = {0}, count = 0;
    if (!layout.is_known) return layout;
    order[count++] = layout.fastest = fastest;
    for (int i = rank - 1; i >= 0; i--)
        if (i != fastest) order[count++] = i;
    int lanes = bits_of(WARP_LANES), left = bits_of(warps);
    for (int i = 0; i < rank; i++) {
        int axis = order[i], own = i ? 0 : (int)least(bits_of(run), layout.bits[axis]);
        int room = layout.bits[axis] - own;
        int here = (int)least(lanes, room), over = (int)least(left, room - here);
        layout.lane[axis] = span(&layout, axis, own, here);
        layout.warp[axis] = span(&layout, axis, own + here, over);
        lanes -= here;
        left -= over;
    }
    return layout;
}

/// Warps along the rows and the columns of a product.
static void share_warps(const ThreadLayout *layout, int rows, int columns, int warps, bool is_wide,
                        bool is_chained, int *along) {
    enum { WARP_ROWS = 16, WARP_COLUMNS = 8, GROUP = 4 };
    int64_t height = (int64_t)1 << layout->bits[rows], width = (int64_t)1 << layout->bits[columns];
    int64_t tall = height / WARP_ROWS, broad = width / (2 * WARP_COLUMNS);
    along[0] = is_wide ? GROUP : 1;
    along[1] = 1;
    if (is_chained) {
        bool by_rows = is_wide || height >= width;
        along[0] = by_rows ? warps : 1;
        along[1] = by_rows ? 1 : warps;
        return;
    }
    while (along[0] * along[1] < warps) {
        bool down = is_wide ? height > (int64_t)WARP_ROWS * along[0]
                            : tall / along[0] >= broad / along[1] && along[0] < tall;
        along[down ? 0 : 1] *= 2;
    }
}

ThreadLayout layout_product(const int64_t *shape, int rank, int warps, bool is_wide,
                            bool is_chained) {
    enum { ROW_BITS = 4, LANE_ROW_BITS = 3, LANE_COLUMN_FIRST = 1, LANE_COLUMN_BITS = 2 };
    ThreadLayout layout = layout_of(shape, rank);
    int along[2];
    if (!layout.is_known || rank < 2) return (ThreadLayout){.rank = rank};
    int rows = rank - 2, columns = rank - 1;
    share_warps(&layout, rows, columns, warps, is_wide, is_chained, along);
    layout.is_product = true;
    layout.lane[rows] = span(&layout, rows, 0, LANE_ROW_BITS);
    layout.lane[columns] = span(&layout, columns, LANE_COLUMN_FIRST, LANE_COLUMN_BITS);
    layout.warp[rows] = span(&layout, rows, ROW_BITS, bits_of(along[0]));
    layout.warp[columns] = span(&layout, columns, LANE_ROW_BITS, bits_of(along[1]));
    return layout;
}

int64_t layout_elements(const ThreadLayout *layout) {
    int bits = 0;
    for (int i = 0; i < layout->rank; i++)
        bits += layout->bits[i] - ones(layout->lane[i]) - ones(layout->warp[i]);
    return (int64_t)1 << bits;
}

int layout_warps_along(const ThreadLayout *layout, int axis) {
    return 1 << ones(layout->warp[axis]);
}

int layout_turns(const ThreadLayout *layout, int axis) {
    uint32_t threads = layout->lane[axis] | layout->warp[axis];
    int top = 0;
    for (; threads; threads >>= 1) top++;
    return 1 << (layout->bits[axis] - top);
}

bool layout_keeps_warps(const ThreadLayout *from, const ThreadLayout *to) {
    if (!from->is_product && !to->is_product && from->fastest == to->fastest) return true;
    for (int i = 0; i < from->rank; i++)
        if (from->warp[i] != to->warp[i]) return false;
    return true;
}

int64_t layout_parts(const ThreadLayout *from, const ThreadLayout *to, int element_bits) {
    enum { WIDEST = 128 };
    int both = 0;
    for (int i = 0; i < from->rank; i++) {
        uint32_t threads = from->lane[i] | from->warp[i] | to->lane[i] | to->warp[i];
        both += from->bits[i] - ones(threads);
    }
    int together = element_bits > 0 && element_bits < WIDEST ? bits_of(WIDEST / element_bits) : 0;
    return both > together ? (int64_t)1 << (both - together) : 1;
}

ThreadLayout layout_without(const ThreadLayout *layout, int axis) {
    int fastest = layout->fastest > axis ? layout->fastest - 1 : layout->fastest;
    ThreadLayout less = {.is_known = layout->is_known && layout->rank > 1,
                         .is_product = layout->is_product,
                         .fastest = fastest,
                         .rank = layout->rank - 1};
    for (int i = 0, k = 0; less.is_known && i < layout->rank; i++) {
        if (i == axis) continue;
        less.bits[k] = layout->bits[i];
        less.lane[k] = layout->lane[i];
        less.warp[k++] = layout->warp[i];
    }
    return less;
}

ThreadLayout layout_with(const ThreadLayout *layout, int axis) {
    int fastest = layout->fastest >= axis ? layout->fastest + 1 : layout->fastest;
    ThreadLayout more = {.is_known = layout->is_known && layout->rank < TYPE_MAX_RANK,
                         .is_product = layout->is_product,
                         .fastest = fastest,
                         .rank = layout->rank + 1};
    for (int i = 0, k = 0; more.is_known && i < more.rank; i++) {
        if (i == axis) continue;
        more.bits[i] = layout->bits[k];
        more.lane[i] = layout->lane[k];
        more.warp[i] = layout->warp[k++];
    }
    return more;
}
