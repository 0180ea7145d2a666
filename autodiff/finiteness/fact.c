// Intervals through operations: each is tried at the ends of its operands and at 0.
#include "autodiff/finiteness/fact.h"

#include <math.h>

#include "analysis/ir/limits.h"

enum { MOST_SAMPLES = 4 };  // of an interval: its ends, and 0 from either side

Fact fact_number(double number) {
    return (Fact){
        .low = number, .high = number, .peak = number, .may_be_nan = isnan(number), .counts = true};
}

Fact fact_data(bool counts) {
    return (Fact){.low = -LARGEST, .high = LARGEST, .peak = -LARGEST, .counts = counts};
}

Fact fact_anything(void) {
    return (Fact){.low = -INFINITY,
                  .high = INFINITY,
                  .peak = -INFINITY,
                  .may_be_nan = true,
                  .slope = SLOPE_ANY};
}

bool fact_is_finite(Fact fact) {
    return !fact.may_be_nan && isfinite(fact.low) && isfinite(fact.high);
}

static Fact fact_counting(Fact fact) {
    fact.counts = true;
    return fact;
}

Fact fact_trusted(Fact fact) {
    fact.counts = true;
    fact.may_be_nan = false;
    if (fact.low == fact.high) return fact;
    fact.low = fmax(fact.low, -LARGEST);
    fact.high = fmin(fact.high, LARGEST);
    fact.peak = fmax(fact.peak, fact.low);
    return fact;
}

Fact fact_join(Fact a, Fact b) {
    bool is_zero =
        (a.is_zero && (b.is_zero || fact_is_nothing(b))) || (b.is_zero && fact_is_nothing(a));
    return (Fact){.low = fmin(a.low, b.low),
                  .high = fmax(a.high, b.high),
                  .peak = fmin(a.peak, b.peak),
                  .may_be_nan = a.may_be_nan || b.may_be_nan,
                  .counts = a.counts && b.counts,
                  .is_zero = is_zero,
                  .is_index = a.is_index && b.is_index,
                  .slope = a.slope == b.slope ? a.slope : SLOPE_ANY};
}

/// The ends and 0, from either side where the interval has both.
static int sample(Fact fact, double *samples) {
    int count = 0;
    samples[count++] = fact.low;
    if (fact.high != fact.low) samples[count++] = fact.high;
    if (fact.low < 0 && fact.high > 0) {
        samples[count++] = 0.0;
        samples[count++] = -0.0;
    }
    return count;
}

/// What the samples of an operation have come to.
typedef struct Image {
    double low, high;
    bool has_nan;
} Image;

static void image_add(Image *image, double value) {
    if (isnan(value)) image->has_nan = true;
    image->low = fmin(image->low, value);
    image->high = fmax(image->high, value);
}

/// A value that is 0 only because the operand is so large, as an exponential's: it counts as a number that is small.
static double not_vanished(OpCode code, int count, double at, double value) {
    if (value != 0 || count != 1 || fabs(at) != LARGEST) return value;
    double near = 0;
    op_value(code, at < 0 ? -1 : 1, 0, 0, &near);
    return near == 0 ? value : near < 0 ? -1 / LARGEST : 1 / LARGEST;
}

/// An operand that counts is not the 0 that alone makes an infinity of finite numbers: where elements count it did not.
static double value_of(OpCode code, const Fact *operands, const double *samples, int count) {
    double at[ELEMENTWISE_MOST_OPERANDS] = {samples[0], samples[1], samples[2]}, value = NAN;
    op_value(code, at[0], at[1], at[2], &value);
    if (isfinite(value)) return not_vanished(code, count, at[0], value);
    bool overflows = count == 1 && fabs(at[0]) == LARGEST && isinf(value);
    if (overflows && operands[0].is_index) return copysign(LARGEST, value);
    bool is_other = false;
    for (int i = 0; i < count; i++) {
        if (!isfinite(at[i])) return value;
        if (at[i] != 0 || !operands[i].counts || fact_is(operands[i], 0)) continue;
        at[i] = copysign(1 / LARGEST, at[i]);
        is_other = true;
    }
    if (is_other) op_value(code, at[0], at[1], at[2], &value);
    return value;
}

static Image image_of(OpCode code, const Fact *operands, int count) {
    double samples[ELEMENTWISE_MOST_OPERANDS][MOST_SAMPLES] = {{0}};
    int counts[ELEMENTWISE_MOST_OPERANDS] = {1, 1, 1};
    for (int i = 0; i < count; i++) counts[i] = sample(operands[i], samples[i]);
    Image image = {INFINITY, -INFINITY, false};
    for (int i = 0; i < counts[0]; i++)
        for (int j = 0; j < counts[1]; j++)
            for (int k = 0; k < counts[2]; k++) {
                const double at[] = {samples[0][i], samples[1][j], samples[2][k]};
                image_add(&image, value_of(code, operands, at, count));
            }
    return image;
}

/// The largest element is at least what the operation makes of the largest of its first operand, where it rises with that.
static double peak_of(OpCode code, const Fact *operands, int count, double low) {
    Fact at_peak[ELEMENTWISE_MOST_OPERANDS] = {operands[0]};
    for (int i = 1; i < count; i++) at_peak[i] = operands[i];
    at_peak[0].low = at_peak[0].high = operands[0].peak;
    Image image = image_of(code, at_peak, count);
    at_peak[0].low = at_peak[0].high = operands[0].high;
    Image above = image_of(code, at_peak, count);
    bool rises = !image.has_nan && !above.has_nan && image.low >= low && above.low >= image.low;
    return rises ? image.low : low;
}

