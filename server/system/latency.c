// Nearest-rank percentiles.
#include "server/system/latency.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static Latency *latency_find(Arena *arena, Latencies *latencies, const char *name) {
    for (LIST_EACH(int, i, latencies->list))
        if (strcmp(latencies->list.items[i].name, name) == 0) return &latencies->list.items[i];
    LIST_PUSH(arena, &latencies->list, (Latency){.name = name});
    return &latencies->list.items[latencies->list.count - 1];
}

Latency *latency_add(Arena *arena, Latencies *latencies, const char *name, double seconds) {
    Latency *latency = latency_find(arena, latencies, name);
    LIST_PUSH(arena, &latency->seconds, seconds);
    return latency;
}

void latency_add_at(Arena *arena, Latencies *latencies, const char *name, double seconds, int line,
                    int column) {
    Latency *latency = latency_add(arena, latencies, name, seconds);
    if (seconds <= latency->slowest) return;
    latency->slowest = seconds;
    latency->line = line;
    latency->column = column;
}

uint64_t latency_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int compare_seconds(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double percentile(const Latency *latency, int percent) {
    int rank = (latency->seconds.count * percent + 99) / 100;
    return latency->seconds.items[rank > 0 ? rank - 1 : 0];
}

void latencies_write(Buffer *out, Latencies *latencies) {
    buffer_printf(out, "%-40s %8s %10s %10s %10s\n", "", "times", "median ms", "p99 ms", "max ms");
    for (LIST_EACH(int, i, latencies->list)) {
        Latency *latency = &latencies->list.items[i];
        qsort(latency->seconds.items, (size_t)latency->seconds.count,
              sizeof *latency->seconds.items, compare_seconds);
        buffer_printf(out, "%-40s %8d %10.3f %10.3f %10.3f", latency->name, latency->seconds.count,
                      1e3 * percentile(latency, 50), 1e3 * percentile(latency, 99),
                      1e3 * percentile(latency, 100));
        if (latency->line) buffer_printf(out, " at %d:%d", latency->line, latency->column);
        buffer_putc(out, '\n');
    }
}
