// What each operation makes of the facts of its operands.
#include <math.h>

#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/finiteness/finiteness_parts.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/tape/tape.h"

/// The fact of an operand for elements in a slot of the result.
static Fact operand_fact(const Finiteness *finiteness, const Op *op, int index, Slot slot) {
    if (index >= op->operand_count || !op->operands[index]) return fact_data(true);
    Slot from = finiteness_operand_slot(finiteness, op, index, slot);
    return finiteness_fact(finiteness, op->operands[index], from < 0 ? SLOT_COUNTS : from);
}

/// Whether an op makes a tile of values that do not vary as its condition does: a row's and a column's, of which each counts in
/// some element, meet in elements that do not count as well.
static bool is_first_tile(const Finiteness *finiteness, const Op *op, Slot slot) {
    if (slot == SLOT_COUNTS || finiteness->condition->reach != REACH_TILE) return false;
    for (int i = 0; i < op->operand_count; i++) {
        Slot from = op->operands[i] ? finiteness_operand_slot(finiteness, op, i, slot) : NO_SLOT;
        if (from != NO_SLOT && finiteness_varies(finiteness, op->operands[i], from)) return false;
    }
    return true;
}

static bool mask_leaves_out(const Finiteness *finiteness, const Value *mask, Slot slot) {
    return mask && fact_is_false(finiteness_fact(finiteness, mask, slot));
}

/// Whether the elements of an address come back into bounds: by a remainder, a minimum or a choice.
static bool is_brought_back(const Value *address, int depth) {
    enum { DEEPEST = 12 };
    const Op *op = address ? address->op : NULL;
    if (!op || address->type.rank == 0 || depth > DEEPEST) return depth > DEEPEST;
    bool is_bounded = op->code == OP_MOD || op->code == OP_MINIMUM;
    bool is_chosen = op->code == OP_WHERE || op->code == OP_LOAD;
    if (address->type.kind == TYPE_NUMBER && (is_bounded || is_chosen)) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (is_brought_back(op->operands[i], depth + 1)) return true;
    return false;
}

/// Whether a load without a bound of its own reads on where a bound leaves elements out: what lies there may hold anything.
static bool reads_beyond(const Finiteness *finiteness, const Op *load, const Value *mask,
                         Slot slot) {
    return finiteness->condition->is_beyond && slot != SLOT_COUNTS &&
           finiteness_varies(finiteness, load->operands[0], slot) &&
           !(mask && finiteness_varies(finiteness, mask, slot)) &&
           !is_brought_back(load->operands[0], 0);
}

/// Whether a number that is compared may be below 0: sizes, ids and lanes are not, nor what is made of them without a difference; what is
/// loaded may be.
static intptr_t may_be_negative(ValueWalk *walk, const Value *value) {
    enum { MOST = ELEMENTWISE_MOST_OPERANDS };
    double number;
    if (!value) return false;
    if (value_is_number(value, &number)) return number < 0;
    const Op *op = value->op;
    if (!op || op->code == OP_ARANGE) return false;
    if (op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS) return false;
    if (op->code == OP_CAST || op_has(op->code, TRAIT_LAYOUT))
        return walk_ask(walk, op->operands[0]);
    if (!op_is_elementwise(op) || op->operand_count > MOST) return true;
    Fact operands[MOST];
    for (int i = 0; i < MOST; i++) operands[i] = (Fact){.low = 0, .high = LARGEST};
    const Fact result = fact_apply(op->code, operands, op->operand_count);
    intptr_t found = result.may_be_nan || result.low < 0;
    for (int i = 0; i < op->operand_count && !found; i++) found = walk_ask(walk, op->operands[i]);
    return found;
}

