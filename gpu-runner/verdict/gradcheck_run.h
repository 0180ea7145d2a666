// Inside gpu-runner/verdict/: one run of the request `gradcheck`, what it was asked and what was found so far.
#ifndef TAD_GPU_RUNNER_VERDICT_GRADCHECK_RUN_H
#define TAD_GPU_RUNNER_VERDICT_GRADCHECK_RUN_H

#include "gpu-runner/configure/spec.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/prove/check.h"
#include "gpu-runner/prove/problem_read.h"
#include "gpu-runner/prove/request.h"
#include "gpu-runner/verdict/covered.h"
#include "gpu-runner/verdict/own_report.h"

/// With this many configurations proved, no other is begun after ENOUGH_STEPS; as long as only single programs are proved along an axis,
/// configurations with several are run beyond those.
enum { ENOUGH_PROVED = 2, ENOUGH_STEPS = 100000000, ENOUGH_WIDENING_STEPS = 300000000 };

typedef struct InputSummary {
    const char *name;
    double error;
    int directions;
    Json *worst;  // or NULL
} InputSummary;

/// What failed in a configuration made up for the kernel alone, for want of owners of the elements that its programs share.
typedef struct SharedElements {
    const PlanConfiguration *configuration;
    Problem problem;
    CheckResult result;
} SharedElements;

/// What is known of one launch in the file.
typedef struct SiteRecord {
    const void *site;
    CheckResult *met;  // its programs met with the usual sizes; or NULL
    bool is_right;     // with some sizes they did not, where several store to all that it stores to
} SiteRecord;

typedef struct Gradcheck {
    Arena *arena;
    const Json *params;
    Sources *sources;
    const FunctionDefinition *forward,
        *before;  // what the forward was rewritten from, by the request's "before"; or NULL
    Function *symbolic;
    const int
        *joined;  // per parameter of the forward: the one that it shares its tensor with, or -1
    const ParameterFacts *facts;
    const Module *backward;
    const Json *launches;
    Budget budget;
    int64_t most_steps;
    Covered *covered;
    Need need;
    double started, most_seconds;
    uint64_t seed;
    // what was found
    CheckStatus status;
    const char *reason, *invalid_reason;
    InputSummary *inputs;
    int input_count, proved, checked, spread, redundant;
    int undefined;  // configurations that store what masked-off loads left undefined
    int ragged;     // configurations of the kernel alone whose last tiles reach what nobody defined
    double worst_error, dot_error, together;
    int together_directions;
    bool has_kink, is_told, is_spreading;
    bool
        is_widening;  // sizes that are multiples of the blocks, where only single programs are proved
    bool fills_zero;  // what is undefined is taken to be 0
    bool is_settled;  // by what a launch of the file does
    bool
        is_launch_clean;  // proved with a launch of the file, in which no program stores an element twice
    bool
        is_reached;  // proved where the programs store to all of a tensor, or a size decides how many there are
    CheckResult
        *met;  // the first launch, of whatever sizes, in which several programs met; or NULL
    LIST(SiteRecord) sites;  // of configurations that ran, in the order of these
    bool is_infinite_empty;  // where loops have no iteration, a gradient is not finite
    bool is_contradicted;    // what was measured as wrong was put down to the configuration
    Json *configurations, *discarded, *findings;
    LIST(SharedElements) shared;
    ProvedRuns runs;
    CudaUse cuda;
} Gradcheck;

/// What configurations of the kernel are made from.
SpecRequest gradcheck_spec_request(const Gradcheck *check);
/// What a configuration's problem is read with.
ProblemReader gradcheck_problem_reader(Gradcheck *check);

#endif
