// Digits of an output's number in; the same of an input's number out.
#include "autodiff/gathers/in_order.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/digits/digits.h"
#include "autodiff/gathers/ordered_places.h"
#include "autodiff/gathers/windows.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

/* ---- what the kernel is ---- */

typedef struct PlainUse {
    const Differentiation *state;
    Op *store;
    int loops;  // over taps
    bool is_plain;
} PlainUse;

/// Whether a loop carries nothing, and its bounds are known to the compiler.
static bool is_over_taps(const Op *loop) {
    int64_t one;
    if ((loop->code != OP_STATIC_FOR && loop->code != OP_FOR) || loop->result_count ||
        loop->operand_count != 3)
        return false;
    for (int i = 0; i < 3; i++)
        if (!loop->operands[i]->constant && !loop->operands[i]->type.is_constexpr) return false;
    return value_is_int(loop->operands[2], &one) && one == 1;
}

static bool visit_use(void *context, Op *op) {
    PlainUse *use = context;
    int effects = op_rows[op->code].effects;
    bool is_store = op->code == OP_STORE || op->code == OP_ATOMIC_ADD,
         is_load = op->code == OP_LOAD;
    bool is_loop = is_over_taps(op);
    use->loops += is_loop;
    if ((op->region_count && !is_loop) || (effects & EFFECT_ORDERED)) use->is_plain = false;
    if ((effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) && !is_store && !is_load)
        use->is_plain = false;
    if (op->code == OP_NUM_PROGRAMS || op->code == OP_TILE_INDEX) use->is_plain = false;
    if (!is_store) return use->is_plain;
    if (use->store) use->is_plain = false;
    use->store = op;
    return use->is_plain;
}

static bool is_gradient(const Differentiation *state, const Value *parameter) {
    for (int i = 0; i < state->primal->parameter_count; i++)
        if (map_get_pointer(&state->buffers.gradients, state->primal->parameters[i].value) ==
            parameter)
            return true;
    return false;
}

/* ---- the mask ---- */

static void list_terms(Ordering *ordering, Value *mask) {
    if (mask->op && mask->op->code == OP_AND) {
        list_terms(ordering, mask->op->operands[0]);
        list_terms(ordering, mask->op->operands[1]);
    } else {
        LIST_PUSH(ordering->arena, &ordering->terms, mask);
    }
}

/// Whether a value is a digit with its shift.
static bool is_shifted(const Ordering *ordering, Value *value, const OrderedPlace *place) {
    Arena *arena = ordering->arena;
    const Poly *by = poly_constant(arena, 0), *low, *extent;
    const Op *op = value->op;
    for (int steps = 0; op && (op->code == OP_ADD || op->code == OP_SUB) && steps < MOST_PLACES;
         steps++) {
        int side = op->operands[1]->type.rank ? 0 : 1;
        if (op->operands[side]->type.rank || (op->code == OP_SUB && side == 0)) return false;
        const Poly *added = value_poly(arena, op->operands[side]);
        by = op->code == OP_ADD ? poly_add(arena, by, added) : poly_subtract(arena, by, added);
        value = op->operands[1 - side];
        op = value->op;
    }
    return digit_read(arena, value, ordering->number, &low, &extent) &&
           poly_equal(low, place->low) && poly_equal(extent, place->extent) &&
           poly_equal(by, place->shift);
}

/// `digit >= 0` (-1) or `digit < size` (1), with its shift; 0: something else.
static int bound_of(const Ordering *ordering, const Value *term, const OrderedPlace *place) {
    const Op *op = term->op;
    int64_t least;
    if (!op || (op->code != OP_LT && op->code != OP_GE) || op->operands[1]->type.rank ||
        !is_shifted(ordering, op->operands[0], place))
        return 0;
    if (op->code == OP_GE) return value_is_int(op->operands[1], &least) && least == 0 ? -1 : 0;
    return poly_equal(value_poly(ordering->arena, op->operands[1]), place->size) ? 1 : 0;
}

