// Messages with a `Content-Length` header out of a stream of bytes (the base protocol of LSP, JSON-RPC 2.0 inside).
#ifndef TAD_BASE_FRAMES_H
#define TAD_BASE_FRAMES_H

#include "base/error.h"
#include "base/json.h"

/// Collects bytes until a message is whole. Its arena is its own, so that a long session does not grow.
typedef struct FrameReader {
    Arena *arena;
    Buffer pending;
    size_t taken;      // bytes of `pending` that were handed out
    size_t last_body;  // bytes of the last body, at the end of what was taken
    size_t largest;    // body that is taken
    bool is_lost;      // skipping to the next header; said once
} FrameReader;

FrameReader frame_reader_new(void);
/// Takes no message of more bytes than `largest`; a header never has more than 4096.
FrameReader frame_reader_new_limited(size_t largest);
void frame_reader_free(FrameReader *reader);
void frame_reader_add(FrameReader *reader, const char *data, size_t size);
/// The next whole message: true, and `*body` valid until the next call. False with `*error` NULL: more bytes are needed.
/// False with `*error`: what came is no message; it is skipped up to the next header, and the next call goes on there.
bool frame_reader_next(FrameReader *reader, Str *body, Error *error);
/// The last body was no JSON, so its length may have been wrong: goes back to the first header inside it, if there is one.
void frame_reader_retry(FrameReader *reader);
/// The JSON of a body that was just handed out. NULL and `*error` where it is none: then reading was taken back as above.
const Json *frame_parse(FrameReader *reader, Arena *arena, Str body, Error *error);

/// Header and body of `message`, ready to be written.
Str frame_write(Arena *arena, const Json *message);

#endif
