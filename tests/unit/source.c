// Byte offsets to lines and columns, and back to text.
#include "analysis/syntax/source.h"
#include "tests/support/check.h"

static void check_position(const Source *source, uint32_t offset, int line, int column) {
    int actual_line;
    int actual_column;
    source_position(source, offset, &actual_line, &actual_column);
    CHECK_EQ_INT(actual_line, line);
    CHECK_EQ_INT(actual_column, column);
}

TEST(positions) {
    Arena *arena = arena_new();
    const Source *source = source_new(arena, "a.py", STR("ab\n\ncde\n"));
    check_position(source, 0, 0, 0);
    check_position(source, 2, 0, 2);
    check_position(source, 3, 1, 0);
    check_position(source, 4, 2, 0);
    check_position(source, 6, 2, 2);
    check_position(source, 8, 3, 0);
    CHECK_EQ_INT(source->line_count, 4);
    arena_free(arena);
}

TEST(empty_text) {
    Arena *arena = arena_new();
    const Source *source = source_new(arena, "", STR(""));
    check_position(source, 0, 0, 0);
    CHECK_EQ_INT(source->line_count, 1);
    arena_free(arena);
}

TEST(slices) {
    Arena *arena = arena_new();
    const Source *source = source_new(arena, "a.py", STR("ab\ncde"));
    CHECK_EQ_TEXT(source_slice((Range){source, 3, 5}), "cd");
    CHECK_EQ_TEXT(source_slice((Range){source, 5, 99}), "");
    CHECK_EQ_TEXT(source_slice((Range){NULL, 0, 2}), "");
    CHECK_EQ_INT(range_line((Range){source, 4, 5}), 2);
    CHECK_EQ_INT(range_line((Range){NULL, 4, 5}), 0);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(positions), TEST_ROW(empty_text), TEST_ROW(slices))
