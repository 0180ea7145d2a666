// What the launchers that are written allocate and pass, computed once.
#include "gpu-runner/configure/plan_backward.h"

#include <math.h>
#include <string.h>

#include "analysis/choices/choices.h"
#include "gpu-runner/configure/spec_text.h"

/// Elements of a tape at most, where the file says how many steps a loop takes and where it does not; as the launchers count.
static const double MOST_WITH_TRIPS = 1 << 28, MOST_WITHOUT_TRIPS = 1 << 26, STEPS_UNASKED = 1024;

typedef struct BackwardPlan {
    Arena *arena;
    const PlannedForward *forward;
    PlanConfiguration known;  // the forward's arguments, and steps of tapes by their names
    double programs;
    double slices;   // that share sums in the launch at hand
    double sharing;  // the forward's programs that do
} BackwardPlan;

static const Json *argument_of(const BackwardPlan *plan, const char *name) {
    const Json *arguments = plan->forward->arguments;
    for (int i = 0; name && i < arguments->count; i++)
        if (strcmp(json_get_string(arguments->items[i], "name", ""), name) == 0)
            return arguments->items[i];
    return NULL;
}

static Json *whole(const BackwardPlan *plan, double value) {
    Json *json = json_object(plan->arena);
    json_set_string(json, "kind", "int");
    json_set_number(json, "value", value);
    return json;
}

static double number_of(const BackwardPlan *plan, const Json *text, Error *error) {
    if (!text || *error) return 0;
    if (text->kind == JSON_STRING)
        return spec_number(plan->arena, &plan->known, text->string, error);
    return text->kind == JSON_NUMBER ? text->number : 0;
}

static double expression(const BackwardPlan *plan, const Json *source, const char *key,
                         Error *error) {
    return number_of(plan, json_get(source, key), error);
}

/// Steps that a tape has room for.
static double room(const BackwardPlan *plan, const Json *source, Error *error) {
    bool has_trips = json_get(source, "trips") != NULL;
    double each = plan->programs * expression(plan, source, "elements", error);
    double most = (has_trips ? MOST_WITH_TRIPS : MOST_WITHOUT_TRIPS) / (each > 1 ? each : 1);
    double steps = has_trips ? expression(plan, source, "trips", error) : STEPS_UNASKED;
    if (steps > most) steps = (double)(int64_t)most;
    return steps > 1 ? steps : 1;
}

/// Steps come first: sizes of scratch are counted in them.
static void take_steps(BackwardPlan *plan, const Json *arguments, Error *error) {
    const PlanConfiguration *configuration = plan->forward->configuration;
    plan->known = configuration_copy(plan->arena, configuration, arguments->count);
    for (int i = 0; i < arguments->count && !*error; i++) {
        if (!json_get(arguments->items[i], "steps")) continue;
        double steps = room(plan, arguments->items[i], error);
        plan->known.arguments[plan->known.argument_count++] = (PlanArgument){
            .name = arguments->keys[i], .kind = ARGUMENT_INTEGER, .integer = (int64_t)steps};
    }
}

static Json *buffer_json(const BackwardPlan *plan, const char *key, const char *dtype,
                         double elements, const char *content) {
    Json *json = json_object(plan->arena);
    json_set_string(json, "kind", "buffer");
    json_set_string(json, "key", key);
    json_set_string(json, "dtype", dtype);
    json_set_number(json, "first", 0);
    json_set_number(json, "elements", elements > 1 ? elements : 1);
    json_set_string(json, "content", content);
    json_set_number(json, "low", 0);
    json_set_number(json, "high", 0);
    return json;
}

static Json *scratch_json(const BackwardPlan *plan, const Json *source, Error *error) {
    bool is_double = false;
    for (int i = 0; i < plan->forward->configuration->argument_count; i++) {
        const PlanArgument *argument = &plan->forward->configuration->arguments[i];
        if (argument->kind == ARGUMENT_POINTER && argument->dtype == DTYPE_FLOAT64)
            is_double = true;
    }
    const char *dtype = json_get_string(source, "dtype", is_double ? "float64" : "float32");
    const char *key =
        arena_printf(plan->arena, "scratch %s", json_get_string(source, "scratch", ""));
    return buffer_json(plan, key, dtype,
                       plan->programs * expression(plan, source, "elements", error), "any");
}

