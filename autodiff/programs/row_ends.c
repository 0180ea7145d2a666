// `x + program * step + index` under `index < load(lengths + program)`: rows lie on each other where a length is above the step.
#include "autodiff/programs/row_ends.h"

#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/programs/program_ranges.h"
#include "autodiff/rewrite/rewrite.h"

/// The id of the programs whose rows these are, and how far they are apart; NULL: there is none, or more than one.
static Value *row_number(Arena *arena, const Poly *base, const Poly **step, const Poly **rest) {
    Value *id = NULL;
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            if (!value_is_program_id(atom, -1)) continue;
            if (id && id != atom) return NULL;
            id = atom;
        }
    return id && poly_split(arena, base, id, step, rest) ? id : NULL;
}

/// The parameter of which each program loads its own element, in front of all else; NULL: it is no such number.
static const Value *read_by_program(Differentiation *state, Value *value, Value *id) {
    Affine form = affine_of(state->arena, value);
    bool is_atom = form.known && form.base->count == 1 && form.base->terms[0].coefficient == 1 &&
                   form.base->terms[0].atom_count == 1;
    for (int i = 0; is_atom && i < form.rank; i++) is_atom = poly_is_zero(form.lane[i]);
    Value *number = is_atom ? integer_without_casts(form.base->terms[0].atoms[0]) : NULL;
    Op *load = number ? number->op : NULL;
    if (!load || load->code != OP_LOAD || number->type.rank || load->parent->parent) return NULL;
    if (access_mask(load) || !op_is_stable_load(state->primal, load)) return NULL;
    Access access = access_of(state->arena, load);
    bool is_own = access.parameter && access.offset.known && !access.offset.rank &&
                  poly_equal(access.offset.base, poly_atom(state->arena, id));
    return is_own ? access.parameter : NULL;
}

RowEnds row_ends_of(Differentiation *state, StoredSearch *coverage, Op *op) {
    Arena *arena = state->arena;
    RowEnds nothing = {0};
    Access access = access_of(arena, op);
    const Op *mask = access_mask(op) ? access_mask(op)->op : NULL;
    const Poly *step, *rest, *one = poly_constant(arena, 1);
    int64_t axis;
    if (!mask || (mask->code != OP_LT && mask->code != OP_GT)) return nothing;
    if (!access.offset.known || access.offset.rank != 1 || !poly_equal(access.offset.lane[0], one))
        return nothing;
    Value *id = row_number(arena, access.offset.base, &step, &rest);
    Value *index = mask->operands[mask->code == OP_GT], *end = mask->operands[mask->code == OP_LT];
    Affine place = affine_of(arena, index);
    if (!id || !place.known || place.wrapped || place.rank != 1 || !poly_equal(place.base, rest) ||
        !poly_equal(place.lane[0], one) || !value_is_int(id->op->operands[0], &axis))
        return nothing;
    const Value *lengths = read_by_program(state, end, id);
    const char *text = lengths ? poly_text(coverage, step) : NULL;
    if (!text) return nothing;
    return (RowEnds){parameter_of_root(state, lengths)->name, text, (int)axis};
}
