// SLOPE against central differences of VALUE, for every row of the operation table that has both.
#include <math.h>

#include "analysis/ops/op.h"
#include "tests/support/check.h"

typedef struct Point {
    double a, b, c;
} Point;

/// VALUE of one row; false where it has none.
static bool value_of(OpCode code, Point at, double *value) {
    const double a = at.a, b = at.b, c = at.c;
    (void)a, (void)b, (void)c;
    switch (code) {
#define OP(id, ...)                                                                                \
    case OP_##id: {                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#define VALUE(...)                                                                                 \
    *value = (double)(__VA_ARGS__);                                                                \
    return true;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    default: break;
    }
    return false;
}

/// SLOPE of one row; false where it has none.
static bool slope_of(OpCode code, Point at, double r, double *slope) {
    const double a = at.a, b = at.b, c = at.c;
    (void)a, (void)b, (void)c, (void)r;
    switch (code) {
#define OP(id, ...)                                                                                \
    case OP_##id: {                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#define SLOPE(da, db, dc)                                                                          \
    slope[0] = (double)(da);                                                                       \
    slope[1] = (double)(db);                                                                       \
    slope[2] = (double)(dc);                                                                       \
    return true;
#include "analysis/ops/op_columns.h"

#include "analysis/ops/ops.def"

#include "analysis/ops/op_columns_end.h"
    default: break;
    }
    return false;
}

/// Operands that no derivative exists for: the order of a Bessel function, an exponent, a condition, a sign.
static bool operand_is_discrete(OpCode code, int operand) {
    switch (code) {
    case OP_BESSEL_JN:
    case OP_BESSEL_YN:
    case OP_WHERE: return operand == 0;
    case OP_LDEXP:
    case OP_SCALBN: return operand == 1;
    default: return false;
    }
}

static Point moved(Point at, int operand, double step) {
    if (operand == 0) at.a += step;
    if (operand == 1) at.b += step;
    if (operand == 2) at.c += step;
    return at;
}

static bool slope_matches(OpCode code, Point at, int operand, double slope) {
    double step = 1e-5;
    double above;
    double below;
    value_of(code, moved(at, operand, step), &above);
    value_of(code, moved(at, operand, -step), &below);
    if (!isfinite(above) || !isfinite(below)) return true;
    double expected = (above - below) / (2 * step);
    if (fabs(expected - slope) <= 2e-6 * (1 + fabs(expected))) return true;
    printf("  %s, operand %d at (%g, %g, %g): slope %.9g, difference %.9g\n", op_id(code), operand,
           at.a, at.b, at.c, slope, expected);
    return false;
}

/// Checks the row at one point and says whether its value is finite there.
static bool row_checked_at(OpCode code, Point at) {
    double value;
    double slope[3] = {0};
    if (operand_is_discrete(code, 0)) at.a = floor(fabs(at.a));  // an order, or false and true
    if (operand_is_discrete(code, 1)) at.b = floor(at.b);
    if (!value_of(code, at, &value) || !slope_of(code, at, value, slope) || !isfinite(value))
        return false;
    int count;
    op_parameters(code, &count);
    for (int operand = 0; operand < count && operand < 3; operand++)
        if (!operand_is_discrete(code, operand))
            CHECK(slope_matches(code, at, operand, slope[operand]));
    return true;
}

TEST(slopes_are_derivatives_of_values) {
    // Off the kinks of abs, floor, maximum...; inside and outside of [-1, 1].
    static const Point points[] = {{0.37, 0.81, -0.44}, {-0.62, 1.73, 2.31}, {1.61, -0.58, 0.93},
                                   {2.43, 2.19, 1.27},  {3.28, 1.37, 0.71},  {0.87, -2.41, -1.13},
                                   {-0.19, 1.91, 0.35}};
    int rows = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        int usable = 0;
        double unused[3];
        double value;
        bool has_slope = slope_of((OpCode)code, points[0], 0, unused) &&
                         value_of((OpCode)code, points[0], &value);
        if (!has_slope) continue;
        for (size_t i = 0; i < sizeof points / sizeof *points; i++)
            usable += row_checked_at((OpCode)code, points[i]);
        CHECK(usable >= 2);
        rows++;
    }
    CHECK(rows > 80);
}

TEST(rows_with_a_value_say_so) {
    for (int code = 0; code < OP_COUNT; code++) {
        double value;
        CHECK_EQ_INT(value_of((OpCode)code, (Point){0.5, 0.5, 0.5}, &value),
                     op_rows[code].has_value);
    }
}

TEST_MAIN(TEST_ROW(slopes_are_derivatives_of_values), TEST_ROW(rows_with_a_value_say_so))
