// The reverse sweep: each region is recomputed and then walked backwards; loops become loops, branches branches.
#include "autodiff/sweep/adjoint.h"

#include "autodiff/state/differentiation.h"

#include <stdarg.h>
#include <string.h>

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/primal/activity.h"
#include "autodiff/primal/scalars.h"
#include "autodiff/sweep/adjoint_rules.h"
#include "autodiff/sweep/extremes.h"
#include "autodiff/tape/load_tape.h"
#include "autodiff/tape/tape.h"

/* ---- shapes ---- */

static bool is_one(const Poly *dim) {
    int64_t number;
    return dim && poly_is_constant(dim, &number) && number == 1;
}

/// Sums `gradient` over the axes along which a value of type `want` was broadcast.
static Value *sum_to(Differentiation *state, Value *gradient, Type want, Range range) {
    Builder *b = &state->builder;
    if (want.rank == 0) {
        if (gradient->type.rank == 0) return gradient;
        return build_unary(b, OP_SUM, gradient);
    }
    while (gradient->type.rank > want.rank)
        gradient = build_binary(b, OP_SUM, gradient, build_int(b, 0));
    if (gradient->type.rank < want.rank) return gradient;  // broadcasts by itself when it is added
    for (int axis = 0; axis < want.rank; axis++) {
        const Poly *from = gradient->type.dims[axis], *to = want.dims[axis];
        if (!from || !to) {
            adjoint_fail(
                state, DIAGNOSTIC_GRADIENT_UNKNOWN_SHAPE, range,
                "the shape of this value is not known, so its gradient cannot be summed over the axes it is broadcast along");
            return gradient;
        }
        if (is_one(to) && !is_one(from))
            gradient = build_ternary(b, OP_SUM, gradient, build_int(b, axis), build_bool(b, true));
    }
    return gradient;
}

/// Only the whole of a sum keeps its name.
static void forget_name_of_part(Value *part, const char *name) {
    bool is_named = name && part->name && strcmp(name, part->name) == 0;
    if (is_named && part->op && op_is_pure(part->op)) part->name = NULL;
}

void adjoint_add(Differentiation *state, Value *primal, Value *gradient) {
    if (!gradient || !value_is_active(state, primal)) return;
    if (gradient->type.kind != TYPE_NUMBER || primal->type.kind != TYPE_NUMBER) {
        adjoint_refuse_unknown(state, primal);
        return;
    }
    Value *summed = sum_to(state, gradient, primal->type, primal->range);
    Value *sofar = map_get_pointer(&state->sweep.frame->adjoints, primal);
    const char *name = primal->name ? arena_printf(state->arena, "d%s", primal->name) : NULL;
    if (sofar) {
        forget_name_of_part(sofar, name);
        forget_name_of_part(summed, name);
        summed = build_binary(&state->builder, OP_ADD, sofar, summed);
    }
    if (name && !summed->name) summed->name = name;
    map_set_pointer(&state->sweep.frame->adjoints, primal, summed);
}

/// `gradient` in the shape and element type that control flow asks of both sides: those of the value's zero gradient.
static Value *conform(Differentiation *state, Builder *builder, Value *gradient, Type primal) {
    primal = type_recomputed(state, primal);
    bool same = gradient->type.rank == primal.rank;
    for (int i = 0; same && i < primal.rank; i++)
        same = poly_equal(gradient->type.dims[i], primal.dims[i]);
    if (!same && primal.rank > 0) {
        Value *shape = build_shape(builder, primal);
        if (shape) gradient = build_binary(builder, OP_BROADCAST_TO, gradient, shape);
    }
    bool wide = primal.element.code == DTYPE_FLOAT64;
    DTypeCode code = wide ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    if (gradient->constant || gradient->type.element.code == code) return gradient;
    return build_binary(builder, OP_CAST, gradient, build_dtype(builder, dtype_of(code)));
}

static Value *adjoint_get(const Differentiation *state, const Value *primal) {
    return map_get_pointer(&state->sweep.frame->adjoints, primal);
}

/* ---- regions ---- */

static void sweep_region(Differentiation *state, const Region *region);

