// Launch specification: from a comment, pyproject.toml, the launcher or the kernel alone to configurations to run.
#ifndef TAD_GPU_RUNNER_CONFIGURE_SPEC_H
#define TAD_GPU_RUNNER_CONFIGURE_SPEC_H

#include "base/json.h"
#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/plan.h"

typedef struct SpecRequest {
    const Module *module;
    const FunctionDefinition *kernel;
    const Function *symbolic;  // the kernel with open constexprs
    const char *comment;       // "# tad: ..." lines, or NULL
    const Json *
        pyproject;  // the kernel's entry: a string, an array of strings, or an object of name -> value
    bool uses_launchers;
    uint64_t seed;
} SpecRequest;

/// Candidates, the most trustworthy first; those that turn out not to run are the caller's to drop.
/// Where none can be had, `*error` names the argument for which nothing is known.
Configurations spec_configurations(Arena *arena, const SpecRequest *request, Error *error);

typedef enum Spread {
    SPREAD_NONE,     // the kernel has no strides
    SPREAD_TENSORS,  // those that follow from the tensors' sizes
    SPREAD_CHOICES,  // also numbers that the launcher's caller chooses, as a convolution's stride
} Spread;

/// An open configuration: one argument per parameter, nothing decided.
PlanConfiguration configuration_open(Arena *arena, const FunctionDefinition *kernel);
const Constant *constant_int(Arena *arena, int64_t value);
const Constant *constant_bool(Arena *arena, bool value);
const Constant *constant_float(Arena *arena, double value);
const Constant *constant_none(Arena *arena);
const Constant *constant_text(Arena *arena, Str text);
const Constant *constant_dtype(Arena *arena, DTypeCode dtype);

#endif
