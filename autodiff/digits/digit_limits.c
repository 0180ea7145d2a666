// The mask of an access in; between which numbers the digits of its address are out.
#include "autodiff/digits/digit_limits.h"

#include "analysis/addresses/strides.h"
#include "autodiff/addresses/place.h"

enum { MOST_PARTS = 64 };  // of a mask. Beyond: it may leave out anything

typedef struct LimitSearch {
    const DigitSum *sum;
    const DigitPlaces *places;
    DigitLimits limits;
    int parts;
} LimitSearch;

/// The one digit that a value is, but for a number of the launch that is added to it; -1: another value.
static int place_of(const LimitSearch *search, Value *value, const Poly **shift) {
    Arena *arena = search->sum->arena;
    const DigitPlaces *places = search->places;
    DigitSum own = {.search = search->sum->search,
                    .arena = arena,
                    .number = search->sum->number,
                    .base = poly_constant(arena, 0)};
    DigitPlaces digits = {.count = 0};
    if (value->type.kind != TYPE_NUMBER || !value->type.rank ||
        !digit_sum_add(&own, value, poly_constant(arena, 1)))
        return -1;
    for (int i = 0; i < places->count; i++)
        if (!digit_places_bound(arena, &digits, places->items[i].low)) return -1;
    if (!digit_places_add(arena, own.digits, own.count, &digits) || digits.count != places->count)
        return -1;
    int found = -1;
    for (int i = 0; i < digits.count; i++) {
        int64_t weight;
        if (poly_is_zero(digits.items[i].weight)) continue;
        if (found >= 0 || !poly_is_constant(digits.items[i].weight, &weight) || weight != 1)
            return -1;
        found = i;
    }
    *shift = own.base;
    return found;
}

/// Of two ends the one that is not beyond the other. False where nobody knows which.
static bool tighten(Arena *arena, const Poly **known, const Poly *other, bool is_first) {
    if (!*known || sizes_are_nonnegative(arena, is_first ? poly_subtract(arena, other, *known)
                                                         : poly_subtract(arena, *known, other))) {
        *known = other;
        return true;
    }
    return sizes_are_nonnegative(arena, is_first ? poly_subtract(arena, *known, other)
                                                 : poly_subtract(arena, other, *known));
}

/// `value < bound`, or `value >= bound`. False where it says something else.
static bool limit(LimitSearch *search, Value *value, const Poly *bound, bool is_below) {
    Arena *arena = search->sum->arena;
    const Poly *shift;
    if (is_below && value == search->sum->number)
        return tighten(arena, &search->limits.end, bound, false);
    int at = place_of(search, value, &shift);
    if (at < 0) return false;
    DigitLimit *own = &search->limits.items[at];
    return tighten(arena, is_below ? &own->end : &own->first, poly_subtract(arena, bound, shift),
                   !is_below);
}

/// Whether a number is the least that a digit is.
static bool is_first(const LimitSearch *search, Value *value, const Poly *number) {
    const Poly *shift;
    return place_of(search, value, &shift) >= 0 && poly_equal(number, shift);
}

static bool read_comparison(LimitSearch *search, const Op *op, bool is_denied) {
    Arena *arena = search->sum->arena;
    const DigitFinder *finder = &search->sum->search;
    const Poly *one = poly_constant(arena, 1);
    Value *value = op->operands[0];
    const Poly *bound = digit_fixed_number(finder, op->operands[1]);
    bool is_turned = !bound;
    if (is_turned) {
        value = op->operands[1];
        bound = digit_fixed_number(finder, op->operands[0]);
    }
    if (!bound) return false;
    if (op->code == OP_EQ || op->code == OP_NE) {
        bool is_equal = (op->code == OP_EQ) != is_denied;
        return is_equal ? limit(search, value, bound, false) &&
                              limit(search, value, poly_add(arena, bound, one), true)
                        : is_first(search, value, bound) &&
                              limit(search, value, poly_add(arena, bound, one), false);
    }
    bool is_less = op->code == OP_LT || op->code == OP_LE,
         has_bound = op->code == OP_LE || op->code == OP_GE;
    if (!is_less && op->code != OP_GT && op->code != OP_GE) return false;
    bool is_below = (is_less != is_turned) != is_denied;
    // behind the bound: where it is the last below, or none of what comes from it on
    if (is_below == (has_bound != is_denied)) bound = poly_add(arena, bound, one);
    return limit(search, value, bound, is_below);
}

/// False where a part of it says something else.
static bool read_mask(LimitSearch *search, const Value *mask, bool is_denied) {
    const Op *op = mask->op;
    if (!op || ++search->parts > MOST_PARTS) return false;
    switch (op->code) {
    case OP_AND:
    case OP_OR: {
        if ((op->code == OP_OR) != is_denied) return false;
        bool left = read_mask(search, op->operands[0], is_denied),
             right = read_mask(search, op->operands[1], is_denied);
        return left && right;
    }
    case OP_BROADCAST_TO: return read_mask(search, op->operands[0], is_denied);
    case OP_INVERT:
    case OP_LOGICAL_NOT:
        return mask->type.element.code == DTYPE_INT1 &&
               read_mask(search, op->operands[0], !is_denied);
    default: return op->operand_count == 2 && read_comparison(search, op, is_denied);
    }
}

DigitLimits digit_limits_of(const DigitSum *sum, const DigitPlaces *places, const Op *access) {
    LimitSearch search = {.sum = sum, .places = places};
    const Value *mask = access_mask(access);
    search.limits.is_exact = !mask || read_mask(&search, mask, false);
    return search.limits;
}
