// Where each gradient is summed (scheduling.md, sections 1 and 3): private ones become plain stores, shared ones stay atomics.
// Statements of consecutive loops that hit the same elements are first moved into the last of them. Shared ones that are alone
// may move to a kernel of their own (reductions.h).
#include "autodiff/schedule/schedule.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/neighbours.h"
#include "autodiff/atomics/picked.h"
#include "autodiff/atomics/spread_lanes.h"
#include "autodiff/atomics/taps.h"
#include "autodiff/gathers/in_order.h"
#include "autodiff/gathers/repeats.h"
#include "autodiff/gathers/row_windows.h"
#include "autodiff/padding/last_rows.h"
#include "autodiff/padding/unwrap.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/schedule/sink.h"
#include "autodiff/schedule/tile_orders.h"
#include "autodiff/sharing/flags_around.h"
#include "autodiff/sharing/owner_masks.h"
#include "autodiff/sharing/shared_axes.h"
#include "autodiff/sharing/sharing.h"
#include "autodiff/state/differentiation.h"

static bool op_is_alive(const Function *function, const Op *op) {
    const Region *region = op->parent;
    while (region && region->parent) region = region->parent->parent;
    if (region != function->body) return false;
    for (const Op *other = op->parent->first; other; other = other->next)
        if (other == op) return true;
    return false;
}

/* ---- one gradient ---- */

static void make_store(const Accumulation *statement, Function *function) {
    Op *op = statement->op;
    Builder builder = {
        .function = function, .region = op->parent, .before = op, .range = statement->range};
    Value *operands[] = {op->operands[0], op->operands[1], op->operands[2]};
    build(&builder, OP_STORE, operands, 3);
    op_remove(op);
}

static void make_update(const Accumulation *statement, Function *function) {
    Op *op = statement->op;
    Builder b = {
        .function = function, .region = op->parent, .before = op, .range = statement->range};
    Value *mask = access_mask(op);
    Value *operands[] = {op->operands[0], mask, mask ? build_float(&b, 0.0) : NULL};
    Value *sum = build_binary(&b, OP_ADD, build(&b, OP_LOAD, operands, 3), op->operands[1]);
    build(&b, OP_STORE, (Value *[]){op->operands[0], sum, mask}, 3);
    op_remove(op);
}

/// The later of two statements, whose program's threads wait in front of it for what the earlier one stored.
static int make_ordered(Differentiation *state, const Accumulation *group, int a, int b) {
    Op *in_a, *in_b;
    ops_common_level(group[a].op, group[b].op, &in_a, &in_b);
    int later = op_precedes(in_a, in_b) ? b : a;
    Op *level = later == b ? in_b : in_a;
    if (level->previous && level->previous->code == OP_DEBUG_BARRIER) return later;
    Builder builder = {.function = state->backward,
                       .region = level->parent,
                       .before = level,
                       .range = level->range};
    op_append(&builder, OP_DEBUG_BARRIER, NULL, 0, 0);
    return later;
}

static void share_group(Gradient *gradient, const Accumulation *statement, const char *why) {
    gradient->is_atomic = gradient->is_sum = true;
    gradient->adds_number =
        statement->op->operands[0]->type.rank == 0 && !op_is_in_loop(statement->op);
    gradient->why = why;
    gradient->range = statement->range;
}

/// Whether nobody knows of an id, or of a loop, whether it moves the address of a statement.
static bool axes_are_open(Differentiation *state, Op *op) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Access access = places_find(state->versions.places, op)->access;
    if (!access.parameter || !access.offset.known) return true;
    int count = access_axes(state->arena, state->versions.axes, &access, axes, dependence,
                            ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (dependence[i] == AXIS_SCATTERED) return true;
    return false;
}

/// Notes statements that stay atomics for who may find other sums for them.
static void note_shared(Differentiation *state, Gradient *gradient, const Accumulation *group,
                        int count) {
    for (int i = 0; i < count; i++) {
        SharedStatement shared = {
            .statement = group[i], .gradient = gradient, .is_one_of_several = count > 1};
        for (int k = 0; k < count; k++)
            shared.meets = shared.meets ||
                           (k != i && !places_are_apart(state->arena, group[i].op, group[k].op));
        shared.told_by = told_but_for_alike(state, &group[i], &shared.alike);
        // One kernel in the forward's schedule sums nothing for others, and is what is left where steps are short.
        bool may_sum = !state->options || !state->options->keeps_schedule;
        if (may_sum && !shared.told_by && axes_are_open(state, group[i].op))
            shared.by_flags = shared_axes_by_flags(state, &group[i]);
        shared.is_of_program = count > 1 && statement_sharing(state, &group[i]).is_of_program;
        if (count == 1)
            LIST_PUSH(state->arena, &state->parts.shared, shared);
        else
            LIST_PUSH(state->arena, &state->parts.several, shared);
    }
}

