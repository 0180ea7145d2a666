// From additions at neighbouring places to one: the owner of an element asks the programs, or the lanes, that read it. Readers are those of
// the launch alone. A place that no owner has is stored by its reader, where only one read can come to be there.
#include "autodiff/atomics/neighbours.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/type.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/readers.h"
#include "autodiff/atomics/tap_bounds.h"
#include "autodiff/rewrite/order.h"

enum {
    MOST_READS = 8,     // of one tensor: beyond, atomics stay
    MOST_COPIED = 128,  // values that each of them is made of
    FURTHEST = 64,      // places apart
};

typedef struct Read {
    Accumulation *statement;
    int64_t distance;                // of its element from the one that the owner has
    bool falls_below, falls_behind;  // where its owner is none of the launch
} Read;

typedef struct Neighbours {
    Differentiation *state;
    Arena *arena;
    Coordinate coordinate;
    Read *reads;
    int count, own;  // which of them the owners are numbered by
} Neighbours;

/* ---- the coordinate ---- */

static Value *first_program(const Neighbours *all, int axis) {
    return all->state->versions.axes->programs[axis];
}

static bool differs(const Neighbours *all, Value *value) {
    return value_depends_on_axis(all->arena, value, all->coordinate.program);
}

static bool is_coordinate(const Neighbours *all, const Value *value) {
    return value_is_coordinate(all->arena, &all->coordinate, value);
}

/// How many steps of the coordinate lie between two addresses; false where these are no whole steps.
static bool find_distance(const Neighbours *all, const Affine *from, const Affine *to,
                          int64_t *distance) {
    if (to->rank != from->rank) return false;
    for (int i = 0; i < to->rank; i++)
        if (!poly_equal(to->lane[i], from->lane[i])) return false;
    const Poly *between = poly_subtract(all->arena, to->base, from->base), *steps;
    if (poly_is_zero(between)) {
        *distance = 0;
        return true;
    }
    steps = poly_divide_exact(all->arena, between, all->coordinate.weight);
    return steps && poly_is_constant(steps, distance) && *distance <= FURTHEST &&
           *distance >= -FURTHEST;
}

/// Whether all reads are steps of the coordinate apart.
static bool take_coordinate(Neighbours *all) {
    Affine *forms = ARENA_ARRAY(all->arena, Affine, all->count);
    for (int i = 0; i < all->count; i++) {
        Access access = access_of(all->arena, all->reads[i].statement->op);
        if (!access.parameter || !access.offset.known || access.offset.wrapped) return false;
        forms[i] = access.offset;
    }
    for (int i = 0; i < all->count; i++)
        if (!find_distance(all, &forms[all->own], &forms[i], &all->reads[i].distance)) return false;
    return true;
}

/// The programs along an axis, or the lanes of a tile whose programs along it have the next ones each.
static bool set_coordinate(Neighbours *all, int axis, int lane) {
    Value *program = first_program(all, axis);
    Op *op = all->reads[all->own].statement->op;
    Access access = access_of(all->arena, op);
    const Poly *weight, *rest;
    if (!program || !access.offset.known || access.offset.wrapped ||
        !poly_split(all->arena, access.offset.base, program, &weight, &rest) ||
        poly_is_zero(weight))
        return false;
    all->coordinate = (Coordinate){.axis = axis, .program = program, .weight = weight};
    if (lane < 0) return true;
    const Type *tile = &op->operands[0]->type;
    const Poly *size = tile->dims[lane];
    for (int i = 0; i < tile->rank; i++)  // what counts the lanes along one axis may count others
        if (i != lane && poly_equal(tile->dims[i], size)) return false;
    all->coordinate.lane = lane;
    all->coordinate.size = size;
    all->coordinate.weight = access.offset.lane[lane];
    return size && poly_equal(weight, poly_multiply(all->arena, size, access.offset.lane[lane]));
}

static Value *moved(Builder *b, Value *coordinate, int64_t distance) {
    return distance < 0 ? build_binary(b, OP_ADD, coordinate, build_int(b, -distance))
                        : build_binary(b, OP_SUB, coordinate, build_int(b, distance));
}

/// A condition on the coordinate for a tile of so many axes. NULL where that is another tile than what is added.
static Value *spread(const Neighbours *all, Builder *b, Value *condition, int rank) {
    int added = all->reads[all->own].statement->op->operands[0]->type.rank;
    return coordinate_spread(b, &all->coordinate, condition, rank, added);
}

/* ---- who has an owner ---- */

/// Whether the op puts its operand's elements along more axes.
static bool spreads(const Op *op) {
    return op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO;
}

