// What Triton's own launcher does (triton/backends/nvidia/driver.c and driver.py), said by the driver API.
#include "gpu-runner/triton/kernel.h"

#include <math.h>
#include <string.h>

#include "gpu-runner/interp/tile.h"
#include "gpu-runner/triton/compiler.h"
#include "gpu-runner/triton/descriptor.h"

enum {
    ATTRIBUTE_MOST_THREADS = 39,  // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
    FUNCTION_SHARED = 1,          // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    FUNCTION_LOCAL = 3,           // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
    FUNCTION_REGISTERS = 4,       // CU_FUNC_ATTRIBUTE_NUM_REGS
    FUNCTION_MOST_SHARED = 8,     // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    FUNCTION_ANY_CLUSTER = 14,    // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    PREFER_SHARED = 1,            // CU_FUNC_CACHE_PREFER_SHARED
    LAUNCH_COOPERATIVE = 2,       // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    LAUNCH_CLUSTER = 4,           // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    LAUNCH_CLUSTER_ORDER = 5,     // CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
    LAUNCH_DEPENDENT = 6,         // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    ORDER_SPREAD = 1,             // CU_CLUSTER_SCHEDULING_POLICY_SPREAD
    USUAL_SHARED = 48 << 10,      // without asking for more
    WARP = 32,
    PORTABLE_CLUSTER = 8
};

// --- buffers ------------------------------------------------------------------------------------------------------------

