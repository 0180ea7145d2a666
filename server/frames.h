// Messages with a `Content-Length` header out of a stream of bytes (the base protocol of LSP, JSON-RPC 2.0 inside).
#ifndef TAD_SERVER_FRAMES_H
#define TAD_SERVER_FRAMES_H

#include "base/error.h"
#include "base/json.h"

/// Collects bytes until a message is whole. Its arena is its own, so that a long session does not grow.
typedef struct FrameReader {
    Arena *arena;
    Buffer pending;
    size_t taken;  // bytes of `pending` that were handed out
} FrameReader;

FrameReader frame_reader_new(void);
void frame_reader_free(FrameReader *reader);
void frame_reader_add(FrameReader *reader, const char *data, size_t size);
/// The next whole message: true, and `*body` valid until the next call. False with `*error` NULL: more bytes are needed.
bool frame_reader_next(FrameReader *reader, Str *body, Error *error);

/// Header and body of `message`, ready to be written.
Str frame_write(Arena *arena, const Json *message);

#endif
