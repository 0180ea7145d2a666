// Digits of an address in; the same in the order in which the elements of the input follow each other out.
#include "autodiff/gathers/ordered_places.h"

#include "analysis/addresses/affine_axes.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/digits/digits.h"

/// A digit that moves the address back, as the one that is counted from the other end.
static bool turn_place(Ordering *ordering, OrderedPlace *place) {
    Arena *arena = ordering->arena;
    if (poly_is_nonnegative(arena, place->weight)) return true;
    if (!place->extent) return false;
    const Poly *last = poly_subtract(arena, place->extent, poly_constant(arena, 1));
    ordering->base = poly_add(arena, ordering->base, poly_multiply(arena, place->weight, last));
    place->weight = poly_subtract(arena, poly_constant(arena, 0), place->weight);
    place->is_back = ordering->is_other = true;
    return poly_is_nonnegative(arena, place->weight);
}

bool ordering_find_places(Ordering *ordering) {
    DigitStep steps[MOST_PLACES];
    Arena *arena = ordering->arena;
    int count = digits_read_steps(arena, ordering->store, steps, MOST_PLACES, &ordering->base,
                                  &ordering->number, &ordering->parameter);
    if (count < 2) return false;
    const Poly *low = poly_constant(arena, 1);
    for (int i = 0; i < count; i++) {
        if (!low) return false;
        OrderedPlace place = {.low = low,
                              .extent = steps[i].extent,
                              .weight = steps[i].weight,
                              .repeat = steps[i].repeat,
                              .shift = poly_constant(arena, 0)};
        low = steps[i].extent ? poly_multiply(arena, low, steps[i].extent) : NULL;
        if (!turn_place(ordering, &place) || (place.is_back && place.repeat)) return false;
        ordering->sums |= place.repeat || poly_is_zero(place.weight);
        if (poly_is_zero(place.weight))
            ordering->idle[ordering->idle_count++] = place;
        else
            ordering->places[ordering->count++] = place;
    }
    return ordering->count > 0;
}

/// Whether the digits from `from` on move the address by multiples of what digit `at` moves it by.
static bool is_finest(const Ordering *ordering, int at, int from) {
    for (int i = from; i < ordering->count; i++)
        if (!poly_divide_exact(ordering->arena, ordering->places[i].weight,
                               ordering->places[at].weight))
            return false;
    return true;
}

/// Puts the digits in the order of what they move the address by; the coarsest is that of the output, for nobody knows how many it has.
static bool sort_places(Ordering *ordering) {
    Arena *arena = ordering->arena;
    OrderedPlace *places = ordering->places;
    int64_t one;
    for (int done = 0; done < ordering->count; done++) {
        int at = done;
        while (at < ordering->count && !is_finest(ordering, at, done)) at++;
        if (at == ordering->count) return false;
        ordering->is_other |= at != done;
        OrderedPlace next = places[at];
        places[at] = places[done];
        places[done] = next;
        if ((done + 1 == ordering->count) != !next.extent) return false;
        if (done)
            places[done - 1].size = poly_divide_exact(arena, next.weight, places[done - 1].weight);
    }
    return poly_is_constant(places[0].weight, &one) && one == 1;
}

/// What is added to the address, as shifts of the digits.
static bool find_shifts(Ordering *ordering) {
    Arena *arena = ordering->arena;
    for (int t = 0; t < ordering->base->count; t++) {
        const Poly term = {1, &ordering->base->terms[t]};
        const Poly *steps = NULL;
        int at = ordering->count;
        while (at > 0 && !steps)
            steps = poly_divide_exact(arena, &term, ordering->places[--at].weight);
        if (!steps || at + 1 == ordering->count) return false;
        ordering->places[at].shift = poly_add(arena, ordering->places[at].shift, steps);
        ordering->is_other = true;
    }
    return true;
}

bool place_is_plain(const Ordering *ordering, const OrderedPlace *place) {
    if (!place->extent) return !place->repeat;
    if (!poly_is_zero(place->shift)) return false;
    return place->repeat
               ? launches_pass_product(ordering->state, place->extent, place->size, place->repeat)
               : poly_equal(place->extent, place->size);
}

/// Whether so few digits read one element that one lane may add them up: a small number, or one that launches make the output larger by.
static bool is_short(const Ordering *ordering, const Poly *count) {
    int64_t number;
    return count && launches_pass_few(ordering->state, count) &&
           (poly_is_constant(count, &number) ||
            launches_pass_multiple(ordering->state, ordering->end, count));
}

