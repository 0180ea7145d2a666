// A configuration and the texts of a request become a problem: kernels lowered, inputs and outputs named, launches read.
#include "gpu-runner/prove/problem_read.h"

#include "analysis/launches/launch_joined.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/configure/spec_text.h"
#include "gpu-runner/execute/grid.h"
#include "gpu-runner/execute/upstream_layout.h"
#include "gpu-runner/prove/launches.h"

static bool is_named(const ProblemReader *reader, const char *key, Str name) {
    const Json *names = json_get(reader->params, key);
    for (int i = 0; names && names->kind == JSON_ARRAY && i < names->count; i++)
        if (names->items[i]->kind == JSON_STRING && str_equal(name, names->items[i]->string))
            return true;
    return false;
}

bool problem_is_saved(const ProblemReader *reader, Str name) {
    return is_named(reader, "saved", name);
}

static bool is_float_buffer(const PlanArgument *argument) {
    return argument->kind == ARGUMENT_POINTER && dtype_code_is_float(argument->dtype);
}

/// The request's inputs that are floating point and present in this configuration. What the kernel reads as
/// floats and does not write counts, too, unless the request is `partial`: left out, its derivative must be 0.
static int *present_inputs(const ProblemReader *reader, const PlanConfiguration *configuration,
                           int *count) {
    int *parameters = ARENA_ARRAY(reader->arena, int, configuration->argument_count + 1);
    bool partial = json_get_bool(reader->params, "partial", false);
    *count = 0;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        const ParameterFacts *facts = &reader->facts[i];
        bool named = is_named(reader, "inputs", argument->name);
        const Type *type = &reader->symbolic->parameters[i].value->type;
        // `scale=1.0` of a kernel that loads through it in another branch is no input in this one.
        bool is_number = argument->kind == ARGUMENT_FLOAT && type->kind != TYPE_POINTER;
        bool only_read = facts->is_loaded && !facts->is_stored && !facts->is_atomic &&
                         is_float_buffer(argument) && dtype_class(type->element) == CLASS_FLOAT;
        if (named ? is_float_buffer(argument) || is_number : only_read && !partial)
            parameters[(*count)++] = i;
    }
    return parameters;
}

/// Adds what the forward stores. An output that the derivation takes for constant counts, too: its derivative must be 0. `is_saved`: what is
/// for the backward alone; else the rest.
static void add_stored(const ProblemReader *reader, const PlanConfiguration *configuration,
                       bool is_saved, int *parameters, int *count) {
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        bool stored = reader->facts[i].is_stored || reader->facts[i].is_atomic ||
                      is_named(reader, "outputs", argument->name);
        if (stored && is_float_buffer(argument) &&
            is_saved == problem_is_saved(reader, argument->name))
            parameters[(*count)++] = i;
    }
}

static void read_stored(const ProblemReader *reader, const PlanConfiguration *configuration,
                        Problem *problem) {
    int *parameters = ARENA_ARRAY(reader->arena, int, configuration->argument_count + 1);
    problem->outputs = parameters;
    problem->output_count = problem->saved_count = 0;
    add_stored(reader, configuration, false, parameters, &problem->output_count);
    add_stored(reader, configuration, true, parameters + problem->output_count,
               &problem->saved_count);
}

/// The launches once more for each gradient that may be asked for alone.
static void read_alone(LaunchReader reader, const PlanConfiguration *configuration,
                       const Json *launches, Problem *problem, Error *error) {
    Arena *arena = reader.arena;
    int *parameters = ARENA_ARRAY(arena, int, configuration->argument_count + 1);
    int count = launches_optional(&reader, configuration, launches, parameters);
    if (problem->input_count < 2) return;  // it is asked for alone already
    GradientAlone *alone = ARENA_ARRAY(arena, GradientAlone, count + 1);
    for (int i = 0; i < count && !*error; i++) {
        GradientLaunch *own = ARENA_ARRAY(arena, GradientLaunch, launches->count + 1);
        reader.asked = parameters[i];
        for (int k = 0; k < launches->count && !*error; k++)
            launch_read(&reader, configuration, launches->items[k], &own[k], error);
        alone[i] = (GradientAlone){parameters[i], own};
        if (*error)
            *error = arena_printf(arena, "%s where only the gradient of %.*s is asked for", *error,
                                  STR_ARGS(configuration->arguments[parameters[i]].name));
    }
    problem->alone = alone;
    problem->alone_count = count;
}

/// The launches once more for each output that may have no upstream gradient.
static void read_absent(LaunchReader reader, const PlanConfiguration *configuration,
                        const Json *launches, Problem *problem, Error *error) {
    Arena *arena = reader.arena;
    int *parameters = ARENA_ARRAY(arena, int, configuration->argument_count + 1);
    int count = launches_absent(&reader, configuration, launches, parameters);
    GradientAlone *absent = ARENA_ARRAY(arena, GradientAlone, count + 1);
    for (int i = 0; i < count && !*error; i++) {
        GradientLaunch *own = ARENA_ARRAY(arena, GradientLaunch, launches->count + 1);
        reader.absent = parameters[i];
        for (int k = 0; k < launches->count && !*error; k++)
            launch_read(&reader, configuration, launches->items[k], &own[k], error);
        absent[i] = (GradientAlone){parameters[i], own};
        if (*error)
            *error = arena_printf(arena, "%s where %.*s has no upstream gradient", *error,
                                  STR_ARGS(configuration->arguments[parameters[i]].name));
    }
    problem->absent = absent;
    problem->absent_count = count;
}

