// A backward and the statements that are to move in; out either the kernel that sums what these add, whose programs share the
// owners of the elements and loop over the programs of the forward, or the rest of the backward, or one kernel that does both.
#include "autodiff/schedule/reduction_kernel.h"

#include "autodiff/schedule/reductions.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/joined_lanes.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/schedule/flat_kernel.h"
#include "autodiff/schedule/reduction_plan.h"
#include "autodiff/schedule/stages.h"
#include "autodiff/schedule/summed_programs.h"
#include "autodiff/sharing/shared_axes.h"
#include "autodiff/sharing/sharing.h"
#include "autodiff/state/names.h"
#include "autodiff/tape/tape.h"

/// Of a sum that owners are too few for: so many programs take a share of it each, where they add it to what others have. Measured in
/// docs/gpu.md.
static const char most_slices[] = "512";

/* ---- what comes from memory ---- */

static Builder behind(Differentiation *state, const Op *op) {
    return (Builder){
        .function = state->backward, .region = op->parent, .before = op->next, .range = op->range};
}

/// What gradient-reduction kernels read of each program of the forward, each value once: in the same order in all parts, as their names
/// are made in it.
typedef LIST(Value *) Values;

static Values kept_by(const ReductionPlans *plans) {
    Values all = {0};
    for (int p = 0; p < plans->count; p++)
        for (LIST_EACH(int, i, plans->items[p].saved)) {
            Value *value = plans->items[p].saved.items[i];
            bool is_listed = false;
            for (LIST_EACH(int, k, all)) is_listed = is_listed || all.items[k] == value;
            if (!is_listed) LIST_PUSH(plans->items[p].arena, &all, value);
        }
    return all;
}

/// Reads each saved value where it was computed.
static void read_saved(Differentiation *state, const ReductionPlans *plans) {
    Values all = kept_by(plans);
    for (LIST_EACH(int, i, all)) {
        Value *value = all.items[i], *address;
        Builder b = behind(state, value->op);
        const Tape *tape = tape_of_value(state, &b, value, &address);
        Value *saved = tape_read(&b, tape, address, value->type.element);
        region_replace_uses(state->backward->body, value, saved);
        saved->name = value->name;
    }
}

static bool plan_keeps(const ReductionPlan *plan, const Value *value) {
    for (LIST_EACH(int, i, plan->saved))
        if (plan->saved.items[i] == value) return true;
    return false;
}

/// Whether a statement of the gradient stays.
static bool is_left(const Differentiation *state, const Gradient *gradient) {
    for (LIST_EACH(int, i, state->parts.several)) {
        const SharedStatement *shared = &state->parts.several.items[i];
        if (shared->gradient == gradient && !shared->is_moved) return true;
    }
    return false;
}

static void reductions_leave(Differentiation *state, const ReductionPlans *plans,
                             const bool *moved) {
    Values all = kept_by(plans);
    for (LIST_EACH(int, i, all)) {
        Value *value = all.items[i], *address;
        Builder b = behind(state, value->op);
        tape_of_value(state, &b, value, &address);
        bool is_read = false;
        for (int p = 0; p < plans->count; p++)
            is_read = is_read || (moved[p] && plan_keeps(&plans->items[p], value));
        if (is_read) build(&b, OP_STORE, (Value *[]){address, value}, 2);
    }
    for (int p = 0; p < plans->count; p++)
        for (int i = 0; moved[p] && i < plans->items[p].statements.count; i++)
            plans->items[p].statements.items[i]->is_moved = true;
    for (int p = 0; p < plans->count; p++)
        for (int i = 0; moved[p] && i < plans->items[p].statements.count; i++) {
            const SharedStatement *shared = plans->items[p].statements.items[i];
            op_remove(shared->statement.op);
            if (is_left(state, shared->gradient)) continue;
            *shared->gradient =
                (Gradient){.input = shared->gradient->input, .range = shared->gradient->range};
        }
}

/* ---- what is left ---- */

static bool region_holds(const Region *region, const Op *op) {
    for (const Region *outer = op->parent; outer; outer = outer->parent->parent) {
        if (outer == region) return true;
        if (!outer->parent) return false;
    }
    return false;
}

static bool is_moved(const ReductionPlan *plan, const Op *op) {
    for (LIST_EACH(int, i, plan->statements))
        if (plan->statements.items[i]->statement.op == op) return true;
    return false;
}

/// Leaves of all that the backward does the plan's statements.
static void drop_others(const ReductionPlan *plan, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) drop_others(plan, op->regions[i]);
        int effects = op_rows[op->code].effects;
        bool acts = effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
        if (acts && !is_moved(plan, op)) op_remove(op);
    }
}

typedef struct LoopSearch {
    const ReductionPlan *plan;
    bool is_other;  // one that is not around the statements, or carries something
} LoopSearch;

static bool visit_loop(void *context, Op *op) {
    LoopSearch *search = context;
    if (!op_is_loop(op->code)) return true;
    bool is_around = false;
    for (LIST_EACH(int, i, search->plan->statements)) {
        const Op *statement = search->plan->statements.items[i]->statement.op;
        is_around = is_around || region_holds(op->regions[0], statement);
    }
    bool is_in_iteration = search->plan->loop && region_holds(search->plan->loop->regions[0], op);
    search->is_other |= is_around ? op->result_count > 0 : !is_in_iteration;
    return !search->is_other;
}

