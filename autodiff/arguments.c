// A backward's parameters in; those that are used, in order, with what a launcher binds them to, out.
#include "autodiff/arguments.h"

#include <string.h>

#include "autodiff/plan/wrappers.h"
#include "autodiff/primal/descriptors.h"
#include "autodiff/tape/tape.h"
#include "autodiff/together/renumber.h"

typedef struct ParameterUse {
    Map used;
} ParameterUse;

static bool visit_parameter_use(void *context, Op *op) {
    ParameterUse *use = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) map_set_pointer(&use->used, op->operands[i], (void *)1);
    for (int i = 0; i < op->keyword_count; i++)
        map_set_pointer(&use->used, op->keywords[i].value, (void *)1);
    for (int i = 0; i < op->result_count; i++) {
        const Constant *constant = op->results[i]->constant;
        if (constant && constant->kind == CONSTANT_DTYPE &&
            constant->dtype.code == DTYPE_OF_PARAMETER)
            map_set_number(&use->used, (uint64_t)constant->dtype.parameter + 1,
                           (void *)1);  // small numbers are no pointers
    }
    return true;
}

static bool parameter_is_used(const ParameterUse *use, const Parameter *parameter,
                              int primal_index) {
    return map_has_pointer(&use->used, parameter->value) ||
           (primal_index >= 0 && map_has_number(&use->used, (uint64_t)primal_index + 1));
}

ArgumentUse argument_use(const Differentiation *state, const Value *value, const char **of) {
    const Tape *tape = tape_of(state, value);
    bool is_run_tile = value == state->parts.run_tile[0] || value == state->parts.run_tile[1];
    bool is_own = value == state->parts.slices || value == state->parts.stages || is_run_tile;
    *of = is_own ? state->backward->parameters[value->index].name : NULL;
    if (is_run_tile) return ARGUMENT_RUN_TILE;
    if (is_own) return value == state->parts.slices ? ARGUMENT_SLICES : ARGUMENT_STAGES;
    if (value == state->parts.fill) {
        argument_use(state, state->parts.filled, of);
        return ARGUMENT_FILL;
    }
    for (int i = 0; i < state->primal->parameter_count && !tape; i++) {
        const Value *gradient =
            map_get_pointer(&state->buffers.gradients, state->primal->parameters[i].value);
        bool is_stride = gradient && map_get_pointer(&state->parts.part_strides, gradient) == value;
        *of = state->primal->parameters[i].name;
        if (is_stride) return ARGUMENT_PART_STRIDE;
    }
    for (int i = 0; i < state->primal->parameter_count && !tape; i++) {
        const Parameter *primal = &state->primal->parameters[i];
        *of = primal->name;
        if (map_get_pointer(&state->buffers.upstreams, primal->value) == value &&
            map_has_pointer(&state->buffers.running, primal->value))
            return ARGUMENT_RUNNING;
        if (map_get_pointer(&state->buffers.kept, primal->value) == value) return ARGUMENT_KEPT;
        if (map_get_pointer(&state->buffers.gradients, primal->value) == value)
            return ARGUMENT_GRADIENT;
        if (map_get_pointer(&state->buffers.upstreams, primal->value) == value)
            return ARGUMENT_UPSTREAM;
        if (map_get_pointer(&state->values, primal->value) != value) continue;
        const DescriptorNumber *number = descriptor_number(state, primal->value);
        if (number) {
            *of = number->of;
            return number->use;
        }
        if (!map_has_pointer(&state->versions.origins, primal->value)) return ARGUMENT_SAME;
        *of = parameter_of_root(state, primal->value)->name;
        return map_has_pointer(&state->versions.replays, primal->value) ? ARGUMENT_AMID
                                                                        : ARGUMENT_BEFORE;
    }
    *of = tape ? state->backward->parameters[value->index].name : NULL;
    if (!tape) return ARGUMENT_SAME;
    return tape->steps == value ? ARGUMENT_STEPS : ARGUMENT_SCRATCH;
}

