// Buffers by the plan, cubins from the compiler, and the stopwatch; everything of the GPU's is given back at the end.
#include "gpu-runner/triton/time.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "gpu-runner/interp/tile.h"
#include "gpu-runner/triton/compiler.h"
#include "gpu-runner/triton/matrix.h"
#include "gpu-runner/triton/own_tiles.h"
#include "gpu-runner/triton/reference.h"
#include "gpu-runner/triton/stopwatch.h"

static const double SECONDS_UNASKED = 240;

static Budget budget_of(const Json *params, double started, const atomic_bool *cancelled) {
    return (Budget){.deadline = started + json_get_number(params, "max_seconds", SECONDS_UNASKED),
                    .cancelled = cancelled};
}

/// The kernels of one direction, in their order.
typedef struct TimedKernels {
    LoadedKernel *kernels;
    const Json **compiled;
    const char **names;
    const Json **launches;
    int count;
} TimedKernels;

typedef struct TimeRequest {
    Arena *arena;
    const Json *params, *plan;
    const Device *device;
    int architecture;
    Budget budget;
    GpuBuffers buffers;
    double grid[3];
    double compile_seconds;
} TimeRequest;

/// What the compiler has to know of an argument, and nothing that would make it compile again for nothing.
static Json *argument_compiled(TimeRequest *request, const Json *argument, Error *error) {
    static const char *const kept[] = {"name",  "kind",     "dtype", "shape", "strides", "block",
                                       "value", "is_float", "type",  "items", "function"};
    Json *json = json_object(request->arena);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        Json *value = json_get(argument, kept[i]);
        bool is_none = strcmp(kept[i], "value") == 0;
        if (value && (value->kind != JSON_NULL || is_none)) json_set(json, kept[i], value);
    }
    if (strcmp(json_get_string(argument, "kind", ""), "buffer") != 0) return json;
    enum { ALIGNMENT = 16, BYTE = 8 };
    if (!request->device) {  // memory of the GPU begins at 256 bytes
        int bits = dtype_bits(dtype_from_name(str_from(json_get_string(argument, "dtype", ""))));
        double first = -json_get_number(argument, "first", 0) * (bits < BYTE ? 1 : bits / BYTE);
        json_set_bool(json, "aligned", fmod(first, ALIGNMENT) == 0);
        return json;
    }
    const GpuBuffer *buffer;
    *error = buffers_take(&request->buffers, argument, &buffer);
    if (!*error) json_set_bool(json, "aligned", buffer->first % ALIGNMENT == 0);
    return json;
}

/// `launch`: the plan, or a launch of its backward.
static const Json *kernel_compiled(TimeRequest *request, const char *name, const Json *launch,
                                   Error *error) {
    Arena *arena = request->arena;
    const Json *params = request->params;
    Json *ask = json_object(arena), *list = json_array(arena);
    const Json *arguments = json_get(launch, "arguments");
    for (int i = 0; arguments && i < arguments->count && !*error; i++)
        json_push(list, argument_compiled(request, arguments->items[i], error));
    if (*error) return NULL;
    Json *modules = json_get(params, "modules"), *options = json_get(launch, "options");
    if (!options) options = json_get(request->plan, "options");
    json_set_string(ask, "source", json_get_string(params, "module", ""));
    json_set_string(ask, "path", json_get_string(params, "path", ""));
    json_set(ask, "modules", modules ? modules : json_array(arena));
    json_set_string(ask, "kernel", name);
    json_set(ask, "arguments", list);
    json_set(ask, "options", options ? options : json_object(arena));
    json_set_number(ask, "architecture", request->architecture);
    double started = clock_seconds();
    const Json *compiled = compiler_ask(arena, ask, &request->budget, error);
    request->compile_seconds += clock_seconds() - started;
    return compiled;
}

/// The programs of a launch: those of its own, or `otherwise`.
static void grid_read(const Json *launch, const double otherwise[3], double grid[3]) {
    const Json *own = json_get(launch, "grid");
    for (int axis = 0; axis < 3; axis++) {
        bool is_given = own && own->kind == JSON_ARRAY && axis < own->count;
        grid[axis] = is_given ? own->items[axis]->number : otherwise[axis];
    }
}

