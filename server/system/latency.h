// Times by name, and the table of their median, 99th percentile, maximum and slowest place.
#ifndef TAD_SERVER_SYSTEM_LATENCY_H
#define TAD_SERVER_SYSTEM_LATENCY_H

#include "base/list.h"
#include "base/text.h"

typedef struct Latency {
    const char *name;
    LIST(double) seconds;
    double slowest;
    int line, column;  // of the slowest, one-based; 0: it has no place
} Latency;

typedef struct Latencies {
    LIST(Latency) list;
} Latencies;

/// `name` is borrowed. The result is valid until the next addition.
Latency *latency_add(Arena *arena, Latencies *latencies, const char *name, double seconds);
/// As latency_add, of something done at a place of a file; line and column count from one.
void latency_add_at(Arena *arena, Latencies *latencies, const char *name, double seconds, int line,
                    int column);
/// Processor's time of all threads, in nanoseconds: what other programs do meanwhile does not count.
uint64_t latency_clock_ns(void);
/// Rows in the order of their first addition. Sorts the times.
void latencies_write(Buffer *out, Latencies *latencies);

#endif