/// Elements of the forward's tensor: of its shape, or as many as its kernel reaches.
static double elements_of(const BackwardPlan *plan, const char *of) {
    const PlanConfiguration *configuration = plan->forward->configuration;
    double elements = 1;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (!str_is(argument->name, of)) continue;
        for (int axis = 0; axis < argument->rank; axis++) elements *= (double)argument->dims[axis];
        if (argument->rank) return elements;
    }
    return json_get_number(argument_of(plan, of), "elements", 1);
}

/// How many programs share the sums of a launch, whose arguments are `sources`.
static double slices(BackwardPlan *plan, const Json *sources, const Json *source) {
    const char *at = json_get_string(source, "shared_by", NULL);
    double programs = at ? 1 : plan->programs, largest = 1;
    while (at && (at = strstr(at, "grid."))) {
        at += sizeof "grid." - 1;
        if (*at >= '0' && *at < '0' + PROGRAM_AXES)
            programs *= (double)plan->forward->configuration->grid[*at - '0'];
    }
    for (int i = 0; i < sources->count; i++)
        if (json_get(sources->items[i], "parts"))
            largest = fmax(largest,
                           elements_of(plan, json_get_string(sources->items[i], "gradient", "")));
    plan->sharing = programs;
    SlicesRule rule = {.most = (int64_t)json_get_number(source, "most", 0),
                       .each = (int64_t)json_get_number(source, "each", 0),
                       .is_busy = json_get_bool(source, "busy", false)};
    return (double)choose_slices(rule, programs, plan->programs / fmax(programs, 1), largest);
}

/// The buffer of a gradient for the sums of all that share it.
static void take_parts(const BackwardPlan *plan, Json *json) {
    json_set_number(json, "elements", plan->slices * json_get_number(json, "elements", 0));
}

/// A buffer beside one of the forward's: its gradient, a copy.
static Json *beside_json(const BackwardPlan *plan, const char *role, const Json *source,
                         Error *error) {
    const char *of = json_get_string(source, role, "");
    const Json *like = argument_of(plan, of);
    if (!like) {
        *error = arena_printf(plan->arena, "the forward has no `%s`", of);
        return NULL;
    }
    const char *kind = json_get_string(like, "kind", ""),
               *dtype = json_get_string(source, "dtype", NULL),
               *key = arena_printf(plan->arena, "%s %s", role, of);
    if (strcmp(kind, "constant") == 0) return json_copy(plan->arena, like);
    if (strcmp(kind, "buffer") != 0)  // a sum for each program
        return buffer_json(plan, key, dtype ? dtype : "float32", plan->programs, "zero");
    Json *json = json_copy(plan->arena, like);
    json_set_string(json, "key", key);
    if (dtype) json_set_string(json, "dtype", dtype);
    if (strcmp(role, "before") == 0 || strcmp(role, "amid") == 0) return json;
    bool is_float =
        dtype_code_is_float(dtype_from_name(str_from(json_get_string(json, "dtype", "float32"))));
    bool is_given = strcmp(role, "gradient") != 0;
    json_set_string(json, "content", is_given && is_float ? "normal" : "zero");
    if (json_get(source, "parts")) take_parts(plan, json);
    json_set(json, "mark", json_null(plan->arena));
    return json;
}

