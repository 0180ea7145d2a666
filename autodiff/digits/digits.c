// An index that is divided in; whether its quotients and remainders tell apart what the number that they are of tells apart.
#include "autodiff/digits/digits.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/digit_limits.h"
#include "autodiff/digits/digit_places.h"
#include "autodiff/digits/digit_sum.h"

static const Poly *one(Arena *arena) { return poly_constant(arena, 1); }

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
}

static bool find_sum(Arena *arena, Op *access, DigitSum *sum) {
    return digit_sum_find(arena, access, false, sum);
}

/* ---- the number ---- */

/// Whether a factor of a step is a block's own length, or how many programs there are: no stride, which may be less than what it steps over.
static bool is_own_length(Type tile, const Value *atom) {
    if (atom->op && atom->op->code == OP_NUM_PROGRAMS) return true;
    for (int i = 0; i < tile.rank; i++)
        if (tile.dims[i] && poly_mentions(tile.dims[i], atom)) return true;
    return false;
}

static bool is_of_lengths(Type tile, const Poly *step) {
    for (int t = 0; t < step->count; t++)
        for (int a = 0; a < step->terms[t].atom_count; a++)
            if (!is_own_length(tile, step->terms[t].atoms[a])) return false;
    return true;
}

/// Whether all that a number steps by is lengths of its own blocks. A row's length is none: rows of a block that is longer than they are
/// (`row * width + lanes`) have numbers in common.
static bool steps_by_own_lengths(Type tile, const Poly *poly) {
    for (int t = 0; t < poly->count; t++) {
        bool moves = false, is_own = true;
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            const Value *atom = poly->terms[t].atoms[a];
            bool is_axis = value_is_axis(atom);
            moves = moves || is_axis;
            is_own = is_own && (is_axis || is_own_length(tile, atom));
        }
        if (moves && !is_own) return false;
    }
    return true;
}

/// Whether the address has the loop's variable for a digit.
static bool is_own_loop(const DigitSum *sum, const Axis *axis) {
    for (int i = 0; i < sum->loop_count && !axis->is_program; i++)
        if (sum->variables[i]->region->parent == axis->loop) return true;
    return false;
}

