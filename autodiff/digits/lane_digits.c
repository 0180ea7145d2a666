// From an address with quotients and remainders of lanes to one that is linear in the lanes of a tile of more dimensions.
#include "autodiff/digits/lane_digits.h"

#include <limits.h>
#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/digit_places.h"

enum {
    MOST_FACTORS = 8,      // of a size. Beyond: nobody says how many there are
    MOST_STEPS = 256,      // an address has few terms; one that doubles itself is not understood
    MOST_COMPARISONS = 8,  // within one another, of a mask. Beyond: it may leave out anything
};

/// A lane of the access's tile, and the digits of it in the address.
typedef struct DividedLane {
    FlatDigit digits[ADDRESS_MOST_DIGITS];
    int count;
    Value *number;  // which is divided
    Value *
        counter;  // of the blocks of lanes that it counts through, `program * BLOCK + lane`; NULL: it is the lane
} DividedLane;

typedef struct LaneSum {
    DigitFinder search;
    int steps;
    Value *parameter;
    const Poly *base;
    DividedLane lanes[TYPE_MAX_RANK];
} LaneSum;

/* ---- the address as a sum of digits of lanes ---- */

static bool add_digit(LaneSum *sum, int lane, FlatDigit digit, const Poly *weight) {
    DividedLane *divided = &sum->lanes[lane];
    for (int i = 0; i < divided->count; i++) {
        FlatDigit *known = &divided->digits[i];
        bool is_same = poly_equal(known->low, digit.low) && !known->modulus == !digit.modulus;
        if (!is_same || (digit.modulus && !poly_equal(known->modulus, digit.modulus))) continue;
        known->weight = poly_add(sum->search.arena, known->weight, weight);
        return true;
    }
    if (divided->count == ADDRESS_MOST_DIGITS) return false;
    digit.weight = weight;
    divided->digits[divided->count++] = digit;
    return true;
}

/// Adds a form that is linear in the lanes; `axes`: the lane of the access's tile that each of the form's is.
static bool add_form(LaneSum *sum, const Affine *form, const Poly *weight, const int *axes) {
    Arena *arena = sum->search.arena;
    const Poly *base = poly_multiply(arena, form->base, weight);
    if (!base) return false;
    sum->base = poly_add(arena, sum->base, base);
    for (int i = 0; i < form->rank; i++) {
        if (poly_is_zero(form->lane[i])) continue;
        const Poly *step = poly_multiply(arena, form->lane[i], weight);
        FlatDigit whole = {.low = poly_constant(arena, 1)};
        if (!step || !add_digit(sum, axes[i], whole, step)) return false;
    }
    return true;
}

/// The variable of a loop from 0 on in blocks of `size` lanes that begin at `base`, or NULL.
static Value *loop_of_blocks(const LaneSum *sum, const Poly *base, const Poly *size) {
    if (base->terms[0].atom_count != 1) return NULL;
    Value *atom = base->terms[0].atoms[0];
    if (!value_is_loop_variable(atom) || !poly_equal(base, poly_atom(sum->search.arena, atom)))
        return NULL;
    const Op *loop = atom->region->parent;
    bool is_blocks = poly_is_zero(value_poly(sum->search.arena, loop->operands[0])) &&
                     poly_equal(value_poly(sum->search.arena, loop->operands[2]), size);
    return is_blocks ? atom : NULL;
}

/// The id of the programs whose blocks of `size` lanes begin at `base`, or the variable of a loop over such blocks; or NULL.
static Value *counter_of_blocks(const LaneSum *sum, const Poly *base, const Poly *size) {
    Arena *arena = sum->search.arena;
    if (base->count != 1 || !size) return NULL;
    for (int i = 0; i < base->terms[0].atom_count; i++) {
        Value *atom = base->terms[0].atoms[i];
        if (!value_is_program_id(atom, -1)) continue;
        const Poly *blocks = poly_multiply(arena, poly_atom(arena, atom), size);
        return blocks && poly_equal(blocks, base) ? atom : NULL;
    }
    return loop_of_blocks(sum, base, size);
}

