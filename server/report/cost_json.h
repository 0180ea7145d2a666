// The points of a roofline: what each configuration of a kernel and of its backward moves, computes and takes of the card.
#ifndef TAD_SERVER_REPORT_COST_JSON_H
#define TAD_SERVER_REPORT_COST_JSON_H

#include "base/json.h"
#include "features/features.h"

/// {"estimated", "shared_bytes", "registers", "spills", "warps", "stages", "programs_at_once", "occupancy", "limited_by"}; null where
/// it is not known.
Json *footprint_json(Arena *arena, const CostFootprint *footprint);
/// {"card", "points"}; `schedule`: of the backward.
Json *cost_points_json(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const ScheduleReport *schedule, const char *card);

#endif
