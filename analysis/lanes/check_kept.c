// A `where` against the mask of the load that it chooses from: one that keeps the lanes that were masked off, and replaces all others.
#include "analysis/checks/check.h"
#include "analysis/ir/limits.h"
#include "analysis/ir/walk.h"

/// The comparisons that a mask is an `and` of.
typedef struct KeptMask {
    const Op *compared[MASK_MOST_PARTS];
    int count;
} KeptMask;

static void collect_parts(KeptMask *parts, Value *mask, int depth) {
    enum { DEEPEST = 8 };
    const Value *value = check_strip(mask);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST || parts->count == MASK_MOST_PARTS) return;
    if (op_has(op->code, TRAIT_BOTH))
        for (int side = 0; side < 2; side++) collect_parts(parts, op->operands[side], depth + 1);
    else if (op_is_ordering(op->code))
        parts->compared[parts->count++] = op;
}

/// What lets through: less, more; and in turn. Of `a < b` where the sides are exchanged, `b > a`.
static bool is_less(const Op *op, bool exchanged) {
    bool less = op->code == OP_LT || op->code == OP_LE;
    return less != exchanged;
}

static bool includes_equal(const Op *op) { return op->code == OP_LE || op->code == OP_GE; }

/// Whether no lane fulfils both: the same two sides, the one less, the other more.
static bool exclude_each_other(const Op *a, bool a_holds, const Op *b) {
    Value *left = check_strip(a->operands[0]), *right = check_strip(a->operands[1]);
    bool is_same = left == check_strip(b->operands[0]) && right == check_strip(b->operands[1]);
    bool is_turned = left == check_strip(b->operands[1]) && right == check_strip(b->operands[0]);
    if (!is_same && !is_turned) return false;
    bool less = is_less(a, false) == a_holds, equal = includes_equal(a) == a_holds;
    return less != is_less(b, is_turned) && !(equal && includes_equal(b));
}

typedef struct KeptLanes {
    const Op *condition;
    bool holds;  // of the lanes that are kept
} KeptLanes;

/// The load whose lanes come through element by element, under a mask that rules the condition out; 0 where there is none.
static intptr_t finds_excluded(ValueWalk *walk, const Value *value) {
    const KeptLanes *kept = walk->context;
    const Op *op = value ? value->op : NULL;
    if (!op || op->region_count) return 0;
    if (op->code == OP_LOAD) {
        KeptMask parts = {.count = 0};
        collect_parts(&parts, check_operand(op, "mask"), 0);
        for (int i = 0; i < parts.count; i++)
            if (exclude_each_other(kept->condition, kept->holds, parts.compared[i]))
                return (intptr_t)op;
        return 0;
    }
    bool passes = check_is_stripped(op) || op_rows[op->code].shape == SHAPE_BROADCAST ||
                  op_rows[op->code].shape == SHAPE_SAME;
    for (int i = 0; passes && i < op->operand_count; i++) {
        intptr_t found = walk_ask(walk, op->operands[i]);
        if (found) return found;
    }
    return 0;
}

void check_kept_lanes(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code != OP_WHERE || op->call) continue;
        const Value *condition = check_strip(op->operands[0]);
        if (!condition || !condition->op || !op_is_ordering(condition->op->code)) continue;
        for (int arm = 1; arm <= 2; arm++) {
            const Value *kept = op->operands[arm], *other = check_strip(op->operands[3 - arm]);
            KeptLanes lanes = {.condition = condition->op, .holds = arm == 1};
            double number;
            bool replaces = other && value_is_number(other, &number);
            intptr_t load = replaces ? walk_from(kept, finds_excluded, 0, &lanes) : 0;
            if (!load) continue;
            Diagnostic *said = check_report(
                check, DIAGNOSTIC_MASK_INVERTED, op,
                "this keeps the lanes that the load masks off, and replaces all that it reads: is "
                "the comparison the other way round?");
            check_relate(check, said, (const Op *)load, "loaded here");
        }
    }
}