/// Where the block of a counter begins.
static const Poly *start_of_block(Arena *arena, Value *counter, const Poly *size) {
    if (!counter) return poly_constant(arena, 0);
    const Poly *number = poly_atom(arena, counter);
    return value_is_loop_variable(counter) ? number : poly_multiply(arena, number, size);
}

/// The one lane that the number is, from 0 on, or that it counts over all programs; -1 for any other number.
static int lane_of(LaneSum *sum, Value *number, const int *axes) {
    Affine form = affine_by(sum->search.former, number);
    int found = -1;
    if (!form.known || form.wrapped) return -1;
    for (int i = 0; i < form.rank; i++) {
        int64_t step;
        if (poly_is_zero(form.lane[i])) continue;
        if (found >= 0 || !poly_is_constant(form.lane[i], &step) || step != 1) return -1;
        found = i;
    }
    if (found < 0) return -1;
    bool is_lane = poly_is_zero(form.base);
    Value *counter = is_lane ? NULL : counter_of_blocks(sum, form.base, number->type.dims[found]);
    DividedLane *lane = &sum->lanes[axes[found]];
    bool is_known = is_lane || counter;
    if (!is_known || (lane->number && lane->counter != counter)) return -1;
    lane->number = number;
    lane->counter = counter;
    return axes[found];
}

static bool add_terms(LaneSum *sum, Value *value, const Poly *weight, const int *axes);

static bool add_quotient(LaneSum *sum, Value *value, const Poly *weight, const int *axes) {
    Value *number;
    FlatDigit digit;
    if (!digit_find(&sum->search, value, &number, &digit) || number->type.rank != value->type.rank)
        return false;
    int lane = lane_of(sum, number, axes);
    return lane >= 0 && add_digit(sum, lane, digit, weight);
}

static bool add_expanded(LaneSum *sum, const Value *value, const Poly *weight, const int *axes) {
    int inner[TYPE_MAX_RANK] = {0}, rank = value->type.rank;
    int64_t axis;
    if (!value_is_int(value->op->operands[1], &axis)) return false;
    if (axis < 0) axis += rank;
    for (int i = 0, count = 0; i < rank; i++)
        if (i != axis) inner[count++] = axes[i];
    return add_terms(sum, value->op->operands[0], weight, inner);
}

/// Adds a value, times a number of the launch.
static bool add_terms(LaneSum *sum, Value *value, const Poly *weight, const int *axes) {
    const Op *op = value->op;
    const int rank = value->type.rank;
    if (!weight || sum->steps++ >= MOST_STEPS) return false;
    bool is_pointer = value->type.kind == TYPE_POINTER;
    if (!op) {
        bool is_root = is_pointer && !sum->parameter && value->region && !value->region->parent;
        if (is_root) sum->parameter = value;
        if (is_pointer) return is_root;
    }
    Affine form = is_pointer ? (Affine){0} : affine_by(sum->search.former, value);
    if (form.known && !form.wrapped && form.rank == rank) return add_form(sum, &form, weight, axes);
    if (!op || value_may_wrap(value)) return false;
    if (digit_is_divided(value)) return add_quotient(sum, value, weight, axes);
    Value *const *sides = op->operands;
    switch (op->code) {
    case OP_CAST: return op_keeps_numbers(op) && add_terms(sum, sides[0], weight, axes);
    case OP_BROADCAST_TO:
        return add_terms(sum, sides[0], weight, axes + rank - sides[0]->type.rank);
    case OP_EXPAND_DIMS: return add_expanded(sum, value, weight, axes);
    case OP_ADD:
    case OP_SUB: {
        const Poly *other =
            op->code == OP_ADD
                ? weight
                : poly_multiply(sum->search.arena, weight, poly_constant(sum->search.arena, -1));
        return add_terms(sum, sides[0], weight, axes + rank - sides[0]->type.rank) &&
               add_terms(sum, sides[1], other, axes + rank - sides[1]->type.rank);
    }
    case OP_MUL:
        for (int i = 0; i < 2; i++) {
            const Poly *factor = digit_fixed_number(&sum->search, sides[i]);
            if (!factor) continue;
            factor = poly_multiply(sum->search.arena, factor, weight);
            return add_terms(sum, sides[1 - i], factor, axes + rank - sides[1 - i]->type.rank);
        }
        return false;
    default: return false;
    }
}