/// A number between 0 and 1 that hangs on `index` alone.
static double noise(uint64_t index) {
    uint64_t x = (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

typedef struct Filling {
    const char *content;
    DTypeCode dtype;
    double low, high, mark;
    uint64_t mark_each;  // 0: none is marked
    bool repeats;        // a pattern serves for all of it
} Filling;

static Filling filling_of(const Json *argument, DTypeCode dtype) {
    const Json *mark = json_get(argument, "mark");
    Filling filling = {
        .content = json_get_string(argument, "content", "zero"),
        .dtype = dtype,
        .low = json_get_number(argument, "low", 0),
        .high = json_get_number(argument, "high", 0),
    };
    if (mark && mark->kind == JSON_NUMBER) {
        filling.mark = mark->number;
        filling.mark_each = (uint64_t)json_get_number(argument, "mark_each", 0);
    }
    bool counts = !dtype_code_is_float(dtype) && (strcmp(filling.content, "monotone") == 0 ||
                                                  strcmp(filling.content, "distinct") == 0);
    filling.repeats = !counts && !filling.mark_each;
    return filling;
}

static double filled_at(const Filling *filling, uint64_t index) {
    const char *content = filling->content;
    double low = filling->low, high = filling->high;
    if (filling->mark_each && index % filling->mark_each == 1) return filling->mark;
    if (strcmp(content, "zero") == 0 || strcmp(content, "any") == 0) return 0;
    if (dtype_code_is_float(filling->dtype))
        return strcmp(content, "uniform") == 0 ? low + (high - low) * noise(index)
                                               : 2 * noise(index) - 1;
    if (strcmp(content, "monotone") == 0) return (double)index * (high > 1 ? floor(high) : 1);
    if (strcmp(content, "distinct") == 0) return (double)index;
    return high > low ? floor(low + (high - low) * noise(index)) : 0;
}

static void encode(const Filling *filling, uint64_t from, size_t count, size_t size, char *bytes) {
    bool is_float = dtype_code_is_float(filling->dtype);
    for (size_t i = 0; i < count; i++) {
        double number = filled_at(filling, from + i);
        int64_t bits = is_float ? float_to_bits(round_float(number, filling->dtype), filling->dtype)
                                : (int64_t)number;
        memcpy(bytes + i * size, &bits, size);
    }
}

/// Elements are made here some at a time; a pattern is doubled on the GPU. As many as a prime: with rows or tiles that repeat a product
/// costs less power, and runs faster than with numbers of its own.
static Error fill(GpuBuffers *buffers, const Filling *filling, uint64_t base, uint64_t count,
                  size_t size) {
    enum { AT_A_TIME = 1048573 };
    Arena *arena = arena_new();
    char *bytes = arena_alloc(arena, AT_A_TIME * size);
    uint64_t done = 0;
    Error error = NULL;
    while (done < count && !error && !(done && filling->repeats)) {
        size_t now = count - done < AT_A_TIME ? (size_t)(count - done) : AT_A_TIME;
        encode(filling, done, now, size, bytes);
        error = device_copy(buffers->device, buffers->arena, bytes, now * size, base + done * size);
        done += now;
    }
    while (done < count && !error) {
        uint64_t now = count - done < done ? count - done : done;
        int code = buffers->calls->memory_copy(base + done * size, base, now * size, NULL);
        error = calls_error(buffers->arena, code, "copying on the GPU");
        done += now;
    }
    arena_free(arena);
    return error;
}

static GpuBuffer *buffer_with(GpuBuffers *buffers, const char *key) {
    for (LIST_EACH(int, i, buffers->list))
        if (strcmp(buffers->list.items[i].key, key) == 0) return &buffers->list.items[i];
    return NULL;
}

Error buffers_take(GpuBuffers *buffers, const Json *argument, const GpuBuffer **buffer) {
    const char *key = json_get_string(argument, "key", json_get_string(argument, "name", ""));
    *buffer = buffer_with(buffers, key);
    if (*buffer) return NULL;
    static const double MOST_ELEMENTS = (double)(1ull << 40);
    const char *type = json_get_string(argument, "dtype", "");
    DTypeCode dtype = dtype_from_name(str_from(type));
    double elements = json_get_number(argument, "elements", 0),
           first = -json_get_number(argument, "first", 0);
    int bits = dtype_bits(dtype);
    if (dtype == DTYPE_UNKNOWN || bits <= 0)
        return arena_printf(buffers->arena, "the tensor `%s` has the type %s", key, type);
    if (!(elements >= 0 && elements < MOST_ELEMENTS && first >= 0 && first <= elements))
        return arena_printf(buffers->arena, "the tensor `%s` is too large", key);
    size_t size = bits < 8 ? 1 : (size_t)bits / 8;
    uint64_t count = elements < 1 ? 1 : (uint64_t)elements;
    GpuBuffer made = {.key = arena_strdup(buffers->arena, key), .bytes = count * size};
    Error error = device_allocate(buffers->device, buffers->arena, made.bytes, &made.base);
    if (error) return error;
    made.first = made.base + (uint64_t)first * size;
    LIST_PUSH(buffers->arena, &buffers->list, made);
    *buffer = &buffers->list.items[buffers->list.count - 1];
    Filling filling = filling_of(argument, dtype);
    return fill(buffers, &filling, made.base, count, size);
}

Error buffers_read(GpuBuffers *buffers, const Json *argument, int count, Json **numbers) {
    DTypeCode dtype = dtype_from_name(str_from(json_get_string(argument, "dtype", "")));
    int bits = dtype_bits(dtype);
    size_t size = bits < 8 ? 1 : (size_t)bits / 8;
    const GpuBuffer *buffer;
    Error error = buffers_take(buffers, argument, &buffer);
    if (error) return error;
    size_t room = (buffer->bytes - (size_t)(buffer->first - buffer->base)) / size;
    size_t wanted = count < 0 ? 0 : (size_t)count;
    if (wanted > room) wanted = room;
    char *bytes = arena_alloc(buffers->arena, wanted * size + 1);
    error = device_take(buffers->device, buffers->arena, buffer->first, bytes, wanted * size);
    *numbers = json_array(buffers->arena);
    for (size_t i = 0; i < wanted && !error; i++) {
        int64_t element = 0;
        memcpy(&element, bytes + i * size, size);
        double number = dtype_code_is_float(dtype) ? float_from_bits(element, dtype)
                                                   : (double)wrap_integer(element, dtype);
        json_push(*numbers, json_number(buffers->arena, number));
    }
    return error;
}

void buffers_free(GpuBuffers *buffers) {
    for (LIST_EACH(int, i, buffers->list))
        device_release(buffers->device, buffers->list.items[i].base);
    for (LIST_EACH(int, i, buffers->scratch))
        device_release(buffers->device, buffers->scratch.items[i]);
    buffers->list.count = buffers->scratch.count = 0;
    buffers->scratch_bytes = 0;
}

// --- parameters -----------------------------------------------------------------------------------------------------------

static const Json *argument_named(const Json *arguments, const char *name) {
    for (int i = 0; arguments && i < arguments->count; i++)
        if (strcmp(json_get_string(arguments->items[i], "name", ""), name) == 0)
            return arguments->items[i];
    return NULL;
}

/// The bytes of a number as the kernel reads them: of its type's width, lowest first.
static uint64_t number_bits(const char *type, double number) {
    DTypeCode dtype = dtype_from_name(str_from(type));
    if (dtype_code_is_float(dtype))
        return (uint64_t)float_to_bits(round_float(number, dtype), dtype);
    return number < 0x1p63 ? (uint64_t)(int64_t)number : (uint64_t)number;
}

/// `alignment` and more of it: memory of the GPU begins at 256 bytes.
static Error scratch_take(GpuBuffers *buffers, double size, uint64_t *address) {
    *address = 0;
    if (size < 1) return NULL;
    Error error = device_allocate(buffers->device, buffers->arena, (size_t)size, address);
    if (error) return error;
    LIST_PUSH(buffers->arena, &buffers->scratch, *address);
    buffers->scratch_bytes += (uint64_t)size;
    return calls_error(buffers->arena, buffers->calls->memory_set(*address, 0, (size_t)size, NULL),
                       "clearing scratch memory");
}

/// A size or a stride of the descriptor's tensor, which Triton passes beside it.
static Error layout_bind(Arena *arena, const Json *slot, const Json *argument, uint64_t *bits) {
    bool is_size = json_get(slot, "size") != NULL;
    const char *which = is_size ? "size" : "stride";
    const Json *of = json_get(argument, is_size ? "shape" : "strides");
    int axis = json_get_int(slot, which, 0);
    if (!of || of->kind != JSON_ARRAY || axis < 0 || axis >= of->count)
        return arena_printf(arena, "the launch has no descriptor for `%s`",
                            json_get_string(slot, "argument", ""));
    *bits = number_bits(json_get_string(slot, "type", ""), of->items[axis]->number);
    return NULL;
}

/// The value of an argument, or of an item of a tuple; NULL: there is none.
static const Json *value_given(const Json *slot, const Json *argument) {
    const Json *path = json_get(slot, "items");
    for (int i = 0; path && i < path->count && argument; i++) {
        const Json *items = json_get(argument, "items");
        int at = (int)path->items[i]->number;
        bool is_there = items && items->kind == JSON_ARRAY && at >= 0 && at < items->count;
        argument = is_there ? items->items[at] : NULL;
    }
    return argument ? json_get(argument, "value") : NULL;
}

/// `*parameter` is what the launch takes a pointer to: `bits`, or the map of a descriptor.
static Error slot_bind(Arena *arena, GpuBuffers *buffers, const Json *slot, const Json *arguments,
                       double programs, uint64_t *bits, void **parameter) {
    const char *name = json_get_string(slot, "argument", NULL),
               *type = json_get_string(slot, "type", "");
    const Json *given = json_get(slot, "value");
    if (given) *bits = number_bits(type, given->number);
    if (given) return NULL;
    if (!name) return scratch_take(buffers, programs * json_get_number(slot, "scratch", 0), bits);
    const Json *argument = argument_named(arguments, name);
    const char *kind = json_get_string(argument, "kind", "");
    bool is_map = json_get(slot, "swizzle") != NULL;
    if (json_get(slot, "size") || json_get(slot, "stride"))
        return layout_bind(arena, slot, argument, bits);
    if (strcmp(kind, "buffer") == 0 && (*type == '*' || is_map)) {
        const GpuBuffer *buffer;
        Error error = buffers_take(buffers, argument, &buffer);
        if (!error) *bits = buffer->first;
        if (error || !is_map) return error;
        return descriptor_map(arena, buffers->calls, slot, argument, buffer->first, parameter);
    }
    const Json *value = value_given(slot, argument);
    bool is_number = value && (value->kind == JSON_NUMBER || value->kind == JSON_BOOL);
    if (!is_number || *type == '*')
        return arena_printf(arena, "the launch has no value for `%s`, which is %s", name, type);
    *bits = number_bits(*type == 'u' && type[1] == '1' ? "i1" : type, value->number);
    return NULL;
}

static Error parameters_bind(Arena *arena, GpuBuffers *buffers, const Json *compiled,
                             const Json *arguments, const double grid[3], LoadedKernel *kernel) {
    const Json *slots = json_get(compiled, "slots");
    int count = slots && slots->kind == JSON_ARRAY ? slots->count : 0;
    uint64_t *bits = ARENA_ARRAY(arena, uint64_t, count + 1);
    double programs = grid[0] * grid[1] * grid[2] * json_get_number(compiled, "blocks", 1);
    kernel->parameters = ARENA_ARRAY(arena, void *, count + 1);
    for (int i = 0; i < count; i++) {
        kernel->parameters[i] = &bits[i];
        Error error = slot_bind(arena, buffers, slots->items[i], arguments, programs, &bits[i],
                                &kernel->parameters[i]);
        if (error) return error;
    }
    return NULL;
}

// --- loading ----------------------------------------------------------------------------------------------------------

static Error shared_allow(Arena *arena, const GpuBuffers *buffers, LoadedKernel *kernel) {
    const GpuCalls *calls = buffers->calls;
    void *function = kernel->on_gpu.function;
    int most = buffers->device->shared_bytes, own = 0, wanted = (int)kernel->config.shared;
    if (wanted <= USUAL_SHARED) return NULL;
    if (wanted > most)
        return arena_printf(arena,
                            "it takes %d bytes of shared memory, and this GPU has %d for a block",
                            wanted, most);
    int code = calls->function_prefer(function, PREFER_SHARED);
    if (!code) code = calls->function_attribute(&own, FUNCTION_SHARED, function);
    if (!code) code = calls->function_allow(function, FUNCTION_MOST_SHARED, most - own);
    return calls_error(arena, code, "asking for shared memory");
}

static LaunchAttribute *attribute_new(LoadedKernel *kernel, int id) {
    LaunchAttribute *attribute = &kernel->attributes[kernel->config.attribute_count++];
    *attribute = (LaunchAttribute){.id = id};
    return attribute;
}

static Error config_set(Arena *arena, const GpuCalls *calls, const Json *compiled,
                        const double grid[3], LoadedKernel *kernel) {
    LaunchConfig *config = &kernel->config;
    const Json *cluster = json_get(compiled, "cluster");
    unsigned sizes[3] = {1, 1, 1}, blocks = 1;
    for (int axis = 0; axis < 3; axis++) {
        bool is_given = cluster && cluster->kind == JSON_ARRAY && axis < cluster->count;
        if (is_given && cluster->items[axis]->number >= 1)
            sizes[axis] = (unsigned)cluster->items[axis]->number;
        blocks *= sizes[axis];
        double all = grid[axis] * sizes[axis];
        if (!(all >= 1 && all <= (axis ? 65535 : 2147483647)))
            return arena_printf(arena, "a grid of %.0f programs along axis %d cannot be launched",
                                grid[axis], axis);
        config->grid[axis] = (unsigned)all;
    }
    config->block[0] = WARP * (unsigned)json_get_int(compiled, "warps", 4);
    config->block[1] = config->block[2] = 1;
    config->shared = (unsigned)json_get_int(compiled, "shared", 0);
    config->attributes = kernel->attributes;
    if (json_get_bool(compiled, "dependent", false))
        attribute_new(kernel, LAUNCH_DEPENDENT)->value.number = 1;
    if (json_get_bool(compiled, "cooperative", false))
        attribute_new(kernel, LAUNCH_COOPERATIVE)->value.number = 1;
    if (blocks == 1) return NULL;
    memcpy(attribute_new(kernel, LAUNCH_CLUSTER)->value.sizes, sizes, sizeof sizes);
    attribute_new(kernel, LAUNCH_CLUSTER_ORDER)->value.number = ORDER_SPREAD;
    if (blocks <= PORTABLE_CLUSTER) return NULL;
    return calls_error(arena,
                       calls->function_allow(kernel->on_gpu.function, FUNCTION_ANY_CLUSTER, 1),
                       "asking for a large cluster");
}

/// What the driver says of the kernel. A courtesy: what it does not say stays 0.
static void ask_occupancy(const GpuBuffers *buffers, LoadedKernel *kernel) {
    const Device *device = buffers->device;
    const GpuCalls *calls = buffers->calls;
    const LaunchConfig *config = &kernel->config;
    void *function = kernel->on_gpu.function;
    int threads = (int)config->block[0], most = 0;
    if (calls->function_attribute(&kernel->registers, FUNCTION_REGISTERS, function))
        kernel->registers = 0;
    if (calls->function_attribute(&kernel->spilled, FUNCTION_LOCAL, function)) kernel->spilled = 0;
    if (calls->blocks_at_once(&kernel->blocks_at_once, function, threads, config->shared) ||
        device->driver.device_attribute(&most, ATTRIBUTE_MOST_THREADS, device->id))
        most = 0;
    if (most <= 0 || kernel->blocks_at_once <= 0) return;
    kernel->occupancy = fmin(1, (double)kernel->blocks_at_once * threads / most);
    double blocks = (double)config->grid[0] * config->grid[1] * config->grid[2];
    if (device->processors > 0)
        kernel->waves = blocks / kernel->blocks_at_once / device->processors;
}

Error kernel_load(Arena *arena, GpuBuffers *buffers, const Json *compiled, const Json *arguments,
                  const double grid[3], LoadedKernel *kernel) {
    const Driver *driver = &buffers->device->driver;
    const char *text = json_get_string(compiled, "cubin", "");
    size_t size;
    const char *code = base64_bytes(arena, str_from(text), &size);
    *kernel = (LoadedKernel){0};
    if (!size) return "the compiler gave no code";
    Error error =
        calls_error(arena, driver->module_load(&kernel->on_gpu.module, code), "loading the kernel");
    if (!error)
        error = calls_error(arena,
                            driver->module_function(&kernel->on_gpu.function, kernel->on_gpu.module,
                                                    json_get_string(compiled, "symbol", "")),
                            "finding the kernel");
    if (!error) error = config_set(arena, buffers->calls, compiled, grid, kernel);
    if (!error) error = shared_allow(arena, buffers, kernel);
    if (!error) error = parameters_bind(arena, buffers, compiled, arguments, grid, kernel);
    if (error) {
        kernel_unload(buffers, kernel);
        return error;
    }
    ask_occupancy(buffers, kernel);
    return NULL;
}

Error kernel_start(Arena *arena, const GpuCalls *calls, LoadedKernel *kernel) {
    return calls_error(
        arena, calls->launch(&kernel->config, kernel->on_gpu.function, kernel->parameters, NULL),
        "starting the kernel");
}

void kernel_unload(GpuBuffers *buffers, LoadedKernel *kernel) {
    device_unload(buffers->device, &kernel->on_gpu);
}
