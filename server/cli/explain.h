// The pages behind `--explain` and the editor's links.
#ifndef TAD_SERVER_CLI_EXPLAIN_H
#define TAD_SERVER_CLI_EXPLAIN_H

#include "base/arena.h"

/// Markdown of a diagnostic or a Triton operation ("exp", "tl.exp"); NULL where there is none of that name.
const char *explain_page(Arena *arena, const char *name);

#endif
