// Configurations from the launchers of a module: host code evaluated symbolically (analysis/launch.h), small sizes chosen.
#include <string.h>

#include "analysis/launch.h"
#include "gpu-runner/spec.h"

enum { EVEN_VARIANTS = 2, VARIANTS = 4, MOST_SITES = 4 };

static Content content_of(const ConcreteBuffer *buffer, const ParameterFacts *facts,
                          DTypeCode dtype, uint64_t seed) {
    // what a launch before this one computed: its zeros are no values to take a derivative at
    bool is_filled =
        buffer->may_be_written && facts->is_loaded && !facts->is_stored && !facts->is_atomic;
    switch (buffer->contents) {
    case CONTENTS_ZEROS:
        if (is_filled && dtype_code_is_float(dtype)) break;
        return (Content){.kind = CONTENT_ZERO};
    case CONTENTS_INDICES: return (Content){.kind = CONTENT_MONOTONE, .seed = seed, .high = 1};
    case CONTENTS_FILL:
        return (Content){.kind = dtype_code_is_float(dtype) ? CONTENT_RANDOM : CONTENT_SMALL,
                         .low = buffer->fill,
                         .high = buffer->fill};
    case CONTENTS_INPUT:
    case CONTENTS_EMPTY:
    case CONTENTS_RANDOM:
    case CONTENTS_COMPUTED: break;
    }
    return content_guess(facts, dtype, seed);
}

/// A number that only meets floats: an integer stands for it where the host code does not tell.
static bool is_factor(const ParameterFacts *facts) {
    return facts->is_scale && !facts->is_block && !facts->is_size && !facts->is_stride &&
           !facts->is_trip && !facts->is_divisor && !facts->is_numerator && !facts->is_flag &&
           !facts->is_start && !facts->is_compared_with_loaded;
}

/// False where the launcher does not say.
static bool set_argument(const Function *function, const ParameterFacts *facts,
                         const ConcreteLaunch *launch, int index, uint64_t seed,
                         Argument *argument) {
    const ConcreteArgument *given = &launch->arguments[index];
    const Parameter *parameter = &function->parameters[index];
    argument->name = str_from(parameter->name);
    if (given->kind == CONCRETE_NOTHING) return false;
    if (given->kind == CONCRETE_TENSOR) {
        const ConcreteBuffer *buffer = &launch->buffers.items[given->buffer];
        argument->kind = ARGUMENT_POINTER;
        DTypeCode own =
            pointee_guess(parameter,
                          &facts[index]);  // the kernel knows better that a tensor holds indices
        bool is_index = !dtype_code_is_float(own) && dtype_code_is_float(given->dtype);
        argument->dtype = given->dtype > DTYPE_OF_PARAMETER && !is_index ? given->dtype : own;
        argument->content =
            content_of(buffer, &facts[index], argument->dtype, hash_mix(seed + (uint64_t)index));
        argument->rank = argument->stride_count = given->rank;
        int64_t extent = 1;
        for (int i = 0; i < given->rank; i++) {
            argument->dims[i] = given->dims[i];
            argument->strides[i] = given->strides[i];
            extent += given->dims[i] > 0 ? (given->dims[i] - 1) * given->strides[i] : 0;
        }
        bool is_described = parameter->value->type.kind == TYPE_DESCRIPTOR;
        if (buffer->is_extent_certain || is_described)
            argument->extent = extent;
        else
            argument->rank = 0;
        return true;
    }
    if (facts[index].is_dtype && given->constant.kind != CONSTANT_DTYPE) return false;
    if (parameter->is_constexpr || given->constant.kind == CONSTANT_NONE ||
        given->constant.kind == CONSTANT_STRING || given->constant.kind == CONSTANT_DTYPE) {
        argument->kind = ARGUMENT_CONSTANT;
        argument->constant = &given->constant;
    } else if (given->constant.kind == CONSTANT_FLOAT ||
               dtype_is_float(parameter->value->type.element) || is_factor(&facts[index])) {
        argument->kind = ARGUMENT_FLOAT;
        argument->dtype = DTYPE_FLOAT32;
        argument->number = given->constant.kind == CONSTANT_FLOAT ? given->constant.number
                                                                  : (double)given->constant.integer;
    } else {
        argument->kind = ARGUMENT_INTEGER;
        bool wide = given->constant.integer > INT32_MAX || given->constant.integer < INT32_MIN;
        argument->dtype = given->constant.kind == CONSTANT_BOOL ? DTYPE_INT1
                          : wide                                ? DTYPE_INT64
                                                                : DTYPE_INT32;
        argument->integer = given->constant.integer;
    }
    return true;
}

/// Of several functions that launches pass for a constexpr, each in turn; the first variant keeps what its own launcher says.
static void choose_function(Arena *arena, const SpecRequest *request, int index, int variant,
                            ConcreteArgument *given) {
    LaunchFunctions functions = launches_functions(arena, request->symbolic, index);
    bool is_said = given->kind == CONCRETE_SCALAR && (given->constant.kind == CONSTANT_FUNCTION ||
                                                      given->constant.kind == CONSTANT_NONE);
    if (functions.count == 0 || (is_said && variant == 0)) return;
    given->kind = CONCRETE_SCALAR;
    given->constant = launch_function_constant(&functions.items[variant % functions.count]);
}

/// What the launcher leaves open is guessed from the kernel, first candidate only.
static void add_launch(Arena *arena, const SpecRequest *request, const ParameterFacts *facts,
                       const LaunchSite *site, int variant, bool is_even, Configurations *all) {
    HostPolicy policy = {.seed = request->seed + (uint64_t)variant,
                         .variant = variant,
                         .is_even = is_even,
                         .function = request->symbolic};
    HostLaunch *host = host_launch(arena, request->module, site, &policy);
    if (!host || !host->is_reached || host->argument_count != request->symbolic->parameter_count)
        return;
    ConcreteLaunch *launch = host_concretize(arena, host);
    Configuration fixed = configuration_open(arena, request->kernel);
    fixed.origin = SPEC_LAUNCHER;
    int open = 0;
    for (int i = 0; i < fixed.argument_count; i++) {
        choose_function(arena, request, i, variant, &launch->arguments[i]);
        if (!set_argument(request->symbolic, facts, launch, i, request->seed,
                          &fixed.arguments[i])) {
            open++;
        } else {
            fixed.arguments[i].is_caller_choice = host_argument_is_chosen(&host->arguments[i]);
        }
    }
    if (3 * open > fixed.argument_count) return;
    int64_t programs = launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (programs > 0 && programs < 100000) {
        memcpy(fixed.grid, launch->grid, sizeof fixed.grid);
        fixed.grid_is_known = true;
    }
    Error error = NULL;
    Configurations filled = spec_guess(arena, request, &fixed, &error);
    if (!filled.count) return;
    filled.items[0].is_fallback = is_even;
    LIST_PUSH(arena, all, filled.items[0]);
}

Configurations spec_from_launchers(Arena *arena, const SpecRequest *request, bool is_even) {
    Configurations all = {0};
    const ParameterFacts *facts = facts_of(arena, request->symbolic);
    int sites = 0;
    for (int i = 0; i < request->module->launches.count && sites < MOST_SITES; i++) {
        const LaunchSite *site = &request->module->launches.items[i];
        if (site->kernel != request->kernel) continue;
        sites++;
        for (int variant = 0; variant < (is_even ? EVEN_VARIANTS : VARIANTS); variant++)
            add_launch(arena, request, facts, site, variant, is_even, &all);
    }
    return all;
}
