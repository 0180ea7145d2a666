// Which constexprs of a kernel are free: lengths of tiles that say how the work is cut, and not what it is, as a head's length does.
#ifndef TAD_SERVER_TIMES_FREE_SIZES_H
#define TAD_SERVER_TIMES_FREE_SIZES_H

#include "analysis/lowering/kernel.h"

/// Why the constexpr is no free size, in words that go on after its name, or NULL. Free is one that the grid of `line` (`# tad time: ...`)
/// follows, or by which a loop goes on; that is no extent of a tensor, of the line or of a launch of the file, and no stride.
const char *size_fixed(Arena *arena, const Kernel *kernel, int parameter, const char *line);
/// Whether the grid of a `# tad` line names it.
bool line_grid_names(const char *line, const char *name);
/// The next item of a list with commas, brackets and quotes in it; `*at` goes behind its comma.
Str line_item(const char **at);

#endif
