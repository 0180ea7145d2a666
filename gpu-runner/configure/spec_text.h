// The language of `# tad:` lines: assignments of numbers, flags, texts, element types, buffers and the grid.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_TEXT_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_TEXT_H

#include "gpu-runner/configure/spec.h"

/// spec_text.c: `NAME=value, ...` into the arguments (and the grid) of `configuration`. Values: numbers, True/False/None,
/// "text", tl.float32, expressions over earlier names (`cdiv(M, 16)`), buffers `f32[M, N]`, `i32[B] in range(0, V)`.
/// Names that are no parameters are helpers for later expressions. A sentence where the text is not understood.
Error spec_parse(Arena *arena, const SpecRequest *request, Str text,
                 PlanConfiguration *configuration);
/// spec_text.c: the number that an expression over the configuration's whole numbers comes to. Zero and a sentence where
/// it is not understood.
double spec_number(Arena *arena, const PlanConfiguration *configuration, Str text, Error *error);

#endif
