// TRAITS and ZERO of the operation table against VALUE, on random numbers: what a row promises holds.
#include <math.h>
#include <stdint.h>

#include "analysis/ops/op.h"
#include "tests/support/check.h"

enum { TRIALS = 400, MOST_OPERANDS = 3 };
static const double LARGE = 1e6;

static uint64_t state = 88172645463325252u;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/// A finite number of any size and sign, often 0 or a whole number.
static double number(void) {
    double size = pow(LARGE, 2 * uniform() - 1), sign = uniform() < 0.5 ? -1 : 1;
    double kind = uniform();
    return kind < 0.1 ? 0 : kind < 0.2 ? sign * floor(4 * uniform()) : sign * size;
}

static int operand_count(OpCode code) {
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    int required = 0;
    for (int i = 0; i < count && i < MOST_OPERANDS; i++)
        required += parameters[i].default_text.size == 0;
    return required;
}

static double value(OpCode code, const double *at) {
    double result = NAN;
    op_value(code, at[0], at[1], at[2], &result);
    return result;
}

static bool has_value(OpCode code) {
    double ignored;
    return op_value(code, 1, 1, 1, &ignored);
}

static bool fails(OpCode code, const char *what, const double *at) {
    printf("  %s: %s at %g, %g, %g: %g\n", op_id(code), what, at[0], at[1], at[2], value(code, at));
    return false;
}

static void draw(double *at) {
    for (int i = 0; i < MOST_OPERANDS; i++) at[i] = number();
}

static bool is_near(double a, double b, double size) { return fabs(a - b) <= 1e-9 * fmax(size, 1); }

static bool is_finite_of_finite(OpCode code) {
    for (int trial = 0; trial < TRIALS; trial++) {
        double at[MOST_OPERANDS];
        draw(at);
        if (!isfinite(value(code, at))) return fails(code, "TRAIT_FINITE", at);
    }
    return true;
}

static bool is_shifted(OpCode code) {
    for (int trial = 0; trial < TRIALS; trial++) {
        double at[MOST_OPERANDS], by = number();
        draw(at);
        double moved[] = {at[0] + by, at[1] + by, at[2] + by};
        if (!is_near(value(code, moved), value(code, at) + by, LARGE))
            return fails(code, "TRAIT_SHIFTS", at);
    }
    return true;
}

static bool is_additive(OpCode code) {
    for (int trial = 0; trial < TRIALS; trial++) {
        double a[MOST_OPERANDS], b[MOST_OPERANDS], sum[MOST_OPERANDS];
        draw(a), draw(b);
        for (int i = 0; i < MOST_OPERANDS; i++) sum[i] = a[i] + b[i];
        if (!is_near(value(code, sum), value(code, a) + value(code, b), LARGE))
            return fails(code, "TRAIT_LINEAR", sum);
    }
    return true;
}

/// The lowest and the highest of the values at the ends of a box and at 0, from either side.
static void extremes(OpCode code, int count, double ends[][2], double *low, double *high) {
    *low = INFINITY, *high = -INFINITY;
    for (int choice = 0; choice < 64; choice++) {
        double at[MOST_OPERANDS] = {0};
        bool is_within = true;
        for (int i = 0; i < count; i++) {
            int kind = choice >> (2 * i) & 3;
            at[i] = kind < 2 ? ends[i][kind] : kind == 2 ? 0.0 : -0.0;
            if (kind >= 2) is_within = is_within && ends[i][0] <= 0 && ends[i][1] >= 0;
        }
        double result = value(code, at);
        if (!is_within) continue;
        if (isnan(result)) *low = -INFINITY, *high = INFINITY;
        *low = fmin(*low, result), *high = fmax(*high, result);
    }
}

static bool is_monotone(OpCode code) {
    int count = operand_count(code);
    for (int trial = 0; trial < TRIALS; trial++) {
        double ends[MOST_OPERANDS][2], at[MOST_OPERANDS] = {0}, low, high;
        for (int i = 0; i < count; i++) {
            double a = number(), b = number();
            ends[i][0] = fmin(a, b), ends[i][1] = fmax(a, b);
            at[i] = a + (b - a) * uniform();
        }
        extremes(code, count, ends, &low, &high);
        double result = value(code, at);
        double room = 1e-9 * fmax(1, fabs(result));
        if (isnan(result) ? high < INFINITY : result < low - room || result > high + room)
            return fails(code, "TRAIT_MONOTONE", at);
    }
    return true;
}

