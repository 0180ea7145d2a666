// The picture of a schedule, as data.
#ifndef TAD_SERVER_GRADIENTS_SCHEDULE_JSON_H
#define TAD_SERVER_GRADIENTS_SCHEDULE_JSON_H

#include "autodiff/backward.h"
#include "base/json.h"

/// {"kernel", "axes": [{"axis", "extent"}], "gradients": [{"input", "before", "after"}], "kernels", "reason"}:
/// docs/server.md. `card`: whose peaks count, or NULL.
Json *schedule_json(Arena *arena, const Snapshot *snapshot, const Kernel *kernel, const char *card);

#endif