/// Whether the mask keeps a digit with its shift within what the input has along it. These terms hold for each element of the input.
static bool take_bounds(Ordering *ordering, const OrderedPlace *place) {
    bool is_above = false, is_below = false;
    int kept = 0;
    for (LIST_EACH(int, i, ordering->terms)) {
        Value *term = ordering->terms.items[i];
        int bound = bound_of(ordering, term, place);
        is_above = is_above || bound < 0;
        is_below = is_below || bound > 0;
        if (!bound) ordering->terms.items[kept++] = term;
    }
    ordering->terms.count = kept;
    return is_above && is_below;
}

/// `number < end` masks the store, and the launches have a lane for each number below it.
static bool find_end(Ordering *ordering) {
    Arena *arena = ordering->arena;
    for (LIST_EACH(int, i, ordering->terms)) {
        const Op *op = ordering->terms.items[i]->op;
        bool is_it = op && op->code == OP_LT && op->operands[0] == ordering->number &&
                     !op->operands[1]->type.rank;
        if (is_it) ordering->end = value_poly(arena, op->operands[1]);
    }
    Affine form = affine_of(arena, ordering->number);
    const Type *type = &ordering->number->type;
    int64_t step;
    if (!ordering->end || !form.known || form.rank != 1 || type->rank != 1 ||
        form.base->count != 1 || !poly_is_constant(form.lane[0], &step) || step != 1)
        return false;
    Value *id = NULL;
    for (int i = 0; i < form.base->terms[0].atom_count; i++)
        if (value_is_program_id(form.base->terms[0].atoms[i], 0)) id = form.base->terms[0].atoms[i];
    const Poly *blocks = id ? poly_multiply(arena, poly_atom(arena, id), type->dims[0]) : NULL;
    if (!blocks || !poly_equal(blocks, form.base)) return false;
    const Coordinate lanes = {.axis = 0, .program = id, .size = type->dims[0]};
    return launches_cover(ordering->state, &lanes, ordering->end);
}

static bool masks_fit(Ordering *ordering) {
    Value *mask = access_mask(ordering->store);
    if (!mask) return false;
    list_terms(ordering, mask);
    if (ordering->is_windowed) return windows_take_bounds(ordering) && find_end(ordering);
    for (int i = 0; i < ordering->count; i++)
        if (!place_is_plain(ordering, &ordering->places[i]) && !ordering->places[i].is_ragged &&
            (ordering->places[i].is_back || ordering->places[i].repeat ||
             !take_bounds(ordering, &ordering->places[i])))
            return false;
    return find_end(ordering);
}

/* ---- the kernel in that order ---- */

static bool poly_is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!number->terms[t].atoms[i]->type.is_constexpr) return false;
    return true;
}

/// A loop that the programs share out, from the first element to behind the last one.
static Op *open_loop(Ordering *ordering, Builder *b, Value *end) {
    Function *function = b->function;
    Value *block = build_poly(b, ordering->number->type.dims[0]);
    Value *id = build_unary(b, OP_PROGRAM_ID, build_int(b, 0));
    Value *all = build_unary(b, OP_NUM_PROGRAMS, build_int(b, 0));
    Value *bounds[] = {build_binary(b, OP_MUL, id, block), end,
                       build_binary(b, OP_MUL, all, block)};
    Op *loop = op_append(b, OP_FOR, bounds, 3, 0);
    Region *body = op_add_region(b, loop);
    region_add_argument(function, body, bounds[0]->type, "start");
    Builder inside = {.function = function, .region = body, .range = b->range};
    op_append(&inside, OP_YIELD, NULL, 0, 0);
    return loop;
}

/// The output's digits, of the input's number.
static void compute_digits(Ordering *ordering, Builder *b, Value *element) {
    Value *rest = element, *outer = NULL;
    for (int i = 0; i < ordering->count; i++) {
        OrderedPlace *place = &ordering->places[i];
        if (place->along) {
            Value *along = build_poly(b, place->along);
            outer = build_binary(b, OP_FLOORDIV, rest, along);
            rest = build_binary(b, OP_SUB, rest, build_binary(b, OP_MUL, outer, along));
        }
        place->digit = rest;
        if (place->is_ragged) rest = outer;
        if (!place->size) continue;
        Value *size = build_poly(b, place->size);
        // not `rest % size`: a compiler would divide once more, and ask for signs
        Value *above = build_binary(b, OP_FLOORDIV, rest, size);
        place->digit = build_binary(b, OP_SUB, rest, build_binary(b, OP_MUL, above, size));
        rest = above;
        if (!poly_is_zero(place->shift) && !ordering->tap_count && !ordering->is_windowed)
            place->digit = build_binary(b, OP_SUB, place->digit, build_poly(b, place->shift));
        const Poly *last =
            poly_subtract(ordering->arena, place->size, poly_constant(ordering->arena, 1));
        if (place->is_back)
            place->digit = build_binary(b, OP_SUB, build_poly(b, last), place->digit);
        if (place->repeat)
            place->digit = build_binary(b, OP_MUL, place->digit, build_poly(b, place->repeat));
    }
}

