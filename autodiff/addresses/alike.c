// Two expressions are walked side by side; a pair that was met before is taken for equal.
#include "autodiff/addresses/alike.h"

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"

static bool are_twins(const Twins *twins, const Value *a, const Value *b) {
    for (int i = 0; i < twins->count; i++)
        if (a == twins->a[i] && b == twins->b[i]) return true;
    return false;
}

static bool alike_within(ValueWalk *walk, const Value *a, const Value *b) {
    const Twins *twins = walk->context;
    if (a == b) return true;
    if (!a || !b) return false;
    if (are_twins(twins, a, b)) return true;
    if (!a->op || !b->op || a->op->code != b->op->code || a->index != b->index) return false;
    if (a->op->region_count || a->op->operand_count != b->op->operand_count) return false;
    if (!op_is_pure(a->op) && a->op->code != OP_LOAD) return false;
    if (a->op->code == OP_CONSTANT) return false;  // shared constants are the same value
    WalkPair pair = walk_pair(walk, a, b);
    if (pair != WALK_PAIR_NEW) return pair == WALK_PAIR_KNOWN;
    for (int i = 0; i < a->op->operand_count; i++)
        if (!alike_within(walk, a->op->operands[i], b->op->operands[i])) return false;
    return true;
}

bool expressions_are_twins(const Value *a, const Value *b, const Twins *twins) {
    ValueWalk walk;
    walk_start(&walk, NULL, 0, (void *)(uintptr_t)twins);
    return alike_within(&walk, a, b);
}

bool expressions_alike(const Value *a, const Value *b, const Value *of_a, const Value *of_b) {
    const Twins twins = {.a = {of_a}, .b = {of_b}, .count = 1};
    return expressions_are_twins(a, b, &twins);
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
