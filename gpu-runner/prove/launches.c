// Where a backward kernel's arguments come from, as JSON in the request; bindings and what the proof puts there out.
#include "gpu-runner/prove/launches.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/configure/spec_text.h"
#include "gpu-runner/execute/stored.h"

/// Tiles of a tape with few: states between them are computed anew, so that this is proved, too.
enum { STEPS = 3 };

/// Programs that share a sum at most, or all owners' sums: two in what the user or a launcher says, so that one sums several
/// where the forward has three programs; three in what is made up, so that two owners are shared by several.
enum { SLICES_OF_LAUNCH = 2, SLICES_OF_KERNEL = 3 };
/// A tile of a few runs, and of a part of most runs.
enum { RUNS_OF_TILE = 2, LANES_OF_RUN = 4 };

static int parameter_named(const FunctionDefinition *definition, const char *name) {
    for (int i = 0; name && i < definition->parameter_count; i++)
        if (str_is(definition->parameters[i].name, name)) return i;
    return -1;
}

static Actual constant_actual(const Constant *constant) {
    return (Actual){.kind = ACTUAL_CONSTANT, .constant = constant};
}

static bool is_optional(const Json *argument) { return json_get_bool(argument, "optional", false); }

/// A descriptor's size or stride along an axis.
static bool number_from_json(const LaunchReader *reader, const PlanConfiguration *configuration,
                             const Json *json, Actual *actual) {
    const char *shape = json_get_string(json, "shape", NULL),
               *stride = json_get_string(json, "stride", NULL);
    int parameter = parameter_named(reader->forward, shape ? shape : stride);
    int axis = json_get_int(json, "axis", 0);
    if (parameter < 0 || axis < 0 || axis >= TYPE_MAX_RANK) return false;
    const PlanArgument *argument = &configuration->arguments[parameter];
    *actual = (Actual){.kind = ACTUAL_NUMBER,
                       .number = shape ? argument->dims[axis] : argument->strides[axis]};
    return true;
}

/// What was read before of these two; NULL: nothing.
static void *known_of(const LaunchReader *reader, const void *first, const void *second) {
    const void *const key[] = {first, second};
    return reader->known ? map_get(reader->known, (Str){(const char *)key, sizeof key}) : NULL;
}

static void keep_of(const LaunchReader *reader, const void *first, const void *second,
                    const void *value) {
    const void *const key[] = {first, second};
    if (!reader->known) return;
    const char *own = arena_strndup(reader->arena, (const char *)key, sizeof key);
    map_set(reader->known, (Str){own, sizeof key}, (void *)(uintptr_t)value);
}

/// What a claim says in a configuration.
typedef struct ClaimRead {
    bool is_understood;
    const StoredRanges *stored;
} ClaimRead;

/// stored_read, once for a claim of the request.
static bool claim_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                       const char *claim, const StoredRanges **stored) {
    const ClaimRead *known = known_of(reader, configuration, claim);
    if (!known) {
        ClaimRead *read = ARENA_NEW(reader->arena, ClaimRead);
        read->is_understood =
            stored_read(reader->arena, configuration, str_from(claim), &read->stored);
        keep_of(reader, configuration, claim, read);
        known = read;
    }
    *stored = known->stored;
    return known->is_understood;
}