/* ---- the new nest ---- */

/// What follows stands below `if condition`.
static void open_if(Builder *b, Value *condition) {
    Op *branch = op_append(b, OP_IF, &condition, 1, 0);
    for (int side = 0; side < 2; side++) {
        Region *region = op_add_region(b, branch);
        op_append(&(Builder){.function = b->function, .region = region}, OP_YIELD, NULL, 0, 0);
    }
    b->region = branch->regions[0];
    b->before = b->region->first;
}

typedef struct Nest {
    Differentiation *state;
    const ReductionPlan *plan;
    const SummedPrograms *summed;
    const Op *
        id;  // of the axis that the first program with the owner's iteration is known along, or NULL
    bool is_guarded;  // not all programs of their loop have the owner's iteration
    const Op *guard;  // the branch that asks whether a program has the iteration; or NULL
    Op *programs;     // the loop of programs
    Op *innermost;  // the same, or the one in it along a single axis, from the first program with the iteration on
    Value *iteration;  // the owner's iteration of the statements' loop, or NULL
    Value *slice;      // the program's number among those that share a sum; NULL: none do
    bool is_parts;     // these store their sums apart from each other; else they add them
    Map totals;  // of statements that add up tiles: what they had added, the sum of one along an axis
    Map asked;  // branches around statements that not all programs take: each is asked
    LIST(Op *)
    askers;  // statements below such branches, one of each region: whether any program comes there is carried
    LIST(const Region *)
    asked_in;  // these regions: the statements are gone where their sums are stored
} Nest;

/// Whether the owner has what the number is made of: its iteration, and what is the same for all programs that it sums over.
static bool poly_is_at_hand(const Nest *nest, const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].atom_count; k++) {
            Value *atom = poly->terms[i].atoms[k];
            bool is_parameter = !atom->op && !atom->region->parent,
                 is_alike =
                     atom->op && op_stays_at_start(atom->op) && !owners_differ(nest->plan, atom);
            if (atom != nest->iteration && !is_parameter && !is_alike) return false;
        }
    return true;
}

static bool poly_is_sum(const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        if (poly->terms[i].coefficient < 0) return false;
    return true;
}

/// The first program p whose `factor * p + rest` is beyond the iteration. NULL where that is not known.
static Value *first_beyond(const Nest *nest, Builder *b, Value *upper) {
    Arena *arena = nest->plan->arena;
    const Poly *factor, *rest, *poly = value_poly(arena, upper);
    if (!poly_split(arena, poly, nest->id->results[0], &factor, &rest) || poly_is_zero(factor))
        return NULL;
    if (!poly_is_nonnegative(arena, factor)) return NULL;
    const Poly *distance =
        poly_add(arena, poly_subtract(arena, poly_atom(arena, nest->iteration), rest), factor);
    if (!poly_is_at_hand(nest, distance) || !poly_is_at_hand(nest, factor)) return NULL;
    Value *numerator = build_poly(b, distance);
    if (!poly_is_sum(distance)) numerator = build_binary(b, OP_MAXIMUM, numerator, build_int(b, 0));
    return build_binary(b, OP_FLOORDIV, numerator, build_poly(b, factor));
}

/// The first program that has the owner's iteration, if it ends at `upper`: all behind it have it, too (scheduling.md, section 5).
/// NULL where each has to be asked.
static Value *first_program(const Nest *nest, Builder *b, Value *upper) {
    const ReductionPlan *plan = nest->plan;
    if (!owners_differ(plan, upper)) return build_int(b, 0);
    const Op *op = upper->op;
    if (op_keeps_numbers(op)) return first_program(nest, b, op->operands[0]);
    if (op->code == OP_MINIMUM) {
        Value *sides[2];
        for (int i = 0; i < 2; i++)
            if (!(sides[i] = first_program(nest, b, op->operands[i]))) return NULL;
        for (int i = 0; i < 2; i++)
            if (!owners_differ(plan, op->operands[i])) return sides[1 - i];
        return build_binary(b, OP_MAXIMUM, sides[0], sides[1]);
    }
    if (op->code != OP_IF) return first_beyond(nest, b, upper);
    Map none = map_new(plan->arena);
    Value *condition = value_copied(b, op->operands[0], &none);
    if (!condition) return NULL;
    Op *branch = op_append(b, OP_IF, &condition, 1, 0);
    Value *first = NULL;
    for (int r = 0; r < 2; r++) {
        Builder side = {.function = b->function, .region = op_add_region(b, branch)};
        first =
            first_program(nest, &side, region_terminator(op->regions[r])->operands[upper->index]);
        if (!first) return NULL;
        op_append(&side, OP_YIELD, &first, 1, 0);
    }
    Value *result = op_append_result(b->function, branch, type_at_run_time(first->type));
    result->type.element = dtype_of(DTYPE_INT32);
    return result;
}

