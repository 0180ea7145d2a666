// What each step needs of the driver, in its order; the probe takes all of them.
#include "gpu-runner/cuda/device.h"

#include <math.h>
#include <time.h>

#include "gpu-runner/cuda/spare.h"
#include "gpu-runner/interp/budget.h"

enum {
    ATTRIBUTE_PROCESSORS = 16,  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    ATTRIBUTE_MAJOR = 75,       // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    ATTRIBUTE_MINOR = 76,
    ATTRIBUTE_SHARED = 97,  // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    LONGEST_NAME = 256,
    MOST_KERNELS = 256  // that are kept loaded
};

// Of one kernel.
static const double MOST_SECONDS = 60, LEAST_SECONDS = 0.5, SHARE_OF_TIME = 0.25,
                    SPINNING_SECONDS = 0.002;
static const double SECONDS_APART = 2;  // of two tries to take a GPU that another process holds

static struct {
    bool is_wanted, is_eager;
    int ordinal;
    double deadline;  // of the request, as clock_seconds(); 0: none
} wish;

void device_want(bool is_eager) {
    wish.is_wanted = true;
    wish.is_eager = is_eager;
}
bool device_is_wanted(void) { return wish.is_wanted && wish.ordinal >= 0; }
bool device_is_eager(void) { return wish.is_eager && wish.ordinal >= 0; }
void device_choose(int ordinal) { wish.ordinal = ordinal; }

static Error find_gpu(Device *device) {
    const Driver *driver = &device->driver;
    int count = 0, major = 0, minor = 0;
    char *name = arena_alloc(device->arena, LONGEST_NAME);
    Error error =
        driver_error(device->arena, driver, driver->device_count(&count), "counting GPUs");
    if (!error && count <= 0) error = driver_error(device->arena, driver, 100, "counting GPUs");
    if (error || count <= 0) return error;
    device->ordinal = wish.ordinal % count;
    int code = driver->device_get(&device->id, device->ordinal), id = device->id;
    if (!code) code = driver->device_name(name, LONGEST_NAME - 1, id);
    if (!code) code = driver->device_attribute(&major, ATTRIBUTE_MAJOR, id);
    if (!code) code = driver->device_attribute(&minor, ATTRIBUTE_MINOR, id);
    if (!code) code = driver->device_attribute(&device->processors, ATTRIBUTE_PROCESSORS, id);
    if (!code) code = driver->device_attribute(&device->shared_bytes, ATTRIBUTE_SHARED, id);
    if (code) return driver_error(device->arena, driver, code, "asking the GPU what it is");
    device->name = name;
    device->architecture = 10 * major + minor;
    code = driver->context_retain(&device->context, id);
    if (!code) code = driver->context_use(device->context);
    device->again_s = code ? clock_seconds() + SECONDS_APART : 0;
    return driver_error(device->arena, driver, code, "taking the GPU");
}

/// As driver_error; and nothing is tried any more where the context is lost.
static Error told(Device *device, Arena *arena, int code, const char *tried) {
    Error error = driver_error(arena, &device->driver, code, tried);
    if (error && driver_is_lost(code) && !device->lost)
        device->lost = arena_strdup(device->arena, error);
    return error;
}

static Device opened;  // of the one thread that works
static DeviceTimes spent;

DeviceTimes device_times(void) { return spent; }

static Error spend(double *seconds, double since, Error error) {
    *seconds += clock_seconds() - since;
    return error;
}

bool device_is_lost(void) { return opened.lost != NULL; }

Error device_gone(void) { return opened.arena ? device_missing(&opened) : NULL; }

Device *device_open(void) {
    double since = clock_seconds();
    bool is_again = opened.gpu_missing && opened.again_s > 0 && since > opened.again_s;
    if (is_again) opened.gpu_missing = find_gpu(&opened);
    if (opened.arena) return &opened;
    opened.arena = arena_new();
    opened.driver_missing = driver_open(opened.arena, &opened.driver);
    opened.nvrtc_missing = nvrtc_open(opened.arena, &opened.nvrtc);
    if (opened.driver.version_get) opened.driver.version_get(&opened.driver_version);
    if (!opened.driver_missing) opened.gpu_missing = find_gpu(&opened);
    spend(&spent.opening, since, NULL);
    return &opened;
}

Error device_missing(const Device *device) {
    return device->lost             ? device->lost
           : device->driver_missing ? device->driver_missing
           : device->nvrtc_missing  ? device->nvrtc_missing
                                    : device->gpu_missing;
}

TileCard device_card(const Device *device) {
    return (TileCard){device->processors, device->shared_bytes};
}

// --- kernels ------------------------------------------------------------------------------------------------------------

