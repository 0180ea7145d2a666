// From an address in which digits are turned around to one in which they are not.
#include "autodiff/digits/rotations.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    MOST_STEPS = 256,  // an address has few terms; one that doubles itself is not understood
    MOST_PARTS = 4,    // digits that one number is made of
};

/// `number // low % extent`
typedef struct PartOf {
    Value *number;
    const Poly *low, *extent;  // extent NULL: as many as there are
} PartOf;

/// Digits whose weighted sum is a number.
typedef struct DigitParts {
    PartOf items[MOST_PARTS];
    int count;
    const Poly *end;  // all sums of them are below it
} DigitParts;

typedef struct Straightening {
    Arena *arena;
    Former *former;
    Op *access;
    int steps;
    Value *turned[MOST_ROTATIONS];  // the remainders
    Value *plain[MOST_ROTATIONS];   // what they turn around
    const Poly *least[MOST_ROTATIONS];
    DigitParts parts[MOST_ROTATIONS];  // of which these are made; none: of one digit, or of lanes
    int count;
} Straightening;

/* ---- numbers ---- */

/// A number of the launch; NULL for others.
static const Poly *fixed_number(const Straightening *work, Value *value) {
    Affine form = affine_by(work->former, value);
    if (!form.known || form.wrapped) return NULL;
    for (int i = 0; i < form.rank; i++)
        if (!poly_is_zero(form.lane[i])) return NULL;
    return poly_is_fixed(work->arena, form.base) ? form.base : NULL;
}

static const Poly *divisor_of(const Straightening *work, const Value *value) {
    if (!value->op || (value->op->code != OP_FLOORDIV && value->op->code != OP_MOD)) return NULL;
    const Poly *divisor = fixed_number(work, value->op->operands[1]);
    const Poly *rest =
        divisor ? poly_subtract(work->arena, divisor, poly_constant(work->arena, 1)) : NULL;
    return poly_is_nonnegative(work->arena, rest) ? divisor : NULL;
}

static bool is_form(const Op *op) {
    bool is_tile = op->code == OP_BROADCAST_TO || op->code == OP_EXPAND_DIMS;
    return is_tile || op->code == OP_TILE_INDEX || op_keeps_numbers(op);
}

/// What a cast or a broadcast makes of another value, and what a row or a column of tiles is computed as.
static Value *without_form(Value *value) {
    while (value->op && is_form(value->op)) value = value->op->operands[0];
    return value;
}

static bool is_never_negative(Straightening *work, Value *value);

/// A term of a sum of indices and their strides. What a caller adds (a shift) may be below 0.
static bool is_index(Straightening *work, const Value *whole, const Monomial *term) {
    bool is_fixed = true, is_written = true;
    for (int i = 0; i < term->atom_count; i++) {
        Value *atom = term->atoms[i];
        if (value_is_of_parameters(atom)) {
            is_written = is_written && atom->type.is_constexpr;
            continue;
        }
        is_fixed = false;
        if (atom == whole || !is_never_negative(work, atom)) return false;
    }
    return !is_fixed || is_written;
}

/// Whether a number is 0 or more whatever program, lane and iteration it is of, if all sizes are at least 1.
static bool is_never_negative(Straightening *work, Value *value) {
    value = without_form(value);
    if (work->steps++ >= MOST_STEPS || value_may_wrap(value)) return false;
    if (divisor_of(work, value)) return is_never_negative(work, value->op->operands[0]);
    if (value_is_program_id(value, -1)) return true;
    Affine form = affine_by(work->former, value);
    if (!form.known || form.wrapped || !poly_is_nonnegative(work->arena, form.base)) return false;
    for (int i = 0; i < form.rank; i++)
        if (!poly_is_nonnegative(work->arena, form.lane[i])) return false;
    for (int t = 0; t < form.base->count; t++)
        if (!is_index(work, value, &form.base->terms[t])) return false;
    return true;
}

static bool find_chain(const Straightening *work, Value *value, PartOf *chain) {
    value = without_form(value);
    const Poly *divisor = divisor_of(work, value);
    if (!divisor) {
        *chain = (PartOf){.number = value, .low = poly_constant(work->arena, 1)};
        return true;
    }
    if (!find_chain(work, value->op->operands[0], chain)) return false;
    const Poly *parts =
        chain->extent ? poly_divide_exact(work->arena, chain->extent, divisor) : NULL;
    if (chain->extent && !parts) return false;
    if (value->op->code == OP_MOD) {
        chain->extent = divisor;
        return true;
    }
    chain->low = poly_multiply(work->arena, chain->low, divisor);
    chain->extent = parts;
    return chain->low != NULL;
}

