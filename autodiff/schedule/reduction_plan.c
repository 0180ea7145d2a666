// Statements that several programs add with in; those that a gradient-reduction kernel can sum, and what it has to read from memory, out.
#include "autodiff/schedule/reduction_plan.h"

#include <limits.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/joined_lanes.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/schedule/reductions.h"
#include "autodiff/schedule/schedule.h"
#include "autodiff/schedule/summed_programs.h"
#include "autodiff/sharing/numbered.h"
#include "autodiff/sharing/shared_axes.h"
#include "autodiff/tape/tape.h"

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

/* ---- what values are made of ---- */

bool axis_is_summed(const ReductionPlan *plan, int axis) {
    bool any = plan->summed[axis];
    for (int digit = 0; digit < TILE_MOST_DIGITS; digit++)
        any |= plan->summed[summed_axis(axis, digit)];
    return any;
}

/// Whether an id, or the row or column of the tile that it stands for, is another one for programs along summed axes.
static bool is_summed_id(const ReductionPlan *plan, const Value *value) {
    const bool *summed = plan->summed;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++)
            if (value_is_tile_index(value, axis, digit))
                return summed[axis] || summed[summed_axis(axis, digit)];
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (value_is_program_id(value, axis)) return axis_is_summed(plan, axis);
    return false;
}

/// Whether it is what the loop of the forward's programs runs through, or a part of it that never gets smaller.
static bool is_growing_id(const ReductionPlan *plan, const Value *value) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (value_is_tile_index(value, axis, -1))
            return !plan->summed[axis] && !plan->orders->axes[axis].is_rotated;
        if (value_is_program_id(value, axis)) return plan->summed[axis];
    }
    return value_is_program_id(value, -1);
}

typedef struct Differing {
    const ReductionPlan *plan;
    Map seen;
} Differing;

static bool visit_alike(void *context, Value *value) {
    Differing *search = context;
    if (value->constant || map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, search);
    if (value->op && value->op->code == OP_TILE_INDEX) return !is_summed_id(search->plan, value);
    if (value->op && value->op->code == OP_IF) {  // other results may differ
        for (int r = 0; r < 2; r++) {
            const Op *end = region_terminator(value->op->regions[r]);
            if (!visit_alike(search, end->operands[value->index])) return false;
        }
        return visit_alike(search, value->op->operands[0]);
    }
    if (value->op)
        return !is_summed_id(search->plan, value) &&
               op_walk_captured(value->op, visit_alike, search);
    const Op *loop = value->region ? value->region->parent : NULL;
    return !loop || (loop == search->plan->loop && value->index == 0);
}

bool owners_differ(const ReductionPlan *plan, Value *value) {
    Differing search = {plan, map_new(plan->arena)};
    return value && !visit_alike(&search, value);
}

/* ---- one statement ---- */

/// A statement and where its sum would go.
typedef struct Candidate {
    const SharedStatement *shared;
    Op *op;
    Op *loop;
    bool summed[SUMMED_AXES], is_owned;
    bool is_open;  // nobody knows whether programs along some axis share them
    bool
        is_gathered;  // memory says which elements they are: programs share them that read the same
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

/// Rows and columns of the tiles that an axis numbers, or all digits of its ids, are all programs along it.
static void join_tile_axes(const FunctionAxes *function, bool *summed) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        bool *digits = &summed[summed_axis(axis, 0)], all = function->digits[axis] > 0;
        for (int digit = 0; digit < function->digits[axis]; digit++) all &= digits[digit];
        summed[axis] = summed[axis] || all;
        for (int digit = 0; digit < TILE_MOST_DIGITS && summed[axis]; digit++)
            digits[digit] = false;
    }
}

/// Whether a store of the forward tells programs apart that differ by more than what they share elements along.
static bool is_told(const SharedStatement *shared, const Axis *axes,
                    const AxisDependence *dependence, int count) {
    for (int i = 0; i < count; i++) {
        int axis = axes[i].program_axis, digit = axes[i].digit;
        if (!axes[i].is_program || dependence[i] != AXIS_FREE) continue;
        if (!(digit < 0 ? shared->alike.whole[axis] : shared->alike.tiles[axis][digit]))
            return false;
    }
    return shared->told_by != NULL;
}

