// A backward that runs a loop of the forward for its row statistics in; one that loads what the forward stored of them out.
#include "autodiff/tape/statistics.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/addresses/shift.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/saved.h"

/// What is known of a value once the sum is 1: a number, or `factor * unit * state + number` of a state of the loop.
typedef struct StateForm {
    enum { KNOWN_NOTHING, KNOWN_NUMBER, KNOWN_STATE } kind;
    double number, factor;
    int index;
    const Value *unit;  // a number of the launch, or NULL for 1
    bool is_guarded;    // it is so for rows that have something in them
} StateForm;

/// Values of the backward at its top, and what they are taken for: the results of a loop, or a maximum of lanes and the sum over it.
typedef struct States {
    Differentiation *state;
    Op *first;       // the loop, or what makes the maximum
    Value **values;  // the states
    int count;
    int maximum, sum;    // which of them; of lanes there is the maximum alone, and
    const Value *total;  // their sum; NULL of a loop
    Op **stores;         // by state: of the forward, that left it in memory; or NULL
    Value **loaded;      // by state: from there
    Op *place;           // the last of these stores: what follows sees the states that are loaded
    Map dependent;       // values at the top, up to the place, that results of the loop are in
    Map known;           // value -> StateForm
    Map replacements;    // value -> what it is behind the place
    const Map *ours;     // statements of the backward itself: stores that are not go later
} States;

/* ---- values, once the sum is 1 ---- */

static const StateForm nothing = {.kind = KNOWN_NOTHING};

static StateForm number_of(double number) {
    return isfinite(number) ? (StateForm){.kind = KNOWN_NUMBER, .number = number} : nothing;
}

static StateForm known_of(States *states, const Value *value);

static StateForm known_sum(StateForm a, StateForm b, double sign) {
    if (a.kind == KNOWN_NUMBER && b.kind == KNOWN_NUMBER)
        return number_of(a.number + sign * b.number);
    if (a.kind == KNOWN_STATE && b.kind == KNOWN_NUMBER) {
        a.number += sign * b.number;
        return a;
    }
    if (a.kind == KNOWN_STATE && b.kind == KNOWN_STATE) {
        bool cancels = a.index == b.index && a.unit == b.unit &&
                       fabs(a.factor + sign * b.factor) < 1e-12 * fabs(a.factor);
        return cancels ? number_of(a.number + sign * b.number) : nothing;
    }
    if (a.kind != KNOWN_NUMBER || b.kind != KNOWN_STATE) return nothing;
    b.factor *= sign;
    b.number = a.number + sign * b.number;
    return b;
}

static StateForm known_product(StateForm a, double number) {
    if (!isfinite(number) || number == 0) return nothing;
    a.factor *= number;
    a.number *= number;
    return a;
}

/// A state times a number of the launch, or divided by the one that it is counted in.
static StateForm known_in_units(StateForm state, const Value *value, bool divides) {
    double number;
    const Value *unit;
    if (state.kind != KNOWN_STATE || state.number != 0) return nothing;
    if (!value_as_unit(value, &number, &unit) || !unit) return nothing;
    if (divides ? state.unit != unit : state.unit != NULL) return nothing;
    state.unit = divides ? NULL : unit;
    state.factor = divides ? state.factor / number : state.factor * number;
    return state;
}

static bool known_truth(OpCode code, double a, double b, double *truth) {
    switch (code) {
    case OP_EQ: *truth = a == b; return true;
    case OP_NE: *truth = a != b; return true;
    case OP_LT: *truth = a < b; return true;
    case OP_LE: *truth = a <= b; return true;
    case OP_GT: *truth = a > b; return true;
    case OP_GE: *truth = a >= b; return true;
    default: return false;
    }
}