/* ---- the rest of the address ---- */

static bool is_source(const Op *op) { return op->code == OP_PROGRAM_ID || op->code == OP_ARANGE; }

/// Lanes may be the same as any other lanes, and so may programs along one axis.
static bool are_alike(const Op *a, const Op *b) {
    int64_t axis, other;
    if (a->code != b->code) return false;
    return a->code != OP_PROGRAM_ID || !value_is_int(a->operands[0], &axis) ||
           !value_is_int(b->operands[0], &other) || axis == other;
}

/// Whether a number is made of the source, or of what may be the same.
static bool is_made_of(Straightening *work, const Value *value, const Value *source) {
    if (!value || value == source) return true;
    if (work->steps++ >= MOST_STEPS) return true;
    const Op *op = value->op;
    if (!op) return false;
    if (is_source(op)) return source->op && are_alike(source->op, op);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && is_made_of(work, op->operands[i], source)) return true;
    return op->region_count > 0;
}

/// Whether two numbers have a source in common.
static bool share_sources(Straightening *work, const Value *a, const Value *b) {
    if (a == b || work->steps++ >= MOST_STEPS) return true;
    if (!a->op || is_source(a->op))
        return (a->op || value_is_loop_variable(a)) && is_made_of(work, b, a);
    for (int i = 0; i < a->op->operand_count; i++)
        if (a->op->operands[i] && share_sources(work, a->op->operands[i], b)) return true;
    return a->op->region_count > 0;
}

/// Whether two digits of one number have no part of it in common.
static bool chains_are_apart(Arena *arena, const PartOf *a, const PartOf *b) {
    for (int i = 0; i < 2; i++) {
        const PartOf *low = i ? b : a, *high = i ? a : b;
        const Poly *end = low->extent ? poly_multiply(arena, low->low, low->extent) : NULL;
        if (end && poly_divide_exact(arena, high->low, end)) return true;
    }
    return false;
}

static bool is_sum(const Op *op) { return op->code == OP_ADD || op->code == OP_SUB; }

/// Whether a value is a sum or a product, or the same number in another form.
static bool is_formed(Value *value) {
    const Op *op = value->op;
    return op && (is_sum(op) || op->code == OP_MUL ||
                  (without_form(value) != value && op->code != OP_TILE_INDEX));
}

static int turn_of(const Straightening *work, const Value *value) {
    for (int i = 0; i < work->count; i++)
        if (work->turned[i] == value) return i;
    return -1;
}

/// Whether what a value of the address moves with is nothing that the digit is made of, but for other digits of the same number.
static bool leaves_digit(Straightening *work, Value *value, int turn, const PartOf *digit) {
    int other = turn_of(work, value);
    if (other == turn) return true;
    if (other >= 0) value = work->plain[other];
    value = without_form(value);
    if (work->steps++ >= MOST_STEPS || value == digit->number) return false;
    if (!value->op) return !is_made_of(work, digit->number, value);
    if (divisor_of(work, value)) {
        PartOf chain;
        if (!find_chain(work, value, &chain)) return false;
        if (chain.number == digit->number) return chains_are_apart(work->arena, &chain, digit);
        return !share_sources(work, chain.number, digit->number);
    }
    if (!is_formed(value)) return !share_sources(work, value, digit->number);
    for (int i = 0; i < value->op->operand_count; i++)
        if (value->op->operands[i] && !leaves_digit(work, value->op->operands[i], turn, digit))
            return false;
    return true;
}

/* ---- what is turned around ---- */

/// Whether the mask of the access, or the tile's size, keeps a lane that steps by 1 below `modulus`.
static bool is_lane_below(Straightening *work, Value *value, const Poly *modulus) {
    Affine form = affine_by(work->former, value);
    int lane = -1;
    int64_t one;
    if (!form.known || form.wrapped || !value->type.rank) return false;
    for (int i = 0; i < form.rank; i++) {
        if (poly_is_zero(form.lane[i])) continue;
        if (lane >= 0 || !poly_is_constant(form.lane[i], &one) || one != 1) return false;
        lane = i;
    }
    if (lane < 0) return false;
    const Poly *dim = value->type.dims[lane];
    if (poly_is_zero(form.base) && dim && poly_equal(dim, modulus)) return true;
    int rank = work->access->operands[0]->type.rank;
    LaneBound bound = access_lane_bound(work->arena, work->access, lane + rank - form.rank);
    return bound.bound && poly_equal(bound.bound, modulus) && poly_equal(bound.start, form.base) &&
           is_never_negative(work, value);
}

