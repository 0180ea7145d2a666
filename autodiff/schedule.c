// Where each gradient is summed (scheduling.md, sections 1 and 3): private ones become plain stores, shared ones stay atomics.
// Statements of consecutive loops that hit the same elements are first moved into the last of them. The seam for interchange
// and partial buffers: a group that is not private here is what they will take.
#include "analysis/affine.h"
#include "analysis/infer.h"
#include "analysis/loops.h"
#include "autodiff/adjoint.h"
#include "autodiff/place.h"

enum { AXES_MAX = 32 };

static bool op_is_alive(const Function *function, const Op *op) {
    const Region *region = op->parent;
    while (region && region->parent) region = region->parent->parent;
    if (region != function->body) return false;
    for (const Op *other = op->parent->first; other; other = other->next)
        if (other == op) return true;
    return false;
}

/* ---- moving statements into the last loop over the same elements ---- */

static Op *loop_around(const Op *op) {
    Op *owner = op->parent->parent;
    return owner && (owner->code == OP_FOR || owner->code == OP_STATIC_FOR) ? owner : NULL;
}

/// Equal expressions up to the two loops' variables.
static bool same_expression(const Value *a, const Value *b, const Value *iv_a, const Value *iv_b,
                            int depth) {
    if (a == b) return true;
    if (!a || !b) return false;
    if (a == iv_a && b == iv_b) return true;
    if (!a->op || !b->op || depth > 200 || a->op->code != b->op->code || a->index != b->index)
        return false;
    if (a->op->region_count || a->op->operand_count != b->op->operand_count) return false;
    if (!op_is_pure(a->op) && a->op->code != OP_LOAD) return false;
    if (a->op->code == OP_CONSTANT) return false;  // shared constants are the same value
    for (int i = 0; i < a->op->operand_count; i++)
        if (!same_expression(a->op->operands[i], b->op->operands[i], iv_a, iv_b, depth + 1))
            return false;
    return true;
}

static bool loops_match(const Op *a, const Op *b) {
    if (a == b || a->code != b->code || a->parent != b->parent) return false;
    for (int i = 0; i < 3; i++)
        if (a->operands[i] != b->operands[i]) return false;
    return true;
}

static bool op_precedes(const Op *a, const Op *b) {
    for (const Op *op = a->next; op; op = op->next)
        if (op == b) return true;
    return false;
}

/// Recomputes `value` of loop `from` at the builder's place in another loop. NULL where it needs state of its own loop.
static Value *transplant(const Function *function, Builder *builder, const Op *from, Value *value,
                         Map *values) {
    Value *mapped = value ? map_get_pointer(values, value) : NULL;
    if (mapped || !value) return mapped;
    if (!region_defines(from->regions[0], value)) return value;
    const Op *op = value->op;
    if (!op || op->region_count || op->code == OP_UNDEFINED) return NULL;
    if (!op_is_pure(op) && !op_is_stable_load(function, op)) return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = transplant(function, builder, from, op->operands[i], values);
        if (!operand) return NULL;
        map_set_pointer(values, op->operands[i], operand);
    }
    op_clone(builder, op, values);
    return map_get_pointer(values, value);
}

static bool sink_into(Differentiation *state, const Accumulation *early, const Accumulation *late) {
    Op *from = loop_around(early->op), *into = loop_around(late->op);
    if (!from || !into || !loops_match(from, into) || !op_precedes(from, into)) return false;
    const Value *iv_a = from->regions[0]->arguments[0], *iv_b = into->regions[0]->arguments[0];
    if (!same_expression(early->op->operands[0], late->op->operands[0], iv_a, iv_b, 0))
        return false;
    if (!same_expression(early->op->operands[2], late->op->operands[2], iv_a, iv_b, 0) &&
        early->op->operands[2] != late->op->operands[2])
        return false;
    Builder builder = {.function = state->backward,
                       .region = into->regions[0],
                       .before = late->op,
                       .range = late->range};
    Map values = map_new(state->arena);
    map_set_pointer(&values, iv_a, (void *)(uintptr_t)iv_b);
    Value *moved = transplant(state->backward, &builder, from, early->op->operands[1], &values);
    if (!moved) return false;
    Value *sum = build_binary(&builder, OP_ADD, moved, late->op->operands[1]);
    sum->name = late->op->operands[1]->name;
    late->op->operands[1]->name = NULL;
    op_set_operand(late->op, 1, sum);
    op_remove(early->op);
    return true;
}

static void sink_statements(Differentiation *state) {
    int count = state->accumulations.count;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            Accumulation *early = &state->accumulations.items[i],
                         *late = &state->accumulations.items[k];
            if (i == k || !early->op || !late->op || early->gradient != late->gradient ||
                early->is_running)
                continue;
            if (!sink_into(state, early, late)) continue;
            early->op = NULL;
            break;
        }
    }
}

