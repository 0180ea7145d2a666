// Messages out of a byte stream, cut at every place, and headers that are wrong.
#include "base/frames.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/check.h"

static const char STREAM[] = "Content-Length: 2 \t\r\n\r\n{}"
                             "content-length: 11\r\nContent-Type: x\r\n\r\n{\"a\": \"\xc3\xa9\"}"
                             "Content-Length: 0\r\n\r\n";

TEST(cut_anywhere) {
    static const size_t sizes[] = {2, 11, 0};
    for (size_t step = 1; step < sizeof STREAM; step++) {
        FrameReader reader = frame_reader_new();
        size_t found = 0;
        for (size_t at = 0; at < sizeof STREAM - 1; at += step) {
            size_t size = sizeof STREAM - 1 - at < step ? sizeof STREAM - 1 - at : step;
            frame_reader_add(&reader, STREAM + at, size);
            Str body;
            Error error;
            while (frame_reader_next(&reader, &body, &error)) {
                CHECK(found < 3 && body.size == sizes[found]);
                found++;
            }
            CHECK(error == NULL);
        }
        CHECK_EQ_INT(found, 3);
        frame_reader_free(&reader);
    }
}

TEST(wrong_headers) {
    static const char *const wrong[] = {
        "Content-Length: x\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Type: json\r\n\r\n{}",
        "\r\n\r\n",
        "X-Content-Length: 2\r\n\r\n{}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FrameReader reader = frame_reader_new();
        frame_reader_add(&reader, wrong[i], strlen(wrong[i]));
        Str body;
        Error error = NULL;
        CHECK(!frame_reader_next(&reader, &body, &error));
        CHECK(error != NULL);
        frame_reader_free(&reader);
    }
}

TEST(no_header_end) {
    FrameReader reader = frame_reader_new();
    Str body;
    Error error = NULL;
    for (int i = 0; i < 1000 && !error; i++) {
        frame_reader_add(&reader, "no header", 9);
        CHECK(!frame_reader_next(&reader, &body, &error));
    }
    CHECK(error != NULL);
    frame_reader_free(&reader);
}

TEST(a_large_message_leaves_nothing_behind) {
    enum { LARGE = 5 << 20, KEPT = 1 << 20 };
    static char body[LARGE];
    memset(body, ' ', sizeof body);
    FrameReader reader = frame_reader_new();
    char header[64];
    int size = snprintf(header, sizeof header, "Content-Length: %d\r\n\r\n", LARGE);
    Str found;
    Error error;
    for (int i = 0; i < 2; i++) {
        frame_reader_add(&reader, header, (size_t)size);
        frame_reader_add(&reader, body, sizeof body);
        CHECK(frame_reader_next(&reader, &found, &error));
        CHECK_EQ_INT(found.size, LARGE);
        CHECK(!frame_reader_next(&reader, &found, &error));
        CHECK(error == NULL);
        CHECK(reader.pending.capacity <= KEPT);
    }
    frame_reader_free(&reader);
}

/// Too large is said as soon as the header is there, and what follows is looked at anew.
TEST(no_more_than_the_limit) {
    static const char first[] = "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n";
    static const char second[] = "{ }Content-Length: 1\r\n\r\n7";
    FrameReader reader = frame_reader_new_limited(2);
    Str body;
    Error error = NULL;
    frame_reader_add(&reader, first, sizeof first - 1);
    CHECK(frame_reader_next(&reader, &body, &error) && body.size == 2);
    CHECK(!frame_reader_next(&reader, &body, &error));
    CHECK(error && strstr(error, "too large"));
    frame_reader_add(&reader, second, sizeof second - 1);
    CHECK(frame_reader_next(&reader, &body, &error) && body.size == 1);
    frame_reader_free(&reader);
}

TEST(round_trip) {
    Arena *arena = arena_new();
    Json *message = json_object(arena);
    json_set_string(message, "text", "line\nbreak \xe2\x82\xac");
    Str framed = frame_write(arena, message);
    FrameReader reader = frame_reader_new();
    frame_reader_add(&reader, framed.data, framed.size);
    Str body;
    Error error = NULL;
    CHECK(frame_reader_next(&reader, &body, &error));
    Json *read = json_parse(arena, body, &error);
    CHECK_EQ_STR(json_get_string(read, "text", ""), "line\nbreak \xe2\x82\xac");
    frame_reader_free(&reader);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(cut_anywhere), TEST_ROW(wrong_headers), TEST_ROW(no_header_end),
          TEST_ROW(a_large_message_leaves_nothing_behind), TEST_ROW(no_more_than_the_limit),
          TEST_ROW(round_trip))
