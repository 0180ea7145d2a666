// Times a forward kernel and its backward on a GPU: tad-runner plans the launch and does it, or a Python with PyTorch and Triton where it cannot.
#ifndef TAD_SERVER_PROOFS_TIMING_H
#define TAD_SERVER_PROOFS_TIMING_H

#include "server/proofs/runner_client.h"

enum { TIMING_LEAST_BYTES = 1000 * 1000 };  // below, a launch takes longer than the work

typedef struct TimingRequest {
    const char *const *runner;  // runner_command
    const char *const *python;  // a command, as runner_command makes it
    Json *params;               // of `gradcheck`: proof_params
    const Json *
        reference;  // reference_of (server/times/reference.h), timed by the same Python where the times are there; or NULL
    const char *module;  // text with the forward, its helpers and the backward's kernels
    bool
        only_launched;  // never by PyTorch, which would import the text: it is the user's own module
} TimingRequest;

/// `result` as gpu-runner/triton/time.h and gpu-runner/time_kernels.py give it, with "reference" where that was asked for, or NULL and one sentence that says why there are no times.
typedef void TimingCallback(void *context, const Json *result, const char *problem);

typedef struct Timing Timing;
/// Starts both processes one after the other; the callback comes exactly once, from the loop. Arguments are copied.
Timing *timing_start(Loop *loop, const TimingRequest *request, TimingCallback *callback,
                     void *context);
/// Kills what runs; the callback gets a problem.
void timing_cancel(Timing *timing);
/// Kills what runs; the callback does not come. For the end of a session.
void timing_abandon(Timing *timing);
/// Whether this machine lacks what every timing takes, so that the problem is no kernel's own; it names the setting.
bool timing_lacks_setup(const char *problem);
/// "fwd 0.0698 ms (3846 GB/s), bwd 0.104 ms, 1.5x fwd" of a result.
const char *timing_summary(Arena *arena, const Json *result);
/// The Python to use: `given`, else what TAD_PYTHON says, else "python3".
const char *const *timing_python(Arena *arena, const char *given);

#endif