static double clamped(double value, bool is_finite) {
    if (!is_finite && isinf(value)) return value;
    return fmax(fmin(value, LARGEST), -LARGEST);
}

Fact fact_apply(OpCode code, const Fact *operands, int count) {
    const OpRow *row = &op_rows[code];
    bool is_finite = count > 0, counts = true, has_nan = false, is_index = false, is_alike = true;
    bool is_written = false;  // an infinity that the author wrote may be among the operands
    for (int i = 0; i < count; i++) {
        is_finite = is_finite && fact_is_finite(operands[i]);
        is_written = is_written || isinf(operands[i].low) || isinf(operands[i].high);
        counts = counts && operands[i].counts;
        has_nan = has_nan || operands[i].may_be_nan;
        is_index = is_index || operands[i].is_index;
        is_alike = is_alike && (operands[i].is_index || operands[i].counts);
    }
    is_finite = is_finite && (row->traits & TRAIT_FINITE);
    Fact result = is_finite ? fact_data(false) : fact_anything();
    bool is_sampled = row->has_value && (row->traits & TRAIT_MONOTONE) && count > 0 &&
                      count <= ELEMENTWISE_MOST_OPERANDS && !has_nan;
    if (is_sampled) {
        Image image = image_of(code, operands, count);
        if (!image.has_nan) {
            result = (Fact){.low = clamped(image.low, is_finite),
                            .high = clamped(image.high, is_finite)};
            result.peak = peak_of(code, operands, count, result.low);
        }
    }
    result.is_index = is_index && is_alike && is_finite;
    bool stays_infinite = is_written && !result.may_be_nan && !fact_is_finite(result);
    return !counts ? result : stays_infinite ? fact_counting(result) : fact_trusted(result);
}

Fact fact_compare(OpCode code, Fact a, Fact b, bool is_beyond) {
    Fact open = {.low = 0, .high = 1, .counts = a.counts && b.counts};
    if (a.slope != SLOPE_NONE || b.slope != SLOPE_NONE) {
        bool up = (a.slope == SLOPE_UP && (b.slope == SLOPE_NONE || b.slope == SLOPE_DOWN)) ||
                  (a.slope == SLOPE_NONE && b.slope == SLOPE_DOWN);
        bool down = (a.slope == SLOPE_DOWN && (b.slope == SLOPE_NONE || b.slope == SLOPE_UP)) ||
                    (a.slope == SLOPE_NONE && b.slope == SLOPE_UP);
        // what holds for the last index that counts holds for larger ones
        open.counts = is_beyond && ((up && (code == OP_GT || code == OP_GE)) ||
                                    (down && (code == OP_LT || code == OP_LE)));
        return open;
    }
    bool is_open = (a.counts && a.low < a.high) || (b.counts && b.low < b.high);
    if (is_open || a.may_be_nan || b.may_be_nan) return open;
    bool below = a.high<b.low, above = a.low> b.high;
    bool same = a.low == a.high && fact_is(b, a.low);
    bool at_most = a.high <= b.low, at_least = a.low >= b.high;
    bool holds = code == OP_EQ   ? same
                 : code == OP_NE ? below || above
                 : code == OP_LT ? below
                 : code == OP_LE ? at_most
                 : code == OP_GT ? above
                                 : at_least;
    bool fails = code == OP_EQ   ? below || above
                 : code == OP_NE ? same
                 : code == OP_LT ? at_least
                 : code == OP_LE ? above
                 : code == OP_GT ? at_most
                                 : below;
    if (!holds && !fails) return open;
    Fact known = fact_number(holds);
    known.counts = open.counts;
    return known;
}

Fact fact_sum(Fact fact) {
    if (fact_is(fact, 0)) return fact;
    bool meets = fact.low == -INFINITY && fact.high == INFINITY;
    fact.may_be_nan = fact.may_be_nan || meets;
    double most = fact.low >= 0 ? fmax(fact.low, fact.peak) : -LARGEST;
    if (fact.high > 0) fact.high = isinf(fact.high) ? INFINITY : LARGEST;
    fact.low = fact.low == -INFINITY ? -INFINITY : most;
    fact.peak = fact.low;
    fact.slope = SLOPE_NONE;
    return fact;
}

Slope slope_of_binary(OpCode code, Slope a, Slope b) {
    if (code == OP_SUB && (b == SLOPE_UP || b == SLOPE_DOWN))
        b = b == SLOPE_UP ? SLOPE_DOWN : SLOPE_UP;
    switch (code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MAXIMUM:
    case OP_MINIMUM: return a == b || b == SLOPE_NONE ? a : a == SLOPE_NONE ? b : SLOPE_ANY;
    case OP_MUL: return b == SLOPE_NONE ? a : a == SLOPE_NONE ? b : SLOPE_ANY;
    case OP_FLOORDIV: return b == SLOPE_NONE ? a : SLOPE_ANY;
    default: return a == SLOPE_NONE && b == SLOPE_NONE ? SLOPE_NONE : SLOPE_ANY;
    }
}