/// The forward is recomputed here; stores and atomics of it are not repeated.
static void recompute_region(Differentiation *state, const Region *region) {
    const Op *terminator = region_terminator(region);
    for (const Op *op = region->first; op && op != terminator; op = op->next)
        op_clone(&state->builder, op, &state->values);
}

static void frame_push(Differentiation *state, AdjointFrame *frame) {
    *frame = (AdjointFrame){.adjoints = map_new(state->arena), .outer = state->sweep.frame};
    state->sweep.frame = frame;
}

static Value *entry_key(const MapEntry *entry) { return (Value *)(uintptr_t)entry->number; }

/// Whether a primal value belongs to `op`'s own regions (so its adjoint stays inside).
static bool is_inside(const Op *op, const Value *value) {
    for (int r = 0; r < op->region_count; r++)
        if (region_defines(op->regions[r], value)) return true;
    return false;
}

static void enter(Differentiation *state, Region *region) {
    state->builder.region = region;
    state->builder.before = NULL;
}

/// What the sum of a value's gradient has come to before a loop or a branch; 0 at first.
static Value *captured_start(Differentiation *state, Builder *before, const AdjointFrame *outer,
                             Value *primal) {
    Value *sofar = map_get_pointer(&outer->adjoints, primal);
    if (!sofar) return adjoint_zeros(state, before, primal->type, primal->range);
    return conform(state, before, sofar, primal->type);
}

/* ---- branches ---- */

/// A value's gradient at the end of a branch: what it was before (NULL: 0) and what the branch adds.
static Value *branch_total(Differentiation *state, Builder *end, const AdjointFrame *branch,
                           Value *primal, Value *sofar) {
    Value *added = map_get_pointer(&branch->adjoints, primal);
    if (!added) return sofar ? sofar : adjoint_zeros(state, end, primal->type, primal->range);
    added = conform(state, end, added, primal->type);
    if (sofar && added->op && op_is_pure(added->op)) added->name = NULL;
    return sofar ? build_binary(end, OP_ADD, sofar, added) : added;
}

static void sweep_if(Differentiation *state, const Op *op) {
    Builder outside = state->builder;
    Op *reversed =
        op_append(&outside, OP_IF, (Value *[]){recomputed(state, op->operands[0])}, 1, 0);
    reversed->range = op->range;
    AdjointFrame frames[2];
    Builder ends[2];
    AdjointFrame *outer = state->sweep.frame;
    for (int r = 0; r < 2; r++) {
        Region *branch = op_add_region(&outside, reversed);
        enter(state, branch);
        frame_push(state, &frames[r]);
        recompute_region(state, op->regions[r]);
        const Op *yield = region_terminator(op->regions[r]);
        for (int i = 0; i < op->result_count; i++) {
            Value *gradient = map_get_pointer(&outer->adjoints, op->results[i]);
            if (gradient) adjoint_add(state, yield->operands[i], gradient);
        }
        sweep_region(state, op->regions[r]);
        ends[r] = state->builder;
        state->sweep.frame = outer;
    }
    Builder before = outside;
    before.before = reversed;
    Map captured = map_new(state->arena);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < frames[r].adjoints.count; i++)
            if (!is_inside(op, entry_key(&frames[r].adjoints.entries[i])))
                map_set_number(&captured, frames[r].adjoints.entries[i].number, (void *)1);
    int count = captured.count;
    Value **yields[2];
    for (int r = 0; r < 2; r++) yields[r] = ARENA_ARRAY(state->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) {
        Value *primal = entry_key(&captured.entries[i]);
        Value *sofar = map_get_pointer(&outer->adjoints, primal);
        if (sofar) sofar = conform(state, &before, sofar, primal->type);
        for (int r = 0; r < 2; r++)
            yields[r][i] = branch_total(state, &ends[r], &frames[r], primal, sofar);
    }
    for (int r = 0; r < 2; r++) op_append(&ends[r], OP_YIELD, yields[r], count, 0);
    state->builder = outside;
    for (int i = 0; i < count; i++) {
        Value *primal = entry_key(&captured.entries[i]);
        Type type = yields[0][i]->type.rank >= yields[1][i]->type.rank ? yields[0][i]->type
                                                                       : yields[1][i]->type;
        Value *result = op_append_result(state->backward, reversed, type_at_run_time(type));
        if (primal->name) result->name = arena_printf(state->arena, "d%s", primal->name);
        map_set_pointer(&outer->adjoints, primal, result);
    }
}

