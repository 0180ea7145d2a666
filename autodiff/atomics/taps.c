// From additions at shifted places, in loops over taps or beside each other, to one: the owner of an element asks each of its readers.
// Unlike neighbours.c, elements may be shifted along several axes, and each has to have an owner.
#include "autodiff/atomics/taps.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/type.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/tap_bounds.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"

enum {
    MOST_READS = 12,    // of one tensor: beyond, atomics stay
    MOST_COPIED = 256,  // values that each of them is made of
};

/* ---- loops ---- */

/// Whether a loop's bounds are known to the compiler: then it goes over taps, and not over blocks.
static bool is_over_taps(const Op *loop) {
    int64_t one;
    if (loop->code != OP_STATIC_FOR && loop->code != OP_FOR) return false;
    for (int i = 0; i < 3; i++)
        if (!loop->operands[i]->constant && !loop->operands[i]->type.is_constexpr) return false;
    return value_is_int(loop->operands[2], &one) && one == 1;
}

static bool find_loops(TapRead *read) {
    const Region *region = read->statement->op->parent;
    Op *inner[MOST_TAP_LOOPS];
    for (; region->parent; region = region->parent->parent) {
        if (read->depth == MOST_TAP_LOOPS || !is_over_taps(region->parent)) return false;
        inner[read->depth++] = region->parent;
    }
    for (int i = 0; i < read->depth && i < MOST_TAP_LOOPS; i++)
        read->loops[i] = inner[read->depth - 1 - i];
    return true;
}

/* ---- coordinates and distances ---- */

/// What the programs and lanes of a statement number, of its address.
static bool find_coordinates(Taps *taps, const Affine *form, const Type *tile) {
    bool is_absorbed[PROGRAM_AXES] = {false};
    Value *const *programs = taps->state->versions.axes->programs;
    for (int k = 0; k < form->rank; k++) {
        if (poly_is_zero(form->lane[k])) continue;
        for (int i = 0; i < k; i++)  // what counts the lanes along one axis may count others
            if (poly_equal(tile->dims[i], tile->dims[k])) return false;
        Coordinate found = {.axis = -1, .size = tile->dims[k], .lane = k, .weight = form->lane[k]};
        for (int axis = 0; axis < PROGRAM_AXES && found.size; axis++) {
            const Poly *weight, *rest;
            if (!programs[axis] ||
                !poly_split(taps->arena, form->base, programs[axis], &weight, &rest) ||
                !poly_equal(weight, poly_multiply(taps->arena, found.size, found.weight)))
                continue;
            found.axis = axis;
            found.program = programs[axis];
            is_absorbed[axis] = true;
            break;
        }
        if (!found.size || taps->count == MOST_COORDINATES) return false;
        taps->coordinates[taps->count++] = found;
    }
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const Poly *weight, *rest;
        if (!programs[axis] || is_absorbed[axis]) continue;
        if (!poly_split(taps->arena, form->base, programs[axis], &weight, &rest)) return false;
        if (poly_is_zero(weight)) continue;
        if (taps->count == MOST_COORDINATES) return false;
        taps->coordinates[taps->count++] =
            (Coordinate){.axis = axis, .program = programs[axis], .weight = weight};
    }
    return taps->count > 0;
}

static const Poly *poly_of(Arena *arena, const Monomial *term) {
    const Poly *poly = poly_constant(arena, term->coefficient);
    for (int i = 0; i < term->atom_count; i++)
        poly = poly_multiply(arena, poly, poly_atom(arena, term->atoms[i]));
    return poly;
}

/// How many atoms the step of a coordinate has: a row's step has more than a column's. -1: it is no product.
static int step_atoms(const Coordinate *coordinate) {
    return coordinate->weight->count == 1 ? coordinate->weight->terms[0].atom_count : -1;
}

/// Parts an address's distance into steps of the coordinates, the longest steps first. False where something is left.
static bool find_steps(const Taps *taps, const Poly *between, const Poly **steps) {
    for (int c = 0; c < taps->count; c++) steps[c] = poly_constant(taps->arena, 0);
    for (int t = 0; t < between->count; t++) {
        const Poly *term = poly_of(taps->arena, &between->terms[t]), *best = NULL;
        int found = -1;
        for (int c = 0; c < taps->count; c++) {
            int atoms = step_atoms(&taps->coordinates[c]);
            if (atoms < 0 || (found >= 0 && atoms <= step_atoms(&taps->coordinates[found])))
                continue;
            const Poly *quotient =
                poly_divide_exact(taps->arena, term, taps->coordinates[c].weight);
            if (!quotient) continue;
            best = quotient;
            found = c;
        }
        if (found < 0) return false;
        steps[found] = poly_add(taps->arena, steps[found], best);
    }
    return true;
}