/// One entry of "arguments"; false and `*error` where it makes no sense.
static bool actual_from_json(const LaunchReader *reader, const PlanConfiguration *configuration,
                             const char *name, const Json *json, Actual *actual, Error *error) {
    static const struct {
        const char *key;
        ActualKind kind;
    } kinds[] = {{"same", ACTUAL_SAME},         {"upstream", ACTUAL_UPSTREAM},
                 {"gradient", ACTUAL_GRADIENT}, {"running", ACTUAL_RUNNING},
                 {"kept", ACTUAL_KEPT},         {"before", ACTUAL_BEFORE},
                 {"amid", ACTUAL_AMID}};
    Arena *arena = reader->arena;
    const char *dtype = json_get_string(json, "dtype", NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *of = json_get_string(json, kinds[i].key, NULL);
        if (!of) continue;
        int parameter = parameter_named(reader->forward, of);
        if (parameter < 0) {
            *error = arena_printf(
                arena, "the backward's argument `%s` is of `%s`, which the forward does not have",
                name, of);
            return false;
        }
        const PlanArgument *argument = &configuration->arguments[parameter];
        const char *stored = json_get_string(json, "stored", NULL);
        bool is_upstream = kinds[i].kind == ACTUAL_UPSTREAM;
        bool is_left_out = is_upstream ? reader->absent == parameter
                                       : reader->asked >= 0 && reader->asked != parameter;
        if (is_left_out && is_optional(json)) {
            *actual = constant_actual(constant_none(arena));
            return true;
        }
        bool absent =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_NONE;
        *actual = absent ? constant_actual(argument->constant)
                         : (Actual){.kind = kinds[i].kind,
                                    .parameter = parameter,
                                    .is_parts = json_get(json, "parts") != NULL,
                                    .dtype = dtype_from_text(dtype, argument->dtype)};
        int output = parameter_named(reader->forward, json_get_string(json, "upstream_of", NULL));
        if (output >= 0 && actual->kind == ACTUAL_SAME) {
            actual->is_upstream_stride = true;
            actual->upstream = output;
            actual->axis = json_get_int(json, "axis", 0);
        }
        if (stored && !absent && !claim_read(reader, configuration, stored, &actual->stored))
            *error =
                arena_printf(arena,
                             "which elements of the gradient of `%s` are 0 at first is not known: "
                             "`%s` does not say; torch.zeros_like sets all of them",
                             of, stored);
        return *error == NULL;
    }
    if (number_from_json(reader, configuration, json, actual)) return true;
    const char *scratch = json_get_string(json, "scratch", NULL);
    if (scratch) {
        *actual = (Actual){.kind = ACTUAL_SCRATCH,
                           .name = scratch,
                           .dtype = dtype_from_text(dtype, DTYPE_FLOAT32)};
    } else if (json_get(json, "steps")) {
        *actual = constant_actual(constant_int(arena, STEPS));
    } else if (json_get(json, "stages") || json_get(json, "together") ||
               json_get(json, "parts_of")) {
        *actual = constant_actual(constant_int(arena, 1));
    } else if (json_get(json, "described")) {
        *actual = constant_actual(constant_int(arena, 0));
    } else if (json_get(json, "run_tile")) {
        bool is_lanes = json_get_int(json, "axis", 0) == 1;
        *actual = constant_actual(constant_int(arena, is_lanes ? LANES_OF_RUN : RUNS_OF_TILE));
    } else if (json_get(json, "fill")) {
        *actual = constant_actual(constant_int(arena, 0));
    } else if (json_get(json, "slices")) {
        bool is_made_up = configuration->origin == SPEC_KERNEL;
        int64_t slices = is_made_up ? SLICES_OF_KERNEL : SLICES_OF_LAUNCH;
        bool is_constant = json_get(json, "default") != NULL;
        if (is_constant)
            *actual = constant_actual(constant_int(arena, slices));
        else
            *actual =
                (Actual){.kind = ACTUAL_SLICES,
                         .number = slices_read(arena, configuration,
                                               json_get_string(json, "shared_by", NULL), slices)};
    } else if (json_get(json, "part_stride")) {
        const char *of = json_get_string(json, "part_stride", "");
        int parameter = parameter_named(reader->forward, of);
        if (parameter < 0) *error = arena_printf(arena, "the forward has no `%s`", of);
        *actual = (Actual){.kind = ACTUAL_PART_STRIDE, .parameter = parameter < 0 ? 0 : parameter};
    } else if (json_get(json, "programs")) {
        int axis = json_get_int(json, "programs", 0);
        *actual = (Actual){.kind = ACTUAL_PROGRAMS, .axis = axis < 0 || axis > 2 ? 0 : axis};
    } else if (json_get(json, "value")) {
        const Constant *constant = constant_from_json(arena, json_get(json, "value"));
        if (!constant)
            *error = arena_printf(arena, "the value of the backward's argument `%s` is no constant",
                                  name);
        else
            *actual = constant_actual(constant);
    } else {
        *error =
            arena_printf(arena, "the backward's argument `%s` says not where it comes from", name);
    }
    return *error == NULL;
}

