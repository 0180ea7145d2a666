// Where two ops stand to each other: before, behind, in branches that exclude each other.
#include "autodiff/rewrite/order.h"

static void region_number(Region *region) {
    int number = 0;
    for (Op *op = region->first; op; op = op->next) op->number = number++;
    region->is_numbered = true;
}

bool op_precedes(const Op *a, const Op *b) {
    if (!a->parent || a->parent != b->parent) return false;
    if (!a->parent->is_numbered) region_number(a->parent);
    return a->number < b->number;
}

bool ops_are_exclusive(const Op *a, const Op *b) {
    for (const Region *left = a->parent; left && left->parent; left = left->parent->parent)
        for (const Region *right = b->parent; right && right->parent; right = right->parent->parent)
            if (left->parent == right->parent && left != right && left->parent->code == OP_IF)
                return true;
    return false;
}

void ops_common_level(Op *a, Op *b, Op **in_a, Op **in_b) {
    for (Op *left = a; left; left = left->parent ? left->parent->parent : NULL)
        for (Op *right = b; right; right = right->parent ? right->parent->parent : NULL)
            if (left->parent == right->parent) {
                *in_a = left;
                *in_b = right;
                return;
            }
    *in_a = *in_b = NULL;
}