static Value *unspread(Value *value) {
    for (const Op *op; (op = value->op);) {
        bool is_same = op->code == OP_CAST || op->code == OP_TILE_INDEX;
        if (!is_same && !spreads(op)) break;
        value = op->operands[0];
    }
    return value;
}

typedef struct ConditionParts {
    Arena *arena;
    LIST(Value *) list;
} ConditionParts;

static void find_parts(ConditionParts *parts, Value *mask) {
    if (!mask) return;
    mask = unspread(mask);
    const Op *op = mask->op;
    if (op && op_has(op->code, TRAIT_BOTH)) {
        for (int i = 0; i < 2; i++) find_parts(parts, op->operands[i]);
        return;
    }
    LIST_PUSH(parts->arena, &parts->list, mask);
}

/// The least that the coordinate is where the number is `least`: it may be a digit of the coordinate, or the coordinate and a number.
static int64_t coordinate_from(const Neighbours *all, Value *number, int64_t least) {
    Value *value = unspread(number);
    if (is_coordinate(all, value)) return least;
    const Op *op = value->op;
    if (!op || op->operand_count < 2) return 0;
    bool divides = op->code == OP_MOD || op->code == OP_FLOORDIV;
    if (divides && is_coordinate(all, unspread(op->operands[0])) &&
        poly_is_nonnegative(all->arena, value_poly(all->arena, op->operands[1])))
        return least > 0 ? least : 0;
    int64_t added;
    for (int i = 0; i < 2; i++)
        if ((op->code == OP_ADD || (op->code == OP_SUB && i == 1)) &&
            value_is_int(op->operands[i], &added))
            return coordinate_from(all, op->operands[1 - i],
                                   op->code == OP_ADD ? least - added : least + added);
    return 0;
}

/// The least coordinate of a reader for which a part of its mask holds.
static int64_t least_by(const Neighbours *all, Value *part) {
    const Op *op = part->op;
    int64_t number;
    if (!op || op->operand_count < 2) return 0;
    for (int i = 0; i < 2; i++) {
        if (!value_is_int(op->operands[1 - i], &number)) continue;
        Value *counted = op->operands[i];
        bool is_more = op->code == (i ? OP_LT : OP_GT), is_least = op->code == (i ? OP_LE : OP_GE);
        if (is_more || is_least) return coordinate_from(all, counted, number + is_more);
        bool is_digit = coordinate_from(all, counted, 1) == 1;
        if (op->code == OP_NE && number == 0 && is_digit) return 1;
    }
    return 0;
}

/// What a part of a mask says that the coordinate is below; NULL where it says nothing of the kind.
static const Poly *end_by(const Neighbours *all, const Value *part) {
    const Op *op = part->op;
    if (!op || op->operand_count < 2) return NULL;
    bool is_less = op->code == OP_LT || op->code == OP_LE,
         is_more = op->code == OP_GT || op->code == OP_GE;
    if (!is_less && !is_more) return NULL;
    Value *counted = unspread(op->operands[is_more]), *bound = op->operands[!is_more];
    if (bound->type.rank) return NULL;
    bool is_last = op->code == OP_LE || op->code == OP_GE;
    const Poly *end =
        poly_add(all->arena, value_poly(all->arena, bound), poly_constant(all->arena, is_last));
    int64_t added = 0;
    for (int i = 0; i < 2 && !is_coordinate(all, counted); i++) {  // `number + 1`
        const Op *sum = counted->op;
        bool is_sum = sum && (sum->code == OP_ADD || sum->code == OP_SUB);
        if (!is_sum || !value_is_int(sum->operands[1], &added)) return NULL;
        if (sum->code == OP_SUB) added = -added;
        end = poly_subtract(all->arena, end, poly_constant(all->arena, added));
        counted = unspread(sum->operands[0]);
    }
    return is_coordinate(all, counted) ? end : NULL;
}

static bool is_at_least(const Neighbours *all, const Poly *number, const Poly *least) {
    int64_t more;
    return poly_is_constant(poly_subtract(all->arena, number, least), &more) && more >= 0;
}

/// Whether the reader's mask keeps the element that it reads below so many steps.
static bool stays_below(const Neighbours *all, const Read *read, const Poly *steps) {
    ConditionParts parts = {.arena = all->arena};
    find_parts(&parts, access_mask(read->statement->op));
    const Poly *most = poly_subtract(all->arena, steps, poly_constant(all->arena, read->distance));
    for (int i = 0; i < parts.list.count; i++) {
        const Poly *end = end_by(all, parts.list.items[i]);
        if (end && is_at_least(all, most, end)) return true;
    }
    return false;
}

