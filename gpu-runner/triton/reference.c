#include "gpu-runner/triton/reference.h"

#include <math.h>
#include <string.h>

#include "gpu-runner/interp/tile.h"

/// Of one tensor: its first elements, as many as are compared.
typedef struct KeptTensor {
    const char *key;
    DTypeCode dtype;
    char *bytes;
    size_t count;
    double usual;  // root of the mean square of what is finite
} KeptTensor;

/// Of the last kernel that was kept.
static struct {
    Arena *arena;
    LIST(KeptTensor) list;
} kept;

static const size_t MOST_ELEMENTS = (size_t)1 << 26;

static size_t size_of(DTypeCode dtype) {
    int bits = dtype_bits(dtype);
    return bits < 8 ? 1 : (size_t)bits / 8;
}

static Error run_once(GpuBuffers *buffers, LoadedKernel *kernel) {
    Error error = kernel_start(buffers->arena, buffers->calls, kernel);
    if (error) return error;
    return calls_error(buffers->arena, buffers->calls->synchronise(), "running the kernel");
}

/// What a launch of a backward writes goes by its key.
static bool is_written(const Json *argument) {
    static const char *const roles[] = {"gradient ", "running ", "amid ", "scratch "};
    const char *key = json_get_string(argument, "key", "");
    bool is_written = json_get_bool(argument, "written", false);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        is_written |= strncmp(key, roles[i], strlen(roles[i])) == 0;
    return is_written && strcmp(json_get_string(argument, "kind", ""), "buffer") == 0;
}

static Error tensor_take(GpuBuffers *buffers, const Json *argument, Arena *arena,
                         KeptTensor *tensor) {
    const GpuBuffer *buffer;
    Error error = buffers_take(buffers, argument, &buffer);
    if (error) return error;
    *tensor =
        (KeptTensor){.key = arena_strdup(arena, buffer->key),
                     .dtype = dtype_from_name(str_from(json_get_string(argument, "dtype", "")))};
    size_t size = size_of(tensor->dtype);
    tensor->count = buffer->bytes / size;
    if (tensor->count > MOST_ELEMENTS) tensor->count = MOST_ELEMENTS;
    tensor->bytes = arena_alloc(arena, tensor->count * size);
    return device_take(buffers->device, buffers->arena, buffer->base, tensor->bytes,
                       tensor->count * size);
}

static double element_of(const KeptTensor *tensor, size_t index) {
    size_t size = size_of(tensor->dtype);
    int64_t bits = 0;
    memcpy(&bits, tensor->bytes + index * size, size);
    return dtype_code_is_float(tensor->dtype) ? float_from_bits(bits, tensor->dtype)
                                              : (double)wrap_integer(bits, tensor->dtype);
}

static double usual_size(const KeptTensor *tensor) {
    double sum = 0, count = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        double number = element_of(tensor, i);
        if (!isfinite(number)) continue;
        sum += number * number;
        count++;
    }
    return count > 0 ? sqrt(sum / count) : 0;
}

Error reference_keep(GpuBuffers *buffers, LoadedKernel *kernel, const Json *arguments) {
    arena_free(kept.arena);
    memset(&kept, 0, sizeof kept);
    kept.arena = arena_new();
    Error error = run_once(buffers, kernel);
    for (int i = 0; arguments && i < arguments->count && !error; i++) {
        KeptTensor tensor;
        if (!is_written(arguments->items[i])) continue;
        error = tensor_take(buffers, arguments->items[i], kept.arena, &tensor);
        if (error) break;
        tensor.usual = usual_size(&tensor);
        LIST_PUSH(kept.arena, &kept.list, tensor);
    }
    return error;
}

/// How far sums in another order may be apart, of an element and of the tensor's usual size.
static double allowed_of(DTypeCode dtype) {
    if (!dtype_code_is_float(dtype)) return 0;
    int bits = dtype_bits(dtype);
    if (dtype == DTYPE_BFLOAT16) return 5e-2;
    return bits >= 64 ? 1e-9 : bits == 32 ? 1e-3 : bits == 16 ? 1e-2 : 0.25;
}

static Error tensor_compare(Arena *arena, const KeptTensor *own, const KeptTensor *other) {
    size_t size = size_of(own->dtype),
           count = own->count < other->count ? own->count : other->count;
    double allowed = allowed_of(own->dtype);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(own->bytes + i * size, other->bytes + i * size, size) == 0) continue;
        double want = element_of(own, i), got = element_of(other, i);
        bool is_alike = isfinite(want) && isfinite(got)
                            ? fabs(got - want) <= allowed * (fabs(want) + own->usual)
                            : (isnan(want) && isnan(got)) || (isinf(want) && want == got);
        if (is_alike) continue;
        return arena_printf(arena, "its result differs: `%s` has %.6g at element %zu, not %.6g",
                            own->key, got, i, want);
    }
    return own->count == other->count
               ? NULL
               : arena_printf(arena, "it writes another part of `%s`", own->key);
}

Error reference_compare(GpuBuffers *buffers, LoadedKernel *kernel, const Json *arguments) {
    Arena *arena = arena_new();
    Error error = run_once(buffers, kernel);
    for (LIST_EACH(int, k, kept.list)) {
        const KeptTensor *own = &kept.list.items[k];
        for (int i = 0; arguments && i < arguments->count && !error; i++) {
            KeptTensor other;
            const Json *argument = arguments->items[i];
            if (strcmp(json_get_string(argument, "key", ""), own->key) != 0) continue;
            error = tensor_take(buffers, argument, arena, &other);
            if (!error) error = tensor_compare(buffers->arena, own, &other);
        }
    }
    arena_free(arena);
    return error;
}