/// What an argument is bound to; NULL without an error where the kernel's own default serves.
static Json *actual_json(const BackwardPlan *plan, const char *name, const Json *source,
                         Error *error) {
    static const char *const roles[] = {"upstream", "gradient", "running",
                                        "kept",     "before",   "amid"};
    const char *same = json_get_string(source, "same", NULL);
    if (same) {
        const Json *argument = argument_of(plan, same);
        if (!argument) *error = arena_printf(plan->arena, "the forward has no `%s`", same);
        return argument ? json_copy(plan->arena, argument) : NULL;
    }
    const char *shape = json_get_string(source, "shape", NULL);
    const char *of = shape ? shape : json_get_string(source, "stride", NULL);
    if (of) {
        const Json *sizes = json_get(argument_of(plan, of), shape ? "shape" : "strides");
        int axis = json_get_int(source, "axis", 0);
        if (sizes && axis >= 0 && axis < sizes->count)
            return whole(plan, sizes->items[axis]->number);
        *error = arena_printf(plan->arena, "the sizes of `%s` are not known", of);
        return NULL;
    }
    if (json_get(source, "slices") && !json_get(source, "default"))
        return whole(plan, plan->slices);
    if (json_get(source, "slices") && json_get(source, "most")) {
        Json *most = whole(plan, json_get_number(source, "most", 1));
        json_set_string(most, "kind", "constant");
        return most;
    }
    const char *parts = json_get_string(source, "part_stride", NULL);
    if (parts) return whole(plan, json_get_number(argument_of(plan, parts), "elements", 0));
    if (json_get(source, "programs")) {
        int axis = json_get_int(source, "programs", 0);
        return whole(plan, (double)plan->forward->configuration
                               ->grid[axis < 0 || axis >= PROGRAM_AXES ? 0 : axis]);
    }
    if (json_get(source, "steps"))
        return whole(plan, spec_number(plan->arena, &plan->known, str_from(name), error));
    if (json_get(source, "scratch")) return scratch_json(plan, source, error);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (json_get(source, roles[i])) return beside_json(plan, roles[i], source, error);
    bool fills = json_get_bool(source, "fills", false);
    bool is_described = json_get(source, "described") != NULL;
    if (json_get(source, "together") || json_get(source, "parts_of") || is_described) {
        Json *one = whole(plan, is_described ? 0 : 1);
        json_set_string(one, "kind", "constant");
        return one;
    }
    if (json_get(source, "slices") || json_get(source, "stages") || json_get(source, "run_tile") ||
        (json_get(source, "fill") && !fills))
        return NULL;
    const Json *value = fills ? json_get(source, "fills") : json_get(source, "value");
    Json *json = json_object(plan->arena);
    json_set_string(json, "kind", "constant");
    if (!value)
        *error = arena_printf(plan->arena, "nobody says where `%s` comes from", name);
    else if (value->kind == JSON_STRING && str_starts(value->string, "tl."))
        json_set(json, "type", json_str(plan->arena, str_from(value->string.data + 3)));
    else
        json_set(json, "value", json_copy(plan->arena, value));
    return json;
}

/// Bytes of an element of each of the tensors that are named: of all together, of the narrowest and of the widest.
typedef struct Widths {
    double sum;
    int narrowest, widest;
} Widths;

static Widths widths_of(const Json *arguments, const Json *names) {
    enum { BYTE = 8 };
    Widths widths = {0};
    for (int i = 0; i < names->count; i++)
        for (int k = 0; k < arguments->count; k++) {
            const char *name = json_get_string(arguments->items[k], "name", "");
            if (!str_is(names->items[i]->string, name)) continue;
            const char *dtype = json_get_string(arguments->items[k], "dtype", "");
            int bits = dtype_bits(dtype_from_name(str_from(dtype)));
            int bytes = bits < BYTE ? 1 : bits / BYTE;
            widths.sum += bytes;
            if (!widths.narrowest || bytes < widths.narrowest) widths.narrowest = bytes;
            if (bytes > widths.widest) widths.widest = bytes;
        }
    return widths;
}

/// Where the forward's launch says none.
static void put_warps(const BackwardPlan *plan, const Json *launch, double tile, Json *json) {
    const PlanConfiguration *configuration = plan->forward->configuration;
    const Json *loaded = json_get(launch, "loaded");
    bool is_list = loaded && loaded->kind == JSON_ARRAY, has_bytes = json_get(launch, "has_bytes");
    bool is_said = configuration->warps || configuration->stages;
    if (!json_get(launch, "counts_warps") || (is_said && !has_bytes)) return;
    Widths widths = {0};
    if (is_list) widths = widths_of(json_get(json, "arguments"), loaded);
    int warps = configuration->warps ? configuration->warps : choose_warps(tile, widths.sum);
    if (has_bytes) warps = choose_byte_warps(tile, widths.narrowest, widths.widest, warps);
    Json *options = json_object(plan->arena);
    json_set_number(options, "num_warps", warps);
    if (configuration->stages) json_set_number(options, "num_stages", configuration->stages);
    json_set(json, "options", options);
}

