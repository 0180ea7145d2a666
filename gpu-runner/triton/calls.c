// Both libraries are opened when somebody first wants to time.
#include "gpu-runner/triton/calls.h"

static Error calls_find(Device *device, GpuCalls *calls) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    Error error = NULL;
    void *library = library_open(device->arena, "TAD_LIBCUDA", names, &error);
#define CALL(field, symbol, ...)                                                                   \
    if (!error) error = library_function(device->arena, library, symbol, &calls->field);
#define OPTION(field, symbol, ...)                                                                 \
    if (!error && library_function(device->arena, library, symbol, &calls->field))                 \
        calls->field = NULL;
#define METER(field, symbol, ...)
#include "gpu-runner/triton/calls.def"
#undef CALL
#undef OPTION
#undef METER
    return error;
}

/// Meters are a courtesy: without them there are times all the same.
static void meter_find(Device *device, GpuCalls *calls) {
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    char bus[32] = {0};
    Error error = NULL;
    void *library = library_open(device->arena, "TAD_NVML", names, &error);
#define CALL(field, symbol, ...)
#define OPTION(field, symbol, ...)
#define METER(field, symbol, ...)                                                                  \
    if (!error) error = library_function(device->arena, library, symbol, &calls->field);
#include "gpu-runner/triton/calls.def"
#undef CALL
#undef OPTION
#undef METER
    if (error || calls->bus_id(bus, sizeof bus, device->id)) return;
    if (calls->meter_start() || calls->meter_of(bus, &calls->meter)) calls->meter = NULL;
}

Error calls_open(const Device **device, const GpuCalls **calls) {
    static GpuCalls opened;  // of the one thread that works
    static Error missing;
    static bool is_tried;
    Device *gpu = device_open();
    *device = gpu;
    *calls = &opened;
    if (gpu->lost) return gpu->lost;
    if (gpu->driver_missing || gpu->gpu_missing)
        return gpu->driver_missing ? gpu->driver_missing : gpu->gpu_missing;
    if (!is_tried) missing = calls_find(gpu, &opened);
    if (!is_tried && !missing) meter_find(gpu, &opened);
    is_tried = true;
    return missing;
}

Error calls_error(Arena *arena, int code, const char *tried) {
    return device_error(device_open(), arena, code, tried);
}

void meter_read(const GpuCalls *calls, Json *into) {
    enum { CLOCK_PROCESSORS = 1, CLOCK_MEMORY = 2, HEAT_OF_GPU = 0 };
    unsigned value = 0;
    if (!calls->meter) return;
    if (!calls->meter_clock(calls->meter, CLOCK_PROCESSORS, &value))
        json_set_number(into, "clock_mhz", value);
    if (!calls->meter_clock(calls->meter, CLOCK_MEMORY, &value))
        json_set_number(into, "memory_clock_mhz", value);
    if (!calls->meter_power(calls->meter, &value)) json_set_number(into, "power_w", value / 1e3);
    if (!calls->meter_heat(calls->meter, HEAT_OF_GPU, &value))
        json_set_number(into, "temperature_c", value);
}
