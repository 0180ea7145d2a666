// What is timed in PyTorch beside a kernel, and only where the user asks for it: `--reference`.
#ifndef TAD_SERVER_TIMES_REFERENCE_H
#define TAD_SERVER_TIMES_REFERENCE_H

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

/// For gpu-runner/time_kernels.py: {"expression"} of the line `# tad reference: ...` in the comment above a kernel where `given` is
/// "lines"; else {"file", "function"} of FILE[:FUNCTION], the function named as the kernel where it says none. {"problem"} where
/// there is no such thing. NULL where `given` is.
Json *reference_of(Arena *arena, const char *given, Str comment, const char *kernel);

/// "eager 0.196 ms forward (1.6x as long), 0.41 ms backward (2.0x)" and the same of torch.compile, a line each, with `before` in front; of a
/// result, or of a row of times. Empty where it has no reference.
const char *reference_text(Arena *arena, const Json *result, const char *before);

#endif
