// Quotients and remainders of a number in; that number as digits that do not overlap out.
#include "autodiff/digits/digit_places.h"

#include "analysis/addresses/affine_axes.h"

static const Poly *one(Arena *arena) { return poly_constant(arena, 1); }

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
}

const Poly *digit_fixed_number(const DigitFinder *search, Value *value) {
    Affine form = affine_by(search->former, value);
    if (!form.known || form.wrapped) return NULL;
    for (int k = 0; k < form.rank; k++)
        if (!poly_is_zero(form.lane[k])) return NULL;
    return poly_is_fixed(search->arena, form.base) ? form.base : NULL;
}

Value *digit_without_form(Value *value) {
    while (value->op && (op_keeps_numbers(value->op) || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[0];
    return value;
}

bool digit_is_divided(const Value *value) {
    return value->op && value->type.rank &&
           (value->op->code == OP_FLOORDIV || value->op->code == OP_MOD);
}

bool digit_find(const DigitFinder *search, Value *value, Value **number, FlatDigit *digit) {
    Arena *arena = search->arena;
    value = digit_without_form(value);
    if (!digit_is_divided(value)) {
        *number = value;
        *digit = (FlatDigit){.low = one(arena)};
        return true;
    }
    const Poly *divisor = digit_fixed_number(search, value->op->operands[1]);
    if (!divisor || !poly_is_nonnegative(arena, poly_subtract(arena, divisor, one(arena))) ||
        !digit_find(search, value->op->operands[0], number, digit) || digit->repeat)
        return false;
    const Poly *parts = digit->modulus ? poly_divide_exact(arena, digit->modulus, divisor) : NULL;
    if (digit->modulus && !parts && search->may_repeat && value->op->code == OP_FLOORDIV) {
        digit->repeat = divisor;
        return true;
    }
    if (digit->modulus && !parts) return false;
    if (value->op->code == OP_MOD) {
        digit->modulus = divisor;
        return true;
    }
    digit->low = poly_multiply(arena, digit->low, divisor);
    digit->modulus = parts;
    return digit->low != NULL;
}

bool digit_places_bound(Arena *arena, DigitPlaces *places, const Poly *low) {
    int at = 0;
    for (; at < places->count; at++) {
        const Poly *other = places->items[at].low;
        if (poly_equal(other, low)) return true;
        if (poly_divide_exact(arena, other, low)) break;
        if (!poly_divide_exact(arena, low, other)) return false;
    }
    if (places->count == ADDRESS_MOST_PLACES) return false;
    for (int i = places->count++; i > at; i--) places->items[i] = places->items[i - 1];
    places->items[at] = (DigitRange){.low = low, .weight = poly_constant(arena, 0)};
    return true;
}

static const Poly *end_of(Arena *arena, const FlatDigit *digit) {
    return digit->modulus ? poly_multiply(arena, digit->low, digit->modulus) : NULL;
}

bool digit_places_add(Arena *arena, const FlatDigit *digits, int count, DigitPlaces *places) {
    for (int i = 0; i < count; i++) {
        const Poly *end = end_of(arena, &digits[i]);
        if (!digit_places_bound(arena, places, digits[i].low)) return false;
        if (digits[i].modulus && (!end || !digit_places_bound(arena, places, end))) return false;
    }
    for (int i = 0; i + 1 < places->count; i++)
        places->items[i].extent =
            poly_divide_exact(arena, places->items[i + 1].low, places->items[i].low);
    for (int d = 0; d < count; d++) {
        const FlatDigit *digit = &digits[d];
        const Poly *end = end_of(arena, digit);
        bool is_in = false;
        for (int i = 0; i < places->count; i++) {
            DigitRange *place = &places->items[i];
            is_in = is_in || poly_equal(place->low, digit->low);
            if (end && poly_equal(place->low, end)) is_in = false;
            if (!is_in) continue;
            const Poly *step = poly_divide_exact(arena, place->low, digit->low);
            step = step ? poly_multiply(arena, step, digit->weight) : NULL;
            bool is_other = !poly_is_zero(place->weight) || !poly_equal(place->low, digit->low);
            if (!step || (is_other && (place->repeat || digit->repeat))) return false;
            place->weight = poly_add(arena, place->weight, step);
            place->repeat = digit->repeat;
        }
    }
    return places->count && is_one(places->items[0].low);
}
