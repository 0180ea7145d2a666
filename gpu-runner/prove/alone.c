// Runs the backward once for each gradient that may be asked for alone, and in tiles of its own, and compares that with what it was.
#include "gpu-runner/prove/alone.h"

#include <math.h>

static const double SAME_VALUE =
    1e-9;  // sums in another order, relative to the largest of the gradient

// --- the runs -----------------------------------------------------------------------------------------------------------

static Problem with_launches(const Problem *problem, const GradientLaunch *launches) {
    Problem other = *problem;
    other.launches = launches;
    return other;
}

static Problem silent_at(const Problem *problem, int parameter) {
    Problem silent = *problem;
    silent.is_silent = true;
    silent.silent = parameter;
    return silent;
}

static void others_beside(Beside *beside, const Problem *problem) {
    for (int i = 0; i < problem->alone_count; i++) {
        Problem one = with_launches(problem, problem->alone[i].launches);
        beside_add(beside, &one, false);
    }
    for (int i = 0; i < problem->absent_count; i++) {
        Problem silent = silent_at(problem, problem->absent[i].parameter),
                none = with_launches(&silent, problem->absent[i].launches);
        beside_add(beside, &silent, false);
        beside_add(beside, &none, false);
    }
}

void alone_beside(Beside *beside, const Executor *executor) {
    const Problem *problem = executor->problem;
    others_beside(beside, problem);
    for (int i = 0; i < problem->tiled_count; i++) {
        Problem tiled = with_launches(problem, problem->tiled[i]);
        beside_add(beside, &tiled, true);
    }
    if (!problem->whole_rows) return;
    beside_add(beside, problem->whole_rows, true);
    others_beside(beside, problem->whole_rows);
}

// --- the comparisons ----------------------------------------------------------------------------------------------------

/// Whether all elements that the whole backward wrote are the same; `*offset`: the first that is not.
static bool gradients_agree(const Execution *whole, const Execution *run, int parameter,
                            int64_t *offset) {
    MemoryBuffer *wanted = whole->gradients[parameter], *found = run->gradients[parameter];
    if (!wanted) return true;
    Offsets written = {0};
    double largest = 0;
    memory_touched(run->arena, wanted, true, &written);
    for (LIST_EACH(int, i, written))
        largest = fmax(largest, fabs(memory_peek(whole->memory, wanted, written.items[i])));
    for (LIST_EACH(int, i, written)) {
        *offset = written.items[i];
        double first = memory_peek(whole->memory, wanted, *offset),
               second = found ? memory_peek(run->memory, found, *offset) : 0;
        bool is_same = first == second || fabs(first - second) <= SAME_VALUE * largest;
        if (!is_same && !(isnan(first) && isnan(second))) return false;
    }
    return true;
}

const char *alone_fault(Arena *arena, const Executor *executor, Beside *beside,
                        const Execution *whole) {
    const Problem *problem = executor->problem;
    const char *fault = NULL;
    for (int i = 0; i < problem->alone_count && !fault; i++) {
        const GradientAlone *alone = &problem->alone[i];
        Problem one = with_launches(problem, alone->launches);
        Executor own = *executor;
        own.problem = &one;
        // a launch on the GPU would cost the steps of the backward with all
        Execution run = beside_backward(beside, &own, false);
        Str name = problem->configuration->arguments[alone->parameter].name;
        int64_t offset;
        if (run.error)
            fault = arena_printf(
                arena,
                "where only the gradient of %.*s is asked for, the backward does not run: %s",
                STR_ARGS(name), run.error);
        else if (!gradients_agree(whole, &run, alone->parameter, &offset))
            fault = arena_printf(arena,
                                 "the gradient of %.*s is another where no other is asked for "
                                 "(element %lld)",
                                 STR_ARGS(name), (long long)offset);
        execution_free(&run);
    }
    return fault;
}

/// The first gradient that is finite with zeros for an upstream gradient, and another with None; -1: none.
static int other_with_none(const Problem *problem, const Execution *zeros, const Execution *none,
                           int64_t *offset) {
    for (int i = 0; i < problem->input_count; i++) {
        int parameter = problem->inputs[i];
        MemoryBuffer *wanted = zeros->gradients[parameter];
        if (gradients_agree(zeros, none, parameter, offset)) continue;
        if (isfinite(memory_peek(zeros->memory, wanted, *offset))) return parameter;
    }
    return -1;
}