/// Whether a read comes to no place that a program along another axis has: its mask ends it in front of that program's first one.
/// `term`: what that axis moves the address by, times its number.
static bool stays_in_front_of(const Neighbours *all, const Read *read, const Monomial *term) {
    const Poly *step = poly_constant(all->arena, term->coefficient);
    int axes = 0;
    for (int i = 0; i < term->atom_count; i++)
        if (value_is_axis(term->atoms[i]))
            axes++;
        else
            step = poly_multiply(all->arena, step, poly_atom(all->arena, term->atoms[i]));
    const Poly *steps = poly_divide_exact(all->arena, step, all->coordinate.weight);
    return axes == 1 && steps && stays_below(all, read, steps);
}

/// Whether the reader's own mask keeps it from what lies in front of the first owner.
static bool stays_above(const Neighbours *all, const Read *read) {
    if (read->distance >= 0) return true;
    ConditionParts parts = {.arena = all->arena};
    find_parts(&parts, access_mask(read->statement->op));
    for (int i = 0; i < parts.list.count; i++)
        if (least_by(all, parts.list.items[i]) >= -read->distance) return true;
    return false;
}

/// Whether places of a read beyond the first and the last owner are nobody else's: nothing but the coordinate and numbers of tiles that
/// constexprs size is in the address, or the read ends in front of what another axis has.
static bool end_is_free(const Neighbours *all, const Read *read) {
    Op *op = all->reads[all->own].statement->op;
    Access access = access_of(all->arena, op);
    bool is_stride = false;
    for (int t = 0; t < all->coordinate.weight->count; t++)
        for (int i = 0; i < all->coordinate.weight->terms[t].atom_count; i++)
            is_stride |= !all->coordinate.weight->terms[t].atoms[i]->type.is_constexpr;
    for (int t = 0; t < access.offset.base->count; t++) {
        const Monomial *term = &access.offset.base->terms[t];
        bool has_other = false, has_stride = false;
        for (int i = 0; i < term->atom_count; i++) {
            const Value *atom = term->atoms[i];
            bool is_axis = value_is_axis(atom);
            if (is_axis && atom != all->coordinate.program) has_other = true;
            if (!is_axis && !atom->type.is_constexpr) has_stride = true;
            if (!is_axis && (atom->op || atom->region->parent)) return false;
        }
        if (has_other && (has_stride || !is_stride) &&
            (read->falls_below || !stays_in_front_of(all, read, term)))
            return false;
    }
    return true;
}

/// Which reads may come to places without an owner; false where these may be somebody else's, or two reads may meet there.
static bool find_ends(Neighbours *all, int *ends) {
    int below = 0, behind = 0;
    for (int i = 0; i < all->count; i++) {
        Read *read = &all->reads[i];
        below += read->falls_below = !stays_above(all, read);
        behind += read->falls_behind = read->distance > 0;
    }
    *ends = below + behind;
    for (int i = 0; i < all->count; i++) {
        const Read *read = &all->reads[i];
        if ((read->falls_below || read->falls_behind) && !end_is_free(all, read)) return false;
    }
    return below <= 1 && behind <= 1;
}

/* ---- the new statement ---- */

static Value *find_coordinate(const Neighbours *all, Value *value, int *left) {
    if (!value || (*left)-- <= 0) return NULL;
    if (is_coordinate(all, value)) return value;
    Value *found = NULL;
    for (int i = 0; value->op && i < value->op->operand_count && !found; i++)
        found = find_coordinate(all, value->op->operands[i], left);
    return found;
}

/// What counts the coordinate; NULL where no address does so by one value.
static Value *coordinate_of(const Neighbours *all) {
    int left = MOST_COPIED;
    if (!all->coordinate.size) return all->coordinate.program;
    return find_coordinate(all, all->reads[all->own].statement->op->operands[0], &left);
}

/// Whether one of the parts is that one, or keeps the coordinate below as much.
static bool parts_say(const Neighbours *all, const ConditionParts *parts, const Value *part) {
    const Poly *wanted = end_by(all, part);
    for (int i = 0; i < parts->list.count; i++) {
        if (parts->list.items[i] == part) return true;
        const Poly *end = wanted ? end_by(all, parts->list.items[i]) : NULL;
        if (end && is_at_least(all, wanted, end)) return true;
    }
    return false;
}

