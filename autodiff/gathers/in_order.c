// Digits of an output's number in; the same of an input's number out.
#include "autodiff/gathers/in_order.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/digits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_PLACES = 6 };

/// A digit of the output's number, `number // low % extent`, in the order of the input's.
typedef struct OrderedPlace {
    const Poly *low, *extent;  // extent NULL: as many as there are
    const Poly *weight;        // what one of it moves the address by
    Value *digit;              // as computed from the input's number
} OrderedPlace;

typedef struct Ordering {
    Differentiation *state;
    Arena *arena;
    Op *store;
    Value *number;
    OrderedPlace places[MOST_PLACES];
    int count;
    const Poly *end;   // of the output's numbers
    Value *parameter;  // the gradient
} Ordering;

/* ---- what the kernel is ---- */

typedef struct PlainUse {
    const Differentiation *state;
    Op *store;
    bool is_plain;
} PlainUse;

static bool visit_use(void *context, Op *op) {
    PlainUse *use = context;
    int effects = op_rows[op->code].effects;
    bool is_store = op->code == OP_STORE, is_load = op->code == OP_LOAD;
    if (op->region_count || (effects & EFFECT_ORDERED)) use->is_plain = false;
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

/* ---- the digits ---- */

static bool find_places(Ordering *ordering) {
    DigitStep steps[MOST_PLACES];
    const Poly *base;
    Arena *arena = ordering->arena;
    int count = digits_steps(arena, ordering->store, steps, MOST_PLACES, &base);
    if (count < 2 || count > MOST_PLACES || !poly_is_zero(base)) return false;
    const Poly *low = poly_constant(arena, 1);
    for (int i = 0; i < count; i++) {
        if (!low) return false;
        ordering->places[i] =
            (OrderedPlace){.low = low, .extent = steps[i].extent, .weight = steps[i].weight};
        low = steps[i].extent ? poly_multiply(arena, low, steps[i].extent) : NULL;
    }
    ordering->count = count;
    return true;
}

/// Puts the digits in the order of what they move the address by, each by all that the finer ones come to. False where elements are left
/// out in between, or the coarsest is another one than that of the output: nobody knows how many it has.
static bool sort_places(Ordering *ordering) {
    Arena *arena = ordering->arena;
    OrderedPlace *places = ordering->places;
    const Poly *weight = poly_constant(arena, 1);
    bool moved = false;
    for (int done = 0; done < ordering->count; done++) {
        int at = done;
        while (at < ordering->count && !poly_equal(places[at].weight, weight)) at++;
        if (at == ordering->count) return false;
        moved = moved || at != done;
        OrderedPlace next = places[at];
        places[at] = places[done];
        places[done] = next;
        bool is_last = done + 1 == ordering->count;
        if (is_last != !next.extent) return false;
        weight = is_last ? NULL : poly_multiply(arena, weight, next.extent);
    }
    return moved;
}

/// `number < end` alone masks the store, and the launches have a lane for each number below it.
static bool find_end(Ordering *ordering) {
    Arena *arena = ordering->arena;
    const Value *mask = access_mask(ordering->store);
    const Op *compares = mask ? mask->op : NULL;
    if (!compares || compares->code != OP_LT || compares->operands[0] != ordering->number ||
        compares->operands[1]->type.rank)
        return false;
    ordering->end = value_poly(arena, compares->operands[1]);
    Affine form = affine_of(arena, ordering->number);
    const Type *type = &ordering->number->type;
    int64_t step;
    if (!form.known || form.rank != 1 || type->rank != 1 || form.base->count != 1 ||
        !poly_is_constant(form.lane[0], &step) || step != 1)
        return false;
    Value *id = NULL;
    for (int i = 0; i < form.base->terms[0].atom_count; i++)
        if (value_is_program_id(form.base->terms[0].atoms[i], 0)) id = form.base->terms[0].atoms[i];
    const Poly *blocks = id ? poly_multiply(arena, poly_atom(arena, id), type->dims[0]) : NULL;
    if (!blocks || !poly_equal(blocks, form.base)) return false;
    const Coordinate lanes = {.axis = 0, .program = id, .size = type->dims[0]};
    return launches_cover(ordering->state, &lanes, ordering->end);
}

/* ---- the kernel in that order ---- */

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

static void compute_digits(Ordering *ordering, Builder *b, Value *element) {
    Value *rest = element;
    for (int i = 0; i < ordering->count; i++) {
        OrderedPlace *place = &ordering->places[i];
        if (!place->extent) {
            place->digit = rest;
            continue;
        }
        Value *extent = build_poly(b, place->extent);
        place->digit = build_binary(b, OP_MOD, rest, extent);
        rest = build_binary(b, OP_FLOORDIV, rest, extent);
    }
}

static Value *compute_number(const Ordering *ordering, Builder *b) {
    Value *number = NULL;
    for (int i = 0; i < ordering->count; i++) {
        const OrderedPlace *place = &ordering->places[i];
        Value *share = build_binary(b, OP_MUL, place->digit, build_poly(b, place->low));
        number = number ? build_binary(b, OP_ADD, number, share) : share;
    }
    return number;
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
    region_walk(ordering->state->backward->body, visit_load, alike);
}

static void move_behind(Op *loop) {
    Op *end = region_terminator(loop->regions[0]);
    for (Op *op = loop->next, *next; op; op = next) {
        next = op->next;
        bool is_shared = op->result_count == 1 &&
                         (op->results[0]->constant || op->results[0]->type.is_constexpr);
        if (!is_shared) op_move_before(op, end);
    }
}

static void reorder(Ordering *ordering) {
    Function *function = ordering->state->backward;
    Op *store = ordering->store, *numbers = ordering->number->op;
    Builder b = {.function = function,
                 .region = numbers->parent,
                 .before = numbers->next,
                 .range = store->range};
    AlikeLoads alike = {.ordering = ordering};
    find_alike(&alike);
    const OrderedPlace *top = &ordering->places[ordering->count - 1];
    Value *whole = build_poly(&b, top->low), *end = build_poly(&b, ordering->end);
    Value *more = build_binary(&b, OP_ADD, end, build_binary(&b, OP_SUB, whole, build_int(&b, 1)));
    Value *elements = build_binary(&b, OP_MUL, build_binary(&b, OP_FLOORDIV, more, whole), whole);
    elements->name = "elements";
    Op *loop = open_loop(ordering, &b, elements);
    move_behind(loop);
    Region *body = loop->regions[0];
    Builder inside = {
        .function = function, .region = body, .before = body->first, .range = store->range};
    Value *lanes = build_binary(&inside, OP_ARANGE, build_int(&inside, 0),
                                build_poly(&inside, ordering->number->type.dims[0]));
    Value *element = build_binary(&inside, OP_ADD, body->arguments[0], lanes);
    compute_digits(ordering, &inside, element);
    Value *number = compute_number(ordering, &inside);
    number->name = ordering->number->name;
    for (LIST_EACH(int, i, alike.loads)) {
        Op *load = alike.loads.items[i];
        Builder at = {.function = function, .region = body, .before = load, .range = load->range};
        op_set_operand(load, 0, build_binary(&at, OP_ADD, alike.parameters.items[i], element));
    }
    DigitUses uses = {.ordering = ordering};
    region_walk(body, visit_digit, &uses);
    for (LIST_EACH(int, i, uses.found))
        region_replace_uses(body, uses.found.items[i]->results[0], uses.instead.items[i]);
    region_replace_uses(body, ordering->number, number);
    Builder last = {.function = function, .region = body, .before = store, .range = store->range};
    Value *pointers = build_binary(&last, OP_ADD, ordering->parameter, element);
    Value *there = build_binary(&last, OP_LT, element, elements);
    Value *mask = build_binary(&last, OP_AND, there, access_mask(store));
    build(&last, OP_STORE, (Value *[]){pointers, store->operands[1], mask}, 3);
    op_remove(store);
}

void gradient_store_in_order(Differentiation *state) {
    PlainUse use = {.state = state, .is_plain = true};
    region_walk(state->backward->body, visit_use, &use);
    if (!use.is_plain || !use.store) return;
    Ordering ordering = {.state = state, .arena = state->arena, .store = use.store};
    FunctionAxes axes = function_axes(state->arena, state->backward);
    ordering.number = digits_number(state->arena, use.store, &ordering.parameter);
    if (!ordering.number || !ordering.number->op || !is_gradient(state, ordering.parameter) ||
        ordering.number->op->parent != state->backward->body ||
        !digits_are_private(state->arena, &axes, use.store) || !find_places(&ordering) ||
        !sort_places(&ordering) || !find_end(&ordering))
        return;
    reorder(&ordering);
}