/// Kernels that are loaded, by their text: all that are kept.
static struct {
    Arena *arena;
    Str texts[MOST_KERNELS];  // all begin alike, and few are as long
    bool is_quick[MOST_KERNELS];
    DeviceKernel kernels[MOST_KERNELS];
    int count;
} loaded;

/// What was compiled before anybody asked for it.
static struct {
    Arena *arena;
    const char *const *texts;
    Str *codes;
    int count;
    bool is_quick;
} ready;

static Str ready_code(const char *text, bool is_quick) {
    for (int i = 0; i < ready.count; i++)
        if (ready.is_quick == is_quick && strcmp(ready.texts[i], text) == 0) return ready.codes[i];
    return (Str){0};
}

static const DeviceKernel *kept_kernel(const char *text, bool is_quick) {
    const Str wanted = str_from(text);
    for (int i = 0; i < loaded.count; i++)
        if (loaded.is_quick[i] == is_quick && str_equal(loaded.texts[i], wanted))
            return &loaded.kernels[i];
    return NULL;
}

void device_prepare(Device *device, const char *const *texts, int count, bool is_quick) {
    double since = clock_seconds();
    if (ready.arena) arena_free(ready.arena);
    ready.arena = arena_new();
    ready.is_quick = is_quick;
    ready.count = 0;
    const char **wanted = ARENA_ARRAY(ready.arena, const char *, count + 1);
    for (int i = 0; i < count; i++)
        if (!kept_kernel(texts[i], is_quick))
            wanted[ready.count++] = arena_strdup(ready.arena, texts[i]);
    ready.texts = wanted;
    ready.codes = ARENA_ARRAY(ready.arena, Str, ready.count + 1);
    NvrtcTarget target = {device->architecture, is_quick};
    nvrtc_compile_all(ready.arena, &device->nvrtc, ready.texts, ready.count, target, ready.codes);
    spend(&spent.compiling, since, NULL);
}

Error device_load(Device *device, Arena *arena, const char *text, const char *name, bool is_quick,
                  DeviceKernel *kernel) {
    const Driver *driver = &device->driver;
    Error error = NULL;
    double since = clock_seconds();
    NvrtcTarget target = {device->architecture, is_quick};
    Str code = ready_code(text, is_quick);
    if (!code.data) code = nvrtc_compile(arena, &device->nvrtc, text, target, &error);
    spend(&spent.compiling, since, NULL);
    if (!code.data) return error;
    error =
        told(device, arena, driver->module_load(&kernel->module, code.data), "loading the kernel");
    if (error) return error;
    error = told(device, arena, driver->module_function(&kernel->function, kernel->module, name),
                 "finding the kernel");
    if (error) device_unload(device, kernel);
    return error;
}

void device_unload(Device *device, DeviceKernel *kernel) {
    if (kernel->module && !device->lost) device->driver.module_unload(kernel->module);
    *kernel = (DeviceKernel){0};
}

Error device_kernel(Device *device, Arena *arena, const char *text, const char *name, bool is_quick,
                    DeviceKernel *kernel) {
    const DeviceKernel *known = kept_kernel(text, is_quick);
    if (known) {
        *kernel = *known;
        return NULL;
    }
    if (loaded.count == MOST_KERNELS) {
        for (int i = 0; i < loaded.count; i++) device_unload(device, &loaded.kernels[i]);
        loaded.count = 0;
        arena_free(loaded.arena);
        loaded.arena = NULL;
    }
    Error error = device_load(device, arena, text, name, is_quick, kernel);
    if (error) return error;
    if (!loaded.arena) loaded.arena = arena_new();
    loaded.texts[loaded.count] = str_from(arena_strdup(loaded.arena, text));
    loaded.is_quick[loaded.count] = is_quick;
    loaded.kernels[loaded.count++] = *kernel;
    return NULL;
}

Error device_allocate(Device *device, Arena *arena, size_t size_bytes, uint64_t *address) {
    double since = clock_seconds();
    *address = 0;
    int code = spare_take(&device->driver, size_bytes, address);
    return spend(
        &spent.allocating, since,
        told(device, arena, code,
             arena_printf(arena, "taking %.1f MiB of the GPU", (double)size_bytes / (1 << 20))));
}

Error device_copy(Device *device, Arena *arena, const void *data, size_t size_bytes,
                  uint64_t address) {
    double since = clock_seconds();
    int code = device->driver.memory_give(address, data, size_bytes);
    return spend(&spent.copying, since, told(device, arena, code, "copying to the GPU"));
}

Error device_take(Device *device, Arena *arena, uint64_t address, void *data, size_t size_bytes) {
    double since = clock_seconds();
    int code = device->driver.memory_take(data, address, size_bytes);
    return spend(&spent.copying, since, told(device, arena, code, "copying from the GPU"));
}