static bool group_is_private(Differentiation *state, const Accumulation *group, int count) {
    for (int i = 0; i < count; i++) {
        if (!statement_sharing(state, &group[i]).is_private) return false;
        for (int k = 0; k < i; k++)
            if (pair_of(state, &group[i], &group[k], false, &(const Op *){NULL}) == PAIR_SHARED)
                return false;
    }
    return true;
}

static bool is_told(Differentiation *state, const Accumulation *statement) {
    GradientSharing sharing = statement_sharing(state, statement);
    return sharing_is_told(&sharing);
}

/// Of statements that meet: those that add to one element by an index from memory are taken over by one that adds to the row which
/// the element lies in, where the others are private then. What is left of them, or -1 where they stay as they are.
static int fold_picked(Differentiation *state, Gradient *gradient, Accumulation *group, int count) {
    Accumulation *left = ARENA_ARRAY(state->arena, Accumulation, count + 1);
    Accumulation *picked = ARENA_ARRAY(state->arena, Accumulation, count + 1);
    Pick **picks = ARENA_ARRAY(state->arena, Pick *, count + 1);
    int left_count = 0, picked_count = 0;
    for (int i = 0; i < count; i++)
        if (group[i].op->operands[0]->type.rank == 0)
            picked[picked_count++] = group[i];
        else
            left[left_count++] = group[i];
    if (!left_count || !picked_count || group_is_private(state, group, count) ||
        !group_is_private(state, left, left_count))
        return -1;
    for (int i = 0; i < left_count; i++)
        if (is_told(state, &left[i])) return -1;
    for (int i = 0; i < picked_count; i++) {
        for (int k = 0; k < left_count && !picks[i]; k++)
            picks[i] = pick_plan(state, &picked[i], &left[k], picked_count == 1 && left_count == 1);
        if (!picks[i]) return -1;
    }
    for (int i = 0; i < picked_count; i++) {
        int line = range_line(picked[i].range);
        gradient->picked = i ? arena_printf(state->arena, "%s, %d", gradient->picked, line)
                             : arena_printf(state->arena, "line %d", line);
        pick_fold(state, picks[i]);
    }
    for (int i = 0; i < left_count; i++) group[i] = left[i];
    return left_count;
}

/// Statements that are private each, and meet because they read neighbours, become plain stores of the owners. False where they stay.
static bool store_neighbours(Differentiation *state, Accumulation *group, int count) {
    for (int i = 0; i < count; i++) {
        GradientSharing sharing = statement_sharing(state, &group[i]);
        if (!sharing.is_private || sharing_is_told(&sharing)) return false;
    }
    if (group_is_private(state, group, count)) return false;
    int left = neighbours_gather(state, group, count);
    for (int i = 0; i < left; i++) make_store(&group[i], state->backward);
    return left > 0;
}

static bool statement_is_private(Differentiation *state, const Accumulation *statement) {
    GradientSharing sharing = statement_sharing(state, statement);
    return sharing.is_private && !sharing_is_told(&sharing);
}

/// `((i >= 0) & (i < n))[:, None]` as `(i >= 0)[:, None] & (i < n)[:, None]`, where each part says something of the tile by itself.
static Value *mask_in_parts(Builder *b, Value *mask) {
    const Op *op = mask ? mask->op : NULL;
    const Op *both = op && op->code == OP_EXPAND_DIMS ? op->operands[0]->op : op;
    if (!both || !op_has(both->code, TRAIT_BOTH)) return mask;
    Value *parts[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = both->operands[i];
        if (both != op) parts[i] = build_binary(b, OP_EXPAND_DIMS, parts[i], op->operands[1]);
        parts[i] = mask_in_parts(b, parts[i]);
    }
    bool is_same = both == op && parts[0] == op->operands[0] && parts[1] == op->operands[1];
    return is_same ? mask : build_binary(b, both->code, parts[0], parts[1]);
}

/// Statements that meet because they read at shifted places become one plain store of the owner. False where they stay.
static bool store_taps(Differentiation *state, const Accumulation *group, int count) {
    if (group_is_private(state, group, count)) return false;
    Accumulation own = group[0];
    Value **masks = ARENA_ARRAY(state->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) {
        Op *op = group[i].op;
        Builder b = {.function = state->backward, .region = op->parent, .before = op};
        masks[i] = access_mask(op);
        if (masks[i]) op_set_operand(op, 2, mask_in_parts(&b, masks[i]));
    }
    own.op = taps_gather(state, group, count, statement_is_private);
    for (int i = 0; i < count && !own.op; i++)
        if (masks[i]) op_set_operand(group[i].op, 2, masks[i]);
    if (!own.op) return false;
    for (int i = 0; i < count; i++) op_remove(group[i].op);
    make_store(&own, state->backward);
    return true;
}

