// Bytes in pieces of chosen sizes into the frame reader; each body through the JSON parser.
#include "base/frames.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    FrameReader reader = frame_reader_new();
    Arena *arena = arena_new();
    size_t step = size ? data[0] + 1u : 1;
    for (size_t at = size ? 1 : 0; at < size; at += step) {
        size_t count = size - at < step ? size - at : step;
        frame_reader_add(&reader, (const char *)data + at, count);
        Str body;
        Error error = NULL;
        // Each round takes at least a byte or ends.
        for (size_t rounds = 0; rounds <= 2 * size; rounds++) {
            bool is_whole = frame_reader_next(&reader, &body, &error);
            if (!is_whole && !error) break;
            if (rounds == 2 * size) __builtin_trap();
            Error wrong = NULL;
            if (is_whole) json_parse(arena, body, &wrong);
            if (is_whole && wrong) frame_reader_retry(&reader);
        }
    }
    arena_free(arena);
    frame_reader_free(&reader);
    return 0;
}
