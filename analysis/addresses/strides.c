// Polynomials of sizes and strides in; what holds of them whatever the launch passes, out.
#include "analysis/addresses/strides.h"

#include "analysis/addresses/axis.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/limits.h"
#include "analysis/ir/walk.h"

/// 1 or -1: which way a loop goes, where its step is a number, or made of sizes; 0: nobody knows.
static int direction_of(Arena *arena, Value *step) {
    const Poly *by = value_poly(arena, step);
    int direction = 0;
    for (int t = 0; by && t < by->count; t++) {
        int own = by->terms[t].coefficient < 0 ? -1 : 1;
        if (direction && own != direction) return 0;
        direction = own;
    }
    return direction;
}

/// What a loop's variable is at least; NULL: nobody knows, or it is 0.
static const Poly *first_of_loop(Arena *arena, const Value *variable) {
    const Op *loop = variable->region->parent;
    int direction = direction_of(arena, loop->operands[2]);
    if (!direction) return NULL;
    int64_t number;
    const Poly *first = value_poly(arena, loop->operands[direction < 0 ? 1 : 0]);
    if (direction < 0) first = poly_add(arena, first, poly_constant(arena, 1));
    return first && poly_is_constant(first, &number) && number >= 0 ? NULL : first;
}

/// The variables of loops, counted from what they are at least.
static const Poly *in_iterations(Arena *arena, const Poly *poly) {
    const Value *done[LOOPS_MOST_NESTED];
    for (int count = 0; poly && count < LOOPS_MOST_NESTED; count++) {
        Value *variable = NULL;
        for (int t = 0; t < poly->count && !variable; t++)
            for (int a = 0; a < poly->terms[t].atom_count && !variable; a++) {
                Value *atom = poly->terms[t].atoms[a];
                bool is_open = value_is_loop_variable(atom);
                for (int i = 0; i < count; i++) is_open = is_open && done[i] != atom;
                if (is_open) variable = atom;
            }
        if (!variable) break;
        done[count] = variable;
        const Poly *first = first_of_loop(arena, variable);
        if (first)
            poly = poly_substitute(arena, poly, variable,
                                   poly_add(arena, poly_atom(arena, variable), first));
    }
    return poly;
}

/// The first program has number 0, as the first iteration has; sizes and strides are 1 or more.
static bool may_be_zero_atom(const Value *atom) {
    return value_is_loop_variable(atom) || (atom->op && atom->op->code == OP_PROGRAM_ID);
}

static int64_t at_least(const Monomial *term) {
    for (int a = 0; a < term->atom_count; a++)
        if (may_be_zero_atom(term->atoms[a])) return 0;
    return term->coefficient;
}

bool poly_is_nonnegative(Arena *arena, const Poly *poly) {
    poly = in_iterations(arena, poly);
    if (!poly) return false;
    int64_t least = 0;  // what it is where all atoms are as small as they may be
    bool any_negative = false;
    for (int t = 0; t < poly->count; t++) {
        least += at_least(&poly->terms[t]);
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
            if (done || may_be_zero_atom(atom)) continue;
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

/* ---- numbers of the launch ---- */

static intptr_t is_fixed(ValueWalk *walk, const Value *value) {
    if (value->constant || value->type.is_constexpr) return true;
    if (!value->op) return value->region && !value->region->parent;
    const Op *op = value->op;
    if (!op_is_pure(op) || op->operand_count == 0 || op->region_count) return false;
    if (op->code == OP_PROGRAM_ID) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !walk_ask(walk, op->operands[i])) return false;
    return true;
}

bool value_is_of_parameters(const Value *value) { return walk_from(value, is_fixed, false, NULL); }

/* ---- inequalities ---- */

/// The numerator of `atom` = numerator // divisor where that is a single value, or NULL. The divisor is a number, or a size.
static Value *floor_numerator(Arena *arena, const Value *atom, const Poly **divisor) {
    const Op *op = atom->op;
    int64_t number;
    if (!op || op->code != OP_FLOORDIV) return NULL;
    if (value_is_int(op->operands[1], &number) ? number < 1
                                               : !value_is_of_parameters(op->operands[1]))
        return NULL;
    *divisor = value_poly(arena, op->operands[1]);
    return op->operands[0];
}

bool sizes_are_nonnegative(Arena *arena, const Poly *poly) {
    if (poly_is_nonnegative(arena, poly)) return true;
    for (int t = 0; poly && t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            Value *atom = poly->terms[t].atoms[i];
            const Poly *divisor;
            Value *numerator = floor_numerator(arena, atom, &divisor);
            if (!numerator || !poly_mentions(poly, numerator)) continue;
            // numerator = divisor * atom + remainder, remainder = (a value that is at least 1) - 1
            Value *remainder = ARENA_NEW(arena, Value);
            *remainder = *atom;
            remainder->id = -1 - atom->id;
            remainder->op = NULL;
            const Poly *whole = poly_add(
                arena, poly_multiply(arena, divisor, poly_atom(arena, atom)),
                poly_subtract(arena, poly_atom(arena, remainder), poly_constant(arena, 1)));
            const Poly *instead = poly_substitute(arena, poly, numerator, whole);
            if (poly_is_nonnegative(arena, instead)) return true;
        }
    return false;
}
