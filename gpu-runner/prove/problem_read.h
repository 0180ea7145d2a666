// A configuration and the texts of a request become a problem that can be run.
#ifndef TAD_GPU_RUNNER_PROVE_PROBLEM_READ_H
#define TAD_GPU_RUNNER_PROVE_PROBLEM_READ_H

#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/problem.h"
#include "gpu-runner/prove/request.h"

/// What the configurations of one request share.
typedef struct ProblemReader {
    Arena *arena;
    const Json *params;
    Sources *sources;
    const FunctionDefinition *forward;
    const Function *symbolic;
    const int *joined;
    const ParameterFacts *facts;
    const Module *backward;
    const Json *launches;
    uint64_t seed;
    int turn;  // how many configurations were proved before
    Budget *budget;
    const FunctionDefinition *before;  // of Problem.before; or NULL
} ProblemReader;

/// Whether the forward stores there for its backward alone, in memory that the Function makes.
bool problem_is_saved(const ProblemReader *reader, Str name);
/// Fills `problem`, and the grid of the configuration where that is not known. Why the forward cannot be run, or NULL;
/// `*launch_error`: why the backward cannot.
Error problem_read(const ProblemReader *reader, PlanConfiguration *configuration, Problem *problem,
                   Error *launch_error);

#endif
