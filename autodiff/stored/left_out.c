// A mask in; what a value holds in the elements that it leaves out, by each of its parts, out.
#include "autodiff/stored/left_out.h"

#include "analysis/ir/limits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/finiteness/finiteness_parts.h"
#include "autodiff/rewrite/algebra.h"

enum { MOST_READERS_DEEP = 6 };

typedef struct Parts {
    const Value *items[MASK_MOST_PARTS];
    int count;
    bool is_cut;
} Parts;

static void add_parts(Parts *parts, const Value *mask) {
    const Op *op = mask->op;
    if (op && op->code == OP_BROADCAST_TO) {
        add_parts(parts, op->operands[0]);
    } else if (parts->count == MASK_MOST_PARTS) {
        parts->is_cut = true;
    } else if (op && op_joins_truths(op, false)) {
        for (int i = 0; i < 2 && !parts->is_cut; i++) add_parts(parts, op->operands[i]);
    } else {
        parts->items[parts->count++] = mask;
    }
}

static Parts parts_of(const Value *mask) {
    Parts parts = {0};
    add_parts(&parts, mask);
    return parts;
}

bool mask_is_within(const Value *narrow, const Value *wide) {
    Parts parts = parts_of(narrow), wanted = parts_of(wide);
    if (parts.is_cut || wanted.is_cut) return false;
    for (int i = 0; i < wanted.count; i++) {
        bool found = false;
        for (int k = 0; k < parts.count && !found; k++) found = parts.items[k] == wanted.items[i];
        if (!found) return false;
    }
    return true;
}

/// The condition that leaves out what this part of a mask does; -1: there is none.
static int condition_of(const Finiteness *finiteness, const Value *part) {
    for (int i = 0; i < finiteness_condition_count(finiteness); i++) {
        const Condition *condition = finiteness_condition(finiteness, i);
        int axis;
        bool is_it = condition->part_count == 1 && !condition->parts[0].is_negated &&
                     condition_is(&condition->parts[0], part, &axis);
        if (is_it) return i;
    }
    return -1;
}

/// Whether an op that acts leaves the elements of the slot out, or goes away.
static bool acts_elsewhere(const LeftOut *left, const Op *op, const Value *value, Slot slot) {
    if (store_is_of_forward(op, left->ours)) return true;
    Value *mask = access_mask(op);
    bool is_given = op->code == OP_STORE || op->code == OP_ATOMIC_ADD;
    return is_given && mask && op->operands[1] == value &&
           fact_is_false(finiteness_fact(left->finiteness, mask, slot));
}

/// Whether what a value holds in the slot gets into nothing that is not meant to be 0 there.
static bool is_unseen(const LeftOut *left, const Value *value, Slot slot, int depth) {
    if (depth == MOST_READERS_DEEP) return false;
    const OpList *readers = value_readers(left->readers, value);
    for (LIST_EACH(int, i, *readers)) {
        const Op *op = readers->items[i];
        const Value *result = op->result_count == 1 ? op->results[0] : NULL;
        if (!result || op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC)) {
            if (!acts_elsewhere(left, op, value, slot)) return false;
            continue;
        }
        if (!map_has_pointer(&left->needed->values, result)) continue;
        if (!op_is_elementwise(op) || !same_shape(result->type, value->type)) return false;
        const Fact fact = finiteness_fact(left->finiteness, result, slot);
        bool is_nothing = fact.is_zero || fact_is(fact, 0);
        if (!is_nothing && !is_unseen(left, result, slot, depth + 1)) return false;
    }
    return true;
}

/// What a part of the mask leaves out, with that part's condition assumed to fail.
static bool part_is_number(const LeftOut *left, const Value *mask, const Value *value,
                           bool *is_known, double *number) {
    bool is_found = false;
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) {
        const Condition *condition = left->finiteness->condition;
        if ((slot == SLOT_COUNTS) != (condition->reach == REACH_ALL)) continue;
        if (slot && !finiteness_varies(left->finiteness, value, slot)) continue;
        if (!fact_is_false(finiteness_fact(left->finiteness, mask, slot))) continue;
        const Fact fact = finiteness_fact(left->finiteness, value, slot);
        is_found = true;
        bool is_number = fact.low == fact.high && !fact.may_be_nan;
        if (is_number && *is_known && fact.low == *number) continue;
        if (is_number && !*is_known) {
            *is_known = true;
            *number = fact.low;
        } else if (!is_unseen(left, value, slot, 0)) {
            return false;
        }
    }
    return is_found;
}

bool left_out_is_number(const LeftOut *left, Value *mask, Value *value, bool *is_known,
                        double *number) {
    Parts parts = parts_of(mask);
    bool was_known = *is_known;
    double was = *number;
    bool is_right = !parts.is_cut;
    for (int i = 0; i < parts.count && is_right; i++) {
        int condition = condition_of(left->finiteness, parts.items[i]);
        is_right = condition >= 0;
        if (!is_right) break;
        finiteness_assume(left->finiteness, condition);
        is_right = part_is_number(left, mask, value, is_known, number);
    }
    if (!is_right) {
        *is_known = was_known;
        *number = was;
    }
    return is_right;
}

bool left_out_is_unseen(const LeftOut *left, const Value *mask, const Value *known,
                        const Value *value) {
    Parts parts = parts_of(mask), others = parts_of(known);
    if (parts.is_cut || others.is_cut) return false;
    for (int i = 0; i < parts.count; i++) {
        bool is_known = false, is_found = false;
        for (int k = 0; k < others.count; k++)
            is_known = is_known || others.items[k] == parts.items[i];
        if (is_known) continue;
        int condition = condition_of(left->finiteness, parts.items[i]);
        if (condition < 0) return false;
        finiteness_assume(left->finiteness, condition);
        for (Slot slot = 1; slot < MASK_MOST_SLOTS; slot++) {
            if (!finiteness_varies(left->finiteness, value, slot) ||
                !fact_is_false(finiteness_fact(left->finiteness, mask, slot)))
                continue;
            is_found = true;
            if (!is_unseen(left, value, slot, 0)) return false;
        }
        if (!is_found) return false;
    }
    return true;
}