/// Whether a mask may leave out all elements there are: it is not one that bounds an index from above by a size or by another index.
static bool may_leave_out_all(const Value *mask, int depth) {
    enum { DEEPEST = 8 };
    const Op *op = mask ? mask->op : NULL;
    if (!op || depth > DEEPEST) return mask && !value_is_none(mask);
    if (op_has(op->code, TRAIT_LAYOUT)) return may_leave_out_all(op->operands[0], depth + 1);
    if (op_joins_truths(op, false))
        return may_leave_out_all(op->operands[0], depth + 1) ||
               may_leave_out_all(op->operands[1], depth + 1);
    bool is_upper = op->code == OP_LT || op->code == OP_LE,
         is_turned = op->code == OP_GT || op->code == OP_GE;
    if (!is_upper && !is_turned) return true;
    return walk_from(op->operands[is_upper], may_be_negative, true, NULL) != 0;
}

/// Whether a choice or a load with an infinity may be that infinity in all elements: where its condition, of all elements at once, fails,
/// nobody knows that one is there.
static bool may_be_all_void(const Finiteness *finiteness, const Op *op, Slot slot) {
    const bool is_all = slot == SLOT_COUNTS && finiteness->condition->reach == REACH_ALL;
    if (!is_all || !value_is_float(op->results[0])) return false;
    const Value *mask = op->code == OP_LOAD ? access_mask(op) : op->operands[0];
    bool has_infinity = false;
    for (int i = 1; i < op->operand_count; i++)
        has_infinity |= op->operands[i] && (is_number(op->operands[i], INFINITY) ||
                                            is_number(op->operands[i], -INFINITY));
    return has_infinity && mask && (finiteness->condition->is_of_nan || may_leave_out_all(mask, 0));
}

static Fact fact_of_load(const Finiteness *finiteness, const Op *op, Slot slot) {
    const Value *mask = access_mask(op);
    const Value *kept = tape_value(finiteness->state, op);
    if (kept) return finiteness_fact(finiteness, kept, slot);
    if (value_is_float(op->results[0]) && reads_beyond(finiteness, op, mask, slot))
        return fact_anything();
    const bool counts = slot == SLOT_COUNTS && !finiteness->condition->is_of_nan;
    Fact data = fact_data(counts);
    data.slope = SLOPE_ANY;
    if (!mask || slot == SLOT_COUNTS)
        if (!mask_leaves_out(finiteness, mask, slot)) {
            data.slope = SLOPE_NONE;
            return may_be_all_void(finiteness, op, slot)
                       ? fact_join(fact_data(false),
                                   finiteness_fact(finiteness, op->operands[2], slot))
                       : data;
        }
    Fact other = fact_anything();
    if (op->operand_count > 2 && op->operands[2] && !value_is_none(op->operands[2]))
        other = finiteness_fact(finiteness, op->operands[2], slot);
    other.counts = false;
    other.slope = SLOPE_NONE;
    if (mask_leaves_out(finiteness, mask, slot)) {
        other.is_zero = load_is_upstream(finiteness->state, op) && fact_is(other, 0);
        return other;
    }
    data.slope = SLOPE_NONE;
    Fact open = finiteness_fact(finiteness, mask, slot);
    if (fact_is_true(open)) return data;
    if (open.counts) data.counts = true;
    return fact_join(data, other);
}

/// Whether two values are computed by one expression of the forward.
static bool is_one_expression(const Value *a, const Value *b) {
    if (a == b) return true;
    bool is_known = a->op && b->op && a->op->range.source && range_line(a->op->range) > 0;
    return is_known && a->op->code == b->op->code && a->op->call == b->op->call &&
           a->op->range.source == b->op->range.source && a->op->range.start == b->op->range.start &&
           a->op->range.end == b->op->range.end;
}