/// A statement of which several programs or lanes share an element becomes a plain store of the element's own. False where it stays.
static bool store_repeats(Differentiation *state, const Accumulation *statement) {
    Accumulation own = *statement;
    own.op = repeats_gather(state, statement, statement_is_private);
    if (!own.op) return false;
    op_remove(statement->op);
    make_store(&own, state->backward);
    return true;
}

/// Windows that begin at every few elements of rows become one plain store of each element. False where they stay.
static bool store_row_windows(Differentiation *state, const Accumulation *statement) {
    Accumulation own = *statement;
    own.op = row_windows_gather(state, statement);
    if (!own.op) return false;
    op_remove(statement->op);
    make_store(&own, state->backward);
    return true;
}

/// A barrier in front of an operation, where none is there.
static void wait_before(Differentiation *state, Op *op) {
    if (op->previous && op->previous->code == OP_DEBUG_BARRIER) return;
    Builder builder = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    op_append(&builder, OP_DEBUG_BARRIER, NULL, 0, 0);
}

/// Statements whose elements other programs never touch, though iterations of one program may: the program adds to what it stored before,
/// one iteration after the other. False where that is not known.
static bool update_by_program(Differentiation *state, Gradient *gradient, const Accumulation *group,
                              int count) {
    const Op **told_by = ARENA_ARRAY(state->arena, const Op *, count *count + 1);
    for (int i = 0; i < count; i++) {
        if (!statement_sharing(state, &group[i]).is_of_program) return false;
        for (int k = 0; k < i; k++)
            if (pair_of(state, &group[i], &group[k], true, &told_by[i * count + k]) == PAIR_SHARED)
                return false;
    }
    for (int i = 0; i < count; i++) {
        assume_told(state, &group[i]);
        for (int k = 0; k < i; k++)
            if (told_by[i * count + k]) assume_told_by(state, &group[i], told_by[i * count + k]);
        wait_before(state, group[i].op);
        make_update(&group[i], state->backward);
    }
    gradient->is_sum = true;
    return true;
}

static void schedule_group(Differentiation *state, Gradient *gradient, Accumulation *group,
                           int count) {
    int left = fold_picked(state, gradient, group, count);
    if (left > 0) count = left;
    gradient->range = group[0].range;
    if (store_neighbours(state, group, count) || store_taps(state, group, count)) return;
    if (count == 1 && !statement_sharing(state, &group[0]).is_private &&
        (gradient_sum_in_order(state, group[0].op) || store_repeats(state, &group[0]) ||
         store_row_windows(state, &group[0])))
        return;
    Pair *pairs = ARENA_ARRAY(state->arena, Pair, count * count + 1);
    const Op **told_by = ARENA_ARRAY(state->arena, const Op *, count *count + 1);
    for (int i = 0; i < count; i++) {
        GradientSharing sharing = statement_sharing(state, &group[i]);
        if (!sharing.is_private && update_by_program(state, gradient, group, count)) return;
        if (!sharing.is_private) {
            share_group(gradient, &group[i], sharing.why);
            flags_around_note(state, group, count);
            note_shared(state, gradient, group, count);
            return;
        }
        for (int k = 0; k < i; k++) {
            pairs[i * count + k] =
                pair_of(state, &group[i], &group[k], false, &told_by[i * count + k]);
            if (pairs[i * count + k] != PAIR_SHARED) continue;
            if (update_by_program(state, gradient, group, count)) return;
            flags_around_note(state, group, count);
            share_group(
                gradient, &group[i],
                arena_printf(
                    state->arena,
                    "`%s` is read at several places whose elements may overlap (lines %d and %d)",
                    gradient->input, range_line(group[k].range), range_line(group[i].range)));
            note_shared(state, gradient, group, count);
            return;
        }
    }
    bool *adds = ARENA_ARRAY(state->arena, bool, count + 1);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (pairs[i * count + k] == PAIR_ORDERED)
                adds[make_ordered(state, group, k, i)] = gradient->is_sum = true;
    for (int i = 0; i < count; i++) {
        assume_told(state, &group[i]);
        for (int k = 0; k < i; k++)
            if (told_by[i * count + k]) assume_told_by(state, &group[i], told_by[i * count + k]);
    }
    for (int i = 0; i < count; i++)
        adds[i] ? make_update(&group[i], state->backward) : make_store(&group[i], state->backward);
}

