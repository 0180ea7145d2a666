// What was measured as the best configurations of a kernel, written into its file.
#ifndef TAD_CODEACTIONS_TUNED_H
#define TAD_CODEACTIONS_TUNED_H

#include "codeactions/codeactions.h"

typedef struct TunedConfiguration {
    const char *const *names;  // of constexprs
    const int *values;
    int count;
    int warps, stages;  // stages 0: not said
} TunedConfiguration;

/// An edit that puts the configurations in the place of the kernel's `@triton.autotune` list. What else the old list sets keeps the number of
/// `others` (names as in it). A refusal in one sentence where the kernel has no such list, or one that says more than numbers, warps and stages.
ActionEdit tuned_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                      const TunedConfiguration *configurations, int count,
                      const TunedConfiguration *others);
/// An edit of the one launch of the kernel, or of constants that it names and nobody else: `now` becomes `best`, of the same names. `in_grid`: a name that the grid of
/// the tuned line follows, and so has the launch's; NULL: of a derived kernel, whose launch may compute its numbers and spread its options: the best ones take
/// their place. A refusal in words that go on after "and" otherwise.
ActionEdit tuned_launch_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                             const TunedConfiguration *best, const TunedConfiguration *now,
                             const bool *in_grid);
/// The number that the one launch of a derived kernel passes for an option or a parameter, as an edit writes it; 0: none.
int tuned_launch_number(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        const char *name);
/// `[triton.Config({"BLOCK": 128}, num_warps=4), ...]`, lines indented by `indent` spaces.
const char *tuned_list(Arena *arena, const char *triton, const TunedConfiguration *configurations,
                       int count, const TunedConfiguration *others, int indent);

#endif