/* ---- loops ---- */

typedef enum LoopRole {
    ROLE_NONE,       // no gradient passes (integers, inductions, shift-invariant values)
    ROLE_INVARIANT,  // a sum: every iteration sees the adjoint of the result
    ROLE_STATE       // a recurrence: the adjoint is carried backwards, the state is needed
} LoopRole;

typedef struct LoopPlan {
    const Op *loop;
    bool is_while;
    const Carried *carried;  // NULL for `while`
    LoopRole *roles;
    int *carried_position;  // of ROLE_STATE among the reversed loop's carried values
    bool *is_extreme;  // of ROLE_STATE: its last value is all that is needed of it (extremes.h)
    int states;
    bool needs_order;
} LoopPlan;

static LoopPlan loop_plan(Differentiation *state, const Op *loop) {
    LoopPlan plan = {.loop = loop, .is_while = loop->code == OP_WHILE};
    plan.roles = ARENA_ARRAY(state->arena, LoopRole, loop->result_count + 1);
    plan.carried_position = ARENA_ARRAY(state->arena, int, loop->result_count + 1);
    plan.is_extreme = ARENA_ARRAY(state->arena, bool, loop->result_count + 1);
    int ordered = 0;
    const Carried *carried = plan.carried =
        plan.is_while ? NULL : loop_classify(state->arena, loop);
    for (int i = 0; i < loop->result_count; i++) {
        if (!value_is_active(state, loop->results[i])) continue;
        bool sums =
            carried && (carried[i].class == CARRIED_SUM || carried[i].class == CARRIED_UNCHANGED);
        if (sums || (carried && shift_invariant_is_settled(state, loop, carried, i))) {
            plan.roles[i] = ROLE_INVARIANT;
        } else {
            plan.roles[i] = ROLE_STATE;
            plan.carried_position[i] = plan.states++;
            plan.is_extreme[i] = loop_finds_extreme(state, loop, i);
            ordered += !plan.is_extreme[i];
        }
    }
    plan.needs_order =
        ordered > 0 || plan.is_while || map_has_pointer(&state->versions.ordered, loop);
    return plan;
}

static int loop_first(const Op *loop) { return loop->code == OP_WHILE ? 0 : 3; }
static int loop_shift(const Op *loop) { return loop->code == OP_WHILE ? 0 : 1; }
static Region *loop_body(const Op *loop) { return loop->regions[loop->code == OP_WHILE ? 1 : 0]; }

static Value *loop_trips(Differentiation *state, const Op *loop) {
    return build_trip_count(&state->builder, recomputed(state, loop->operands[0]),
                            recomputed(state, loop->operands[1]),
                            recomputed(state, loop->operands[2]));
}

typedef struct StateReadSearch {
    const Op *loop;
    const Value *value;
    int depth;
    bool found;
} StateReadSearch;

/// Whether the body of a loop does more with a value than to carry it on, through branches as well.
static bool visit_read(void *context, Op *op) {
    StateReadSearch *search = context;
    for (int i = 0; i < op->operand_count && !search->found; i++) {
        if (op->operands[i] != search->value) continue;
        const Op *owner = op->parent->parent;
        if (op->code == OP_YIELD && owner == search->loop) continue;
        if (op->code == OP_YIELD && owner->code == OP_IF && search->depth < 32) {
            StateReadSearch further = {search->loop, owner->results[i], search->depth + 1, false};
            region_walk(loop_body(search->loop), visit_read, &further);
            search->found = further.found;
        } else {
            search->found = true;
        }
    }
    return !search->found;
}

/// Whether recomputing the body needs the state at the start of that iteration (and not only its gradient).
static bool any_state_read(const Differentiation *state, const LoopPlan *plan) {
    const Op *loop = plan->loop;
    for (int i = 0; i < loop->result_count; i++) {
        if (map_has_pointer(&state->activity.constant, loop->results[i]) || plan->is_extreme[i])
            continue;
        StateReadSearch search = {.loop = loop,
                                  .value = loop_body(loop)->arguments[i + loop_shift(loop)]};
        region_walk(loop_body(loop), visit_read, &search);
        if (search.found && plan->roles[i] != ROLE_INVARIANT) return true;
    }
    return false;
}

