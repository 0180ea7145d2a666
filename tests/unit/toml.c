// The TOML reader: values, tables, and what is said about documents that are broken.
#include "analysis/syntax/toml.h"

#include <string.h>

#include "tests/support/check.h"

static Toml *read_text(Arena *arena, const char *text, Error *error) {
    return toml_parse(arena, source_new(arena, "pyproject.toml", str_from(text)), error);
}

TEST(values) {
    Arena *arena = arena_new();
    Error error = NULL;
    Toml *root = read_text(arena,
                           "title = \"a \\u00e9\\tb\" # comment\n"
                           "literal = 'C:\\path'\n"
                           "n = 1_000\nhex = 0xff\nx = -2.5e1\nyes = true\n"
                           "when = 1979-05-27\n"
                           "long = \"\"\"\nfirst\nsecond\"\"\"\n"
                           "list = [1, [2, 3], # inner\n 'x']\n"
                           "[tool.tad]\nignore = [\"one\", \"two\"]\nkernels.\"a b\".M = 3\n"
                           "[tool]\nother = {a = 1, b.c = 2}\n"
                           "[[many]]\nk = 1\n[[many]]\nk = 2\n",
                           &error);
    CHECK_EQ_STR(error ? error : "", "");
    CHECK(root != NULL);
    CHECK(str_is(toml_get(root, "title")->string, "a \xc3\xa9\tb"));
    CHECK(str_is(toml_get(root, "literal")->string, "C:\\path"));
    CHECK_EQ_INT(toml_get(root, "n")->integer, 1000);
    CHECK_EQ_INT(toml_get(root, "hex")->integer, 255);
    CHECK(toml_get(root, "x")->number == -25.0);
    CHECK_EQ_INT(toml_get(root, "yes")->kind, TOML_BOOL);
    CHECK(str_is(toml_get(root, "when")->string, "1979-05-27"));
    CHECK(str_is(toml_get(root, "long")->string, "first\nsecond"));
    CHECK_EQ_INT(toml_get(root, "list")->count, 3);
    CHECK_EQ_INT(toml_get(root, "list")->items[1]->count, 2);
    const Toml *tad = toml_get(toml_get(root, "tool"), "tad");
    CHECK_EQ_INT(toml_get(tad, "ignore")->count, 2);
    CHECK_EQ_INT(range_line(toml_get(tad, "ignore")->range), 14);
    CHECK_EQ_INT(toml_get(toml_get(toml_get(tad, "kernels"), "a b"), "M")->integer, 3);
    const Toml *other = toml_get(toml_get(root, "tool"), "other");
    CHECK_EQ_INT(toml_get(toml_get(other, "b"), "c")->integer, 2);
    CHECK_EQ_INT(toml_get(root, "many")->count, 2);
    CHECK_EQ_INT(toml_get(toml_get(root, "many")->items[1], "k")->integer, 2);
    arena_free(arena);
}

TEST(broken) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"a = 1\nb =\n", "line 2"},
        {"a = 1\n\na = 2\n", "line 3: `a` is set for the second time"},
        {"[t]\n[t]\n", "line 2: table `t` is defined for the second time"},
        {"a = 1\n[a.b]\n", "line 2: `a` is already something else than a table"},
        {"a = {b = 1}\n[a.c]\n", "line 2: `a` is already something else than a table"},
        {"a = \"\\q\"\n", "line 1"},
        {"a = \"\\uD800\"\n", "line 1: an escape that is no character"},
        {"a = 99999999999999999999\n", "line 1: an integer that does not fit 64 bits"},
        {"[tool.tad\n", "line 1"},
        {"this is no toml", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_new();
        Error error = NULL;
        CHECK(read_text(arena, cases[i].text, &error) == NULL);
        CHECK(error && strstr(error, cases[i].says));
        arena_free(arena);
    }
}

TEST(deep) {
    enum { DEPTH = 20000 };
    Arena *arena = arena_new();
    char *text = arena_alloc(arena, 2 * DEPTH + 16);
    strcpy(text, "a = ");
    memset(text + 4, '[', DEPTH);
    memset(text + 4 + DEPTH, ']', DEPTH);
    Error error = NULL;
    CHECK(read_text(arena, text, &error) == NULL);
    CHECK(error != NULL);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(values), TEST_ROW(broken), TEST_ROW(deep))