/* ---- the tile with a dimension for each digit ---- */

typedef struct DigitTile {
    const Poly *dims[TYPE_MAX_RANK], *lane[TYPE_MAX_RANK];
    int rank;
} DigitTile;

static bool add_dimension(DigitTile *tile, const Poly *dim, const Poly *weight) {
    if (tile->rank == TYPE_MAX_RANK) return false;
    tile->dims[tile->rank] = dim;
    tile->lane[tile->rank++] = weight;
    return true;
}

enum {
    NUMBER_ID = INT_MIN / 8,
    NUMBERS_EACH = 2 * MOST_FACTORS
};  // ids of numbers that are made up

/// A number beside the function: no operation of the kernel computes it.
static Value *made_up(Arena *arena, const Op *access, OpCode code, Value *a, Value *b, int *id) {
    Op *op = ARENA_NEW(arena, Op);
    Value *result = ARENA_NEW(arena, Value);
    *result = (Value){.id = (*id)--, .type = a->type, .op = op};
    *op = (Op){.code = code,
               .operands = ARENA_ARRAY(arena, Value *, 2),
               .operand_count = 2,
               .results = ARENA_ARRAY(arena, Value *, 1),
               .result_count = 1,
               .parent = access->parent};
    op->operands[0] = a;
    op->operands[1] = b;
    op->results[0] = result;
    return result;
}

/// A product of numbers as one; NULL of anything else.
static Value *product_of(Arena *arena, const Op *access, const Poly *poly, int *id) {
    bool is_product = poly->count == 1 && poly->terms[0].coefficient == 1 &&
                      poly->terms[0].atom_count > 0 && poly->terms[0].atom_count <= MOST_FACTORS;
    Value *product = is_product ? poly->terms[0].atoms[0] : NULL;
    for (int i = 1; is_product && i < poly->terms[0].atom_count; i++)
        product = made_up(arena, access, OP_MUL, product, poly->terms[0].atoms[i], id);
    return product;
}

/// How many digits from `low` on begin below a bound that may end within one: `(bound + low - 1) // low`. NULL where nobody can say it.
static const Poly *begun_below(Arena *arena, const Op *access, const Poly *bound, const Poly *low,
                               int dimension) {
    static const Constant one = {.kind = CONSTANT_INT, .integer = 1};
    int id = NUMBER_ID - dimension * NUMBERS_EACH;
    Value *end = product_of(arena, access, bound, &id), *size = product_of(arena, access, low, &id);
    if (!end || !size) return NULL;
    Value *unit = ARENA_NEW(arena, Value);
    *unit = (Value){.id = id--, .type = size->type, .constant = &one};
    Value *rest = made_up(arena, access, OP_SUB, size, unit, &id);
    Value *most = made_up(arena, access, OP_ADD, end, rest, &id);
    return poly_atom(arena, made_up(arena, access, OP_FLOORDIV, most, size, &id));
}

/// Sets how many digits there are from `low` on: those below the bound of the mask, or all of the tile's; NULL: nobody knows.
static void end_top(const LaneSum *sum, Op *access, int lane, const Poly *low, int dimension,
                    DigitTile *tile, LaneDigits *found) {
    Arena *arena = sum->search.arena;
    const Poly *all = access->operands[0]->type.dims[lane];
    Value *counter = sum->lanes[lane].counter;
    const Poly *start = start_of_block(arena, counter, all);
    LaneBound bound = access_lane_bound(arena, access, lane);
    // An end that memory tells, or that programs have for themselves, says nothing of where another program's elements begin.
    if (bound.bound && poly_equal(bound.start, start) && poly_is_fixed(arena, bound.bound)) {
        tile->dims[dimension] = poly_divide_exact(arena, bound.bound, low);
        if (!tile->dims[dimension]) {
            tile->dims[dimension] = begun_below(arena, access, bound.bound, low, dimension);
            found->ends[dimension] = bound.bound;
        }
    }
    if (tile->dims[dimension]) {
        found->tile[dimension] = all;
        found->low[dimension] = low;
        found->counter[dimension] = counter;
    } else if (all && !counter) {
        tile->dims[dimension] = poly_divide_exact(arena, all, low);
    }
}