/// The loop variable in iteration `trip`.
static Value *iteration_value(const Differentiation *state, Builder *b, const Op *loop,
                              Value *trip) {
    Value *lower = recomputed(state, loop->operands[0]),
          *step = recomputed(state, loop->operands[2]);
    int64_t number;
    bool by_one = value_is_int(step, &number) && number == 1;
    Value *distance = by_one ? trip : build_binary(b, OP_MUL, trip, step);
    bool from_zero = value_is_int(lower, &number) && number == 0;
    return from_zero ? distance : build_binary(b, OP_ADD, lower, distance);
}

/// Recomputes the carried values as they are at the start of iteration `trip` by running the loop up to there: from its
/// start, or from iteration `from` with the values that a tape has for it.
static void recompute_states(Differentiation *state, const LoopPlan *plan, Value *trip, Value *iv,
                             const TapedLoop *taped, Value *from, Value *const *start) {
    const Op *loop = plan->loop;
    Builder *b = &state->builder;
    OpCode code = plan->is_while ? OP_FOR : loop->code;
    Value *operands[3] = {from ? from : build_int(b, 0), trip, build_int(b, 1)};
    if (!plan->is_while) {
        operands[0] = recomputed(state, loop->operands[0]);
        operands[1] = iv;
        operands[2] = recomputed(state, loop->operands[2]);
        if (from) operands[0] = iteration_value(state, b, loop, from);
    }
    Builder outside = *b;
    Op *prefix = op_append(b, code, operands, 3, 0);
    prefix->range = loop->range;
    Region *body = op_add_region(b, prefix);
    Value *index = region_add_argument(state->backward, body, operands[0]->type, NULL);
    if (!plan->is_while) {
        index->type = iv->type;
        map_set_pointer(&state->values, loop->regions[0]->arguments[0], index);
        index->name = loop->regions[0]->arguments[0]->name;
    } else {
        index->type = trip->type;
    }
    const Region *primal = loop_body(loop);
    for (int i = 0; i < loop->result_count; i++) {
        Value *initial = start ? start[i] : recomputed(state, loop->operands[loop_first(loop) + i]);
        op_append_operand(state->backward, prefix, initial);
        Value *argument = primal->arguments[i + loop_shift(loop)];
        Type type = type_recomputed(state, argument->type);
        map_set_pointer(&state->values, argument,
                        region_add_argument(state->backward, body, type, argument->name));
        Value *result = op_append_result(state->backward, prefix, type);
        result->name = argument->name;
    }
    enter(state, body);
    if (taped) tape_map_steps(state, taped, index);
    recompute_region(state, primal);
    const Op *yield = region_terminator(primal);
    Value **next = ARENA_ARRAY(state->arena, Value *, loop->result_count);
    for (int i = 0; i < loop->result_count; i++) next[i] = recomputed(state, yield->operands[i]);
    op_append(&state->builder, OP_YIELD, next, loop->result_count, 0);
    state->builder = outside;
    for (int i = 0; i < loop->result_count; i++)
        map_set_pointer(&state->values, primal->arguments[i + loop_shift(loop)],
                        prefix->results[i]);
    if (taped) tape_map_steps(state, taped, trip);
}

/// The carried values as they are at the start of iteration `trip`: from the tape where there is one.
static void recall_states(Differentiation *state, const LoopPlan *plan, const TapedLoop *taped,
                          Value *trip, Value *iv) {
    const Op *loop = plan->loop;
    if (!taped) {
        tape_refused(state, loop);
        recompute_states(state, plan, trip, iv, NULL, NULL, NULL);
        return;
    }
    if (!trip)
        trip = iteration_number(&state->builder, iv, recomputed(state, loop->operands[0]),
                                recomputed(state, loop->operands[2]));
    Value **start = ARENA_ARRAY(state->arena, Value *, loop->result_count + 1);
    Value *from = tape_recall(state, taped, trip, start);
    if (from != trip) {
        recompute_states(state, plan, trip, iv, taped, from, start);
        return;
    }
    for (int i = 0; i < loop->result_count; i++)
        map_set_pointer(&state->values, loop_body(loop)->arguments[i + loop_shift(loop)], start[i]);
}