void device_release(Device *device, uint64_t address) {
    double since = clock_seconds();
    if (address && !device->lost) spare_give(&device->driver, address);
    spend(&spent.allocating, since, NULL);
}

bool device_holds_spare(void) { return spare_is_there() && !opened.lost; }

void device_rest(void) {
    if (device_holds_spare()) spare_free(&opened.driver);
}

void device_limit(double deadline) { wish.deadline = deadline; }

double device_time_left(void) {
    return wish.deadline > 0 ? wish.deadline - clock_seconds() : INFINITY;
}

/// Looks until the kernel has ended, for a share of the time that the request has left: the interpreter wants some, too.
static int wait_for(const Device *device) {
    double started = clock_seconds(), now = started,
           share = wish.deadline > 0 ? (wish.deadline - started) * SHARE_OF_TIME : MOST_SECONDS,
           until = started + fmax(share, LEAST_SECONDS);
    int code;
    while ((code = device->driver.stream_query(NULL)) == DRIVER_NOT_READY && now < until) {
        now = clock_seconds();
        const struct timespec pause = {.tv_nsec = 100000};
        if (now > started + SPINNING_SECONDS) nanosleep(&pause, NULL);
    }
    return code == DRIVER_NOT_READY ? DRIVER_TOO_LONG : code;
}

Error device_launch(Device *device, Arena *arena, const DeviceKernel *kernel, unsigned blocks,
                    unsigned threads, uint64_t argument) {
    const Driver *driver = &device->driver;
    void *arguments[] = {&argument};
    double since = clock_seconds();
    Error error = told(
        device, arena,
        driver->launch(kernel->function, blocks, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL),
        "starting the kernel");
    if (!error) error = told(device, arena, wait_for(device), "running the kernel");
    return spend(&spent.running, since, error);
}

Error device_wait(Device *device, Arena *arena) {
    return told(device, arena, wait_for(device), "running the kernel");
}

Error device_error(Device *device, Arena *arena, int code, const char *tried) {
    return told(device, arena, code, tried);
}

// --- the probe ----------------------------------------------------------------------------------------------------------

static const char probe_text[] =
    "#ifndef KERNEL\n"
    "#define KERNEL extern \"C\" __global__\n"
    "#endif\n"
    "KERNEL void tad_probe(long long *number) {\n"
    "    if (threadIdx.x == 0) number[blockIdx.x] += 41 + (long long)blockIdx.x;\n"
    "}\n";

/// Compiles, loads and runs a kernel that adds, and looks at the sums.
static Error try_kernel(Device *device, Arena *arena) {
    int64_t numbers[2] = {1, 2};
    uint64_t address = 0;
    DeviceKernel kernel = {0};
    Error error = device_load(device, arena, probe_text, "tad_probe", true, &kernel);
    if (!error) error = device_allocate(device, arena, sizeof numbers, &address);
    if (!error) error = device_copy(device, arena, numbers, sizeof numbers, address);
    if (!error) error = device_launch(device, arena, &kernel, 2, 1, address);
    if (!error) error = device_take(device, arena, address, numbers, sizeof numbers);
    if (!error && (numbers[0] != 42 || numbers[1] != 44))
        error = "the GPU ran a kernel and did not add up";
    device_release(device, address);
    device_unload(device, &kernel);
    return error;
}

static void add_part(Arena *arena, Json *json, const char *name, const char *found, Error missing) {
    Json *part = json_object(arena);
    json_set_string(part, missing ? "missing" : "found", missing ? missing : found);
    json_set(json, name, part);
}

Json *device_probe(Arena *arena) {
    Device *device = device_open();
    Json *json = json_object(arena);
    Error missing = device_missing(device);
    if (!missing) missing = try_kernel(device, arena);
    json_set_string(json, "name", "cuda");
    json_set_bool(json, "available", missing == NULL);
    if (missing) json_set_string(json, "missing", missing);
    bool is_loaded = device->driver_version > 0;
    add_part(arena, json, "driver",
             arena_printf(arena, "CUDA %d.%d", device->driver_version / 1000,
                          device->driver_version % 1000 / 10),
             is_loaded ? NULL : device->driver_missing);
    add_part(arena, json, "nvrtc",
             arena_printf(arena, "%d.%d", device->nvrtc.major, device->nvrtc.minor),
             device->nvrtc_missing);
    add_part(arena, json, "gpu",
             arena_printf(arena, "%s, compute capability %d.%d, %d multiprocessors", device->name,
                          device->architecture / 10, device->architecture % 10, device->processors),
             device->driver_missing ? device->driver_missing : device->gpu_missing);
    return json;
}
