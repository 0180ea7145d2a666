// A forward's parameters in; the backward's, with one for each gradient, out.
#include "autodiff/primal/gradient_parameters.h"

#include <string.h>

#include "autodiff/primal/scalars.h"

bool gradient_is_wanted(const BackwardOptions *options, const Parameter *parameter) {
    if (!options || options->wrt_count == 0) return true;
    for (int i = 0; i < options->wrt_count; i++)
        if (strcmp(options->wrt[i], parameter->name) == 0) return true;
    return false;
}

static Value *add_gradient_parameter(Differentiation *state, const Parameter *of,
                                     const char *prefix, const char *suffix, Type type) {
    const char *own =
        map_get_pointer(&state->values, of->value) ? recomputed(state, of->value)->name : of->name;
    const char *name = arena_printf(state->arena, "%s%s%s", prefix, own, suffix);
    for (int i = 0; i < state->backward->parameter_count; i++)
        if (strcmp(state->backward->parameters[i].name, name) == 0)
            return add_gradient_parameter(state, of, arena_printf(state->arena, "%s_", prefix),
                                          suffix, type);
    Value *value = function_add_parameter(state->backward, name, type);
    Parameter *parameter = &state->backward->parameters[value->index];
    parameter->is_optional = of->is_optional;
    return value;
}

void parameters_copy(Differentiation *state) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *from = &state->primal->parameters[i];
        const char *name = map_get_pointer(&state->descriptors.pointer_names, from->value);
        Value *value =
            function_add_parameter(state->backward, name ? name : from->name, from->value->type);
        value->constant = from->value->constant;
        value->is_chosen = from->value->is_chosen;
        value->may_be_zero = from->value->may_be_zero;
        Parameter copy = *from;
        copy.value = value;
        if (name) copy.name = name;
        state->backward->parameters[value->index] = copy;
        map_set_pointer(&state->values, from->value, value);
    }
}

void parameters_add_gradients(Differentiation *state, const Memory *memory) {
    const BackwardOptions *options = state->options;
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        Value *root = parameter->value;
        if (parameter_is_float_scalar(parameter) && scalar_is_asked(options, parameter)) {
            Type sums = {.kind = TYPE_POINTER, .element = dtype_of(DTYPE_FLOAT32)};
            map_set_pointer(&state->buffers.gradients, root,
                            add_gradient_parameter(state, parameter, "d", "_ptr", sums));
        }
        if (!parameter_points_to_float(parameter)) continue;
        const Value *origin = map_get_pointer(&state->versions.origins, root);
        if (origin) {  // another version of a buffer: the same gradient, where that has one
            if (map_has_pointer(&state->buffers.running, origin))
                map_set_pointer(&state->buffers.gradients, root,
                                map_get_pointer(&state->buffers.gradients, origin));
            continue;
        }
        bool stored = map_has_pointer(&memory->stored, root) &&
                      memory_accesses(state->arena, state->primal, root).count > 0;
        bool loaded = map_has_pointer(&memory->loaded, root);
        bool running = map_has_pointer(&state->buffers.running, root);
        bool wanted = loaded && !stored && gradient_is_wanted(options, parameter);
        if ((!stored && !wanted) || parameter->is_saved) continue;
        Value *gradient = add_gradient_parameter(state, parameter, "d", "", root->type);
        if (map_has_pointer(&state->buffers.kept, root)) {
            Value *kept = add_gradient_parameter(state, parameter, "d", "_before", root->type);
            state->backward->parameters[kept->index].is_optional = true;
            map_set_pointer(&state->buffers.kept, root, kept);
        }
        if (stored) map_set_pointer(&state->buffers.upstreams, root, gradient);
        if (wanted || running) map_set_pointer(&state->buffers.gradients, root, gradient);
    }
}
