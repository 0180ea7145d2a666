// A backward that computes a row's maximum and sum again in; one that loads what the forward divided by that sum out.
#include "autodiff/stored/normalized.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/addresses/shift.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/stored/lanes.h"
#include "autodiff/stored/load_stored.h"
#include "autodiff/stored/twin.h"
#include "autodiff/tape/saved.h"

enum { MOST_DEPTH = 12 };

/// A store of the forward, and what the backward loads from there.
typedef struct Normalized {
    Differentiation *state;
    const Map *ours;
    Op *store;
    Value *value;  // what is stored, before it is rounded
    Value *seed;   // the maximum, say: what may be shifted
    Value *sum;    // it is 1 with one shift
    Value *whole;  // what is stored then
    Values equal;  // values that are `whole`, there and in other loops
    Value *mask;   // of the store, or NULL
} Normalized;

static bool is_float(const Value *value) {
    return value->type.kind == TYPE_NUMBER && !dtype_is_integer(value->type.element);
}

/* ---- what is stored once the sum is 1 ---- */

static bool is_spread(const Op *op) {
    return op->code == OP_BROADCAST_TO || op->code == OP_EXPAND_DIMS || op->code == OP_CAST;
}

static bool is_one(const Value *value, const Value *sum, int depth) {
    if (value == sum) return true;
    if (!value->op || depth > MOST_DEPTH) return false;
    const Op *op = value->op;
    if (is_spread(op)) return is_one(op->operands[0], sum, depth + 1);
    if (op->code == OP_FULL) return is_one(op->operands[1], sum, depth + 1);
    bool divides = op->code == OP_DIV || op->code == OP_FDIV;
    return divides && is_number(op->operands[0], 1) && is_one(op->operands[1], sum, depth + 1);
}

static bool is_zero(const Value *value, const Value *sum, int depth) {
    if (!value->op || depth > MOST_DEPTH) return false;
    const Op *op = value->op;
    if (is_spread(op)) return is_zero(op->operands[0], sum, depth + 1);
    return (op->code == OP_LOG || op->code == OP_LOG2) && is_one(op->operands[0], sum, depth + 1);
}

/// `value` with the sum as 1; what is new is made at the builder's place.
static Value *with_sum_one(Builder *b, Value *value, const Value *sum, int depth) {
    const Op *op = value->op;
    if (!op || depth > MOST_DEPTH) return value;
    Value *const *operands = op->operands;
    bool divides = op->code == OP_DIV || op->code == OP_FDIV;
    bool adds = op->code == OP_ADD || op->code == OP_SUB;
    if (is_spread(op)) {
        Value *inner = with_sum_one(b, operands[0], sum, depth + 1);
        if (inner == operands[0]) return value;
        return build(b, op->code, (Value *const[]){inner, operands[1]}, 2);
    }
    if (!divides && !adds && op->code != OP_MUL) return value;
    if ((divides || op->code == OP_MUL) && is_one(operands[1], sum, 0))
        return with_sum_one(b, operands[0], sum, depth + 1);
    if (op->code == OP_MUL && is_one(operands[0], sum, 0))
        return with_sum_one(b, operands[1], sum, depth + 1);
    if (adds && is_zero(operands[1], sum, 0)) return with_sum_one(b, operands[0], sum, depth + 1);
    if (op->code == OP_ADD && is_zero(operands[0], sum, 0))
        return with_sum_one(b, operands[1], sum, depth + 1);
    Value *first = with_sum_one(b, operands[0], sum, depth + 1);
    Value *second = with_sum_one(b, operands[1], sum, depth + 1);
    if (first == operands[0] && second == operands[1]) return value;
    return build_binary(b, op->code, first, second);
}

/* ---- candidates ---- */

typedef struct WholeSearch {
    Arena *arena;
    Values sums, seeds;
} WholeSearch;

static Value *without_spread(Value *value) {
    while (value->op && is_spread(value->op)) value = value->op->operands[0];
    return value;
}