static void put_options(const BackwardPlan *plan, const Json *launch, Json *json) {
    const Json *staged = json_get(launch, "staged"), *sources = json_get(launch, "arguments");
    Json *arguments = json_get(json, "arguments");
    Error error = NULL;
    double tile = expression(plan, launch, "tile", &error);
    if (error || tile <= 0) return;  // then what Triton takes unasked
    put_warps(plan, launch, tile, json);
    for (int i = 0; i < sources->count && staged && staged->kind == JSON_ARRAY; i++) {
        if (!json_get(sources->items[i], "stages")) continue;
        Json *constant = json_object(plan->arena);
        json_set_string(constant, "kind", "constant");
        json_set_string(constant, "name", str_dup(plan->arena, sources->keys[i]));
        Widths widths = widths_of(arguments, staged);
        json_set_number(constant, "value", choose_stages(tile, widths.sum, widths.narrowest));
        json_set_bool(constant, "is_stages", true);
        json_push(arguments, constant);
    }
}

// --- tiles of its own ---------------------------------------------------------------------------------------------------

static const Json *named(const Json *arguments, Str name) {
    for (int i = 0; i < arguments->count; i++)
        if (str_is(name, json_get_string(arguments->items[i], "name", "")))
            return arguments->items[i];
    return NULL;
}

/// Bytes of an element of each tensor, by its name in the launch or in the forward's; None has none.
static Json *widths_json(const BackwardPlan *plan, const Json *arguments, const Json *names,
                         Error *error) {
    enum { BYTE = 8 };
    Json *widths = json_array(plan->arena);
    for (int i = 0; names && i < names->count; i++) {
        Str name = names->items[i]->kind == JSON_STRING ? names->items[i]->string : (Str){0};
        const Json *argument = named(arguments, name);
        if (!argument) argument = named(plan->forward->arguments, name);
        if (!argument)
            *error = arena_printf(plan->arena, "nobody says what `%.*s` is", STR_ARGS(name));
        if (strcmp(json_get_string(argument, "kind", ""), "buffer") != 0) continue;
        int bits = dtype_bits(dtype_from_name(str_from(json_get_string(argument, "dtype", ""))));
        json_push(widths, json_number(plan->arena, bits < BYTE ? 1 : bits / BYTE));
    }
    return widths;
}

static Json *numbers_of(const BackwardPlan *plan, const Json *texts, Error *error) {
    Json *numbers = json_array(plan->arena);
    for (int i = 0; texts && i < texts->count; i++)
        json_push(numbers, json_number(plan->arena, number_of(plan, texts->items[i], error)));
    return numbers;
}

/// What the sizes of one block are chosen by.
static Json *block_json(const BackwardPlan *plan, const Json *arguments, const char *name,
                        const Json *tile, Error *error) {
    Json *block = json_object(plan->arena), *axis = json_get(tile, "axis");
    json_set_string(block, "name", name);
    json_set_number(block, "size", expression(plan, tile, "same", error));
    json_set(block, "axis", axis ? json_copy(plan->arena, axis) : json_null(plan->arena));
    json_set_number(block, "length", expression(plan, tile, "extent", error));
    json_set(block, "widths", widths_json(plan, arguments, json_get(tile, "tensors"), error));
    if (json_get(tile, "divides"))
        json_set(block, "divides", numbers_of(plan, json_get(tile, "divides"), error));
    return block;
}