/* ---- private or shared ---- */

typedef struct Sharing {
    bool is_private;
    const char *why;
} Sharing;

static Sharing statement_sharing(Differentiation *state, const Accumulation *statement) {
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    Access access = access_of(state->arena, statement->op);
    const char *name = statement->input->name;
    if (!access.parameter || !access.offset.known)
        return (Sharing){
            false,
            arena_printf(
                state->arena,
                "the address of `%s` depends on loaded data, so any two programs may add to the same element",
                name)};
    if (!lanes_are_apart(state->arena, statement->op))
        return (Sharing){
            false,
            arena_printf(state->arena,
                         "several lanes of one tile may add to the same element of `%s`", name)};
    int count = access_axes(state->arena, state->backward, &access, axes, dependence, AXES_MAX);
    for (int i = 0; i < count; i++) {
        if (dependence[i] == AXIS_OWNED) continue;
        if (axes[i].is_program) {
            return (Sharing){
                false, dependence[i] == AXIS_FREE
                           ? arena_printf(
                                 state->arena,
                                 "all programs along grid axis %d add to the same elements of `%s`",
                                 axes[i].program_axis, name)
                           : arena_printf(
                                 state->arena,
                                 "programs along grid axis %d may add to the same elements of `%s`",
                                 axes[i].program_axis, name)};
        }
        return (Sharing){
            false, arena_printf(
                       state->arena,
                       "several iterations of the loop at line %d add to the same elements of `%s`",
                       range_line(axes[i].loop->range), name)};
    }
    return (Sharing){.is_private = true};
}

/// Whether two arms of one branch hold the two ops.
static bool exclusive_arms(const Op *a, const Op *b) {
    for (const Region *left = a->parent; left && left->parent; left = left->parent->parent)
        for (const Region *right = b->parent; right && right->parent; right = right->parent->parent)
            if (left->parent == right->parent && left != right && left->parent->code == OP_IF)
                return true;
    return false;
}

static bool jointly_private(Differentiation *state, const Accumulation *a, const Accumulation *b) {
    if (places_are_equal(state->arena, a->op, b->op)) return exclusive_arms(a->op, b->op);
    return places_are_apart(state->arena, a->op, b->op);
}

static void make_store(const Accumulation *statement, Function *function) {
    Op *op = statement->op;
    Builder builder = {
        .function = function, .region = op->parent, .before = op, .range = statement->range};
    Value *operands[] = {op->operands[0], op->operands[1], op->operands[2]};
    build(&builder, OP_STORE, operands, 3);
    op_remove(op);
}

static void schedule_group(Differentiation *state, Gradient *gradient, const Accumulation *group,
                           int count) {
    gradient->range = group[0].range;
    for (int i = 0; i < count && !gradient->is_atomic; i++) {
        Sharing sharing = statement_sharing(state, &group[i]);
        if (!sharing.is_private) {
            gradient->is_atomic = true;
            gradient->why = sharing.why;
            gradient->range = group[i].range;
        }
        for (int k = 0; k < i && !gradient->is_atomic; k++) {
            if (jointly_private(state, &group[i], &group[k])) continue;
            gradient->is_atomic = true;
            gradient->why = arena_printf(
                state->arena,
                "`%s` is read at several places whose elements may overlap (lines %d and %d)",
                gradient->input, range_line(group[k].range), range_line(group[i].range));
        }
    }
    gradient->is_sum = gradient->is_atomic;
    for (int i = 0; i < count && !gradient->is_atomic; i++) make_store(&group[i], state->backward);
}

/* ---- running gradients ---- */

static Value *operand_or_null(const Op *op, int index) {
    Value *value = index < op->operand_count ? op->operands[index] : NULL;
    return value && value_is_none(value) ? NULL : value;
}

/// The store of 0 that an accumulation follows, to the same lanes of the same place, or NULL.
static RunningStep *zero_before(Differentiation *state, const Accumulation *statement) {
    for (int i = 0; i < state->running_steps.count; i++) {
        RunningStep *step = &state->running_steps.items[i];
        if (!step->op || step->op->code != OP_STORE || step->gradient != statement->gradient)
            continue;
        bool same = step->op->parent == statement->op->parent &&
                    places_are_equal(state->arena, step->op, statement->op) &&
                    operand_or_null(step->op, 2) == operand_or_null(statement->op, 2);
        if (same && op_precedes(step->op, statement->op)) return step;
    }
    return NULL;
}