/// Whether the address, the mask or a branch around a statement is made of an id, by another way than through `stop` (may be NULL).
static bool is_made_of(Arena *arena, const Op *op, const Value *id, const Value *stop) {
    if (!id) return false;
    if (value_depends_on(arena, op->operands[0], id, stop)) return true;
    const Value *mask = access_mask(op);
    if (mask && value_depends_on(arena, mask, id, stop)) return true;
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (value_depends_on(arena, outer->operands[0], id, stop)) return true;
    return false;
}

/// Of an address from memory (`table + index * H + head`): programs whose ids, or digits of these, it is not made of add to the same
/// elements.
static bool find_gathered_axes(const Differentiation *state, const FunctionAxes *function,
                               Candidate *candidate) {
    Arena *arena = state->arena;
    const Op *op = candidate->op;
    bool any = false;
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code != OP_IF) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const Value *id = function->programs[axis];
        Value *const *tiles = function->tiles[axis];
        if (!id) continue;
        const int digits = function->digits[axis];
        bool is_divided = digits > 0;
        bool is_whole = is_made_of(arena, op, id, tiles[0]) && is_made_of(arena, op, id, tiles[1]);
        for (int digit = is_divided ? 0 : AXIS_WHOLE; digit < digits; digit++) {
            bool is_own = is_whole || (is_divided && is_made_of(arena, op, tiles[digit], NULL));
            candidate->summed[summed_axis(axis, digit)] = !is_own;
            candidate->is_owned |= is_own;
            any |= !is_own;
        }
    }
    join_tile_axes(function, candidate->summed);
    candidate->is_gathered = true;
    return any;
}

/// Whether the loops around the statement are one of owners, as find_loop wants them, whatever the flags of the launch are.
static bool find_loop_by_flags(Candidate *candidate) {
    const FlagAxes *by_flags = candidate->shared->by_flags;
    int depth = 0;
    for (Op *outer = candidate->op->parent->parent; outer; outer = outer->parent->parent) {
        if (outer->code == OP_IF) continue;
        bool is_owned = by_flags->loop_is_owned[depth];
        if (outer->code != OP_FOR || candidate->loop || by_flags->loop_is_open[depth] ||
            is_owned == by_flags->loop_is_free[depth])
            return false;
        if (is_owned) candidate->loop = outer;
        depth++;
    }
    return true;
}

/// Which programs share the statement's elements, whatever the flags of the launch are.
static bool find_axes_by_flags(const FunctionAxes *function, Candidate *candidate, bool is_alone) {
    const FlagAxes *by_flags = candidate->shared->by_flags;
    bool any = false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int digit = AXIS_WHOLE; digit < TILE_MOST_DIGITS; digit++) {
            int place = digit == AXIS_WHOLE ? TILE_MOST_DIGITS : digit;
            bool is_free = by_flags->is_free[axis][place];
            bool is_owned = by_flags->is_owned[axis][place];
            if (digit >= function->digits[axis] && (is_free || is_owned)) return false;
            if (is_free && is_owned) return false;
            candidate->summed[summed_axis(axis, digit)] = is_free;
            candidate->is_owned |= is_owned;
            any |= is_free;
        }
    join_tile_axes(function, candidate->summed);
    return any && (!is_alone || find_loop_by_flags(candidate));
}

/// Which programs share the statement's elements; `is_alone`: in one iteration of a loop, which is looked for.
static bool find_axes(const Differentiation *state, const FunctionAxes *function,
                      Candidate *candidate, bool is_alone) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Access access = access_of(state->arena, candidate->op);
    // Shares of all statements, on each side of a flag, would be as large as the largest of them.
    if (candidate->shared->by_flags && (is_alone || !candidate->shared->is_one_of_several))
        return find_axes_by_flags(function, candidate, is_alone);
    if (access.parameter && !access.offset.known && is_alone)
        return find_gathered_axes(state, function, candidate);
    if (!access.parameter || !access.offset.known || !lanes_are_apart(state->arena, candidate->op))
        return false;
    int count = access_axes(state->arena, function, &access, axes, dependence, ACCESS_MOST_AXES);
    bool any = false, told = is_told(candidate->shared, axes, dependence, count);
    for (int i = 0; i < count; i++) {
        if (!axes[i].is_program) continue;
        bool is_open = dependence[i] == AXIS_SCATTERED && !told;
        if (is_open && is_alone) return false;
        candidate->is_open |= is_open;
        bool is_free = dependence[i] == AXIS_FREE;
        candidate->summed[summed_axis(axes[i].program_axis, axes[i].digit)] = is_free;
        candidate->is_owned |= !is_free;
        any |= is_free;
    }
    join_tile_axes(function, candidate->summed);
    return any && (!is_alone || find_loop(candidate, axes, dependence, count));
}

