// Chunks of doubling size; with address sanitizer each object gets its own malloc, or it would see nothing.
#include "base/arena.h"

#include "base/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_SEPARATE 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_SEPARATE 1
#endif
#ifndef ARENA_SEPARATE
#define ARENA_SEPARATE 0
#endif

enum { ARENA_FIRST_CHUNK = 16 * 1024, ARENA_LARGEST_CHUNK = 4 * 1024 * 1024 };

typedef struct Chunk {
    struct Chunk *next;
    size_t used;
    size_t size;
    max_align_t data[];
} Chunk;

struct Arena {
    Chunk *chunks;
    size_t next_size;
    Arena *older;  // of those for notes, or of those with one owner
    Arena *owned;  // the newest that it frees
};

static _Thread_local Arena *newest_scratch;

static void *checked_malloc(size_t size) {
    void *block = malloc(size);
    if (!block) {
        fprintf(stderr, "tad: out of memory (%zu bytes)\n", size);
        exit(2);
    }
    return block;
}

void arena_keep_freed(void) {
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

Arena *arena_new(void) { return arena_new_sized(ARENA_FIRST_CHUNK); }

Arena *arena_new_sized(size_t first_bytes) {
    Arena *arena = checked_malloc(sizeof(Arena));
    *arena = (Arena){.next_size = first_bytes};
    return arena;
}

Arena *arena_new_scratch(void) {
    Arena *arena = arena_new();
    arena->older = newest_scratch;
    newest_scratch = arena;
    return arena;
}

Arena *arena_newest_scratch(void) { return newest_scratch; }

void arena_free_scratch(Arena *oldest) {
    while (newest_scratch != oldest) arena_free(newest_scratch);
}

/// Takes an arena out of those for notes, if it is one.
static void scratch_forget(const Arena *arena) {
    for (Arena **link = &newest_scratch; *link; link = &(*link)->older)
        if (*link == arena) {
            *link = arena->older;
            return;
        }
}

void arena_free(Arena *arena) {
    if (!arena) return;
    scratch_forget(arena);
    for (Chunk *chunk = arena->chunks; chunk;) {
        Chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    for (Arena *owned = arena->owned; owned;) {
        Arena *older = owned->older;
        arena_free(owned);
        owned = older;
    }
    free(arena);
}

void arena_give(Arena *arena, Arena *owner) {
    scratch_forget(arena);
    arena->older = owner->owned;
    owner->owned = arena;
}

size_t arena_bytes(const Arena *arena) {
    size_t bytes = 0;
    for (const Chunk *chunk = arena->chunks; chunk; chunk = chunk->next) bytes += chunk->size;
    for (const Arena *owned = arena->owned; owned; owned = owned->older)
        bytes += arena_bytes(owned);
    return bytes;
}

static Chunk *chunk_add(Arena *arena, size_t size) {
    Chunk *chunk = checked_malloc(sizeof(Chunk) + size);
    *chunk = (Chunk){.next = arena->chunks, .size = size};
    arena->chunks = chunk;
    return chunk;
}

/// Room of any content: what is never handed out is never cleared.
static void *arena_take(Arena *arena, size_t size_bytes) {
    enum { BYTES_PER_STEP = 64 };
    budget_take(1 + (int64_t)(size_bytes / BYTES_PER_STEP));
    size_t align = sizeof(max_align_t);
    size_t size = (size_bytes + align - 1) / align * align;
    Chunk *chunk = arena->chunks;
    if (ARENA_SEPARATE || !chunk || chunk->size - chunk->used < size) {
        size_t chunk_size = size;
        if (!ARENA_SEPARATE) {
            if (chunk_size < arena->next_size) chunk_size = arena->next_size;
            if (arena->next_size < ARENA_LARGEST_CHUNK) arena->next_size *= 2;
        }
        chunk = chunk_add(arena, chunk_size);
    }
    void *result = (char *)chunk->data + chunk->used;
    chunk->used += size;
    return result;
}

void *arena_alloc(Arena *arena, size_t size_bytes) {
    return memset(arena_take(arena, size_bytes), 0, size_bytes);
}

void *arena_grow(Arena *arena, const void *old, size_t old_bytes, size_t new_bytes) {
    char *grown = arena_take(arena, new_bytes);
    if (old_bytes) memcpy(grown, old, old_bytes);
    memset(grown + old_bytes, 0, new_bytes - old_bytes);
    return grown;
}

char *arena_strndup(Arena *arena, const char *text, size_t size) {
    char *copy = arena_take(arena, size + 1);
    if (size) memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *arena_strdup(Arena *arena, const char *text) {
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(Arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    char most[256];  // is long enough: most texts are formatted once
    int written = vsnprintf(most, sizeof most, format, arguments);
    size_t size = written < 0 ? 0 : (size_t)written;
    char *text = arena_alloc(arena, size + 1);
    if (size < sizeof most)
        memcpy(text, most, size);
    else
        vsnprintf(text, size + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}
