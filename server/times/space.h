// What `tune` tries for a kernel: lengths of tiles that are constexprs and free (free_sizes.h; under autotune only those that its list sets, where that is seen), warps and
// stages; and what needs no trial.
#ifndef TAD_SERVER_TIMES_SPACE_H
#define TAD_SERVER_TIMES_SPACE_H

#include "analysis/lowering/kernel.h"
#include "analysis/snapshot.h"
#include "base/json.h"

enum { SPACE_MOST_AXES = 8 };  // more lengths than these stay as they are
enum {
    SPACE_MOST_VALUES = 16
};  // of an axis: powers of two up to 65536, of which those near the present one count

typedef enum AxisKind { AXIS_BLOCK, AXIS_WARPS, AXIS_STAGES } AxisKind;

/// One number of a configuration, with the values to try in rising order.
typedef struct SpaceAxis {
    const char *name;
    AxisKind kind;
    int parameter;  // AXIS_BLOCK: of the kernel
    int values[SPACE_MOST_VALUES];
    int count;
    int first;  // index of what the kernel is launched with now
} SpaceAxis;

/// A tile, as a product of powers of the axes: bytes where a program keeps it in shared memory.
typedef struct SpaceTile {
    double fixed;       // elements that no axis decides
    const int *powers;  // by axis
    int bytes;          // of an element
    bool is_loaded_in_loop;
} SpaceTile;

typedef struct Space {
    SpaceAxis axes[SPACE_MOST_AXES];
    int count;
    LIST(SpaceTile) tiles;
    bool has_dot;
    LIST(const char *) fixed;  // lengths that stay, each with the reason
} Space;

/// A point is an index into `values` for each axis.
typedef struct SpacePoint {
    int at[SPACE_MOST_AXES];
} SpacePoint;

/// `plan`: the worker's answer for the kernel as it is launched now by `line`; without a line a launch of a backward, whose tiles stay as they are. In `arena`, free of
/// the snapshot.
Space space_of(Arena *arena, const Kernel *kernel, const Json *plan, const char *line);
SpacePoint space_start(const Space *space);
bool space_same(const Space *space, const SpacePoint *a, const SpacePoint *b);
/// Why a point needs no trial: its tiles do not fit the GPU, of `shared_kib` (0: 227). NULL where it may be tried.
const char *space_prune(Arena *arena, const Space *space, const SpacePoint *point, int shared_kib);
/// "BLOCK=128, num_warps=4".
const char *space_text(Arena *arena, const Space *space, const SpacePoint *point);
/// The line `# tad time: ...` with the numbers of the point.
const char *space_line(Arena *arena, const Space *space, const SpacePoint *point, const char *line);

#endif