/// Where the output has the digits; NULL: everywhere.
static Value *digits_within(const Ordering *ordering, Builder *b) {
    Value *mask = NULL;
    for (int i = 0; i < ordering->count; i++) {
        const OrderedPlace *place = &ordering->places[i];
        if (ordering->is_windowed ? !place->extent : place_is_plain(ordering, place)) continue;
        Value *within = build_binary(b, OP_LT, place->digit, build_poly(b, place->extent));
        if (place->turns) {
            within = build_binary(b, OP_AND, windows_have_tap(b, place), within);
        } else if (place->begin && place->begin != place->digit) {
            Value *begin = build_binary(b, OP_MUL, place->digit, build_poly(b, place->step));
            within = build_binary(b, OP_AND, build_binary(b, OP_EQ, begin, place->begin), within);
        }
        if (!place->is_ragged)
            within = build_binary(b, OP_AND, build_binary(b, OP_GE, place->digit, build_int(b, 0)),
                                  within);
        mask = mask ? build_binary(b, OP_AND, mask, within) : within;
    }
    return mask;
}

typedef struct LoadMasks {
    Function *function;
    Value *within;
} LoadMasks;

/// Where the output has no such digits, its number may be anything.
static bool visit_mask(void *context, Op *op) {
    const LoadMasks *masks = context;
    if (op->code != OP_LOAD || !op->operands[0]->type.rank) return true;
    Builder b = {
        .function = masks->function, .region = op->parent, .before = op, .range = op->range};
    int at = op_parameter_index(OP_LOAD, STR("mask")),
        other = op_parameter_index(OP_LOAD, STR("other"));
    Value *mask = access_mask(op);
    while (op->operand_count <= other) op_append_operand(masks->function, op, NULL);
    op_set_operand(op, at, mask ? build_binary(&b, OP_AND, mask, masks->within) : masks->within);
    if (op->operands[other] && !value_is_none(op->operands[other])) return true;
    bool is_float = dtype_is_float(op->results[0]->type.element);
    op_set_operand(op, other, is_float ? build_float(&b, 0.0) : build_int(&b, 0));
    return true;
}

static Value *compute_number(const Ordering *ordering, Builder *b) {
    Value *number = NULL;
    for (int i = 0; i < ordering->count + ordering->idle_count; i++) {
        const OrderedPlace *place =
            i < ordering->count ? &ordering->places[i] : &ordering->idle[i - ordering->count];
        if (!place->digit) continue;
        Value *share = build_binary(b, OP_MUL, place->digit, build_poly(b, place->low));
        number = number ? build_binary(b, OP_ADD, number, share) : share;
    }
    return number;
}

/// The least number of the output that has the coarsest digit of an element.
static Value *top_number(const Ordering *ordering, Builder *b) {
    const OrderedPlace *top = &ordering->places[ordering->count - 1];
    return build_binary(b, OP_MUL, top->digit, build_poly(b, top->low));
}

typedef struct DigitUses {
    const Ordering *ordering;
    LIST(Op *) found;
    LIST(Value *) instead;
} DigitUses;

static bool visit_digit(void *context, Op *op) {
    DigitUses *uses = context;
    const Ordering *ordering = uses->ordering;
    const Poly *low, *extent;
    if (op->result_count != 1 ||
        !digit_read(ordering->arena, op->results[0], ordering->number, &low, &extent))
        return true;
    for (int i = 0; i < ordering->count; i++) {
        const OrderedPlace *place = &ordering->places[i];
        bool is_it = poly_equal(low, place->low) &&
                     (place->extent ? poly_equal(extent, place->extent) : !extent);
        if (!is_it || !type_equal(op->results[0]->type, place->digit->type)) continue;
        LIST_PUSH(ordering->arena, &uses->found, op);
        LIST_PUSH(ordering->arena, &uses->instead, place->digit);
    }
    return true;
}

