// Times that were kept in a file, and what has become slower since.
#ifndef TAD_SERVER_TIMES_KEPT_H
#define TAD_SERVER_TIMES_KEPT_H

#include "server/settings/options.h"
#include "server/times/times.h"

/// The share of --fail-slower, which needs --compare-times, or what is taken for noise where none is said. A sentence where it is no share.
Error kept_allowed(Arena *arena, const Options *options, double *allowed);

/// Writes `times` to the file of --save-times; files are named from that file's folder. `inputs` are never replaced.
Error kept_write(Arena *arena, const Json *times, const Options *options, const char *const *inputs,
                 int input_count);

/// One direction of a kernel that has a time in both.
typedef struct ComparedTime {
    int row;                // of the kernels of `times`
    const char *direction;  // "forward" or "backward"
    const char *text;       // "0.5 ms, before 0.4 ms, +25.0 %"
    double before_ms;
    bool is_slower;
} ComparedTime;

typedef struct Comparison {
    const char *text;  // a line for each kernel that was compared, and for what could not be
    int slower;  // directions that are slower by more than is allowed, or have no time any more
    LIST(ComparedTime) list;
} Comparison;

/// Holds `times` against the file of --compare-times. A direction is slower where its median is by more than `allowed` (0.1: a tenth), and a
/// tenth of its runs at the most took no longer than before. One sentence where the file cannot be read, or is of another GPU.
Error kept_compare(Arena *arena, const Json *times, const Options *options, double allowed,
                   Comparison *comparison);
/// Adds "compared" to `times`: {"file", "kernel", "configuration", "direction", "median_ms", "before_ms", "is_slower"} each; no "median_ms" where there is no time any more.
void kept_put(Json *times, const Comparison *comparison);

#endif
