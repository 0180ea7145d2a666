// What is known of conditions where a branch is lowered.
#include "analysis/frames/conditions.h"

#include "analysis/ir/walk.h"

bool value_truth(const Value *value, bool *result) {
    int count;
    if (value_is_tuple(value, &count)) {
        *result = count > 0;
        return true;
    }
    const Constant *constant = value->constant;
    if (!constant) return false;
    switch (constant->kind) {
    case CONSTANT_NONE: *result = false; return true;
    case CONSTANT_BOOL:
    case CONSTANT_INT: *result = constant->integer != 0; return true;
    case CONSTANT_FLOAT: *result = constant->number != 0; return true;
    case CONSTANT_STRING: *result = constant->string.size > 0; return true;
    case CONSTANT_DTYPE:
    case CONSTANT_FUNCTION: *result = true; return true;
    case CONSTANT_TUPLE: *result = constant->item_count > 0; return true;
    }
    return false;
}

static intptr_t runtime_at(ValueWalk *walk, const Value *value) {
    if (!value || value->constant || value->type.is_constexpr) return false;
    if (!value->op)  // an induction variable; what loops carry
        return value->region && value->region->parent &&
               value->region->parent->code != OP_STATIC_FOR;
    const Op *op = value->op;
    bool needs_all = op->code == OP_LOGICAL_OR;
    if (op_has(op->code, TRAIT_RUNTIME)) return true;
    if (op->region_count || op_rows[op->code].kind == KIND_STRUCTURAL) return false;
    if (op_rows[op->code].effects & EFFECT_ATOMIC) return true;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        bool is_runtime = walk_ask(walk, op->operands[i]);
        if (is_runtime != needs_all) return is_runtime;
    }
    return needs_all;
}

bool value_is_runtime(const Value *value) { return walk_from(value, runtime_at, false, NULL); }

/// The operand that `==` or `!=` compares with a constant, or NULL.
static const Value *compared(const Value *condition, const Constant **constant) {
    const Op *op = condition->op;
    if (!op || (op->code != OP_EQ && op->code != OP_NE)) return NULL;
    int side = op->operands[0]->constant ? 0 : 1;
    *constant = op->operands[side]->constant;
    return *constant ? op->operands[1 - side] : NULL;
}

/// `MODE == "a"` where `MODE` is known to be "b", or not to be "a".
static bool comparison_known(const Lowering *lowering, const Value *value, bool *result) {
    const Constant *asked;
    const Value *subject = compared(value, &asked);
    if (!subject || subject->constant || !subject->type.is_constexpr) return false;
    for (const LoweringAssumption *known = lowering->assumptions; known; known = known->outer) {
        const Constant *constant;
        if (compared(known->condition, &constant) != subject) continue;
        bool is_told;
        bool same = constant_equal(constant, asked, &is_told);
        bool is_equal = (known->condition->op->code == OP_EQ) == known->truth;
        if (!is_told || (!is_equal && !same)) continue;
        *result = (value->op->code == OP_EQ) == (is_equal && same);
        return true;
    }
    return false;
}

static Truth truth_of(bool truth) { return truth ? TRUTH_YES : TRUTH_NO; }

static intptr_t truth_within(ValueWalk *walk, const Value *value) {
    const Lowering *lowering = walk->context;
    bool truth;
    if (value_truth(value, &truth) || comparison_known(lowering, value, &truth))
        return truth_of(truth);
    for (const LoweringAssumption *known = lowering->assumptions; known; known = known->outer)
        if (known->condition == value) return truth_of(known->truth);
    const Op *op = value->op;
    if (!op) return TRUTH_UNKNOWN;
    if (op->code == OP_LOGICAL_NOT) {
        intptr_t inner = walk_ask(walk, op->operands[0]);
        return inner == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : truth_of(inner == TRUTH_NO);
    }
    if (op->code != OP_LOGICAL_AND && op->code != OP_LOGICAL_OR) return TRUTH_UNKNOWN;
    Truth decides = truth_of(op->code == OP_LOGICAL_OR);  // one such operand is enough
    bool is_known = true;
    for (int i = 0; i < 2; i++) {
        intptr_t part = walk_ask(walk, op->operands[i]);
        if (part == (intptr_t)decides) return decides;
        is_known = is_known && part != TRUTH_UNKNOWN;
    }
    return is_known ? truth_of(decides == TRUTH_NO) : TRUTH_UNKNOWN;
}

bool condition_known(const Lowering *lowering, const Value *value, bool *result) {
    Truth truth = (Truth)walk_from(value, truth_within, TRUTH_UNKNOWN, lowering);
    *result = truth == TRUTH_YES;
    return truth != TRUTH_UNKNOWN;
}

static bool is_assumed(const Lowering *lowering, const Value *condition, bool truth, bool holds) {
    for (const LoweringAssumption *known = lowering->assumptions; known; known = known->outer)
        if (known->condition == condition && known->truth == truth && known->holds == holds)
            return true;
    return false;
}

void lowering_assume(Lowering *lowering, const Value *condition, bool truth, bool holds) {
    if (is_assumed(lowering, condition, truth, holds)) return;
    LoweringAssumption *assumption = ARENA_NEW(lowering->arena, LoweringAssumption);
    *assumption = (LoweringAssumption){condition, truth, holds, lowering->assumptions};
    lowering->assumptions = assumption;
    const Op *op = condition->op;
    if (!op || condition->type.rank > 0) return;
    if (op->code == OP_LOGICAL_NOT) lowering_assume(lowering, op->operands[0], !truth, holds);
    bool splits = (op->code == OP_LOGICAL_AND && truth) || (op->code == OP_LOGICAL_OR && !truth);
    for (int i = 0; splits && i < 2; i++) lowering_assume(lowering, op->operands[i], truth, holds);
}