/// What divides, or whose logarithm is taken, in an expression.
static void find_sums(WholeSearch *search, const Value *value, int depth) {
    const Op *op = value->op;
    if (!op || depth > MOST_DEPTH) return;
    bool divides = op->code == OP_DIV || op->code == OP_FDIV;
    bool is_log = op->code == OP_LOG || op->code == OP_LOG2;
    if (divides || is_log) {
        Value *sum = without_spread(op->operands[divides]);
        if (sum->op && is_float(sum)) values_add(search->arena, &search->sums, sum);
    }
    bool is_chain =
        divides || is_spread(op) || op->code == OP_MUL || op->code == OP_ADD || op->code == OP_SUB;
    for (int i = 0; is_chain && i < op->operand_count; i++)
        if (op->operands[i]) find_sums(search, op->operands[i], depth + 1);
}

/// Maxima, and results of loops, that an expression is made of.
static void find_seeds(WholeSearch *search, Value *value, int depth) {
    const Op *op = value->op;
    if (!op || depth > MOST_DEPTH || !is_float(value)) return;
    if (op->code == OP_MAX || op->code == OP_FOR) {
        values_add(search->arena, &search->seeds, value);
        return;
    }
    for (int i = 0; i < op->operand_count && !op->region_count; i++)
        if (op->operands[i]) find_seeds(search, op->operands[i], depth + 1);
}

/// Whether a value is a sum of exponentials, or scaled like one: not below 0.
static intptr_t is_positive(ValueWalk *walk, const Value *value) {
    double number;
    const Op *op = value ? value->op : NULL;
    if (!value) return false;
    if (value_is_number(value, &number)) return number >= 0;
    if (!op) {  // carried: what it starts with, and what the loop makes of it
        const Op *loop = value->region ? value->region->parent : NULL;
        if (!loop || loop->code != OP_FOR || value->index == 0) return false;
        return walk_ask(walk, loop->operands[2 + value->index]);
    }
    switch (op->code) {
    case OP_EXP:
    case OP_EXP2: return true;
    case OP_FULL: return walk_ask(walk, op->operands[1]);
    case OP_SUM:
    case OP_CAST:
    case OP_BROADCAST_TO:
    case OP_EXPAND_DIMS: return walk_ask(walk, op->operands[0]);
    case OP_ADD:
    case OP_MUL:
    case OP_DIV:
    case OP_FDIV: return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    case OP_WHERE: return walk_ask(walk, op->operands[1]) && walk_ask(walk, op->operands[2]);
    case OP_FOR:
        return walk_ask(walk, op->operands[3 + value->index]) &&
               walk_ask(walk, region_terminator(op->regions[0])->operands[value->index]);
    default: return false;
    }
}

static unsigned axes_of(const Value *value) {
    unsigned axes = 0;
    for (int axis = 0; axis < value->type.rank; axis++)
        if (value_varies_along(value, axis)) axes |= 1u << axis;
    return axes;
}

/* ---- values that are what is stored ---- */

typedef struct Equals {
    Normalized *normal;
    const ShiftedValues *shifted;
    StateShift shift;  // of what is stored once the sum is 1
} Equals;

static bool is_equal(const Equals *equals, const Value *value) {
    const Normalized *normal = equals->normal;
    const Value *whole = normal->whole;
    StateShift shift;
    if (!is_float(value) || !same_shape(value->type, whole->type)) return false;
    if (!value_when_shifted(equals->shifted, value, &shift) || shift.kind != equals->shift.kind ||
        fabs(shift.amount - equals->shift.amount) > 1e-9 || shift.unit != equals->shift.unit)
        return false;
    LoopTwin twin = {.arena = normal->state->arena,
                     .variables = map_new(normal->state->arena),
                     .mask = normal->mask};
    return regions_are_twins(&twin, normal->store->parent, value->op->parent) &&
           values_are_twins(&twin, whole, value);
}

static bool visit_equal(void *context, Op *op) {
    Equals *equals = context;
    if (op->result_count == 1 && !op->region_count && is_equal(equals, op->results[0]))
        LIST_PUSH(equals->normal->state->arena, &equals->normal->equal, op->results[0]);
    return true;
}

/* ---- the sum is 1 ---- */