/// The block that holds a row, or one of twice as many lanes, in turn; 0: the configuration does not say how long a row is.
static int64_t block_of_row(const ProblemReader *reader, const PlanConfiguration *configuration,
                            const Json *rows) {
    Error error = NULL;
    double length = spec_number(reader->arena, configuration,
                                str_from(json_get_string(rows, "length", "")), &error);
    if (error || length < 1 || length > 65536) return 0;
    int64_t block = 1;
    while ((double)block < length) block *= 2;
    return reader->turn % 2 ? 2 * block : block;
}

/// "whole_rows" of a backward, {"block": PARAMETER of the forward, "length": of a row in Python, "launches"}: what the Function launches in
/// place of the others where a block holds a row.
static void read_whole_rows(const ProblemReader *reader, LaunchReader read,
                            const PlanConfiguration *configuration, Problem *problem,
                            Error *error) {
    Arena *arena = reader->arena;
    const Json *rows = json_get(json_get(reader->params, "backward"), "whole_rows"),
               *launches = json_get(rows, "launches");
    int64_t block = rows ? block_of_row(reader, configuration, rows) : 0;
    if (!block || !launches || launches->kind != JSON_ARRAY) return;
    PlanConfiguration wide = configuration_copy(arena, configuration, 0);
    for (int i = 0; i < wide.argument_count; i++)
        if (str_is(wide.arguments[i].name, json_get_string(rows, "block", "")))
            wide.arguments[i] = (PlanArgument){.name = wide.arguments[i].name,
                                               .kind = ARGUMENT_CONSTANT,
                                               .constant = constant_int(arena, block)};
    Problem *own = ARENA_NEW(arena, Problem);
    GradientLaunch *launched = ARENA_ARRAY(arena, GradientLaunch, launches->count + 1);
    *own = *problem;
    own->tiled_count = 0;
    for (int i = 0; i < launches->count && !*error; i++)
        launch_read(&read, &wide, launches->items[i], &launched[i], error);
    own->launches = launched;
    own->launch_count = launches->count;
    if (!*error) read_alone(read, &wide, launches, own, error);
    if (!*error) read_absent(read, &wide, launches, own, error);
    if (!*error) own->layouts = upstream_layouts(arena, configuration, launched, launches->count);
    if (*error)
        *error = arena_printf(arena, "%s in a block that holds a row", *error);
    else
        problem->whole_rows = own;
}

Error problem_read(const ProblemReader *reader, PlanConfiguration *configuration, Problem *problem,
                   Error *launch_error) {
    Arena *arena = reader->arena;
    int binding_count;
    Binding *bindings = configuration_bindings(arena, configuration, &binding_count);
    *problem =
        (Problem){.configuration = configuration, .seed = reader->seed, .budget = reader->budget};
    Error error = NULL;
    Function *forward =
        lower_concrete(reader->sources, reader->forward, bindings, binding_count, &error);
    problem->forward = forward;
    if (!error && forward->parameter_count != configuration->argument_count)
        error = "the kernel's parameters are not understood";
    if (!error) function_join_parameters(forward, reader->joined);
    if (!error) error = error_of_none(arena, forward);
    if (!error) error = error_of_carried(arena, forward);
    if (!error && reader->before) {
        Function *before =
            lower_concrete(reader->sources, reader->before, bindings, binding_count, &error);
        if (!error && before->parameter_count != forward->parameter_count)
            error = "the kernel had other parameters before";
        if (!error) function_join_parameters(before, reader->joined);
        problem->before = before;
    }
    problem->inputs = present_inputs(reader, configuration, &problem->input_count);
    read_stored(reader, configuration, problem);
    if (!error && problem->input_count == 0) error = "no differentiable input is present";
    if (!error && !configuration->grid_is_known) error = grid_find(arena, problem, configuration);
    if (error) return error;
    Map known = map_new(arena);
    LaunchReader read = {arena, reader->sources, reader->forward, reader->backward, -1, -1, &known};
    int count = reader->launches->count;
    GradientLaunch *launches = ARENA_ARRAY(arena, GradientLaunch, count + 1);
    for (int i = 0; i < count && !*launch_error; i++)
        launch_read(&read, configuration, reader->launches->items[i], &launches[i], launch_error);
    problem->launches = launches;
    problem->launch_count = count;
    if (!*launch_error) read_alone(read, configuration, reader->launches, problem, launch_error);
    if (!*launch_error) read_absent(read, configuration, reader->launches, problem, launch_error);
    if (!*launch_error)
        tiles_read(&read, configuration, reader->launches, reader->turn, problem, launch_error);
    if (!*launch_error) problem->layouts = upstream_layouts(arena, configuration, launches, count);
    if (!*launch_error) read_whole_rows(reader, read, configuration, problem, launch_error);
    // The backward says itself where it has no gradient.
    for (int i = 0; i < count && !*launch_error && !error; i++)
        error = error_of_assertion(arena, launches[i].function);
    return error;
}