const char *absent_fault(Arena *arena, const Executor *executor, Beside *beside) {
    const Problem *problem = executor->problem;
    const char *fault = NULL;
    for (int i = 0; i < problem->absent_count && !fault; i++) {
        const GradientAlone *absent = &problem->absent[i];
        const PlanArgument *output = &problem->configuration->arguments[absent->parameter];
        Problem silent = silent_at(problem, absent->parameter),
                without = with_launches(&silent, absent->launches);
        Executor own = *executor;
        own.problem = &silent;
        // a launch on the GPU would cost the steps of the backward with all
        Execution zeros = beside_backward(beside, &own, false);
        own.problem = &without;
        Execution none = beside_backward(beside, &own, false);
        int64_t offset;
        int other =
            zeros.error || none.error ? -1 : other_with_none(problem, &zeros, &none, &offset);
        if (!zeros.error && none.error)
            fault = arena_printf(
                arena, "where %.*s has no upstream gradient, the backward does not run: %s",
                STR_ARGS(output->name), none.error);
        else if (other >= 0)
            fault = arena_printf(
                arena,
                "the gradient of %.*s is another where %.*s has no upstream gradient than where that is "
                "0 (element %lld)",
                STR_ARGS(problem->configuration->arguments[other].name), STR_ARGS(output->name),
                (long long)offset);
        execution_free(&none);
        execution_free(&zeros);
    }
    return fault;
}

/// What a run touches beyond what the backward touched, or finds that it did not, in words; NULL: nothing.
static const char *other_access(Arena *arena, const Problem *problem, const Execution *whole,
                                const Execution *run) {
    Beyond beyond;
    for (int i = 0; i < problem->configuration->argument_count; i++) {
        MemoryBuffer *known[] = {whole->buffers[i], whole->upstreams[i], whole->gradients[i]},
                     *used[] = {run->buffers[i], run->upstreams[i], run->gradients[i]};
        for (size_t k = 0; k < sizeof used / sizeof *used; k++)
            if (known[k] && used[k] && memory_beyond(used[k], known[k], 0, &beyond))
                return arena_printf(arena,
                                    "the backward %s element %lld of %s in the tiles that it is "
                                    "launched with, and in no others",
                                    beyond.is_write ? "writes" : "reads", (long long)beyond.offset,
                                    used[k]->name);
    }
    int known = whole->memory->findings.count;
    if (run->memory->findings.count <= known) return NULL;
    const MemoryFinding *finding = &run->memory->findings.items[known];
    return arena_printf(arena, "in the tiles that it is launched with, line %d: %s", finding->line,
                        finding->message);
}

/// The first gradient that a run makes otherwise, in words; NULL: none.
static const char *other_gradient(Arena *arena, const Problem *problem, const Execution *whole,
                                  const Execution *run) {
    for (int i = 0; i < problem->input_count; i++) {
        int parameter = problem->inputs[i];
        Str name = problem->configuration->arguments[parameter].name;
        int64_t offset;
        if (!gradients_agree(whole, run, parameter, &offset) ||
            !gradients_agree(run, whole, parameter, &offset))
            return arena_printf(
                arena,
                "the gradient of %.*s is another in the tiles that it is launched with (element %lld)",
                STR_ARGS(name), (long long)offset);
    }
    return NULL;
}

const char *whole_rows_fault(Arena *arena, const Executor *executor, Beside *beside,
                             const Execution *whole) {
    if (!executor->problem->whole_rows) return NULL;
    Executor own = *executor;
    own.problem = executor->problem->whole_rows;
    own.traced = NULL;  // a launch on the GPU would cost the steps of the forward's blocks
    Execution run = beside_backward(beside, &own, true);
    const char *fault = run.error ? run.error : other_gradient(arena, own.problem, whole, &run);
    if (!fault) fault = other_access(arena, own.problem, whole, &run);
    if (!fault) fault = alone_fault(arena, &own, beside, whole);
    if (!fault) fault = absent_fault(arena, &own, beside);
    execution_free(&run);
    return fault ? arena_printf(arena, "in a block that holds a row: %s", fault) : NULL;
}

const char *tiles_fault(Arena *arena, const Executor *executor, Beside *beside,
                        const Execution *whole) {
    const Problem *problem = executor->problem;
    const char *fault = NULL;
    for (int i = 0; i < problem->tiled_count && !fault; i++) {
        Problem tiled = with_launches(problem, problem->tiled[i]);
        Executor own = *executor;
        own.problem = &tiled;
        // a launch on the GPU would cost the steps of the forward's tiles
        Execution run = beside_backward(beside, &own, true);
        fault =
            run.error
                ? arena_printf(
                      arena, "the backward does not run in the tiles that it is launched with: %s",
                      run.error)
                : other_gradient(arena, problem, whole, &run);
        if (!fault) fault = other_access(arena, problem, whole, &run);
        execution_free(&run);
    }
    return fault;
}