/// The part of an address that only iterations and numbers of the compiler's are in, times steps of the coordinates.
static const Poly *tap_part(const Taps *taps, const TapRead *read, const Poly *base,
                            bool has_constants) {
    const Poly *part = poly_constant(taps->arena, 0);
    for (int t = 0; t < base->count; t++) {
        const Monomial *term = &base->terms[t];
        bool has_variable = false, has_other = false;
        for (int i = 0; i < term->atom_count; i++) {
            const Value *atom = term->atoms[i];
            bool is_variable = false, is_step = false;
            for (int k = 0; k < read->depth; k++) is_variable |= atom == tap_variable(read, k);
            for (int c = 0; c < taps->count; c++)
                is_step |= poly_mentions(taps->coordinates[c].weight, atom);
            has_variable |= is_variable;
            has_other |= !is_variable && !is_step && !atom->type.is_constexpr;
        }
        if (has_variable || (has_constants && !has_other))
            part = poly_add(taps->arena, part, poly_of(taps->arena, term));
    }
    return part;
}

/// In which iteration of its loops a read is that of its own element. False where it is in none for certain.
static bool find_own_iteration(Taps *taps) {
    const TapRead *own = &taps->reads[taps->own];
    for (int i = 0; i < own->depth; i++) {
        Value *variable = tap_variable(own, i);
        const Poly *first = value_poly(taps->arena, own->loops[i]->operands[0]),
                   *last = poly_subtract(taps->arena,
                                         value_poly(taps->arena, own->loops[i]->operands[1]),
                                         poly_constant(taps->arena, 1));
        taps->at[i] = first;
        for (int c = 0; c < taps->count; c++) {
            const Poly *slope, *rest, *at;
            if (!poly_mentions(own->distance[c], variable)) continue;
            if (!poly_split(taps->arena, own->distance[c], variable, &slope, &rest)) return false;
            at = poly_divide_exact(taps->arena,
                                   poly_subtract(taps->arena, poly_constant(taps->arena, 0), rest),
                                   slope);
            if (!at || poly_is_zero(slope)) return false;
            for (int k = 0; k < own->depth; k++)
                if (poly_mentions(at, tap_variable(own, k))) return false;
            taps->at[i] = at;
        }
        if (!tap_is_never_negative(taps, own, poly_subtract(taps->arena, taps->at[i], first)) ||
            !tap_is_never_negative(taps, own, poly_subtract(taps->arena, last, taps->at[i])))
            return false;
    }
    for (int c = 0; c < taps->count; c++)
        if (!poly_is_zero(tap_at_own(taps, own->distance[c]))) return false;
    return true;
}

/// With the elements of one read as those that owners have. `has_constants`: numbers in its address count as a shift.
static bool find_distances(Taps *taps, bool has_constants) {
    Affine *forms = ARENA_ARRAY(taps->arena, Affine, taps->read_count);
    for (int i = 0; i < taps->read_count; i++) {
        Access access = access_of(taps->arena, taps->reads[i].statement->op);
        forms[i] = access.offset;
        if (!access.parameter || !forms[i].known || forms[i].wrapped) return false;
    }
    const TapRead *own = &taps->reads[taps->own];
    const Affine *form = &forms[taps->own];
    const Poly *shift = tap_part(taps, own, form->base, has_constants && own->depth);
    if (!own->depth) shift = poly_constant(taps->arena, 0);
    const Poly *still = poly_subtract(taps->arena, form->base, shift);
    for (int i = 0; i < taps->read_count; i++) {
        if (forms[i].rank != form->rank) return false;
        for (int k = 0; k < form->rank; k++)
            if (!poly_equal(forms[i].lane[k], form->lane[k])) return false;
        const Poly *between = poly_subtract(taps->arena, forms[i].base, still);
        if (!find_steps(taps, between, taps->reads[i].distance)) return false;
    }
    return find_own_iteration(taps);
}

/* ---- the new statement ---- */

typedef struct TapWriting {
    Taps *taps;
    Builder b;
    Value *numbers[MOST_COORDINATES];  // the owner's
} TapWriting;

static Value *find_number(const Taps *taps, const Coordinate *coordinate, Value *value, int *left) {
    if (!value || (*left)-- <= 0) return NULL;
    if (value_is_coordinate(taps->arena, coordinate, value)) return value;
    Value *found = NULL;
    for (int i = 0; value->op && i < value->op->operand_count && !found; i++)
        found = find_number(taps, coordinate, value->op->operands[i], left);
    return found;
}

/// What counts the owner's coordinates.
static bool find_numbers(TapWriting *writing) {
    const Taps *taps = writing->taps;
    const TapRead *own = &taps->reads[taps->own];
    for (int c = 0; c < taps->count; c++) {
        const Coordinate *coordinate = &taps->coordinates[c];
        int left = MOST_COPIED;
        Value *found = coordinate->size
                           ? find_number(taps, coordinate, own->statement->op->operands[0], &left)
                           : coordinate->program;
        if (!found || (own->depth && found->op && op_is_within(found->op, own->loops[0])))
            return false;
        writing->numbers[c] = coordinate_number(&writing->b, coordinate, found);
    }
    return true;
}

