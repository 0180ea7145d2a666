// Which digits a kernel makes of its program ids: each division splits an id, or a digit of it, in two.
#include "autodiff/extents/program_splits.h"

#include "analysis/addresses/axis.h"
#include "analysis/build/value_poly.h"

static const ProgramSplit *split_of(const StoredSearch *coverage, const Value *whole) {
    for (int i = 0; i < coverage->split_count; i++)
        if (coverage->splits[i].whole == whole) return &coverage->splits[i];
    return NULL;
}

static Value *stand_in(Arena *arena, int id) {
    Value *value = ARENA_NEW(arena, Value);
    *value = (Value){.id = id, .type.kind = TYPE_NUMBER};
    return value;
}

/// Splits a digit; NULL where there are too many, or the launcher does not know the divisor.
static const ProgramSplit *split_digit(StoredSearch *coverage, Value *whole, const Poly *by) {
    enum { FIRST_ID = -2000000 };
    if (coverage->split_count == STORED_MOST_SPLITS || !poly_text(coverage, by)) return NULL;
    int number = coverage->split_count++;
    ProgramSplit *split = &coverage->splits[number];
    *split = (ProgramSplit){.whole = whole,
                            .by = by,
                            .above = stand_in(coverage->arena, FIRST_ID - 2 * number),
                            .below = stand_in(coverage->arena, FIRST_ID - 2 * number - 1)};
    return split;
}

/// `whole // by`, or `whole % by`, in digits. A further split is made where `search` is given. NULL where the divisor is neither a
/// multiple nor a part of the ones before.
static const Poly *divide(const StoredSearch *coverage, StoredSearch *search, Value *whole,
                          bool is_quotient, const Poly *by) {
    Arena *arena = coverage->arena;
    const ProgramSplit *split = split_of(coverage, whole);
    if (!split && search) split = split_digit(search, whole, by);
    if (!split) return NULL;
    const Poly *above = poly_atom(arena, split->above), *below = poly_atom(arena, split->below);
    if (poly_equal(split->by, by)) return is_quotient ? above : below;
    const Poly *times = poly_divide_exact(arena, by, split->by);
    if (times) {
        const Poly *part = divide(coverage, search, split->above, is_quotient, times);
        if (!part || is_quotient) return part;
        return poly_add(arena, poly_multiply(arena, part, split->by), below);
    }
    times = poly_divide_exact(arena, split->by, by);
    if (!times) return NULL;
    const Poly *part = divide(coverage, search, split->below, is_quotient, by);
    if (!part || !is_quotient) return part;
    return poly_add(arena, poly_multiply(arena, above, times), part);
}

static bool is_division(const Value *atom) {
    return atom->op && (atom->op->code == OP_FLOORDIV || atom->op->code == OP_MOD);
}

/// The one digit that a polynomial is; NULL where it is something else.
static Value *digit_of(const StoredSearch *coverage, const Poly *poly) {
    bool is_atom = poly && poly->count == 1 && poly->terms[0].atom_count == 1;
    Value *atom = is_atom ? poly->terms[0].atoms[0] : NULL;
    if (!atom || !poly_equal(poly, poly_atom(coverage->arena, atom))) return NULL;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (atom == coverage->programs[axis]) return atom;
    for (int i = 0; i < coverage->split_count; i++)
        if (atom == coverage->splits[i].above || atom == coverage->splits[i].below) return atom;
    return value_is_loop_variable(atom) && loop_deals_programs(coverage, atom->region->parent)
               ? atom
               : NULL;
}

bool digit_is_split(const StoredSearch *coverage, const Value *whole) {
    return split_of(coverage, whole) != NULL;
}

/// An id or a digit in those that it is split into: `by * above + below`.
static const Poly *in_digits(const StoredSearch *coverage, Value *whole) {
    Arena *arena = coverage->arena;
    const ProgramSplit *split = split_of(coverage, whole);
    if (!split) return poly_atom(arena, whole);
    const Poly *above = in_digits(coverage, split->above);
    return poly_add(arena, poly_multiply(arena, above, split->by),
                    in_digits(coverage, split->below));
}

