// What a request carries, made ready to run: modules from texts, kernels lowered with every constexpr bound.
#ifndef TAD_RUNNER_REQUEST_H
#define TAD_RUNNER_REQUEST_H

#include "base/json.h"
#include "gpu-runner/plan.h"

/// Texts of the request and the modules made from them. Everything lives in the arena but the syntax trees.
typedef struct Sources {
    Arena *arena;
    Resolver resolver;
    const Json *modules;  // the request's "modules"
    Map by_path;          // path -> Module
    Map building;         // path -> its Source, while its module is being built
    LIST(Module *) built;
    Diagnostics diagnostics;
    DiagnosticId refusal;  // why the latest lower_concrete refused its kernel, or DIAGNOSTIC_COUNT
} Sources;

Sources *sources_new(Arena *arena, const Json *params);
/// Parses `text` as the file `path`.
Module *sources_module(Sources *sources, const char *path, Str text);
/// The kernel that a request is about: "path", "source" and "kernel" of it. NULL and `*error` where there is none.
const FunctionDefinition *sources_kernel(Sources *sources, const Json *params, Error *error);
void sources_free(Sources *sources);

/// Lowers with all constexprs bound by the configuration. NULL and `*error` where that goes wrong.
const Function *lower_concrete(Sources *sources, const FunctionDefinition *definition,
                               const Binding *bindings, int count, Error *error);
/// What is wrong with a concrete kernel that computes an address from None, also where it never comes by; or NULL.
Error error_of_none(Arena *arena, const Function *function);

/// A JSON value as a Python constant; a text "tl.float32" is an element type. NULL for arrays and objects.
const Constant *constant_from_json(Arena *arena, const Json *value);
/// "fp32", "f32", "float32", "tl.float32"; `missing` when `name` is NULL or unknown.
DTypeCode dtype_from_text(const char *name, DTypeCode missing);

/// {"kind", "kernel", "line", "message"}
Json *finding_json(Arena *arena, const Finding *finding);

typedef void ProgressCallback(void *context, const char *kernel, int done, int of,
                              const char *message);

/// The methods of the protocol: params in, result out, or NULL and `*error`.
Json *request_gradcheck(Arena *arena, const Json *params, const atomic_bool *cancelled,
                        ProgressCallback *progress, void *context, Error *error);
Json *request_run(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);
/// What a real launch needs: {"text", "source", "grid", "arguments": [{name, kind, ...}]} of the first configuration that runs.
Json *request_plan(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error);
Json *request_probe(Arena *arena);

#endif
