// Which values carry a gradient: float values that depend on an active input, found forwards to a fixed point. Whole numbers
// that hold the bits of such a float are followed as well (bits.h).
#include "autodiff/primal/activity.h"

#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/shift.h"
#include "autodiff/primal/bits.h"
#include "autodiff/primal/scalars.h"
#include "autodiff/state/differentiation.h"

bool value_is_active(const Differentiation *state, const Value *value) {
    return value && map_has_pointer(&state->activity.active, value) &&
           !map_has_pointer(&state->activity.constant, value);
}

typedef struct Marking {
    Differentiation *state;
    bool changed;
} Marking;

static void active_mark(Marking *marking, const Value *value) {
    if (map_has_pointer(&marking->state->activity.active, value)) return;
    if (map_has_pointer(&marking->state->activity.constant, value)) return;
    map_set_pointer(&marking->state->activity.active, value, (void *)1);
    marking->changed = true;
}

bool value_may_be_float(const Value *value) {
    if (value->type.kind == TYPE_UNKNOWN) return true;
    if (value->type.kind != TYPE_NUMBER) return value->type.kind == TYPE_TUPLE;
    return !dtype_is_integer(value->type.element) && value->type.element.code != DTYPE_ANY_INT;
}

static bool is_marked(const Marking *marking, const Value *value) {
    return value && map_has_pointer(&marking->state->activity.active, value);
}

/// The bits of what a loop carries, or of what a branch gives.
static void mark_carried_bits(Marking *marking, const Op *op, int index, int first) {
    Differentiation *state = marking->state;
    bool is_loop = op->code != OP_IF;
    uint64_t bits = is_loop ? bits_of_value(state, op->operands[first + index]) : 0;
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        if (yield && yield->code == OP_YIELD) bits |= bits_of_value(state, yield->operands[index]);
    }
    if (!bits) return;
    marking->changed |= bits_add(state, op->results[index], bits);
    for (int r = 0; is_loop && r < op->region_count; r++)
        marking->changed |=
            bits_add(state, op->regions[r]->arguments[index + (first ? 1 : 0)], bits);
}

static void mark_structured(Marking *marking, const Op *op) {
    bool is_for = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    int first = is_for ? 3 : 0;
    for (int i = 0; i < op->result_count; i++) {
        bool live = false;
        for (int r = 0; r < op->region_count; r++) {
            const Op *yield = region_terminator(op->regions[r]);
            if (yield && yield->code == OP_YIELD && is_marked(marking, yield->operands[i]))
                live = true;
        }
        if (op->code != OP_IF && is_marked(marking, op->operands[first + i])) live = true;
        mark_carried_bits(marking, op, i, first);
        if (!live || !value_may_be_float(op->results[i])) continue;
        active_mark(marking, op->results[i]);
        for (int r = 0; op->code != OP_IF && r < op->region_count; r++)
            active_mark(marking, op->regions[r]->arguments[i + (is_for ? 1 : 0)]);
    }
}

static intptr_t may_reach_gradient(ValueWalk *walk, const Value *pointer) {
    const Differentiation *state = walk->context;
    if (!pointer || pointer->type.kind != TYPE_POINTER) return false;
    if (map_has_pointer(&state->buffers.gradients, pointer)) return true;
    const Op *op = pointer->op;
    if (!op) {
        op =
            pointer->region ? pointer->region->parent : NULL;  // what a loop carries starts outside
        for (int i = 0; op && i < op->operand_count; i++)
            if (walk_ask(walk, op->operands[i])) return true;
        return false;
    }
    if (op->code == OP_LOAD) return false;
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        if (yield && pointer->index < yield->operand_count &&
            walk_ask(walk, yield->operands[pointer->index]))
            return true;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

bool pointer_may_reach_gradient(const Differentiation *state, const Value *pointer) {
    return walk_from(pointer, may_reach_gradient, true, state);
}

static bool visit_active(void *context, Op *op) {
    Marking *marking = context;
    if (op->code == OP_IF || op_is_loop(op->code)) {
        mark_structured(marking, op);
        return true;
    }
    bool active = false;
    if (op->code == OP_LOAD) {
        const Value *root = pointer_root(op->operands[0]);
        active = root ? map_has_pointer(&marking->state->buffers.gradients, root)
                      : pointer_may_reach_gradient(marking->state, op->operands[0]);
        if (op->operands[2] && is_marked(marking, op->operands[2])) active = true;
    } else if (!op_rows[op->code].gradient_none) {
        for (int i = 0; i < op->operand_count; i++)
            if (is_marked(marking, op->operands[i])) active = true;
    }
    if (bits_follow(marking->state, op)) marking->changed = true;
    bool makes_float = op_makes_float_of_bits(marking->state, op);
    active = active || makes_float;
    if ((makes_float || op->code == OP_BITCAST) && marking->state->activity.ignores_bits)
        active = false;
    if (bitcast_is_of_integers(op)) active = false;
    for (int i = 0; active && i < op->result_count; i++)
        if (value_may_be_float(op->results[i])) active_mark(marking, op->results[i]);
    return true;
}

void activity_mark(Differentiation *state) {
    Marking marking = {.state = state, .changed = true};
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        bool has_gradient = map_has_pointer(&state->buffers.gradients, parameter->value);
        if (has_gradient && parameter_is_float_scalar(parameter))
            active_mark(&marking, parameter->value);
    }
    while (marking.changed) {
        marking.changed = false;
        region_walk(state->primal->body, visit_active, &marking);
    }
}