static bool add_lane(const LaneSum *sum, Op *access, int lane, DigitTile *tile, LaneDigits *found) {
    Arena *arena = sum->search.arena;
    const DividedLane *divided = &sum->lanes[lane];
    DigitPlaces places = {.count = 0};
    if (!digit_places_bound(arena, &places, poly_constant(arena, 1)) ||
        !digit_places_add(arena, divided->digits, divided->count, &places))
        return false;
    for (int i = places.count - 1; i >= 0; i--) {
        const DigitRange *place = &places.items[i];
        int dimension = tile->rank;
        if (!add_dimension(tile, place->extent, place->weight)) return false;
        if (place->extent) continue;
        end_top(sum, access, lane, place->low, dimension, tile, found);
        // Lanes of a digit without an end may be at what is another program's: a stride says no more of it than a mask would.
        if (!tile->dims[dimension]) return false;
    }
    return true;
}

/// How many comparisons `index < bound` a mask has; -1 where it is something else.
static int comparisons_of(const Value *mask, int depth) {
    while (mask->op && (mask->op->code == OP_BROADCAST_TO || mask->op->code == OP_EXPAND_DIMS))
        mask = mask->op->operands[0];
    if (!mask->op || depth == MOST_COMPARISONS) return -1;
    if (mask->op->code == OP_LT) return 1;
    if (mask->op->code != OP_AND) return -1;
    int left = comparisons_of(mask->op->operands[0], depth + 1),
        right = comparisons_of(mask->op->operands[1], depth + 1);
    return left < 0 || right < 0 ? -1 : left + right;
}

/// Whether the access has no mask, or one comparison for each lane of whose dimensions the top one ends there.
static bool mask_is_extent(const Op *access, const LaneDigits *found) {
    const Value *mask = access_mask(access);
    int ended = 0;
    for (int i = 0; i < TYPE_MAX_RANK; i++) {
        if (found->ends[i]) return false;
        ended += found->low[i] != NULL;
    }
    return !mask || comparisons_of(mask, 0) == ended;
}

/// Takes out of the base what blocks of programs move the address by, where the lane has that as well. False where it has not, or the address
/// is made of these programs otherwise.
static bool take_counters(LaneSum *sum, const Op *access) {
    Arena *arena = sum->search.arena;
    for (int i = 0; i < access->operands[0]->type.rank; i++) {
        const DividedLane *lane = &sum->lanes[i];
        if (!lane->counter) continue;
        const Poly *weight = poly_constant(arena, 0), *by, *rest;
        for (int k = 0; k < lane->count; k++)
            if (!lane->digits[k].modulus &&
                poly_equal(lane->digits[k].low, poly_constant(arena, 1)))
                weight = lane->digits[k].weight;
        if (!value_is_loop_variable(lane->counter))
            weight = poly_multiply(arena, weight, access->operands[0]->type.dims[i]);
        if (!weight) return false;
        if (poly_mentions(sum->base, lane->counter)) {
            if (!poly_split(arena, sum->base, lane->counter, &by, &rest) || !poly_equal(by, weight))
                return false;
            sum->base = rest;
        } else if (!poly_is_zero(weight)) {
            return false;
        }
        if (poly_depends_on_axis(arena, sum->base, lane->counter)) return false;
        for (int k = 0; k < i; k++)
            if (sum->lanes[k].counter == lane->counter) return false;
    }
    return true;
}

