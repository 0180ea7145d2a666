// Numbers as the emitted source and the dumps write them.
#include "base/text.h"

#include <math.h>

#include "tests/support/check.h"

static Str float_text(Arena *arena, double number) {
    Buffer buffer = buffer_new(arena);
    buffer_put_float(&buffer, number);
    return str_from(buffer_text(&buffer));
}

TEST(floats_are_written_as_a_person_writes_them) {
    Arena *arena = arena_new();
    CHECK_EQ_TEXT(float_text(arena, 20), "20.0");
    CHECK_EQ_TEXT(float_text(arena, -0.5), "-0.5");
    CHECK_EQ_TEXT(float_text(arena, 0), "0.0");
    CHECK_EQ_TEXT(float_text(arena, -0.0), "-0.0");
    CHECK_EQ_TEXT(float_text(arena, 0.1), "0.1");
    CHECK_EQ_TEXT(float_text(arena, 0.7978845608028654), "0.7978845608028654");
    CHECK_EQ_TEXT(float_text(arena, 1234567), "1234567.0");
    CHECK_EQ_TEXT(float_text(arena, 0.0001), "0.0001");
    CHECK_EQ_TEXT(float_text(arena, 1e-6), "1e-6");
    CHECK_EQ_TEXT(float_text(arena, -1.5e30), "-1.5e30");
    CHECK_EQ_TEXT(float_text(arena, 1e15), "1000000000000000.0");
    CHECK_EQ_TEXT(float_text(arena, 1e16), "1e16");
    CHECK_EQ_TEXT(float_text(arena, 1.7976931348623157e308), "1.7976931348623157e308");
    CHECK_EQ_TEXT(float_text(arena, 5e-324), "5e-324");
    CHECK_EQ_TEXT(float_text(arena, -INFINITY), "-inf");
    CHECK_EQ_TEXT(float_text(arena, NAN), "nan");
    arena_free(arena);
}

TEST(a_part_is_found_wherever_it_lies) {
    CHECK(str_contains(STR("eps * x"), STR("eps")));
    CHECK(str_contains(STR("x + eps"), STR("eps")));
    CHECK(str_contains(STR("eeps"), STR("eps")));
    CHECK(str_contains(STR("x"), STR("")));
    CHECK(!str_contains(STR("x + ep"), STR("eps")));
    CHECK(!str_contains(STR(""), STR("eps")));
}

TEST(names_have_the_shape_of_names) {
    static const char *const names[] = {"x", "_", "x1", "BLOCK_M", "\xc3\xa9t\xc3\xa9"};
    static const char *const others[] = {"", "1x", "x.y", "x ", "f(x)", "-x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(str_is_name(str_from(names[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!str_is_name(str_from(others[i])));
}

TEST(two_letters_that_changed_places_are_one_edit) {
    CHECK_EQ_INT(str_distance(STR("rqsrt"), STR("rsqrt")), 1);
    CHECK_EQ_INT(str_distance(STR("sqrt"), STR("sqtr")), 1);
    CHECK_EQ_INT(str_distance(STR("lod"), STR("load")), 1);
    CHECK_EQ_INT(str_distance(STR("exp"), STR("log")), 3);
    CHECK_EQ_INT(str_distance(STR(""), STR("sum")), 3);
    CHECK_EQ_INT(str_distance(STR("sum"), STR("sum")), 0);
}

TEST_MAIN(TEST_ROW(two_letters_that_changed_places_are_one_edit),
          TEST_ROW(names_have_the_shape_of_names), TEST_ROW(a_part_is_found_wherever_it_lies),
          TEST_ROW(floats_are_written_as_a_person_writes_them))