BackwardLaunch *arguments_so_far(const Differentiation *state) {
    const Function *backward = state->backward;
    BackwardLaunch *launch = ARENA_NEW(state->arena, BackwardLaunch);
    launch->arguments = ARENA_ARRAY(state->arena, BackwardArgument, backward->parameter_count + 1);
    for (int i = 0; i < backward->parameter_count; i++) {
        BackwardArgument *argument = &launch->arguments[launch->argument_count++];
        argument->name = backward->parameters[i].name;
        argument->use = argument_use(state, backward->parameters[i].value, &argument->of);
    }
    return launch;
}

/// What the launcher has to know of memory that it allocates.
static void describe_scratch(const Differentiation *state, const Value *value,
                             BackwardArgument *argument) {
    const Tape *tape = tape_of(state, value);
    if (argument->use == ARGUMENT_STEPS) {
        argument->elements = tape_step_elements(state, value);
        argument->trips = tape->trips;
    } else if (argument->use == ARGUMENT_SCRATCH) {
        argument->elements = tape->elements;
        argument->dtype = tape->dtype;
    }
}

enum { LAST_RANK = 6 };

int argument_rank(ArgumentUse use, const Parameter *parameter) {
    // Python takes no parameter without a default after one that has it.
    bool is_most = use == ARGUMENT_SLICES && parameter->is_constexpr;
    bool has_default =
        use == ARGUMENT_STAGES || use == ARGUMENT_FILL || use == ARGUMENT_RUN_TILE || is_most;
    if (has_default) return LAST_RANK;
    if (parameter->is_constexpr) return parameter->default_text.size ? 5 : 4;
    if (use == ARGUMENT_UPSTREAM || use == ARGUMENT_RUNNING) return 0;
    if (use == ARGUMENT_GRADIENT || use == ARGUMENT_KEPT || use == ARGUMENT_SCRATCH) return 2;
    return parameter->value->type.kind == TYPE_POINTER ? 1 : 3;
}

/// Of a parameter whose element type alone is asked for: one that is used, and a copy of the same tensor; -1: there is none. What a caller
/// does to the tensor later is nothing to the backward then.
static int copy_with_type(const Differentiation *state, const ParameterUse *use, int index) {
    const Function *backward = state->backward;
    const char *of, *other;
    if (map_has_pointer(&use->used, backward->parameters[index].value)) return -1;
    argument_use(state, backward->parameters[index].value, &of);
    for (int i = 0; i < backward->parameter_count; i++) {
        Value *value = backward->parameters[i].value;
        ArgumentUse role = argument_use(state, value, &other);
        if ((role == ARGUMENT_BEFORE || role == ARGUMENT_AMID) && strcmp(of, other) == 0 &&
            map_has_pointer(&use->used, value))
            return i;
    }
    return -1;
}

