// Types into the kernels of a file, key by key, and prints how long each new snapshot took: keystrokes FILE [KEYS].
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/snapshot.h"

/// As the server while somebody types: launches are tried with numbers when he stops.
static const SnapshotOptions typing = {.skip_trials = true};

/// Of the processor: what else runs on the machine does not count.
static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static long resident_kb(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long size = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0) size = strtol(line + 6, NULL, 10);
    if (file) fclose(file);
    return size;
}

static Str read_text(Arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "keystrokes: cannot read %s\n", path);
        exit(2);
    }
    Buffer text = buffer_new(arena);
    char block[4096];
    for (size_t size; (size = fread(block, 1, sizeof block, file)) > 0;)
        buffer_add(&text, block, size);
    fclose(file);
    return (Str){buffer_text(&text), text.size};
}

static int compare_times(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static const char typed[] = "\n    scaled = tl.load(X + row) * 2.0 + 1.0";

/// The end of a line in the middle of kernel `index`.
static size_t place_in(const Snapshot *snapshot, int index) {
    Range range = snapshot->kernels.items[index % snapshot->kernels.count].definition->range;
    Str text = snapshot->source->text;
    size_t at = range.start + (range.end - range.start) / 2;
    while (at < text.size && text.data[at] != '\n') at++;
    return at;
}

typedef struct Session {
    Snapshot *snapshot;
    char *text;
    size_t size;
    double *times;
    int count;
} Session;

static void session_update(Session *session) {
    double start = now_ms();
    Snapshot *next =
        snapshot_update(session->snapshot, (Str){session->text, session->size}, &typing);
    snapshot_release(session->snapshot);
    session->times[session->count++] = now_ms() - start;
    session->snapshot = next;
}

static void type_key(Session *session, size_t at, char key) {
    memmove(session->text + at + 1, session->text + at, session->size - at);
    session->text[at] = key;
    session->size++;
    session_update(session);
}

static void delete_key(Session *session, size_t at) {
    memmove(session->text + at, session->text + at + 1, session->size - at - 1);
    session->size--;
    session_update(session);
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    if (argc < 2) return 2;
    int keys = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2000;
    Str text = read_text(arena, argv[1]);
    Session session = {.text = arena_alloc(arena, text.size + sizeof typed + 1),
                       .size = text.size,
                       .times = ARENA_ARRAY(arena, double, keys + 1)};
    memcpy(session.text, text.data, text.size);
    double start = now_ms();
    session.snapshot = snapshot_build(argv[1], text, &typing);
    double built = now_ms() - start;
    if (!session.snapshot->kernels.count) return 2;
    long opened_kb = resident_kb();
    int length = (int)sizeof typed - 1;
    for (int kernel = 0; session.count < keys; kernel++) {
        size_t at = place_in(session.snapshot, kernel * 7);
        for (int i = 0; i < length && session.count < keys; i++)
            type_key(&session, at + (size_t)i, typed[i]);
        for (int i = length - 1; i >= 0 && session.count < keys; i--)
            delete_key(&session, at + (size_t)i);
    }
    double total = 0;
    for (int i = 0; i < keys; i++) total += session.times[i];
    qsort(session.times, (size_t)keys, sizeof *session.times, compare_times);
    printf("{\"build_ms\": %.3f, \"keys\": %d, \"mean_ms\": %.3f, \"median_ms\": %.3f, "
           "\"p99_ms\": %.3f, \"worst_ms\": %.3f, \"opened_kb\": %ld, \"end_kb\": %ld}\n",
           built, keys, total / keys, session.times[keys / 2], session.times[keys * 99 / 100],
           session.times[keys - 1], opened_kb, resident_kb());
    snapshot_release(session.snapshot);
    arena_free(arena);
    return 0;
}