static Error kernel_add(TimeRequest *request, const char *name, const Json *launch,
                        TimedKernels *timed) {
    Error error = NULL;
    const Json *compiled = kernel_compiled(request, name, launch, &error);
    double grid[3];
    grid_read(launch, request->grid, grid);
    if (!error)
        error = kernel_load(request->arena, &request->buffers, compiled,
                            json_get(launch, "arguments"), grid, &timed->kernels[timed->count]);
    if (error) return arena_printf(request->arena, "%s: %s", name, error);
    if (launch != request->plan) timed->kernels[timed->count].name = name;
    timed->compiled[timed->count] = compiled;
    timed->launches[timed->count] = launch;
    timed->names[timed->count++] = name;
    return NULL;
}

static TimedKernels kernels_new(Arena *arena, int most) {
    return (TimedKernels){
        ARENA_ARRAY(arena, LoadedKernel, most + 1), ARENA_ARRAY(arena, const Json *, most + 1),
        ARENA_ARRAY(arena, const char *, most + 1), ARENA_ARRAY(arena, const Json *, most + 1), 0};
}

static void kernels_unload(TimeRequest *request, TimedKernels *timed) {
    for (int i = 0; i < timed->count; i++) kernel_unload(&request->buffers, &timed->kernels[i]);
}

static void put_measured(Json *json, const MeasuredRuns *measured) {
    json_set_number(json, "median_ms", measured->median_ms);
    json_set_number(json, "low_ms", measured->low_ms);
    json_set_number(json, "high_ms", measured->high_ms);
    json_set_number(json, "runs", measured->runs);
}

/// Together, and each by itself where there are several.
static Json *kernels_time(TimeRequest *request, TimedKernels *timed, Json *meters, Error *error) {
    Arena *arena = request->arena;
    Json *json = json_object(arena), *list = json_array(arena);
    MeasuredRuns measured;
    *error = stopwatch_run(arena, &request->buffers, timed->kernels, timed->count, &request->budget,
                           &measured, meters);
    if (*error) return NULL;
    put_measured(json, &measured);
    for (int i = 0; i < timed->count && !*error; i++) {
        Json *kernel = json_object(arena);
        json_set_string(kernel, "kernel", timed->names[i]);
        const char *tiles = json_get_string(timed->launches[i], "tiles", NULL);
        if (tiles) json_set_string(kernel, "tiles", tiles);
        json_set_number(kernel, "registers", timed->kernels[i].registers);
        json_set_number(kernel, "spilled_bytes", timed->kernels[i].spilled);
        if (timed->kernels[i].occupancy > 0) {
            json_set_number(kernel, "blocks_per_processor", timed->kernels[i].blocks_at_once);
            json_set_number(kernel, "occupancy", timed->kernels[i].occupancy);
            json_set_number(kernel, "waves", timed->kernels[i].waves);
        }
        json_set_number(kernel, "shared_bytes", timed->kernels[i].config.shared);
        json_set_number(kernel, "warps", json_get_int(timed->compiled[i], "warps", 0));
        json_set_bool(kernel, "was_compiled", !json_get_bool(timed->compiled[i], "is_kept", false));
        const Json *lines = json_get(timed->compiled[i], "lines");
        if (lines && lines->count) json_set(kernel, "lines", json_copy(arena, lines));
        json_push(list, kernel);
        if (timed->count == 1) break;
        *error = stopwatch_run(arena, &request->buffers, &timed->kernels[i], 1, &request->budget,
                               &measured, NULL);
        if (!*error) put_measured(kernel, &measured);
    }
    json_set(json, "kernels", list);
    return *error ? NULL : json;
}

/// Whether a launch has this tensor, and the forward reads or writes it where that is known.
static bool is_moved(const Json *arguments, const char *key) {
    for (int i = 0; arguments && i < arguments->count; i++) {
        const Json *argument = arguments->items[i];
        if (strcmp(json_get_string(argument, "key", ""), key) != 0) continue;
        bool is_known = json_get(argument, "read") != NULL;
        return !is_known || json_get_bool(argument, "read", false) ||
               json_get_bool(argument, "written", false);
    }
    return false;
}

