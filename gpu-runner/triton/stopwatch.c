// As triton.testing.do_bench does it: an estimate, a warm-up of 25 ms, then 100 ms of runs.
#include "gpu-runner/triton/stopwatch.h"

#include <stdlib.h>
#include <time.h>

#include "gpu-runner/cuda/cache.h"

enum { ATTRIBUTE_CACHE = 38 };  // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
enum { ESTIMATE_RUNS = 5, LEAST_RUNS = 5, MOST_RUNS = 1000, CACHES = 4 };
static const size_t LEAST_FLUSH = (size_t)64 << 20;
static const double WARM_UP_MS = 25, MEASURE_MS = 100, LONG_RUN_MS = 1000;

typedef struct Stopwatch {
    Arena *arena;
    GpuBuffers *buffers;
    const GpuCalls *calls;
    uint64_t flush;  // memory that is written to before each run
    size_t flush_bytes;
    void **before, **after;  // events
    int events;
} Stopwatch;

static Error watch_open(Stopwatch *watch) {
    const Driver *driver = &watch->buffers->device->driver;
    int cache = 0;
    if (driver->device_attribute(&cache, ATTRIBUTE_CACHE, watch->buffers->device->id)) cache = 0;
    watch->flush_bytes = (size_t)(cache > 0 ? cache : 0) * CACHES;
    if (watch->flush_bytes < LEAST_FLUSH) watch->flush_bytes = LEAST_FLUSH;
    watch->before = ARENA_ARRAY(watch->arena, void *, MOST_RUNS);
    watch->after = ARENA_ARRAY(watch->arena, void *, MOST_RUNS);
    return device_allocate(watch->buffers->device, watch->arena, watch->flush_bytes, &watch->flush);
}

static void watch_close(Stopwatch *watch) {
    for (int i = 0; i < watch->events; i++) {
        if (watch->before[i]) watch->calls->event_free(watch->before[i]);
        if (watch->after[i]) watch->calls->event_free(watch->after[i]);
    }
    device_release(watch->buffers->device, watch->flush);
}

static Error events_make(Stopwatch *watch, int count) {
    for (; watch->events < count; watch->events++) {
        int code = watch->calls->event_new(&watch->before[watch->events], 0);
        if (!code) code = watch->calls->event_new(&watch->after[watch->events], 0);
        if (code) return calls_error(watch->arena, code, "making an event");
    }
    return NULL;
}

/// What is timed: kernels, or a copy.
typedef struct Load {
    LoadedKernel *kernels;
    int count;
    uint64_t to, from;
    size_t bytes;
} Load;

static Error load_start(const Stopwatch *watch, const Load *load) {
    Error error = NULL;
    if (load->bytes)
        error = calls_error(watch->arena,
                            watch->calls->memory_copy(load->to, load->from, load->bytes, NULL),
                            "copying on the GPU");
    for (int i = 0; i < load->count && !error; i++)
        error = kernel_start(watch->arena, watch->calls, &load->kernels[i]);
    return error;
}

static Error wait_for_all(const Stopwatch *watch, const char *tried) {
    return calls_error(watch->arena, watch->calls->synchronise(), tried);
}

/// `count` runs, asked for in one go; each with its two events.
static Error runs_ask(Stopwatch *watch, const Load *load, int count) {
    const GpuCalls *calls = watch->calls;
    Error error = events_make(watch, count);
    for (int i = 0; i < count && !error; i++) {
        int code = calls->memory_set(watch->flush, 0, watch->flush_bytes, NULL);
        if (!code) code = calls->event_record(watch->before[i], NULL);
        error = calls_error(watch->arena, code, "flushing the cache");
        if (!error) error = load_start(watch, load);
        if (!error)
            error = calls_error(watch->arena, calls->event_record(watch->after[i], NULL),
                                "recording an event");
    }
    return error;
}

