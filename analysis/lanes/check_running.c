// Values that a loop keeps: maxima that are never assigned, sums of exponentials that nothing brings to the new maximum.
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

static void check_sums_of(Check *check, const Op *loop) {
    const Carried *carried = loop_classify(check->arena, loop);
    for (int i = 3; i < loop->operand_count; i++) {
        const Carried *sum = &carried[i - 3];
        Value *term = sum->class == CARRIED_SUM ? check_strip(sum->term) : NULL;
        if (term && term->op && term->op->code == OP_SUM) term = check_strip(term->op->operands[0]);
        if (!is_relative_exponential(loop, term) || !sum->link_count) continue;
        const char *name = loop->regions[0]->arguments[i - 2]->name;
        check_report(check, DIAGNOSTIC_SUM_NOT_RESCALED, sum->links[sum->link_count - 1],
                     "%s adds exponentials relative to a maximum that grows: multiply it by "
                     "`exp(old - new)` of the maximum first",
                     name ? name : "this sum");
    }
}

void check_running_values(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        check_extreme(check, op);
        if (op->code == OP_FOR) check_sums_of(check, op);
    }
}