/// Adds the digits that a number is made of, `window // columns * SIZE + token // SIZE`, each times `weight`. False where it is no such sum, or
/// nobody knows where one of them ends.
static bool add_parts(Straightening *work, Value *value, const Poly *weight, DigitParts *parts) {
    Arena *arena = work->arena;
    value = without_form(value);
    const Op *op = value->op;
    if (!op || !weight || work->steps++ >= MOST_STEPS || value_may_wrap(value)) return false;
    if (op->code == OP_ADD)
        return add_parts(work, op->operands[0], weight, parts) &&
               add_parts(work, op->operands[1], weight, parts);
    for (int i = 0; op->code == OP_MUL && i < 2; i++) {
        const Poly *factor = fixed_number(work, op->operands[i]);
        if (factor)
            return add_parts(work, op->operands[1 - i], poly_multiply(arena, weight, factor),
                             parts);
    }
    PartOf part;
    if (parts->count == MOST_PARTS || !divisor_of(work, value) || !is_never_negative(work, value) ||
        !find_chain(work, value, &part) || !part.extent || !poly_is_nonnegative(arena, weight))
        return false;
    const Poly *last = poly_subtract(arena, part.extent, poly_constant(arena, 1));
    const Poly *reach = poly_multiply(arena, weight, last);
    if (!reach) return false;
    parts->end = poly_add(arena, parts->end, reach);
    parts->items[parts->count++] = part;
    return true;
}

/// Whether a number is a sum of digits that is below `modulus` and never below 0.
static bool is_sum_below(Straightening *work, Value *value, const Poly *modulus,
                         DigitParts *parts) {
    *parts = (DigitParts){.end = poly_constant(work->arena, 1)};
    return add_parts(work, value, poly_constant(work->arena, 1), parts) && parts->count > 1 &&
           sizes_are_nonnegative(work->arena, poly_subtract(work->arena, modulus, parts->end));
}

/// A number without the numbers of the launch that are added to it, which `by` gets.
static Value *without_shift(const Straightening *work, Value *value, const Poly **by) {
    *by = poly_constant(work->arena, 0);
    for (const Op *op = value->op; op && is_sum(op); op = value->op) {
        int side = op->code == OP_ADD && fixed_number(work, op->operands[0]) ? 0 : 1;
        const Poly *fixed = fixed_number(work, op->operands[side]);
        if (!fixed || value_may_wrap(value) ||
            op->operands[1 - side]->type.rank != value->type.rank)
            break;
        *by = op->code == OP_ADD ? poly_add(work->arena, *by, fixed)
                                 : poly_subtract(work->arena, *by, fixed);
        value = op->operands[1 - side];
    }
    return value;
}

/// The digit, the sum of digits (`parts`) or the lane that a remainder turns around, or NULL; `least`: where that is not below 0, it comes to the
/// numbers from 0 on.
static Value *turned_around(Straightening *work, Value *value, const Poly **least,
                            DigitParts *parts) {
    Arena *arena = work->arena;
    const Poly *modulus = divisor_of(work, value), *by;
    parts->count = 0;
    if (!modulus || value->op->code != OP_MOD || value_may_wrap(value)) return NULL;
    Value *plain = without_shift(work, value->op->operands[0], &by), *digit = without_form(plain);
    bool is_remainder =
        digit->op && digit->op->code == OP_MOD && poly_equal(divisor_of(work, digit), modulus);
    if (poly_is_zero(by) || fixed_number(work, plain)) return NULL;
    // `((c + shift) % n + n) % n`: what the inner one comes to are as many numbers in a row.
    const Poly *inner;
    Value *within = is_remainder && digit->type.rank == value->type.rank
                        ? turned_around(work, digit, &inner, parts)
                        : NULL;
    *least = by;
    if (within)
        *least = poly_subtract(arena, poly_add(arena, by, poly_constant(arena, 1)), modulus);
    if (within) return within;
    bool is_digit =
        is_remainder ? is_never_negative(work, digit) : is_lane_below(work, plain, modulus);
    return is_digit || is_sum_below(work, plain, modulus, parts) ? plain : NULL;
}