/// The launch as the Function chooses it: which sizes, where the GPU is known (gpu-runner/triton/own_tiles.h).
static void put_own(const BackwardPlan *plan, const Json *launch, Json *json, Error *error) {
    static const char *const lanes[] = {"products", "kept", "loaded"};
    const Json *source = json_get(launch, "own"), *tiles = json_get(launch, "tiles");
    const Json *arguments = json_get(json, "arguments");
    const PlanConfiguration *configuration = plan->forward->configuration;
    if (!source || !tiles || tiles->kind != JSON_OBJECT) return;
    Json *own = json_object(plan->arena);
    for (int i = 0; i < tiles->count && !*error; i++) {
        const char *role = json_get_string(tiles->items[i], "role", "");
        if (strcmp(role, "described") == 0) continue;  // through pointers it is right, too
        json_set(own, str_dup(plan->arena, str_from(role)),
                 block_json(plan, arguments, str_dup(plan->arena, tiles->keys[i]), tiles->items[i],
                            error));
    }
    Json *loop = json_get(own, "loop"), *parts = json_get(own, "parts");
    if (loop && parts)
        json_set_number(parts, "part", expression(plan, source, "part", error));
    else if (parts)
        loop = parts;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes && loop; i++)
        json_set(loop, lanes[i], numbers_of(plan, json_get(source, lanes[i]), error));
    if (loop) {
        json_set_number(loop, "rows", expression(plan, source, "rows", error));
        json_set(loop, "widths", widths_json(plan, arguments, json_get(source, "tensors"), error));
        json_set_bool(loop, "is_owned", json_get_bool(source, "is_owned", false));
        json_set_bool(loop, "is_fixed", json_get_bool(source, "is_fixed", false));
    }
    Json *row = json_get(own, "row");
    if (!row) row = json_get(own, "elements");
    if (!row) row = json_get(own, "programs");
    Json *iterations = json_get(own, "iterations");
    if (iterations) {
        json_set_number(iterations, "slices", plan->slices);
        json_set_number(iterations, "programs", plan->sharing);
        row = iterations;
    }
    if (row) json_set_number(row, "lanes", expression(plan, source, "lanes", error));
    if (row) json_set_number(row, "least", json_get_number(source, "least", 0));
    if (row) json_set_number(row, "sums", json_get_number(source, "sums", 0));
    json_set_number(own, "widest", json_get_bool(source, "is_precise", false) ? 2 : 4);
    if (configuration->warps) json_set_number(own, "num_warps", configuration->warps);
    if (configuration->stages) json_set_number(own, "num_stages", configuration->stages);
    json_set(json, "own", own);
    if (*error) *error = arena_printf(plan->arena, "the tiles that it chooses: %s", *error);
}

/// A program along the first axis for each turn that the forward's programs take, where these are counted.
static void put_turns(const BackwardPlan *plan, const Json *turns, Json *json, Error *error) {
    const int64_t *programs = plan->forward->configuration->grid;
    if (!turns || programs[0] < 1) return;
    double end = expression(plan, turns, "end", error),
           step = expression(plan, turns, "step", error);
    if (*error || end < 1 || step < 1) return;
    const int64_t count = ((int64_t)end + (int64_t)step - 1) / (int64_t)step;
    Json *grid = json_array(plan->arena);
    json_push(grid, json_number(plan->arena, (double)count));
    for (int axis = 1; axis < PROGRAM_AXES; axis++)
        json_push(grid, json_number(plan->arena, (double)programs[axis]));
    json_set(json, "grid", grid);
}

/// Along the axes of "sliced" as many programs as share the sums, along the first of them.
static void put_sliced(const BackwardPlan *plan, const Json *axes, Json *json) {
    const int64_t *programs = plan->forward->configuration->grid;
    if (!axes || axes->kind != JSON_ARRAY || !axes->count) return;
    Json *grid = json_array(plan->arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        bool is_sliced = false;
        for (int i = 0; i < axes->count; i++) is_sliced |= (int)axes->items[i]->number == axis;
        bool is_first = (int)axes->items[0]->number == axis;
        double count = is_first ? plan->slices : is_sliced ? 1 : (double)programs[axis];
        json_push(grid, json_number(plan->arena, count));
    }
    json_set(json, "grid", grid);
}

static Json *launch_json(BackwardPlan *plan, const Json *launch, Error *error) {
    const Json *sources = json_get(launch, "arguments");
    Json *json = json_object(plan->arena), *arguments = json_array(plan->arena);
    if (!sources || sources->kind != JSON_OBJECT) {
        *error = "a launch of the backward has no arguments";
        return NULL;
    }
    take_steps(plan, sources, error);
    plan->slices = 1;
    for (int i = 0; i < sources->count; i++)
        if (json_get(sources->items[i], "slices") && !json_get(sources->items[i], "default"))
            plan->slices = slices(plan, sources, sources->items[i]);
    for (int i = 0; i < sources->count && !*error; i++) {
        const char *name = str_dup(plan->arena, sources->keys[i]);
        Json *actual = actual_json(plan, name, sources->items[i], error);
        if (*error) *error = arena_printf(plan->arena, "argument `%s`: %s", name, *error);
        if (!actual) continue;
        json_set_string(actual, "name", name);
        json_set(actual, "block", json_null(plan->arena));  // the derived kernel takes addresses
        json_push(arguments, actual);
    }
    json_set_string(json, "kernel", json_get_string(launch, "kernel", ""));
    json_set(json, "arguments", arguments);
    if (!*error) put_options(plan, launch, json);
    if (!*error) put_own(plan, launch, json, error);
    if (!*error) put_turns(plan, json_get(launch, "turns"), json, error);
    if (!*error) put_sliced(plan, json_get(launch, "sliced"), json);
    return json;
}