/* ---- running gradients ---- */

/// The store of 0 that an accumulation follows, to the same lanes of the same place, or NULL.
static RunningStep *zero_before(Differentiation *state, const Accumulation *statement) {
    for (int i = 0; i < state->sweep.running_steps.count; i++) {
        RunningStep *step = &state->sweep.running_steps.items[i];
        if (!step->op || step->op->code != OP_STORE || step->gradient != statement->gradient)
            continue;
        bool same = step->op->parent == statement->op->parent &&
                    access_mask(step->op) == access_mask(statement->op) &&
                    place_equals(places_find(state->versions.places, step->op),
                                 places_find(state->versions.places, statement->op));
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
    for (int i = 0; i < state->sweep.running_steps.count; i++) {
        const RunningStep *a = &state->sweep.running_steps.items[i];
        if (!a->op || a->op->code != OP_STORE || a->gradient != group[0].gradient) continue;
        for (int k = 0; k < i; k++) {
            const RunningStep *b = &state->sweep.running_steps.items[k];
            if (!b->op || b->op->code != OP_STORE || b->gradient != a->gradient) continue;
            if (!ops_are_exclusive(a->op, b->op) &&
                !place_is_apart(state->arena, places_find(state->versions.places, a->op),
                                places_find(state->versions.places, b->op)))
                return false;
        }
    }
    return true;
}

/// Whether no other program touches the elements of a statement: they can be added to without atomics.
static bool programs_are_apart(Differentiation *state, const Accumulation *group, int count,
                               int index) {
    Op *op = group[index].op;
    if (!lanes_are_apart(state->arena, op)) return false;
    for (int k = 0; k < count; k++)
        if (!places_are_owned_together(state->arena, state->versions.axes, op, group[k].op, true) &&
            !are_told_together(state, &group[index], &group[k]))
            return false;
    return true;
}

/// Whether an iteration may touch what another thread of the program stored in an earlier one, in frames that overlap.
static bool iterations_may_meet(Differentiation *state, const Accumulation *group, int count) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    for (int i = 0; i < count; i++) {
        Access access = places_find(state->versions.places, group[i].op)->access;
        if (!access.parameter || !access.offset.known) return true;
        int found = access_axes(state->arena, state->versions.axes, &access, axes, dependence,
                                ACCESS_MOST_AXES);
        for (int k = 0; k < found; k++)
            if (!axes[k].is_program && dependence[k] == AXIS_SCATTERED) return true;
    }
    return false;
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
        bool is_ordered = iterations_may_meet(state, group, count);
        for (int i = 0; i < count; i++) {
            drop_step(zeros[i]);
            make_store(&group[i], state->backward);
        }
        for (int i = 0; i < state->sweep.running_steps.count; i++) {
            const RunningStep *step = &state->sweep.running_steps.items[i];
            is_ordered = is_ordered || (step->op && step->gradient == group[0].gradient &&
                                        step->op->code == OP_STORE);
        }
        for (int i = 0; i < state->sweep.running_steps.count && !is_ordered; i++) {
            RunningStep *step = &state->sweep.running_steps.items[i];
            if (step->op && step->gradient == group[0].gradient) drop_step(step);
        }
        return;
    }
    gradient->is_sum = true;
    bool *apart = ARENA_ARRAY(state->arena, bool, count + 1);
    for (int i = 0; i < count; i++) apart[i] = programs_are_apart(state, group, count, i);
    for (int i = 0; i < count; i++) {
        if (apart[i]) {
            make_update(&group[i], state->backward);
            continue;
        }
        const char *why = statement_sharing(state, &group[i]).why;
        if (!why)
            why = arena_printf(state->arena, "several places of `%s` that are read may overlap",
                               gradient->input);
        share_group(gradient, &group[i], why);
    }
}

/// The parameter of the backward; or NULL.
static const Value *parameter_named(const Function *function, const char *name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return function->parameters[i].value;
    return NULL;
}

/// What the backward will assert of its constexprs.
static void note_multiples(Differentiation *state, FunctionAxes *axes) {
    for (LIST_EACH(int, i, state->joins.multiples)) {
        const Multiple *known = &state->joins.multiples.items[i];
        MultipleSize own = {parameter_named(state->backward, known->size),
                            parameter_named(state->backward, known->of)};
        if (own.size && own.of) LIST_PUSH(state->arena, &axes->multiples, own);
    }
}

