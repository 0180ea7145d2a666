// `back` of `range(count)` becomes `count - 1 - back`: that is taken where the count goes away.
#include "analysis/addresses/loop_order.h"

#include "analysis/build/infer.h"

/// Whether a number is computed in front of all loops, by no loop: one that counts the turns of a `while` says nothing of the addresses of
/// these turns.
static bool is_computed(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int a = 0; a < number->terms[t].atom_count; a++) {
            const Op *op = number->terms[t].atoms[a]->op;
            if (op && op->region_count) return false;
        }
    return true;
}

const Poly *poly_in_order(Former *former, const Poly *number, const Op *loop) {
    Arena *arena = former_arena(former);
    Value *variable = loop->regions[0]->arguments[0];
    Affine lower = affine_by(former, loop->operands[0]);
    Affine count = affine_by(former, loop->operands[1]);
    Affine step = affine_by(former, loop->operands[2]);
    int64_t one;
    if (!lower.known || !poly_is_zero(lower.base) || !count.known || count.rank || !step.known ||
        !poly_is_constant(step.base, &one) || one != 1 || !poly_mentions(number, variable) ||
        !is_computed(count.base))
        return number;
    const Poly *last = poly_subtract(arena, count.base, poly_constant(arena, 1));
    const Poly *turned = poly_substitute(arena, number, variable,
                                         poly_subtract(arena, last, poly_atom(arena, variable)));
    return turned && turned->count < number->count ? turned : number;
}
