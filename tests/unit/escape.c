// What a terminal, a build server or Markdown would obey is shown instead.
#include "base/escape.h"
#include "tests/support/check.h"

TEST(what_is_obeyed_is_shown) {
    Arena *arena = arena_new();
    static const char *const pairs[][2] = {
        {"plain \xc3\xa9 \xf0\x9f\x98\x80\tx", "plain \xc3\xa9 \xf0\x9f\x98\x80\tx"},
        {"a\nb\r\x1b[31m\x07\x7f", "a\\nb\\r\\x1b[31m\\x07\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"},
        {"\xe2\x80\xae\xe2\x80\xaa\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
         "\\u202e\\u202a\\u2066\\u2069\\u200e\\u200f\\u061c"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "\\u2028\\u2029\\ufeff"},
        {"\xff\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"::add-mask::x", "\\x3a:add-mask::x"},
        {" \t::stop-commands::x", " \t\\x3a:stop-commands::x"},
        {"a::b", "a::b"},
        {"x ##[error]y ##vso[task]", "x #\\x23[error]y #\\x23vso[task]"},
        {"## [heading] # #[", "## [heading] # #["},
        {"###[x]", "##\\x23[x]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CHECK_EQ_STR(text_visible(arena, pairs[i][0]), pairs[i][1]);
        CHECK_EQ_STR(text_visible(arena, pairs[i][1]), pairs[i][1]);
    }
    arena_free(arena);
}

TEST(lines_stay_lines) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(lines_visible(arena, "a\r\nb\rc\n  ::debug::x\n"),
                 "a\r\nb\\rc\n  \\x3a:debug::x\n");
    arena_free(arena);
}

TEST(json_keeps_its_values) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(json_visible(arena, "{\n\t\"a\\n\":\t\"\xe2\x80\xae##[x] \xc2\x9b ::\"\n}\n"),
                 "{\n\t\"a\\n\":\t\"\\u202e#\\u0023[x] \\u009b ::\"\n}\n");
    arena_free(arena);
}

TEST(markdown_is_not_left) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(code_visible(arena, STR("a`b\n![x](y)")), "a\\x60b\\n![x](y)");
    CHECK_EQ_STR(fence_visible(arena, STR("a `b`\n```\n[x](y)\n````")),
                 "a `b`\n\\x60``\n[x](y)\n\\x60\\x60``");
    arena_free(arena);
}

TEST(invalid_text_is_repaired) {
    Arena *arena = arena_new();
    Str good = STR("caf\xc3\xa9");
    CHECK(utf8_repaired(arena, good).data == good.data);
    CHECK(str_is(utf8_repaired(arena, STR("a\xff"
                                          "b\xc3")),
                 "a\xef\xbf\xbd"
                 "b\xef\xbf\xbd"));
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(what_is_obeyed_is_shown), TEST_ROW(lines_stay_lines),
          TEST_ROW(json_keeps_its_values), TEST_ROW(markdown_is_not_left),
          TEST_ROW(invalid_text_is_repaired))