Json *plan_backward(Arena *arena, const PlannedForward *forward, const Json *launches,
                    Error *error) {
    BackwardPlan plan = {.arena = arena, .forward = forward, .programs = 1};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        plan.programs *= (double)forward->configuration->grid[axis];
    Json *all = json_array(arena);
    for (int i = 0; launches && i < launches->count && !*error; i++) {
        Json *launch = launch_json(&plan, launches->items[i], error);
        if (launch) json_push(all, launch);
    }
    return *error ? NULL : all;
}

// --- rows that a block holds ----------------------------------------------------------------------------------------------

/// What the forward was planned with, and this block.
static PlannedForward with_block(Arena *arena, const PlannedForward *forward, const char *name,
                                 int64_t block) {
    PlanConfiguration *configuration = ARENA_NEW(arena, PlanConfiguration);
    Json *arguments = json_array(arena), *own = json_object(arena);
    json_set_string(own, "name", name);
    json_set_string(own, "kind", "constant");
    json_set_number(own, "value", (double)block);
    *configuration = configuration_copy(arena, forward->configuration, 0);
    for (int i = 0; i < configuration->argument_count; i++)
        if (str_is(configuration->arguments[i].name, name))
            configuration->arguments[i].constant = constant_new(arena, constant_of_int(block));
    for (int i = 0; i < forward->arguments->count; i++) {
        const Json *argument = forward->arguments->items[i];
        bool is_block = strcmp(json_get_string(argument, "name", ""), name) == 0;
        json_push(arguments, is_block ? own : json_copy(arena, argument));
    }
    return (PlannedForward){configuration, arguments};
}

static void put_row(const Json *launches, const char *block, RowChoice choice, int stages) {
    for (int i = 0; i < launches->count; i++) {
        Json *launch = launches->items[i], *options = json_object(launches->arena);
        json_set_number(options, "num_warps", choice.warps);
        if (stages) json_set_number(options, "num_stages", stages);
        json_set(launch, "options", options);
        json_set_string(launch, "tiles",
                        arena_printf(launches->arena, "%s=%lld", block, (long long)choice.size));
    }
}

Json *plan_whole_rows(Arena *arena, const PlannedForward *forward, const Json *rows, Error *error) {
    const char *block = json_get_string(rows, "block", "");
    if (!json_get_bool(rows, "chosen", false)) return NULL;
    BackwardPlan plan = {.arena = arena, .forward = forward, .known = *forward->configuration};
    double length = expression(&plan, rows, "length", error);
    if (*error || !(length >= 1 && length <= WHOLE_MOST)) return NULL;
    RowChoice choice = choose_whole_row((int64_t)length, 0, 0, 0, 0);
    PlannedForward own = with_block(arena, forward, block, choice.size);
    Json *launches = plan_backward(arena, &own, json_get(rows, "launches"), error);
    if (!launches || !launches->count) return NULL;
    double bytes = 0;
    int narrowest = 0, widest = 0;
    Json *widths = widths_json(&plan, json_get(launches->items[0], "arguments"),
                               json_get(rows, "tensors"), error);
    for (int i = 0; i < widths->count; i++) {
        int width = (int)widths->items[i]->number;
        bytes += width;
        if (width && (!narrowest || width < narrowest)) narrowest = width;
        if (width > widest) widest = width;
    }
    choice = choose_whole_row((int64_t)length, (int64_t)bytes, json_get_int(rows, "sums", 0),
                              narrowest, widest);
    if (*error || !choice.size) return NULL;
    put_row(launches, block, choice, forward->configuration->stages);
    return launches;
}