static bool has_key(const Json *arguments, const char *key) {
    for (int i = 0; arguments && i < arguments->count; i++)
        if (strcmp(json_get_string(arguments->items[i], "key", ""), key) == 0) return true;
    return false;
}

/// Each tensor of these launches once: what they have to move at the least.
static double least_bytes(const TimeRequest *request, const Json *const *launches, int count) {
    double bytes = 0;
    for (LIST_EACH(int, k, request->buffers.list)) {
        const GpuBuffer *buffer = &request->buffers.list.items[k];
        bool is_one = false;
        for (int i = 0; i < count; i++)
            is_one |= is_moved(json_get(launches[i], "arguments"), buffer->key);
        if (is_one) bytes += (double)buffer->bytes;
    }
    return bytes;
}

/// Bytes of the tensors that the kernels of a direction have: all of them are there at once. `scratch`: of their launches.
static double peak_bytes(const TimeRequest *request, const TimedKernels *timed, uint64_t scratch) {
    double bytes = (double)scratch;
    for (LIST_EACH(int, k, request->buffers.list)) {
        const GpuBuffer *buffer = &request->buffers.list.items[k];
        bool is_held = false;
        for (int i = 0; i < timed->count; i++)
            is_held |= has_key(json_get(timed->launches[i], "arguments"), buffer->key);
        if (is_held) bytes += (double)buffer->bytes;
    }
    return bytes;
}

static void put_rates(TimeRequest *request, Json *result) {
    const Json *operations = json_get(request->plan, "operations"),
               *launches = json_get(request->plan, "launches");
    json_set_number(result, "bytes", least_bytes(request, &request->plan, 1));
    if (launches && launches->kind == JSON_ARRAY && launches->count)
        json_set_number(
            result, "backward_bytes",
            least_bytes(request, (const Json *const *)launches->items, launches->count));
    if (operations) json_set_number(result, "operations", operations->number);
    double rate = stopwatch_copy_rate(request->arena, &request->buffers);
    if (rate > 0) json_set_number(result, "copy_gb_s", rate / 1e9);
    bool is_trial = json_get(request->params, "check") != NULL;
    if (is_trial || json_get_number(request->plan, "dot_operations", 0) <= 0) return;
    rate = matrix_rate(request->arena, &request->buffers, json_get_string(result, "triton", "?"),
                       &request->budget);
    if (rate > 0) json_set_number(result, "matrix_tflop_s", rate / 1e12);
}

/// The argument of the forward or of a launch of the backward whose tensor has this key.
static const Json *argument_with_key(const TimeRequest *request, const char *key) {
    const Json *launches = json_get(request->plan, "launches");
    int count = launches && launches->kind == JSON_ARRAY ? launches->count : 0;
    for (int i = -1; i < count; i++) {
        const Json *arguments = json_get(i < 0 ? request->plan : launches->items[i], "arguments");
        for (int k = 0; arguments && k < arguments->count; k++)
            if (strcmp(json_get_string(arguments->items[k], "key", ""), key) == 0)
                return arguments->items[k];
    }
    return NULL;
}

/// First elements of tensors after all runs, for whoever checks what the launches computed.
static Error put_elements(TimeRequest *request, Json *result) {
    const Json *wishes = json_get(request->params, "read");
    if (!wishes || wishes->kind != JSON_OBJECT) return NULL;
    Json *read = json_object(request->arena);
    Error error = NULL;
    for (int i = 0; i < wishes->count && !error; i++) {
        const char *key = str_dup(request->arena, wishes->keys[i]);
        const Json *argument = argument_with_key(request, key);
        Json *numbers = NULL;
        if (!argument) return arena_printf(request->arena, "no launch has `%s`", key);
        error = buffers_read(&request->buffers, argument, json_get_int(wishes, key, 0), &numbers);
        if (numbers) json_set(read, key, numbers);
    }
    json_set(result, "read", read);
    return error;
}

