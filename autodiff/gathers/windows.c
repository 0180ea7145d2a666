// Digits of an output's number, several of which move one axis of the input, in; where windows begin, and what is within one, out.
#include "autodiff/gathers/windows.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/digits/digits.h"
#include "autodiff/rewrite/copying.h"

static bool is_one(const Poly *number) {
    int64_t known;
    return number && poly_is_constant(number, &known) && known == 1;
}

static bool poly_is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!number->terms[t].atoms[i]->type.is_constexpr) return false;
    return true;
}

static bool is_tap_variable(const Ordering *ordering, const Value *atom) {
    for (int i = 0; i < ordering->tap_count; i++)
        if (ordering->taps[i]->regions[0]->arguments[0] == atom) return true;
    return false;
}

/// Whether a number is made of what the compiler knows, and of loops over taps.
static bool is_within_window(const Ordering *ordering, const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int a = 0; a < number->terms[t].atom_count; a++) {
            const Value *atom = number->terms[t].atoms[a];
            if (!atom->type.is_constexpr && !is_tap_variable(ordering, atom)) return false;
        }
    return true;
}

/* ---- axes ---- */

/// What a digit moves the address by, without what the compiler knows: the stride of an axis, whose windows begin at multiples.
static const Poly *axis_stride(const Ordering *ordering, const Poly *weight) {
    Arena *arena = ordering->arena;
    const Poly *stride = poly_constant(arena, 1);
    if (weight->count != 1) return NULL;
    for (int a = 0; a < weight->terms[0].atom_count; a++) {
        Value *atom = weight->terms[0].atoms[a];
        if (!atom->type.is_constexpr) stride = poly_multiply(arena, stride, poly_atom(arena, atom));
    }
    return stride;
}

static bool is_tap_digit(const Ordering *ordering, const OrderedPlace *place) {
    return place->extent && is_within_window(ordering, place->extent) &&
           launches_pass_few(ordering->state, place->extent);
}

/// Puts digits with one stride each in the order of these; the coarsest is that of the output.
static bool sort_axes(Ordering *ordering) {
    Arena *arena = ordering->arena;
    OrderedPlace *places = ordering->places;
    for (int done = 0; done < ordering->count; done++) {
        int at = -1;
        for (int i = done; i < ordering->count && at < 0; i++) {
            bool is_finest = true;
            for (int k = done; k < ordering->count; k++)
                is_finest &= poly_divide_exact(arena, places[k].stride, places[i].stride) != NULL;
            if (is_finest) at = i;
        }
        if (at < 0) return false;
        OrderedPlace next = places[at];
        places[at] = places[done];
        places[done] = next;
        if ((done + 1 == ordering->count) != !next.extent) return false;
        next.step = poly_divide_exact(arena, next.weight, next.stride);
        if (!next.step || (done && poly_equal(next.stride, places[done - 1].stride))) return false;
        places[done].step = next.step;
        if (done)
            places[done - 1].size = poly_divide_exact(arena, next.stride, places[done - 1].stride);
    }
    return is_one(places[0].stride) && is_one(places[ordering->count - 1].step);
}

/// The axis whose stride is the largest that divides a number, and how many of that it is; -1.
static int axis_of(const Ordering *ordering, const Poly *number, const Poly **steps) {
    for (int at = ordering->count - 2; at >= 0; at--) {
        *steps = poly_divide_exact(ordering->arena, number, ordering->places[at].stride);
        if (*steps && is_within_window(ordering, *steps)) return at;
    }
    return -1;
}

/// Which axis each tap, and all that is added to the address, moves.
static bool place_taps(Ordering *ordering) {
    for (int i = 0; i < ordering->idle_count; i++) {
        OrderedPlace *tap = &ordering->idle[i];
        tap->axis = axis_of(ordering, tap->weight, &tap->step);
        if (tap->axis < 0) return false;
    }
    for (int t = 0; t < ordering->base->count; t++) {
        const Poly term = {1, &ordering->base->terms[t]}, *steps;
        int at = axis_of(ordering, &term, &steps);
        if (at < 0) return false;
        ordering->places[at].shift = poly_add(ordering->arena, ordering->places[at].shift, steps);
    }
    return true;
}

bool places_find_windows(Ordering *ordering) {
    OrderedPlace all[MOST_PLACES];
    const FunctionDefinition *kernel = ordering->state->primal->definition;
    if (!ordering_find_places(ordering) || ordering->idle_count || !kernel ||
        kernel->is_autotuned || kernel->has_heuristics)
        return false;
    int count = ordering->count;
    for (int i = 0; i < count; i++) all[i] = ordering->places[i];
    ordering->count = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].is_back || all[i].repeat) return false;
        all[i].stride = axis_stride(ordering, all[i].weight);
        if (!all[i].stride) return false;
        if (is_tap_digit(ordering, &all[i]))
            ordering->idle[ordering->idle_count++] = all[i];
        else
            ordering->places[ordering->count++] = all[i];
    }
    ordering->is_windowed = ordering->sums = ordering->is_other = true;
    return ordering->count > 1 && sort_axes(ordering) && place_taps(ordering);
}

