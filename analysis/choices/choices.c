// Programs, elements and bytes in, the numbers of a launch out.
#include "analysis/choices/choices.h"

#include <math.h>

int64_t choose_slices(SlicesRule rule, double programs, double largest) {
    if (largest < 1) largest = 1;
    double each = rule.each > 0 ? (double)rule.each : SLICES_EACH, most = (double)rule.most,
           room = floor((double)(1 << SLICES_ROOM) / largest);
    if (rule.most <= 0)
        most = fmin(SLICES_MOST, fmax(SLICES_LEAST, floor((double)(1 << SLICES_SUMS) / largest)));
    double slices = fmax(1, fmin(most, fmin(floor(programs / each), room)));
    return (int64_t)fmin(programs, slices);
}

int choose_warps(double elements, double bytes) {
    enum { LEAST = 4, MOST = 16, LEAST_BYTES = 6, BYTES_EACH = 32 * 192 };
    double wanted = floor(elements * fmax(bytes, LEAST_BYTES) / BYTES_EACH);
    int warps = LEAST;
    while (warps < MOST && warps < wanted) warps *= 2;
    return warps;
}

int choose_stages(double elements, double bytes) {
    enum { ROOM = 64 << 10, AHEAD = 3 };
    return 2 * elements * bytes <= ROOM ? AHEAD : 1;
}
