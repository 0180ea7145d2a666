// Where a backward that stands in a file writes a gradient: the place to look at when that gradient is wrong.
#ifndef TAD_SERVER_PROOFS_GRADIENT_PLACE_H
#define TAD_SERVER_PROOFS_GRADIENT_PLACE_H

#include "analysis/snapshot.h"
#include "base/json.h"

/// The kernel of a backward and the parameter of it that takes the gradient of `input`; empty where there is none.
typedef struct GradientWriter {
    Str input, kernel, parameter;
} GradientWriter;

/// Who writes the gradient of the input that a check found most wrong. `backward` is what the check was asked with,
/// `answer` what it said (docs/gpu.md); the names live as long as `backward`.
GradientWriter gradient_writer(const Json *backward, const Json *answer);
/// Its first store in the present text, else the name of its kernel, else `otherwise`.
Range gradient_place(Arena *arena, const Snapshot *snapshot, GradientWriter writer,
                     Range otherwise);

#endif