static OtherReader reader_at(const TapWriting *writing, Builder *b, const TapRead *read) {
    const Taps *taps = writing->taps;
    OtherReader reader = {.function = taps->state->backward,
                          .builder = b,
                          .coordinates = taps->coordinates,
                          .count = taps->count,
                          .rank = read->statement->op->operands[0]->type.rank,
                          .nest = read->depth ? read->loops[0] : NULL,
                          .copies = map_new(taps->arena),
                          .left = MOST_COPIED};
    for (int c = 0; c < taps->count; c++) {
        reader.distances[c] = read->distance[c];
        reader.owners[c] = writing->numbers[c];
    }
    return reader;
}

/// A value of the owner's own read, behind all loops.
static Value *own_value(const TapWriting *writing, Value *value) {
    Builder b = writing->b;
    const Taps *taps = writing->taps;
    const TapRead *own = &taps->reads[taps->own];
    OtherReader reader = reader_at(writing, &b, own);
    for (int i = 0; i < own->depth; i++)
        map_set_pointer(&reader.copies, tap_variable(own, i), build_poly(&b, taps->at[i]));
    return reader_value(&reader, value);
}

/// Puts the coordinates of a reader in place, and says whether it is one of the launch.
static bool move(const TapWriting *writing, OtherReader *reader, const TapRead *read) {
    const Taps *taps = writing->taps;
    const Poly *zero = poly_constant(taps->arena, 0);
    Builder *b = reader->builder;
    for (int c = 0; c < taps->count; c++) {
        const Poly *distance = read->distance[c];
        if (poly_is_zero(distance)) continue;
        bool comes_before = tap_is_never_positive(taps, read, distance);
        Value *step =
            poly_copied(b, comes_before ? poly_subtract(taps->arena, zero, distance) : distance,
                        &reader->copies);
        if (!step) return false;
        Value *number = build_binary(b, comes_before ? OP_ADD : OP_SUB, writing->numbers[c], step);
        reader->numbers[c] = number;
        if (!comes_before) reader->inside[c] = build_binary(b, OP_GE, number, build_int(b, 0));
        if (!tap_is_never_negative(taps, read, distance))
            reader->inside[c] = conditions_both(
                b, reader->inside[c],
                build_binary(b, OP_LT, number, coordinate_end(b, &taps->coordinates[c])));
    }
    return true;
}

/// What a reader adds to the owner's element, 0 where it does not read it. NULL where that cannot be made.
static Value *reader_term(const TapWriting *writing, OtherReader *reader, const TapRead *read) {
    const Op *op = read->statement->op;
    Builder *b = reader->builder;
    TapConditions conditions = tap_conditions(writing->taps->arena, access_mask(op));
    if (!move(writing, reader, read)) return NULL;
    Value *mask = NULL, *value = reader_value(reader, op->operands[1]);
    if (!value) return NULL;
    for (LIST_EACH(int, i, conditions)) {
        Value *condition = conditions.items[i];
        if (tap_condition_is_owners(writing->taps, condition, read)) continue;
        condition = reader_value(reader, condition);
        if (!condition) return NULL;
        mask = conditions_both(b, mask, condition);
    }
    for (int c = 0; c < reader->count; c++) {
        if (!reader->inside[c]) continue;
        Value *inside = coordinate_spread(b, &reader->coordinates[c], reader->inside[c],
                                          reader->rank, reader->rank);
        if (!inside) return NULL;
        mask = conditions_both(b, mask, inside);
    }
    return mask ? build_ternary(b, OP_WHERE, mask, value, build_float(b, 0.0)) : value;
}

/// The sum over the loops of a read from `loop` on.
static Value *sum_over_loops(const TapWriting *writing, OtherReader *reader, const TapRead *read,
                             int loop, Value *sum) {
    Builder *outside = reader->builder;
    if (loop >= read->depth || loop >= MOST_TAP_LOOPS) {
        Value *term = reader_term(writing, reader, read);
        return term ? build_binary(outside, OP_ADD, sum, term) : NULL;
    }
    const Op *from = read->loops[loop];
    const Value *variable = tap_variable(read, loop);
    Function *function = outside->function;
    Value *operands[] = {from->operands[0], from->operands[1], from->operands[2], sum};
    // Readers that run a loop themselves are not written out one by one: text and compiler would have the square of it.
    bool is_long = value_needs_loop(read->statement->op->operands[1]);
    Op *made = op_append(outside, is_long ? OP_FOR : from->code, operands, 4, 0);
    made->range = from->range;
    made->note = from->note;
    Builder inside = {
        .function = function, .region = op_add_region(outside, made), .range = outside->range};
    Type number = variable->type;
    if (is_long) number.is_constexpr = false;
    Value *own = region_add_argument(function, inside.region, number, variable->name);
    Value *carried = region_add_argument(function, inside.region, sum->type, sum->name);
    map_set_pointer(&reader->copies, variable, own);
    reader->builder = &inside;
    Value *next = sum_over_loops(writing, reader, read, loop + 1, carried);
    reader->builder = outside;
    if (!next) return NULL;
    op_append(&inside, OP_YIELD, &next, 1, 0);
    Value *result = op_append_result(function, made, sum->type);
    result->name = sum->name;
    return result;
}