/// `maximum(m, max(x))[:, None]` of `x`, or what that is at the end of a loop: at least each element of `x`.
static bool is_bound_of(const Value *bound, const Value *tile, int depth) {
    enum { DEEPEST = 8 };
    const Op *op = bound ? bound->op : NULL;
    if (!op || depth > DEEPEST) return false;
    switch (op->code) {
    case OP_MAX: return is_one_expression(op->operands[0], tile);
    case OP_MAXIMUM:
        return op->operands[0] == tile || op->operands[1] == tile ||
               is_bound_of(op->operands[0], tile, depth + 1) ||
               is_bound_of(op->operands[1], tile, depth + 1);
    case OP_WHERE:  // where(top == -inf, 0, top): then each element is -inf
        return made_by(op->operands[0], OP_EQ) &&
               op->operands[0]->op->operands[0] == op->operands[2] &&
               is_number(op->operands[0]->op->operands[1], -INFINITY) &&
               is_bound_of(op->operands[2], tile, depth + 1);
    case OP_FOR:
    case OP_STATIC_FOR:
        return is_bound_of(region_terminator(op->regions[0])->operands[bound->index], tile,
                           depth + 1);
    default:
        return op_has(op->code, TRAIT_ORDERED) && is_bound_of(op->operands[0], tile, depth + 1);
    }
}

/// The first operand of an op of this kind that makes the value, below casts; NULL where another does.
static const Value *operand_of(const Value *value, OpCode code, int index) {
    while (made_by(value, OP_CAST)) value = value->op->operands[0];
    return made_by(value, code) ? value->op->operands[index] : NULL;
}

/// The `x` of `sum(exp(x - bound(x)), axis)`; NULL of other values. One of the terms is 1, or one in an earlier iteration was.
static const Value *normalized_of(const Value *sum) {
    const Value *exponential = operand_of(sum, OP_SUM, 0);
    while (made_by(exponential, OP_CAST)) exponential = exponential->op->operands[0];
    bool is_exponential = made_by(exponential, OP_EXP) || made_by(exponential, OP_EXP2);
    const Value *shifted = is_exponential ? exponential->op->operands[0] : NULL;
    double factor;
    if (made_by(shifted, OP_MUL) && value_is_number(shifted->op->operands[1], &factor) &&
        factor > 0)
        shifted = shifted->op->operands[0];
    if (!made_by(shifted, OP_SUB)) return NULL;
    const Value *x = shifted->op->operands[0];
    return is_bound_of(shifted->op->operands[1], x, 0) ? x : NULL;
}

/// A sum that a loop scales down as its maximum rises, `l = l * exp(m - new) + sum(exp(x - new))`: at least 1 where an element
/// of `x` is finite.
const Value *running_norm_of(const Op *loop, int index) {
    if (loop->code == OP_WHILE) return NULL;
    const Value *carried = loop->regions[0]->arguments[index + 1];
    const Value *next = region_terminator(loop->regions[0])->operands[index];
    while (made_by(next, OP_CAST)) next = next->op->operands[0];
    if (!made_by(next, OP_ADD)) return NULL;
    for (int i = 0; i < 2; i++) {
        const Value *scaled = next->op->operands[i], *x = normalized_of(next->op->operands[1 - i]);
        if (x && made_by(scaled, OP_MUL) &&
            (scaled->op->operands[0] == carried || scaled->op->operands[1] == carried))
            return x;
    }
    return NULL;
}

/// `x == max(x)` holds somewhere in every row.
static bool is_extreme_of(const Value *extreme, const Value *tile) {
    while (extreme && extreme->op && op_has(extreme->op->code, TRAIT_ORDERED))
        extreme = extreme->op->operands[0];
    return extreme && extreme->op && (extreme->op->code == OP_MAX || extreme->op->code == OP_MIN) &&
           extreme->op->operands[0] == tile;
}

bool value_is_truth(const Value *value) { return value->type.element.code == DTYPE_INT1; }

bool value_is_float(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && !dtype_is_integer(value->type.element);
}

