// Polynomials of sizes and strides in; what holds of them whatever the launch passes, out.
#include "analysis/addresses/strides.h"

#include "analysis/build/infer.h"
#include "analysis/ir/walk.h"

bool poly_is_nonnegative(Arena *arena, const Poly *poly) {
    if (!poly) return false;
    int64_t least = 0;  // what it is where all atoms are 1
    bool any_negative = false;
    for (int t = 0; t < poly->count; t++) {
        least += poly->terms[t].coefficient;
        any_negative = any_negative || poly->terms[t].coefficient < 0;
    }
    if (!any_negative || least < 0) return !any_negative;
    const Poly *one = poly_constant(arena, 1);
    const Poly *shifted = poly;
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            if (a && poly->terms[t].atoms[a - 1] == atom) continue;
            bool done = false;  // each atom once
            for (int u = 0; u < t && !done; u++)
                for (int b = 0; b < poly->terms[u].atom_count; b++)
                    if (poly->terms[u].atoms[b] == atom) done = true;
            if (done) continue;
            shifted =
                poly_substitute(arena, shifted, atom, poly_add(arena, poly_atom(arena, atom), one));
        }
    for (int t = 0; shifted && t < shifted->count; t++)
        if (shifted->terms[t].coefficient < 0) return false;
    return shifted != NULL;
}

/// Whether a value is 0 on one of the ways it is made: `stride if FLAG else 0`.
static intptr_t may_be_zero(ValueWalk *walk, const Value *value) {
    int64_t number;
    if (value_is_int(value, &number)) return number == 0;
    const Op *op = value->op;
    if (!op) return value->may_be_zero;
    switch (op->code) {
    case OP_CAST: return walk_ask(walk, op->operands[0]);
    case OP_WHERE: return walk_ask(walk, op->operands[1]) || walk_ask(walk, op->operands[2]);
    case OP_MUL: return walk_ask(walk, op->operands[0]) || walk_ask(walk, op->operands[1]);
    case OP_IF:
        for (int r = 0; r < 2; r++) {
            const Op *end = region_terminator(op->regions[r]);
            if (!end || value->index >= end->operand_count ||
                walk_ask(walk, end->operands[value->index]))
                return true;
        }
        return false;
    default: return false;
    }
}

bool stride_may_vanish(const Poly *weight) {
    for (int t = 0; t < weight->count; t++)
        for (int a = 0; a < weight->terms[t].atom_count; a++)
            if (walk_from(weight->terms[t].atoms[a], may_be_zero, true, NULL)) return true;
    return false;
}

/// A stride without the numbers in it that a caller chooses.
static const Poly *settled(Arena *arena, const Monomial *term, bool *is_chosen) {
    const Poly *rest = poly_constant(arena, 1);
    for (int a = 0; a < term->atom_count; a++) {
        if (term->atoms[a]->is_chosen)
            *is_chosen = true;
        else
            rest = poly_multiply(arena, rest, poly_atom(arena, term->atoms[a]));
    }
    return rest;
}

bool strides_may_meet(Arena *arena, const Poly *a, const Poly *b) {
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++) {
            bool is_chosen = false;
            const Poly *left = settled(arena, &a->terms[i], &is_chosen);
            const Poly *right = settled(arena, &b->terms[k], &is_chosen);
            if (is_chosen && poly_equal(left, right)) return true;
        }
    return false;
}
