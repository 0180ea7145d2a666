// The derivative of the loss along a direction, three ways: by dual numbers, by central differences, by the gradient.
// The loss is the sum of every output element times a fixed random weight.
#ifndef TAD_GPU_RUNNER_EXECUTE_DERIVATIVE_H
#define TAD_GPU_RUNNER_EXECUTE_DERIVATIVE_H

#include "gpu-runner/execute/execution.h"

#define DERIVATIVE_TOLERANCE 1e-6  // relative
/// A step of inputs that changes their last digits: what notices is rounding.
#define LAST_DIGITS 1e-13

/// What the forward says about one direction.
typedef struct Measured {
    double dual;        // derivative by forward-mode duals
    double difference;  // by central differences, extrapolated
    bool is_smooth;     // two step sizes agree
    double noise;       // rounding in `difference`
    Error error;        // why a forward that was moved did not run
} Measured;

/// At the inputs moved by `perturbation.step` along the direction. `*error`, where it is NULL, takes what stops the forward.
double derivative_by_duals(Executor *executor, Perturbation perturbation, Error *error);
/// Fills all of `measured` but `dual`, by steps of `step` and twice that.
void derivative_by_differences(Executor *executor, Perturbation perturbation, double step,
                               Measured *measured);
/// <gradient, direction> over the elements that the forward reads, and the size to judge errors by.
double derivative_by_gradient(const Problem *problem, const Execution *forward, Execution *backward,
                              const Perturbation *perturbation, double *size);

/// Relative to the larger of the two and `size`. Differences within `noise`, or within the rounding of numbers of size 1,
/// are none.
double relative_error(double expected, double actual, double size, double noise);
/// The error of `actual`. Central differences are trusted where they agree with themselves. At a kink they are not, but duals
/// alone acquit nothing: the error is then that of the differences, and smaller steps may settle it.
double measured_error(const Measured *measured, double actual, double size, bool *kink);
/// Whether the true derivative itself changes with the last digits of the inputs: an iteration that has converged or diverges,
/// say. Then nothing can be compared with it. Also where the time is up before that is known.
bool derivative_is_rounding(Executor *executor, const bool *active, uint64_t seed);

/// Offsets of an input that the forward reads, or overwrites: what was there counts no more. A scalar has one, 0.
void input_offsets(const Problem *problem, const Execution *forward, Arena *arena, int parameter,
                   Offsets *offsets);
/// The derived gradient at an element; of a scalar, the sum of what the kernels wrote (one partial sum per program).
double gradient_at(const Problem *problem, Execution *backward, int parameter, int64_t offset);

#endif