typedef struct AlikeLoads {
    const Ordering *ordering;
    DigitStep steps[MOST_PLACES];
    int count;
    LIST(Op *) loads;
    LIST(Value *) parameters;
} AlikeLoads;

/// Loads of elements that have the number of the gradient's.
static bool visit_load(void *context, Op *op) {
    AlikeLoads *alike = context;
    Arena *arena = alike->ordering->arena;
    DigitStep steps[MOST_PLACES];
    const Poly *base;
    Value *parameter = NULL;
    if (op->code != OP_LOAD || digits_number(arena, op, &parameter) != alike->ordering->number ||
        digits_steps(arena, op, steps, MOST_PLACES, &base) != alike->count || !poly_is_zero(base))
        return true;
    for (int i = 0; i < alike->count; i++)
        if (!poly_equal(steps[i].weight, alike->steps[i].weight) ||
            (steps[i].extent ? !poly_equal(steps[i].extent, alike->steps[i].extent)
                             : alike->steps[i].extent != NULL))
            return true;
    LIST_PUSH(arena, &alike->loads, op);
    LIST_PUSH(arena, &alike->parameters, parameter);
    return true;
}

static void find_alike(AlikeLoads *alike) {
    const Ordering *ordering = alike->ordering;
    alike->count = digits_steps(ordering->arena, ordering->store, alike->steps, MOST_PLACES, NULL);
    if (alike->count < 0) return;
    region_walk(ordering->state->backward->body, visit_load, alike);
}

static bool is_tap(const Ordering *ordering, const Op *op) {
    for (int i = 0; i < ordering->tap_count; i++)
        if (ordering->taps[i] == op) return true;
    return false;
}

/// Puts what stands from an operation on in front of another one, without the loops over taps around it.
static void move_from(const Ordering *ordering, Op *first, Op *place, bool is_tap_body) {
    for (Op *op = first, *next; op; op = next) {
        next = op->next;
        bool is_shared = !is_tap_body && op->result_count == 1 &&
                         (op->results[0]->constant || op->results[0]->type.is_constexpr);
        if (is_tap(ordering, op)) {
            move_from(ordering, op->regions[0]->first, place, true);
            op_remove(op);
        } else if (op->code != OP_YIELD && !is_shared) {
            op_move_before(op, place);
        }
    }
}

/// Puts what stands behind a loop in a region of it.
static void move_behind(const Ordering *ordering, Op *loop, Region *region) {
    move_from(ordering, loop->next, region_terminator(region), false);
}

/// Of a sum: digits that read one element, or taps that do.
typedef struct SumLoop {
    OrderedPlace *place;  // what the loop's variable is added to; NULL: a loop over taps
    Op *from;
    WindowTurns *turns;  // it goes through windows in their place; or NULL
} SumLoop;

/// How many windows of so many taps have one element, at most.
static Value *count_windows(const Ordering *ordering, Builder *b, const WindowTurns *turns) {
    const Poly *step = NULL;
    for (int i = 0; i < ordering->count; i++)
        if (ordering->places[i].turns == turns) step = ordering->places[i].step;
    const Poly *last = poly_subtract(ordering->arena, step, poly_constant(ordering->arena, 1));
    Value *taps = build_poly(b, poly_add(ordering->arena, turns->taps, last));
    return build_binary(b, OP_FLOORDIV, taps, build_poly(b, step));
}

