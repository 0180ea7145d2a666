// Programs, elements and bytes in, the numbers of a launch out.
#include "analysis/choices/choices.h"

#include <math.h>
#include <stdbool.h>

int64_t choose_slices(SlicesRule rule, double programs, double others, double largest) {
    if (largest < 1) largest = 1;
    if (others < 1) others = 1;
    double each = rule.each > 0 ? (double)rule.each : SLICES_EACH, most = (double)rule.most,
           room = floor((double)(1 << SLICES_ROOM) / largest);
    if (each <= 1)
        room = fmin(room, fmax(floor((double)(1 << SLICES_OWN_SUMS) / largest),
                               floor(SLICES_OWN_PROGRAMS / others)));
    if (rule.is_busy)
        room = fmax(room, fmin(floor(SLICES_PROGRAMS / others),
                               floor((double)(1 << SLICES_BUSY_ROOM) / largest)));
    if (rule.most <= 0)
        most = fmin(SLICES_MOST, fmax(SLICES_LEAST, floor((double)(1 << SLICES_SUMS) / largest)));
    double slices = fmax(1, fmin(most, fmin(floor(programs / each), room)));
    return (int64_t)fmin(programs, slices);
}

enum { FEWEST_WARPS = 4, MOST_WARPS = 16, LEAST_BYTES = 6 };

int choose_warps(double elements, double bytes) {
    enum { BYTES_EACH = 32 * 192 };
    double wanted = floor(elements * fmax(bytes, LEAST_BYTES) / BYTES_EACH);
    int warps = elements <= SMALL_TILE ? 1 : elements <= 2 * SMALL_TILE ? 2 : FEWEST_WARPS;
    while (warps < MOST_WARPS && warps < wanted) warps *= 2;
    return warps;
}

int choose_warps_of(double elements, double bytes, int64_t programs) {
    enum { WARP = 32 };
    int warps = choose_warps(elements, bytes);
    while (programs * warps < WIDE_PROGRAMS && WARP * warps < elements && warps < MOST_WARPS)
        warps *= 2;
    return warps;
}

int choose_byte_warps(double elements, int narrowest, int widest, int warps) {
    enum { LANES = 32 };
    double wanted = fmin(MOST_WARPS, floor(elements * widest / (LANES * LOAD_BYTES)));
    return narrowest == 1 && wanted > warps ? (int)wanted : warps;
}

RowChoice choose_row_block(RowSizes sizes) {
    enum { LEAST = 32, LANES = 32, BYTES_UNKNOWN = 4 };
    int64_t bytes = sizes.bytes > LEAST_BYTES ? sizes.bytes : LEAST_BYTES,
            widest = sizes.widest ? sizes.widest : BYTES_UNKNOWN,
            room = ROW_WARPS * LANES * ROW_BYTES / (sizes.lanes * bytes), most = 1, block = LEAST;
    if (sizes.sums) room = SUM_WARPS * LANES * LOAD_BYTES / (sizes.lanes * widest);
    while (2 * most <= room) most *= 2;
    if (most < sizes.size) most = sizes.size;
    while (block < sizes.length) block *= 2;
    if (block > most) block = most;
    if (block > ROW_BLOCK && 8 * sizes.length <= 5 * block) block /= 4;
    if (block == sizes.size && sizes.warps) return (RowChoice){block, sizes.warps};
    int64_t wanted = block * sizes.lanes * widest / (LANES * LOAD_BYTES);
    int warps = FEWEST_WARPS, limit = sizes.sums ? SUM_WARPS : ROW_WARPS;
    while (warps < limit && warps < wanted) warps *= 2;
    return (RowChoice){block, warps};
}

RowChoice choose_whole_row(int64_t length, int64_t bytes, int sums, int narrowest, int widest) {
    enum { LEAST = 32, LANES = 32, SUM_BYTES = 4, LANES_OF_A_WARP = 1024, MOST_OF_A_LANE = 16 };
    int64_t block = LEAST, each = bytes + (int64_t)SUM_BYTES * sums;
    while (block < length && block <= WHOLE_MOST) block *= 2;
    if (length < 1 || block > WHOLE_MOST || block * each > ROW_WARPS * LANES * WHOLE_BYTES)
        return (RowChoice){0, 0};
    int warps = (int)(block / LANES_OF_A_WARP) * (each > MOST_OF_A_LANE ? 2 : 1);
    if (warps < FEWEST_WARPS) warps = FEWEST_WARPS;
    if (warps > ROW_WARPS) warps = ROW_WARPS;
    return (RowChoice){block, choose_byte_warps((double)block, narrowest, widest, warps)};
}

WideChoice choose_wide_block(WideSizes sizes) {
    int64_t width = sizes.lanes * (sizes.widest ? sizes.widest : 4), block = sizes.size,
            programs = sizes.programs;
    int64_t least = sizes.least ? sizes.least : WIDE_LEAST,
            most = least > WIDE_BYTES ? least : WIDE_BYTES;
    bool is_narrow =
        0 < block * width && block * width < least && sizes.axis * block >= sizes.length;
    while (is_narrow && block * width < most && block < sizes.length && programs > WIDE_PROGRAMS) {
        block *= 2;
        programs /= 2;
    }
    if (block != sizes.size)
        return (WideChoice){block, (sizes.length + block - 1) / block, FEWEST_WARPS};
    int warps = sizes.warps ? sizes.warps
                            : choose_warps_of((double)(block * sizes.lanes), (double)sizes.bytes,
                                              sizes.programs);
    return (WideChoice){block, sizes.axis, warps};
}

TogetherChoice choose_together(TogetherSizes sizes) {
    int64_t together = 1;
    while (sizes.lanes > 0 && 2 * sizes.lanes * together <= TOGETHER_LANES &&
           sizes.programs > WIDE_PROGRAMS * together)
        together *= 2;
    if (together > 1)
        return (TogetherChoice){together, (sizes.axis + together - 1) / together, TOGETHER_WARPS};
    int warps = sizes.warps
                    ? sizes.warps
                    : choose_warps_of((double)sizes.lanes, (double)sizes.bytes, sizes.programs);
    return (TogetherChoice){1, sizes.axis, warps};
}

TogetherChoice choose_at_once(TogetherSizes sizes, int64_t slices) {
    int64_t together = 1;
    while (sizes.lanes > 0 && 2 * sizes.lanes * together <= TOGETHER_LANES &&
           2 * slices * together <= sizes.programs)
        together *= 2;
    int warps = sizes.warps    ? sizes.warps
                : together > 1 ? TOGETHER_WARPS
                               : choose_warps((double)sizes.lanes, (double)sizes.bytes);
    return (TogetherChoice){together, sizes.axis, warps};
}

int choose_stages(double elements, double bytes, int narrowest) {
    enum { ROOM = 64 << 10, ROOM_OF_BYTES = 96 << 10, AHEAD = 3 };
    return 2 * elements * bytes <= (narrowest == 1 ? ROOM_OF_BYTES : ROOM) ? AHEAD : 1;
}
