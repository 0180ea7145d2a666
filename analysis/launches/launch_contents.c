// From all launches of a kernel to what they say of its parameters: which numbers are chosen, and which tensors may hold
// something before the launch whose gradient somebody wants.
#include "analysis/launches/launch_contents.h"

#include "analysis/build/infer.h"
#include "analysis/host/launch.h"
#include "analysis/launches/launch_chosen.h"
#include "analysis/launches/launch_tensors.h"

/// Whether the argument is certainly no tensor, or memory that was allocated for this launch: no gradient goes to what it held.
static bool is_new(const HostArgument *argument) {
    const HostValue *value = argument->value;
    if (!value || value->kind == HOST_UNKNOWN) return false;
    if (value->kind != HOST_TENSOR) return value->kind == HOST_CONSTANT;
    const HostBuffer *buffer = value->tensor->buffer;
    return !buffer->may_be_written && buffer->contents != CONTENTS_INPUT &&
           buffer->contents != CONTENTS_COMPUTED;
}

void launch_note_contents(const HostLaunch *launch, Function *function) {
    for (int p = 0; p < function->parameter_count; p++) {
        Parameter *parameter = &function->parameters[p];
        bool known = p < launch->argument_count && is_new(&launch->arguments[p]);
        if (parameter->is_stored && !known) parameter->may_have_contents = true;
    }
}

static bool stores_floats(const Function *function) {
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (parameter->is_stored && !dtype_is_integer(parameter->value->type.element)) return true;
    }
    return false;
}

void launches_note(Arena *arena, const FunctionDefinition *kernel, Function *function) {
    if (!kernel || (!stores_floats(function) && !function_may_have_chosen(arena, function))) return;
    HostLaunches launches = host_launches(arena, kernel, function);
    for (LIST_EACH(int, i, launches)) {
        launch_note_chosen(arena, launches.items[i], function);
        launch_note_tensors(arena, kernel->module, launches.items[i]->site, function);
    }
    launches = host_launches_by_flags(arena, kernel, function);
    for (LIST_EACH(int, i, launches)) launch_note_contents(launches.items[i], function);
}