bool launch_fills(Arena *arena, const FunctionDefinition *forward,
                  const PlanConfiguration *configuration, const Json *fill,
                  const StoredRanges **stored) {
    const char *filled = json_get_string(fill, "filled", NULL);
    int parameter = parameter_named(forward, json_get_string(fill, "fill", NULL));
    *stored = NULL;
    return filled && parameter >= 0 && parameter < configuration->argument_count &&
           stored_read(arena, configuration, str_from(filled), stored) &&
           stored_covers(*stored, &configuration->arguments[parameter]);
}

/// A kernel that may store the zeros beside a gradient does so where the launcher would let it: nobody else sets them.
static void settle_fill(const LaunchReader *reader, const PlanConfiguration *configuration,
                        const Json *json, Actual *fill, Actual *actuals, int count) {
    int parameter = parameter_named(reader->forward, json_get_string(json, "fill", NULL));
    const StoredRanges *stored;
    if (!launch_fills(reader->arena, reader->forward, configuration, json, &stored)) return;
    for (int i = 0; i < count; i++)
        if (actuals[i].kind == ACTUAL_GRADIENT && actuals[i].parameter == parameter) {
            actuals[i].stored = stored;
            actuals[i].is_filled = true;
            *fill = constant_actual(constant_int(reader->arena, 1));
        }
}

/// Scratch is as large as the launcher allocates it, and as wide.
static void size_scratch(const LaunchReader *reader, const PlanConfiguration *configuration,
                         const Json *arguments, const char *name, Actual *actual, Error *error) {
    const Json *json = json_get(arguments, name);
    const char *elements = json_get_string(json, "elements", NULL);
    if (actual->kind != ACTUAL_SCRATCH || !elements || *error) return;
    PlanConfiguration known = configuration_copy(reader->arena, configuration, arguments->count);
    for (int i = 0; i < arguments->count; i++)
        if (json_get(arguments->items[i], "steps"))
            known.arguments[known.argument_count++] = (PlanArgument){
                .name = arguments->keys[i], .kind = ARGUMENT_INTEGER, .integer = STEPS};
    double count = spec_number(reader->arena, &known, str_from(elements), error);
    for (int axis = 0; axis < 3; axis++) count *= (double)configuration->grid[axis];
    actual->extent = count < 1 ? 1 : (int64_t)count;
    bool is_double = false;
    for (int i = 0; i < configuration->argument_count; i++)
        if (configuration->arguments[i].kind == ARGUMENT_POINTER &&
            configuration->arguments[i].dtype == DTYPE_FLOAT64)
            is_double = true;
    if (is_double && !json_get(json, "dtype")) actual->dtype = DTYPE_FLOAT64;
}

/// A function of the forward's file as the function of that name in the backward's.
static const Constant *constant_in(const LaunchReader *reader, const Constant *constant) {
    if (!constant || constant->kind != CONSTANT_FUNCTION || !constant->function) return constant;
    Str name = constant->string.size ? constant->string : constant->function->name;
    ScopeEntry entry = module_resolve(reader->arena, reader->backward, name);
    if (entry.kind != SCOPE_FUNCTION) return constant;
    Constant own = *constant;
    own.function = entry.function;
    return constant_new(reader->arena, own);
}