/* ---- what it needs ---- */

/// Costs of having a value in the gradient-reduction kernel: the rank, plus 1, of the largest tile that is read for it from memory; 0:
/// it is computed from what the forward got.
typedef struct Slice {
    Differentiation *state;
    ReductionPlan *plan;
    const Op *statement;
    WrittenRoots writes;
    Map costs;  // value -> cost plus 1
    Map saved;  // values that are read
    Map taken;
    Map loads;  // that the statement needs, those left out that only a sum along an axis needs
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

static bool visit_stable(void *context, Op *op) {
    const Slice *slice = context;
    return op->code != OP_LOAD || load_is_stable(&slice->writes, op);
}

/// Whether what the op reads, also in its branches, is there in a later kernel too: nothing of the backward writes to it.
static bool reads_stay(Slice *slice, Op *op) {
    bool stay = visit_stable(slice, op);
    for (int r = 0; r < op->region_count && stay; r++)
        stay = region_walk(op->regions[r], visit_stable, slice);
    return stay;
}

/// Whether each program of the forward sums tiles up to the value, at its top.
static bool is_row_sum(const Slice *slice, const Op *op) {
    return op->parent == slice->state->backward->body && op->result_count == 1 &&
           op_rows[op->code].shape == SHAPE_REDUCED;
}

static bool visit_load(void *context, Value *value) {
    Slice *slice = context;
    if (!value->op || value->constant || map_has_pointer(&slice->loads, value)) return true;
    if (is_row_sum(slice, value->op)) return true;
    map_set_pointer(&slice->loads, value, value);
    return op_walk_captured(value->op, visit_load, slice);
}

typedef struct OwnLoads {
    const Slice *slice;
    Map seen;
    int rank;
    bool found;
} OwnLoads;

static bool visit_own_load(void *context, Value *value) {
    OwnLoads *own = context;
    if (!value->op || value->constant || map_has_pointer(&own->seen, value)) return true;
    map_set_pointer(&own->seen, value, value);
    if (map_has_pointer(&own->slice->loads, value)) return true;
    if (value->op->code == OP_LOAD && value->type.rank > own->rank) own->found = true;
    return !own->found && op_walk_captured(value->op, visit_own_load, own);
}

/// Whether tiles are read for nothing but this sum of their rows, which each iteration of an owner would sum up once more: then the
/// program that has it leaves it in memory.
static bool sums_tiles_of_its_own(const Slice *slice, const Op *op) {
    if (!slice->plan->loop || !is_row_sum(slice, op)) return false;
    OwnLoads own = {
        .slice = slice, .seen = map_new(slice->plan->arena), .rank = op->results[0]->type.rank};
    op_walk_captured(op, visit_own_load, &own);
    return own.found;
}

/// Whether each program computes it once at most: a branch, or an early return, leaves it out for those that leave out all that reads it.
static bool is_computed_once(const Op *op) {
    for (op = op->parent->parent; op; op = op->parent->parent)
        if (op->code != OP_IF) return false;
    return true;
}

static int cost_of_op(Slice *slice, Value *value) {
    Op *op = value->op;
    bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    bool is_once = is_computed_once(op);
    bool is_in_iteration = slice->plan->loop && is_around(slice->plan->loop, op);
    bool has_loop = !is_in_iteration && holds_loop(op);
    if (op->code == OP_UNKNOWN || writes || (has_loop && !is_once) || !reads_stay(slice, op)) {
        slice->fails = true;
        return 0;
    }
    int own = value->type.rank + 1, outer = slice->cost;
    slice->cost = 0;
    if (!has_loop) op_walk_captured(op, visit_cost, slice);
    int cost = slice->cost;
    slice->cost = outer;
    bool is_dear = cost >= own || (!slice->fails && sums_tiles_of_its_own(slice, op));
    if (slice->fails || (!has_loop && (!is_once || !is_dear || !can_be_kept(slice, value))))
        return cost;
    slice->fails = slice->fails || !can_be_kept(slice, value);
    map_set_pointer(&slice->saved, value, value);
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
    if (map_has_pointer(&slice->saved, value)) {
        bool is_listed = false;
        for (LIST_EACH(int, i, slice->plan->saved))
            is_listed = is_listed || slice->plan->saved.items[i] == value;
        if (!is_listed) LIST_PUSH(slice->plan->arena, &slice->plan->saved, value);
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

/// Also where all programs have the same.
static bool grows(ValueWalk *walk, Value *value) {
    return !owners_differ(walk->context, value) || walk_ask(walk, value);
}

/// Whether a value never gets smaller as the ids along the summed axes grow. Numbers that wrap around are left out: they would be bounds
/// of the forward's own loop.
static intptr_t is_growing(ValueWalk *walk, const Value *value) {
    const ReductionPlan *plan = walk->context;
    const Op *op = value->op;
    if (!op) return false;
    Value *const *x = op->operands;
    switch (op->code) {
    case OP_PROGRAM_ID:
    case OP_TILE_INDEX: return is_growing_id(plan, value);
    case OP_CAST: return grows(walk, x[0]);
    case OP_ADD:
    case OP_MINIMUM:
    case OP_MAXIMUM: return grows(walk, x[0]) && grows(walk, x[1]);
    case OP_SUB: return grows(walk, x[0]) && !owners_differ(plan, x[1]);
    case OP_FLOORDIV:
        return grows(walk, x[0]) && !owners_differ(plan, x[1]) &&
               poly_is_nonnegative(plan->arena, value_poly(plan->arena, x[1]));
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (!owners_differ(plan, x[i]) &&
                poly_is_nonnegative(plan->arena, value_poly(plan->arena, x[i])))
                return grows(walk, x[1 - i]);
        return false;
    case OP_IF:
        for (int r = 0; r < 2; r++)
            if (!grows(walk, region_terminator(op->regions[r])->operands[value->index]))
                return false;
        return !owners_differ(plan, x[0]);
    default: return false;
    }
}

/// Whether owners can be counted: the loop starts at one place for all programs, and goes furthest for the last of them.
static bool loop_is_countable(const ReductionPlan *plan) {
    const Op *loop = plan->loop;
    if (!loop) return true;
    return !owners_differ(plan, loop->operands[0]) && !owners_differ(plan, loop->operands[2]) &&
           poly_is_nonnegative(plan->arena, value_poly(plan->arena, loop->operands[2])) &&
           (!owners_differ(plan, loop->operands[1]) ||
            walk_from(loop->operands[1], is_growing, false, plan));
}

typedef struct GuardedReads {
    Map seen;
    const Op *loop;
    bool found;
} GuardedReads;

static bool visit_guarded_read(void *context, Value *value) {
    GuardedReads *reads = context;
    const Op *op = value->op;
    if (!op || value->constant || map_has_pointer(&reads->seen, value)) return true;
    map_set_pointer(&reads->seen, value, value);
    for (const Region *region = reads->loop->parent; op->code == OP_LOAD && region->parent;
         region = region->parent->parent)
        reads->found |= op->parent == region;
    return !reads->found && op_walk_captured(op, visit_guarded_read, reads);
}

/// Whether the bounds of the loop of owners can be computed in front of the branches around it: they ask for nothing that a program reads
/// behind such a branch alone, of memory that may not be there otherwise.
static bool bounds_are_at_hand(const ReductionPlan *plan) {
    GuardedReads reads = {.seen = map_new(plan->arena), .loop = plan->loop};
    for (int i = 0; plan->loop && i < 3; i++) visit_guarded_read(&reads, plan->loop->operands[i]);
    return !reads.found;
}

/* ---- the plan ---- */

/// Whether the branches around a statement are the same for all programs that add with it: owners ask for them.
static bool branches_are_alike(const ReductionPlan *plan, const Op *statement) {
    for (const Op *outer = statement->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_IF && owners_differ(plan, outer->operands[0])) return false;
    return true;
}

static bool is_like(const ReductionPlan *plan, const Candidate *candidate) {
    if (plan->loop != candidate->loop) return false;
    for (int axis = 0; axis < SUMMED_AXES; axis++)
        if (plan->summed[axis] != candidate->summed[axis]) return false;
    return true;
}

/// Whether a kernel of its own can have what the statement adds at no more than that costs. Then the plan says what it reads.
static bool can_stand_apart(Differentiation *state, ReductionPlan *plan,
                            const SharedStatement *shared) {
    const Op *op = shared->statement.op;
    Slice slice = {.state = state,
                   .plan = plan,
                   .statement = op,
                   .writes = function_writes(state->backward),
                   .costs = map_new(state->arena),
                   .saved = map_new(state->arena),
                   .taken = map_new(state->arena),
                   .loads = map_new(state->arena)};
    walk_needs(op, visit_load, &slice);
    int bounds = 0, rank = op->operands[0]->type.rank;
    for (int i = 0; plan->loop && i < 3; i++) bounds += cost_of(&slice, plan->loop->operands[i]);
    bounds += cost_of(&slice, op->operands[0]) + cost_of(&slice, op->operands[2]);
    if (bounds || !walk_needs(op, visit_cost, &slice) || slice.fails) return false;
    // What is read for each program must be no more than it would have added, and less where some are still added.
    bool may_read_as_much = plan->loop || shared->is_one_of_several || plan->is_gathered;
    int most = may_read_as_much ? rank + 1 : rank;
    if (slice.cost > most) return false;
    walk_needs(op, visit_take, &slice);
    return true;
}

/// Whether the plan sums another statement of the same gradient: one kernel would store to elements twice.
static bool has_gradient(const ReductionPlan *plan, const SharedStatement *shared) {
    for (LIST_EACH(int, i, plan->statements))
        if (plan->statements.items[i]->gradient == shared->gradient) return true;
    return false;
}

/// A program with loops or products is busy by itself: fewer of them, one after the other, would leave a part of the GPU idle.
static bool visit_busy(void *context, Op *op) {
    bool *is_busy = context;
    *is_busy = *is_busy || op_is_product(op->code) || op_is_loop(op->code);
    return !*is_busy;
}

/// Whether slices have room for what all statements of a gradient add (reductions_keep_shares). Of a kernel of its own, with nothing but
/// programs to sum over, one program would do all of it, one after the other.
static bool fits_slices(const Differentiation *state, const SharedStatement *shared) {
    bool is_busy = false;
    region_walk(state->backward->body, visit_busy, &is_busy);
    return !is_busy && !shared->meets && statement_ends_rows(state->arena, shared);
}

/// Adds the statement to the plan where that is possible.
static bool consider(Differentiation *state, ReductionPlan *plan, const FunctionAxes *axes,
                     SharedStatement *shared, bool is_apart) {
    Candidate candidate = {.shared = shared, .op = shared->statement.op};
    if (!find_axes(state, axes, &candidate, true)) return false;
    ReductionPlan trial = *plan;
    if (plan->statements.count && (!is_like(plan, &candidate) || has_gradient(plan, shared)))
        return false;
    trial.loop = candidate.loop;
    for (int axis = 0; axis < SUMMED_AXES; axis++) trial.summed[axis] = candidate.summed[axis];
    trial.is_sliced = !candidate.loop || !candidate.is_owned;
    trial.is_gathered |= candidate.is_gathered;
    if (candidate.is_gathered && (shared->is_one_of_several || !is_apart)) return false;
    if (shared->is_one_of_several && !candidate.is_owned) return false;
    if (shared->is_one_of_several && !candidate.loop && fits_slices(state, shared)) return false;
    if (shared->is_one_of_several) trial.is_sliced = false;
    const Op *op = candidate.op;
    LIST_PUSH(state->arena, &trial.statements, shared);
    // An owner asks each program whether it comes there. Where programs share one sum in slices, each keeps what it adds apart.
    bool may_ask = is_apart && !trial.is_sliced;
    if ((!may_ask && !branches_are_alike(&trial, op)) || owners_differ(&trial, op->operands[0]) ||
        owners_differ(&trial, op->operands[2]) || !loop_is_countable(&trial) ||
        !bounds_are_at_hand(&trial))
        return false;
    if (op->operands[0]->type.rank == 0) return false;
    if (is_apart ? !can_stand_apart(state, &trial, shared) : trial.loop != NULL) return false;
    *plan = trial;
    return true;
}

/// Puts the statement into the first plan that can have it, or into one of its own.
static void plan_statement(Differentiation *state, const TileOrders *orders,
                           const FunctionAxes *axes, SharedStatement *shared, bool is_apart,
                           ReductionPlans *plans) {
    int k = 0;
    while (k < plans->count && !consider(state, &plans->items[k], axes, shared, is_apart)) k++;
    if (k < plans->count || k == BACKWARD_MOST_REDUCTIONS) return;
    plans->items[k] = (ReductionPlan){.arena = state->arena, .orders = orders};
    plans->count += consider(state, &plans->items[k], axes, shared, is_apart);
}

static ReductionPlans plan_statements(Differentiation *state, const TileOrders *orders,
                                      bool is_apart) {
    ReductionPlans plans = {.count = 0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL) return plans;
    FunctionAxes axes = backward_axes(state);
    for (LIST_EACH(int, i, state->parts.shared))
        plan_statement(state, orders, &axes, &state->parts.shared.items[i], is_apart, &plans);
    for (LIST_EACH(int, i, state->parts.several))
        if (is_apart && !state->parts.several.items[i].has_to_stay)
            plan_statement(state, orders, &axes, &state->parts.several.items[i], true, &plans);
    return plans;
}

static bool plan_has(const ReductionPlan *plan, const SharedStatement *shared) {
    for (LIST_EACH(int, i, plan->statements))
        if (plan->statements.items[i] == shared) return true;
    return false;
}

static bool is_planned(const ReductionPlans *plans, const SharedStatement *shared) {
    for (int p = 0; p < plans->count; p++)
        if (plan_has(&plans->items[p], shared)) return true;
    return false;
}

/// Leaves all statements of a gradient where one of them has to be: it would need atomics, and the others as well be there. False where
/// all of each gradient are planned.
static bool leave_parts(Differentiation *state, const ReductionPlans *plans) {
    bool any = false;
    SharedStatement *several = state->parts.several.items;
    for (int i = 0; i < state->parts.several.count; i++) {
        if (is_planned(plans, &several[i])) continue;
        for (int k = 0; k < state->parts.several.count; k++) {
            if (several[k].gradient != several[i].gradient) continue;
            any = any || !several[k].has_to_stay;
            several[k].has_to_stay = true;
        }
    }
    return any;
}

ReductionPlans reductions_plan(Differentiation *state, const TileOrders *orders) {
    ReductionPlans plans = plan_statements(state, orders, true);
    while (leave_parts(state, &plans)) plans = plan_statements(state, orders, true);
    return plans;
}

/// A loop around products.
static bool visit_busy_loop(void *context, Op *op) {
    bool *is_busy = context;
    for (const Op *outer = op->parent->parent; outer && op_is_product(op->code);
         outer = outer->parent->parent)
        *is_busy = *is_busy || op_is_loop(outer->code);
    return !*is_busy;
}

typedef struct OtherAdditions {
    const ReductionPlan *plan;
    bool any;
} OtherAdditions;

static bool visit_addition(void *context, Op *op) {
    OtherAdditions *others = context;
    bool is_summed = op->code != OP_ATOMIC_ADD;
    for (LIST_EACH(int, i, others->plan->statements))
        is_summed = is_summed || others->plan->statements.items[i]->statement.op == op;
    others->any = others->any || !is_summed;
    return !others->any;
}

/// Whether atomics would be left for each program that the pass goes through: it would have fewer programs to hide them behind.
static bool leaves_atomics(const Differentiation *state, const ReductionPlan *plan) {
    OtherAdditions others = {.plan = plan};
    region_walk(state->backward->body, visit_addition, &others);
    return others.any;
}

/* ---- shares ---- */

bool statement_differs(const ReductionPlan *plan, const Op *statement) {
    return !branches_are_alike(plan, statement) || owners_differ(plan, statement->operands[0]) ||
           owners_differ(plan, statement->operands[2]);
}

/// Axes along which a tile has more than one element.
static int axes_of_tile(Type type) {
    int count = 0;
    for (int i = 0; i < type.rank; i++) {
        int64_t size;
        count += !type.dims[i] || !poly_is_constant(type.dims[i], &size) || size != 1;
    }
    return count;
}

typedef struct LargerReads {
    Map seen;
    int axes;  // of what the program adds
    bool found;
} LargerReads;

/// Whether a value is made of loads of more, or by a loop.
static bool visit_read(void *context, Value *value) {
    LargerReads *search = context;
    if (!value->op || value->constant || map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, value);
    const Op *op = value->op;
    search->found = op_is_loop(op->code) ||
                    (op->code == OP_LOAD && axes_of_tile(value->type) > search->axes) ||
                    (op_is_product(op->code) && axes_of_tile(value->type) > search->axes);
    return !search->found && op_walk_captured(op, visit_read, search);
}

static bool adds_less_than_it_reads(Arena *arena, const Op *statement) {
    Type type = statement->operands[0]->type;
    LargerReads search = {.seen = map_new(arena), .axes = axes_of_tile(type)};
    if (type.rank == 0) return true;
    visit_read(&search, statement->operands[1]);
    return search.found;
}

typedef struct RowsFromMemory {
    Map seen;
    const Op *loop;  // NULL: a number from anywhere counts
    bool found;
} RowsFromMemory;

/// Whether an address takes a number from memory, anew in each iteration of the loop.
static bool visit_address(void *context, Value *value) {
    RowsFromMemory *search = context;
    if (!value->op || value->constant || map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, value);
    search->found =
        value->op->code == OP_LOAD && (!search->loop || op_is_within(value->op, search->loop));
    return !search->found && op_walk_captured(value->op, visit_address, search);
}

/// Whether iterations of a program scatter: a share of one's own would be as large as the tensor, and wait for memory each time.
static bool scatters_in_loop(Arena *arena, const Op *statement) {
    const Op *loop = statement->parent->parent;
    RowsFromMemory search = {.seen = map_new(arena), .loop = loop};
    return loop && op_is_loop(loop->code) && !visit_address(&search, statement->operands[0]) &&
           search.found;
}

/// Whether a loop goes through what memory says, and adds to another element each time: a share of one's own would be as large as the tensor,
/// for the few elements that a program has.
static bool goes_through_memory(Arena *arena, const Op *statement) {
    for (const Op *loop = statement->parent->parent; loop; loop = loop->parent->parent) {
        if (loop->code != OP_FOR) continue;
        RowsFromMemory bounds = {.seen = map_new(arena)};
        for (int i = 0; i < 2 && !bounds.found; i++) visit_address(&bounds, loop->operands[i]);
        if (bounds.found &&
            value_depends_on(arena, statement->operands[0], loop->regions[0]->arguments[0], NULL))
            return true;
    }
    return false;
}

/// Whether the sum is over all programs: nothing tells two of them apart.
static bool sums_all_programs(const FunctionAxes *axes, const Candidate *candidate) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (axes->programs[axis] && !candidate->summed[summed_axis(axis, AXIS_WHOLE)]) return false;
    return true;
}

/// Axes of the grid along which programs keep what they add apart: all of them, where `all`.
static bool find_kept_axes(Differentiation *state, const FunctionAxes *axes,
                           const SharedStatement *shared, bool all, bool *summed, bool *is_owned,
                           bool *is_large) {
    Op *op = shared->statement.op;
    Candidate candidate = {.shared = shared, .op = op};
    if (!shared->gradient->is_atomic || scatters_in_loop(state->arena, op)) return false;
    if (shared->is_of_program && !all) {
        candidate.is_owned = true;
    } else if (!find_axes(state, axes, &candidate, false)) {
        if (!all || !lanes_have_numbers(op)) return false;
        candidate.is_open = true;
    }
    if (sums_all_programs(axes, &candidate) && goes_through_memory(state->arena, op)) return false;
    // Shares of what is as large as all that is read take much memory. Of few of them few programs do the work, which loops and
    // products keep busy: they get more room.
    bool is_dear = !adds_less_than_it_reads(state->arena, op), is_busy = false;
    region_walk(state->backward->body, visit_busy, &is_busy);
    if (is_dear && all) return false;
    *is_large |= is_dear && is_busy;
    // Lanes behind the end of a row may be those of another program that stores to the same slice.
    bool may_overrun = candidate.is_owned && op->operands[0]->type.rank > 0 &&
                       !statement_ends_rows(state->arena, shared);
    if ((may_overrun || candidate.is_open) && !all) return false;
    *is_owned |= candidate.is_owned;
    for (int axis = 0; axis < SUMMED_AXES; axis++) summed[axis] |= candidate.summed[axis];
    for (int axis = 0; axis < PROGRAM_AXES && all; axis++)
        summed[axis] |= axes->programs[axis] != NULL;
    return true;
}

/// Whether programs that have another share own elements apart from each other, also with two of the statements.
static bool owners_are_apart(Differentiation *state, const TileOrders *orders, FunctionAxes axes,
                             const SharedStatement *shared, int count, const bool *summed) {
    Value *numbers[SUMMED_AXES];
    int number_count = 0;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int digit = AXIS_WHOLE; digit < TILE_MOST_DIGITS; digit++) {
            if (!summed[summed_axis(axis, digit)]) continue;
            Value **number = digit < 0 ? &axes.programs[axis] : &axes.tiles[axis][digit];
            if (!*number && digit >= 0)
                *number = tile_order_number(state->backward, &orders->axes[axis], axis, digit);
            if (!(numbers[number_count++] = *number)) return false;
        }
    return numbered_are_apart(state, &axes, shared, count, numbers, number_count,
                              part_stride(state, shared->statement.gradient));
}

/// Adds the statements of one gradient to the plan, all or none. `looks`: as far as is seen without a change of the backward.
static void keep_shares_of(Differentiation *state, const TileOrders *orders,
                           const FunctionAxes *axes, SharedStatement *shared, int count, bool all,
                           bool looks, ReductionPlan *plan) {
    bool summed[SUMMED_AXES] = {false}, is_owned = false, is_large = false;
    for (int i = 0; i < count; i++)
        if (shared[i].is_moved) return;
    for (int i = 0; i < count; i++)
        if (!find_kept_axes(state, axes, &shared[i], all, summed, &is_owned, &is_large)) return;
    if (is_owned && !all && count > 1 && !looks &&
        !owners_are_apart(state, orders, *axes, shared, count, summed))
        return;
    for (int axis = 0; axis < SUMMED_AXES; axis++) plan->summed[axis] |= summed[axis];
    join_tile_axes(axes, plan->summed);
    plan->is_large |= is_large;
    for (int i = 0; i < count; i++) LIST_PUSH(state->arena, &plan->statements, &shared[i]);
}

/// Whether programs are along one axis of the grid, and busy with products in loops: so few that each may have a slice of all.
static bool has_few_programs(const Differentiation *state, const FunctionAxes *axes) {
    int count = 0;
    bool is_busy = false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) count += axes->programs[axis] != NULL;
    region_walk(state->backward->body, visit_busy_loop, &is_busy);
    return count == 1 && is_busy;
}