/// The one id along an axis of the grid that is summed over whole, or NULL.
static const Op *only_id_along(const Nest *nest, int axis) {
    const Op *found = NULL;
    if (!nest->plan->summed[summed_axis(axis, AXIS_WHOLE)]) return NULL;
    for (LIST_EACH(int, i, nest->summed->ids)) {
        const Op *id = nest->summed->ids.items[i];
        if (!value_is_program_id(id->results[0], axis)) continue;
        if (found) return NULL;
        found = id;
    }
    return found;
}

/// Where the loop of programs starts along an axis: those before have no such iteration. NULL: each is asked.
static Value *find_first(Nest *nest, Builder *b) {
    const ReductionPlan *plan = nest->plan;
    Value *upper = plan->loop->operands[1], *first = NULL;
    if (!owners_differ(plan, upper)) return NULL;
    for (int axis = 0; axis < PROGRAM_AXES && !first && !plan->is_sliced; axis++) {
        Builder trial = *b;
        nest->id = only_id_along(nest, axis);
        if (nest->id) first = first_program(nest, &trial, upper);
    }
    nest->is_guarded = !first;
    if (!first) nest->id = NULL;
    if (first && !first->name && !first->constant) first->name = "first";
    return first;
}

/// The bounds of the statements' loop, for all programs together.
typedef struct ReductionBounds {
    Value *lower, *upper, *step;
} ReductionBounds;

static bool find_bounds(const Nest *nest, Builder *b, ReductionBounds *bounds) {
    const Differentiation *state = nest->state;
    Map same = map_new(state->arena), last = map_new(state->arena);
    for (LIST_EACH(int, i, nest->summed->ids)) {
        const Value *id = nest->summed->ids.items[i]->results[0];
        Value *count = summed_count_of(nest->summed, id);
        map_set_pointer(&last, id, build_binary(b, OP_SUB, count, build_int(b, 1)));
    }
    Value *const *operands = nest->plan->loop->operands;
    *bounds =
        (ReductionBounds){value_copied(b, operands[0], &same), value_copied(b, operands[1], &last),
                          value_copied(b, operands[2], &same)};
    return bounds->lower && bounds->upper && bounds->step;
}

/// How owners and programs are shared out.
typedef struct Shares {
    Value *own, *count;   // owners: from the one on, each of that distance
    Value *first, *step;  // programs: likewise
    Value *first_along;   // along the axis of the nest's id, or NULL
} Shares;

static Value *named(Value *value, const char *name) {
    value->name = name;
    return value;
}

/// How many programs the forward has for each of those that share a sum.
static Value *count_others(const SummedPrograms *programs, Builder *b) {
    Value *all = NULL;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!programs->axes.programs[axis]) continue;
        Value *count = build_unary(b, OP_NUM_PROGRAMS, build_int(b, axis));
        all = all ? build_binary(b, OP_MUL, all, count) : count;
    }
    Value *others = build_binary(b, OP_FLOORDIV, all, programs->count);
    return named(build_binary(b, OP_MAXIMUM, others, build_int(b, 1)), "owners");
}

/// How many owners a sum has: iterations, times the programs along each axis that is not summed over. NULL: one.
static Value *count_owners(const Nest *nest, const SummedPrograms *programs, Builder *b,
                           const ReductionBounds *bounds) {
    Value *owners = NULL;
    if (bounds) {
        owners = build_trip_count(b, bounds->lower, bounds->upper, bounds->step);
        owners = build_binary(b, OP_MAXIMUM, owners, build_int(b, 1));
    }
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!programs->axes.programs[axis] || axis_is_summed(nest->plan, axis)) continue;
        Value *count = build_unary(b, OP_NUM_PROGRAMS, build_int(b, axis));
        owners = owners ? build_binary(b, OP_MUL, owners, count) : count;
    }
    return owners ? named(owners, "owners") : NULL;
}

/// Whether programs may store their sums apart, for the Function to add up. Where rows step by a stride, masks have to end them: what lies
/// behind would be another owner's. Rows that lie on each other have no gradient's memory.
static bool sums_are_parts(const ReductionPlan *plan) {
    for (LIST_EACH(int, i, plan->statements))
        if (!statement_ends_rows(plan->arena, plan->statements.items[i])) return false;
    return true;
}

/// Rows of a tile whose sums are apart, or NULL.
static Value *sum_rows(const Nest *nest, Builder *b) {
    Map copies = map_new(nest->plan->arena);
    return value_copied(b, nest->plan->rows, &copies);
}

/// How many programs share a sum at most.
static Value *build_most(const Nest *nest, const SummedPrograms *programs, Builder *b,
                         const ReductionBounds *bounds) {
    Differentiation *state = nest->state;
    if (nest->is_parts) {
        Value *parts = parts_most(state), *rows = sum_rows(nest, b);
        if (!rows) return parts;
        return build_binary(b, OP_MAXIMUM, build_binary(b, OP_FLOORDIV, parts, rows),
                            build_int(b, 1));
    }
    Type whole = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    Value *most = state->parts.slices = backward_add_parameter(state, "SLICES", whole);
    Parameter *parameter = &state->backward->parameters[most->index];
    parameter->is_constexpr = true;
    parameter->default_text = str_from(most_slices);
    Value *owners = nest->plan->is_gathered ? count_others(programs, b)
                                            : count_owners(nest, programs, b, bounds);
    return owners ? build_trip_count(b, build_int(b, 0), most, owners) : most;
}