/// How the backward's parameter is bound for lowering.
static void bind_actual(const LaunchReader *reader, const PlanConfiguration *configuration,
                        const ParameterDefinition *parameter, const Actual *actual,
                        Binding *binding) {
    *binding = (Binding){.name = parameter->name};
    const PlanArgument *argument = &configuration->arguments[actual->parameter];
    bool scalar_same = actual->kind == ACTUAL_SAME && argument->kind != ARGUMENT_POINTER;
    if (actual->kind == ACTUAL_CONSTANT)
        binding->constant = actual->constant;
    else if (actual->kind == ACTUAL_NUMBER || actual->kind == ACTUAL_PART_STRIDE)
        binding->type = (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT64)};
    else if (actual->kind == ACTUAL_PROGRAMS || actual->kind == ACTUAL_SLICES)
        binding->type = (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    else if (scalar_same && argument->kind == ARGUMENT_CONSTANT)
        binding->constant = constant_in(reader, argument->constant);
    else if (scalar_same && parameter->is_constexpr)
        binding->constant = argument->kind == ARGUMENT_INTEGER
                                ? constant_int(reader->arena, argument->integer)
                                : constant_float(reader->arena, argument->number);
    else if (scalar_same)
        binding->type = (Type){.kind = TYPE_NUMBER, .element = dtype_of(argument->dtype)};
    else
        binding->type = (Type){
            .kind = TYPE_POINTER,
            .element = dtype_of(actual->kind == ACTUAL_SCRATCH || actual->dtype != DTYPE_UNKNOWN
                                    ? actual->dtype
                                    : argument->dtype)};
    if (actual->kind == ACTUAL_PROGRAMS && parameter->is_constexpr)
        binding->constant = constant_int(reader->arena, configuration->grid[actual->axis]);
}

/// Along the axes of "sliced" only as many programs as share the sums: so many along the first, one along the others.
static const int64_t *grid_sliced(Arena *arena, const PlanConfiguration *configuration,
                                  const Json *axes, const GradientLaunch *launch) {
    int64_t most = 0, programs = 1;
    for (int i = 0; i < launch->function->parameter_count; i++)
        if (launch->actuals[i].kind == ACTUAL_SLICES) most = launch->actuals[i].number;
    if (!axes || axes->kind != JSON_ARRAY || most < 1) return NULL;
    int64_t *grid = ARENA_ARRAY(arena, int64_t, PROGRAM_AXES);
    memcpy(grid, configuration->grid, PROGRAM_AXES * sizeof *grid);
    int first = -1;
    for (int i = 0; i < axes->count; i++) {
        int axis = (int)axes->items[i]->number;
        if (axis < 0 || axis >= PROGRAM_AXES) return NULL;
        if (first < 0) first = axis;
        programs *= grid[axis];
        grid[axis] = 1;
    }
    if (first >= 0) grid[first] = programs < most ? programs : most;
    return grid;
}

/// The configuration with sizes and strides of descriptors, by the names of the backward's parameters for them.
static const PlanConfiguration *with_sizes(const LaunchReader *reader,
                                           const PlanConfiguration *configuration,
                                           const Json *arguments) {
    const PlanConfiguration *before = known_of(reader, configuration, arguments);
    if (before) return before;
    PlanConfiguration *known = ARENA_NEW(reader->arena, PlanConfiguration);
    *known = configuration_copy(reader->arena, configuration, arguments ? arguments->count : 0);
    for (int i = 0; arguments && i < arguments->count; i++) {
        Actual actual;
        if (number_from_json(reader, configuration, arguments->items[i], &actual))
            known->arguments[known->argument_count++] = (PlanArgument){
                .name = arguments->keys[i], .kind = ARGUMENT_INTEGER, .integer = actual.number};
    }
    keep_of(reader, configuration, arguments, known);
    return known;
}

