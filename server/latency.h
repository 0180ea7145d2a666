// Times by name, and the table of their median, 99th percentile and maximum.
#ifndef TAD_SERVER_LATENCY_H
#define TAD_SERVER_LATENCY_H

#include "base/list.h"
#include "base/text.h"

typedef struct Latency {
    const char *name;
    LIST(double) seconds;
} Latency;

typedef struct Latencies {
    LIST(Latency) list;
} Latencies;

/// `name` is borrowed.
void latency_add(Arena *arena, Latencies *latencies, const char *name, double seconds);
/// Rows in the order of their first addition. Sorts the times.
void latencies_write(Buffer *out, Latencies *latencies);

#endif