static bool is_zero_where_promised(OpCode code) {
    OpZero zero = op_rows[code].zero;
    int count = operand_count(code);
    for (int trial = 0; trial < TRIALS; trial++) {
        double at[MOST_OPERANDS];
        draw(at);
        int first = zero == ZERO_ANY && count > 0 ? trial % count : 0;
        for (int i = 0; i < MOST_OPERANDS; i++) {
            if (zero == ZERO_FIRST && i > 0 && at[i] == 0) at[i] = 1;  // 0 / 0 is another matter
            if (i == first || zero == ZERO_ALL) at[i] = 0;
        }
        if (value(code, at) != 0) return fails(code, "ZERO", at);
    }
    return true;
}

TEST(what_a_row_promises_holds) {
    int checked = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        if (!has_value((OpCode)code)) continue;
        if (row->traits & TRAIT_FINITE) CHECK(is_finite_of_finite((OpCode)code));
        if (row->traits & TRAIT_SHIFTS) CHECK(is_shifted((OpCode)code));
        if (row->traits & TRAIT_LINEAR) CHECK(is_additive((OpCode)code));
        if (row->traits & TRAIT_MONOTONE) CHECK(is_monotone((OpCode)code));
        if (row->zero) CHECK(is_zero_where_promised((OpCode)code));
        checked += row->traits != 0;
    }
    CHECK(checked > 30);
}

/// A trait that holds of a row on all numbers tried is missing from it, and a pass is more careful than it must be.
TEST(no_finite_row_is_forgotten) {
    static const OpCode unknown[] = {OP_TAN};  // its poles are between the numbers that are tried
    for (int code = 0; code < OP_COUNT; code++) {
        const OpRow *row = &op_rows[code];
        bool is_float = row->element == ELEMENT_FLOAT || row->element == ELEMENT_PROMOTE;
        bool is_left = row->traits & TRAIT_FINITE || !has_value((OpCode)code) || !is_float ||
                       code == (int)unknown[0];
        bool is_finite = !is_left;
        for (int trial = 0; is_finite && trial < 4 * TRIALS; trial++) {
            double at[MOST_OPERANDS];
            draw(at);
            if (trial == 0) at[0] = at[1] = at[2] = 0;
            is_finite = isfinite(value((OpCode)code, at));
        }
        if (is_finite) printf("  %s is finite, and does not say so\n", op_id((OpCode)code));
        CHECK(!is_finite);
    }
}

/// Shapes and operands that are not numbers have no VALUE; a row that moves elements changes none.
TEST(what_moves_is_finite_and_shifts) {
    for (int code = 0; code < OP_COUNT; code++) {
        int traits = op_rows[code].traits;
        if (!(traits & TRAIT_MOVES)) continue;
        CHECK((traits & TRAIT_FINITE) && (traits & TRAIT_SHIFTS));
        CHECK(!op_rows[code].has_value);
    }
}

TEST(both_hold_where_each_does) {
    int found = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        if (!(op_rows[code].traits & TRAIT_BOTH)) continue;
        found++;
        CHECK(op_rows[code].zero == ZERO_ANY && operand_count((OpCode)code) == 2);
        CHECK(op_rows[code].traits & (TRAIT_LOGICAL | TRAIT_INTEGERS));
    }
    CHECK(found == 2);
}

/// A trait that another one rests on comes with it, so that who asks for either finds the row.
TEST(traits_rest_on_each_other) {
    int layouts = 0;
    for (int code = 0; code < OP_COUNT; code++) {
        int traits = op_rows[code].traits;
        layouts += (traits & TRAIT_LAYOUT) != 0;
        CHECK(!(traits & TRAIT_ORDERED) || traits & TRAIT_LAYOUT);
        CHECK(!(traits & TRAIT_LAYOUT) || traits & TRAIT_MOVES);
        CHECK(!(traits & TRAIT_ORDERS) || traits & TRAIT_COMPARES);
        CHECK(!(traits & TRAIT_COLLECTS) || op_rows[code].effects & EFFECT_ATOMIC);
        CHECK(!(traits & TRAIT_LOOP) || op_rows[code].kind == KIND_STRUCTURAL);
        CHECK(!(traits & (TRAIT_COMPARES | TRAIT_LOGICAL)) || op_rows[code].bits == BITS_NONE);
        CHECK(!(traits & TRAIT_LAYOUT) || op_rows[code].bits == BITS_STAY);
    }
    CHECK(layouts > 5);
}

TEST_MAIN(TEST_ROW(what_a_row_promises_holds), TEST_ROW(no_finite_row_is_forgotten),
          TEST_ROW(what_moves_is_finite_and_shifts), TEST_ROW(both_hold_where_each_does),
          TEST_ROW(traits_rest_on_each_other))