bool windows_are_whole(const Ordering *ordering) {
    const OrderedPlace *top = &ordering->places[ordering->count - 1];
    return launches_pass_multiple(ordering->state, ordering->end, top->low);
}

/* ---- masks ---- */

/// A tile as a sum of digits: times how much of each, and what is added.
typedef struct DigitForm {
    const Poly *places[MOST_PLACES], *idle[MOST_PLACES], *base;
} DigitForm;

enum { MOST_DEEP = 12 };  // sums within one another in a mask. Beyond: it is not understood

static bool is_place(const OrderedPlace *place, const Poly *low, const Poly *extent) {
    return poly_equal(place->low, low) &&
           (place->extent && extent ? poly_equal(place->extent, extent) : place->extent == extent);
}

static bool add_digit(const Ordering *ordering, Value *value, const Poly *times, DigitForm *form) {
    Arena *arena = ordering->arena;
    const Poly *low, *extent;
    if (!digit_read(arena, value, ordering->number, &low, &extent)) return false;
    for (int i = 0; i < ordering->count; i++)
        if (is_place(&ordering->places[i], low, extent)) {
            form->places[i] = poly_add(arena, form->places[i], times);
            return true;
        }
    for (int i = 0; i < ordering->idle_count; i++)
        if (is_place(&ordering->idle[i], low, extent)) {
            form->idle[i] = poly_add(arena, form->idle[i], times);
            return true;
        }
    return false;
}

static bool add_form(const Ordering *ordering, Value *value, const Poly *times, DigitForm *form,
                     int depth) {
    Arena *arena = ordering->arena;
    const Op *op = value->op;
    if (!times || depth > MOST_DEEP) return false;
    if (!value->type.rank) {
        form->base =
            poly_add(arena, form->base, poly_multiply(arena, times, value_poly(arena, value)));
        return form->base != NULL;
    }
    if (add_digit(ordering, value, times, form)) return true;
    if (!op) return false;
    if (op->code == OP_ADD || op->code == OP_SUB) {
        const Poly *other =
            op->code == OP_ADD ? times : poly_subtract(arena, poly_constant(arena, 0), times);
        return add_form(ordering, op->operands[0], times, form, depth + 1) &&
               add_form(ordering, op->operands[1], other, form, depth + 1);
    }
    if (op->code != OP_MUL) return false;
    int side = op->operands[0]->type.rank ? 1 : 0;
    if (op->operands[side]->type.rank) return false;
    const Poly *factor = value_poly(arena, op->operands[side]);
    return add_form(ordering, op->operands[1 - side], poly_multiply(arena, times, factor), form,
                    depth + 1);
}

/// Whether a tile is the number of an element along an axis.
static bool is_along(const Ordering *ordering, Value *value, int axis) {
    Arena *arena = ordering->arena;
    const Poly *zero = poly_constant(arena, 0);
    DigitForm form = {.base = zero};
    for (int i = 0; i < MOST_PLACES; i++) form.places[i] = form.idle[i] = zero;
    if (!add_form(ordering, value, poly_constant(arena, 1), &form, 0)) return false;
    for (int i = 0; i < ordering->count; i++)
        if (!poly_equal(form.places[i], i == axis ? ordering->places[i].step : zero)) return false;
    for (int i = 0; i < ordering->idle_count; i++) {
        const OrderedPlace *tap = &ordering->idle[i];
        if (!poly_equal(form.idle[i], tap->axis == axis ? tap->step : zero)) return false;
    }
    return poly_equal(form.base, ordering->places[axis].shift);
}

/// `number >= 0` (-1) or `number < size` (1) of an axis; 0: something else.
static int bound_of(const Ordering *ordering, const Value *term, int axis) {
    const Op *op = term->op;
    int64_t least;
    if (!op || (op->code != OP_LT && op->code != OP_GE) || op->operands[1]->type.rank ||
        !is_along(ordering, op->operands[0], axis))
        return 0;
    if (op->code == OP_GE) return value_is_int(op->operands[1], &least) && least == 0 ? -1 : 0;
    const Poly *end = value_poly(ordering->arena, op->operands[1]);
    return poly_equal(end, ordering->places[axis].size) ? 1 : 0;
}

static bool take_bounds(Ordering *ordering, int axis) {
    bool is_above = false, is_below = false;
    LIST(Value *) kept = {0};
    for (LIST_EACH(int, i, ordering->terms)) {
        Value *term = ordering->terms.items[i];
        int bound = bound_of(ordering, term, axis);
        is_above |= bound < 0;
        is_below |= bound > 0;
        if (!bound) LIST_PUSH(ordering->arena, &kept, term);
    }
    if (!is_above || !is_below) return false;
    ordering->terms.count = kept.count;
    for (int i = 0; i < kept.count; i++) ordering->terms.items[i] = kept.items[i];
    return true;
}