static void find_turns(Straightening *work, Value *value) {
    const Op *op = value->op;
    const Poly *least;
    if (!op || work->steps++ >= MOST_STEPS || work->count == MOST_ROTATIONS) return;
    if (op->code == OP_MOD) {
        int known = turn_of(work, value);
        DigitParts *parts = &work->parts[work->count];
        Value *plain = known < 0 ? turned_around(work, value, &least, parts) : NULL;
        if (!plain || plain->type.rank != value->type.rank) return;
        work->turned[work->count] = value;
        work->least[work->count] = least;
        work->plain[work->count++] = plain;
        return;
    }
    for (int i = 0; is_formed(value) && i < op->operand_count; i++)
        if (op->operands[i]) find_turns(work, op->operands[i]);
}

/* ---- the address without it ---- */

static Value *straight(Straightening *work, Value *value) {
    int turn = turn_of(work, value);
    if (turn >= 0) return work->plain[turn];
    if (!is_formed(value) || work->steps++ >= MOST_STEPS) return value;
    Op *op = NULL;
    for (int i = 0; i < value->op->operand_count; i++) {
        Value *old = value->op->operands[i], *made = old ? straight(work, old) : NULL;
        if (made == old) continue;
        if (!op) {
            op = ARENA_NEW(work->arena, Op);
            *op = *value->op;
            op->operands = ARENA_ARRAY(work->arena, Value *, op->operand_count);
            for (int k = 0; k < op->operand_count; k++) op->operands[k] = value->op->operands[k];
        }
        op->operands[i] = made;
    }
    if (!op) return value;
    Value *result = ARENA_NEW(work->arena, Value);
    *result = *value;
    result->op = op;
    op->results = ARENA_ARRAY(work->arena, Value *, 1);
    op->results[0] = result;
    return result;
}

/// Whether a number of the launch that the value is made of, but for what is turned around, mentions an atom.
static bool mentions(Straightening *work, Value *value, const Value *atom) {
    if (turn_of(work, value) >= 0) return false;
    if (work->steps++ >= MOST_STEPS) return true;
    const Poly *number = value->type.kind == TYPE_NUMBER ? fixed_number(work, value) : NULL;
    if (number) return poly_mentions(number, atom);
    for (int i = 0; is_formed(value) && i < value->op->operand_count; i++)
        if (value->op->operands[i] && mentions(work, value->op->operands[i], atom)) return true;
    return false;
}

/// Whether the rest of the address leaves room for all numbers below the modulus, and not only for the sums of digits: windows may leave out rows
/// at the end of a picture, which the shift comes to. So it is where nothing steps by how many windows there are.
static bool has_room(Straightening *work, Value *address, const DigitParts *parts) {
    for (int t = 0; parts->end && t < parts->end->count; t++)
        for (int i = 0; i < parts->end->terms[t].atom_count; i++) {
            const Value *atom = parts->end->terms[t].atoms[i];
            work->steps = 0;
            if (atom->op && mentions(work, address, atom)) return false;
        }
    return true;
}

/// A copy of the access with what was turned around as it was before; NULL where there is nothing of that.
static Op *straight_access(Straightening *work) {
    const Op *access = work->access;
    Value *address = access->operands[0];
    work->steps = 0;
    Value *pointer = work->count ? straight(work, address) : address;
    if (pointer == address || work->steps >= MOST_STEPS) return NULL;
    Op *copy = ARENA_NEW(work->arena, Op);
    *copy = *access;
    copy->operands = ARENA_ARRAY(work->arena, Value *, access->operand_count);
    for (int i = 0; i < access->operand_count; i++) copy->operands[i] = access->operands[i];
    copy->operands[0] = pointer;
    return copy;
}

Straightened access_straightened(Arena *arena, Op *access) {
    Straightening work = {.arena = arena, .former = former_new(arena), .access = access};
    Straightened none = {0};
    Value *address = access->operands[0];
    if (address->type.kind != TYPE_POINTER) return none;
    find_turns(&work, address);
    for (int i = 0; i < work.count; i++) {
        PartOf chain;
        DigitParts *parts = &work.parts[i];
        if (parts->count && !has_room(&work, address, parts)) return none;
        if (!parts->count) {
            if (!find_chain(&work, work.plain[i], &chain)) return none;
            parts->items[parts->count++] = chain;
        }
        for (int k = 0; k < parts->count; k++) {
            work.steps = 0;
            if (!leaves_digit(&work, address, i, &parts->items[k])) return none;
        }
    }
    Straightened found = {.access = straight_access(&work), .count = work.count};
    for (int i = 0; i < work.count; i++) found.least[i] = work.least[i];
    return found.access ? found : none;
}

/* ---- what others shift ---- */

