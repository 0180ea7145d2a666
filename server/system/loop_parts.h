// What loop.c and process.c share: libuv's own loop, and the processes that were started from it.
#ifndef TAD_SERVER_LOOP_PARTS_H
#define TAD_SERVER_LOOP_PARTS_H

#include <uv.h>

#include "server/system/loop.h"

struct Loop {
    uv_loop_t uv;
    Arena *arena;
    Process *processes;
};

/// Kills and reaps what still runs. The loop's handles are closed next.
void processes_end(Loop *loop);
/// Once all handles are closed.
void processes_free(Loop *loop);

#endif