/// `fact` where a comparison with a number holds, or where it fails. Empty where that cannot be.
Fact fact_of_test(OpCode code, bool holds, double bound, Fact fact) {
    double step = bound == 0 ? 1 / LARGEST : 0;
    bool is_equal = code == (holds ? OP_EQ : OP_NE), is_other = code == (holds ? OP_NE : OP_EQ);
    bool is_above = holds ? code == OP_GT || code == OP_GE : code == OP_LT || code == OP_LE;
    bool is_below = holds ? code == OP_LT || code == OP_LE : code == OP_GT || code == OP_GE;
    bool is_strict = holds ? code == OP_GT || code == OP_LT : code == OP_GE || code == OP_LE;
    if (is_other) {
        if (fact.low == bound) fact.low = isinf(bound) ? -LARGEST : bound + step;
        if (fact.high == bound) fact.high = isinf(bound) ? LARGEST : bound - step;
        if (fact.low < bound && bound < fact.high && bound == 0)
            fact.counts = true;  // fit to divide by
    }
    if (is_above || is_equal) fact.low = fmax(fact.low, is_strict ? bound + step : bound);
    if (is_below || is_equal) fact.high = fmin(fact.high, is_strict ? bound - step : bound);
    if (code != OP_NE && holds) fact.may_be_nan = false;
    fact.peak = fmax(fact.peak, fact.low);
    return fact;
}

/// The branch of a choice, which its condition may say something about: `where(x == 0, 1, x)`, `where(x > 0, x, 1)`.
static Fact chosen_fact(const Op *op, int branch, Fact fact) {
    const Op *test = op->operands[0]->op;
    double bound;
    if (!test || !op_is_comparison(test->code) || test->operands[0] != op->operands[branch] ||
        !value_is_number(test->operands[1], &bound))
        return fact;
    Fact narrow = fact_of_test(test->code, branch == 1, bound, fact);
    return narrow.low > narrow.high ? fact : narrow;
}

static Fact fact_of_choice(const Finiteness *finiteness, const Op *op, Slot slot) {
    Fact condition = operand_fact(finiteness, op, 0, slot),
         x = operand_fact(finiteness, op, 1, slot), y = operand_fact(finiteness, op, 2, slot);
    bool is_adjoint = finiteness_is_adjoint(finiteness, op->results[0]);
    Fact result;
    if (fact_is_true(condition) || fact_is_false(condition)) {
        result = fact_is_true(condition) ? x : y;
        if (!condition.counts) result.counts = false;
        if (is_adjoint && !condition.counts && fact_is(result, 0)) result.is_zero = true;
        return result;
    }
    if (is_test_of_finite(op->operands[0], op->operands[1]))
        x = x.is_zero ? (Fact){.is_zero = true} : fact_data(false);
    if (may_be_all_void(finiteness, op, slot)) condition.counts = false;
    x = chosen_fact(op, 1, x), y = chosen_fact(op, 2, y);
    result = fact_join(x, y);
    if (condition.counts) {  // some of the elements are chosen, as where they count
        if (x.low >= y.high) result.peak = fmax(x.low, x.peak);
        if (y.low >= x.high) result.peak = fmax(y.low, y.peak);
    }
    result.counts = result.counts && condition.counts;
    if (condition.counts && x.counts && y.counts) result = fact_trusted(result);
    return result;
}

static Fact fact_of_truths(const Finiteness *finiteness, const Op *op, Slot slot) {
    Fact a = operand_fact(finiteness, op, 0, slot), b = operand_fact(finiteness, op, 1, slot);
    bool is_and = op_joins_truths(op, false);
    if (op->code == OP_LOGICAL_NOT || op->code == OP_INVERT)
        return (Fact){.low = 1 - a.high, .high = 1 - a.low, .counts = a.counts};
    Fact result = {.low = is_and ? fmin(a.low, b.low) : fmax(a.low, b.low),
                   .high = is_and ? fmin(a.high, b.high) : fmax(a.high, b.high),
                   .counts = a.counts && b.counts};
    // where one says nothing, the other decides
    if (!result.counts && fact_is(a, is_and)) result.counts = b.counts;
    if (!result.counts && fact_is(b, is_and)) result.counts = a.counts;
    if (fact_is(result, !is_and)) result.counts = false;
    return result;
}