/// How far the taps reach from where a window begins: the last one's number, as Python. NULL: not known, or they begin before that.
static const Poly *reach_of(const Ordering *ordering, int axis) {
    Arena *arena = ordering->arena;
    const OrderedPlace *place = &ordering->places[axis];
    const Poly *one = poly_constant(arena, 1), *last = poly_subtract(arena, place->extent, one);
    const Poly *reach = poly_multiply(arena, last, place->step);
    for (int i = 0; reach && i < ordering->idle_count; i++) {
        const OrderedPlace *tap = &ordering->idle[i];
        if (tap->axis != axis) continue;
        last = poly_multiply(arena, tap->step, poly_subtract(arena, tap->extent, one));
        reach = last ? poly_add(arena, reach, last) : NULL;
    }
    for (int t = 0; reach && t < place->shift->count; t++) {
        const Monomial *term = &place->shift->terms[t];
        const Poly *share = poly_constant(arena, term->coefficient);
        if (term->coefficient < 0) return NULL;
        for (int a = 0; share && a < term->atom_count; a++) {
            const Poly *factor = poly_atom(arena, term->atoms[a]);
            for (int i = 0; i < ordering->tap_count; i++) {
                const Op *tap = ordering->taps[i];
                if (tap->regions[0]->arguments[0] != term->atoms[a]) continue;
                const Poly *first = value_poly(arena, tap->operands[0]);
                if (!poly_is_nonnegative(arena, first)) return NULL;
                factor = poly_subtract(arena, value_poly(arena, tap->operands[1]), one);
            }
            share = poly_multiply(arena, share, factor);
        }
        reach = share ? poly_add(arena, reach, share) : NULL;
    }
    return reach;
}

bool windows_take_bounds(Ordering *ordering) {
    Arena *arena = ordering->arena;
    bool is_open = false;
    const char *tensor = NULL;
    StepCheck check = {.ranges = ARENA_ARRAY(arena, const char *, ordering->count),
                       .guard = "",
                       .is_of_windows = true};
    for (int i = 0; i < ordering->count; i++) {
        OrderedPlace *place = &ordering->places[i];
        const char *length = "None";
        if (place->size && take_bounds(ordering, i)) {
            length = poly_print(arena, place->size);
        } else if (place->size) {
            const Poly *reach = reach_of(ordering, i);
            if (!reach) return false;
            is_open = true;
            place->reach = poly_add(arena, reach, poly_constant(arena, 1));
            length = poly_print(arena, place->reach);
        }
        check.ranges[check.range_count++] =
            arena_printf(arena, "(%s, %s)", poly_print(arena, place->stride), length);
    }
    for (int i = 0; i < ordering->state->primal->parameter_count; i++)
        if (map_get_pointer(&ordering->state->buffers.gradients,
                            ordering->state->primal->parameters[i].value) == ordering->parameter)
            tensor = ordering->state->primal->parameters[i].name;
    if (!tensor) return false;
    check.of = tensor;
    ordering->check = check;
    ordering->has_check = is_open;
    return true;
}

/* ---- windows in place of taps ---- */

static intptr_t is_made_of_rule(ValueWalk *walk, const Value *value) {
    if (value == walk->context) return 1;
    const Op *op = value->op;
    if (!op) return 0;
    if (op->region_count) return 1;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && walk_ask(walk, op->operands[i])) return 1;
    return 0;
}

/// Whether a value may be made of another one.
static bool is_made_of(const Value *whole, const Value *value) {
    return walk_from(whole, is_made_of_rule, 1, value) != 0;
}

/// The loop over taps that moves a window along an axis by one a turn, and alone; NULL: another number of loops, or of steps.
static const Op *only_loop(const Ordering *ordering, const OrderedPlace *place) {
    const Op *loop = NULL;
    for (int i = 0; i < ordering->tap_count; i++) {
        const Value *variable = ordering->taps[i]->regions[0]->arguments[0];
        if (!poly_mentions(place->shift, variable)) continue;
        const Poly *rest = poly_subtract(ordering->arena, place->shift,
                                         poly_atom(ordering->arena, (Value *)(uintptr_t)variable));
        if (loop || poly_mentions(rest, variable)) return NULL;
        loop = ordering->taps[i];
    }
    return loop;
}