/// `x * (1 / t)` and `x / t` are x.
static bool visit_factor(void *context, Op *op) {
    const Normalized *normal = context;
    bool divides = op->code == OP_DIV || op->code == OP_FDIV;
    if (!divides && op->code != OP_MUL) return true;
    for (int i = divides; i < 2; i++)
        if (is_one(op->operands[i], normal->sum, 0) &&
            same_type(op->operands[1 - i], op->results[0])) {
            region_replace_uses(normal->state->backward->body, op->results[0], op->operands[1 - i]);
            return true;
        }
    return true;
}

static void drop_sum(Normalized *normal) {
    const Value *sum = normal->sum;
    region_walk(normal->state->backward->body, visit_factor, normal);
    Builder builder = {.function = normal->state->backward,
                       .region = sum->op->parent,
                       .before = sum->op,
                       .range = sum->op->range};
    Value *one = build_float(&builder, 1.0);
    if (sum->type.rank)
        one = build_ternary(&builder, OP_FULL, build_shape(&builder, sum->type), one,
                            build_dtype(&builder, sum->type.element));
    region_replace_uses(normal->state->backward->body, sum, one);
}

/* ---- whether ---- */

static bool find_equal(Normalized *normal, const ShiftedValues *shifted) {
    StateShift sum, whole;
    Equals equals = {.normal = normal, .shifted = shifted};
    bool is_scaled = value_when_shifted(shifted, normal->sum, &sum) && sum.kind == STATE_SCALED &&
                     !(axes_of(normal->sum) & ~sum.axes);
    if (!is_scaled || !value_when_shifted(shifted, normal->whole, &whole)) return false;
    if (whole.kind == STATE_STAYS) return false;
    equals.shift = whole;
    normal->equal = (Values){0};
    region_walk(normal->state->backward->body, visit_equal, &equals);
    return normal->equal.count > 0;
}

/// Whether the shift is chosen for nothing else that the backward needs, and it loads no more than before.
static bool is_worth_it(Normalized *normal, Needed *after) {
    Map stops = map_new(normal->state->arena);
    const Needed before = values_needed(normal->state, normal->ours, NULL);
    Values equal = {0};
    if (!map_has_pointer(&before.values, normal->sum)) return false;
    for (LIST_EACH(int, i, normal->equal)) {
        Value *value = normal->equal.items[i];
        map_set_pointer(&stops, value, value);
        if (map_has_pointer(&before.values, value)) LIST_PUSH(normal->state->arena, &equal, value);
    }
    normal->equal = equal;
    map_set_pointer(&stops, normal->sum, normal->sum);
    *after = values_needed(normal->state, normal->ours, &stops);
    int loads = after->tile_loads + equal.count;
    int most = before.tile_loads - !stored_tensor_is_as_small(normal->state, normal->store);
    return !map_has_pointer(&after->values, normal->seed) && loads <= most;
}

/// What the forward stores is of its own shift: it is not stored again with another one.
static void drop_stores(const Normalized *normal) {
    const OpList stores = stores_of_forward(normal->state, normal->ours);
    for (LIST_EACH(int, i, stores)) {
        Op *store = stores.items[i];
        if (value_depends_on(normal->state->arena, store->operands[1], normal->sum, NULL))
            op_remove(store);
    }
}

static bool load_all(Normalized *normal, const Needed *needed) {
    Differentiation *state = normal->state;
    const Map readers = function_readers(state->arena, state->backward);
    const LeftOut left = {.finiteness = finiteness_new(state),
                          .readers = &readers,
                          .needed = needed,
                          .ours = normal->ours};
    LIST(StoredLoad) loads = {0};
    for (LIST_EACH(int, i, normal->equal)) {
        StoredLoad load;
        if (!stored_load_plan(state, normal->store, &left, normal->equal.items[i], &load))
            return false;
        LIST_PUSH(state->arena, &loads, load);
    }
    drop_stores(normal);
    for (LIST_EACH(int, i, loads)) stored_load_make(state, &loads.items[i], normal->value->name);
    drop_sum(normal);
    return true;
}

static bool try_seed(Normalized *normal) {
    static const double bases[] = {0, 1, 0.69314718055994530942};
    Needed needed;
    bool is_of_loop = normal->seed->op->code == OP_FOR;
    for (int i = 0; i < (is_of_loop ? 3 : 1); i++) {
        const ShiftedValues *shifted = values_when_shifted(
            normal->state->arena, normal->state->backward, normal->seed, bases[i], NULL);
        if (shifted && find_equal(normal, shifted))
            return is_worth_it(normal, &needed) && load_all(normal, &needed);
    }
    return false;
}

