// Two expressions are walked side by side; a pair that was met before is taken for equal.
#include "autodiff/addresses/alike.h"

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"

static bool alike_within(ValueWalk *walk, const Value *a, const Value *b, const Value *of_a,
                         const Value *of_b) {
    if (a == b) return true;
    if (!a || !b) return false;
    if (a == of_a && b == of_b) return true;
    if (!a->op || !b->op || a->op->code != b->op->code || a->index != b->index) return false;
    if (a->op->region_count || a->op->operand_count != b->op->operand_count) return false;
    if (!op_is_pure(a->op) && a->op->code != OP_LOAD) return false;
    if (a->op->code == OP_CONSTANT) return false;  // shared constants are the same value
    WalkPair pair = walk_pair(walk, a, b);
    if (pair != WALK_PAIR_NEW) return pair == WALK_PAIR_KNOWN;
    for (int i = 0; i < a->op->operand_count; i++)
        if (!alike_within(walk, a->op->operands[i], b->op->operands[i], of_a, of_b)) return false;
    return true;
}

bool expressions_alike(const Value *a, const Value *b, const Value *of_a, const Value *of_b) {
    ValueWalk walk;
    walk_start(&walk, NULL, 0, NULL);
    return alike_within(&walk, a, b, of_a, of_b);
}

bool loops_have_one_range(const Op *a, const Op *b) {
    enum { RANGE = 3 };  // start, end, step
    for (int i = 0; i < RANGE; i++) {
        int64_t x, z;
        bool is_same =
            a->operands[i] == b->operands[i] ||
            (value_is_int(a->operands[i], &x) && value_is_int(b->operands[i], &z) && x == z);
        if (!is_same) return false;
    }
    return a->keyword_count == 0 && b->keyword_count == 0;
}