/// Whether a result is meant to be 0 because of its operands. A gradient that nothing is added to is 0 everywhere.
static bool is_zero_of(const Finiteness *finiteness, const Op *op, Slot slot) {
    int zeros = 0, others = 0, nothings = 0;
    OpZero rule = op_rows[op->code].zero;
    for (int i = 0; i < op->operand_count && rule != ZERO_NONE; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        if (rule == ZERO_FIRST && i > 0) break;
        Fact fact = operand_fact(finiteness, op, i, slot);
        zeros += fact.is_zero;
        nothings += !fact.is_zero && fact_is_nothing(fact);
        others += !fact.is_zero && !fact_is_nothing(fact);
    }
    bool is_product = rule == ZERO_ANY || rule == ZERO_FIRST;
    if (is_product && nothings && finiteness_is_adjoint(finiteness, op->results[0])) return true;
    return zeros > 0 && (rule == ZERO_ANY || others == 0);
}

/// The `x` of `x`, `-x`, `2 * x`: `*factor` times that is the value.
static const Value *multiple_of(const Value *value, double *factor) {
    double number;
    for (*factor = 1;;) {
        const Op *op = value->op;
        if (op && op->code == OP_NEG) {
            *factor = -*factor;
            value = op->operands[0];
        } else if (op && op->code == OP_MUL && value_is_number(op->operands[1], &number)) {
            *factor *= number;
            value = op->operands[0];
        } else if (op && op->code == OP_MUL && value_is_number(op->operands[0], &number)) {
            *factor *= number;
            value = op->operands[1];
        } else {
            return value;
        }
    }
}

/// A multiple of a square: no element has the other sign.
static Fact fact_of_square(const Op *op, const Fact *operands, Fact result) {
    double factors[2];
    bool is_square = op->code == OP_MUL && multiple_of(op->operands[0], &factors[0]) ==
                                               multiple_of(op->operands[1], &factors[1]);
    if (!is_square || operands[0].may_be_nan || operands[1].may_be_nan) return result;
    bool is_finite = fact_is_finite(operands[0]) && fact_is_finite(operands[1]);
    double sign = factors[0] * factors[1];
    if (!isfinite(sign) || sign == 0) return result;
    result.may_be_nan = false;
    if (sign > 0) result.low = is_finite || result.low > 0 ? fmax(result.low, 0) : 0;
    if (sign < 0) result.high = is_finite || result.high < 0 ? fmin(result.high, 0) : 0;
    return result;
}

static Fact fact_of_elements(const Finiteness *finiteness, const Op *op, Slot slot) {
    Fact operands[ELEMENTWISE_MOST_OPERANDS] = {{0}};
    int count = 0;
    bool is_infinite = false;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        if ((op->code == OP_MAXIMUM || op->code == OP_MINIMUM) && i > 1) continue;
        if (count == ELEMENTWISE_MOST_OPERANDS) return fact_anything();
        operands[count] = operand_fact(finiteness, op, i, slot);
        is_infinite = is_infinite ||
                      (operands[count].low == operands[count].high && isinf(operands[count].low));
        count++;
    }
    if (is_first_tile(finiteness, op, slot)) operands[0].counts = false;
    Fact result = fact_apply(op->code, operands, count);
    result = fact_of_square(op, operands, result);
    if (op->code == OP_SUB && is_bound_of(op->operands[1], op->operands[0], 0))
        result.high = fmin(result.high, 0);
    result.is_zero = is_zero_of(finiteness, op, slot) || (fact_is(result, 0) && is_infinite);
    return result;
}