static Value *initial_adjoint(Differentiation *state, Builder *at, const Op *loop, int index) {
    Value *gradient = adjoint_get(state, loop->results[index]);
    if (gradient) return conform(state, at, gradient, loop->results[index]->type);
    return adjoint_zeros(state, at, loop->results[index]->type, loop->range);
}

/// Whether the adjoint of a loop sees the last value of what it carries wherever the forward saw the running one: of a shift-invariant value, and
/// of a running maximum.
static bool is_final(const Differentiation *state, const LoopPlan *plan, int index) {
    return plan->is_extreme[index] ||
           map_has_pointer(&state->activity.constant, plan->loop->results[index]);
}

static void pin_gauges(Differentiation *state, const LoopPlan *plan) {
    const Op *loop = plan->loop;
    const Region *body = loop_body(loop);
    const Op *yield = region_terminator(body);
    for (int i = 0; i < loop->result_count; i++) {
        if (!is_final(state, plan, i)) continue;
        Value *final = recomputed(state, loop->results[i]);
        map_set_pointer(&state->values, body->arguments[i + loop_shift(loop)], final);
        map_set_pointer(&state->values, yield->operands[i], final);
    }
}

/// Whether all that the op makes is pinned: then it is not computed again. A branch may have other results besides.
static bool is_pinned(const Differentiation *state, const LoopPlan *plan, const Op *op) {
    const Op *loop = plan->loop, *yield = region_terminator(loop_body(loop));
    int pinned = 0;
    for (int r = 0; r < op->result_count; r++) {
        bool is_last = false;
        for (int i = 0; i < loop->result_count && !is_last; i++)
            is_last = yield->operands[i] == op->results[r] && is_final(state, plan, i);
        pinned += is_last;
    }
    return pinned > 0 && pinned == op->result_count;
}

/// Carried values that the adjoint never reads: whatever still uses them must be dead, or the kernel is refused.
static void forget_states(Differentiation *state, const Op *loop) {
    const Region *body = loop_body(loop);
    for (int i = 0; i < loop->result_count; i++) {
        Value *argument = body->arguments[i + loop_shift(loop)];
        Op *running = op_append(&state->builder, OP_UNKNOWN, NULL, 0, 1);
        running->note = "a running value of this loop is read where only its last one is known";
        running->range = loop->range;
        running->results[0]->type = type_recomputed(state, argument->type);
        map_set_pointer(&state->values, argument, running->results[0]);
    }
}

static void recompute_body(Differentiation *state, const LoopPlan *plan) {
    pin_gauges(state, plan);
    const Op *loop = plan->loop;
    const Region *body = loop_body(loop);
    const Op *terminator = region_terminator(body);
    for (const Op *op = body->first; op && op != terminator; op = op->next) {
        if (is_pinned(state, plan, op)) continue;
        op_clone(&state->builder, op, &state->values);
        if (op->result_count > 1) pin_gauges(state, plan);  // of a branch, among others
    }
}

/// Sums what the body added to values from outside in carried values of the reversed loop.
static void carry_captured(Differentiation *state, Op *reversed, const Op *loop,
                           AdjointFrame *frame, Builder *before) {
    Op *yield = region_terminator(reversed->regions[0]);
    Builder inside = {.function = state->backward, .region = reversed->regions[0], .before = yield};
    for (int i = 0; i < frame->adjoints.count; i++) {
        Value *primal = entry_key(&frame->adjoints.entries[i]);
        if (is_inside(loop, primal)) continue;
        Value *delta = frame->adjoints.entries[i].value;
        if (delta->op && op_is_pure(delta->op)) delta->name = NULL;  // the running sum has the name
        Value *start = captured_start(state, before, frame->outer, primal);
        Type type = type_at_run_time(start->type);
        Value *argument = region_add_argument(
            state->backward, reversed->regions[0], type,
            primal->name ? arena_printf(state->arena, "d%s", primal->name) : NULL);
        op_append_operand(state->backward, reversed, start);
        op_append_operand(state->backward, yield, build_binary(&inside, OP_ADD, argument, delta));
        Value *result = op_append_result(state->backward, reversed, type);
        result->name = argument->name;
    }
}

