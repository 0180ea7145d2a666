// What a kernel moved and computed, counted while it ran: what analysis/cost is held against.
#ifndef TAD_GPU_RUNNER_INTERP_TRAFFIC_H
#define TAD_GPU_RUNNER_INTERP_TRAFFIC_H

#include "analysis/ir/ir.h"

typedef struct Interp Interp;

typedef struct Traffic {
    int64_t read, written, updated;           // bytes of all lanes
    int64_t read_on, written_on, updated_on;  // of those that masks let through
    int64_t lanes;                            // of all accesses
    int64_t dots;                             // multiply-adds of matrix products
    int64_t math;                             // other arithmetic on floats, an element each
} Traffic;

/// Lanes of a load, store or atomic; `on` says which take part.
void traffic_access(Traffic *traffic, const Op *op, DTypeCode dtype, int64_t count,
                    const uint8_t *on);
/// An operation that has just run.
void traffic_operation(Traffic *traffic, Interp *interp, const Op *op);

#endif
