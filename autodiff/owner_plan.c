// Statements that several programs add with in; those that a kernel of owners can sum, and what it has to read from memory, out.
#include "analysis/affine.h"
#include "analysis/infer.h"
#include "autodiff/owners.h"
#include "autodiff/place.h"
#include "autodiff/tape.h"

enum { AXES_MAX = 32 };

static bool is_loop(const Op *op) {
    return op->code == OP_FOR || op->code == OP_STATIC_FOR || op->code == OP_WHILE;
}

/* ---- what values are made of ---- */

typedef struct CapturedWalk {
    const Op *op;
    bool (*visit)(void *context, Value *value);
    void *context;
} CapturedWalk;

static bool is_within(const Op *op, const Value *value) {
    for (int r = 0; r < op->region_count; r++)
        if (region_defines(op->regions[r], value)) return true;
    return false;
}

static bool visit_inner(void *context, Op *op) {
    const CapturedWalk *walk = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !is_within(walk->op, op->operands[i]) &&
            !walk->visit(walk->context, op->operands[i]))
            return false;
    return true;
}

bool op_walk_captured(const Op *op, bool (*visit)(void *context, Value *value), void *context) {
    CapturedWalk walk = {op, visit, context};
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !visit(context, op->operands[i])) return false;
    for (int r = 0; r < op->region_count; r++)
        if (!region_walk(op->regions[r], visit_inner, &walk)) return false;
    return true;
}

static bool is_summed_id(const OwnerPlan *plan, const Op *op) {
    int64_t axis;
    return op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 &&
           axis < PROGRAM_AXES && plan->summed[axis];
}

typedef struct Differing {
    const OwnerPlan *plan;
    Map seen;
} Differing;

static bool visit_alike(void *context, Value *value) {
    Differing *search = context;
    if (value->constant || map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, search);
    if (value->op)
        return !is_summed_id(search->plan, value->op) &&
               op_walk_captured(value->op, visit_alike, search);
    const Op *loop = value->region ? value->region->parent : NULL;
    return !loop || (loop == search->plan->loop && value->index == 0);
}

bool owners_differ(const OwnerPlan *plan, Value *value) {
    Differing search = {plan, map_new(plan->arena)};
    return value && !visit_alike(&search, value);
}

/* ---- one statement ---- */

/// A statement and where its sum would go.
typedef struct Candidate {
    const SharedStatement *shared;
    Op *op;
    Op *loop;
    bool summed[PROGRAM_AXES], is_owned;
} Candidate;

static AxisDependence dependence_on(const Axis *axes, const AxisDependence *dependence, int count,
                                    const Op *loop) {
    for (int i = 0; i < count; i++)
        if (!axes[i].is_program && axes[i].loop == loop) return dependence[i];
    return AXIS_SCATTERED;
}

/// Whether the loops around the statement are one of owners, outside of loops to sum over.
static bool find_loop(Candidate *candidate, const Axis *axes, const AxisDependence *dependence,
                      int count) {
    for (Op *outer = candidate->op->parent->parent; outer; outer = outer->parent->parent) {
        if (outer->code == OP_IF) continue;
        if (outer->code != OP_FOR || candidate->loop) return false;
        AxisDependence on = dependence_on(axes, dependence, count, outer);
        if (on == AXIS_SCATTERED) return false;
        if (on == AXIS_OWNED) candidate->loop = outer;
    }
    return true;
}

static bool find_axes(const Differentiation *state, const FunctionAxes *function,
                      Candidate *candidate) {
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    Access access = access_of(state->arena, candidate->op);
    if (!access.parameter || !access.offset.known || !lanes_are_apart(state->arena, candidate->op))
        return false;
    int count = access_axes(state->arena, function, &access, axes, dependence, AXES_MAX);
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (!axes[i].is_program) continue;
        if (dependence[i] == AXIS_SCATTERED) return false;
        bool is_free = dependence[i] == AXIS_FREE;
        candidate->summed[axes[i].program_axis] = is_free;
        candidate->is_owned |= !is_free;
        any |= is_free;
    }
    return any && find_loop(candidate, axes, dependence, count);
}

/* ---- what it needs ---- */

/// Costs of having a value in the kernel of owners: the rank, plus 1, of the largest tile that is read for it from memory; 0:
/// it is computed from what the forward got.
typedef struct Slice {
    Differentiation *state;
    OwnerPlan *plan;
    const Op *statement;
    WrittenRoots writes;
    Map costs;  // value -> cost plus 1
    Map kept;   // values that are read
    Map taken;
    int cost;
    bool fails;
} Slice;