/// Several programs for each owner, each with a slice of what there is to sum; `bounds`: NULL where there is but one owner.
static Shares slice_up(Nest *nest, const SummedPrograms *programs, Builder *b,
                       const ReductionBounds *bounds) {
    nest->is_parts = nest->plan->is_own || nest->plan->turns ||
                     (!nest->plan->is_gathered && sums_are_parts(nest->plan));
    Value *most = build_most(nest, programs, b, bounds);
    Value *slices = named(build_binary(b, OP_MINIMUM, programs->count, most), "slices");
    Shares shares = {.first = programs->own, .step = slices};
    if (!bounds) {
        nest->slice = programs->own;
        open_if(b, build_binary(b, OP_LT, programs->own, slices));
        return shares;
    }
    nest->slice = shares.first = named(build_binary(b, OP_MOD, programs->own, slices), "slice");
    shares.own = named(build_binary(b, OP_FLOORDIV, programs->own, slices), "group");
    shares.count = named(build_binary(b, OP_FLOORDIV, programs->count, slices), "groups");
    open_if(b, build_binary(b, OP_LT, shares.own, shares.count));
    Value *rows = sum_rows(nest, b);
    if (rows) nest->slice = build_binary(b, OP_MUL, nest->slice, rows);
    return shares;
}

/// Notes the branches that programs along the summed axes take or not, each by itself.
static void note_asked(Nest *nest) {
    nest->asked = map_new(nest->plan->arena);
    for (LIST_EACH(int, i, nest->plan->statements)) {
        Op *statement = nest->plan->statements.items[i]->statement.op;
        bool is_asked = false;
        for (Op *outer = statement->parent->parent; outer; outer = outer->parent->parent) {
            if (outer->code != OP_IF || !owners_differ(nest->plan, outer->operands[0])) continue;
            map_set_pointer(&nest->asked, outer, outer);
            is_asked = true;
        }
        for (LIST_EACH(int, k, nest->askers))
            is_asked = is_asked && nest->askers.items[k]->parent != statement->parent;
        if (is_asked) LIST_PUSH(nest->plan->arena, &nest->askers, statement);
    }
}

/// Which of the carried numbers says whether any program came to the statement, or -1: each does.
static int asker_of(const Nest *nest, const Op *statement) {
    for (LIST_EACH(int, i, nest->askers))
        if (nest->askers.items[i]->parent == statement->parent)
            return nest->plan->statements.count + i;
    return -1;
}

/// Opens the loop of owners, where there is one, and says which programs are to be summed in it.
static bool open_owners(Nest *nest, Builder *b, const SummedPrograms *programs, Shares *shares) {
    const ReductionPlan *plan = nest->plan;
    ReductionBounds bounds = {0};
    if (plan->loop && !find_bounds(nest, b, &bounds)) return false;
    *shares = (Shares){programs->own, programs->count, build_int(b, 0), build_int(b, 1), NULL};
    if (plan->is_sliced) *shares = slice_up(nest, programs, b, plan->loop ? &bounds : NULL);
    if (!plan->loop && !plan->is_sliced)  // the first of the programs that add sums for all of them
        open_if(b, build_binary(b, OP_EQ, programs->own, build_int(b, 0)));
    if (!plan->loop) return true;
    int64_t number;
    Value *start = build_binary(b, OP_MUL, shares->own, bounds.step);
    bool from_zero = value_is_int(bounds.lower, &number) && number == 0;
    if (!from_zero) start = build_binary(b, OP_ADD, bounds.lower, start);
    Value *stride = build_binary(b, OP_MUL, shares->count, bounds.step);
    Op *loop = open_loop(b, start, bounds.upper, stride, &nest->iteration);
    const Value *variable = plan->loop->regions[0]->arguments[0];
    nest->iteration->type = variable->type;
    nest->iteration->name = variable->name;
    loop->range = plan->loop->range;
    loop->note = "the owners: iterations of the loop of line";
    shares->first_along = find_first(nest, b);
    return true;
}

static bool operands_stay(const Op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        const Op *operand = op->operands[i] ? op->operands[i]->op : NULL;
        if (operand && operand->parent == op->parent) return true;
    }
    return false;
}

/// The row, or the column, of tiles that all programs of the loop have is the owner's own: it is computed in front of the loop.
static bool take_own_tile(Differentiation *state, Op *loop, Op *op) {
    if (op->code != OP_TILE_INDEX) return false;
    Builder b = {.function = state->backward, .region = loop->parent, .before = loop};
    Map copies = map_new(state->arena);
    Value *own = value_copied(&b, op->results[0], &copies);
    if (!own) return false;
    region_replace_uses(state->backward->body, op->results[0], own);
    op_remove(op);
    return true;
}