static StateForm known_of_pair(OpCode code, StateForm a, StateForm b) {
    double value;
    switch (code) {
    case OP_ADD: return known_sum(a, b, 1);
    case OP_SUB: return known_sum(a, b, -1);
    case OP_MUL:
        if (b.kind == KNOWN_NUMBER && a.kind) return known_product(a, b.number);
        if (a.kind == KNOWN_NUMBER && b.kind) return known_product(b, a.number);
        return nothing;
    case OP_DIV:
    case OP_FDIV:
        return b.kind == KNOWN_NUMBER && a.kind ? known_product(a, 1 / b.number) : nothing;
    default:
        return a.kind == KNOWN_NUMBER && b.kind == KNOWN_NUMBER &&
                       (known_truth(code, a.number, b.number, &value) ||
                        op_value(code, a.number, b.number, 0, &value))
                   ? number_of(value)
                   : nothing;
    }
}

/// `top == -inf`, of a row that has something in it.
static bool asks_for_infinity(const Op *op, StateForm first) {
    double number;
    return (op->code == OP_EQ || op->code == OP_NE) && first.kind == KNOWN_STATE &&
           value_is_number(op->operands[1], &number) && isinf(number);
}

static bool is_float(const Value *value) {
    return value->type.kind == TYPE_NUMBER && !dtype_is_integer(value->type.element);
}

static StateForm known_of_op(States *states, const Op *op) {
    const Value *result = op->results[0];
    if (op->result_count != 1 || op->region_count || op->operand_count == 0) return nothing;
    const StateForm first = known_of(states, op->operands[0]);
    switch (op->code) {
    case OP_CAST: return is_float(result) ? first : nothing;
    case OP_FULL: return known_of(states, op->operands[1]);
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO: return first.kind == KNOWN_NUMBER ? first : nothing;
    case OP_NEG: return first.kind ? known_product(first, -1) : nothing;
    case OP_WHERE: {
        if (first.kind != KNOWN_NUMBER) return nothing;
        StateForm chosen = known_of(states, op->operands[first.number != 0 ? 1 : 2]);
        chosen.is_guarded |= first.is_guarded;
        return chosen;
    }
    default: break;
    }
    if (asks_for_infinity(op, first))
        return (StateForm){KNOWN_NUMBER, .number = op->code == OP_NE, .is_guarded = true};
    double value;
    if (op->operand_count == 2) {
        const StateForm second = known_of(states, op->operands[1]);
        StateForm pair = known_of_pair(op->code, first, second);
        bool divides = op->code == OP_DIV || op->code == OP_FDIV;
        if (!pair.kind && (divides || op->code == OP_MUL))
            pair = known_in_units(first, op->operands[1], divides);
        if (!pair.kind && op->code == OP_MUL) pair = known_in_units(second, op->operands[0], false);
        pair.is_guarded = first.is_guarded || second.is_guarded;
        return pair;
    }
    return op->operand_count == 1 && first.kind == KNOWN_NUMBER &&
                   op_value(op->code, first.number, 0, 0, &value)
               ? number_of(value)
               : nothing;
}

/// Which of the states a value is, or -1.
static int state_index(const States *states, const Value *value) {
    for (int i = 0; i < states->count; i++)
        if (states->values[i] == value) return i;
    return -1;
}

static StateForm known_of(States *states, const Value *value) {
    double number;
    if (!value) return nothing;
    if (value_is_number(value, &number)) return number_of(number);
    const StateForm *noted = map_get_pointer(&states->known, value);
    if (noted) return *noted;
    StateForm *known = ARENA_NEW(states->state->arena, StateForm);
    *known = nothing;
    map_set_pointer(&states->known, value, known);
    int index = state_index(states, value);
    if (value == states->total || (index >= 0 && index == states->sum)) {
        *known = number_of(1);
    } else if (index >= 0) {
        *known = (StateForm){.kind = KNOWN_STATE, .factor = 1, .index = index};
    } else if (map_has_pointer(&states->dependent, value)) {
        *known = known_of_op(states, value->op);
    }
    if (known->kind == KNOWN_STATE) {  // broadcast, it is another tile
        const Type type = states->values[known->index]->type;
        if (!same_shape(value->type, type)) *known = nothing;
    }
    return *known;
}

/* ---- what the forward stored ---- */

static bool visit_dependent(void *context, Value *value) {
    return !map_has_pointer(context, value);
}