static int cost_of(Slice *slice, Value *value);

static bool visit_cost(void *context, Value *value) {
    Slice *slice = context;
    int before = slice->cost, cost = cost_of(slice, value);
    slice->cost = cost > before ? cost : before;
    return !slice->fails;
}

static bool is_around(const Op *loop, const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer == loop) return true;
    return false;
}

static bool visit_loop(void *context, Op *op) {
    bool *found = context;
    *found = *found || is_loop(op);
    return !*found;
}

static bool holds_loop(const Op *op) {
    bool found = is_loop(op);
    for (int r = 0; r < op->region_count && !found; r++)
        region_walk(op->regions[r], visit_loop, &found);
    return found;
}

/// Whether each program of the forward can leave the value in memory.
static bool can_be_kept(const Slice *slice, const Value *value) {
    if (!tape_holds(value->type) || value->type.is_constexpr) return false;
    return tape_tile_text(slice->state, value->type) != NULL;
}

static int cost_of_op(Slice *slice, Value *value) {
    const Op *op = value->op;
    bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    bool is_top = op->parent == slice->state->backward->body;
    bool is_in_turn = slice->plan->loop && is_around(slice->plan->loop, op);
    bool has_loop = !is_in_turn && holds_loop(op);
    if (op->code == OP_UNKNOWN || writes || (has_loop && !is_top) ||
        (op->code == OP_LOAD && !load_is_stable(&slice->writes, op))) {
        slice->fails = true;
        return 0;
    }
    int own = value->type.rank + 1, outer = slice->cost;
    slice->cost = 0;
    if (!has_loop) op_walk_captured(op, visit_cost, slice);
    int cost = slice->cost;
    slice->cost = outer;
    if (slice->fails || (!has_loop && (!is_top || cost < own || !can_be_kept(slice, value))))
        return cost;
    slice->fails = slice->fails || !can_be_kept(slice, value);
    map_set_pointer(&slice->kept, value, value);
    return own;
}

static int cost_of(Slice *slice, Value *value) {
    if (!value || value->constant || slice->fails) return 0;
    void *known = map_get_pointer(&slice->costs, value);
    if (known) return (int)(intptr_t)known - 1;
    int cost = 0;
    if (value->op) {
        cost = cost_of_op(slice, value);
    } else if (value->region && value->region->parent) {
        const Op *loop = value->region->parent;  // what a loop around it carries is not there
        slice->fails |= value->index > 0 && is_loop(loop) && is_around(loop, slice->statement);
    }
    map_set_pointer(&slice->costs, value, (void *)(intptr_t)(cost + 1));
    return cost;
}

/// Lists what is read, and of that only what something needs that is computed.
static bool visit_take(void *context, Value *value) {
    Slice *slice = context;
    if (value->constant || map_has_pointer(&slice->taken, value)) return true;
    map_set_pointer(&slice->taken, value, value);
    if (map_has_pointer(&slice->kept, value)) {
        bool is_listed = false;
        for (LIST_EACH(int, i, slice->plan->kept))
            is_listed = is_listed || slice->plan->kept.items[i] == value;
        if (!is_listed) LIST_PUSH(slice->plan->arena, &slice->plan->kept, value);
        return true;
    }
    return !value->op || op_walk_captured(value->op, visit_take, slice);
}

/// What must be there for a statement: its operands, the conditions and the bounds around it.
static bool walk_needs(const Op *statement, bool (*visit)(void *context, Value *value),
                       void *context) {
    for (int i = 0; i < statement->operand_count; i++)
        if (statement->operands[i] && !visit(context, statement->operands[i])) return false;
    for (const Op *outer = statement->parent->parent; outer; outer = outer->parent->parent)
        for (int i = 0; i < (outer->code == OP_FOR ? 3 : 1); i++)
            if (!visit(context, outer->operands[i])) return false;
    return true;
}

/* ---- the loop of owners ---- */

