// The request `run`: one forward launch on given data, the buffers after it in the answer.
#include "gpu-runner/run.h"

#include <math.h>
#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/launches/launch_functions.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/execute/execution.h"
#include "gpu-runner/prove/request.h"

/// {"items": [{"value": 3}, ...]} as a tuple of constants; NULL where an item is not understood.
static const Constant *tuple_from_json(Arena *arena, const Json *list) {
    Constant *items = ARENA_ARRAY(arena, Constant, list->count + 1);
    for (int i = 0; i < list->count; i++) {
        const Constant *item = constant_from_json(arena, json_get(list->items[i], "value"));
        if (!item) return NULL;
        items[i] = *item;
    }
    return constant_new(
        arena, (Constant){.kind = CONSTANT_TUPLE, .items = items, .item_count = list->count});
}

/// {"data": [...], "dtype": "fp32"} is a buffer; {"int": 3}, {"float": 0.5} run-time scalars; {"function": "silu"} a jit function
/// of the kernel's file; anything else a constant.
static bool argument_from_json(Arena *arena, const Json *json, const Module *module,
                               PlanArgument *argument, Error *error) {
    const char *function = json_get_string(json, "function", NULL);
    const Json *data = json_get(json, "data");
    const char *dtype = json_get_string(json, "dtype", NULL);
    if (data && data->kind == JSON_ARRAY) {
        double *values = ARENA_ARRAY(arena, double, data->count + 1);
        for (int i = 0; i < data->count; i++)
            values[i] = data->items[i]->kind == JSON_NULL ? NAN : data->items[i]->number;
        argument->kind = ARGUMENT_POINTER;
        argument->dtype = dtype_from_text(dtype, DTYPE_FLOAT32);
        argument->content =
            (Content){.kind = CONTENT_VALUES, .values = values, .value_count = data->count};
        argument->extent = data->count;
    } else if (json && json->kind == JSON_OBJECT && json_get(json, "int")) {
        argument->kind = ARGUMENT_INTEGER;
        argument->integer = (int64_t)json_get_number(json, "int", 0);
        bool wide = argument->integer > INT32_MAX || argument->integer < INT32_MIN;
        argument->dtype = dtype_from_text(dtype, wide ? DTYPE_INT64 : DTYPE_INT32);
    } else if (json && json->kind == JSON_OBJECT && json_get(json, "float")) {
        argument->kind = ARGUMENT_FLOAT;
        argument->number = json_get_number(json, "float", 0);
        argument->dtype = dtype_from_text(dtype, DTYPE_FLOAT32);
    } else if (function && module_find_function(module, str_from(function))) {
        LaunchFunction passed = {module_find_function(module, str_from(function)),
                                 str_from(function)};
        argument->kind = ARGUMENT_CONSTANT;
        argument->constant = constant_new(arena, launch_function_constant(&passed));
    } else if (json) {
        argument->kind = ARGUMENT_CONSTANT;
        const Json *items = json->kind == JSON_OBJECT ? json_get(json, "items") : NULL;
        bool is_tuple = items && items->kind == JSON_ARRAY;
        argument->constant =
            is_tuple ? tuple_from_json(arena, items)
                     : constant_from_json(arena, json->kind == JSON_OBJECT ? json_get(json, "value")
                                                                           : json);
        if (!argument->constant)
            *error = arena_printf(arena, "the argument `%.*s` is not understood",
                                  STR_ARGS(argument->name));
    } else {
        *error = arena_printf(arena, "the argument `%.*s` is missing", STR_ARGS(argument->name));
    }
    return *error == NULL;
}

static Json *buffers_json(Arena *arena, const PlanConfiguration *configuration,
                          VirtualMemory *memory, MemoryBuffer **buffers) {
    Json *result = json_object(arena);
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_POINTER) continue;
        Json *values = json_array(arena);
        for (int64_t at = 0; at < argument->extent; at++)
            json_push(values, json_number(arena, memory_peek(memory, buffers[i], at)));
        json_set(result, str_dup(arena, argument->name), values);
    }
    return result;
}