static bool try_sum(Normalized *normal, Value *sum) {
    Differentiation *state = normal->state;
    Builder builder = {.function = state->backward,
                       .region = normal->store->parent,
                       .before = normal->store,
                       .range = normal->store->range};
    if (!walk_from(sum, is_positive, false, NULL)) return false;
    normal->sum = sum;
    normal->whole = with_sum_one(&builder, normal->value, sum, 0);
    if (normal->whole == normal->value) return false;
    WholeSearch search = {.arena = state->arena};
    find_seeds(&search, normal->whole, 0);
    for (LIST_EACH(int, i, search.seeds)) {
        normal->seed = search.seeds.items[i];
        if (normal->seed != sum && try_seed(normal)) return true;
    }
    return false;
}

static bool try_store(Differentiation *state, Op *store, const Map *ours) {
    Value *value = store->operands[1];
    while (value->op && value->op->code == OP_CAST && is_float(value->op->operands[0]))
        value = value->op->operands[0];
    if (!is_float(value) || !value->op || value->type.rank == 0) return false;
    Normalized normal = {
        .state = state, .ours = ours, .store = store, .value = value, .mask = access_mask(store)};
    WholeSearch search = {.arena = state->arena};
    find_sums(&search, value, 0);
    bool is_kept = search.sums.count && stored_value_stays(state, store, value, false) &&
                   stored_tensor_is_left(state, store);
    for (int i = 0; is_kept && i < search.sums.count; i++)
        if (try_sum(&normal, search.sums.items[i])) return true;
    return false;
}

/* ---- what is not seen any more ---- */

typedef struct Narrowing {
    const Differentiation *state;
    LeftOut left;
    OpList loads;  // that leave out more than the forward stored
} Narrowing;

/// An upstream gradient is not read where all that it is multiplied with is 0.
static bool visit_upstream(void *context, Op *op) {
    const Narrowing *narrowing = context;
    Value *mask = op->code == OP_LOAD ? access_mask(op) : NULL;
    if (!mask || !load_is_upstream(narrowing->state, op)) return true;
    for (LIST_EACH(int, i, narrowing->loads)) {
        const Op *load = narrowing->loads.items[i];
        Value *narrow = access_mask(load);
        bool is_known = load->parent == op->parent && op_precedes(load, op) && narrow != mask;
        if (!is_known || !mask_is_within(narrow, mask) ||
            !left_out_is_unseen(&narrowing->left, narrow, mask, op->results[0]))
            continue;
        op_set_operand(op, 1, narrow);
        break;
    }
    return true;
}

static bool visit_narrow(void *context, Op *op) {
    Narrowing *narrowing = context;
    if (op->code == OP_LOAD && access_mask(op) && !load_is_upstream(narrowing->state, op))
        LIST_PUSH(narrowing->state->arena, &narrowing->loads, op);
    return true;
}

static void narrow_upstreams(const Differentiation *state, const Map *ours) {
    const Map readers = function_readers(state->arena, state->backward);
    const Needed needed = values_needed(state, ours, NULL);
    Narrowing narrowing = {.state = state,
                           .left = {.finiteness = finiteness_new(state),
                                    .readers = &readers,
                                    .needed = &needed,
                                    .ours = ours}};
    region_walk(state->backward->body, visit_narrow, &narrowing);
    region_walk(state->backward->body, visit_upstream, &narrowing);
}

/// Does it for one store; false where there is none left.
static bool load_one(Differentiation *state, const Map *ours) {
    const OpList stores = stores_of_forward(state, ours);
    for (LIST_EACH(int, i, stores))
        if (try_store(state, stores.items[i], ours)) return true;
    return false;
}

void normalized_load(Differentiation *state, const Map *ours) {
    int count = 0;
    lanes_share_maximum(state, ours);
    while (count < VALUES_MOST && load_one(state, ours)) count++;
    if (!count) return;
    function_share(state->backward);  // masks that are equal become one
    narrow_upstreams(state, ours);
}
