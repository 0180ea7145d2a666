// The whole test framework of tests/unit: one file is one program, `TEST(name) { CHECK(...); }` for each
// test, `TEST_MAIN(TEST_ROW(name), ...)` at the end. A failed check is reported and the test goes on.
// `./unit-NAME WORD` runs the tests whose name holds WORD. Prints `N passed, N failed`.
#ifndef TAD_TESTS_SUPPORT_CHECK_H
#define TAD_TESTS_SUPPORT_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct Test {
    const char *name;
    void (*run)(void);
} Test;

static int test_failed_checks;

#define TEST(name) static void test_##name(void)
#define TEST_ROW(name) {#name, test_##name}

/// Reports a failed check at `file:line`; the running test counts as failed.
static inline void check_fail(const char *file, int line, const char *what) {
    test_failed_checks++;
    printf("%s:%d: check failed: %s\n", file, line, what);
}

static inline bool check_int(const char *file, int line, const char *what, intmax_t actual,
                             intmax_t expected) {
    if (actual == expected) return true;
    check_fail(file, line, what);
    printf("  expected %" PRIdMAX "\n  actual   %" PRIdMAX "\n", expected, actual);
    return false;
}

static inline bool check_near(const char *file, int line, const char *what, double actual,
                              double expected, double tolerance) {
    if (fabs(actual - expected) <= tolerance) return true;
    if (isnan(actual) && isnan(expected)) return true;
    check_fail(file, line, what);
    printf("  expected %.17g (within %g)\n  actual   %.17g\n", expected, tolerance, actual);
    return false;
}

/// Compares bytes; either side may be NULL, which equals only NULL.
static inline bool check_bytes(const char *file, int line, const char *what, const char *actual,
                               size_t actual_size, const char *expected, size_t expected_size) {
    if (!actual || !expected) {
        if (actual == expected) return true;
    } else if (actual_size == expected_size && memcmp(actual, expected, actual_size) == 0) {
        return true;
    }
    check_fail(file, line, what);
    printf("  expected \"%.*s\"\n", expected ? (int)expected_size : 6,
           expected ? expected : "(null)");
    printf("  actual   \"%.*s\"\n", actual ? (int)actual_size : 6, actual ? actual : "(null)");
    return false;
}

static inline size_t check_length(const char *text) { return text ? strlen(text) : 0; }

#define CHECK(condition) ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, #condition))

#define CHECK_EQ_INT(actual, expected)                                        \
    ((void)check_int(__FILE__, __LINE__, #actual " == " #expected, (intmax_t)(actual), \
                     (intmax_t)(expected)))

#define CHECK_NEAR(actual, expected, tolerance)                                              \
    ((void)check_near(__FILE__, __LINE__, #actual " == " #expected, (actual), (expected), \
                      (tolerance)))

/// Both are C strings.
#define CHECK_EQ_STR(actual, expected) \
    check_strings(__FILE__, __LINE__, #actual " == " #expected, (actual), (expected))

static inline void check_strings(const char *file, int line, const char *what, const char *actual,
                                 const char *expected) {
    check_bytes(file, line, what, actual, check_length(actual), expected, check_length(expected));
}

/// `actual` is a `Str` or whatever else has `.data` and `.size`; `expected` is a C string.
#define CHECK_EQ_TEXT(actual, expected)                                                       \
    ((void)check_bytes(__FILE__, __LINE__, #actual " == " #expected, (actual).data,           \
                       (size_t)(actual).size, (expected), check_length(expected)))

static inline int test_main(const Test *tests, size_t test_count, const char *filter) {
    int passed = 0;
    int failed = 0;
    for (size_t i = 0; i < test_count; i++) {
        if (filter && !strstr(tests[i].name, filter)) continue;
        test_failed_checks = 0;
        tests[i].run();
        if (test_failed_checks) printf("FAILED %s\n", tests[i].name);
        if (test_failed_checks)
            failed++;
        else
            passed++;
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}

#define TEST_MAIN(...)                                                                   \
    int main(int argc, char **argv) {                                                    \
        static const Test tests[] = {__VA_ARGS__};                                       \
        return test_main(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL); \
    }

#endif