static int by_size(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/// Linearly between the two that it falls between.
static double quantile(const double *sorted, int count, double share) {
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static Error runs_read(const Stopwatch *watch, int count, MeasuredRuns *measured) {
    double *times = ARENA_ARRAY(watch->arena, double, count + 1);
    for (int i = 0; i < count; i++) {
        float between = 0;
        int code = watch->calls->event_between(&between, watch->before[i], watch->after[i]);
        if (code) return calls_error(watch->arena, code, "reading an event");
        times[i] = (double)between;
    }
    qsort(times, (size_t)count, sizeof *times, by_size);
    *measured = (MeasuredRuns){quantile(times, count, 0.5), quantile(times, count, 0.1),
                               quantile(times, count, 0.9), count};
    return NULL;
}

static int runs_in(double milliseconds, double one) {
    double runs = one > 0 ? milliseconds / one : MOST_RUNS;
    return runs > MOST_RUNS ? MOST_RUNS : (int)runs;
}

/// The first run of each kernel by itself: it pays for loading, may not end, and is named where it fails.
static Error first_run(const Stopwatch *watch, const Load *load) {
    if (load->bytes) {
        Error error = load_start(watch, load);
        if (!error) error = device_wait(watch->buffers->device, watch->arena);
        return error ? error : wait_for_all(watch, "running the kernel");
    }
    for (int i = 0; i < load->count; i++) {
        LoadedKernel *kernel = &load->kernels[i];
        Error error = kernel_start(watch->arena, watch->calls, kernel);
        if (!error) error = device_wait(watch->buffers->device, watch->arena);
        if (!error) error = wait_for_all(watch, "running the kernel");
        if (error && kernel->name)
            error = arena_printf(watch->arena, "`%s`: %s", kernel->name, error);
        if (error) return error;
    }
    return NULL;
}

static Error watch_measure(Stopwatch *watch, const Load *load, Budget *budget,
                           MeasuredRuns *measured, Json *meters) {
    Error error = first_run(watch, load);
    if (!error) error = runs_ask(watch, load, 1);
    if (!error) error = wait_for_all(watch, "running the kernel");
    if (!error) error = runs_read(watch, 1, measured);
    if (error) return error;
    if (budget_is_over(budget)) return budget_end_text(budget->end);
    if (measured->median_ms < LONG_RUN_MS) {
        error = runs_ask(watch, load, ESTIMATE_RUNS);
        if (!error) error = wait_for_all(watch, "running the kernel");
        if (!error) error = runs_read(watch, ESTIMATE_RUNS, measured);
    }
    double one = measured->median_ms;
    for (int i = runs_in(WARM_UP_MS, one); i > 0 && !error; i--) error = load_start(watch, load);
    int count = runs_in(MEASURE_MS, one);
    if (count < LEAST_RUNS) count = LEAST_RUNS;
    if (one >= LONG_RUN_MS) count = 1;
    if (!error) error = runs_ask(watch, load, count);
    if (!error && meters) meter_read(watch->calls, meters);
    if (!error) error = wait_for_all(watch, "running the kernel");
    return error ? error : runs_read(watch, count, measured);
}

Error stopwatch_run(Arena *arena, GpuBuffers *buffers, LoadedKernel *kernels, int count,
                    Budget *budget, MeasuredRuns *measured, Json *meters) {
    Stopwatch watch = {.arena = arena, .buffers = buffers, .calls = buffers->calls};
    Load load = {.kernels = kernels, .count = count};
    Error error = watch_open(&watch);
    if (!error) error = watch_measure(&watch, &load, budget, measured, meters);
    watch_close(&watch);
    return error;
}

/// A rate that was measured on such a GPU with this driver, not too long ago; 0: none was.
static double rate_kept(Arena *arena, Str key) {
    static const double DAYS_30 = 30 * 86400.0;
    Str text = cache_find(arena, key);
    if (!text.data) return 0;
    char *rest;
    double now = (double)time(NULL), kept = strtod(str_dup(arena, text), &rest);
    double at = strtod(rest, NULL);
    return kept > 0 && at <= now && now - at < DAYS_30 ? kept : 0;
}

static void rate_keep(Arena *arena, Str key, double rate) {
    cache_keep(arena, key, str_from(arena_printf(arena, "%.17g %.0f", rate, (double)time(NULL))));
}

static double copy_rate(const RateAsked *asked) {
    Arena *arena = asked->arena;
    GpuBuffers *buffers = asked->buffers;
    static const size_t BYTES = (size_t)256 << 20;
    double rate = 0;
    Stopwatch watch = {.arena = arena, .buffers = buffers, .calls = buffers->calls};
    Load load = {.bytes = BYTES};
    Budget budget = {0};
    MeasuredRuns measured = {0};
    Error error = device_allocate(buffers->device, arena, BYTES, &load.from);
    if (!error) error = device_allocate(buffers->device, arena, BYTES, &load.to);
    if (!error) error = watch_open(&watch);
    if (!error) error = watch_measure(&watch, &load, &budget, &measured, NULL);
    watch_close(&watch);
    device_release(buffers->device, load.from);
    device_release(buffers->device, load.to);
    if (!error && measured.median_ms > 0) rate = 2e3 * (double)BYTES / measured.median_ms;
    return rate;
}

double stopwatch_rate(const RateAsked *asked, double *known) {
    if (*known >= 0) return *known;
    const Device *device = asked->buffers->device;
    Arena *arena = asked->arena;
    Str key = str_from(arena_printf(arena, "rate of %s\n%s\n%d", asked->what,
                                    device->name ? device->name : "", device->driver_version));
    *known = rate_kept(arena, key);
    if (*known > 0) return *known;
    *known = asked->measure(asked);
    if (*known > 0) rate_keep(arena, key, *known);
    return *known;
}

double stopwatch_copy_rate(Arena *arena, GpuBuffers *buffers) {
    static double rate = -1;  // of the one GPU of this process
    RateAsked asked = {.arena = arena, .buffers = buffers, .what = "a copy", .measure = copy_rate};
    return stopwatch_rate(&asked, &rate);
}