bool launch_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                 const Json *json, GradientLaunch *launch, Error *error) {
    Arena *arena = reader->arena;
    const char *name = json_get_string(json, "kernel", "");
    const FunctionDefinition *definition = module_find_function(reader->backward, str_from(name));
    if (!definition) {
        *error = arena_printf(arena, "the backward has no kernel `%s`", name);
        return false;
    }
    int count = definition->parameter_count;
    const PlanConfiguration *known = with_sizes(reader, configuration, json_get(json, "arguments"));
    Actual *actuals = ARENA_ARRAY(arena, Actual, count + 1);
    Binding *bindings = ARENA_ARRAY(arena, Binding, count + 1);
    for (int i = 0; i < count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        const char *parameter_name = str_dup(arena, parameter->name);
        const Json *argument = json_get(json_get(json, "arguments"), parameter_name);
        if (!argument) {
            *error = arena_printf(arena, "the backward's argument `%s` is missing", parameter_name);
            return false;
        }
        if (!actual_from_json(reader, known, parameter_name, argument, &actuals[i], error))
            return false;
        size_scratch(reader, configuration, json_get(json, "arguments"), parameter_name,
                     &actuals[i], error);
        if (*error) return false;
    }
    for (int i = 0; i < count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        const Json *argument =
            json_get(json_get(json, "arguments"), str_dup(arena, parameter->name));
        settle_fill(reader, configuration, argument, &actuals[i], actuals, count);
        bind_actual(reader, configuration, parameter, &actuals[i], &bindings[i]);
    }
    launch->actuals = actuals;
    launch->function = lower_concrete(reader->sources, definition, bindings, count, error);
    if (*error)
        *error = arena_printf(arena, "the backward does not lower: %s", *error);
    else if (launch->function->parameter_count != count)
        *error = "the backward's parameters are not understood";
    return *error == NULL;
}

/// The parameters of the forward that optional arguments of a kind are of.
static int optional_of(const LaunchReader *reader, const PlanConfiguration *configuration,
                       const Json *launches, const char *kind, int *parameters) {
    int count = 0;
    for (int i = 0; i < launches->count; i++) {
        const Json *arguments = json_get(launches->items[i], "arguments");
        for (int k = 0; arguments && k < arguments->count; k++) {
            if (!is_optional(arguments->items[k])) continue;
            int parameter =
                parameter_named(reader->forward, json_get_string(arguments->items[k], kind, NULL));
            bool is_there =
                parameter >= 0 && configuration->arguments[parameter].kind != ARGUMENT_CONSTANT;
            for (int j = 0; j < count; j++) is_there = is_there && parameters[j] != parameter;
            if (is_there) parameters[count++] = parameter;
        }
    }
    return count;
}

int launches_optional(const LaunchReader *reader, const PlanConfiguration *configuration,
                      const Json *launches, int *parameters) {
    return optional_of(reader, configuration, launches, "gradient", parameters);
}

int launches_absent(const LaunchReader *reader, const PlanConfiguration *configuration,
                    const Json *launches, int *parameters) {
    return optional_of(reader, configuration, launches, "upstream", parameters);
}

/* ---- tiles of their own ---- */

enum { CHOICES_OF_A_TURN = 2 };  // each of them is a run of the whole backward

/// The whole number that the forward's launch passes for a parameter; 0: it is none.
static int64_t size_of(const LaunchReader *reader, const PlanConfiguration *configuration,
                       const char *name) {
    for (int i = 0; name && i < reader->forward->parameter_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (!str_is(reader->forward->parameters[i].name, name)) continue;
        if (argument->kind == ARGUMENT_INTEGER) return argument->integer;
        bool is_number =
            argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT;
        return is_number ? argument->constant->integer : 0;
    }
    return 0;
}

/// The axis of the grid that numbers a tile's blocks; -1: none.
static int axis_of(const Json *tile) {
    const Json *axis = json_get(tile, "axis");
    int index = axis && axis->kind == JSON_NUMBER ? json_get_int(tile, "axis", 0) : -1;
    return index < PROGRAM_AXES ? index : -1;
}

