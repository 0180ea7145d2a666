// JSON out: every kind of value as text, and that what is written reads back as it was.
#include <math.h>

#include "base/json.h"
#include "tests/support/check.h"

static const char *again(Arena *arena, const char *text) {
    Error error;
    const Json *value = json_parse(arena, str_from(text), &error);
    return value ? json_print(arena, value, false) : error;
}

TEST(values_are_written_as_they_were_read) {
    Arena *arena = arena_new();
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-7",
        "1000000001",
        "0.1",
        "-2.5",
        "1e+300",
        "[]",
        "{}",
        "[1,[2,\"x\"],{\"a\":null,\"b\":[]}]",
        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f/\"",
        "\"\xc3\xa9\xf0\x9f\x98\x80\"",
        "0.30000000000000004",
        "1.7976931348623157e+308",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_EQ_STR(again(arena, texts[i]), texts[i]);
    arena_free(arena);
}

TEST(numbers_read_back_exactly) {
    Arena *arena = arena_new();
    double number = 1.0;
    for (int i = 0; i < 2000; i++) {
        number = fmod(number * 1103515245.0 + 12345.0, 2147483648.0);
        double value = (i % 2 ? -1 : 1) * number / pow(7.0, i % 60);
        Error error;
        const char *text = json_print(arena, json_number(arena, value), false);
        const Json *read = json_parse(arena, str_from(text), &error);
        CHECK(read && read->number == value);
    }
    CHECK_EQ_STR(json_print(arena, json_number(arena, NAN), false), "null");
    CHECK_EQ_STR(json_print(arena, json_number(arena, -INFINITY), false), "null");
    arena_free(arena);
}

TEST(numbers_are_an_array) {
    Arena *arena = arena_new();
    static const uint32_t numbers[] = {0, 7, 4294967295u};
    CHECK_EQ_STR(json_print(arena, json_numbers(arena, numbers, 3), false), "[0,7,4294967295]");
    CHECK_EQ_STR(json_print(arena, json_numbers(arena, numbers, 0), false), "[]");
    const Json *copy = json_copy(arena, json_numbers(arena, numbers, 2));
    CHECK_EQ_STR(json_print(arena, copy, false), "[0,7]");
    arena_free(arena);
}

TEST(pretty_text_has_a_member_a_line) {
    Arena *arena = arena_new();
    Error error;
    const Json *value = json_parse(arena, STR("{\"a\":[1,{\"b\":{}},[]],\"c\":\"d\"}"), &error);
    CHECK_EQ_STR(json_print(arena, value, true),
                 "{\n\t\"a\":\t[1, {\n\t\t\t\"b\":\t{\n\t\t\t}\n\t\t}, []],\n\t\"c\":\t\"d\"\n}");
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(values_are_written_as_they_were_read), TEST_ROW(numbers_read_back_exactly),
          TEST_ROW(numbers_are_an_array), TEST_ROW(pretty_text_has_a_member_a_line))