static Fact fact_of_index(const Finiteness *finiteness, const Op *op, Slot slot) {
    Fact result = fact_data(true);
    bool is_alike = true;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        Fact fact = operand_fact(finiteness, op, i, slot);
        result.counts = result.counts && fact.counts;
        result.is_index = result.is_index || fact.is_index;
        is_alike = is_alike && (fact.is_index || fact.counts);
        result.slope = i == 0 ? fact.slope : slope_of_binary(op->code, result.slope, fact.slope);
    }
    result.is_index = result.is_index && is_alike;
    if (op->code == OP_NEG)
        result.slope = result.slope == SLOPE_UP     ? SLOPE_DOWN
                       : result.slope == SLOPE_DOWN ? SLOPE_UP
                                                    : result.slope;
    return result;
}

static Fact fact_of_elementwise(const Finiteness *finiteness, const Op *op, Slot slot) {
    const Value *result = op->results[0];
    if (op->code == OP_WHERE) return fact_of_choice(finiteness, op, slot);
    if (op->code == OP_CAST || op_rows[op->code].kind == KIND_HINT) {
        Fact fact = operand_fact(finiteness, op, 0, slot);
        if (value_is_float(result) || !value_is_float(op->operands[0])) return fact;
        Fact whole = fact_data(fact.counts);
        whole.is_index = fact.is_index;
        return whole;
    }
    if (op_is_comparison(op->code)) {
        Fact fact = fact_compare(op->code, operand_fact(finiteness, op, 0, slot),
                                 operand_fact(finiteness, op, 1, slot),
                                 finiteness->condition->is_beyond && slot != SLOT_COUNTS);
        if (op->code == OP_EQ && is_extreme_of(op->operands[1], op->operands[0]))
            fact.counts = true;
        return fact;
    }
    if (value_is_truth(result)) {
        bool is_logic = op_is_logical(op->code) || op_joins_truths(op, false) ||
                        op_joins_truths(op, true) || op->code == OP_INVERT;
        return is_logic ? fact_of_truths(finiteness, op, slot) : (Fact){.low = 0, .high = 1};
    }
    return value_is_float(result) ? fact_of_elements(finiteness, op, slot)
                                  : fact_of_index(finiteness, op, slot);
}

/// What the elements hold that a reduction or a product of matrices goes over, those left out included.
static Fact fact_along(const Finiteness *finiteness, const Op *op, int index) {
    const Value *tile = op->operands[index];
    Fact fact = finiteness_fact(finiteness, tile, SLOT_COUNTS);
    for (Slot slot = 1; slot < MASK_MOST_SLOTS; slot++)
        if (finiteness_varies(finiteness, tile, slot) &&
            finiteness_result_slot(finiteness, op, index, slot) == NO_SLOT)
            fact = fact_join(fact, finiteness_fact(finiteness, tile, slot));
    return fact;
}

static Fact fact_of_reduction(const Finiteness *finiteness, const Op *op, Slot slot) {
    Slot from = finiteness_operand_slot(finiteness, op, 0, slot);
    if (!value_is_float(op->results[0]) || op->code == OP_ARGMAX || op->code == OP_ARGMIN)
        return fact_data(slot == SLOT_COUNTS);
    if (from == NO_SLOT) {
        bool is_finite = op_rows[op->code].traits & TRAIT_FINITE &&
                         fact_is_finite(fact_along(finiteness, op, 0));
        return slot == SLOT_COUNTS ? fact_data(true)
               : is_finite         ? fact_data(false)
                                   : fact_anything();
    }
    Fact fact = slot == SLOT_COUNTS ? fact_along(finiteness, op, 0)
                                    : finiteness_fact(finiteness, op->operands[0], from);
    bool is_zero = fact.is_zero, counts = fact.counts;
    if (op->code == OP_MAX)
        fact.low = fact.peak = fmax(fact.low, fact.peak);
    else if (op->code == OP_MIN)
        fact.peak = fact.low;
    else if (op->code == OP_SUM || op->code == OP_CUMSUM)
        fact = fact_sum(fact);
    else
        fact = fact_is_finite(fact) && op_rows[op->code].traits & TRAIT_FINITE ? fact_data(false)
                                                                               : fact_anything();
    fact.is_zero = is_zero && op_rows[op->code].zero == ZERO_FIRST;
    fact.counts = counts;
    fact.slope = SLOPE_NONE;
    if (slot != SLOT_COUNTS || (finiteness->condition->reach == REACH_ALL && !counts)) return fact;
    return fact_trusted(fact);
}