static Value *add_read(const TapWriting *writing, Builder *b, const TapRead *read, Value *sum) {
    OtherReader reader = reader_at(writing, b, read);
    if (read->depth) {
        const Op *op = read->statement->op;
        Value *zeros = zeros_added(b, op);
        if (!zeros || zeros->type.rank == 0) return NULL;
        zeros->name = op->operands[1]->name;
        Value *all = sum_over_loops(writing, &reader, read, 0, zeros);
        return all && sum ? build_binary(b, OP_ADD, sum, all) : all;
    }
    Value *term = reader_term(writing, &reader, read);
    return term && sum ? build_binary(b, OP_ADD, sum, term) : term;
}

/// The owner's mask, as far as it is none that all owners meet. False where a reader touches elements beyond it.
static bool own_mask(const TapWriting *writing, Value **mask) {
    const Taps *taps = writing->taps;
    const Op *op = taps->reads[taps->own].statement->op;
    TapConditions conditions = tap_conditions(taps->arena, access_mask(op));
    Builder b = writing->b;
    *mask = NULL;
    for (LIST_EACH(int, i, conditions)) {
        Value *condition = conditions.items[i];
        for (int k = 0; k < taps->read_count; k++)
            if (!tap_condition_holds(taps, condition, &taps->reads[k])) return false;
        if (tap_condition_is_idle(taps, condition)) continue;
        Value *own = own_value(writing, condition);
        if (!own) return false;
        *mask = conditions_both(&b, *mask, own);
    }
    return true;
}

static Op *outermost(const TapRead *read) {
    return read->depth ? read->loops[0] : read->statement->op;
}

static Builder behind_last(const Taps *taps) {
    Op *last = outermost(&taps->reads[0]);
    for (int i = 1; i < taps->read_count; i++)
        if (op_precedes(last, outermost(&taps->reads[i]))) last = outermost(&taps->reads[i]);
    return (Builder){.function = taps->state->backward,
                     .region = last->parent,
                     .before = last->next,
                     .range = taps->reads[taps->own].statement->range};
}

static Op *make_statement(Taps *taps) {
    TapWriting writing = {.taps = taps, .b = behind_last(taps)};
    Value *mask, *sum = NULL;
    for (int i = 0; i < taps->read_count; i++)
        if (!tap_has_owners(taps, &taps->reads[i])) return NULL;
    if (!find_numbers(&writing) || !own_mask(&writing, &mask)) return NULL;
    Value *pointer = own_value(&writing, taps->reads[taps->own].statement->op->operands[0]);
    for (int i = 0; i < taps->read_count && (i == 0 || sum); i++)
        sum = add_read(&writing, &writing.b, &taps->reads[i], sum);
    if (!pointer || !sum) return NULL;
    return build(&writing.b, OP_ATOMIC_ADD, (Value *[]){pointer, sum, mask}, 3)->op;
}

Op *taps_gather(Differentiation *state, const Accumulation *group, int count,
                TapsCheck *is_private) {
    Taps taps = {.state = state, .arena = state->arena, .read_count = count};
    if (count > MOST_READS) return NULL;
    taps.reads = ARENA_ARRAY(state->arena, TapRead, count);
    for (int i = 0; i < count; i++) {
        taps.reads[i].statement = &group[i];
        if (!find_loops(&taps.reads[i])) return NULL;
    }
    Access access = access_of(state->arena, group[0].op);
    if (!access.parameter || !access.offset.known || access.offset.wrapped ||
        !find_coordinates(&taps, &access.offset, &group[0].op->operands[0]->type))
        return NULL;
    for (int own = 0; own < 2 * count; own++) {
        taps.own = own / 2;
        if (own % 2 && !taps.reads[taps.own].depth) continue;
        Op *made = find_distances(&taps, own % 2 == 0) ? make_statement(&taps) : NULL;
        if (!made) continue;
        Accumulation statement = group[taps.own];
        statement.op = made;
        if (is_private(state, &statement)) return made;
        op_remove(made);
    }
    return NULL;
}
