// Nearest-rank percentiles.
#include "server/latency.h"

#include <stdlib.h>
#include <string.h>

void latency_add(Arena *arena, Latencies *latencies, const char *name, double seconds) {
    for (LIST_EACH(int, i, latencies->list)) {
        Latency *latency = &latencies->list.items[i];
        if (strcmp(latency->name, name) != 0) continue;
        LIST_PUSH(arena, &latency->seconds, seconds);
        return;
    }
    Latency fresh = {.name = name};
    LIST_PUSH(arena, &fresh.seconds, seconds);
    LIST_PUSH(arena, &latencies->list, fresh);
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
        buffer_printf(out, "%-40s %8d %10.3f %10.3f %10.3f\n", latency->name,
                      latency->seconds.count, 1e3 * percentile(latency, 50),
                      1e3 * percentile(latency, 99), 1e3 * percentile(latency, 100));
    }
}
