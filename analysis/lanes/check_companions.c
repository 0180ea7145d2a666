// Tensors that a loop walks along beside each other: they begin at one index, and go on by different steps.
#include "analysis/addresses/affine.h"
#include "analysis/build/value_poly.h"
#include "analysis/checks/check.h"

/// One access of a loop: the index of its first iteration, and what an iteration adds.
typedef struct BesideWalk {
    const Access *access;
    const Poly *first, *by;
} BesideWalk;

/// Whether the index is that of some program, by strides: two are not alike by chance.
static bool is_a_programs_own(const Check *check, const Poly *first) {
    if (first->count < 2) return false;
    for (LIST_EACH(int, i, check->program_ids))
        if (poly_depends_on_axis(check->arena, first, check->program_ids.items[i]->results[0]))
            return true;
    return false;
}

static bool read_walk(Check *check, const Access *access, const Op *loop, BesideWalk *walk) {
    const Poly *each, *rest, *base = access->offset.base;
    Value *counter = loop->regions[0]->arguments[0];
    if (access->op->parent->parent != loop || !access->parameter || !access->offset.known ||
        access->offset.wrapped || access->op->operands[0]->type.kind != TYPE_POINTER ||
        !poly_split(check->arena, base, counter, &each, &rest))
        return false;
    const Poly *start = value_poly(check->arena, loop->operands[0]);
    walk->access = access;
    walk->by = poly_multiply(check->arena, each, value_poly(check->arena, loop->operands[2]));
    walk->first = poly_substitute(check->arena, base, counter, start);
    return is_a_programs_own(check, walk->first);
}

static bool begin_alike(const BesideWalk *a, const BesideWalk *b) {
    const Affine *one = &a->access->offset, *other = &b->access->offset;
    if (a->access->parameter == b->access->parameter || one->rank != other->rank || !one->rank ||
        !poly_equal(a->first, b->first))
        return false;
    for (int k = 0; k < one->rank; k++)
        if (!poly_equal(one->lane[k], other->lane[k])) return false;
    return true;
}

static void check_companions_of(Check *check, const Op *loop) {
    LIST(BesideWalk) walks = {0};
    for (LIST_EACH(int, i, check->memory)) {
        BesideWalk walk;
        if (read_walk(check, check->memory.items[i], loop, &walk))
            LIST_PUSH(check->arena, &walks, walk);
    }
    for (int i = 1; i < walks.count; i++)
        for (int k = 0; k < i; k++) {
            const BesideWalk *one = &walks.items[k], *other = &walks.items[i];
            if (!begin_alike(one, other) || poly_equal(one->by, other->by)) continue;
            Diagnostic *said = check_report(
                check, DIAGNOSTIC_LOOP_STEP, other->access->op,
                "%s and %s begin at the same index, and an iteration goes on by %s in the first "
                "and by %s in the second: is one of the two wrong?",
                other->access->parameter->name, one->access->parameter->name,
                poly_print(check->arena, other->by), poly_print(check->arena, one->by));
            check_relate(check, said, one->access->op, "the address");
            check_relate(check, said, loop, "the loop");
            return;
        }
}

void check_companions(Check *check) {
    if (!check->is_entry) return;
    for (LIST_EACH(int, i, check->ops))
        if (check->ops.items[i]->code == OP_FOR && !check->ops.items[i]->call)
            check_companions_of(check, check->ops.items[i]);
}