/// A loop of a sum, inside of `b`, with the sum that it carries.
static Op *open_sum(const Ordering *ordering, Builder *b, const SumLoop *sum_loop, Value **sum,
                    bool is_last, Map *taps) {
    OrderedPlace *place = sum_loop->place;
    const Op *from = sum_loop->from;
    WindowTurns *turns = sum_loop->turns;
    const Poly *count = !place ? NULL : place->repeat ? place->repeat : place->extent;
    Value *bounds[] = {from && !turns ? from->operands[0] : build_int(b, 0), NULL, build_int(b, 1),
                       *sum};
    bounds[1] = turns  ? count_windows(ordering, b, turns)
                : from ? from->operands[1]
                       : build_poly(b, count);
    bool is_static = turns  ? true
                     : from ? from->code == OP_STATIC_FOR || (is_last && ordering->is_windowed)
                            : is_last && poly_is_constexpr(count);
    Op *loop = op_append(b, is_static ? OP_STATIC_FOR : OP_FOR, bounds, 4, 0);
    const Value *before = from ? from->regions[0]->arguments[0] : NULL;
    Type type = before ? before->type : bounds[0]->type;
    if (!from || is_static) type.is_constexpr = is_static;
    if (from) loop->range = from->range;
    Region *region = op_add_region(b, loop);
    const char *name = before && !turns ? before->name : "turn";
    Value *turn = region_add_argument(b->function, region, type, name);
    *sum = region_add_argument(b->function, region, bounds[3]->type, "total");
    Builder inside = {.function = b->function, .region = region, .range = b->range};
    if (turns)
        turns->turn = turn;
    else if (place)
        place->digit = place->digit ? build_binary(&inside, OP_ADD, place->digit, turn) : turn;
    if (!from) return loop;
    map_set_pointer(taps, before, turn);
    region_replace_uses(b->function->body, (Value *)(uintptr_t)before, turn);
    return loop;
}

/// The loops over all that reads one element. The innermost one's region in `inside`; the sum behind all of them, which is the outermost's.
static Value *open_sums(Ordering *ordering, Builder *inside, Value **carried) {
    SumLoop all[2 * MOST_PLACES + MOST_TAPS];
    Map taps = map_new(ordering->arena);
    int count = 0;
    for (int i = 0; i < ordering->tap_count; i++)
        all[count++] = (SumLoop){.from = ordering->taps[i],
                                 .turns = windows_turns_of(ordering, ordering->taps[i], NULL)};
    for (int i = 0; i < ordering->count; i++)
        if (ordering->places[i].repeat) all[count++] = (SumLoop){.place = &ordering->places[i]};
    for (int i = 0; i < ordering->idle_count; i++)
        all[count++] = (SumLoop){.place = &ordering->idle[i],
                                 .turns = windows_turns_of(ordering, NULL, &ordering->idle[i])};
    Value *sum = zeros_added(inside, ordering->store), *result = NULL;
    for (int i = 0; i < count; i++) {
        Op *loop = open_sum(ordering, inside, &all[i], &sum, i + 1 == count, &taps);
        Value *after = op_append_result(inside->function, loop, sum->type);
        after->name = "total";
        if (i) {
            Builder outer = {.function = inside->function, .region = inside->region};
            op_append(&outer, OP_YIELD, &after, 1, 0);
        } else {
            result = after;
        }
        *inside = (Builder){
            .function = inside->function, .region = loop->regions[0], .range = inside->range};
    }
    if (ordering->is_windowed) windows_compute_digits(ordering, inside, &taps);
    for (int i = 0; i < ordering->count && ordering->tap_count && !ordering->is_windowed; i++) {
        OrderedPlace *place = &ordering->places[i];
        if (poly_is_zero(place->shift)) continue;
        Value *shift = poly_copied(inside, place->shift, &taps);
        place->digit = build_binary(inside, OP_SUB, place->digit, shift);
    }
    *carried = sum;
    return result;
}

/// What stands in a region computes the digits of one element, and the output's number, in place of its own.
static void renumber(Ordering *ordering, Region *region, const AlikeLoads *alike, Value *element,
                     Value *number, Value *within) {
    Function *function = ordering->state->backward;
    LoadMasks masks = {function, within};
    number->name = ordering->number->name;
    if (within) region_walk(region, visit_mask, &masks);
    for (LIST_EACH(int, i, alike->loads)) {
        Op *load = alike->loads.items[i];
        Builder at = {
            .function = function, .region = load->parent, .before = load, .range = load->range};
        op_set_operand(load, 0, build_binary(&at, OP_ADD, alike->parameters.items[i], element));
    }
    DigitUses uses = {.ordering = ordering};
    region_walk(region, visit_digit, &uses);
    for (LIST_EACH(int, i, uses.found))
        region_replace_uses(region, uses.found.items[i]->results[0], uses.instead.items[i]);
    region_replace_uses(region, ordering->number, number);
}

