// Values that a loop keeps: maxima that are never assigned or begin at 0, sums of exponentials that nothing brings to one maximum.
#include <math.h>

#include "analysis/checks/check.h"

/* ---- maxima with an infinity ---- */

static bool is_infinity(const Value *value, double sign) {
    double number;
    if (!value) return false;
    if (value->op && value->op->code == OP_FULL) value = check_operand(value->op, "value");
    return value && value_is_number(value, &number) && isinf(number) && number * sign > 0;
}

/// Whether the same place is another operation somewhere: an iteration that was unrolled, a helper that is called twice.
static bool is_only_one(const Check *check, const Op *op) {
    int count = 0;
    for (LIST_EACH(int, i, check->ops)) {
        const Range range = check->ops.items[i]->range;
        count += check->ops.items[i]->code == op->code && range.source == op->range.source &&
                 range.start == op->range.start && range.end == op->range.end;
    }
    return count == 1;
}

static void check_extreme(Check *check, const Op *op) {
    if (op->code != OP_MAXIMUM && op->code != OP_MINIMUM) return;
    double sign = op->code == OP_MAXIMUM ? -1 : 1;
    const Op *loop = op->parent->parent;
    if (op->call || !loop || loop->code != OP_FOR) return;
    for (int side = 0; side < 2; side++) {
        Value *infinity = check_strip(op->operands[side]);
        if (!is_infinity(infinity, sign) || !is_only_one(check, op)) continue;
        check_report(check, DIAGNOSTIC_USELESS_EXTREME, op,
                     "one side is %s infinity in every iteration: is the running %s assigned?",
                     sign < 0 ? "minus" : "plus", sign < 0 ? "maximum" : "minimum");
        return;
    }
}

/* ---- sums of exponentials ---- */

/// Whether `value` is the maximum that the loop carries, brought up to date: `maximum(m, ...)`, the next m.
static bool is_running_maximum(const Op *loop, const Value *value) {
    const Op *yield = region_terminator(loop->regions[0]);
    const Op *op = value ? value->op : NULL;
    if (!yield || !op || op->code != OP_MAXIMUM) return false;
    for (int i = 0; i < yield->operand_count; i++) {
        const Value *before = loop->regions[0]->arguments[i + 1];
        bool is_next = check_strip(yield->operands[i]) == value;
        if (is_next &&
            (check_strip(op->operands[0]) == before || check_strip(op->operands[1]) == before))
            return true;
    }
    return false;
}

static bool is_relative_exponential(const Op *loop, Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || (op->code != OP_EXP && op->code != OP_EXP2)) return false;
    const Value *exponent = check_strip(op->operands[0]);
    const Op *difference = exponent ? exponent->op : NULL;
    return difference && difference->code == OP_SUB &&
           is_running_maximum(loop, check_strip(difference->operands[1]));
}

/// What a sum adds in each iteration is made of: the tile that is summed, or the first factor of a product.
static Value *added(const Carried *sum) {
    Value *term = sum->class == CARRIED_SUM ? check_strip(sum->term) : NULL;
    const Op *op = term ? term->op : sum->class == CARRIED_SUM ? sum->dot : NULL;
    if (!op) return term;
    return op->code == OP_SUM || op->code == OP_DOT ? check_strip(op->operands[0]) : term;
}

static void check_sums_of(Check *check, const Op *loop) {
    const Carried *carried = loop_classify(check->arena, loop);
    for (int i = 3; i < loop->operand_count; i++) {
        const Carried *sum = &carried[i - 3];
        if (!sum->link_count || !is_relative_exponential(loop, added(sum))) continue;
        const char *name = loop->regions[0]->arguments[i - 2]->name;
        check_report(check, DIAGNOSTIC_SUM_NOT_RESCALED, sum->links[sum->link_count - 1],
                     "%s adds exponentials relative to a maximum that grows: multiply it by "
                     "`exp(old - new)` of the maximum first",
                     name ? name : "this sum");
    }
}

/// The carried maximum that `next` brings up to date; NULL: none.
static const Value *maximum_before(const Op *loop, const Value *next) {
    const Op *yield = region_terminator(loop->regions[0]);
    for (int i = 0; yield && i < yield->operand_count; i++)
        if (check_strip(yield->operands[i]) == next) return loop->regions[0]->arguments[i + 1];
    return NULL;
}

/// Whether something that the loop carries is multiplied by the value.
static bool multiplies_carried(Check *check, const Op *loop, const Value *factor, int depth) {
    enum { DEEPEST = 3 };
    const Uses *uses = check_uses(check, factor);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *op = uses->list.items[i];
        if (op->code == OP_MUL) {
            const Value *other = check_strip(op->operands[op->operands[0] == factor]);
            for (int k = 1; k < loop->regions[0]->argument_count; k++)
                if (other == loop->regions[0]->arguments[k]) return true;
        } else if (depth < DEEPEST && op->result_count == 1 && op_has(op->code, TRAIT_ORDERED)) {
            if (multiplies_carried(check, loop, op->results[0], depth + 1)) return true;
        }
    }
    return false;
}