/// The request's arguments and grid; what has a default may be left out. False and `*error` where one is not understood.
static bool configuration_from_json(Arena *arena, const Json *params,
                                    const FunctionDefinition *kernel,
                                    PlanConfiguration *configuration, Error *error) {
    const Json *arguments = json_get(params, "arguments"), *grid = json_get(params, "grid");
    *configuration = configuration_open(arena, kernel);
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        const Json *given = json_get(arguments, str_dup(arena, argument->name));
        if (!given && kernel->parameters[i].default_text.size) continue;
        if (!argument_from_json(arena, given, kernel->module, argument, error)) return false;
    }
    for (int axis = 0; grid && axis < 3 && axis < grid->count; axis++)
        configuration->grid[axis] = (int64_t)grid->items[axis]->number;
    return true;
}

/// Defaults, as the lowering took them.
static void take_defaults(Arena *arena, const Function *forward, PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_OPEN) continue;
        const Constant *missing = forward->parameters[i].default_value;
        *argument = (PlanArgument){.name = argument->name,
                                   .kind = ARGUMENT_CONSTANT,
                                   .constant = missing ? missing : constant_none(arena)};
    }
}

static Json *run_kernel(Arena *arena, const Json *params, Sources *sources,
                        const atomic_bool *cancelled, Error *error) {
    const FunctionDefinition *kernel = sources_kernel(sources, params, error);
    PlanConfiguration configuration;
    if (!kernel || !configuration_from_json(arena, params, kernel, &configuration, error))
        return NULL;
    int count;
    Binding *bindings = configuration_bindings(arena, &configuration, &count);
    Budget budget = {.deadline = clock_seconds() + json_get_number(params, "max_seconds", 30),
                     .cancelled = cancelled};
    Problem problem = {.configuration = &configuration, .budget = &budget};
    problem.forward = lower_concrete(sources, kernel, bindings, count, error);
    if (*error) return NULL;
    take_defaults(arena, problem.forward, &configuration);
    bool own_types = json_get_bool(params, "own_types", false);
    Executor executor = executor_new(arena, &problem);
    executor.interp->options.own_types = own_types;
    executor.interp->options.allow_tf32 = json_get_bool(params, "allow_tf32", own_types);
    executor.keeps_in = arena;
    CudaUse use = {.arena = arena, .before = device_times(), .interpreting = interp_seconds()};
    bool on_gpu = device_is_eager();
    if (on_gpu) device_limit(budget.deadline);
    Execution execution =
        on_gpu ? execution_on_gpu(&executor, &use) : execution_forward(&executor, NULL);
    const VirtualMemory *memory = execution.memory;
    *error = execution.error;
    if (*error) return NULL;
    Json *result = json_object(arena), *findings = json_array(arena);
    json_set(result, "buffers",
             buffers_json(arena, &configuration, execution.memory, execution.buffers));
    for (LIST_EACH(int, i, memory->findings))
        json_push(findings, finding_json(arena, &memory->findings.items[i]));
    json_set(result, "findings", findings);
    json_set_number(result, "steps", (double)memory->steps);
    if (device_is_wanted()) json_set(result, "cuda", cuda_json(arena, &use));
    return result;
}

Json *request_run(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error) {
    Sources *sources = sources_new(arena, params);
    *error = NULL;
    Json *result = run_kernel(arena, params, sources, cancelled, error);
    sources_free(sources);
    return result;
}

Json *request_probe(Arena *arena) {
    Json *result = json_object(arena), *backends = json_array(arena), *cpu = json_object(arena);
    json_set_string(result, "version", TAD_VERSION);
    json_set_string(cpu, "name", "cpu");
    json_set_bool(cpu, "available", true);
    json_push(backends, cpu);
    if (device_is_wanted()) json_push(backends, device_probe(arena));
    json_set(result, "backends", backends);
    return result;
}