/// The sum of what all digits that read an element add to it. `mask`: where there is one.
static Value *sum_in_loops(Ordering *ordering, Op *loop, Builder *inside, const AlikeLoads *alike,
                           Value *element, Value *within, Value **mask) {
    Op *store = ordering->store;
    Value *first = ordering->is_windowed ? top_number(ordering, inside)
                                         : compute_number(ordering, inside),
          *carried;
    *mask = build_binary(inside, OP_LT, first, build_poly(inside, ordering->end));
    if (ordering->is_windowed) *mask = windows_have(ordering, inside, *mask);
    Builder inner = *inside;
    Value *sum = open_sums(ordering, &inner, &carried);
    if (ordering->tap_count || ordering->is_windowed) within = digits_within(ordering, &inner);
    Value *number = compute_number(ordering, &inner);
    Op *end = op_append(&inner, OP_YIELD, &carried, 1, 0);
    move_behind(ordering, loop, inner.region);
    renumber(ordering, inner.region, alike, element, number, within);
    inner.before = end;
    Value *term = store->operands[1], *is_read = within;
    for (LIST_EACH(int, i, ordering->terms))
        is_read = conditions_both(&inner, ordering->terms.items[i], is_read);
    if (is_read) term = build_ternary(&inner, OP_WHERE, is_read, term, build_float(&inner, 0.0));
    op_set_operand(end, 0, build_binary(&inner, OP_ADD, carried, term));
    return sum;
}

static Value *count_to(Ordering *ordering, Builder *b) {
    const OrderedPlace *top = &ordering->places[ordering->count - 1];
    Value *whole = build_poly(b, top->low), *each = build_poly(b, top->weight),
          *end = build_poly(b, ordering->end);
    Value *more = build_binary(b, OP_ADD, end, build_binary(b, OP_SUB, whole, build_int(b, 1)));
    Value *elements = build_binary(b, OP_MUL, build_binary(b, OP_FLOORDIV, more, whole), each);
    elements->name = "elements";
    return elements;
}

static bool is_first(const Poly *low) {
    int64_t one;
    return poly_is_constant(low, &one) && one == 1;
}

/// Whether a lane adds up elements that follow each other.
static bool reads_apart(const Ordering *ordering) {
    bool does = ordering->places[0].repeat && is_first(ordering->places[0].low);
    for (int i = 0; i < ordering->idle_count; i++) does |= is_first(ordering->idle[i].low);
    return does && !ordering->is_windowed;
}

static void reorder(Ordering *ordering) {
    if (ordering->is_windowed) windows_take_turns(ordering);
    Function *function = ordering->state->backward;
    Op *store = ordering->store, *numbers = ordering->number->op;
    Builder b = {.function = function,
                 .region = numbers->parent,
                 .before = numbers->next,
                 .range = store->range};
    AlikeLoads alike = {.ordering = ordering};
    find_alike(&alike);
    Value *elements = count_to(ordering, &b);
    ordering->state->parts.ordered =
        (OrderedSizes){.elements = value_poly(ordering->arena, elements),
                       .lanes = ordering->number->type.dims[0],
                       .reads_apart = reads_apart(ordering)};
    Op *loop = open_loop(ordering, &b, elements);
    if (!ordering->sums) move_behind(ordering, loop, loop->regions[0]);
    Region *body = loop->regions[0];
    Builder inside = {
        .function = function, .region = body, .before = body->first, .range = store->range};
    Value *lanes = build_binary(&inside, OP_ARANGE, build_int(&inside, 0),
                                build_poly(&inside, ordering->number->type.dims[0]));
    Value *element = build_binary(&inside, OP_ADD, body->arguments[0], lanes);
    compute_digits(ordering, &inside, element);
    bool is_later = ordering->tap_count || ordering->is_windowed;
    Value *within = is_later ? NULL : digits_within(ordering, &inside), *value = store->operands[1],
          *mask = NULL;
    if (ordering->sums)
        value = sum_in_loops(ordering, loop, &inside, &alike, element, within, &mask);
    else
        renumber(ordering, body, &alike, element, compute_number(ordering, &inside), within);
    Builder last = {.function = function,
                    .region = body,
                    .before = region_terminator(body),
                    .range = store->range};
    Value *pointers = build_binary(&last, OP_ADD, ordering->parameter, element);
    Value *there = build_binary(&last, OP_LT, element, elements);
    mask = mask ? build_binary(&last, OP_AND, there, mask) : there;
    for (int i = 0; i < ordering->terms.count && !ordering->sums; i++)
        mask = build_binary(&last, OP_AND, mask, ordering->terms.items[i]);
    if (within) mask = build_binary(&last, OP_AND, mask, within);
    build(&last, OP_STORE, (Value *[]){pointers, value, mask}, 3);
    op_remove(store);
}