/// A variant that spills, or that computes something else than the one that was kept, is not timed.
static Error variant_check(TimeRequest *request, LoadedKernel *kernel, const Json *arguments) {
    const char *check = json_get_string(request->params, "check", "");
    int most = json_get_int(request->params, "most_spilled", INT_MAX);
    if (kernel->spilled > most)
        return arena_printf(request->arena, "it spills %d bytes of a thread", kernel->spilled);
    if (strcmp(check, "keep") == 0) return reference_keep(&request->buffers, kernel, arguments);
    if (strcmp(check, "compare") == 0)
        return reference_compare(&request->buffers, kernel, arguments);
    return NULL;
}

/// The one launch that is asked for, behind one run of all that comes before it.
static Json *time_launch(TimeRequest *request, const char *name, Json *result, Error *error) {
    Arena *arena = request->arena;
    const Json *launches = json_get(request->plan, "launches"), *launch = NULL;
    int count = launches && launches->kind == JSON_ARRAY ? launches->count : 0;
    TimedKernels before = kernels_new(arena, count), own = kernels_new(arena, 1);
    *error =
        kernel_add(request, json_get_string(request->params, "kernel", ""), request->plan, &before);
    for (int i = 0; i < count && !*error && !launch; i++) {
        const char *kernel = json_get_string(launches->items[i], "kernel", "");
        bool is_asked = strcmp(kernel, name) == 0;
        if (is_asked) launch = launches->items[i];
        *error = kernel_add(request, kernel, launches->items[i], is_asked ? &own : &before);
    }
    if (!*error && !launch)
        *error = arena_printf(arena, "the backward has no launch of `%s`", name);
    for (int i = 0; i < before.count && !*error; i++)
        *error = kernel_start(arena, request->buffers.calls, &before.kernels[i]);
    if (!*error) *error = variant_check(request, own.kernels, json_get(launch, "arguments"));
    if (!*error) json_set(result, "backward", kernels_time(request, &own, NULL, error));
    kernels_unload(request, &before);
    kernels_unload(request, &own);
    return *error ? NULL : result;
}

static Json *time_all(TimeRequest *request, Json *result, Error *error) {
    Arena *arena = request->arena;
    const Json *launches = json_get(request->plan, "launches");
    int count = launches && launches->kind == JSON_ARRAY ? launches->count : 0;
    TimedKernels forward = kernels_new(arena, 1), backward = kernels_new(arena, count);
    *error = kernel_add(request, json_get_string(request->params, "kernel", ""), request->plan,
                        &forward);
    uint64_t scratch = request->buffers.scratch_bytes;
    for (int i = 0; i < count && !*error; i++)
        *error = kernel_add(request, json_get_string(launches->items[i], "kernel", ""),
                            launches->items[i], &backward);
    Json *meters = json_object(arena);
    if (!*error)
        *error = variant_check(request, forward.kernels, json_get(request->plan, "arguments"));
    if (!*error) json_set(result, "forward", kernels_time(request, &forward, meters, error));
    bool is_backward = !*error && count;
    if (is_backward) json_set(result, "backward", kernels_time(request, &backward, NULL, error));
    if (is_backward && *error) *error = arena_printf(arena, "the backward: %s", *error);
    if (!*error)
        json_set_number(json_get(result, "forward"), "peak_bytes",
                        peak_bytes(request, &forward, scratch));
    if (is_backward && !*error)
        json_set_number(json_get(result, "backward"), "peak_bytes",
                        peak_bytes(request, &backward, request->buffers.scratch_bytes - scratch));
    if (!*error) put_rates(request, result);
    if (!*error) *error = put_elements(request, result);
    json_set(result, "meters", meters);
    kernels_unload(request, &forward);
    kernels_unload(request, &backward);
    return *error ? NULL : result;
}

