// Launch specification: from a comment, pyproject.toml, the launcher or the kernel alone to configurations to run.
#ifndef TAD_RUNNER_SPEC_H
#define TAD_RUNNER_SPEC_H

#include "base/json.h"
#include "gpu-runner/facts.h"
#include "gpu-runner/plan.h"

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

/// spec_text.c: `NAME=value, ...` into the arguments (and the grid) of `configuration`. Values: numbers, True/False/None,
/// "text", tl.float32, expressions over earlier names (`cdiv(M, 16)`), buffers `f32[M, N]`, `i32[B] in range(0, V)`.
/// Names that are no parameters are helpers for later expressions. A sentence where the text is not understood.
Error spec_parse(Arena *arena, const SpecRequest *request, Str text, Configuration *configuration);

/// spec_text.c: the number that an expression over the configuration's whole numbers comes to. Zero and a sentence where
/// it is not understood.
double spec_number(Arena *arena, const Configuration *configuration, Str text, Error *error);

/// spec_descriptor.c: the blocks of descriptors, and shapes for those that have none. The rest is chosen.
void spec_describe(const Function *symbolic, Configuration *configuration);

/// spec_guess.c: fills what is open from the evidence in the kernel; several candidates.
Configurations spec_guess(Arena *arena, const SpecRequest *request, const Configuration *fixed,
                          Error *error);

typedef enum Spread {
    SPREAD_NONE,     // the kernel has no strides
    SPREAD_TENSORS,  // those that follow from the tensors' sizes
    SPREAD_CHOICES,  // also numbers that the launcher's caller chooses, as a convolution's stride
} Spread;

/// Puts the made-up strides of the kernel alone in the place of the launcher's, so far apart that no two rows meet, and
/// forgets the extents.
Spread spec_spread(Arena *arena, const SpecRequest *request, Configuration *configuration);

/// The stride that is 0, of a tensor that the launcher expands; NULL: there is none.
const char *spec_zero_stride(Arena *arena, const SpecRequest *request,
                             const Configuration *configuration);

/// What a buffer of that type holds, by how the kernel uses what it loads from it.
Content content_guess(const ParameterFacts *facts, DTypeCode dtype, uint64_t seed);
/// The element type that the kernel alone gives a pointer parameter.
DTypeCode pointee_guess(const Parameter *parameter, const ParameterFacts *facts);

/// spec_launcher.c: what the launchers in the module pass; `is_even`: for tensors whose sizes are powers of two, as a last resort.
Configurations spec_from_launchers(Arena *arena, const SpecRequest *request, bool is_even);

/// An open configuration: one argument per parameter, nothing decided.
Configuration configuration_open(Arena *arena, const FunctionDefinition *kernel);
const Constant *constant_int(Arena *arena, int64_t value);
const Constant *constant_bool(Arena *arena, bool value);
const Constant *constant_float(Arena *arena, double value);
const Constant *constant_none(Arena *arena);
const Constant *constant_text(Arena *arena, Str text);
const Constant *constant_dtype(Arena *arena, DTypeCode dtype);

#endif
