#include "gpu-runner/execute/same_values.h"

#include <math.h>
#include <string.h>

static const double SAME = 1e-9;  // relative to the element and to the largest of its buffer
static const double MOVED = 0.3;  // as far as the tensors are moved the second time

/// NaN where both have none, and infinities, are the same.
static bool is_same(double a, double b, double largest) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    return fabs(a - b) <= SAME * fmax(largest, fmax(fabs(a), fabs(b)));
}

static double largest_of(Execution *run, MemoryBuffer *buffer, const Offsets *offsets) {
    double largest = 0;
    for (int i = 0; i < offsets->count; i++) {
        double value = fabs(memory_peek(run->memory, buffer, offsets->items[i]));
        if (isfinite(value)) largest = fmax(largest, value);
    }
    return largest;
}

/// The elements that `a` has written.
static const char *buffer_fault(Arena *arena, Execution *a, Execution *b, int parameter) {
    MemoryBuffer *own = a->buffers[parameter], *other = b->buffers[parameter];
    Offsets written = {0};
    memory_touched(a->arena, own, true, &written);
    bool is_float = dtype_code_is_float(own->dtype);
    double largest = is_float ? largest_of(a, own, &written) : 0;
    for (int i = 0; i < written.count; i++) {
        int64_t offset = written.items[i];
        double value = memory_peek(a->memory, own, offset),
               instead = memory_peek(b->memory, other, offset);
        if (is_same(value, instead, largest)) continue;
        return arena_printf(arena, "element %lld of `%s` is %.6g in one and %.6g in the other",
                            (long long)offset, own->name, value, instead);
    }
    return NULL;
}

static const char *runs_fault(Arena *arena, const Problem *problem, Execution *now,
                              Execution *before) {
    if (before->error)
        return arena_printf(arena, "the kernel as it was does not run: %s", before->error);
    if (now->error) return arena_printf(arena, "the kernel does not run: %s", now->error);
    const char *fault = NULL;
    for (int i = 0; i < problem->configuration->argument_count && !fault; i++) {
        if (!now->buffers[i]) continue;
        fault = buffer_fault(arena, now, before, i);
        if (!fault) fault = buffer_fault(arena, before, now, i);
    }
    return fault ? arena_printf(arena, "the kernel stores other numbers than before: %s", fault)
                 : NULL;
}

static const char *compare(Arena *arena, const Problem *problem, const Perturbation *moved) {
    Problem old = *problem;
    old.forward = problem->before;
    Arena *scratch = arena_new();
    Executor executor = executor_new(scratch, problem), other = executor_new(scratch, &old);
    Execution now = execution_forward(&executor, moved), before = execution_forward(&other, moved);
    const char *fault = runs_fault(arena, problem, &now, &before);
    execution_free(&now);
    execution_free(&before);
    arena_free(scratch);
    return fault;
}

const char *same_values_fault(Arena *arena, const Problem *problem) {
    bool *all = ARENA_ARRAY(arena, bool, problem->input_count + 1);
    for (int i = 0; i < problem->input_count; i++) all[i] = true;
    Perturbation moved = {.active = all, .seed = problem->seed, .step = MOVED};
    const char *fault = compare(arena, problem, NULL);
    return fault ? fault : compare(arena, problem, &moved);
}