/// What a number without its shift moves the address by.
typedef struct ShiftedNumber {
    Value *whole;  // with the shift
    Value *plain;
    Value *program;  // the id that it is, or whose blocks of lanes it counts; NULL: lanes alone
    int lane;        // along which it counts, in `whole`; -1: none
    const Poly *weight;
} ShiftedNumber;

/// Whether a value is a program's number, or one that counts the lanes along one dimension, of all programs along an axis or of each.
static bool is_counted(const Straightening *work, Value *value, ShiftedNumber *found) {
    Arena *arena = work->arena;
    const Affine form = affine_by(work->former, value);
    int64_t one;
    found->lane = -1;
    found->program = without_form(value);
    if (value_is_program_id(found->program, -1)) return true;
    if (!form.known || form.wrapped) return false;
    for (int i = 0; i < form.rank; i++) {
        if (poly_is_zero(form.lane[i])) continue;
        if (found->lane >= 0 || !poly_is_constant(form.lane[i], &one) || one != 1) return false;
        found->lane = i;
    }
    const Poly *block = found->lane >= 0 ? value->type.dims[found->lane] : NULL;
    found->program = NULL;
    if (!block || poly_is_zero(form.base)) return block != NULL;
    for (int i = 0; i < form.base->terms[0].atom_count; i++)
        if (value_is_program_id(form.base->terms[0].atoms[i], -1))
            found->program = form.base->terms[0].atoms[i];
    return found->program &&
           poly_equal(form.base, poly_multiply(arena, poly_atom(arena, found->program), block));
}

/// Whether a shift is the same for all that the number counts.
static bool is_even_along(Straightening *work, Value *shift, const ShiftedNumber *number,
                          int rank) {
    int64_t one;
    while (shift->op && shift->op->code == OP_BROADCAST_TO) shift = shift->op->operands[0];
    const int at = number->lane - (rank - shift->type.rank);
    const Poly *dim = number->lane >= 0 && at >= 0 ? shift->type.dims[at] : NULL;
    bool is_row = number->lane < 0 || at < 0 || (dim && poly_is_constant(dim, &one) && one == 1);
    return is_row &&
           (!number->program || !value_depends_on_axis(work->arena, shift, number->program));
}

/// Whether a value is a number and a shift that others decide: programs along another axis, lanes along another dimension.
static bool is_shifted(Straightening *work, Value *value, ShiftedNumber *found) {
    const Op *op = value->op;
    if (!op || !is_sum(op) || value->type.kind != TYPE_NUMBER || value_may_wrap(value))
        return false;
    for (int side = 0; side < (op->code == OP_ADD ? 2 : 1); side++) {
        Value *plain = op->operands[side], *shift = op->operands[1 - side];
        ShiftedNumber number = {.whole = value, .plain = plain};
        if (fixed_number(work, shift) || plain->type.rank != value->type.rank ||
            !is_counted(work, plain, &number) ||
            !is_even_along(work, shift, &number, value->type.rank))
            continue;
        if (affine_by(work->former, shift).known && number.lane >= 0) continue;  // lanes of a tile
        *found = number;
        return true;
    }
    return false;
}

/// The shifted number of an address, with what it is multiplied by; the rest must not vary with it. False where there is none, or several.
static bool find_shifted(Straightening *work, Value *value, const Poly *weight,
                         ShiftedNumber *found, int *left) {
    const Op *op = value->op;
    ShiftedNumber own;
    if (--*left < 0 || !weight) return false;
    if (is_shifted(work, value, &own)) {
        if (found->whole) return false;
        own.weight = weight;
        *found = own;
        return true;
    }
    if (!op || !is_formed(value)) return true;
    if (op->code == OP_MUL) {
        for (int i = 0; i < 2; i++) {
            const Poly *factor = fixed_number(work, op->operands[i]);
            if (factor)
                return find_shifted(work, op->operands[1 - i],
                                    poly_multiply(work->arena, weight, factor), found, left);
        }
        return true;
    }
    const Poly *back = poly_subtract(work->arena, poly_constant(work->arena, 0), weight);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !find_shifted(work, op->operands[i],
                                             op->code == OP_SUB && i ? back : weight, found, left))
            return false;
    return true;
}