static void hand_on_captured(Differentiation *state, Op *reversed, const Op *loop,
                             const AdjointFrame *frame, int first_result) {
    int next = first_result;
    for (int i = 0; i < frame->adjoints.count; i++) {
        Value *primal = entry_key(&frame->adjoints.entries[i]);
        if (is_inside(loop, primal)) continue;
        map_set_pointer(&state->sweep.frame->adjoints, primal, reversed->results[next++]);
    }
}

/// The reversed loop's header: in the forward's order where the order is free, else counted from the end.
static Op *reversed_header(Differentiation *state, const LoopPlan *plan, const TapedLoop *taped,
                           Value **trip, Value **iv) {
    const Op *loop = plan->loop;
    Builder *b = &state->builder;
    OpCode code = plan->is_while ? OP_FOR : loop->code;
    Type counter_type = {.kind = TYPE_NUMBER,
                         .element = dtype_of(DTYPE_INT32),
                         .is_constexpr = code == OP_STATIC_FOR};
    Op *reversed;
    if (!plan->needs_order) {
        Value *operands[3];
        for (int i = 0; i < 3; i++) operands[i] = recomputed(state, loop->operands[i]);
        reversed = op_append(b, code, operands, 3, 0);
        reversed->range = loop->range;
        Region *body = op_add_region(b, reversed);
        const Value *from = loop->regions[0]->arguments[0];
        *iv = region_add_argument(state->backward, body, from->type, from->name);
        *trip = NULL;
        return reversed;
    }
    Value *trips = taped            ? taped->trips
                   : plan->is_while ? while_count(state, loop, b)
                                    : loop_trips(state, loop);
    const Poly *before = poly_constant(state->arena, -1);
    Value *last =
        trips->type.is_constexpr
            ? build_poly(b, poly_add(state->arena, value_poly(state->arena, trips), before))
            : build_binary(b, OP_SUB, trips, build_int(b, 1));
    Value *operands[3] = {build_int(b, 0), trips, build_int(b, 1)};
    reversed = op_append(b, code, operands, 3, 0);
    reversed->range = loop->range;
    Region *body = op_add_region(b, reversed);
    Value *count = region_add_argument(state->backward, body, counter_type, "back");
    Builder inside = {.function = state->backward, .region = body, .range = loop->range};
    *trip = build_binary(&inside, OP_SUB, last, count);
    *iv = NULL;
    if (plan->is_while) (*trip)->name = "iteration";
    if (plan->is_while) return reversed;
    *iv = iteration_value(state, &inside, loop, *trip);
    (*iv)->name = loop->regions[0]->arguments[0]->name;
    return reversed;
}

