// The header is ASCII lines up to an empty one; only Content-Length matters (LSP 3.17, base protocol).
#include "server/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_HEADER = 4096, LARGEST_BODY = 512 * 1024 * 1024 };

FrameReader frame_reader_new(void) {
    Arena *arena = arena_new();
    return (FrameReader){.arena = arena, .pending = buffer_new(arena)};
}

void frame_reader_free(FrameReader *reader) {
    arena_free(reader->arena);
    *reader = (FrameReader){0};
}

/// Moves what is left into a fresh arena: the old one holds every size that the buffer ever had.
static void reader_compact(FrameReader *reader) {
    Arena *arena = arena_new();
    Buffer fresh = buffer_new(arena);
    buffer_add(&fresh, reader->pending.data + reader->taken, reader->pending.size - reader->taken);
    arena_free(reader->arena);
    *reader = (FrameReader){.arena = arena, .pending = fresh};
}

void frame_reader_add(FrameReader *reader, const char *data, size_t size) {
    if (reader->taken) reader_compact(reader);
    buffer_add(&reader->pending, data, size);
}

/// Bytes of the header with its empty line, or 0 where it is not whole yet.
static size_t header_size(const char *data, size_t size) {
    for (size_t i = 0; i + 3 < size; i++)
        if (memcmp(data + i, "\r\n\r\n", 4) == 0) return i + 4;
    return 0;
}

static bool content_length(const char *header, size_t size, size_t *length) {
    static const char name[] = "Content-Length:";
    for (size_t i = 0; i + sizeof name <= size; i++) {
        if ((i && header[i - 1] != '\n') || strncasecmp(header + i, name, sizeof name - 1) != 0)
            continue;
        char *end = NULL;
        unsigned long long value = strtoull(header + i + sizeof name - 1, &end, 10);
        if (end == header + i + sizeof name - 1 || *end != '\r' || value > LARGEST_BODY)
            return false;
        *length = (size_t)value;
        return true;
    }
    return false;
}

bool frame_reader_next(FrameReader *reader, Str *body, Error *error) {
    *error = NULL;
    if (!reader->pending.data) return false;
    const char *data = reader->pending.data + reader->taken;
    size_t size = reader->pending.size - reader->taken;
    size_t header = header_size(data, size), length = 0;
    if (header == 0) {
        if (size > LONGEST_HEADER) *error = "a message without a header end";
        return false;
    }
    if (!content_length(data, header, &length)) {
        *error = "a message without a usable Content-Length";
        return false;
    }
    if (size - header < length) return false;
    *body = (Str){data + header, length};
    reader->taken += header + length;
    return true;
}

Str frame_write(Arena *arena, const Json *message) {
    const char *body = json_print(arena, message, false);
    size_t size = strlen(body);
    char *framed = arena_printf(arena, "Content-Length: %zu\r\n\r\n%s", size, body);
    return (Str){framed, strlen(framed)};
}
