// The header is ASCII lines up to an empty one; only Content-Length matters (LSP 3.17, base protocol).
#include "base/frames.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_HEADER = 4096, LARGEST_BODY = 512 * 1024 * 1024, KEPT_CAPACITY = 1024 * 1024 };

static const char LENGTH_NAME[] = "Content-Length:";
enum { LENGTH_NAME_SIZE = sizeof LENGTH_NAME - 1 };

FrameReader frame_reader_new_limited(size_t largest) {
    Arena *arena = arena_new();
    return (FrameReader){.arena = arena, .pending = buffer_new(arena), .largest = largest};
}

FrameReader frame_reader_new(void) { return frame_reader_new_limited(LARGEST_BODY); }

void frame_reader_free(FrameReader *reader) {
    arena_free(reader->arena);
    *reader = (FrameReader){0};
}

/// Moves what is left into a fresh arena: the old one holds every size that the buffer ever had.
static void reader_compact(FrameReader *reader) {
    size_t left = reader->pending.size - reader->taken;
    if (left == 0 && reader->pending.capacity <= KEPT_CAPACITY) {
        reader->pending.size = reader->taken = reader->last_body = 0;
        return;
    }
    Arena *arena = arena_new();
    Buffer fresh = buffer_new(arena);
    buffer_add(&fresh, reader->pending.data + reader->taken, left);
    arena_free(reader->arena);
    *reader = (FrameReader){
        .arena = arena, .pending = fresh, .largest = reader->largest, .is_lost = reader->is_lost};
}

void frame_reader_add(FrameReader *reader, const char *data, size_t size) {
    if (reader->taken) reader_compact(reader);
    buffer_add(&reader->pending, data, size);
}

/// Bytes of the header with its empty line, or 0 where it is not whole yet.
static size_t header_size(const char *data, size_t size) {
    for (size_t i = 0; i < size && i < LONGEST_HEADER; i++) {
        if (data[i] != '\n') continue;
        if (i + 1 < size && data[i + 1] == '\n') return i + 2;
        if (i + 2 < size && data[i + 1] == '\r' && data[i + 2] == '\n') return i + 3;
        if (i == 1 && data[0] == '\r') return 2;
    }
    return 0;
}

/// Whether the bytes may be the beginning of `Name: value`.
static bool may_open_header(const char *data, size_t size) {
    enum { LONGEST_NAME = 64 };
    for (size_t i = 0; i < size && i < LONGEST_NAME; i++) {
        if (data[i] == ':') return i > 0;
        if (!isalpha((unsigned char)data[i]) && data[i] != '-') return false;
    }
    return size < LONGEST_NAME;
}

/// SIZE_MAX for what no machine can hold.
static bool content_length(const char *header, size_t size, size_t *length) {
    for (size_t i = 0; i + LENGTH_NAME_SIZE < size; i++) {
        if ((i && header[i - 1] != '\n') ||
            strncasecmp(header + i, LENGTH_NAME, LENGTH_NAME_SIZE) != 0)
            continue;
        char *end = NULL;
        const char *digits = header + i + LENGTH_NAME_SIZE;
        unsigned long long value = strtoull(digits, &end, 10);
        end += strspn(end, " \t");
        if (end == digits || (*end != '\r' && *end != '\n')) return false;
        *length = value < SIZE_MAX ? (size_t)value : SIZE_MAX;
        return true;
    }
    return false;
}

/// Where the next Content-Length is, or what must be kept because one may begin there.
static size_t next_header(const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        size_t left = size - i;
        size_t compared = left < LENGTH_NAME_SIZE ? left : LENGTH_NAME_SIZE;
        if (strncasecmp(data + i, LENGTH_NAME, compared) == 0) return i;
    }
    return size;
}

/// Drops at least one byte, so that reading goes on. The reason is told once for a stretch of rubbish.
static bool skip_rubbish(FrameReader *reader, size_t least, const char *why, Error *error) {
    const char *data = reader->pending.data + reader->taken;
    size_t size = reader->pending.size - reader->taken;
    if (least > size) least = size;
    reader->taken += least + next_header(data + least, size - least);
    if (!reader->is_lost) *error = why;
    reader->is_lost = true;
    return *error == NULL && reader->taken < reader->pending.size;
}

/// One attempt: a message, rubbish that is skipped (`*again`), or not enough bytes.
static bool reader_try(FrameReader *reader, Str *body, Error *error, bool *again) {
    const char *data = reader->pending.data + reader->taken;
    size_t size = reader->pending.size - reader->taken, length = 0;
    if (size == 0) return false;
    size_t header = header_size(data, size);
    if (!may_open_header(data, size)) {
        *again = skip_rubbish(reader, 1, "bytes that are no header of a message", error);
        return false;
    }
    if (header == 0) {
        if (size > LONGEST_HEADER)
            *again = skip_rubbish(reader, 1, "a message without a header end", error);
        return false;
    }
    if (!content_length(data, header, &length)) {
        *again = skip_rubbish(reader, header, "a message without a usable Content-Length", error);
        return false;
    }
    if (length > reader->largest) {
        *again = skip_rubbish(reader, header, "a message that is too large", error);
        return false;
    }
    if (size - header < length) return false;
    *body = (Str){data + header, length};
    reader->taken += header + length;
    reader->last_body = length;
    reader->is_lost = false;
    return true;
}

bool frame_reader_next(FrameReader *reader, Str *body, Error *error) {
    *error = NULL;
    const Buffer *pending = &reader->pending;
    if (pending->size == reader->taken && pending->capacity > KEPT_CAPACITY) reader_compact(reader);
    if (!pending->data) return false;
    for (;;) {
        bool again = false;
        if (reader_try(reader, body, error, &again)) return true;
        if (!again) return false;
    }
}

void frame_reader_retry(FrameReader *reader) {
    size_t start = reader->taken - reader->last_body;
    const char *body = reader->pending.data + start;
    size_t at = next_header(body, reader->last_body);
    if (at < reader->last_body) reader->taken = start + at;
    reader->last_body = 0;
    reader->is_lost = true;
}

const Json *frame_parse(FrameReader *reader, Arena *arena, Str body, Error *error) {
    bool is_text = !utf8_find_invalid(body.data, body.size);
    const Json *message = is_text ? json_parse(arena, body, error) : NULL;
    if (!is_text) *error = "not valid UTF-8";
    if (!message) frame_reader_retry(reader);
    return message;
}

Str frame_write(Arena *arena, const Json *message) {
    // The length comes first and is known last: the header is put before the body, at the end of the room left for it.
    enum { ROOM = 48 };
    char header[ROOM];
    Buffer text = buffer_new(arena);
    buffer_add(&text, (const char[ROOM]){0}, ROOM);
    json_add(&text, message, false);
    int size = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", text.size - ROOM);
    size_t start = ROOM - (size_t)size;
    memcpy(text.data + start, header, (size_t)size);
    return (Str){text.data + start, text.size - start};
}