/// `looks`: what there may be at best, and nothing is changed for it.
static bool plan_shares(Differentiation *state, const TileOrders *orders, bool all, bool looks,
                        ReductionPlan *plan) {
    *plan =
        (ReductionPlan){.arena = state->arena, .orders = orders, .is_sliced = true, .is_own = true};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL) return false;
    FunctionAxes axes = backward_axes(state);
    if (all && !has_few_programs(state, &axes)) return false;
    for (LIST_EACH(int, i, state->parts.shared))
        keep_shares_of(state, orders, &axes, &state->parts.shared.items[i], 1, all, looks, plan);
    SharedStatement *several = state->parts.several.items;
    for (int i = 0, count; i < state->parts.several.count; i += count) {
        for (count = 1; i + count < state->parts.several.count; count++)
            if (several[i + count].gradient != several[i].gradient) break;
        keep_shares_of(state, orders, &axes, &several[i], count, all, looks, plan);
    }
    bool any = false;
    for (int axis = 0; axis < SUMMED_AXES; axis++) any |= plan->summed[axis];
    return plan->statements.count > 0 && any;
}

/// How many gradients need atomics beside those that the plan's statements are for, whose statements are all in it.
static int atomics_beside(const Differentiation *state, const ReductionPlan *plan) {
    int count = 0;
    for (int i = 0; i < state->result->gradient_count; i++)
        count += state->result->gradients[i].is_atomic;
    for (LIST_EACH(int, i, plan->statements)) {
        bool is_first = true;
        for (int k = 0; k < i; k++)
            is_first = is_first &&
                       plan->statements.items[k]->gradient != plan->statements.items[i]->gradient;
        count -= is_first;
    }
    return count;
}

bool reductions_keep_shares(Differentiation *state, const TileOrders *orders, ReductionPlan *plan) {
    const BackwardPart *part = &state->parts.part;
    return plan_shares(state, orders, part->keeps_all, false, plan) &&
           atomics_beside(state, plan) <= part->most_atomics;
}

int reductions_beside_shares(Differentiation *state, const TileOrders *orders, bool all) {
    ReductionPlan plan;
    return plan_shares(state, orders, all, true, &plan) ? atomics_beside(state, &plan) : INT_MAX;
}

bool reductions_fit_one_pass(Differentiation *state, const TileOrders *orders,
                             const ReductionPlans *apart, ReductionPlan *plan) {
    bool is_busy = false;
    region_walk(state->backward->body, visit_busy, &is_busy);
    if (is_busy) return false;
    ReductionPlans plans = plan_statements(state, orders, false);
    *plan = plans.items[0];
    bool is_all = plans.count == 1;
    for (int p = 0; p < apart->count; p++)
        for (LIST_EACH(int, i, apart->items[p].statements))
            is_all = is_all && plan_has(plan, apart->items[p].statements.items[i]);
    return is_all && !leaves_atomics(state, plan);
}