/// Moves those ops of a loop's body in front of it that are the same for all programs, where nothing changes what they read.
static void move_alike(Differentiation *state, Op *loop, const ReductionPlan *plan) {
    const WrittenRoots writes = function_writes(state->backward);
    for (Op *op = loop->regions[0]->first, *next; op && op->code != OP_YIELD; op = next) {
        next = op->next;
        bool is_stable = op->code == OP_LOAD && load_is_stable(&writes, op);
        bool is_alike = op->result_count && (op_is_pure(op) || is_stable);
        for (int i = 0; i < op->result_count && is_alike; i++)
            is_alike = !owners_differ(plan, op->results[i]);
        if (!is_alike || take_own_tile(state, loop, op)) continue;
        if (!operands_stay(op)) op_move_before(op, loop);
    }
}

/// Moves the ops of a region in front of `place`.
static void move_before(Region *region, Op *place) {
    for (Op *op = region->first, *next; op && op->code != OP_YIELD; op = next) {
        next = op->next;
        op_move_before(op, place);
    }
}

/// The statements' loop gives way to the one iteration of it that the owner has.
static void inline_loop(Nest *nest) {
    Op *loop = nest->plan->loop;
    if (!loop) return;
    Region *body = loop->regions[0];
    move_alike(nest->state, loop, nest->plan);
    move_alike(nest->state, nest->innermost, nest->plan);
    if (nest->innermost != nest->programs)
        move_alike(nest->state, nest->programs, nest->plan);  // the owner reads it once
    region_replace_uses(nest->programs->parent, body->arguments[0], nest->iteration);
    Builder b = {.function = nest->state->backward,
                 .region = loop->parent,
                 .before = loop,
                 .range = loop->range};
    if (nest->is_guarded) {
        open_if(&b, build_binary(&b, OP_LT, nest->iteration, loop->operands[1]));
        nest->guard = b.region->parent;
    }
    move_before(body, b.before);
    op_remove(loop);
}

/// Hands a sum on from `region`, where it was `before`, to the loop of programs.
static Value *hand_out(const Nest *nest, Region *region, Value *sum, Value *const *before) {
    Function *function = nest->state->backward;
    for (; region->parent != nest->programs; region = region->parent->parent, before++) {
        Op *owner = region->parent;
        Type type = type_at_run_time(before[0]->type);
        for (int r = 0; r < owner->region_count; r++)
            op_append_operand(function, region_terminator(owner->regions[r]),
                              owner->regions[r] == region ? sum : before[1]);
        const char *name = before[0]->name;
        sum = op_append_result(function, owner, type);
        sum->name = name;
    }
    return sum;
}

/// The distance of this slice's sums from the first ones.
static Value *part_offset(const Nest *nest, Builder *b, const SharedStatement *shared) {
    Value *stride = part_stride(nest->state, shared->statement.gradient);
    return build_binary(b, OP_MUL, nest->slice, stride);
}

/// The threads of a program wait at the end of each iteration of the loop around a statement for what it stored.
static void wait_after(const Nest *nest, const Op *statement) {
    const Op *loop = statement->parent->parent;
    while (!op_is_loop(loop->code)) loop = loop->parent->parent;
    Op *end = region_terminator(loop->regions[0]);
    if (end->previous && end->previous->code == OP_DEBUG_BARRIER) return;
    Builder b = {.function = nest->state->backward, .region = end->parent, .before = end};
    op_append(&b, OP_DEBUG_BARRIER, NULL, 0, 0);
}

/// Whether each lane adds to an element of its own.
static bool lanes_have_own(Arena *arena, const SharedStatement *shared) {
    return shared->by_flags || shared->is_of_program ||
           lanes_are_apart(arena, shared->statement.op);
}

/// What the statement adds goes to this slice at once, to other elements in each iteration or program.
static void update_slice(const Nest *nest, const SharedStatement *shared) {
    Op *op = shared->statement.op;
    Function *function = nest->state->backward;
    Builder outside = {
        .function = function, .region = nest->programs->parent, .before = nest->programs};
    Builder b = {.function = function, .region = op->parent, .before = op, .range = op->range};
    if (!lanes_have_own(nest->plan->arena, shared)) lanes_join(nest->state, op);
    Value *mask = access_mask(op), *offset = part_offset(nest, &outside, shared);
    Value *address = build_binary(&b, OP_ADD, op->operands[0], offset);
    Value *operands[] = {address, mask, mask ? build_float(&b, 0.0) : NULL};
    if (shared->meets) op_append(&b, OP_DEBUG_BARRIER, NULL, 0, 0);
    Value *sum = build_binary(&b, OP_ADD, build(&b, OP_LOAD, operands, 3), op->operands[1]);
    build(&b, OP_STORE, (Value *[]){address, sum, mask}, 3);
    wait_after(nest, op);
    op_remove(op);
}