/* ---- gauges ---- */

static bool is_infinite_start(const Value *value) {
    if (value && value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    while (value && value->op &&
           (value->op->code == OP_SUB || value->op->code == OP_ADD || value->op->code == OP_CAST))
        value = value->op->operands[0];  // tl.zeros(...) - inf
    double number;
    return value && value_is_number(value, &number) && number < -1e4;
}

/// `zeros - inf` and friends: minus infinity reached by arithmetic on constants.
static bool starts_at_minus_infinity(const Value *value) {
    if (is_infinite_start(value)) return true;
    if (!value || !value->op) return false;
    double number;
    bool subtracts = value->op->code == OP_SUB &&
                     value_is_number(value->op->operands[1], &number) && number > 1e4;
    bool adds = value->op->code == OP_ADD && value_is_number(value->op->operands[1], &number) &&
                number < -1e4;
    return subtracts || adds;
}

/// The search for values that no gradient flows through.
typedef struct Gauges {
    Differentiation *state;
    Map maxima;  // that were found invisible: `tl.max(m)` of maxima of lanes stays when these are shifted
} Gauges;

/// Tries the seeds; where the shift is invisible they become constants.
static bool shift_invariant_try(const Gauges *gauges, const Map *seeds, const Map *relaxed) {
    Differentiation *state = gauges->state;
    if (!shift_is_invisible(state->arena, state->primal, seeds, relaxed, &gauges->maxima))
        return false;
    for (int i = 0; i < seeds->count; i++)
        map_set_number(&state->activity.constant, seeds->entries[i].number, (void *)1);
    return true;
}

typedef struct StateReaders {
    Arena *arena;
    const Op *loop;
    const Carried *carried;
    int gauge;
    bool found;
} StateReaders;

static bool in_group(const StateReaders *readers, int index) {
    return readers->carried[index].class == CARRIED_GAUGE &&
           readers->carried[index].gauge == readers->gauge;
}

/// Memory that sees a running state of the group: the states of all iterations matter then, not only the last.
static bool visit_state_reader(void *context, Op *op) {
    StateReaders *readers = context;
    if (!(op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC))) return true;
    const Region *body = readers->loop->regions[0];
    for (int i = 0; i < readers->loop->result_count && !readers->found; i++) {
        if (i != readers->gauge && !in_group(readers, i)) continue;
        for (int k = 0; k < op->operand_count; k++)
            if (op->operands[k] &&
                value_depends_on(readers->arena, op->operands[k], body->arguments[i + 1], NULL))
                readers->found = true;
    }
    return !readers->found;
}

/// Whether a running state of the shift-invariant value's group is read for anything but the group's own next states.
static bool running_states_are_read(Differentiation *state, const Op *loop, const Carried *carried,
                                    int gauge) {
    StateReaders readers = {
        .arena = state->arena, .loop = loop, .carried = carried, .gauge = gauge};
    region_walk(loop->regions[0], visit_state_reader, &readers);
    const Region *body = loop->regions[0];
    const Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count && !readers.found; i++) {
        for (int k = 0; k < loop->result_count && !readers.found; k++) {
            bool reads_gauge = k == gauge && !in_group(&readers, i) && i != gauge;
            bool reads_member = k != gauge && in_group(&readers, k) && i != k && i != gauge;
            if (!reads_gauge && !reads_member) continue;
            // What the next gauge is made of does not matter: its group is free of it.
            const Value *free = reads_member ? yield->operands[gauge] : NULL;
            readers.found =
                value_depends_on(state->arena, yield->operands[i], body->arguments[k + 1], free);
        }
    }
    return readers.found;
}

