// Tuples while a kernel is lowered.
#include "analysis/frames/tuples.h"

#include "analysis/build/build.h"

/// How many values a tuple holds in all, tuples in it included; counts no further than `limit`.
static int leaves_within(const Value *value, int limit) {
    int count;
    if (!value_is_tuple(value, &count)) return 1;
    int total = 0;
    for (int i = 0; i < count && total <= limit; i++)
        total += leaves_within(value->op->operands[i], limit - total);
    return total;
}

Value *tuple_make(Lowering *lowering, Value *const *items, int count, SyntaxNode node) {
    int total = 0;
    for (int i = 0; i < count && total <= ITERABLE_LIMIT; i++)
        total += leaves_within(items[i], ITERABLE_LIMIT - total);
    if (total <= ITERABLE_LIMIT) return build_tuple(&lowering->builder, items, count);
    lowering_report(lowering, DIAGNOSTIC_LIMIT_REACHED, node,
                    "This tuple has more than %d values; the analysis does not follow it.",
                    ITERABLE_LIMIT);
    return lowering_silent(lowering, "a tuple too large to follow");
}

Value *tuple_item(Lowering *lowering, Value *tuple, int index) {
    (void)lowering;
    return tuple->op->operands[index];
}

bool value_is_passed(const Value *value) {
    return value && !value->op && value->region && !value->region->parent &&
           !value->type.is_constexpr && value->type.kind == TYPE_UNKNOWN;
}

void tuple_asked_whole(Lowering *lowering, Value *value) {
    if (!value_is_passed(value)) return;
    Value *use = build_unknown(&lowering->builder, "all items of what a launch passes");
    op_append_operand(lowering->builder.function, use->op, value);
}

Value *passed_item(Lowering *lowering, Value *parameter, Value *index, SyntaxNode node) {
    Value *item = lowering_unknown(lowering, node,
                                   "Of what a launch passes in a tuple only whole numbers at "
                                   "places that are written here are analysed: pass its items "
                                   "as arguments of their own.");
    if (!value_is_int(index, NULL)) {
        tuple_asked_whole(lowering, parameter);
        return item;
    }
    Function *function = lowering->builder.function;
    op_append_operand(function, item->op, parameter);
    op_append_operand(function, item->op, index);
    return item;
}