/// What the loop of programs carries as number `index` becomes another one at the statement: a sum with what that adds, or the word that
/// some program came there.
static bool carry(const Nest *nest, int index, const Op *statement) {
    Function *function = nest->state->backward;
    Region *path[REGIONS_MOST_NESTED];
    Value *before[REGIONS_MOST_NESTED + 1];
    int depth = 0;
    for (Region *region = statement->parent; region->parent != nest->programs;
         region = region->parent->parent) {
        if (depth == REGIONS_MOST_NESTED) return false;
        path[depth++] = region;
    }
    before[depth] = nest->programs->regions[0]->arguments[1 + index];
    for (int i = depth - 1; i >= 0; i--) {
        Op *owner = path[i]->parent;
        before[i] = before[i + 1];
        if (owner->code != OP_FOR) continue;
        op_append_operand(function, owner, before[i + 1]);
        before[i] = region_add_argument(function, path[i], type_at_run_time(before[i + 1]->type),
                                        before[i + 1]->name);
    }
    Builder b = {.function = function,
                 .region = statement->parent,
                 .before = (Op *)(uintptr_t)statement,
                 .range = statement->range};
    bool is_sum = index < nest->plan->statements.count;
    Value *after =
        is_sum ? build_binary(&b, OP_ADD, before[0], statement->operands[1]) : build_bool(&b, true);
    after = hand_out(nest, statement->parent, after, before);
    op_append_operand(function, region_terminator(nest->programs->regions[0]), after);
    return true;
}

static bool carry_all(const Nest *nest) {
    for (LIST_EACH(int, i, nest->plan->statements))
        if (!carry(nest, i, nest->plan->statements.items[i]->statement.op)) return false;
    for (LIST_EACH(int, i, nest->askers))
        if (!carry(nest, nest->plan->statements.count + i, nest->askers.items[i])) return false;
    return true;
}

/// Puts what the backward does into the loop of programs.
static void move_in(const Nest *nest, Op *const *ops, int count) {
    Op *end = region_terminator(nest->innermost->regions[0]);
    for (int i = 0; i < count; i++) op_move_before(ops[i], end);
}

/// The tile whose sum along an axis is `term`, and nothing else; NULL of other terms.
static Value *tile_of(const Map *readers, Value *term) {
    const Type *type = &term->type;
    for (; value_readers(readers, term)->count == 1 && term->op; term = term->op->operands[0]) {
        if (term->op->code == OP_CAST) continue;
        Value *tile = term->op->code == OP_SUM ? term->op->operands[0] : NULL;
        bool is_row = tile && tile->type.rank == type->rank + 1 &&
                      dtype_equal(tile->type.element, type->element);
        return is_row ? tile : NULL;
    }
    return NULL;
}

static bool visit_product(void *context, Op *op) {
    bool *found = context;
    *found = *found || op->code == OP_DOT;
    return true;
}

/// Programs that share a sum add up whole tiles, and take the sum along an axis once: threads need not meet in each iteration. Not
/// beside products of matrices, which need the registers. Measured in docs/gpu.md.
static void add_up_tiles(Nest *nest) {
    const Function *function = nest->state->backward;
    bool has_products = false;
    nest->totals = map_new(nest->plan->arena);
    region_walk(function->body, visit_product, &has_products);
    // A whole row fills the registers, and a program with a slice of its own mostly has one of them.
    bool is_whole_row = nest->plan->is_own && nest->state->parts.part.has_whole_rows;
    if (!nest->plan->is_sliced || has_products || is_whole_row) return;
    Map readers = function_readers(nest->plan->arena, function);
    for (LIST_EACH(int, i, nest->plan->statements)) {
        Op *statement = nest->plan->statements.items[i]->statement.op;
        Value *term = statement->operands[1], *tile = tile_of(&readers, term);
        if (!tile) continue;
        map_set_pointer(&nest->totals, statement, term);
        op_set_operand(statement, 1, tile);
    }
}

static void open_sums(const Nest *nest, Builder *outside) {
    Function *function = nest->state->backward;
    Region *body = nest->programs->regions[0];
    for (LIST_EACH(int, i, nest->plan->statements)) {
        const SharedStatement *shared = nest->plan->statements.items[i];
        Value *term = shared->statement.op->operands[1],
              *total = map_get_pointer(&nest->totals, shared->statement.op);
        Value *zeros = adjoint_zeros(nest->state, outside, term->type, shared->statement.range);
        if (total) term = total;
        Type type = type_at_run_time(zeros->type);
        const char *name = term->name;
        if (nest->plan->turns) {
            const Value *gradient = shared->statement.gradient;
            name = name_of_tensor(nest->state->arena, function->parameters[gradient->index].name);
        } else {
            term->name = NULL;  // the sum has it
        }
        op_append_operand(function, nest->programs, zeros);
        region_add_argument(function, body, type, name);
        op_append_result(function, nest->programs, type)->name = name;
    }
    for (LIST_EACH(int, i, nest->askers)) {
        Value *nobody = build_bool(outside, false);
        Type type = type_at_run_time(nobody->type);
        op_append_operand(function, nest->programs, nobody);
        region_add_argument(function, body, type, "any_program");
        op_append_result(function, nest->programs, type)->name = "any_program";
    }
}