/// Whether a step is one of those within the shifted number's: it goes into that, as the steps of inner dimensions do, or it is from a block of
/// lanes to the next one.
static bool is_within(const Straightening *work, const Affine *form, const Poly *step,
                      const Poly *weight) {
    const Type *tile = &work->access->operands[0]->type;
    if (poly_is_zero(step)) return true;
    for (int i = 0; i < form->rank && i < tile->rank; i++) {
        const Poly *block =
            tile->dims[i] ? poly_multiply(work->arena, form->lane[i], tile->dims[i]) : NULL;
        if (block && poly_equal(block, step)) return true;
    }
    return !poly_equal(step, weight) && poly_divide_exact(work->arena, weight, step);
}

/// The number of the launch that the mask keeps a value from 0 on below; NULL: it does not.
static const Poly *bound_of_mask(const Straightening *work, const Value *mask, const Value *whole,
                                 bool *is_from_zero) {
    const Op *op = mask ? mask->op : NULL;
    int64_t least;
    if (!op) return NULL;
    if (op->code == OP_AND) {
        const Poly *left = bound_of_mask(work, op->operands[0], whole, is_from_zero),
                   *right = bound_of_mask(work, op->operands[1], whole, is_from_zero);
        return left ? left : right;
    }
    if (op->code == OP_BROADCAST_TO || op->code == OP_EXPAND_DIMS)
        return bound_of_mask(work, op->operands[0], whole, is_from_zero);
    if (op->operand_count != 2 || op->operands[0] != whole) return NULL;
    if (op->code == OP_GE && value_is_int(op->operands[1], &least) && least >= 0)
        *is_from_zero = true;
    return op->code == OP_LT ? fixed_number(work, op->operands[1]) : NULL;
}

/// Whether a step is one of a dimension around that of the shifted number, which the mask keeps the number within.
static bool is_around(const Straightening *work, const Poly *step, const ShiftedNumber *shifted) {
    bool is_from_zero = false;
    const Poly *bound =
        bound_of_mask(work, access_mask(work->access), shifted->whole, &is_from_zero);
    const Poly *all =
        bound && is_from_zero ? poly_multiply(work->arena, shifted->weight, bound) : NULL;
    return all && poly_divide_exact(work->arena, step, all);
}

/// Whether all else that the address moves by are steps within those of the shifted number, or around all that it may be: a shift of that is
/// no shift of anything else.
static bool is_apart_from_others(const Straightening *work, Op *plain,
                                 const ShiftedNumber *shifted) {
    Arena *arena = work->arena;
    const Affine form = access_of(arena, plain).offset;
    const Poly *own = poly_constant(arena, 0), *rest = form.base, *block = shifted->weight;
    if (!form.known || form.wrapped || shifted->lane >= form.rank) return false;
    if (shifted->lane >= 0)
        block = poly_multiply(arena, shifted->weight, shifted->plain->type.dims[shifted->lane]);
    if (shifted->program &&
        (!poly_split(arena, form.base, shifted->program, &own, &rest) || !poly_equal(own, block) ||
         poly_depends_on_axis(arena, rest, shifted->program)))
        return false;
    for (int i = 0; i < form.rank; i++) {
        bool is_own = i == shifted->lane && poly_equal(form.lane[i], shifted->weight);
        if (!is_own && !is_within(work, &form, form.lane[i], shifted->weight) &&
            !is_around(work, form.lane[i], shifted))
            return false;
    }
    for (int t = 0; t < rest->count; t++) {
        const Poly *step = poly_constant(arena, rest->terms[t].coefficient);
        bool moves = false;
        for (int a = 0; a < rest->terms[t].atom_count; a++) {
            const Poly *atom = poly_atom(arena, rest->terms[t].atoms[a]);
            if (poly_is_fixed(arena, atom))
                step = poly_multiply(arena, step, atom);
            else
                moves = true;
        }
        if (moves && !is_within(work, &form, step, shifted->weight) &&
            !is_around(work, step, shifted))
            return false;
    }
    return true;
}

Op *access_unshifted(Arena *arena, Op *access, ShiftedBy *by) {
    Straightening work = {.arena = arena, .former = former_new(arena), .access = access};
    ShiftedNumber shifted = {0};
    int left = MOST_STEPS;
    if (access->operands[0]->type.kind != TYPE_POINTER ||
        !find_shifted(&work, access->operands[0], poly_constant(arena, 1), &shifted, &left) ||
        !shifted.whole)
        return NULL;
    work.turned[work.count] = shifted.whole;
    work.plain[work.count++] = shifted.plain;
    if (by) *by = (ShiftedBy){shifted.whole, shifted.lane < 0 ? shifted.program : NULL};
    Op *plain = straight_access(&work);
    return plain && is_apart_from_others(&work, plain, &shifted) ? plain : NULL;
}