/// A copy of the access whose address has the tile's type, and no other operand.
static Op *with_tile(Arena *arena, const Op *access, const DigitTile *tile) {
    Value *pointer = ARENA_NEW(arena, Value);
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, tile->rank);
    memcpy(dims, tile->dims, sizeof *dims * (size_t)tile->rank);
    *pointer = *access->operands[0];
    pointer->op = NULL;
    pointer->type.rank = tile->rank;
    pointer->type.dims = dims;
    Op *copy = ARENA_NEW(arena, Op);
    *copy = *access;
    copy->operands = ARENA_ARRAY(arena, Value *, 1);
    copy->operands[0] = pointer;
    copy->operand_count = 1;
    return copy;
}

LaneDigits access_by_lane_digits(Arena *arena, Op *access) {
    const LaneDigits none = {.access = {.op = access}};
    const int rank = access->operands[0]->type.rank;
    if (access->operands[0]->type.kind != TYPE_POINTER || !rank) return none;
    LaneSum *sum = ARENA_NEW(arena, LaneSum);
    sum->search = (DigitFinder){arena, former_new(arena), false};
    sum->base = poly_constant(arena, 0);
    int axes[TYPE_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (!add_terms(sum, access->operands[0], poly_constant(arena, 1), axes) || !sum->parameter ||
        !take_counters(sum, access))
        return none;
    DigitTile tile = {.rank = 0};
    LaneDigits found = none;
    for (int i = 0; i < rank; i++)
        if (!add_lane(sum, access, i, &tile, &found)) return none;
    if (tile.rank == rank) return none;
    found.is_exact = mask_is_extent(access, &found);
    found.access = (Access){.parameter = sum->parameter, .op = with_tile(arena, access, &tile)};
    found.access.offset = (Affine){.known = true, .base = sum->base, .rank = tile.rank};
    memcpy(found.access.offset.lane, tile.lane, sizeof tile.lane);
    return found;
}

bool lane_digits_are_apart(Arena *arena, Op *a, Op *b) {
    const LaneDigits one = access_by_lane_digits(arena, a), other = access_by_lane_digits(arena, b);
    if (!one.access.offset.known || !other.access.offset.known) return false;
    const AccessPlace left = place_from(arena, &one.access),
                      right = place_from(arena, &other.access);
    return place_is_apart(arena, &left, &right);
}

static bool is_same_number(const Poly *a, const Poly *b) {
    return !a || !b ? a == b : poly_equal(a, b);
}

/// Gives the second tile the first one's extents where they are the same numbers: how many digits begin below a bound is a number of its own for
/// each access.
static void share_extents(Arena *arena, const LaneDigits *from, LaneDigits *to) {
    const Type *type = &from->access.op->operands[0]->type;
    Type *own = &to->access.op->operands[0]->type;
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, own->rank);
    for (int i = 0; i < own->rank; i++) {
        bool is_same = i < type->rank && from->ends[i] && to->ends[i] &&
                       poly_equal(from->ends[i], to->ends[i]) &&
                       is_same_number(from->low[i], to->low[i]);
        dims[i] = is_same ? type->dims[i] : own->dims[i];
    }
    own->dims = dims;
}

bool lane_digits_never_meet(Arena *arena, const FunctionAxes *around, Op *a, Op *b,
                            const Op *loop) {
    const LaneDigits one = access_by_lane_digits(arena, a);
    LaneDigits other = access_by_lane_digits(arena, b);
    if (!one.access.offset.known || !other.access.offset.known) return false;
    share_extents(arena, &one, &other);
    return accesses_never_meet(arena, around, &one.access, &other.access, loop);
}

bool lane_digits_count(const LaneDigits *apart, const Axis *axis) {
    for (int i = 0; i < TYPE_MAX_RANK; i++) {
        const Value *counter = apart->counter[i];
        if (!counter) continue;
        if (axis->is_program
                ? value_is_program_id(counter, axis->program_axis)
                : value_is_loop_variable(counter) && counter->region->parent == axis->loop)
            return true;
    }
    return false;
}