/// The programs that blocks of other sizes take, and those that blocks of the forward's take, along the axes that number them.
typedef struct TileGrid {
    int64_t own[PROGRAM_AXES], forward[PROGRAM_AXES];  // 0: the axis numbers none
} TileGrid;

/// A program does the work of so many along an axis.
static bool gather_programs(const PlanConfiguration *configuration, const Json *tile, int64_t own,
                            TileGrid *grid) {
    int axis = axis_of(tile);
    if (own < 1 || axis < 0) return false;
    grid->forward[axis] = configuration->grid[axis];
    grid->own[axis] = (configuration->grid[axis] + own - 1) / own;
    return true;
}

static bool count_programs(const LaunchReader *reader, const PlanConfiguration *configuration,
                           const Json *tile, int64_t own, TileGrid *grid) {
    int64_t size = size_of(reader, configuration, json_get_string(tile, "same", NULL));
    int axis = axis_of(tile);
    if (size < 1 || own < 1) return false;
    if (axis < 0) return true;
    Error error = NULL;
    Str extent = str_from(json_get_string(tile, "extent", ""));
    int64_t length = (int64_t)spec_number(reader->arena, configuration, extent, &error);
    if (error || length < 0) return false;
    const int64_t sizes[] = {own, size};
    int64_t *const counts[] = {&grid->own[axis], &grid->forward[axis]};
    for (int i = 0; i < 2; i++)
        *counts[i] = (*counts[i] ? *counts[i] : 1) * ((length + sizes[i] - 1) / sizes[i]);
    return true;
}

/// Whether a size divides what it has to, as the forward's does. That is no choice of its own.
static bool is_choice(const LaunchReader *reader, const PlanConfiguration *configuration,
                      const Json *tile, int64_t own) {
    const Json *divides = json_get(tile, "divides");
    int64_t size = size_of(reader, configuration, json_get_string(tile, "same", NULL));
    if (strcmp(json_get_string(tile, "role", ""), "parts") == 0)
        return own > 1 && size > 0 && size % own == 0;
    if (!divides) return true;
    if (own < 1 || size < 1 || own == size) return false;
    for (int i = 0; i < divides->count; i++) {
        if (divides->items[i]->kind != JSON_STRING) return false;
        int64_t other =
            size_of(reader, configuration, str_dup(reader->arena, divides->items[i]->string));
        if (other < 1 || other % own || other % size) return false;
    }
    return true;
}

/// Whether the launch passes 1 for each of these numbers.
static bool are_ones(const LaunchReader *reader, const PlanConfiguration *configuration,
                     const Json *names) {
    for (int i = 0; names && i < names->count; i++)
        if (size_of(reader, configuration, str_dup(reader->arena, names->items[i]->string)) != 1)
            return false;
    return true;
}

/// How many choices of sizes a launch has.
static int choices_of(const Json *launch) {
    const Json *tiles = json_get(launch, "tiles");
    const Json *sizes = tiles && tiles->count ? json_get(tiles->items[0], "sizes") : NULL;
    if (sizes) return sizes->count;
    return json_get(launch, "turns") || json_get(launch, "sliced") ? 1 : 0;
}

/// As many programs along the first axis as there are turns for them, where these are counted.
static bool count_turns(const LaunchReader *reader, const PlanConfiguration *configuration,
                        const Json *turns, int64_t *programs) {
    Error error = NULL;
    if (!turns) return true;
    double end = spec_number(reader->arena, configuration,
                             str_from(json_get_string(turns, "end", "")), &error),
           step = error ? 0
                        : spec_number(reader->arena, configuration,
                                      str_from(json_get_string(turns, "step", "")), &error);
    if (error || step < 1) return false;
    if (end > 0 && *programs > 0) *programs = ((int64_t)end + (int64_t)step - 1) / (int64_t)step;
    return true;
}