void arguments_arrange(Differentiation *state, Backward *result, BackwardLaunch *launch) {
    Function *backward = state->backward;
    ParameterUse use = {.used = map_new(state->arena)};
    region_walk(backward->body, visit_parameter_use, &use);
    Parameter *kept = ARENA_ARRAY(state->arena, Parameter, backward->parameter_count + 1);
    launch->arguments = ARENA_ARRAY(state->arena, BackwardArgument, backward->parameter_count + 1);
    int *new_index = ARENA_ARRAY(state->arena, int, backward->parameter_count + 1);
    int *copy = ARENA_ARRAY(state->arena, int, backward->parameter_count + 1);
    int count = 0;
    for (int rank = 0; rank <= LAST_RANK; rank++) {
        for (int i = 0; i < backward->parameter_count; i++) {
            const Parameter *parameter = &backward->parameters[i];
            const char *of;
            ArgumentUse role = argument_use(state, parameter->value, &of);
            bool is_value =
                role == ARGUMENT_SAME || role == ARGUMENT_BEFORE || role == ARGUMENT_AMID;
            int primal_index = is_value && i < state->primal->parameter_count ? i : -1;
            const FunctionDefinition *definition = result->kernel->definition;
            bool is_pointer = parameter->value->type.kind == TYPE_POINTER;
            bool kept_by_name =
                primal_index >= 0 && role == ARGUMENT_SAME &&
                ((!is_pointer && launchers_mention(definition, parameter->name)) ||
                 decorators_mention(definition, parameter->name, parameter->is_constexpr));
            bool needed = kept_by_name || role == ARGUMENT_KEPT ||
                          parameter_is_used(&use, parameter, primal_index);
            copy[i] = needed && !kept_by_name && role == ARGUMENT_SAME && is_pointer
                          ? copy_with_type(state, &use, i)
                          : -1;
            needed = needed && copy[i] < 0;
            if (argument_rank(role, parameter) != rank || !needed) continue;
            BackwardArgument *argument = &launch->arguments[count];
            *argument = (BackwardArgument){.name = parameter->name,
                                           .use = role,
                                           .of = of,
                                           .is_constexpr = parameter->is_constexpr};
            argument->has_own = role == ARGUMENT_SLICES && state->parts.has_own_slices;
            argument->has_large = argument->has_own && state->parts.has_large_slices;
            describe_scratch(state, parameter->value, argument);
            if (role == ARGUMENT_SHAPE || role == ARGUMENT_STRIDE)
                argument->axis = descriptor_number(state, state->primal->parameters[i].value)->axis;
            if (role == ARGUMENT_RUN_TILE)
                argument->axis = parameter->value == state->parts.run_tile[1];
            argument->is_optional = map_has_pointer(&state->parts.optional, parameter->value);
            bool sums = role == ARGUMENT_GRADIENT || role == ARGUMENT_RUNNING;
            for (int g = 0; sums && g < result->gradient_count; g++)
                if (strcmp(result->gradients[g].input, of) == 0) {
                    argument->is_float32 = result->gradients[g].is_sum;
                    argument->is_program_sum = result->gradients[g].is_program_sum;
                    argument->is_parts = result->gradients[g].is_parts;
                }
            new_index[i] = count;
            kept[count++] = *parameter;
        }
    }
    for (int i = 0; i < backward->parameter_count; i++)
        if (copy[i] >= 0) new_index[i] = new_index[copy[i]];
    launch->argument_count = count;
    backward->parameters = kept;
    backward->parameter_count = count;
    function_renumber_parameters(backward, new_index);
}

void arguments_rename(Arena *arena, const FunctionDefinition *definition, Function *backward,
                      BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        const char *name = argument->name;
        bool is_fixed = decorators_mention(definition, name, argument->is_constexpr);
        if (!name_is_of_launch(str_from(name)) || is_fixed) continue;
        for (bool is_free = false; !is_free;) {
            name = arena_printf(arena, "%s_", name);
            is_free = true;
            for (int k = 0; k < launch->argument_count; k++)
                is_free = is_free && strcmp(launch->arguments[k].name, name) != 0;
        }
        argument->name = backward->parameters[i].name = name;
    }
}

/// Whether a buffer that is updated in place is an input as well: the forward reads what was there before.
static bool running_is_input(const Differentiation *state, const BackwardArgument *argument) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        if (strcmp(parameter->name, argument->of) == 0)
            return parameter->is_loaded || parameter->has_contents;
    }
    return false;
}

void arguments_list(Differentiation *state, Backward *result, const BackwardLaunch *launch) {
    result->inputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    result->outputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool running = argument->use == ARGUMENT_RUNNING, kept = argument->use == ARGUMENT_KEPT;
        if (argument->use == ARGUMENT_GRADIENT || kept ||
            (running && running_is_input(state, argument)))
            result->inputs[result->input_count++] = argument->of;
        if (argument->use == ARGUMENT_UPSTREAM || running)
            result->outputs[result->output_count++] = argument->of;
    }
}