bool sums_are_short(const Ordering *ordering) {
    for (int i = 0; i < ordering->count; i++) {
        const Poly *repeat = ordering->places[i].repeat;
        if (repeat && !is_short(ordering, repeat)) return false;
    }
    for (int i = 0; i < ordering->idle_count; i++)
        if (!is_short(ordering, ordering->idle[i].extent)) return false;
    return true;
}

/* ---- dimensions ---- */

/// The factors of a step that no digit is counted by: a stride. NULL where its terms differ in them.
static const Poly *own_stride(const Ordering *ordering, const Poly *weight) {
    Arena *arena = ordering->arena;
    const Poly *stride = NULL;
    for (int t = 0; t < weight->count; t++) {
        const Poly *factors = poly_constant(arena, 1);
        for (int a = 0; a < weight->terms[t].atom_count; a++) {
            Value *atom = weight->terms[t].atoms[a];
            bool counts = false;
            for (int i = 0; i < ordering->count; i++)
                counts = counts || poly_mentions(ordering->places[i].low, atom);
            if (!counts) factors = poly_multiply(arena, factors, poly_atom(arena, atom));
        }
        if (stride && !poly_equal(stride, factors)) return NULL;
        stride = factors;
    }
    return stride;
}

/// Whether place `at` is not behind place `other`: by their strides, and within one dimension by their steps.
static bool comes_first(const Ordering *ordering, const Poly *const *strides, int at, int other) {
    bool is_same = poly_equal(strides[at], strides[other]);
    return is_same ? poly_divide_exact(ordering->arena, ordering->places[other].weight,
                                       ordering->places[at].weight) != NULL
                   : poly_divide_exact(ordering->arena, strides[other], strides[at]) != NULL;
}

/// The digits of one dimension, from place `first` to below `end`: each as long as a step of the next one, the last one as the input is.
static bool settle_dimension(Ordering *ordering, int first, int end, const Poly *length) {
    Arena *arena = ordering->arena;
    OrderedPlace *places = ordering->places;
    for (int i = first; i + 1 < end; i++) {
        places[i].size = poly_divide_exact(arena, places[i + 1].weight, places[i].weight);
        if (!poly_equal(places[i].size, places[i].extent)) return false;
    }
    OrderedPlace *last = &places[end - 1];
    if (!length) return !last->extent;  // the coarsest of all
    const Poly *steps = poly_divide_exact(arena, last->weight, places[first].weight);
    if (!steps || !last->extent) return false;
    if (poly_equal(poly_multiply(arena, last->extent, steps), length)) {
        last->size = last->extent;
        return true;
    }
    places[first].along = length;
    last->is_ragged = true;
    return true;
}

/// The same by dimensions, of which each has a stride of its own and may be longer than its digits come to: `gw * P + q` of rows of `W`.
static bool sort_dimensions(Ordering *ordering) {
    const Poly *strides[MOST_PLACES];
    OrderedPlace *places = ordering->places;
    int64_t one;
    if (!poly_is_zero(ordering->base) || ordering->sums || ordering->idle_count ||
        ordering->tap_count)
        return false;
    for (int i = 0; i < ordering->count; i++) {
        strides[i] = own_stride(ordering, places[i].weight);
        if (!strides[i] || places[i].is_back) return false;
    }
    for (int done = 0; done < ordering->count; done++) {
        int at = done;
        for (int i = done; i < ordering->count && at < ordering->count; i++)
            if (!comes_first(ordering, strides, at, i)) i = done - 1, at++;
        if (at == ordering->count) return false;
        ordering->is_other |= at != done;
        OrderedPlace next = places[at];
        const Poly *stride = strides[at];
        places[at] = places[done];
        strides[at] = strides[done];
        places[done] = next;
        strides[done] = stride;
    }
    if (!poly_is_constant(places[0].weight, &one) || one != 1) return false;
    for (int first = 0, end; first < ordering->count; first = end) {
        for (end = first + 1; end < ordering->count && poly_equal(strides[end], strides[first]);)
            end++;
        const Poly *length = end < ordering->count
                                 ? poly_divide_exact(ordering->arena, strides[end], strides[first])
                                 : NULL;
        if (!poly_equal(places[first].weight, strides[first]) ||
            (end < ordering->count && !length) || !settle_dimension(ordering, first, end, length))
            return false;
    }
    return true;
}

bool places_find_order(Ordering *ordering) {
    if (!ordering_find_places(ordering)) return false;
    OrderedPlace before[MOST_PLACES];
    for (int i = 0; i < ordering->count; i++) before[i] = ordering->places[i];
    bool was_other = ordering->is_other;
    if (sort_places(ordering)) return find_shifts(ordering);
    for (int i = 0; i < ordering->count; i++) ordering->places[i] = before[i];
    ordering->is_other = was_other;
    return sort_dimensions(ordering);
}