/// A correction that is 1, or that grows: `exp(new - old)`, or `exp(old - new)` where the old maximum is the new one by then.
static void check_correction(Check *check, const Op *loop, const Op *op) {
    if (op->code != OP_EXP && op->code != OP_EXP2) return;
    const Value *exponent = check_strip(op->operands[0]);
    const Op *difference = exponent ? exponent->op : NULL;
    if (!difference || difference->code != OP_SUB) return;
    const Value *left = check_strip(difference->operands[0]),
                *right = check_strip(difference->operands[1]);
    if (!is_running_maximum(loop, left)) return;
    bool is_same = left == right;
    if (!is_same && right != maximum_before(loop, left)) return;
    if (!multiplies_carried(check, loop, op->results[0], 0)) return;
    check_report(check, DIAGNOSTIC_SUM_NOT_RESCALED, op,
                 is_same ? "both are the new maximum here, so this is 1 and rescales nothing: take "
                           "the exponential before the old one is overwritten"
                         : "`exp(new - old)` of a maximum that grows is 1 or more: what was summed "
                           "before is multiplied by `exp(old - new)`");
}

/* ---- maxima that begin at 0 ---- */

static bool begins_at_zero(const Value *value) {
    double number;
    if (value && value->op && value->op->code == OP_FULL) value = check_operand(value->op, "value");
    return value && value_is_number(value, &number) && number == 0;
}

/// Whether some number that the loop carries begins at another one than 0: in a softmax with one more term, a sum begins at 1.
static bool has_other_start(const Op *loop) {
    for (int i = 3; i < loop->operand_count; i++) {
        const Value *value = loop->operands[i];
        double number;
        if (value && value->op && value->op->code == OP_FULL)
            value = check_operand(value->op, "value");
        if (value && value_is_number(value, &number) && number != 0) return true;
        if (value && !value->constant && value->type.kind == TYPE_NUMBER) return true;
    }
    return false;
}

/// `exp(x - new)` of what `new` is the maximum of: then 0 is one of the exponents.
static void check_maximum_start(Check *check, const Op *loop, const Op *op) {
    Value *exponential = op->results[0];
    if (!is_relative_exponential(loop, exponential)) return;
    const Op *difference = check_strip(op->operands[0])->op;
    const Op *maximum = check_strip(difference->operands[1])->op;
    const Region *body = loop->regions[0];
    for (int i = 3; i < loop->operand_count; i++) {
        const Value *before = body->arguments[i - 2];
        bool is_carried = check_strip(maximum->operands[0]) == before ||
                          check_strip(maximum->operands[1]) == before;
        const Value *start = check_strip(loop->operands[i]);
        bool rescales = check_strip(difference->operands[0]) == before;
        if (!is_carried || rescales || !begins_at_zero(start) || has_other_start(loop)) continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_MAXIMUM_START, start->op ? start->op : maximum,
            "the running maximum %s begins at 0: of a row whose numbers are far below 0 all "
            "exponentials are 0; begin at `-float(\"inf\")`",
            before->name ? before->name : "");
        check_relate(check, said, start->op ? maximum : loop,
                     start->op ? "the maximum" : "the loop");
    }
}

/* ---- lanes with maxima of their own ---- */

/// Whether the loop multiplies what it carries as `sum` by `exp(old - new)` of a running maximum with the same lanes.
static bool is_rescaled_by_lane(Check *check, const Op *loop, const Value *sum) {
    const Uses *uses = check_uses(check, sum);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *product = uses->list.items[i];
        if (product->code != OP_MUL || product->parent != loop->regions[0]) continue;
        const Value *factor = check_strip(product->operands[product->operands[0] == sum]);
        const Op *exponential = factor ? factor->op : NULL;
        if (!exponential || (exponential->code != OP_EXP && exponential->code != OP_EXP2)) continue;
        const Value *exponent = check_strip(exponential->operands[0]);
        const Op *difference = exponent ? exponent->op : NULL;
        if (!difference || difference->code != OP_SUB ||
            !is_running_maximum(loop, check_strip(difference->operands[1])))
            continue;
        const Type lanes = check_strip(difference->operands[1])->type;
        bool are_same = lanes.rank == sum->type.rank;
        for (int k = 0; are_same && k < lanes.rank; k++)
            are_same =
                lanes.dims[k] && sum->type.dims[k] && poly_equal(lanes.dims[k], sum->type.dims[k]);
        if (are_same && lanes.rank) return true;
    }
    return false;
}

/// `tl.sum(z)` behind a loop that kept a maximum for each lane.
static void check_sum_of_lanes(Check *check, const Op *loop) {
    for (int i = 0; i < loop->result_count; i++) {
        const Value *result = loop->results[i];
        const Uses *uses = check_uses(check, result);
        for (LIST_EACH(int, k, uses->list)) {
            const Op *sum = uses->list.items[k];
            if (sum->code != OP_SUM || sum->operands[0] != result ||
                !is_rescaled_by_lane(check, loop, loop->regions[0]->arguments[i + 1]))
                continue;
            Diagnostic *said = check_report(
                check, DIAGNOSTIC_SUM_NOT_RESCALED, sum,
                "each lane of %s is relative to a maximum of its own: multiply it by `exp(maximum "
                "- largest maximum)` before this sum",
                check_name(check, result));
            check_relate(check, said, loop, "the loop");
        }
    }
}

void check_running_values(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        check_extreme(check, op);
        const Op *outer = op->parent->parent;
        if (outer && outer->code == OP_FOR && !op->call && op->result_count == 1) {
            check_maximum_start(check, outer, op);
            check_correction(check, outer, op);
        }
        if (op->code != OP_FOR) continue;
        check_sums_of(check, op);
        check_sum_of_lanes(check, op);
    }
}