/// Marks what the states are in, behind them.
static void mark_dependent(States *states) {
    Map *dependent = &states->dependent;
    for (const Op *op = states->first; op; op = op->next)
        if (op == states->first || !op_walk_captured(op, visit_dependent, dependent))
            for (int i = 0; i < op->result_count; i++)
                map_set_pointer(dependent, op->results[i], op->results[i]);
}

/// Notes a store of the forward that left a state as it is.
static void note_store(States *states, Op *store, const Map *ours) {
    if (store->code != OP_STORE || map_has_pointer(ours, store)) return;
    const Value *value = store->operands[1];
    const StateForm known = known_of(states, value);
    if (known.kind != KNOWN_STATE || known.factor == 0 || states->stores[known.index]) return;
    bool is_plain = known.factor == 1 && known.number == 0;
    bool is_statistic = known.index == states->maximum;
    if ((!is_plain && !is_statistic) ||
        !stored_value_stays(states->state, store, value, is_statistic) ||
        !stored_tensor_is_left(states->state, store))
        return;
    states->stores[known.index] = store;
    states->place = store;
}

/// The state from where the forward stored it, behind the place, in the unit that it was stored in.
static Value *load_state(States *states, Builder *b, int index) {
    const Op *store = states->stores[index];
    Value *mask = store->operand_count > 2 ? store->operands[2] : NULL;
    if (value_is_none(mask)) mask = NULL;
    Value *loaded = build(
        b, OP_LOAD, (Value *const[]){store->operands[0], mask, mask ? build_float(b, 0.0) : NULL},
        mask ? 3 : 1);
    loaded = build_binary(b, OP_CAST, loaded, build_dtype(b, dtype_of(DTYPE_FLOAT32)));
    const Value *value = store->operands[1];
    const StateForm known = known_of(states, value);
    while (!value->name && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    loaded->name = value->name;
    if (known.number != 0) loaded = build_binary(b, OP_SUB, loaded, build_float(b, known.number));
    if (known.factor != 1)
        loaded = build_binary(b, OP_MUL, loaded, build_float(b, 1 / known.factor));
    return loaded;
}

/* ---- behind the place ---- */

static Value *number_at(Builder *b, const Value *value, double number) {
    if (value->type.rank == 0) return build_float(b, number);
    Value *shape = build_shape(b, value->type);
    DType element = value->type.element;
    return shape ? build_ternary(b, OP_FULL, shape, build_float(b, number), build_dtype(b, element))
                 : NULL;
}

/// Whether the loop starts with `-inf` for the state. Scaled by 0 that is no number, so whatever scales it is not 0.
static bool starts_at_infinity(const States *states, int index) {
    if (states->total) return false;
    const Value *start = states->first->operands[3 + index];
    double number;
    if (made_by(start, OP_FULL)) start = start->op->operands[1];
    return value_is_number(start, &number) && isinf(number);
}

/// A unit is a value of the kernel, which only the analysis of shifts leaves as it is.
static Value *in_kernel(const Value *unit) {
    return unit->op ? unit->op->results[unit->index] : unit->region->arguments[unit->index];
}

static Value *known_at(States *states, Builder *b, const Value *value, StateForm known) {
    if (known.kind == KNOWN_NUMBER) return number_at(b, value, known.number);
    const Op *store = states->stores[known.index];
    if (!store) return NULL;
    const Value *unit = known_of(states, store->operands[1]).unit;
    bool divides = unit && !known.unit;
    if (divides && !starts_at_infinity(states, known.index)) return NULL;
    Value **state = &states->loaded[known.index];
    if (!*state) *state = load_state(states, b, known.index);
    Value *scaled = *state;
    if (divides) scaled = build_binary(b, OP_DIV, scaled, in_kernel(unit));
    if (known.unit && !unit) scaled = build_binary(b, OP_MUL, scaled, in_kernel(known.unit));
    if (known.factor != 1) scaled = build_binary(b, OP_MUL, scaled, build_float(b, known.factor));
    if (known.number != 0) scaled = build_binary(b, OP_ADD, scaled, build_float(b, known.number));
    return scaled;
}

/// The operand that a product with 1, or a quotient by 1, is.
static Value *other_factor(const Op *op, const Value *left, const Value *right) {
    bool is_quotient = op->code == OP_DIV || op->code == OP_FDIV;
    if (!is_quotient && op->code != OP_MUL) return NULL;
    const Value *result = op->results[0];
    if (is_number(right, 1) && same_type(op->operands[0], result)) return op->operands[0];
    if (!is_quotient && is_number(left, 1) && same_type(op->operands[1], result))
        return op->operands[1];
    return NULL;
}

/// The branch that a `where` takes once the sum is 1, or NULL.
static Value *taken_branch(States *states, const Op *op) {
    if (op->code != OP_WHERE) return NULL;
    const StateForm condition = known_of(states, op->operands[0]);
    if (condition.kind != KNOWN_NUMBER || condition.is_guarded) return NULL;
    Value *branch = op->operands[condition.number != 0 ? 1 : 2];
    return same_type(branch, op->results[0]) ? branch : NULL;
}

/// `m * scale` or `m[:, None] * scale`, of a state and what it was stored in. NULL: it is something else.
static Value *replaced_in_units(States *states, Builder *b, const Op *op) {
    if (op->code != OP_MUL) return NULL;
    for (int i = 0; i < 2; i++) {
        const Value *tile = op->operands[i];
        bool is_spread = made_by(tile, OP_EXPAND_DIMS);
        const Value *rows = is_spread ? tile->op->operands[0] : tile;
        const StateForm known = known_in_units(known_of(states, rows), op->operands[1 - i], false);
        const Op *store = known.kind ? states->stores[known.index] : NULL;
        if (!store || known.is_guarded) continue;
        if (known_of(states, store->operands[1]).unit != known.unit) continue;
        Value *scaled = known_at(states, b, rows, known);
        if (!scaled || !is_spread) return scaled;
        Map operands = map_new(states->state->arena);
        map_set_pointer(&operands, rows, scaled);
        return op_clone(b, tile->op, &operands)->results[0];
    }
    return NULL;
}

/// The value as it is with the states that are loaded. NULL where it needs a state that is not.
static Value *replaced(States *states, Builder *b, Value *value) {
    if (!value || value->constant || !map_has_pointer(&states->dependent, value)) return value;
    Value *noted = map_get_pointer(&states->replacements, value);
    if (noted) return noted;
    const StateForm known = known_of(states, value);
    Op *op = value->op;
    Value *replacement = NULL;
    if (known.kind && !known.is_guarded) {
        replacement = known_at(states, b, value, known);
    } else if ((replacement = replaced_in_units(states, b, op))) {
    } else if (op != states->first && op_is_pure(op) && !op->region_count &&
               op->result_count == 1) {
        Map operands = map_new(states->state->arena);
        for (int i = 0; i < op->operand_count; i++) {
            Value *operand = replaced(states, b, op->operands[i]);
            if (op->operands[i] && !operand) return NULL;
            if (operand) map_set_pointer(&operands, op->operands[i], operand);
        }
        Value *factor = op->operand_count == 2
                            ? other_factor(op, value_mapped(&operands, op->operands[0]),
                                           value_mapped(&operands, op->operands[1]))
                            : NULL;
        replacement =
            factor ? value_mapped(&operands, factor) : op_clone(b, op, &operands)->results[0];
    }
    if (replacement) map_set_pointer(&states->replacements, value, replacement);
    return replacement;
}

typedef struct StateUses {
    States *states;
    Builder builder;
    bool fails;
} StateUses;

/// A value from the place or before it: what is behind it is made anew of operands that are replaced.
static bool is_before_place(const States *states, const Value *value) {
    return value && value->op && value->op->parent == states->first->parent &&
           map_has_pointer(&states->dependent, value) &&
           (value->op == states->first || op_comes_before(value->op, states->place));
}

/// A store of the forward that is removed later: it is not repeated in a copy.
static bool is_of_forward(const States *states, const Op *op) {
    return op->code == OP_STORE && !op->note && !map_has_pointer(states->ours, op);
}

static bool visit_needed(void *context, Op *op) {
    StateUses *uses = context;
    if (is_of_forward(uses->states, op)) return true;
    bool is_taken = taken_branch(uses->states, op) != NULL;
    Value *rows = replaced_in_units(uses->states, &uses->builder, op);
    if (rows) map_set_pointer(&uses->states->replacements, op->results[0], rows);
    if (rows) return true;
    for (int i = is_taken; i < op->operand_count && !uses->fails; i++)
        if (is_before_place(uses->states, op->operands[i]))
            uses->fails = !replaced(uses->states, &uses->builder, op->operands[i]);
    for (int i = 0; i < op->keyword_count && !uses->fails; i++)
        uses->fails = is_before_place(uses->states, op->keywords[i].value);
    return !uses->fails;
}

static bool visit_replaced(void *context, Op *op) {
    const StateUses *uses = context;
    if (is_of_forward(uses->states, op)) return true;
    Value *branch = taken_branch(uses->states, op);
    Value *rows =
        op->result_count ? map_get_pointer(&uses->states->replacements, op->results[0]) : NULL;
    if (rows) region_replace_uses(uses->states->first->parent, op->results[0], rows);
    for (int i = branch != NULL; i < op->operand_count; i++) {
        Value *value = op->operands[i];
        if (!rows && is_before_place(uses->states, value))
            op_set_operand(op, i, map_get_pointer(&uses->states->replacements, value));
    }
    Value *factor = op->operand_count == 2 && op->result_count == 1
                        ? other_factor(op, op->operands[0], op->operands[1])
                        : NULL;
    if (branch) factor = taken_branch(uses->states, op);
    if (factor) region_replace_uses(uses->states->first->parent, op->results[0], factor);
    return true;
}

/// All that is behind the place sees the states that are loaded, or nothing changes.
static bool replace_behind(States *states) {
    Op *first = states->place->next;
    if (!first) return false;
    StateUses uses = {.states = states,
                      .builder = {.function = states->state->backward,
                                  .region = first->parent,
                                  .before = first,
                                  .range = states->place->range}};
    for (Op *op = first; op && !uses.fails; op = op->next) {
        visit_needed(&uses, op);
        for (int r = 0; r < op->region_count && !uses.fails; r++)
            region_walk(op->regions[r], visit_needed, &uses);
    }
    if (uses.fails || !states->replacements.count) return false;
    for (Op *op = first; op; op = op->next) {
        visit_replaced(&uses, op);
        for (int r = 0; r < op->region_count; r++)
            region_walk(op->regions[r], visit_replaced, &uses);
    }
    return true;
}

/* ---- which states ---- */

/// The axes of a tile that are the rows of `rows`: its first ones, or its last; counted from the last. False: neither.
static bool axes_of_rows(const Type tile, const Type rows, unsigned *axes) {
    for (int side = 0; side < 2; side++) {
        int first = side ? tile.rank - rows.rank : 0;
        bool is_here = first >= 0 && first + rows.rank <= tile.rank;
        *axes = 0;
        for (int i = 0; i < rows.rank && is_here; i++) {
            int64_t length;
            const Poly *dim = tile.dims[first + i];
            is_here = dim && rows.dims[i] && poly_equal(dim, rows.dims[i]);
            if (is_here && !(poly_is_constant(dim, &length) && length == 1))
                *axes |= 1u << (tile.rank - 1 - (first + i));
        }
        if (is_here) return true;
    }
    return false;
}

/// Whether all that leaves the backward is the same for `m + c` and `x * exp(-base * unit * c)`, for each number c of a row.
static bool states_are_a_choice(const States *states, double base, const Value *unit) {
    const Op *loop = states->first;
    const Type rows = loop->results[states->maximum]->type;
    StateShift *shifts = ARENA_ARRAY(states->state->arena, StateShift, loop->result_count);
    for (int i = 0; i < loop->result_count; i++) {
        const Value *result = loop->results[i];
        unsigned axes;
        if (!is_float(result)) continue;  // it stays
        if (!axes_of_rows(result->type, rows, &axes)) return false;
        shifts[i] = (StateShift){STATE_SCALED, -base, axes, unit};
        if (i == states->maximum)
            shifts[i] = (StateShift){STATE_SHIFTED, .amount = 1, .axes = axes};
    }
    return states_may_be_scaled(states->state->arena, states->state->backward, loop, shifts);
}

/// Whether all that leaves the backward is the same for each number that the maximum of lanes is shifted by.
static bool maximum_is_a_choice(const States *states) {
    return values_when_shifted(states->state->arena, states->state->backward, states->values[0], 0,
                               NULL) != NULL;
}

static States states_new(Differentiation *state, Op *first, Value **values, int count,
                         const Map *ours) {
    Arena *arena = state->arena;
    return (States){.state = state,
                    .first = first,
                    .values = values,
                    .count = count,
                    .sum = -1,
                    .stores = ARENA_ARRAY(arena, Op *, count),
                    .loaded = ARENA_ARRAY(arena, Value *, count),
                    .dependent = map_new(arena),
                    .known = map_new(arena),
                    .replacements = map_new(arena),
                    .ours = ours};
}

/// Looks for what the forward stored. False where that is not the maximum, once the sum is 1.
static bool find_stores(States *states) {
    mark_dependent(states);
    for (Op *op = states->first->next; op; op = op->next) note_store(states, op, states->ours);
    return states->stores[states->maximum] != NULL;
}

static bool try_states(Differentiation *state, Op *loop, int maximum, int sum, const Map *ours) {
    States states = states_new(state, loop, loop->results, loop->result_count, ours);
    states.maximum = maximum;
    states.sum = sum;
    if (!find_stores(&states)) return false;
    static const double log_2 = 0.69314718055994530942;
    const StateForm stored = known_of(&states, states.stores[maximum]->operands[1]);
    double unit = stored.unit ? stored.factor : 1;
    return (states_are_a_choice(&states, unit, stored.unit) ||
            states_are_a_choice(&states, unit * log_2, stored.unit)) &&
           replace_behind(&states);
}

static bool visit_effect(void *context, Op *op) {
    (void)context;
    return !(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
}

static void load_of_loop(Differentiation *state, const Op *forward, const Map *ours) {
    Op *loop = NULL;
    int maximum = -1;
    for (int i = 0; i < forward->result_count; i++) {
        const Value *result = recomputed(state, forward->results[i]);
        if (!result || !result->op || result->op->code != OP_FOR || (loop && loop != result->op))
            return;
        loop = result->op;
        if (!map_has_pointer(&state->activity.constant, forward->results[i])) continue;
        if (maximum >= 0) return;
        maximum = result->index;
    }
    bool is_plain = loop && maximum >= 0 && loop->parent == state->backward->body &&
                    region_walk(loop->regions[0], visit_effect, NULL);
    for (int i = 0; is_plain && i < loop->result_count; i++) {
        const Value *result = loop->results[i], *rows = loop->results[maximum];
        bool may_be_sum = i != maximum && is_float(result) && same_shape(result->type, rows->type);
        if (may_be_sum && try_states(state, loop, maximum, i, ours)) return;
    }
}

/// Of a maximum of lanes, where nobody sees a shift of it, and a sum over it.
static void load_of_lanes(Differentiation *state, const Op *forward, const Map *ours) {
    if (forward->result_count != 1 ||
        !map_has_pointer(&state->activity.constant, forward->results[0]))
        return;
    Value *top = recomputed(state, forward->results[0]);
    if (!top || !top->op || top->op->code != OP_MAX || top->op->parent != state->backward->body)
        return;
    for (const Op *op = top->op->next; op; op = op->next) {
        if (op->code != OP_SUM || !same_shape(op->results[0]->type, top->type)) continue;
        States states = states_new(state, top->op, &top, 1, ours);
        states.total = op->results[0];
        if (find_stores(&states) && maximum_is_a_choice(&states) && replace_behind(&states)) return;
    }
}

void statistics_load(Differentiation *state, const Map *ours) {
    for (const Op *op = state->primal->body->first; op; op = op->next)
        if (op->code == OP_FOR) load_of_loop(state, op, ours);
}

void statistics_of_lanes_load(Differentiation *state, const Map *ours) {
    for (const Op *op = state->primal->body->first; op; op = op->next)
        if (op->code == OP_MAX) load_of_lanes(state, op, ours);
}
