// What the numbers of a launch follow from: sizes and numbers that its launcher gets. `general` is the kernel with its constexprs open.
#ifndef TAD_ANALYSIS_TRIAL_LEAVES_H
#define TAD_ANALYSIS_TRIAL_LEAVES_H

#include "analysis/host/launch.h"
#include "analysis/ir/ir.h"

/// Sizes and numbers of the launcher that something follows from: leaves of its values.
typedef struct Leaves {
    const HostValue *items[LAUNCH_MOST_LEAVES];
    int count;
    bool is_open;  // there are more, or something is not known
} Leaves;

/// What the number of elements of a buffer follows from; `parameter`: one that gets it.
Leaves leaves_of_extent(const HostLaunch *launch, int parameter);
/// What follows from the grid.
void leaves_add_grid(Leaves *leaves, const HostLaunch *launch, int axis);
/// What follows from an argument's value.
void leaves_add_argument(Leaves *leaves, const HostLaunch *launch, int parameter);
/// Whether they are sizes of one tensor, or none, and all are known; not of a tensor that has more axes than were taken.
bool leaves_are_of_one(const Leaves *leaves);
/// What decides which elements an access touches: its address, its mask, what it is under.
void leaves_add_access(Leaves *leaves, const HostLaunch *launch, const Function *general,
                       const Op *op);
/// What a mask compares with; of a block pointer its shape.
void leaves_add_bounds(Leaves *leaves, const HostLaunch *launch, const Function *general,
                       const Op *op);
/// Sizes that tiles of indices come back into by `%`.
void leaves_add_remainders(Leaves *leaves, const HostLaunch *launch, const Function *general);
/// Sizes that the launch is made for however little they divide: programs one by one, blocks of the next power of two.
void leaves_add_any(Leaves *leaves, const HostLaunch *launch);
/// Whether all of `leaves` are among `others`, or wanted to be equal to one of these.
bool leaves_are_among(const HostLaunch *launch, const Leaves *leaves, const Leaves *others);
/// The same, or all are sizes of one tensor; not where there are none.
bool leaves_are_certain(const HostLaunch *launch, const Leaves *leaves, const Leaves *others);
/// Whether each of `leaves` is among `others`, or nothing that the author could take for equal is: sizes of one tensor are not, nor
/// are two that the launcher names, passing both to the kernel or counting programs by them.
bool leaves_are_apart(const HostLaunch *launch, const Function *general, const Leaves *leaves,
                      const Leaves *others);
/// Whether it is sizes of the caller's, multiplied: nothing is rounded up.
bool leaves_is_product(const HostValue *value);
/// Whether the launcher says how many dimensions each of their tensors has.
bool leaves_have_ranks(const Leaves *leaves);
/// Sizes that the launch reckons with however large they are: of its grid as far as the kernel asks for it, its loops,
/// its tiles.
void leaves_add_handled(Leaves *leaves, const HostLaunch *launch, const Function *general);
/// "x.shape[0] = 37, n = 4".
const char *leaves_print(Arena *arena, const Leaves *leaves);

#endif