/// The builder moves below the branches that are around a statement, or below the question whether any program took them. False where
/// they cannot be asked for there. `asker`: asker_of the statement.
static bool open_branches(const Nest *nest, Builder *b, const Op *statement, int asker,
                          Map *copies) {
    const Op *branches[REGIONS_MOST_NESTED];
    bool is_else[REGIONS_MOST_NESTED];
    int depth = 0;
    for (const Region *region = statement->parent; region->parent != nest->programs;
         region = region->parent->parent) {
        const Op *branch = region->parent;
        if (branch->code != OP_IF || branch == nest->guard || map_has_pointer(&nest->asked, branch))
            continue;
        if (depth == REGIONS_MOST_NESTED) return false;
        is_else[depth] = region == branch->regions[1];
        branches[depth++] = branch;
    }
    // First: what the other branches ask for may be there for those programs alone.
    if (asker >= 0) open_if(b, nest->programs->results[asker]);
    while (depth--) {
        Value *condition = value_copied(b, branches[depth]->operands[0], copies);
        if (!condition) return false;
        open_if(b, is_else[depth] ? build_unary(b, OP_LOGICAL_NOT, condition) : condition);
    }
    return true;
}

/// Stores what an owner has summed, apart from what others have, or adds it to that, behind the loop of programs.
static bool store_sums(const Nest *nest) {
    const ReductionPlan *plan = nest->plan;
    const Builder outside = behind(nest->state, nest->programs);
    int *askers = ARENA_ARRAY(plan->arena, int, plan->statements.count + 1);
    for (LIST_EACH(int, i, plan->statements))  // before any of them is gone
        askers[i] = asker_of(nest, plan->statements.items[i]->statement.op);
    for (LIST_EACH(int, i, plan->statements)) {
        Op *statement = plan->statements.items[i]->statement.op;
        Builder b = outside;
        Map copies = map_new(plan->arena);
        if (!open_branches(nest, &b, statement, askers[i], &copies)) return false;
        Value *address = value_copied(&b, statement->operands[0], &copies),
              *mask = value_copied(&b, statement->operands[2], &copies);
        if (!address || (statement->operands[2] && !mask)) return false;
        b.range = statement->range;
        Value *sum = nest->programs->results[i], *total = map_get_pointer(&nest->totals, statement);
        if (total) {
            map_set_pointer(&copies, statement->operands[1], sum);
            sum = value_copied(&b, total, &copies);
            if (!sum) return false;
        }
        if (nest->is_parts)
            address =
                build_binary(&b, OP_ADD, address, part_offset(nest, &b, plan->statements.items[i]));
        if (plan->statements.items[i]->is_one_of_several && !nest->is_parts) {
            Value *operands[] = {address, mask, mask ? build_float(&b, 0.0) : NULL};
            sum = build_binary(&b, OP_ADD, build(&b, OP_LOAD, operands, 3), sum);
        }
        OpCode code = plan->is_sliced && !nest->is_parts ? OP_ATOMIC_ADD : OP_STORE;
        build(&b, code, (Value *[]){address, sum, mask}, 3);
        op_remove(statement);
    }
    return true;
}

/// The loop over the programs of the forward: all as one number, or, where it is known which one along an axis comes first, those along
/// this axis in an inner loop. The ids in it follow.
static void open_programs(Nest *nest, Builder *b, const SummedPrograms *programs,
                          const Shares *shares, Value **all, Value **along) {
    int others = 0;
    for (int axis = 0; axis < SUMMED_AXES; axis++) others += nest->plan->summed[axis];
    *all = *along = NULL;
    if (!shares->first_along || others > 1) {
        Map copies = map_new(nest->plan->arena);
        Value *turns = value_copied(b, nest->plan->turns, &copies),
              *count = turns ? turns : summed_count_but(b, nest->plan, programs, nest->id);
        nest->programs = nest->innermost = open_loop(b, shares->first, count, shares->step, all);
    }
    if (!shares->first_along) return;
    Value *count = summed_count_of(programs, nest->id->results[0]);
    nest->innermost = open_loop(b, shares->first_along, count, build_int(b, 1), along);
    if (!*all) nest->programs = nest->innermost;
}

/// The statements whose sums wait in registers for the end of the loop of programs, or those that store as it goes.
static ReductionPlan plan_part(const ReductionPlan *plan, bool stores_at_once) {
    ReductionPlan part = *plan;
    memset(&part.statements, 0, sizeof part.statements);
    for (LIST_EACH(int, i, plan->statements)) {
        SharedStatement *shared = plan->statements.items[i];
        Op *op = shared->statement.op;
        bool differs = plan->is_own && (shared->meets || !lanes_have_own(plan->arena, shared) ||
                                        statement_differs(plan, op));
        if (differs == stores_at_once) LIST_PUSH(plan->arena, &part.statements, shared);
    }
    return part;
}

/// What is said of the gradients that the plan's statements are for.
static void describe_sums(const Nest *nest, const ReductionPlan *plan) {
    for (LIST_EACH(int, i, plan->statements)) {
        const SharedStatement *shared = plan->statements.items[i];
        Gradient *gradient = shared->gradient;
        if (shared->told_by) assume_told_by(nest->state, &shared->statement, shared->told_by);
        if (shared->is_of_program) assume_told(nest->state, &shared->statement);
        shared_axes_assume(nest->state, shared);
        gradient->is_sum = plan->is_sliced || shared->is_one_of_several;
        gradient->is_parts = nest->is_parts;
        gradient->is_atomic = plan->is_sliced && !nest->is_parts;
        if (gradient->is_atomic)
            gradient->why =
                arena_printf(plan->arena, "%s, in %s parts at most", gradient->why, most_slices);
    }
}

