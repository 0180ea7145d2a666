// Places in texts with every kind of line end and character, and edits of them.
#include "server/text/documents.h"

#include <string.h>

#include "tests/support/check.h"

static Json *change(Arena *arena, int line, int character, int end_line, int end_character,
                    const char *text) {
    Json *json = json_object(arena), *range = json_object(arena);
    LinePosition start = {(uint32_t)line, (uint32_t)character};
    LinePosition end = {(uint32_t)end_line, (uint32_t)end_character};
    json_set(range, "start", position_json(arena, start));
    json_set(range, "end", position_json(arena, end));
    json_set(json, "range", range);
    json_set_string(json, "text", text);
    return json;
}

/// The text after one change, in the arena.
static const char *edited(Arena *arena, const char *before, Encoding encoding, Json *edit) {
    Text *old = text_new("file:///a.py", str_from(before), 1);
    Json *changes = json_array(arena);
    json_push(changes, edit);
    Error error;
    Text *fresh = text_edit(old, changes, encoding, 2, &error);
    const char *result = error ? error : str_dup(arena, fresh->text);
    text_release(fresh);
    text_release(old);
    return result;
}

TEST(edits) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(edited(arena, "ab\ncd\n", ENCODING_UTF16, change(arena, 1, 1, 1, 2, "X")),
                 "ab\ncX\n");
    CHECK_EQ_STR(edited(arena, "ab\ncd", ENCODING_UTF16, change(arena, 0, 2, 1, 0, "")), "abcd");
    CHECK_EQ_STR(edited(arena, "ab\r\ncd", ENCODING_UTF16, change(arena, 0, 9, 0, 9, "!")),
                 "ab!\r\ncd");
    CHECK_EQ_STR(edited(arena, "ab\rcd\ref", ENCODING_UTF16, change(arena, 2, 0, 2, 1, "")),
                 "ab\rcd\rf");
    CHECK_EQ_STR(edited(arena, "ab", ENCODING_UTF16, change(arena, 7, 3, 9, 9, "c")), "abc");
    CHECK_EQ_STR(edited(arena, "abc", ENCODING_UTF16, change(arena, 0, 2, 0, 1, "")), "ac");
    CHECK_EQ_STR(edited(arena, "", ENCODING_UTF16, change(arena, 0, 0, 0, 0, "x")), "x");
    arena_free(arena);
}

TEST(encodings) {
    // One unit of UTF-8: a; two: U+00E9; three: U+20AC; four, and two of UTF-16: U+1F600.
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\n";
    static const uint32_t starts[] = {0, 1, 3, 6, 10};
    static const uint32_t utf16[] = {0, 1, 2, 3, 5};
    Arena *arena = arena_new();
    Str str = str_from(text);
    Lines lines = lines_of(arena, str);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t expected[] = {
            [ENCODING_UTF16] = utf16[i], [ENCODING_UTF8] = starts[i], [ENCODING_UTF32] = i};
        for (int encoding = 0; encoding < 3; encoding++) {
            LinePosition position = lines_position(&lines, str, (Encoding)encoding, starts[i]);
            CHECK_EQ_INT(position.line, 0);
            CHECK_EQ_INT(position.character, expected[encoding]);
            CHECK_EQ_INT(lines_offset(&lines, str, (Encoding)encoding, position), starts[i]);
        }
    }
    CHECK_EQ_INT(lines_offset(&lines, str, ENCODING_UTF16, (LinePosition){0, 4}), 6);
    CHECK_EQ_INT(lines_offset(&lines, str, ENCODING_UTF8, (LinePosition){0, 8}), 6);
    arena_free(arena);
}

TEST(every_offset_and_back) {
    static const char text[] = "x = 1\r\ny\n\rz \xf0\x9f\x98\x80\r\r\n\n";
    Arena *arena = arena_new();
    Str str = str_from(text);
    Lines lines = lines_of(arena, str);
    CHECK_EQ_INT(lines.count, 7);
    for (uint32_t offset = 0; offset <= str.size; offset++)
        for (int encoding = 0; encoding < 3; encoding++) {
            LinePosition position = lines_position(&lines, str, (Encoding)encoding, offset);
            uint32_t back = lines_offset(&lines, str, (Encoding)encoding, position);
            bool is_inside = ((unsigned char)text[offset] & 0xC0) == 0x80;
            bool is_line_feed = text[offset] == '\n' && offset && text[offset - 1] == '\r';
            if (!is_inside && !is_line_feed) CHECK_EQ_INT(back, offset);
        }
    arena_free(arena);
}

