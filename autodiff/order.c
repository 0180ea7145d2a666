// Where two ops stand to each other: before, behind, in arms that exclude each other.
#include "autodiff/order.h"

bool op_precedes(const Op *a, const Op *b) {
    for (const Op *op = a->next; op; op = op->next)
        if (op == b) return true;
    return false;
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
