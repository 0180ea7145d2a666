// A kernel, its launch and a number in; both with a parameter for that number, out.
#include "autodiff/together/launch_parameter.h"

#include "autodiff/tape/tape.h"
#include "autodiff/together/renumber.h"

Value *launch_add_parameter(Differentiation *state, BackwardLaunch *launch, const char *name,
                            BackwardArgument argument) {
    Function *backward = state->backward;
    bool is_flag = argument.use == ARGUMENT_DESCRIBED;
    Type whole = {.kind = TYPE_NUMBER,
                  .element = dtype_of(is_flag ? DTYPE_INT1 : DTYPE_INT32),
                  .is_constexpr = argument.is_constexpr};
    Value *value = backward_add_parameter(state, name, whole);
    int count = backward->parameter_count, last = count - 1, place = last;
    Parameter added = backward->parameters[last];
    added.is_constexpr = argument.is_constexpr;
    if (argument.is_constexpr)
        added.default_text = is_flag ? STR("False") : STR("1");
    else  // Python takes no parameter without a default after one that has it
        while (place && (backward->parameters[place - 1].is_constexpr ||
                         backward->parameters[place - 1].default_text.size))
            place--;
    argument.name = added.name;
    if (!argument.of) argument.of = added.name;
    Parameter *parameters = ARENA_ARRAY(state->arena, Parameter, count);
    BackwardArgument *arguments = ARENA_ARRAY(state->arena, BackwardArgument, count);
    int *new_index = ARENA_ARRAY(state->arena, int, count);
    for (int i = 0; i < count; i++) {
        int from = i < place ? i : i == place ? last : i - 1;
        new_index[from] = i;
        parameters[i] = i == place ? added : backward->parameters[from];
        arguments[i] = i == place ? argument : launch->arguments[from];
    }
    backward->parameters = parameters;
    launch->arguments = arguments;
    launch->argument_count = count;
    if (place != last) function_renumber_parameters(backward, new_index);
    return value;
}