FunctionAxes backward_axes(Differentiation *state) {
    FunctionAxes axes = function_axes(state->arena, state->backward);
    Builder b = {.function = state->backward,
                 .region = state->backward->body,
                 .before = state->backward->body->first};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (state->stores.adding_axes[axis] && !axes.programs[axis])
            axes.programs[axis] = build_unary(&b, OP_PROGRAM_ID, build_int(&b, axis));
    note_multiples(state, &axes);
    return axes;
}

/// A compile-time value, which builders share wherever they are.
static bool is_shared(const Op *op) {
    return op->result_count == 1 && (op->results[0]->constant || op->results[0]->type.is_constexpr);
}

/// Puts all that the backward does below `if program_id(axis) == 0`.
static void leave_to_first_program(Function *backward, int axis) {
    Builder b = {.function = backward, .region = backward->body};
    Value *id = build_unary(&b, OP_PROGRAM_ID, build_int(&b, axis));
    Value *is_first = build_binary(&b, OP_EQ, id, build_int(&b, 0));
    Op *branch = op_append(&b, OP_IF, &is_first, 1, 0);
    for (int side = 0; side < 2; side++) {
        b.region = op_add_region(&b, branch);
        Op *end = op_append(&b, OP_YIELD, NULL, 0, 0);
        for (Op *op = side ? branch : backward->body->first, *next; op != branch; op = next) {
            next = op->next;
            if (!is_shared(op) && op != id->op && op != is_first->op) op_move_before(op, end);
        }
    }
}

/// Programs along an axis that the kernel does not read do the same, and each would add it to the gradients: only the first
/// one does. Where nobody knows how many there are, the launch has to have one.
static void settle_unread_axes(Differentiation *state, Backward *result) {
    bool is_sum = false;
    for (int i = 0; i < result->gradient_count; i++) is_sum |= result->gradients[i].is_sum;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        result->single_axes[axis] =
            (is_sum || state->stores.adds) && state->stores.unread_axes[axis] == GRID_AXIS_UNKNOWN;
        if (is_sum && state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL)
            leave_to_first_program(state->backward, axis);
    }
}

void schedule_accumulations(Differentiation *state, Backward *result) {
    for (int i = 0; i < state->sweep.accumulations.count; i++)
        if (!op_is_alive(state->backward, state->sweep.accumulations.items[i].op))
            state->sweep.accumulations.items[i].op = NULL;
    for (int i = 0; i < state->sweep.running_steps.count; i++)
        if (!op_is_alive(state->backward, state->sweep.running_steps.items[i].op))
            state->sweep.running_steps.items[i].op = NULL;
    accumulations_leave_to_owners(state);
    accumulations_sink(state);
    accumulations_unwrap(state);
    accumulations_take_last_rows(state);
    accumulations_join(state);
    for (int i = 0; i < state->sweep.accumulations.count; i++) {
        Accumulation *statement = &state->sweep.accumulations.items[i];
        if (statement->op && !statement->is_running && !statement->is_program_sum)
            statement->op = spread_lanes_sum(statement->op, state->backward);
    }
    tile_orders_open(state->arena, state->backward,
                     state->parts.part.has_digits ? TILE_MOST_DIGITS : 2);
    Places places = places_new(state->arena);
    FunctionAxes axes = backward_axes(state);
    state->versions.places = &places;
    state->versions.axes = &axes;
    state->stores.cases = NULL;
    result->gradients = ARENA_ARRAY(state->arena, Gradient, state->sweep.accumulations.count + 1);
    for (int i = 0; i < state->sweep.accumulations.count; i++) {
        const Accumulation *first = &state->sweep.accumulations.items[i];
        if (!first->op) continue;
        Accumulation *group =
            ARENA_ARRAY(state->arena, Accumulation, state->sweep.accumulations.count);
        int count = 0;
        Value *target = first->gradient;
        const char *input = first->input->name;
        bool first_is_running = first->is_running;
        for (int k = i; k < state->sweep.accumulations.count; k++) {
            Accumulation *other = &state->sweep.accumulations.items[k];
            if (!other->op || other->gradient != target) continue;
            group[count++] = *other;
            other->op = NULL;
        }
        Gradient *gradient = &result->gradients[result->gradient_count++];
        *gradient = (Gradient){.input = input};
        if (group[0].is_program_sum)  // a plain store already
            gradient->is_sum = gradient->is_program_sum = true;
        else if (first_is_running)
            schedule_running(state, gradient, group, count);
        else
            schedule_group(state, gradient, group, count);
        if (gradient->is_atomic) result->atomics++;
    }
    state->versions.places = NULL;
    state->versions.axes = NULL;
    tile_orders_close(state->backward);
    settle_unread_axes(state, result);
}