TEST(lone_carriage_returns_are_analysed_as_line_feeds) {
    Text *text = text_new("file:///a.py", STR("a\rb\r\nc\r"), 1);
    CHECK(str_is(text->analysed, "a\nb\r\nc\n"));
    CHECK(str_is(text->text, "a\rb\r\nc\r"));
    text_release(text);
}

TEST(uris) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(uri_of_path(arena, "/a b/c#d%.py"), "file:///a%20b/c%23d%25.py");
    CHECK_EQ_STR(path_of_uri(arena, "file:///a%20b/c%23d%25.py"), "/a b/c#d%.py");
    CHECK_EQ_STR(path_of_uri(arena, "file://localhost/a.py"), "/a.py");
    CHECK_EQ_STR(path_of_uri(arena, "file:/a.py"), "/a.py");
    CHECK_EQ_STR(path_of_uri(arena, "FILE:///a.py"), "/a.py");
    CHECK_EQ_STR(path_of_uri(arena, "file://server/share/a.py"), "");
    CHECK_EQ_STR(path_of_uri(arena, "file://localhost.example/a.py"), "");
    CHECK_EQ_STR(path_of_uri(arena, "file:a.py"), "");
    CHECK_EQ_STR(path_of_uri(arena, "untitled:Untitled-1"), "");
    CHECK_EQ_STR(path_of_uri(arena, "file:///a%zz%"), "/a%zz%");
    arena_free(arena);
}

TEST(malformed_changes) {
    Arena *arena = arena_new();
    Text *text = text_new("file:///a.py", STR("abc"), 1);
    static const char *const wrong[] = {
        "null", "{}", "[{}]", "[{\"text\":1}]", "[3]", "[[]]", "[{\"text\":\"\",\"range\":{}}]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error error = NULL;
        Json *changes = json_parse(arena, str_from(wrong[i]), &error);
        CHECK(!text_edit(text, changes, ENCODING_UTF16, 2, &error));
        CHECK(error != NULL);
    }
    text_release(text);
    arena_free(arena);
}

/// Whether patched lines are those of the whole text.
static bool lines_agree(Arena *arena, Str old, uint32_t start, uint32_t end, const char *with) {
    Str fresh = str_from(arena_printf(arena, "%.*s%s%.*s", (int)start, old.data, with,
                                      (int)(old.size - end), old.data + end));
    Lines before = lines_of(arena, old), whole = lines_of(arena, fresh);
    Lines patched = lines_edit(arena, &before, fresh, start, end, (uint32_t)strlen(with));
    return patched.count == whole.count &&
           memcmp(patched.starts, whole.starts, sizeof *whole.starts * (size_t)whole.count) == 0;
}

TEST(lines_of_every_edit_of_every_short_text) {
    static const char letters[] = {'a', '\r', '\n'};
    static const char *const inserted[] = {"", "a", "\r", "\n", "\r\n", "\n\r", "a\nb\rc\r\nd"};
    enum { LENGTH = 5, TEXTS = 3 * 3 * 3 * 3 * 3 };
    for (int number = 0; number < TEXTS; number++) {
        Arena *arena = arena_new();
        char text[LENGTH];
        for (int i = 0, rest = number; i < LENGTH; i++, rest /= 3) text[i] = letters[rest % 3];
        for (uint32_t start = 0; start <= LENGTH; start++)
            for (uint32_t end = start; end <= LENGTH; end++)
                for (size_t i = 0; i < sizeof inserted / sizeof *inserted; i++)
                    CHECK(lines_agree(arena, (Str){text, LENGTH}, start, end, inserted[i]));
        arena_free(arena);
    }
}

TEST_MAIN(TEST_ROW(lines_of_every_edit_of_every_short_text), TEST_ROW(edits), TEST_ROW(encodings),
          TEST_ROW(every_offset_and_back),
          TEST_ROW(lone_carriage_returns_are_analysed_as_line_feeds), TEST_ROW(uris),
          TEST_ROW(malformed_changes))
