// Arithmetic lane by lane: floats by the VALUE and SLOPE columns of the op table, integers and pointers here.
#ifndef TAD_GPU_RUNNER_INTERP_INTERP_ELEMENTWISE_H
#define TAD_GPU_RUNNER_INTERP_INTERP_ELEMENTWISE_H

#include "gpu-runner/interp/interp.h"

/// Binary arithmetic on tiles as the operator op would do it (also for atomics and custom reductions).
Tile *apply_binary(Interp *interp, OpCode code, Tile *a, Tile *b);
/// The element type in which two operands are computed.
DTypeCode promote_tiles(const Tile *a, const Tile *b, bool division);

#endif