Fact finiteness_product(Fact a, Fact b) {
    const Fact both[] = {a, b};
    Fact product = fact_apply(OP_MUL, both, 2);
    product.is_zero = a.is_zero || b.is_zero;
    return product;
}

static Fact fact_of_dot(const Finiteness *finiteness, const Op *op, Slot slot) {
    Fact product = finiteness_product(operand_fact(finiteness, op, 0, slot),
                                      operand_fact(finiteness, op, 1, slot));
    bool is_zero = product.is_zero, counts = product.counts && !is_first_tile(finiteness, op, slot);
    Fact sum = fact_sum(product);
    sum.is_zero = is_zero, sum.counts = counts;
    const Value *start = op->operand_count > 2 ? op->operands[2] : NULL;
    if (start && !value_is_none(start)) {
        const Fact both[] = {finiteness_fact(finiteness, start, slot), sum};
        Fact total = fact_apply(OP_ADD, both, 2);
        total.is_zero = (sum.is_zero || fact_is_nothing(sum)) &&
                        (both[0].is_zero || fact_is_nothing(both[0])) &&
                        (sum.is_zero || both[0].is_zero);
        sum = total;
    }
    return counts ? fact_trusted(sum) : sum;
}

/// Elements that an op spreads: any of its operands' may come to lie anywhere.
static Fact fact_of_spread(const Finiteness *finiteness, const Op *op, Slot slot) {
    bool is_kept = (op_rows[op->code].traits & TRAIT_MOVES) != 0 || op->code == OP_TUPLE ||
                   op->code == OP_ITEM;
    if (slot == SLOT_COUNTS && finiteness->condition->reach != REACH_ALL) return fact_data(true);
    if (!is_kept) return fact_anything();
    bool any = false;
    Fact fact = fact_data(true);
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        for (Slot from = 0; from < MASK_MOST_SLOTS; from++) {
            if (!finiteness_varies(finiteness, op->operands[i], from)) continue;
            Fact other = finiteness_fact(finiteness, op->operands[i], from);
            fact = any ? fact_join(fact, other) : other;
            any = true;
        }
    }
    fact.is_zero = false;
    fact.counts = fact.counts && slot == SLOT_COUNTS;
    fact.slope = SLOPE_ANY;
    return any ? fact : fact_anything();
}

Fact fact_of_op(const Finiteness *finiteness, const Op *op, Slot slot) {
    switch (op->code) {
    case OP_LOAD: return fact_of_load(finiteness, op, slot);
    case OP_DOT: return fact_of_dot(finiteness, op, slot);
    case OP_FULL: {
        Fact fact = finiteness_fact(finiteness, op->operands[1], SLOT_COUNTS);
        return fact;
    }
    case OP_ARANGE: {
        Fact fact = fact_data(slot == SLOT_COUNTS);
        fact.slope = slot == SLOT_COUNTS                          ? SLOPE_NONE
                     : finiteness->condition->reach == REACH_AXIS ? SLOPE_UP
                                                                  : SLOPE_ANY;
        fact.is_index = slot != SLOT_COUNTS && finiteness->condition->is_beyond;
        return fact;
    }
    case OP_CONSTANT:
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: return fact_data(true);
    default: break;
    }
    if (op_is_reduction(op->code) || op_is_scan(op->code))
        return fact_of_reduction(finiteness, op, slot);
    if (op_moves_axes(op)) return operand_fact(finiteness, op, 0, slot);
    if (op_is_elementwise(op) && op->result_count == 1)
        return fact_of_elementwise(finiteness, op, slot);
    return fact_of_spread(finiteness, op, slot);
}