/// Whether a mask says all that another one says.
static bool mask_is_within(const Neighbours *all, Value *mask, Value *other) {
    ConditionParts parts = {.arena = all->arena}, others = {.arena = all->arena};
    find_parts(&parts, mask);
    find_parts(&others, other);
    for (int i = 0; i < others.list.count; i++)
        if (!parts_say(all, &parts, others.list.items[i])) return false;
    return true;
}

/// What a read adds to the owner's element, and under which mask.
typedef struct ReaderTerm {
    Value *value, *mask;
} ReaderTerm;

static bool make_term(Neighbours *all, Builder *b, Value *coordinate, const Read *read,
                      ReaderTerm *term) {
    const Op *op = read->statement->op;
    *term = (ReaderTerm){op->operands[1], access_mask(op)};
    if (read->distance == 0) return true;
    OtherReader reader = {.function = all->state->backward,
                          .builder = b,
                          .coordinates = &all->coordinate,
                          .count = 1,
                          .rank = op->operands[0]->type.rank,
                          .numbers = {moved(b, coordinate, read->distance)},
                          .copies = map_new(all->arena),
                          .left = MOST_COPIED};
    Value *number = reader.numbers[0];
    reader.inside[0] = read->distance < 0
                           ? build_binary(b, OP_LT, number, coordinate_end(b, &all->coordinate))
                           : build_binary(b, OP_GE, number, build_int(b, 0));
    Value *inside = spread(all, b, reader.inside[0], reader.rank);
    Value *mask = term->mask ? reader_value(&reader, term->mask) : NULL;
    if (!inside || (term->mask && !mask)) return false;
    term->value = reader_value(&reader, term->value);
    term->mask = conditions_both(b, mask, inside);
    return term->value != NULL;
}

/// The furthest end that the terms' masks have; NULL where one has none, or where they cannot be compared.
static const Poly *furthest_end(const Neighbours *all, const ReaderTerm *terms) {
    const Poly *furthest = NULL;
    for (int i = 0; i < all->count; i++) {
        ConditionParts parts = {.arena = all->arena};
        const Poly *end = NULL;
        find_parts(&parts, terms[i].mask);
        for (int k = 0; k < parts.list.count && !end; k++) end = end_by(all, parts.list.items[k]);
        if (!end) return NULL;
        if (!furthest || is_at_least(all, end, furthest))
            furthest = end;
        else if (!is_at_least(all, furthest, end))
            return NULL;
    }
    return furthest;
}

/// A mask that holds wherever that of a term does: the owner's, which goes on to the end of the furthest term. What is stored besides is 0.
/// NULL where another part of the owner's is not said by all.
static Value *mask_of_all(const Neighbours *all, Builder *b, Value *coordinate,
                          const ReaderTerm *terms) {
    const Poly *furthest = furthest_end(all, terms);
    TapConditions own = tap_conditions(all->arena, terms[all->own].mask);
    Value *end = furthest ? build_poly(b, furthest) : NULL;
    Value *mask = end ? build_binary(b, OP_LT, coordinate, end) : NULL;
    int rank = all->reads[all->own].statement->op->operands[0]->type.rank;
    if (mask) mask = spread(all, b, mask, rank);
    for (int k = 0; k < own.count && mask; k++) {
        Value *part = unspread(own.items[k]);
        if (end_by(all, part)) continue;
        for (int i = 0; i < all->count; i++) {
            ConditionParts parts = {.arena = all->arena};
            find_parts(&parts, terms[i].mask);
            if (!parts_say(all, &parts, part)) return NULL;
        }
        mask = conditions_both(b, mask, own.items[k]);
    }
    return mask;
}

/// All terms together, each where its mask holds.
static ReaderTerm add_terms(const Neighbours *all, Builder *b, Value *coordinate,
                            const ReaderTerm *terms) {
    ReaderTerm sum = {.mask = terms[all->own].mask};
    bool is_within = true;
    for (int i = 0; i < all->count && sum.mask; i++)
        is_within = is_within && mask_is_within(all, terms[i].mask, sum.mask);
    Value *wide = is_within ? sum.mask : mask_of_all(all, b, coordinate, terms);
    if (wide) sum.mask = wide;
    for (int i = 0; i < all->count && !is_within && !wide; i++)
        if (i != all->own) sum.mask = build_binary(b, OP_OR, sum.mask, terms[i].mask);
    for (int i = 0; i < all->count; i++) {
        Value *value = terms[i].value;
        if (terms[i].mask && terms[i].mask != sum.mask)
            value = build_ternary(b, OP_WHERE, terms[i].mask, value, build_float(b, 0.0));
        sum.value = sum.value ? build_binary(b, OP_ADD, sum.value, value) : value;
    }
    return sum;
}