/// One launch with the sizes of one choice; false where it has none, or the forward's.
static bool read_choice(const LaunchReader *reader, const PlanConfiguration *configuration,
                        const Json *json, int choice, GradientLaunch *launch, Error *error) {
    Arena *arena = reader->arena;
    const Json *arguments = json_get(json, "arguments"), *tiles = json_get(json, "tiles");
    Json *own = json_object(arena), *changed = json_object(arena);
    TileGrid programs = {0};
    bool is_own = json_get(json, "turns") != NULL, any_size = false;
    int64_t *grid = ARENA_ARRAY(arena, int64_t, PROGRAM_AXES);
    memcpy(grid, configuration->grid, PROGRAM_AXES * sizeof *grid);
    if (choice >= choices_of(json)) return false;
    for (int i = 0; i < arguments->count; i++) {
        const char *name = str_dup(arena, arguments->keys[i]);
        const Json *tile = json_get(tiles, name), *sizes = json_get(tile, "sizes");
        json_set(changed, name, arguments->items[i]);
        if (!tile) continue;
        if (sizes && !sizes->count) continue;  // it is the forward's
        if (!sizes || choice >= sizes->count || sizes->items[choice]->kind != JSON_NUMBER)
            return false;
        int64_t size = (int64_t)sizes->items[choice]->number;
        const char *role = json_get_string(tile, "role", "");
        bool is_gathered = strcmp(role, "programs") == 0,
             iterates = strcmp(role, "iterations") == 0;  // the grid stays
        if (strcmp(role, "parts") == 0 || strcmp(role, "loop") == 0) {
            if (!is_choice(reader, configuration, tile, size)) continue;  // it stays as it is
            iterates = true;
        }
        if (strcmp(role, "described") == 0) {
            if (!are_ones(reader, configuration, json_get(tile, "ones"))) continue;
            iterates = true;
        }
        any_size = true;
        if (iterates      ? false
            : is_gathered ? !gather_programs(configuration, tile, size, &programs)
                          : !is_choice(reader, configuration, tile, size) ||
                                !count_programs(reader, configuration, tile, size, &programs))
            return false;
        Json *value = json_object(arena);
        json_set_number(value, "value", (double)size);
        json_set(changed, name, value);
    }
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (grid[axis] < programs.forward[axis]) return false;
        is_own = is_own || programs.forward[axis];
        if (programs.forward[axis]) grid[axis] = programs.own[axis];
    }
    if (tiles && !any_size) return false;
    if (!count_turns(reader, configuration, json_get(json, "turns"), &grid[0])) return false;
    json_set(own, "kernel", json_get(json, "kernel"));
    json_set(own, "arguments", changed);
    if (!launch_read(reader, configuration, own, launch, error)) return false;
    if (json_get(json, "sliced"))
        launch->grid = grid_sliced(arena, configuration, json_get(json, "sliced"), launch);
    if (is_own) launch->grid = grid;
    return true;
}

void tiles_read(const LaunchReader *reader, const PlanConfiguration *configuration,
                const Json *launches, int turn, Problem *problem, Error *error) {
    int most = 0;
    for (int i = 0; i < launches->count; i++) {
        int choices = choices_of(launches->items[i]);
        if (choices > most) most = choices;
    }
    const GradientLaunch **tiled = ARENA_ARRAY(reader->arena, const GradientLaunch *, most + 1);
    for (int k = 0; k < most && problem->tiled_count < CHOICES_OF_A_TURN && !*error; k++) {
        int choice = (turn * CHOICES_OF_A_TURN + k) % most;
        GradientLaunch *own = ARENA_ARRAY(reader->arena, GradientLaunch, launches->count + 1);
        bool any = false;
        for (int i = 0; i < launches->count && !*error; i++) {
            own[i] = problem->launches[i];
            any |= read_choice(reader, configuration, launches->items[i], choice, &own[i], error);
        }
        if (any) tiled[problem->tiled_count++] = own;
        if (*error) *error = arena_printf(reader->arena, "%s in tiles of its own", *error);
    }
    problem->tiled = tiled;
}