/// Whether the number differs from lane to lane, from iteration to iteration and from program to program, and is never below 0.
static bool counts_elements(Arena *arena, const FunctionAxes *around, Op *access,
                            const DigitSum *sum) {
    Value *number = sum->number;
    Type type = access->operands[0]->type;
    Affine form = affine_of(arena, number);
    if (!form.known || form.wrapped || form.rank != type.rank || number->type.rank != type.rank)
        return false;
    for (int t = 0; t < form.base->count; t++)
        if (form.base->terms[t].coefficient < 0) return false;
    if (!steps_by_own_lengths(type, form.base)) return false;
    for (int k = 0; k < form.rank; k++)
        if (!poly_is_nonnegative(arena, form.lane[k]) || !is_of_lengths(type, form.lane[k]))
            return false;
    Access counted = access_of(arena, access);
    counted.offset = form;
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count = access_axes(arena, around, &counted, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (dependence[i] != AXIS_OWNED && !is_own_loop(sum, &axes[i])) return false;
    return offset_lanes_are_apart(arena, type, &counted);
}

/* ---- the digits ---- */

static bool find_places(const DigitSum *sum, DigitPlaces *places) {
    *places = (DigitPlaces){.count = 0};
    return digit_places_add(sum->arena, sum->digits, sum->count, places);
}

/// The same with the smallest digits, which the address may leave out: where the mask leaves one number of them, nothing is missing.
static bool find_all_places(const DigitSum *sum, DigitPlaces *places) {
    *places = (DigitPlaces){.count = 0};
    return digit_places_bound(sum->arena, places, one(sum->arena)) &&
           digit_places_add(sum->arena, sum->digits, sum->count, places);
}

/// Each digit as far as the mask leaves it. One that is a single number moves the address by nothing more, and goes.
static void keep_within(Arena *arena, DigitPlaces *places, const DigitLimits *limits) {
    int count = places->count;
    places->count = 0;
    for (int i = 0; i < count; i++) {
        DigitRange place = places->items[i];
        const DigitLimit *limit = &limits->items[i];
        if (limit->end) place.extent = limit->end;
        if (limit->first && place.extent)
            place.extent = poly_subtract(arena, place.extent, limit->first);
        if (place.extent && is_one(place.extent)) continue;
        places->items[places->count++] = place;
    }
}

static bool mentions_divisor(const DigitPlaces *places, const Value *atom) {
    for (int i = 0; i < places->count; i++)
        if (poly_mentions(places->items[i].low, atom)) return true;
    return false;
}

/// The factors of a step that no divisor has: strides of their own. NULL where its terms differ in them.
static const Poly *own_stride(Arena *arena, const DigitPlaces *places, const Poly *weight) {
    const Poly *stride = NULL;
    for (int t = 0; t < weight->count; t++) {
        const Poly *factors = one(arena);
        for (int a = 0; a < weight->terms[t].atom_count; a++) {
            Value *atom = weight->terms[t].atoms[a];
            if (!mentions_divisor(places, atom))
                factors = poly_multiply(arena, factors, poly_atom(arena, atom));
        }
        if (stride && !poly_equal(stride, factors)) return NULL;
        stride = factors;
    }
    return stride;
}

static bool is_at_most(Arena *arena, const Poly *number, const Poly *other) {
    return sizes_are_nonnegative(arena, poly_subtract(arena, other, number));
}

/// Of the digits from `done` on the one with the least step, if that goes over what the smaller ones reach; -1.
static int next_digit(Arena *arena, const DigitRange *items, int done, int count,
                      const Poly *reach) {
    const Poly *least = poly_add(arena, reach, one(arena));
    int next = -1;
    for (int i = done; i < count; i++) {
        bool is_last = !items[i].extent && done + 1 < count;
        if (is_last || !is_at_most(arena, least, items[i].weight)) continue;
        if (next < 0 || is_at_most(arena, items[i].weight, items[next].weight)) next = i;
    }
    return next;
}

/// Whether the digits of one dimension step over each other, in some order.
static bool steps_are_apart(Arena *arena, DigitRange *items, int count) {
    const Poly *reach = poly_constant(arena, 0);
    for (int done = 0; done < count; done++) {
        int next = next_digit(arena, items, done, count, reach);
        if (next < 0) return false;
        DigitRange chosen = items[next];
        items[next] = items[done];
        items[done] = chosen;
        if (!chosen.extent) continue;
        const Poly *steps = poly_subtract(arena, chosen.extent, one(arena));
        steps = poly_multiply(arena, chosen.weight, steps);
        if (!steps) return false;
        reach = poly_add(arena, reach, steps);
    }
    return true;
}

/// Whether different digits are different elements: within each dimension, and the dimensions are apart.
static bool places_are_told_apart(Arena *arena, DigitPlaces *places) {
    const Poly *strides[ADDRESS_MOST_PLACES];
    for (int i = 0; i < places->count; i++) {
        const Poly *weight = places->items[i].weight;
        if (poly_is_zero(weight) || stride_may_vanish(weight)) return false;
        strides[i] = own_stride(arena, places, weight);
        if (!strides[i]) return false;
        for (int k = 0; k < i; k++)
            if (!poly_equal(strides[i], strides[k]) &&
                strides_may_meet(arena, strides[i], strides[k]))
                return false;
    }
    for (int i = 0; i < places->count; i++) {
        DigitRange same[ADDRESS_MOST_PLACES];
        int count = 0;
        for (int k = 0; k < places->count; k++) {
            if (!poly_equal(strides[i], strides[k])) continue;
            same[count] = places->items[k];
            same[count].weight = poly_divide_exact(arena, same[count].weight, strides[k]);
            if (!same[count++].weight) return false;
        }
        if (!steps_are_apart(arena, same, count)) return false;
    }
    return true;
}

static bool add_range(DigitPlaces *places, DigitRange range) {
    if (places->count == ADDRESS_MOST_PLACES) return false;
    places->items[places->count++] = range;
    return true;
}

static bool add_loops(const DigitSum *sum, DigitPlaces *places) {
    for (int i = 0; i < sum->loop_count; i++)
        if (!add_range(places, sum->loops[i])) return false;
    return true;
}

/// A fixed distance, as digits of which two accesses have the one or the other: one for each stride that it goes along.
static bool add_distance(Arena *arena, DigitPlaces *places, const Poly *distance) {
    const DigitPlaces before = *places;
    const Poly *left = distance;
    while (left->count) {
        const Poly *stride = own_stride(arena, &before, &(Poly){1, left->terms});
        const Poly *part = poly_constant(arena, 0), *rest = part;
        for (int t = 0; t < left->count; t++) {
            const Poly *term = &(Poly){1, &left->terms[t]};
            bool is_along = poly_equal(own_stride(arena, &before, term), stride);
            if (is_along)
                part = poly_add(arena, part, term);
            else
                rest = poly_add(arena, rest, term);
        }
        if (!poly_is_nonnegative(arena, part))
            part = poly_subtract(arena, poly_constant(arena, 0), part);
        DigitRange range = {.low = one(arena), .extent = poly_constant(arena, 2), .weight = part};
        if (!add_range(places, range)) return false;
        left = rest;
    }
    return true;
}

bool digits_are_private(Arena *arena, const FunctionAxes *around, Op *access) {
    DigitSum sum;
    DigitPlaces places;
    if (!find_sum(arena, access, &sum) || !find_all_places(&sum, &places) ||
        !counts_elements(arena, around, access, &sum))
        return false;
    const DigitLimits limits = digit_limits_of(&sum, &places, access);
    keep_within(arena, &places, &limits);
    return add_loops(&sum, &places) && places_are_told_apart(arena, &places);
}

bool digits_are_apart(Arena *arena, const FunctionAxes *around, Op *a, Op *b) {
    DigitSum first, second;
    DigitPlaces places, others;
    if (!find_sum(arena, a, &first) || !find_sum(arena, b, &second) ||
        first.parameter != second.parameter || first.number != second.number ||
        !find_places(&first, &places) || !find_places(&second, &others) ||
        places.count != others.count || first.loop_count != second.loop_count)
        return false;
    for (int i = 0; i < first.loop_count; i++)
        if (first.variables[i] != second.variables[i] ||
            !poly_equal(first.loops[i].weight, second.loops[i].weight))
            return false;
    for (int i = 0; i < places.count; i++)
        if (!poly_equal(places.items[i].low, others.items[i].low) ||
            !poly_equal(places.items[i].weight, others.items[i].weight))
            return false;
    const Poly *distance = poly_subtract(arena, second.base, first.base);
    return !poly_is_zero(distance) && counts_elements(arena, around, a, &first) &&
           counts_elements(arena, around, b, &second) && add_distance(arena, &places, distance) &&
           add_loops(&first, &places) && places_are_told_apart(arena, &places);
}

int digits_steps(Arena *arena, Op *access, DigitStep *steps, int capacity, const Poly **base) {
    DigitSum sum;
    DigitPlaces places;
    if (!find_sum(arena, access, &sum) || sum.loop_count || !find_places(&sum, &places)) return -1;
    for (int i = 0; i < places.count && i < capacity; i++)
        steps[i] = (DigitStep){.extent = places.items[i].extent, .weight = places.items[i].weight};
    if (base) *base = sum.base;
    return places.count;
}

DigitsByMask digits_by_mask(Arena *arena, Op *access) {
    DigitSum sum;
    DigitPlaces places;
    DigitsByMask found = {.count = -1};
    if (!find_sum(arena, access, &sum) || !find_all_places(&sum, &places)) return found;
    const DigitLimits limits = digit_limits_of(&sum, &places, access);
    found = (DigitsByMask){.count = places.count,
                           .base = sum.base,
                           .number = sum.number,
                           .end = limits.end,
                           .is_exact = limits.is_exact};
    for (const Op *op = access->parent->parent; op && found.loop_count >= 0;
         op = op->parent->parent) {
        int at = 0;
        if (op->code == OP_IF) continue;
        while (at < sum.loop_count && sum.variables[at]->region->parent != op) at++;
        if (at < sum.loop_count)
            found.loops[found.loop_count++] =
                (DigitStep){.extent = sum.loops[at].extent, .weight = sum.loops[at].weight};
        else
            found.loop_count = -1;
    }
    if (found.loop_count != sum.loop_count) found.loop_count = -1;
    for (int i = 0; i < places.count; i++)
        found.steps[i] = (DigitStep){.extent = places.items[i].extent,
                                     .weight = places.items[i].weight,
                                     .first = limits.items[i].first,
                                     .end = limits.items[i].end};
    return found;
}

int digits_read_steps(Arena *arena, Op *access, DigitStep *steps, int capacity, const Poly **base,
                      Value **number, Value **parameter) {
    DigitSum sum;
    DigitPlaces places = {.count = 0};
    if (!digit_sum_find(arena, access, true, &sum) || sum.loop_count ||
        !digit_places_bound(arena, &places, one(arena)) ||
        !digit_places_add(arena, sum.digits, sum.count, &places) || places.count > capacity)
        return -1;
    for (int i = 0; i < places.count; i++)
        steps[i] = (DigitStep){.extent = places.items[i].extent,
                               .weight = places.items[i].weight,
                               .repeat = places.items[i].repeat};
    *base = sum.base;
    *number = sum.number;
    *parameter = sum.parameter;
    return places.count;
}

/// Whether strides have no part in what the digits move an address by: it numbers elements that follow each other.
static bool digits_have_no_strides(Arena *arena, const DigitPlaces *all, const DigitPlaces *own) {
    for (int i = 0; i < own->count; i++)
        if (!is_one(own_stride(arena, all, own->items[i].weight))) return false;
    return true;
}

/// Where digits that follow each other end, from `at` on, of those that move the address.
static int end_of_run(const DigitPlaces *places, int at) {
    while (at < places->count && !poly_is_zero(places->items[at].weight)) at++;
    return at;
}

static int next_run(const DigitPlaces *places, int at) {
    while (at < places->count && poly_is_zero(places->items[at].weight)) at++;
    return at;
}

/// Whether digits that follow each other move an address as their number does.
static bool digits_follow(Arena *arena, const DigitPlaces *places) {
    const Poly *first = places->items[0].low;
    for (int i = 0; i < places->count; i++)
        if (!poly_equal(poly_multiply(arena, places->items[i].weight, first), places->items[i].low))
            return false;
    return true;
}

bool digits_own(Arena *arena, Op *access, OwnDigits *own) {
    DigitSum sum;
    DigitPlaces places = {.count = 0}, owners = {.count = 0};
    if (!find_sum(arena, access, &sum) || sum.loop_count ||
        !digit_places_bound(arena, &places, one(arena)) ||
        !digit_places_add(arena, sum.digits, sum.count, &places))
        return false;
    int first = next_run(&places, 0), end = end_of_run(&places, first);
    int top = next_run(&places, end);
    bool has_period = top < places.count;
    if (first == end || (has_period && top != places.count - 1)) return false;
    for (int i = first; i < end; i++) owners.items[owners.count++] = places.items[i];
    bool is_top = end == places.count;
    *own = (OwnDigits){.number = sum.number, .low = places.items[first].low};
    if (!is_top) own->extent = poly_divide_exact(arena, places.items[end].low, own->low);
    own->is_plain =
        poly_is_zero(sum.base) && digits_follow(arena, &owners) &&
        (!has_period || (own->extent && poly_equal(places.items[top].weight, own->extent)));
    if (has_period) {
        own->period = places.items[top].low;
        owners.items[owners.count++] = places.items[top];
    }
    if (owners.count > 1 && !digits_have_no_strides(arena, &places, &owners)) return false;
    return (own->extent || (is_top && !is_one(own->low))) && places_are_told_apart(arena, &owners);
}

Value *digits_number(Arena *arena, Op *access, Value **parameter) {
    DigitSum sum;
    if (!find_sum(arena, access, &sum) || sum.loop_count) return NULL;
    *parameter = sum.parameter;
    return sum.number;
}

bool digit_read(Arena *arena, Value *value, const Value *number, const Poly **low,
                const Poly **extent) {
    const DigitFinder search = {.arena = arena, .former = former_new(arena)};
    Value *of;
    FlatDigit digit;
    if (!digit_is_divided(value) || !digit_find(&search, value, &of, &digit) || of != number)
        return false;
    *low = digit.low;
    *extent = digit.modulus;
    return true;
}

/// Whether a value is `number // low % extent`; `extent` NULL: no remainder.
static bool value_is_digit(Arena *arena, Value *value, const Value *number, const Poly *low,
                           const Poly *extent) {
    const Poly *own_low, *own_extent;
    return digit_read(arena, value, number, &own_low, &own_extent) && poly_equal(own_low, low) &&
           (extent ? own_extent && poly_equal(own_extent, extent) : !own_extent);
}

bool digit_is(Arena *arena, Value *value, const OwnDigits *own) {
    return value_is_digit(arena, value, own->number, own->low, own->extent);
}

bool digit_is_period(Arena *arena, Value *value, const OwnDigits *own) {
    return own->period && value_is_digit(arena, value, own->number, own->period, NULL);
}