static void shift_invariant_loop(const Gauges *gauges, const Op *loop) {
    Differentiation *state = gauges->state;
    Carried *carried = loop_classify(state->arena, loop);
    Region *body = loop->regions[0];
    Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count; i++) {
        bool is_gauge = carried[i].class == CARRIED_GAUGE && carried[i].gauge == i;
        bool is_maximum = yield->operands[i]->op && yield->operands[i]->op->code == OP_MAXIMUM;
        if (!is_gauge && !is_maximum) continue;
        if (!value_is_active(state, loop->results[i])) continue;
        if (running_states_are_read(state, loop, carried, i)) continue;
        Map seeds = map_new(state->arena), relaxed = map_new(state->arena);
        map_set_pointer(&seeds, body->arguments[i + 1], (void *)1);
        map_set_pointer(&seeds, yield->operands[i], (void *)1);
        map_set_pointer(&seeds, loop->results[i], (void *)1);
        bool from_infinity = starts_at_minus_infinity(loop->operands[3 + i]);
        for (int k = 0; from_infinity && k < loop->result_count; k++)
            if (carried[k].class == CARRIED_GAUGE && carried[k].gauge == i)
                map_set_pointer(&relaxed, loop->operands[3 + k], (void *)1);
        bool starts_neutral = from_infinity;
        for (int k = 0; !from_infinity && k < loop->result_count; k++) {
            double start;
            const Value *initial = loop->operands[3 + k];
            if (initial->op && initial->op->code == OP_FULL) initial = initial->op->operands[1];
            if (k == i || carried[k].class != CARRIED_GAUGE || carried[k].gauge != i) continue;
            starts_neutral = value_is_number(initial, &start) && start == 0;
            if (!starts_neutral) break;
        }
        bool has_members = false;
        for (int k = 0; k < loop->result_count; k++)
            if (k != i && carried[k].class == CARRIED_GAUGE && carried[k].gauge == i)
                has_members = true;
        if (has_members && !starts_neutral) continue;
        shift_invariant_try(gauges, &seeds, &relaxed);
    }
}

typedef struct ShiftUses {
    const Value *value;
    bool is_subtracted, is_carried;
} ShiftUses;

static bool visit_shift_use(void *context, Op *op) {
    ShiftUses *uses = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != uses->value) continue;
        uses->is_subtracted |= op->code == OP_SUB && i == 1;
        uses->is_carried |= op->code == OP_YIELD;
    }
    return true;
}

/// Whether others are taken relative to the larger of some values, `exp(x - m)` with `m = maximum(x, y)`; what a loop carries is looked at with
/// the loop.
static bool others_are_relative_to(const Op *maximum) {
    ShiftUses uses = {.value = maximum->results[0]};
    region_walk(maximum->parent, visit_shift_use, &uses);
    return uses.is_subtracted && !uses.is_carried;
}

static bool visit_gauge(void *context, Op *op) {
    Gauges *gauges = context;
    Differentiation *state = gauges->state;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) shift_invariant_loop(gauges, op);
    bool is_largest = (op->code == OP_MAX && op->result_count == 1) ||
                      (op->code == OP_MAXIMUM && others_are_relative_to(op));
    if (is_largest && value_is_active(state, op->results[0])) {
        Map seeds = map_new(state->arena);
        map_set_pointer(&seeds, op->results[0], (void *)1);
        if (shift_invariant_try(gauges, &seeds, NULL))
            map_set_pointer(&gauges->maxima, op->results[0], (void *)1);
    }
    return true;
}

void shift_invariants_mark(Differentiation *state) {
    Gauges gauges = {.state = state, .maxima = map_new(state->arena)};
    region_walk(state->primal->body, visit_gauge, &gauges);
    if (gauges.maxima.count) region_walk(state->primal->body, visit_gauge, &gauges);
    if (state->activity.constant.count == 0) return;
    state->activity.active = map_new(
        state->arena);  // what only followed from the shift-invariant values is constant too
    activity_mark(state);
}

bool shift_invariant_is_settled(const Differentiation *state, const Op *loop,
                                const Carried *carried, int index) {
    if (carried[index].class != CARRIED_GAUGE) return false;
    int gauge = carried[index].gauge;
    return gauge >= 0 && gauge < loop->result_count &&
           map_has_pointer(&state->activity.constant, loop->results[gauge]);
}
