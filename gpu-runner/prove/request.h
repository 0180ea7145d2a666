// What a request carries, made ready to run: modules from texts, kernels lowered with every constexpr bound.
#ifndef TAD_GPU_RUNNER_PROVE_REQUEST_H
#define TAD_GPU_RUNNER_PROVE_REQUEST_H

#include "base/json.h"
#include "gpu-runner/configure/plan.h"
#include "gpu-runner/cuda/launch.h"

/// Texts of the request, the modules made from them and the kernels lowered from these. Everything lives in the arena but the syntax trees.
typedef struct Sources {
    Arena *arena;
    Resolver resolver;
    const Json *modules;  // the request's "modules"
    Map building;         // path -> its Source, while its module is being built
    int depth;            // modules that are being built
    LIST(Module *) built;
    Map lowered;           // kernel and bindings -> what lower_concrete came to
    DiagnosticId refusal;  // why the latest lower_concrete refused its kernel, or DIAGNOSTIC_COUNT
    const char *texts;     // all texts of the request, where requests of the same ones share it
} Sources;

/// For this request alone, in its arena; sources_free is its end.
Sources *sources_new(Arena *arena, const Json *params);
/// Those of the request before where that had the same texts: nothing is parsed or lowered again. In an arena of their own; sources_return is
/// their end. One thread asks for them.
Sources *sources_borrow(const Json *params);
/// Keeps them for the next request, unless they are large.
void sources_return(Sources *sources);
/// Parses `text` as the file `path`.
Module *sources_module(Sources *sources, const char *path, Str text);
/// The kernel that a request is about: "path", "source" and "kernel" of it. NULL and `*error` where there is none.
const FunctionDefinition *sources_kernel(Sources *sources, const Json *params, Error *error);
void sources_free(Sources *sources);

/// Lowers with all constexprs bound by the configuration. NULL and `*error` where that goes wrong. The same function for the same bindings:
/// whoever changes it changes all of them.
Function *lower_concrete(Sources *sources, const FunctionDefinition *definition,
                         const Binding *bindings, int count, Error *error);
/// What is wrong with a concrete kernel that computes an address from None, also where it never comes by; or NULL.
Error error_of_none(Arena *arena, const Function *function);
/// The same of a loop that carries a tile of whole numbers and makes floats of it: its sums would be cut.
Error error_of_carried(Arena *arena, const Function *function);
/// What the first static assertion says that is false in a concrete kernel; or NULL.
Error error_of_assertion(Arena *arena, const Function *function);

/// A JSON value as a Python constant; a text "tl.float32" is an element type. NULL for arrays and objects.
const Constant *constant_from_json(Arena *arena, const Json *value);
/// "fp32", "f32", "float32", "tl.float32"; `missing` when `name` is NULL or unknown.
DTypeCode dtype_from_text(const char *name, DTypeCode missing);

/// {"kind", "kernel", "line", "message"}
Json *finding_json(Arena *arena, const MemoryFinding *finding);

/// {"launches", "refused"}: what the GPU ran, and why not all that it should have. "gone": why it runs nothing now; "lost": nor ever again
/// in this process.
Json *cuda_json(Arena *arena, const CudaUse *use);

/// The processor's time that a request may take before it is surely stuck; it ends itself after its own "max_seconds".
double request_seconds(const Json *params);

typedef void ProgressCallback(void *context, const char *kernel, int done, int of,
                              const char *message);

#endif