static WindowTurns *find_turns(Ordering *ordering, int axis) {
    Arena *arena = ordering->arena;
    const OrderedPlace *place = &ordering->places[axis];
    OrderedPlace *tap = NULL;
    WindowTurns turns = {.loop = only_loop(ordering, place), .first = poly_constant(arena, 0)};
    for (int i = 0; i < ordering->idle_count; i++) {
        if (ordering->idle[i].axis != axis) continue;
        if (tap || !is_one(ordering->idle[i].step)) return NULL;
        tap = &ordering->idle[i];
    }
    for (int i = 0; i < ordering->tap_count; i++) {
        const Value *variable = ordering->taps[i]->regions[0]->arguments[0];
        bool is_used = is_made_of(ordering->store->operands[1], variable);
        for (LIST_EACH(int, k, ordering->terms))
            is_used |= is_made_of(ordering->terms.items[k], variable);
        if (poly_mentions(place->shift, variable) && (ordering->taps[i] != turns.loop || is_used))
            return NULL;
    }
    if (!turns.loop == !tap) return NULL;
    turns.tap = tap;
    turns.taps = tap ? tap->extent : value_poly(arena, turns.loop->operands[1]);
    if (turns.loop) turns.first = value_poly(arena, turns.loop->operands[0]);
    turns.taps = poly_subtract(arena, turns.taps, turns.first);
    if (!turns.taps || !poly_is_constexpr(turns.taps) || !poly_is_constexpr(place->step))
        return NULL;
    WindowTurns *kept = ARENA_NEW(arena, WindowTurns);
    *kept = turns;
    return kept;
}

void windows_take_turns(Ordering *ordering) {
    for (int i = 0; i + 1 < ordering->count; i++)
        if (!is_one(ordering->places[i].step)) ordering->places[i].turns = find_turns(ordering, i);
}

WindowTurns *windows_turns_of(const Ordering *ordering, const Op *loop, const OrderedPlace *tap) {
    for (int i = 0; i < ordering->count; i++) {
        WindowTurns *turns = ordering->places[i].turns;
        if (turns && ((loop && turns->loop == loop) || (tap && turns->tap == tap))) return turns;
    }
    return NULL;
}

Value *windows_have_tap(Builder *b, const OrderedPlace *place) {
    const WindowTurns *turns = place->turns;
    if (!turns) return NULL;
    Value *is_early = build_binary(b, OP_LT, turns->number, build_poly(b, turns->taps));
    return build_binary(b, OP_AND, build_binary(b, OP_GE, turns->number, build_int(b, 0)),
                        is_early);
}

/* ---- the digits ---- */

/// The window that a turn is at, and which of its taps an element is.
static void compute_turn(OrderedPlace *place, Builder *b) {
    Arena *arena = b->function->arena;
    WindowTurns *turns = place->turns;
    const Poly *shift = poly_add(arena, place->shift, turns->first);
    if (turns->loop)
        shift = poly_subtract(
            arena, shift,
            poly_atom(arena, (Value *)(uintptr_t)turns->loop->regions[0]->arguments[0]));
    Value *from = place->digit, *step = build_poly(b, place->step);
    if (!poly_is_zero(shift)) from = build_binary(b, OP_SUB, from, build_poly(b, shift));
    Value *last = build_binary(b, OP_FLOORDIV, from, step);
    place->digit = place->begin = build_binary(b, OP_SUB, last, turns->turn);
    turns->number = build_binary(b, OP_SUB, from, build_binary(b, OP_MUL, place->digit, step));
    if (turns->loop) turns->number->name = turns->loop->regions[0]->arguments[0]->name;
    if (turns->tap) turns->tap->digit = turns->number;
}

Value *windows_have(const Ordering *ordering, Builder *b, Value *mask) {
    for (int i = 0; i + 1 < ordering->count; i++) {
        const OrderedPlace *place = &ordering->places[i];
        if (!place->reach) continue;
        Value *within = build_binary(b, OP_LT, place->digit, build_poly(b, place->reach));
        mask = build_binary(b, OP_AND, mask, within);
    }
    return mask;
}

void windows_compute_digits(Ordering *ordering, Builder *b, Map *taps) {
    for (int i = 0; i + 1 < ordering->count; i++) {
        OrderedPlace *place = &ordering->places[i];
        Value *from = place->digit;
        if (place->turns) {
            compute_turn(place, b);
            continue;
        }
        if (!poly_is_zero(place->shift))
            from = build_binary(b, OP_SUB, from, poly_copied(b, place->shift, taps));
        for (int k = 0; k < ordering->idle_count; k++) {
            const OrderedPlace *tap = &ordering->idle[k];
            if (tap->axis != i) continue;
            Value *by = tap->digit;
            if (!is_one(tap->step)) by = build_binary(b, OP_MUL, by, build_poly(b, tap->step));
            from = build_binary(b, OP_SUB, from, by);
        }
        place->digit = place->begin = from;
        if (!is_one(place->step))
            place->digit = build_binary(b, OP_FLOORDIV, from, build_poly(b, place->step));
    }
}
