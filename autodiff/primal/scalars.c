// Adjoints of a kernel's floating-point scalars in, a plain store a program into a buffer that the launcher sums out.
#include "autodiff/primal/scalars.h"

#include <string.h>

#include "analysis/build/build.h"
#include "autodiff/tape/tape.h"

bool parameter_is_float_scalar(const Parameter *parameter) {
    Type type = parameter->value->type;
    return !parameter->is_constexpr && type.kind == TYPE_NUMBER && type.rank == 0 &&
           dtype_class(type.element) == CLASS_FLOAT;
}

bool scalar_is_asked(const BackwardOptions *options, const Parameter *parameter) {
    for (int i = 0; options && i < options->wrt_count; i++)
        if (strcmp(options->wrt[i], parameter->name) == 0) return true;
    bool is_left_out = options && (options->wrt_count > 0 || options->skips_scalars ||
                                   options->wrapper == WRAPPER_TRITON_OP);
    return parameter->comes_from_tensor && !is_left_out;
}

static void store_sum(Differentiation *state, const Parameter *parameter, Value *gradient,
                      Value *sum) {
    Builder *b = &state->builder;
    Value *program = program_number(state, b, state->tapes.tapes.count > 0);  // shared with tapes
    Value *address = program ? build_binary(b, OP_ADD, gradient, program) : gradient;
    build(b, OP_STORE, (Value *[]){address, sum}, 2);
    Accumulation accumulation = {.op = b->region->last,
                                 .gradient = gradient,
                                 .input = parameter,
                                 .range = parameter->range,
                                 .is_program_sum = true};
    LIST_PUSH(state->arena, &state->sweep.accumulations, accumulation);
}

void scalars_store(Differentiation *state, const AdjointFrame *outermost) {
    for (int i = 0; i < state->primal->parameter_count && !state->failed; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        Value *gradient = map_get_pointer(&state->buffers.gradients, parameter->value);
        Value *sum = map_get_pointer(&outermost->adjoints, parameter->value);
        if (gradient && sum && parameter_is_float_scalar(parameter))
            store_sum(state, parameter, gradient, sum);
    }
}