static void sweep_loop(Differentiation *state, const Op *loop) {
    LoopPlan plan = loop_plan(state, loop);
    bool recalls = any_state_read(state, &plan);
    const TapedLoop *taped = recalls ? tape_keep(state, loop) : NULL;
    Value *trip, *iv;
    Op *reversed = reversed_header(state, &plan, taped, &trip, &iv);
    reversed->note = "back through the loop of line";
    Builder outside = state->builder;
    Builder before = {.function = state->backward,
                      .region = reversed->parent,
                      .before = reversed,
                      .range = loop->range};
    Region *body = reversed->regions[0];
    const Region *from = loop_body(loop);
    const Op *from_yield = region_terminator(from);
    Value **arguments = ARENA_ARRAY(state->arena, Value *, loop->result_count + 1);
    for (int i = 0; i < loop->result_count; i++) {
        if (plan.roles[i] != ROLE_STATE) continue;
        Value *start = initial_adjoint(state, &before, loop, i);
        const char *name = from->arguments[i + loop_shift(loop)]->name;
        op_append_operand(state->backward, reversed, start);
        Type type = type_at_run_time(start->type);
        arguments[i] = region_add_argument(state->backward, body, type,
                                           name ? arena_printf(state->arena, "d%s", name) : NULL);
        op_append_result(state->backward, reversed, type);
    }
    AdjointFrame *outer = state->sweep.frame;
    AdjointFrame frame;
    enter(state, body);
    frame_push(state, &frame);
    if (recalls)
        recall_states(state, &plan, taped, trip, iv ? iv : trip);
    else
        forget_states(state, loop);
    if (!plan.is_while) map_set_pointer(&state->values, loop->regions[0]->arguments[0], iv);
    recompute_body(state, &plan);
    for (int i = 0; i < loop->result_count; i++) {
        if (plan.roles[i] == ROLE_STATE) adjoint_add(state, from_yield->operands[i], arguments[i]);
        Value *whole = map_get_pointer(&outer->adjoints, loop->results[i]);
        if (plan.roles[i] == ROLE_INVARIANT && whole)
            adjoint_add(state, from_yield->operands[i], whole);
    }
    sweep_region(state, from);
    Value **next = ARENA_ARRAY(state->arena, Value *, plan.states + 1);
    for (int i = 0; i < loop->result_count; i++) {
        if (plan.roles[i] != ROLE_STATE) continue;
        Value *argument = from->arguments[i + loop_shift(loop)];
        Value *gradient = adjoint_get(state, argument);
        next[plan.carried_position[i]] =
            gradient ? conform(state, &state->builder, gradient, argument->type)
                     : adjoint_zeros(state, &state->builder, argument->type, loop->range);
    }
    op_append(&state->builder, OP_YIELD, next, plan.states, 0);
    carry_captured(state, reversed, loop, &frame, &before);
    state->builder = outside;
    state->sweep.frame = outer;
    hand_on_captured(state, reversed, loop, &frame, plan.states);
    for (int i = 0; i < loop->result_count; i++) {
        Value *initial = loop->operands[loop_first(loop) + i];
        if (plan.roles[i] == ROLE_STATE)
            adjoint_add(state, initial, reversed->results[plan.carried_position[i]]);
        Value *whole = adjoint_get(state, loop->results[i]);
        bool gauged = plan.carried && shift_invariant_is_settled(state, loop, plan.carried, i);
        if (plan.roles[i] == ROLE_INVARIANT && whole && !gauged) adjoint_add(state, initial, whole);
    }
}

/* ---- the walk ---- */

typedef struct Touch {
    const Differentiation *state;
    bool found;
} Touch;

static bool visit_touch(void *context, Op *op) {
    Touch *touch = context;
    for (int i = 0; i < op->operand_count; i++)
        if (value_is_active(touch->state, op->operands[i])) touch->found = true;
    for (int i = 0; i < op->result_count; i++)
        if (value_is_active(touch->state, op->results[i])) touch->found = true;
    if (op->code == OP_STORE) {
        const Value *root = pointer_root(op->operands[0]);
        if (root && (map_has_pointer(&touch->state->buffers.running, root) ||
                     map_has_pointer(&touch->state->buffers.kept, root)))
            touch->found = true;
    }
    return !touch->found;
}

static bool touches_active(const Differentiation *state, const Op *op) {
    Touch touch = {.state = state};
    for (int r = 0; r < op->region_count && !touch.found; r++)
        region_walk(op->regions[r], visit_touch, &touch);
    return touch.found;
}

static void sweep_op(Differentiation *state, const Op *op) {
    state->builder.range = op->range;
    state->builder.call = op->call;
    switch (op->code) {
    case OP_YIELD:
    case OP_CONDITION: return;
    case OP_IF:
        if (touches_active(state, op)) sweep_if(state, op);
        return;
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE:
        if (touches_active(state, op)) sweep_loop(state, op);
        return;
    default: break;
    }
    Value **gradients = ARENA_ARRAY(state->arena, Value *, op->result_count + 1);
    bool any = false;
    for (int i = 0; i < op->result_count; i++) {
        gradients[i] = map_has_pointer(&state->activity.constant, op->results[i])
                           ? NULL
                           : adjoint_get(state, op->results[i]);
        if (gradients[i]) any = true;
    }
    bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    if (any || writes) adjoint_rule(state, op, gradients);
}

static void sweep_region(Differentiation *state, const Region *region) {
    for (const Op *op = region->last; op && !state->failed; op = op->previous) sweep_op(state, op);
}

void adjoint_sweep(Differentiation *state) {
    AdjointFrame frame;
    state->sweep.frame = NULL;
    frame_push(state, &frame);
    state->builder = (Builder){.function = state->backward, .region = state->backward->body};
    recompute_region(state, state->primal->body);
    loads_fill(state);
    sweep_region(state, state->primal->body);
    scalars_store(state, &frame);
    state->sweep.frame = NULL;
}
