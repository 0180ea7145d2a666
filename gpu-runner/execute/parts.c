// Sums of a few programs in, the gradient that they add up to out.
#include "gpu-runner/execute/parts.h"

#include <string.h>

/// Elements apart where nobody says how large the tensor is: more than three times the longest stride that is made up on either side, and
/// a few of them within the addresses of one buffer (interp/memory.h).
static const int64_t FAR_APART = (int64_t)1 << 43;

static int64_t elements_before(const PlanArgument *argument) {
    if (argument->extent < 1) return FAR_APART / 2;
    return argument->has_start ? argument->before : 0;
}

int64_t parts_stride(const Problem *problem, int parameter) {
    const PlanArgument *argument = &problem->configuration->arguments[parameter];
    return argument->extent < 1 ? FAR_APART : argument->extent + elements_before(argument);
}

static int64_t most_slices(const Problem *problem) {
    int64_t most = 1;
    for (int i = 0; i < problem->launch_count; i++)
        for (int k = 0; k < problem->launches[i].function->parameter_count; k++) {
            const Actual *actual = &problem->launches[i].actuals[k];
            if (actual->kind == ACTUAL_SLICES && actual->number > most) most = actual->number;
        }
    return most;
}

MemoryBuffer *parts_buffer(const Problem *problem, Execution *run, const Actual *actual) {
    int parameter = actual->parameter;
    if (run->parts[parameter]) return run->parts[parameter];
    const PlanArgument *argument = &problem->configuration->arguments[parameter];
    const char *name =
        arena_printf(run->arena, "the sums for the gradient of %.*s", STR_ARGS(argument->name));
    MemoryBuffer *buffer =
        memory_add(run->memory, name, actual->dtype, (Content){.kind = CONTENT_ZERO});
    if (argument->extent >= 1)
        buffer->extent =
            argument->extent + (most_slices(problem) - 1) * parts_stride(problem, parameter);
    buffer->has_start = true;  // the Function makes it: nothing lies in front of the first sum
    buffer->before = elements_before(argument);
    buffer->is_gradient = true;
    buffer->is_uninitialised = actual->stored != NULL;
    return run->parts[parameter] = buffer;
}

/// The element of the tensor that an element of its sums is for.
static int64_t element_of(const Problem *problem, int parameter, int64_t offset) {
    int64_t stride = parts_stride(problem, parameter),
            before = elements_before(&problem->configuration->arguments[parameter]);
    int64_t rest = (offset + before) % stride;
    return (rest < 0 ? rest + stride : rest) - before;
}

int64_t launch_sums(const GradientLaunch *launch) {
    for (int i = 0; i < launch->function->parameter_count; i++)
        if (launch->actuals[i].kind == ACTUAL_SLICES) return launch->actuals[i].number;
    return 1;
}

/// Which of the sums an element is in.
static int64_t number_of_sum(const Problem *problem, int parameter, int64_t offset) {
    int64_t stride = parts_stride(problem, parameter),
            place = offset + elements_before(&problem->configuration->arguments[parameter]);
    return place < 0 ? -1 : place / stride;
}

/// The Function adds up `sums` of them: what is stored behind these is in no gradient.
static void add_up(const Problem *problem, Execution *run, MemoryBuffer *gradient, int parameter,
                   int64_t sums) {
    MemoryBuffer *parts = run->parts[parameter];
    Offsets written = {0};
    memory_touched(run->arena, parts, true, &written);
    for (LIST_EACH(int, i, written)) {
        int64_t number = number_of_sum(problem, parameter, written.items[i]);
        if (number < 0 || number >= sums) {
            const PlanArgument *argument = &problem->configuration->arguments[parameter];
            run->misplaced =
                arena_printf(run->arena,
                             "a sum of the gradient of `%.*s` is stored as number %lld, "
                             "and %lld are added up",
                             STR_ARGS(argument->name), (long long)number + 1, (long long)sums);
            continue;
        }
        int64_t element = element_of(problem, parameter, written.items[i]), bits;
        double sum = memory_peek(run->memory, parts, written.items[i]);
        if (memory_is_written(gradient, element))
            sum += memory_peek(run->memory, gradient, element);
        memcpy(&bits, &sum, sizeof bits);
        memory_take(run->memory, gradient, element, bits);
        memory_take_contested(run->memory, gradient, element, parts, written.items[i]);
    }
}

void parts_add_up(const Problem *problem, Execution *run, const GradientLaunch *launch) {
    for (int i = 0; i < launch->function->parameter_count; i++) {
        const Actual *actual = &launch->actuals[i];
        if (actual->kind != ACTUAL_GRADIENT || !actual->is_parts || !run->parts[actual->parameter])
            continue;
        add_up(problem, run, gradient_buffer(problem, run, actual), actual->parameter,
               launch_sums(launch));
    }
}
