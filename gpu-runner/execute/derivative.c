// A direction in, the loss of perturbed forwards and its slope out.
#include "gpu-runner/execute/derivative.h"

#include <math.h>

static const double CONSISTENT =
    1e-5;  // two step sizes agree this well where the function is smooth
static const double ROUNDING = 1e-14;  // of the loss, relative to the sizes of its terms
static const double SMALLEST =
    1e-10;  // derivative; DERIVATIVE_TOLERANCE of it is the rounding of 1.0

/// sum of upstream * output, or of upstream * tangent; `size` is the sum of the terms' sizes.
static double loss(const Executor *executor, Execution *run, bool tangent, double *size) {
    const Problem *problem = executor->problem;
    double sum = 0;
    *size = 0;
    for (int k = 0; k < problem->output_count; k++) {
        int parameter = problem->outputs[k];
        MemoryBuffer *buffer = run->buffers[parameter];
        if (!buffer || !dtype_code_is_float(buffer->dtype)) continue;
        Content content = upstream_content(problem, parameter);
        Offsets written = {0};
        memory_touched(run->arena, buffer, true, &written);
        for (int i = 0; i < written.count; i++) {
            int64_t offset = written.items[i];
            double upstream = upstream_at(executor, &content, parameter, offset);
            if (upstream == 0) continue;
            double term = upstream * (tangent ? memory_peek_tangent(run->memory, buffer, offset)
                                              : memory_peek(run->memory, buffer, offset));
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

void input_offsets(const Problem *problem, const Execution *forward, Arena *arena, int parameter,
                   Offsets *offsets) {
    if (problem->configuration->arguments[parameter].kind != ARGUMENT_POINTER) {
        LIST_PUSH(arena, offsets, 0);
        return;
    }
    memory_touched(arena, forward->buffers[parameter], false, offsets);
    memory_touched_only(arena, forward->buffers[parameter], true, offsets);
}

double gradient_at(const Problem *problem, Execution *backward, int parameter, int64_t offset) {
    MemoryBuffer *buffer = backward->gradients[parameter];
    if (!buffer) return 0;
    if (problem->configuration->arguments[parameter].kind == ARGUMENT_POINTER)
        return memory_peek(backward->memory, buffer, offset);
    Offsets written = {0};
    memory_touched(backward->arena, buffer, true, &written);
    double sum = 0;
    for (int i = 0; i < written.count; i++)
        sum += memory_peek(backward->memory, buffer, written.items[i]);
    return sum;
}

double derivative_by_gradient(const Problem *problem, const Execution *forward, Execution *backward,
                              const Perturbation *perturbation, double *size) {
    double sum = 0, square = 0;
    for (int k = 0; k < problem->input_count; k++) {
        if (!perturbation->active[k]) continue;
        int parameter = problem->inputs[k];
        Direction direction = perturbation_direction(problem, perturbation, parameter);
        Offsets offsets = {0};
        input_offsets(problem, forward, backward->arena, parameter, &offsets);
        for (int i = 0; i < offsets.count; i++) {
            double component = direction_at(&direction, offsets.items[i]);
            if (component == 0) continue;
            double term = component * gradient_at(problem, backward, parameter, offsets.items[i]);
            sum += term;
            square += term * term;
        }
    }
    *size = sqrt(square);
    return sum;
}

double relative_error(double expected, double actual, double size, double noise) {
    if (!isfinite(expected) || !isfinite(actual)) return INFINITY;
    double scale = fmax(fmax(fabs(expected), fabs(actual)), size),
           difference = fabs(expected - actual) - noise;
    return difference <= 0 ? 0 : difference / fmax(scale, SMALLEST);
}

static double loss_at_step(Executor *executor, Perturbation perturbation, double step, double *size,
                           Error *error) {
    perturbation.step = step;
    perturbation.is_tangent = false;
    Execution run = execution_forward(executor, &perturbation);
    double value = loss(executor, &run, false, size);
    if (run.error && !*error) *error = arena_strdup(executor->interp->arena, run.error);
    execution_free(&run);
    return value;
}

double derivative_by_duals(Executor *executor, Perturbation perturbation, Error *error) {
    perturbation.is_tangent = true;
    Execution run = execution_forward(executor, &perturbation);
    double size, value = loss(executor, &run, true, &size);
    if (run.error && !*error) *error = arena_strdup(executor->interp->arena, run.error);
    execution_free(&run);
    return value;
}

/// Central differences with h and 2h; Richardson's extrapolation leaves an error of order h^4.
void derivative_by_differences(Executor *executor, Perturbation perturbation, double step,
                               Measured *measured) {
    double slopes[2], size = 0;
    for (int i = 0; i < 2; i++) {
        double wide = step * (i + 1);
        double above = loss_at_step(executor, perturbation, wide, &size, &measured->error);
        double below = loss_at_step(executor, perturbation, -wide, &size, &measured->error);
        slopes[i] = (above - below) / (2 * wide);
    }
    measured->noise = ROUNDING * size / step;
    measured->difference = (4 * slopes[0] - slopes[1]) / 3;
    measured->is_smooth = relative_error(slopes[0], slopes[1], 0, measured->noise) < CONSISTENT;
}

double measured_error(const Measured *measured, double actual, double size, bool *kink) {
    double by_dual = relative_error(measured->dual, actual, size, 0);
    double by_difference = relative_error(measured->difference, actual, size, measured->noise);
    if (by_difference < DERIVATIVE_TOLERANCE)
        return fmin(by_dual, by_difference > 0 ? by_difference : by_dual);
    if (measured->is_smooth || !isfinite(by_dual)) return by_difference;
    *kink = true;
    return by_dual < DERIVATIVE_TOLERANCE ? by_difference : by_dual;
}

bool derivative_is_rounding(Executor *executor, const bool *active, uint64_t seed) {
    Perturbation perturbation = {.active = active, .seed = seed};
    Error error = NULL;
    double here = derivative_by_duals(executor, perturbation, &error);
    for (int side = -1; side <= 1 && !error; side += 2) {
        perturbation.step = side * LAST_DIGITS;
        double there = derivative_by_duals(executor, perturbation, &error);
        if (!error && relative_error(here, there, 0, 0) > DERIVATIVE_TOLERANCE) return true;
    }
    return error != NULL;  // out of time: no verdict
}