static Op *add_at(Builder *b, const Op *op, Value *value, Value *mask) {
    b->range = op->range;
    return build(b, OP_ATOMIC_ADD, (Value *[]){op->operands[0], value, mask}, 3)->op;
}

/// A read's own statement adds but where its element has no owner.
static Op *keep_end(const Neighbours *all, Builder *b, Value *coordinate, const Read *read) {
    const Op *op = read->statement->op;
    Value *place = moved(b, coordinate, -read->distance);
    Value *is_out = read->falls_below
                        ? build_binary(b, OP_LT, place, build_int(b, 0))
                        : build_binary(b, OP_GE, place, coordinate_end(b, &all->coordinate));
    is_out = spread(all, b, is_out, op->operands[0]->type.rank);
    return is_out ? add_at(b, op, op->operands[1], conditions_both(b, access_mask(op), is_out))
                  : NULL;
}

static bool is_in_one_region(const Neighbours *all) {
    const Region *region = all->reads[0].statement->op->parent;
    for (int i = 1; i < all->count; i++)
        if (all->reads[i].statement->op->parent != region) return false;
    for (const Op *outer = region->parent; outer; outer = outer->parent->parent)
        for (int i = 0; i < outer->operand_count && i < 3; i++)
            if (outer->operands[i] && differs(all, outer->operands[i])) return false;
    return true;
}

static Builder behind_last(const Neighbours *all) {
    Op *last = all->reads[0].statement->op;
    for (int i = 1; i < all->count; i++)
        if (op_precedes(last, all->reads[i].statement->op)) last = all->reads[i].statement->op;
    return (Builder){
        .function = all->state->backward, .region = last->parent, .before = last->next};
}

/// Makes the statement of owners, and those of reads at the ends; how many there are in `made`. 0 where that cannot be.
static int make_statements(Neighbours *all, Accumulation *made) {
    ReaderTerm *terms = ARENA_ARRAY(all->arena, ReaderTerm, all->count);
    Builder b = behind_last(all);
    Value *coordinate = coordinate_of(all);
    if (!coordinate) return 0;
    coordinate = coordinate_number(&b, &all->coordinate, coordinate);
    for (int i = 0; i < all->count; i++)
        if (!make_term(all, &b, coordinate, &all->reads[i], &terms[i])) return 0;
    ReaderTerm sum = add_terms(all, &b, coordinate, terms);
    const Accumulation *own = all->reads[all->own].statement;
    made[0] = *own;
    made[0].op = add_at(&b, own->op, sum.value, sum.mask);
    int count = 1;
    for (int i = 0; i < all->count; i++) {
        const Read *read = &all->reads[i];
        if (!read->falls_below && !read->falls_behind) continue;
        made[count] = *read->statement;
        made[count].op = keep_end(all, &b, coordinate, read);
        if (!made[count++].op) return 0;
    }
    return count;
}

/// With as few places without an owner as can be: their number, or -1.
static int try_owners(Neighbours *all, int axis, int lane, int own) {
    int ends;
    all->own = own;
    if (!set_coordinate(all, axis, lane) || !take_coordinate(all) || !is_in_one_region(all))
        return -1;
    return find_ends(all, &ends) ? ends : -1;
}

static int replace(const Neighbours *all, const Accumulation *made, int made_count,
                   Accumulation *group) {
    for (int i = 0; i < all->count; i++) op_remove(all->reads[i].statement->op);
    for (int i = 0; i < made_count; i++) group[i] = made[i];
    return made_count;
}

int neighbours_gather(Differentiation *state, Accumulation *group, int count) {
    Neighbours all = {.state = state, .arena = state->arena, .count = count};
    if (count < 2 || count > MOST_READS) return -1;
    Accumulation *made = ARENA_ARRAY(state->arena, Accumulation, 1 + count);
    all.reads = ARENA_ARRAY(state->arena, Read, count);
    for (int i = 0; i < count; i++) all.reads[i].statement = &group[i];
    int rank = group[0].op->operands[0]->type.rank;
    for (int most = 0; most <= 2; most++)  // places without an owner
        for (int axis = 0; axis < PROGRAM_AXES; axis++)
            for (int lane = -1; lane < rank; lane++)
                for (int own = 0; own < count; own++) {
                    if (try_owners(&all, axis, lane, own) != most) continue;
                    int made_count = make_statements(&all, made);
                    if (made_count) return replace(&all, made, made_count, group);
                }
    return -1;
}