/// The loops around the statement, from outside.
static bool find_taps(Ordering *ordering) {
    Op *inner[MOST_TAPS];
    for (Region *region = ordering->store->parent; region->parent;
         region = region->parent->parent) {
        if (ordering->tap_count == MOST_TAPS) return false;
        inner[ordering->tap_count++] = region->parent;
    }
    for (int i = 0; i < ordering->tap_count; i++)
        ordering->taps[i] = inner[ordering->tap_count - 1 - i];
    ordering->sums = ordering->tap_count > 0;
    return true;
}

/// Of reads at shifted places: whether the input has the sizes of the output, and all of its elements a number of the launch.
static bool taps_fit(const Ordering *ordering) {
    const OrderedPlace *top = &ordering->places[ordering->count - 1];
    for (int i = 0; i < ordering->count; i++) {
        const OrderedPlace *place = &ordering->places[i];
        if (place->repeat || place->is_back ||
            (place->extent && !poly_equal(place->extent, place->size)))
            return false;
    }
    return !ordering->idle_count && poly_equal(top->low, top->weight) &&
           launches_pass_multiple(ordering->state, ordering->end, top->low);
}

/// The store, and the loops over taps around it. False where the kernel does something else.
static bool find_store(Ordering *ordering) {
    PlainUse use = {.state = ordering->state, .is_plain = true};
    region_walk(ordering->state->backward->body, visit_use, &use);
    ordering->store = use.store;
    return use.is_plain && use.store && find_taps(ordering) && ordering->tap_count == use.loops;
}

/// Whether the gradient's elements are known by their digits, and a mask ends these.
static bool order_fits(Ordering *ordering) {
    const Differentiation *state = ordering->state;
    return ordering->number->op && ordering->number->op->parent == state->backward->body &&
           is_gradient(state, ordering->parameter) && masks_fit(ordering);
}

/// Whether the kernel goes through elements in another order than the input's, and all of these are known to the input's.
static bool plan_order(Ordering *ordering) {
    if (!find_store(ordering) || !places_find_order(ordering) || !order_fits(ordering))
        return false;
    for (int i = 0; i < ordering->count; i++)
        ordering->is_other |= !place_is_plain(ordering, &ordering->places[i]);
    return ordering->tap_count ? taps_fit(ordering) : ordering->is_other || ordering->sums;
}

static bool plan_windows(Ordering *ordering) {
    return find_store(ordering) && places_find_windows(ordering) && order_fits(ordering) &&
           windows_are_whole(ordering);
}

void gradient_store_in_order(Differentiation *state) {
    Ordering ordering = {.state = state, .arena = state->arena};
    FunctionAxes axes = function_axes(state->arena, state->backward);
    if (!plan_order(&ordering) || ordering.sums || ordering.store->code != OP_STORE ||
        !digits_are_private(state->arena, &axes, ordering.store))
        return;
    reorder(&ordering);
}

bool gradient_sum_in_order(Differentiation *state, const Op *statement) {
    Ordering ordering = {.state = state, .arena = state->arena};
    FunctionAxes axes = function_axes(state->arena, state->backward);
    for (int axis = 1; axis < PROGRAM_AXES;
         axis++)  // whose programs would add to the same elements
        if (axes.programs[axis] || state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL)
            return false;
    Ordering windows = ordering;
    bool is_ordered = plan_order(&ordering) && sums_are_short(&ordering);
    Ordering *found = is_ordered ? &ordering : &windows;
    if (!is_ordered && !plan_windows(&windows)) return false;
    if (found->store != statement) return false;
    if (found->has_check) LIST_PUSH(state->arena, &state->stores.steps, found->check);
    reorder(found);
    return true;
}
