// The request `time`: a forward and its backward as the user's Triton compiles them, launched from here and timed. No PyTorch.
#ifndef TAD_GPU_RUNNER_TRITON_TIME_H
#define TAD_GPU_RUNNER_TRITON_TIME_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/json.h"

/// `params`: {"plan": answer of `plan`, "module": text with the forward, its helpers and the derived kernels, "path", "modules",
/// "kernel", "python": [program, arguments], "max_seconds", "read": {key of a tensor: how many elements},
/// "check": "keep" or "compare" (reference.h), "most_spilled": bytes of a thread, "launch": kernel of the backward that alone is checked and timed,
/// "launches": so many are run, each once, and none is timed}. {"device", "architecture", "triton", "text", "bytes", "backward_bytes", "operations", "copy_gb_s",
/// "forward": {"median_ms", "low_ms", "high_ms", "runs", "peak_bytes", "kernels": [...]}, "backward", "meters", "read", "seconds", "plan": with "launches", as this GPU has it}. NULL and `*error` where there
/// are no times.
Json *request_time(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);
/// The kernel, or the "launch", is compiled and kept, for whoever times it later. No GPU is touched: `params` has its "architecture". {"was_compiled"}.
Json *request_compile(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);

#endif