/// Whether a value never gets smaller as the ids along the summed axes grow.
static bool is_growing(const OwnerPlan *plan, Value *value, int depth) {
    if (!owners_differ(plan, value)) return true;
    const Op *op = value->op;
    if (!op || depth > 60) return false;
    Value *const *x = op->operands;
    switch (op->code) {
    case OP_PROGRAM_ID: return true;
    case OP_CAST: return is_growing(plan, x[0], depth + 1);
    case OP_ADD:
    case OP_MINIMUM:
    case OP_MAXIMUM: return is_growing(plan, x[0], depth + 1) && is_growing(plan, x[1], depth + 1);
    case OP_SUB: return is_growing(plan, x[0], depth + 1) && !owners_differ(plan, x[1]);
    case OP_FLOORDIV:
        return is_growing(plan, x[0], depth + 1) && !owners_differ(plan, x[1]) &&
               poly_is_nonnegative(plan->arena, value_poly(plan->arena, x[1]));
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (!owners_differ(plan, x[i]) &&
                poly_is_nonnegative(plan->arena, value_poly(plan->arena, x[i])))
                return is_growing(plan, x[1 - i], depth + 1);
        return false;
    case OP_IF:
        for (int r = 0; r < 2; r++)
            if (!is_growing(plan, region_terminator(op->regions[r])->operands[value->index],
                            depth + 1))
                return false;
        return !owners_differ(plan, x[0]);
    default: return false;
    }
}

/// Whether owners can be counted: the loop starts at one place for all programs, and goes furthest for the last of them.
static bool loop_is_countable(const OwnerPlan *plan) {
    const Op *loop = plan->loop;
    if (!loop) return true;
    return !owners_differ(plan, loop->operands[0]) && !owners_differ(plan, loop->operands[2]) &&
           poly_is_nonnegative(plan->arena, value_poly(plan->arena, loop->operands[2])) &&
           is_growing(plan, loop->operands[1], 0);
}

/* ---- the plan ---- */

/// Whether the branches around a statement are the same for all programs that add with it: owners ask for them.
static bool branches_are_alike(const OwnerPlan *plan, const Op *statement) {
    for (const Op *outer = statement->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_IF && owners_differ(plan, outer->operands[0])) return false;
    return true;
}

static bool is_like(const OwnerPlan *plan, const Candidate *candidate) {
    if (plan->loop != candidate->loop) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (plan->summed[axis] != candidate->summed[axis]) return false;
    return true;
}

/// Adds the statement to the plan where that is possible.
static bool consider(Differentiation *state, OwnerPlan *plan, const FunctionAxes *axes,
                     const SharedStatement *shared) {
    Candidate candidate = {.shared = shared, .op = shared->statement.op};
    if (!find_axes(state, axes, &candidate)) return false;
    OwnerPlan trial = *plan;
    if (plan->statements.count && !is_like(plan, &candidate)) return false;
    trial.loop = candidate.loop;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) trial.summed[axis] = candidate.summed[axis];
    trial.is_sliced = !candidate.loop || !candidate.is_owned;
    const Op *op = candidate.op;
    LIST_PUSH(state->arena, &trial.statements, shared);
    if (!branches_are_alike(&trial, op) || owners_differ(&trial, op->operands[0]) ||
        owners_differ(&trial, op->operands[2]) || !loop_is_countable(&trial))
        return false;
    Slice slice = {.state = state,
                   .plan = &trial,
                   .statement = op,
                   .writes = function_writes(state->backward),
                   .costs = map_new(state->arena),
                   .kept = map_new(state->arena),
                   .taken = map_new(state->arena)};
    int bounds = 0, rank = op->operands[0]->type.rank;
    for (int i = 0; trial.loop && i < 3; i++) bounds += cost_of(&slice, trial.loop->operands[i]);
    bounds += cost_of(&slice, op->operands[0]) + cost_of(&slice, op->operands[2]);
    if (bounds || !walk_needs(op, visit_cost, &slice) || slice.fails) return false;
    // What is read for each program must be no more than it would have added, and less where some are still added.
    int most = trial.loop ? rank + 1 : rank;
    if (rank == 0 || slice.cost > most) return false;
    walk_needs(op, visit_take, &slice);
    *plan = trial;
    return true;
}

OwnerPlans owners_plan(Differentiation *state) {
    OwnerPlans plans = {.count = 0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (state->unread_axes[axis] == GRID_AXIS_SEVERAL) return plans;
    FunctionAxes axes = backward_axes(state);
    for (LIST_EACH(int, i, state->shared)) {
        const SharedStatement *shared = &state->shared.items[i];
        int k = 0;
        while (k < plans.count && !consider(state, &plans.items[k], &axes, shared)) k++;
        if (k < plans.count || k == MOST_OWNER_KERNELS) continue;
        plans.items[k] = (OwnerPlan){.arena = state->arena};
        plans.count += consider(state, &plans.items[k], &axes, shared);
    }
    return plans;
}
