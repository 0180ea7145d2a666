// Polynomials: canonical form, exact division, splitting, and that overflow is "not understood" rather than wrong.
#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/ir/ir.h"
#include "tests/support/check.h"

static Arena *arena;
static Value *x;
static Value *y;

static void start(void) {
    arena = arena_new();
    Function *function = function_new(arena, "f");
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    x = function_add_parameter(function, "x", type);
    y = function_add_parameter(function, "y", type);
}

static const Poly *number(int64_t value) { return poly_constant(arena, value); }
static const Poly *atom(Value *value) { return poly_atom(arena, value); }
static const Poly *add(const Poly *a, const Poly *b) { return poly_add(arena, a, b); }
static const Poly *multiply(const Poly *a, const Poly *b) { return poly_multiply(arena, a, b); }

TEST(order_does_not_matter) {
    start();
    const Poly *a = add(multiply(atom(x), atom(y)), add(number(3), atom(x)));
    const Poly *b = add(atom(x), add(multiply(atom(y), atom(x)), number(3)));
    CHECK(poly_equal(a, b));
    CHECK_EQ_STR(poly_print(arena, a), "x * y + x + 3");
    CHECK(!poly_equal(a, add(b, number(1))));
    CHECK(!poly_equal(a, NULL) && !poly_equal(NULL, NULL));
    arena_free(arena);
}

TEST(products_keep_the_order_of_terms) {
    start();
    const Poly *sum = add(add(multiply(atom(x), atom(x)), atom(y)), number(2));
    const Poly *product = multiply(sum, multiply(atom(x), number(3)));
    CHECK_EQ_STR(poly_print(arena, product), "3 * x * x * x + 3 * x * y + 6 * x");
    CHECK(poly_equal(product, multiply(multiply(number(3), atom(x)), sum)));
    CHECK(poly_equal(multiply(sum, number(1)), sum) && poly_equal(multiply(number(1), sum), sum));
    CHECK(poly_is_zero(multiply(sum, number(0))) && poly_is_zero(multiply(number(0), sum)));
    arena_free(arena);
}

TEST(copies_outlive_what_they_are_made_of) {
    start();
    Arena *notes = arena_new();
    const Poly *sum =
        poly_add(notes, poly_multiply(notes, poly_atom(notes, x), poly_atom(notes, y)),
                 poly_constant(notes, 7));
    const Poly *copy = poly_copy(arena, sum);
    CHECK(poly_copy(arena, NULL) == NULL);
    arena_free(notes);
    CHECK_EQ_STR(poly_print(arena, copy), "x * y + 7");
    arena_free(arena);
}

/// One term of many is looked at in a Poly on the stack.
TEST(sums_do_not_keep_what_they_are_given) {
    start();
    const Poly *sum = add(multiply(atom(x), number(2)), atom(y)), *results[4];
    {
        const Poly term = {1, &sum->terms[0]};
        results[0] = add(&term, number(0));
        results[1] = add(number(0), &term);
        results[2] = multiply(&term, number(1));
        const Poly *quotient;
        CHECK(poly_split(arena, &term, y, &quotient, &results[3]) && poly_is_zero(quotient));
        for (int i = 0; i < 4; i++) CHECK(results[i] != &term);
    }
    for (int i = 0; i < 4; i++) CHECK_EQ_STR(poly_print(arena, results[i]), "2 * x");
    arena_free(arena);
}

TEST(terms_cancel) {
    start();
    const Poly *difference =
        poly_subtract(arena, multiply(add(atom(x), atom(y)), add(atom(x), atom(y))),
                      add(multiply(atom(x), atom(x)), multiply(atom(y), atom(y))));
    CHECK_EQ_STR(poly_print(arena, difference), "2 * x * y");
    int64_t value = -1;
    CHECK(poly_is_constant(poly_subtract(arena, difference, difference), &value));
    CHECK_EQ_INT(value, 0);
    CHECK_EQ_STR(poly_print(arena, poly_subtract(arena, number(1), atom(x))), "-x + 1");
    arena_free(arena);
}

TEST(division_is_exact_or_nothing) {
    start();
    const Poly *product = multiply(add(atom(x), number(2)), add(atom(y), number(-3)));
    CHECK(poly_equal(poly_divide_exact(arena, product, add(atom(x), number(2))),
                     add(atom(y), number(-3))));
    CHECK(poly_divide_exact(arena, add(product, number(1)), add(atom(x), number(2))) == NULL);
    CHECK(poly_divide_exact(arena, number(7), number(2)) == NULL);
    CHECK(poly_divide_exact(arena, product, number(0)) == NULL);
    CHECK_EQ_STR(
        poly_print(arena, poly_divide_exact(arena, multiply(number(6), atom(x)), number(2))),
        "3 * x");
    arena_free(arena);
}

TEST(split_and_substitute) {
    start();
    const Poly *poly = add(multiply(atom(x), add(atom(y), number(4))), add(atom(y), number(5)));
    const Poly *quotient;
    const Poly *rest;
    CHECK(poly_split(arena, poly, x, &quotient, &rest));
    CHECK_EQ_STR(poly_print(arena, quotient), "y + 4");
    CHECK_EQ_STR(poly_print(arena, rest), "y + 5");
    CHECK(!poly_split(arena, multiply(atom(x), atom(x)), x, &quotient, &rest));
    CHECK_EQ_STR(poly_print(arena, poly_substitute(arena, poly, x, add(atom(y), number(1)))),
                 "y * y + 6 * y + 9");
    CHECK(poly_mentions(poly, x) && !poly_mentions(rest, x));
    arena_free(arena);
}

TEST(overflow_is_not_understood) {
    start();
    CHECK(poly_add(arena, number(INT64_MAX), number(1)) == NULL);
    CHECK(multiply(number(INT64_MAX), number(2)) == NULL);
    CHECK(multiply(NULL, number(2)) == NULL && poly_add(arena, number(1), NULL) == NULL);
    CHECK_EQ_STR(poly_print(arena, NULL), "?");
    CHECK(!poly_is_zero(NULL) && !poly_is_nonnegative(arena, NULL));
    const Poly *power = atom(x);
    for (int i = 0; i < 40; i++) power = multiply(power, atom(x));
    CHECK(power == NULL);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(order_does_not_matter), TEST_ROW(products_keep_the_order_of_terms),
          TEST_ROW(copies_outlive_what_they_are_made_of),
          TEST_ROW(sums_do_not_keep_what_they_are_given), TEST_ROW(terms_cancel),
          TEST_ROW(division_is_exact_or_nothing), TEST_ROW(split_and_substitute),
          TEST_ROW(overflow_is_not_understood))