/// The id, or the digit of one, that a polynomial is; NULL where it is something else.
static Value *whole_of(const StoredSearch *coverage, const Poly *poly) {
    for (int i = 0; i < coverage->split_count; i++) {
        Value *whole = coverage->splits[i].whole;
        if (poly_equal(poly, in_digits(coverage, whole))) return whole;
    }
    return digit_of(coverage, poly);
}

/// How many values a digit has; NULL where no polynomial says it.
static const Poly *extent_of(const StoredSearch *coverage, const Value *digit) {
    Arena *arena = coverage->arena;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (digit == coverage->programs[axis]) return poly_atom(arena, coverage->extents[axis]);
    for (int i = 0; i < coverage->split_count; i++) {
        const ProgramSplit *split = &coverage->splits[i];
        if (digit == split->below) return split->by;
        if (digit != split->above) continue;
        const Poly *all = extent_of(coverage, split->whole);
        return all ? poly_divide_exact(arena, all, split->by) : NULL;
    }
    return NULL;
}

/// A sum of a digit that is below `by` and of multiples of `by`, divided; NULL where it is something else.
static const Poly *divide_sum(const StoredSearch *coverage, const Poly *sum, bool is_quotient,
                              const Poly *by) {
    Arena *arena = coverage->arena;
    for (int i = 0; i < 2 * coverage->split_count; i++) {
        const ProgramSplit *split = &coverage->splits[i / 2];
        Value *digit = i % 2 ? split->above : split->below;
        const Poly *extent = extent_of(coverage, digit), *weight, *rest;
        if (!extent || !poly_equal(extent, by) || !poly_split(arena, sum, digit, &weight, &rest) ||
            !poly_is_one(weight))
            continue;
        const Poly *quotient = poly_divide_exact(arena, rest, by);
        if (quotient) return is_quotient ? quotient : poly_atom(arena, digit);
    }
    return NULL;
}

static const Poly *divided_atom(const StoredSearch *coverage, StoredSearch *search, Value *atom) {
    const Op *op = atom->op;
    const Poly *number = value_poly(coverage->arena, op->operands[0]);
    const Poly *by = with_programs(coverage, value_poly(coverage->arena, op->operands[1]));
    bool is_quotient = op->code == OP_FLOORDIV;
    number = with_programs(coverage, number);
    Value *whole = whole_of(coverage, number);
    return whole ? divide(coverage, search, whole, is_quotient, by)
                 : divide_sum(coverage, number, is_quotient, by);
}

const Poly *split_of_atom(const StoredSearch *coverage, Value *atom) {
    if (split_of(coverage, atom)) return in_digits(coverage, atom);
    return coverage->split_count && is_division(atom) ? divided_atom(coverage, NULL, atom) : NULL;
}

/// Splits for a division, and before it for those that it divides further.
static void find_split(StoredSearch *coverage, Value *atom) {
    if (!is_division(atom)) return;
    const Poly *number = value_poly(coverage->arena, atom->op->operands[0]);
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            find_split(coverage, number->terms[t].atoms[i]);
    divided_atom(coverage, coverage, atom);
}

void find_splits(StoredSearch *coverage, const Poly *base) {
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++)
            find_split(coverage, base->terms[t].atoms[i]);
}

void add_split_digits(StoredSearch *coverage, StoredDigit whole) {
    const ProgramSplit *split = split_of(coverage, whole.atom);
    if (!split) {
        StoredDigit *digit = add_digit(coverage);
        if (digit) *digit = whole;
        return;
    }
    Arena *arena = coverage->arena;
    const Poly *quotient = whole.extent ? poly_divide_exact(arena, whole.extent, split->by) : NULL;
    StoredDigit above = {.atom = split->above, .extent = quotient, .is_quotient = true};
    const char *all = whole.extent ? factor_text(coverage, whole.extent) : whole.count;
    const char *by = poly_text(coverage, split->by);
    if (!quotient && all) above.count = arena_printf(arena, "%s // max(%s, 1)", all, by);
    add_split_digits(coverage, above);
    add_split_digits(coverage, (StoredDigit){.atom = split->below, .extent = split->by});
}