/// The first `count` launches, the forward and those of the backward in their order, each once: for whoever checks what they compute.
static Json *run_launches(TimeRequest *request, int count, Json *result, Error *error) {
    Arena *arena = request->arena;
    const Json *launches = json_get(request->plan, "launches");
    int all = 1 + (launches && launches->kind == JSON_ARRAY ? launches->count : 0);
    TimedKernels timed = kernels_new(arena, all);
    for (int i = 0; i < count && i < all && !*error; i++) {
        const Json *launch = i ? launches->items[i - 1] : request->plan;
        const char *forward = json_get_string(request->params, "kernel", "");
        *error = kernel_add(request, i ? json_get_string(launch, "kernel", "") : forward, launch,
                            &timed);
    }
    for (int i = 0; i < timed.count && !*error; i++) {
        *error = kernel_start(arena, request->buffers.calls, &timed.kernels[i]);
        if (!*error) *error = device_wait(request->buffers.device, arena);
        if (*error) *error = arena_printf(arena, "`%s`: %s", timed.names[i], *error);
    }
    if (!*error) *error = put_elements(request, result);
    if (!*error) json_set(result, "plan", json_copy(arena, request->plan));
    kernels_unload(request, &timed);
    return *error ? NULL : result;
}

static Error request_read(TimeRequest *request) {
    static const double one[3] = {1, 1, 1};
    const Json *refused = json_get(request->plan, "refused");
    grid_read(request->plan, one, request->grid);
    if (!json_get(request->plan, "arguments") || !json_get(request->params, "module"))
        return "the request needs `plan` and `module`";
    if (refused && refused->kind == JSON_STRING)
        return arena_printf(request->arena, "the backward: %s", refused->string.data);
    return NULL;
}

static const Json *launch_named(const Json *plan, const char *name) {
    const Json *launches = json_get(plan, "launches");
    for (int i = 0; launches && launches->kind == JSON_ARRAY && i < launches->count; i++)
        if (strcmp(json_get_string(launches->items[i], "kernel", ""), name) == 0)
            return launches->items[i];
    return NULL;
}

Json *request_compile(Arena *arena, const Json *params, const atomic_bool *cancelled,
                      Error *error) {
    TimeRequest request = {.arena = arena,
                           .params = params,
                           .plan = json_get(params, "plan"),
                           .architecture = json_get_int(params, "architecture", 0),
                           .budget = budget_of(params, clock_seconds(), cancelled)};
    const char *name = json_get_string(params, "launch", NULL);
    const Json *launch = name ? launch_named(request.plan, name) : request.plan;
    *error = request_read(&request);
    if (!*error && !launch) *error = "the backward has no such launch";
    if (!*error) *error = compiler_start(arena, json_get(params, "python"));
    const Json *compiled = NULL;
    if (!*error)
        compiled = kernel_compiled(&request, name ? name : json_get_string(params, "kernel", ""),
                                   launch, error);
    if (*error) return NULL;
    Json *result = json_object(arena);
    json_set_bool(result, "was_compiled", !json_get_bool(compiled, "is_kept", false));
    return result;
}

Json *request_time(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error) {
    const GpuCalls *calls = NULL;
    double started = clock_seconds();
    TimeRequest request = {.arena = arena, .params = params, .plan = json_get(params, "plan")};
    request.budget = budget_of(params, started, cancelled);
    *error = request_read(&request);
    device_limit(request.budget.deadline);
    if (!*error) *error = calls_open(&request.device, &calls);
    if (!*error) *error = compiler_start(arena, json_get(params, "python"));
    const Json *release = *error ? NULL : compiler_release(arena, &request.budget, error);
    if (*error) return NULL;
    request.architecture = request.device->architecture;
    request.plan = own_tiles_chosen(arena, request.plan, device_card(request.device));
    request.buffers = (GpuBuffers){.arena = arena, .device = device_open(), .calls = calls};
    Json *result = json_object(arena);
    json_set_string(result, "device", request.device->name);
    json_set_string(result, "triton", json_get_string(release, "triton", "?"));
    json_set_string(result, "text", json_get_string(request.plan, "text", ""));
    json_set_number(result, "architecture", request.architecture);
    const char *launch = json_get_string(params, "launch", NULL);
    const int only = json_get_int(params, "launches", -1);
    if (only >= 0)
        result = run_launches(&request, only, result, error);
    else
        result = launch ? time_launch(&request, launch, result, error)
                        : time_all(&request, result, error);
    buffers_free(&request.buffers);
    if (*error) return NULL;
    json_set_number(result, "compile_seconds", request.compile_seconds);
    json_set_number(result, "seconds", clock_seconds() - started);
    return result;
}