/// Puts all that the backward does into a loop over the programs of the forward, and sums there what the plan's statements add.
static bool gather_programs(Differentiation *state, const ReductionPlan *plan) {
    Function *function = state->backward;
    LIST(Op *) ops = {0};
    for (Op *op = function->body->first; op; op = op->next)
        if (!op_stays_at_start(op)) LIST_PUSH(state->arena, &ops, op);
    Builder b = {.function = function, .region = function->body};
    SummedPrograms programs;
    if (!summed_programs_find(state, &b, plan, &programs)) return false;
    const ReductionPlan sums = plan_part(plan, false), updates = plan_part(plan, true);
    Nest nest = {.state = state, .plan = &sums, .summed = &programs};
    Shares shares;
    Value *all, *along;
    add_up_tiles(&nest);
    note_asked(&nest);
    if (!open_owners(&nest, &b, &programs, &shares)) return false;
    Builder outside = b;
    open_programs(&nest, &b, &programs, &shares, &all, &along);
    outside.before = nest.programs;
    open_sums(&nest, &outside);
    move_in(&nest, ops.items, ops.count);
    for (LIST_EACH(int, i, updates.statements)) update_slice(&nest, updates.statements.items[i]);
    if (!plan->loop) move_alike(state, nest.programs, plan);
    inline_loop(&nest);
    if (!carry_all(&nest) || !store_sums(&nest)) return false;
    if (along) summed_programs_place_along(nest.innermost->regions[0], &programs, nest.id, along);
    if (all) summed_programs_place(state, plan, nest.programs->regions[0], &programs, nest.id, all);
    if (!plan->is_own) stages_add(state, nest.innermost);
    describe_sums(&nest, plan);
    return true;
}

/// Turns the backward under construction into the kernel of plan `index`. False where that cannot be.
static bool reduction_take(Differentiation *state, const ReductionPlans *plans, int index) {
    const ReductionPlan *plan = &plans->items[index];
    Function *function = state->backward;
    read_saved(state, plans);
    drop_others(plan, function->body);
    function_drop_dead(function);
    LoopSearch loops = {.plan = plan};
    region_walk(function->body, visit_loop, &loops);
    return !loops.is_other && gather_programs(state, plan);
}

/// Makes of the backward one kernel for all of it: some programs do the work of all, one after the other, and keep the sums of the
/// plan in registers (scheduling.md, section 3). False where that cannot be.
static bool reductions_join(Differentiation *state, const ReductionPlan *plan) {
    return gather_programs(state, plan);
}

/// Programs keep what they add apart, in slices of their own. False where nothing is added so, or too little.
static bool shares_take(Differentiation *state, const TileOrders *orders) {
    ReductionPlan plan;
    if (!reductions_keep_shares(state, orders, &plan)) return false;
    state->parts.has_own_slices = true;
    state->parts.has_large_slices = plan.is_large;
    return gather_programs(state, &plan);
}

/// Notes how many gradients would need atomics if programs kept what they add apart.
static void note_shares(Differentiation *state, const TileOrders *orders) {
    for (int all = 0; all < 2; all++)
        state->parts.beside_shares[all] = reductions_beside_shares(state, orders, all);
}

void part_settle(Differentiation *state) {
    const BackwardPart *part = &state->parts.part;
    bool is_whole = part->kind == PART_WHOLE && !part->keeps_shares;
    bool is_last = is_whole && state->options && state->options->keeps_schedule;
    if (is_last || (is_whole && !state->parts.shared.count && !state->parts.several.count)) return;
    const TileOrders orders =
        tile_orders_open(state->arena, state->backward, part->has_digits ? TILE_MOST_DIGITS : 2);
    ReductionPlans plans = reductions_plan(state, &orders);
    state->parts.reduction_kernels = plans.count;
    if (is_whole) {  // what there could be
        state->parts.cannot_be_flat = !flat_may_take(state);
        note_shares(state, &orders);
        tile_orders_close(state->backward);
        return;
    }
    ReductionPlan together;
    state->parts.fits_one_pass = reductions_fit_one_pass(state, &orders, &plans, &together);
    bool is_made = true;
    if (part->kind == PART_PROGRAMS)
        reductions_leave(state, &plans, part->moved);
    else if (part->kind == PART_ONE_PASS)
        is_made = state->parts.fits_one_pass && reductions_join(state, &together);
    else if (part->kind == PART_FLAT)
        is_made = flat_take_sums(state)
                      ? shares_take(state, &orders)
                      : flat_take(state, &orders, &together) && gather_programs(state, &together);
    else if (part->kind == PART_REDUCTION)
        is_made = part->index < plans.count && reduction_take(state, &plans, part->index);
    if (part->kind == PART_PROGRAMS && !part->keeps_shares) note_shares(state, &orders);
    if (is_made && part->keeps_shares) is_made = shares_take(state, &orders);
    if (!is_made) {  // it may be half made: nobody reads it any more
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no owners");
        return;
    }
    tile_orders_close(state->backward);
    function_clean(state->backward);
}
