// Python's arithmetic on constants. The expected values are what `python3 -c "print(...)"` says.
#include "analysis/ir/constant.h"

#include "tests/support/check.h"

typedef struct Case {
    OpCode code;
    Constant a, b, expected;
} Case;

#define INT(value) {.kind = CONSTANT_INT, .integer = (value), .number = (double)(value)}
#define BOOL(value) {.kind = CONSTANT_BOOL, .integer = (value), .number = (value)}
#define FLOAT(value) {.kind = CONSTANT_FLOAT, .number = (value)}

TEST(two_numbers) {
    static const Case cases[] = {
        {OP_ADD, INT(3), BOOL(1), INT(4)},
        {OP_SUB, INT(3), FLOAT(0.5), FLOAT(2.5)},
        {OP_MUL, INT(-4), INT(5), INT(-20)},
        {OP_DIV, INT(7), INT(2), FLOAT(3.5)},
        {OP_FLOORDIV, INT(-7), INT(2), INT(-4)},
        {OP_FLOORDIV, INT(7), INT(-2), INT(-4)},
        {OP_FLOORDIV, FLOAT(-7.5), INT(2), FLOAT(-4)},
        {OP_MOD, INT(-7), INT(3), INT(2)},
        {OP_MOD, INT(7), INT(-3), INT(-2)},
        {OP_MOD, FLOAT(-7.5), INT(2), FLOAT(0.5)},
        {OP_POW, INT(3), INT(4), INT(81)},
        {OP_POW, INT(2), INT(-2), FLOAT(0.25)},
        {OP_POW, FLOAT(-2), INT(3), FLOAT(-8)},
        {OP_SHL, INT(-3), INT(4), INT(-48)},
        {OP_SHL, INT(0), INT(100), INT(0)},
        {OP_SHR, INT(-5), INT(1), INT(-3)},
        {OP_SHR, INT(-5), INT(80), INT(-1)},
        {OP_AND, INT(6), INT(3), INT(2)},
        {OP_OR, BOOL(1), BOOL(0), BOOL(1)},
        {OP_XOR, BOOL(1), INT(3), INT(2)},
        {OP_MINIMUM, INT(4), INT(-2), INT(-2)},
        {OP_MAXIMUM, FLOAT(4), INT(9), FLOAT(9)},
        {OP_EQ, INT(1), BOOL(1), BOOL(1)},
        {OP_NE, INT(2), FLOAT(2), BOOL(0)},
        {OP_LT, INT(2), FLOAT(2.5), BOOL(1)},
        {OP_LE, INT(3), INT(2), BOOL(0)},
        {OP_GT, INT(3), INT(3), BOOL(0)},
        {OP_GE, FLOAT(3), FLOAT(3), BOOL(1)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Constant result = {0};
        CHECK(constant_apply(cases[i].code, &cases[i].a, &cases[i].b, &result));
        CHECK_EQ_INT(result.kind, cases[i].expected.kind);
        CHECK_EQ_INT(result.integer, cases[i].expected.integer);
        CHECK_NEAR(result.number, cases[i].expected.number, 0);
    }
}

TEST(one_number) {
    static const Case cases[] = {
        {OP_NEG, INT(3), {0}, INT(-3)},           {OP_NEG, BOOL(1), {0}, INT(-1)},
        {OP_NEG, FLOAT(2.5), {0}, FLOAT(-2.5)},   {OP_INVERT, INT(5), {0}, INT(-6)},
        {OP_LOGICAL_NOT, FLOAT(0), {0}, BOOL(1)}, {OP_LOGICAL_NOT, INT(2), {0}, BOOL(0)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Constant result = {0};
        CHECK(constant_apply(cases[i].code, &cases[i].a, NULL, &result));
        CHECK_EQ_INT(result.kind, cases[i].expected.kind);
        CHECK_EQ_INT(result.integer, cases[i].expected.integer);
        CHECK_NEAR(result.number, cases[i].expected.number, 0);
    }
}

TEST(what_has_no_value_or_does_not_fit) {
    static const Case cases[] = {
        {OP_ADD, INT(INT64_MAX), INT(1), {0}},
        {OP_SUB, INT(INT64_MIN), INT(1), {0}},
        {OP_MUL, INT(INT64_MAX), INT(2), {0}},
        {OP_DIV, INT(1), INT(0), {0}},
        {OP_FLOORDIV, INT(1), INT(0), {0}},
        {OP_FLOORDIV, INT(INT64_MIN), INT(-1), {0}},
        {OP_MOD, FLOAT(1), FLOAT(0), {0}},
        {OP_POW, INT(0), INT(-1), {0}},
        {OP_POW, FLOAT(-8), FLOAT(1.0 / 3), {0}},
        {OP_POW, INT(10), INT(19), {0}},
        {OP_SHL, INT(1), INT(63), {0}},
        {OP_SHL, INT(1), INT(-1), {0}},
        {OP_AND, FLOAT(1), INT(1), {0}},
        {OP_ADD, {.kind = CONSTANT_NONE}, INT(1), {0}},
        {OP_LT, {.kind = CONSTANT_STRING}, INT(1), {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Constant result;
        CHECK(!constant_apply(cases[i].code, &cases[i].a, &cases[i].b, &result));
    }
    Constant result, least = INT(INT64_MIN), real = FLOAT(1.5);
    CHECK(!constant_apply(OP_NEG, &least, NULL, &result));
    CHECK(!constant_apply(OP_INVERT, &real, NULL, &result));
}

TEST(equality) {
    bool known;
    Constant none = {.kind = CONSTANT_NONE}, text = constant_of_string(STR("fp16")),
             half = constant_of_dtype(DTYPE_FLOAT16), of_parameter = {.kind = CONSTANT_DTYPE},
             other = constant_of_string(STR("fp32")), zero = constant_of_int(0);
    of_parameter.dtype.code = DTYPE_OF_PARAMETER;
    CHECK(constant_equal(&none, &none, &known) && known);
    CHECK(!constant_equal(&none, &zero, &known) && known);
    CHECK(!constant_equal(&text, &other, &known) && known);
    CHECK(constant_equal(&text, &text, &known) && known);
    CHECK(constant_equal(&half, &half, &known) && known);
    constant_equal(&half, &text, &known);  // Triton compares a type with its name
    CHECK(!known);
    constant_equal(&half, &of_parameter, &known);
    CHECK(!known);
}

TEST(truth) {
    const Constant falsy[] = {
        {.kind = CONSTANT_NONE}, INT(0), FLOAT(0), BOOL(0), {.kind = CONSTANT_STRING}};
    for (size_t i = 0; i < sizeof falsy / sizeof *falsy; i++) CHECK(!constant_truth(&falsy[i]));
    const Constant truthy[] = {INT(-1), FLOAT(0.5), BOOL(1), constant_of_string(STR("x")),
                               constant_of_dtype(DTYPE_INT8)};
    for (size_t i = 0; i < sizeof truthy / sizeof *truthy; i++) CHECK(constant_truth(&truthy[i]));
}

TEST_MAIN(TEST_ROW(two_numbers), TEST_ROW(one_number), TEST_ROW(what_has_no_value_or_does_not_fit),
          TEST_ROW(equality), TEST_ROW(truth))
