// Conditions are walked down through `and`, `or` and `not` to their flags; two of these are one where they compute the same.
#include "autodiff/sharing/launch_flags.h"

#include "autodiff/addresses/alike.h"

enum { DEEPEST = 8 };  // conditions within conditions. Beyond: a flag of its own

static bool is_made_of_flags(const Value *condition, int depth) {
    return condition->op && op_is_logical(condition->op->code) && depth < DEEPEST;
}

static int index_of(const LaunchFlagList *flags, const Value *flag) {
    for (int i = 0; i < flags->count; i++)
        if (expressions_alike(flags->items[i], flag, NULL, NULL)) return i;
    return -1;
}

/// Adds flags one by one; false where there is no room for one of them.
static bool add_within(LaunchFlagList *flags, const Value *condition, int depth) {
    if (is_made_of_flags(condition, depth)) {
        for (int i = 0; i < condition->op->operand_count; i++)
            if (condition->op->operands[i] &&
                !add_within(flags, condition->op->operands[i], depth + 1))
                return false;
        return true;
    }
    if (condition->constant || index_of(flags, condition) >= 0) return true;
    if (flags->count == FLAGS_MOST) return false;
    flags->items[flags->count++] = condition;
    return true;
}

/// The condition without `not` in front of it.
static const Value *bare(const Value *condition, bool *holds) {
    while (condition->op && condition->op->code == OP_LOGICAL_NOT) {
        *holds = !*holds;
        condition = condition->op->operands[0];
    }
    return condition;
}

void launch_flags_add(LaunchFlagList *flags, const Value *condition) {
    const LaunchFlagList before = *flags;
    bool holds = true;
    if (add_within(flags, condition, 0)) return;
    *flags = before;
    if (flags->count < FLAGS_MOST) flags->items[flags->count++] = bare(condition, &holds);
}

static int value_within(const LaunchFlagList *flags, unsigned values, const Value *condition,
                        int depth) {
    int at = condition->constant ? -1 : index_of(flags, condition);
    if (at >= 0) return (int)((values >> at) & 1);
    if (!is_made_of_flags(condition, depth)) return -1;
    const Op *op = condition->op;
    int left = value_within(flags, values, op->operands[0], depth + 1);
    if (op->code == OP_LOGICAL_NOT) return left < 0 ? left : !left;
    int right = value_within(flags, values, op->operands[1], depth + 1);
    const int decides = op->code == OP_LOGICAL_OR;  // by one side alone
    if (op->code != OP_LOGICAL_AND && op->code != OP_LOGICAL_OR) return -1;
    if (left == decides || right == decides) return decides;
    return left < 0 || right < 0 ? -1 : !decides;
}

int launch_condition_value(const LaunchFlagList *flags, unsigned values, const Value *condition) {
    return value_within(flags, values, condition, 0);
}

bool launch_conditions_exclude(const Value *a, bool a_holds, const Value *b, bool b_holds) {
    a = bare(a, &a_holds);
    b = bare(b, &b_holds);
    if (a == b) return a_holds != b_holds;
    LaunchFlagList flags = {.count = 0};
    launch_flags_add(&flags, a);
    launch_flags_add(&flags, b);
    for (unsigned values = 0; values < 1U << flags.count; values++) {
        int left = launch_condition_value(&flags, values, a);
        int right = launch_condition_value(&flags, values, b);
        if (left != !a_holds && right != !b_holds) return false;  // or nobody knows
    }
    return true;
}