/// An update in place whose elements are each read once and written once: what is read back is stored, nothing is added.
static bool running_is_replaced(Differentiation *state, const Accumulation *group, int count,
                                RunningStep **zeros) {
    for (int i = 0; i < count; i++) {
        zeros[i] = zero_before(state, &group[i]);
        if (!zeros[i] || !lanes_are_apart(state->arena, group[i].op)) return false;
        for (int k = 0; k < i; k++)
            if (zeros[k] == zeros[i]) return false;
    }
    for (int i = 0; i < state->running_steps.count; i++) {
        const RunningStep *a = &state->running_steps.items[i];
        if (!a->op || a->op->code != OP_STORE || a->gradient != group[0].gradient) continue;
        for (int k = 0; k < i; k++) {
            const RunningStep *b = &state->running_steps.items[k];
            if (!b->op || b->op->code != OP_STORE || b->gradient != a->gradient) continue;
            if (!exclusive_arms(a->op, b->op) && !places_are_apart(state->arena, a->op, b->op))
                return false;
        }
    }
    return true;
}

/// Whether no other program touches the elements: they can be added to without atomics.
static bool programs_are_apart(Differentiation *state, const Accumulation *statement) {
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    Access access = access_of(state->arena, statement->op);
    if (!access.parameter || !access.offset.known) return false;
    if (!lanes_are_apart(state->arena, statement->op)) return false;
    int count = access_axes(state->arena, state->backward, &access, axes, dependence, AXES_MAX);
    for (int i = 0; i < count; i++)
        if (axes[i].is_program && dependence[i] != AXIS_OWNED) return false;
    return true;
}

static void make_update(const Accumulation *statement, Function *function) {
    Op *op = statement->op;
    Builder b = {
        .function = function, .region = op->parent, .before = op, .range = statement->range};
    Value *mask = operand_or_null(op, 2);
    Value *operands[] = {op->operands[0], mask, mask ? build_float(&b, 0.0) : NULL};
    Value *sum = build_binary(&b, OP_ADD, build(&b, OP_LOAD, operands, 3), op->operands[1]);
    build(&b, OP_STORE, (Value *[]){op->operands[0], sum, mask}, 3);
    op_remove(op);
}

static void drop_step(RunningStep *step) {
    op_remove(step->op);
    step->op = NULL;
}

static void schedule_running(Differentiation *state, Gradient *gradient, const Accumulation *group,
                             int count) {
    RunningStep **zeros = ARENA_ARRAY(state->arena, RunningStep *, count + 1);
    gradient->range = group[0].range;
    if (running_is_replaced(state, group, count, zeros)) {
        for (int i = 0; i < count; i++) {
            drop_step(zeros[i]);
            make_store(&group[i], state->backward);
        }
        bool any_zero = false;
        for (int i = 0; i < state->running_steps.count; i++) {
            const RunningStep *step = &state->running_steps.items[i];
            any_zero = any_zero || (step->op && step->gradient == group[0].gradient &&
                                    step->op->code == OP_STORE);
        }
        for (int i = 0; i < state->running_steps.count && !any_zero; i++) {
            RunningStep *step = &state->running_steps.items[i];
            if (step->op && step->gradient == group[0].gradient) drop_step(step);
        }
        return;
    }
    gradient->is_sum = true;
    for (int i = 0; i < count; i++) {
        if (programs_are_apart(state, &group[i])) {
            make_update(&group[i], state->backward);
            continue;
        }
        if (!gradient->is_atomic) gradient->why = statement_sharing(state, &group[i]).why;
        if (!gradient->why)
            gradient->why = arena_printf(
                state->arena, "several places of `%s` that are read may overlap", gradient->input);
        gradient->is_atomic = true;
        gradient->range = group[i].range;
    }
}

void schedule_accumulations(Differentiation *state, Backward *result) {
    for (int i = 0; i < state->accumulations.count; i++)
        if (!op_is_alive(state->backward, state->accumulations.items[i].op))
            state->accumulations.items[i].op = NULL;
    for (int i = 0; i < state->running_steps.count; i++)
        if (!op_is_alive(state->backward, state->running_steps.items[i].op))
            state->running_steps.items[i].op = NULL;
    sink_statements(state);
    result->gradients = ARENA_ARRAY(state->arena, Gradient, state->accumulations.count + 1);
    for (int i = 0; i < state->accumulations.count; i++) {
        const Accumulation *first = &state->accumulations.items[i];
        if (!first->op) continue;
        Accumulation *group = ARENA_ARRAY(state->arena, Accumulation, state->accumulations.count);
        int count = 0;
        Value *target = first->gradient;
        const char *input = first->input->name;
        bool first_is_running = first->is_running;
        for (int k = i; k < state->accumulations.count; k++) {
            Accumulation *other = &state->accumulations.items[k];
            if (!other->op || other->gradient != target) continue;
            group[count++] = *other;
            other->op = NULL;
        }
        Gradient *gradient = &result->gradients[result->gradient_count++];
        *gradient = (Gradient){.input = input};
        if (first_is_running)
            schedule_running(state, gradient, group, count);
        else
            schedule_group(state, gradient, group, count);
        if (gradient->is_atomic) result->atomics++;
    }
}
