// The gate's clock: what a written backward takes on this machine's GPU.
#ifndef TAD_SERVER_PHASES_BACKWARD_TIME_H
#define TAD_SERVER_PHASES_BACKWARD_TIME_H

#include "server/model/asker.h"
#include "server/phases/judge.h"

/// Of all kernels of a backward, at all sizes that the file says, together.
typedef struct BackwardTime {
    const char *missing;  // why there is none; NULL: there is
    double median_ms, low_ms, high_ms;
    const char *device;
} BackwardTime;

/// Times the backward of the gate's forward as the text has it. Its kernels have to be proved: they are compiled and launched. Nothing else
/// of the text is run (gpu-runner/triton/compile_kernels.py), and PyTorch never imports it.
/// Where the session is played or resumed, what was measured then.
BackwardTime backward_time(const Gate *gate, Asker *asker, Str text);

#endif
