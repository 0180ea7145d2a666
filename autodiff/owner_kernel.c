// A backward and the statements that are to move in; out either the kernel that sums what these add, whose programs share the
// owners of the elements and loop over the programs of the forward, or the rest of the backward.
#include "autodiff/owners.h"

#include "analysis/affine.h"
#include "analysis/infer.h"
#include "autodiff/tape.h"

/// Of a sum that owners are too few for: so many programs take a share of it each. Measured in docs/gpu.md.
static const char most_slices[] = "512";

/* ---- what comes from memory ---- */

static Builder behind(Differentiation *state, const Op *op) {
    return (Builder){
        .function = state->backward, .region = op->parent, .before = op->next, .range = op->range};
}

/// What kernels of owners read of each program of the forward, each value once: in the same order in all parts, as their names
/// are made in it.
typedef LIST(Value *) Values;

static Values kept_by(const OwnerPlans *plans) {
    Values all = {0};
    for (int p = 0; p < plans->count; p++)
        for (LIST_EACH(int, i, plans->items[p].kept)) {
            Value *value = plans->items[p].kept.items[i];
            bool is_listed = false;
            for (LIST_EACH(int, k, all)) is_listed = is_listed || all.items[k] == value;
            if (!is_listed) LIST_PUSH(plans->items[p].arena, &all, value);
        }
    return all;
}

/// Reads each kept value where it was computed.
static void read_kept(Differentiation *state, const OwnerPlans *plans) {
    Values all = kept_by(plans);
    for (LIST_EACH(int, i, all)) {
        Value *value = all.items[i], *address;
        Builder b = behind(state, value->op);
        const Tape *tape = tape_of_value(state, &b, value, &address);
        Value *kept = tape_read(&b, tape, address, value->type.element);
        region_replace_uses(state->backward->body, value, kept);
        kept->name = value->name;
    }
}

static bool plan_keeps(const OwnerPlan *plan, const Value *value) {
    for (LIST_EACH(int, i, plan->kept))
        if (plan->kept.items[i] == value) return true;
    return false;
}

void owners_leave(Differentiation *state, const OwnerPlans *plans, const bool *moved) {
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
        for (int i = 0; moved[p] && i < plans->items[p].statements.count; i++) {
            const SharedStatement *shared = plans->items[p].statements.items[i];
            op_remove(shared->statement.op);
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

static bool is_moved(const OwnerPlan *plan, const Op *op) {
    for (LIST_EACH(int, i, plan->statements))
        if (plan->statements.items[i]->statement.op == op) return true;
    return false;
}

/// Leaves of all that the backward does the plan's statements.
static void drop_others(const OwnerPlan *plan, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) drop_others(plan, op->regions[i]);
        int effects = op_rows[op->code].effects;
        bool acts = effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
        if (acts && !is_moved(plan, op)) op_remove(op);
    }
}

typedef struct LoopSearch {
    const OwnerPlan *plan;
    bool is_other;  // one that is not around the statements, or carries something
} LoopSearch;

static bool visit_loop(void *context, Op *op) {
    LoopSearch *search = context;
    if (op->code != OP_FOR && op->code != OP_STATIC_FOR && op->code != OP_WHILE) return true;
    bool is_around = false;
    for (LIST_EACH(int, i, search->plan->statements)) {
        const Op *statement = search->plan->statements.items[i]->statement.op;
        is_around = is_around || region_holds(op->regions[0], statement);
    }
    bool is_in_turn = search->plan->loop && region_holds(search->plan->loop->regions[0], op);
    search->is_other |= is_around ? op->result_count > 0 : !is_in_turn;
    return !search->is_other;
}

/* ---- expressions in another place ---- */

typedef struct Copying {
    const Differentiation *state;
    Builder *builder;
    Map *values;  // value -> its copy
} Copying;

/// What builders share wherever they are (analysis/build.c): it stays at the start of the kernel.
static bool is_shared(const Op *op) {
    bool is_number = op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS;
    if (op->result_count != 1 || op->region_count) return false;
    if (!is_number && !op->results[0]->constant && !op->results[0]->type.is_constexpr) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && op->operands[i]->op && !is_shared(op->operands[i]->op)) return false;
    return true;
}

/// The same expression at the builder's place, in terms of `values`. False where it is made of more than that.
static bool copy_value(void *context, Value *value) {
    Copying *copying = context;
    if (!value->op || map_has_pointer(copying->values, value) || is_shared(value->op)) return true;
    const Op *op = value->op;
    bool is_known =
        op_is_pure(op) || op->code == OP_IF || op_is_stable_load(copying->state->backward, op);
    if (!is_known || !op_walk_captured(op, copy_value, copying)) return false;
    op_clone(copying->builder, op, copying->values);
    return true;
}

static Value *copied(const Differentiation *state, Builder *b, Value *value, Map *values) {
    Copying copying = {state, b, values};
    if (!value) return NULL;
    return copy_value(&copying, value) ? value_mapped(values, value) : NULL;
}

/* ---- programs ---- */

/// Programs of the forward along the summed axes, as one number.
typedef struct Programs {
    Value *own;    // which this one is
    Value *count;  // how many there are
} Programs;

static Value *count_along(Builder *b, int axis) {
    return build_unary(b, OP_NUM_PROGRAMS, build_int(b, axis));
}

static Programs programs_along(Builder *b, const OwnerPlan *plan) {
    Programs programs = {0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!plan->summed[axis]) continue;
        Value *id = build_unary(b, OP_PROGRAM_ID, build_int(b, axis)),
              *count = count_along(b, axis);
        bool is_first = !programs.own;
        programs.own = is_first ? id
                                : build_binary(b, OP_ADD, programs.own,
                                               build_binary(b, OP_MUL, id, programs.count));
        programs.count = is_first ? count : build_binary(b, OP_MUL, programs.count, count);
    }
    programs.own->name = "program";
    programs.count->name = "programs";
    return programs;
}

typedef struct IdSearch {
    const OwnerPlan *plan;
    Arena *arena;
    LIST(Op *) ids;
    const char *name;  // the user's for one of them
} IdSearch;

static bool visit_id(void *context, Op *op) {
    IdSearch *search = context;
    int64_t axis;
    if (op->code != OP_PROGRAM_ID || !value_is_int(op->operands[0], &axis)) return true;
    if (axis < 0 || axis >= PROGRAM_AXES || !search->plan->summed[axis]) return true;
    LIST_PUSH(search->arena, &search->ids, op);
    if (op->results[0]->name) search->name = op->results[0]->name;
    return true;
}

/// In the region, the ids along the summed axes are those of `program`.
static void replace_ids(const Differentiation *state, const OwnerPlan *plan, Region *region,
                        const IdSearch *search, Value *program) {
    Builder b = {.function = state->backward, .region = region, .before = region->first};
    Value *rest = program;
    int left = 0;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) left += plan->summed[axis];
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!plan->summed[axis]) continue;
        Value *count = --left ? count_along(&b, axis) : NULL;
        Value *digit = left ? build_binary(&b, OP_MOD, rest, count) : rest;
        if (left) rest = build_binary(&b, OP_FLOORDIV, rest, count);
        for (LIST_EACH(int, i, search->ids)) {
            int64_t own;
            const Op *op = search->ids.items[i];
            if (!value_is_int(op->operands[0], &own) || own != axis) continue;
            if (left && !digit->name) digit->name = op->results[0]->name;
            region_replace_uses(region, op->results[0], digit);
        }
    }
}

/* ---- the new nest ---- */

/// A `for` without a body yet, at the builder's place, which moves into it.
static Op *open_for(Builder *b, Value *lower, Value *upper, Value *step, Value **variable) {
    Op *loop = op_append(b, OP_FOR, (Value *[]){lower, upper, step}, 3, 0);
    loop->range = (Range){0};
    Region *body = op_add_region(b, loop);
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    *variable = region_add_argument(b->function, body, type, NULL);
    b->region = body;
    b->before =
        op_append(&(Builder){.function = b->function, .region = body}, OP_YIELD, NULL, 0, 0);
    return loop;
}

/// What follows stands below `if condition`.
static void open_if(Builder *b, Value *condition) {
    Op *branch = op_append(b, OP_IF, &condition, 1, 0);
    for (int arm = 0; arm < 2; arm++) {
        Region *region = op_add_region(b, branch);
        op_append(&(Builder){.function = b->function, .region = region}, OP_YIELD, NULL, 0, 0);
    }
    b->region = branch->regions[0];
    b->before = b->region->first;
}

typedef struct Nest {
    Differentiation *state;
    const OwnerPlan *plan;
    const IdSearch *ids;
    bool is_guarded;  // not all programs of their loop have the owner's turn
    const Op *guard;  // the branch that asks whether a program has the turn; or NULL
    Op *programs;     // the loop of programs
    Value *turn;      // the owner's turn of the statements' loop, or NULL
} Nest;

static bool poly_is_at_hand(const Poly *poly, const Value *turn) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].atom_count; k++) {
            const Value *atom = poly->terms[i].atoms[k];
            bool is_parameter = !atom->op && !atom->region->parent;
            if (atom != turn && !is_parameter && !(atom->op && is_shared(atom->op))) return false;
        }
    return true;
}

static bool poly_is_sum(const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        if (poly->terms[i].coefficient < 0) return false;
    return true;
}

/// The first program p whose `factor * p + rest` is beyond the turn. NULL where that is not known.
static Value *first_beyond(const Nest *nest, Builder *b, Value *upper) {
    Arena *arena = nest->plan->arena;
    const Poly *factor, *rest, *poly = value_poly(arena, upper);
    Value *id = nest->ids->ids.items[0]->results[0];
    if (!poly_split(arena, poly, id, &factor, &rest) || poly_is_zero(factor)) return NULL;
    if (!poly_is_nonnegative(arena, factor)) return NULL;
    const Poly *distance =
        poly_add(arena, poly_subtract(arena, poly_atom(arena, nest->turn), rest), factor);
    if (!poly_is_at_hand(distance, nest->turn) || !poly_is_at_hand(factor, nest->turn)) return NULL;
    Value *numerator = build_poly(b, distance);
    if (!poly_is_sum(distance)) numerator = build_binary(b, OP_MAXIMUM, numerator, build_int(b, 0));
    return build_binary(b, OP_FLOORDIV, numerator, build_poly(b, factor));
}

/// The first program that has the owner's turn, if it ends at `upper`: all behind it have it, too (scheduling.md, section 5).
/// NULL where each has to be asked.
static Value *first_program(const Nest *nest, Builder *b, Value *upper) {
    const OwnerPlan *plan = nest->plan;
    if (!owners_differ(plan, upper)) return build_int(b, 0);
    const Op *op = upper->op;
    if (op->code == OP_CAST) return first_program(nest, b, op->operands[0]);
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
    Value *condition = copied(nest->state, b, op->operands[0], &none);
    if (!condition) return NULL;
    Op *branch = op_append(b, OP_IF, &condition, 1, 0);
    Value *first = NULL;
    for (int r = 0; r < 2; r++) {
        Builder arm = {.function = b->function, .region = op_add_region(b, branch)};
        first =
            first_program(nest, &arm, region_terminator(op->regions[r])->operands[upper->index]);
        if (!first) return NULL;
        op_append(&arm, OP_YIELD, &first, 1, 0);
    }
    Value *result = op_append_result(b->function, branch, type_at_run_time(first->type));
    result->type.element = dtype_of(DTYPE_INT32);
    return result;
}

/// Where the loop of programs starts: those before have no such turn, or each is asked.
static void find_first(Nest *nest, Builder *b, Value **first) {
    const OwnerPlan *plan = nest->plan;
    Value *upper = plan->loop->operands[1];
    int axes = 0;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) axes += plan->summed[axis];
    if (!owners_differ(plan, upper)) return;
    bool is_one = axes == 1 && nest->ids->ids.count == 1 && !plan->is_sliced;
    Builder trial = *b;
    Value *start = is_one ? first_program(nest, &trial, upper) : NULL;
    nest->is_guarded = !start;
    if (start) *first = start;
    if (start && !start->name && !start->constant) start->name = "first";
}

/// The bounds of the statements' loop, for all programs together.
typedef struct Bounds {
    Value *lower, *upper, *step;
} Bounds;

static bool find_bounds(const Nest *nest, Builder *b, Bounds *bounds) {
    const Differentiation *state = nest->state;
    Map same = map_new(state->arena), last = map_new(state->arena);
    for (LIST_EACH(int, i, nest->ids->ids)) {
        const Op *id = nest->ids->ids.items[i];
        Value *count = build_unary(b, OP_NUM_PROGRAMS, id->operands[0]);
        map_set_pointer(&last, id->results[0], build_binary(b, OP_SUB, count, build_int(b, 1)));
    }
    Value *const *operands = nest->plan->loop->operands;
    *bounds = (Bounds){copied(state, b, operands[0], &same), copied(state, b, operands[1], &last),
                       copied(state, b, operands[2], &same)};
    return bounds->lower && bounds->upper && bounds->step;
}

/// How owners and programs are shared out.
typedef struct Shares {
    Value *own, *count;   // owners: from the one on, each of that distance
    Value *first, *step;  // programs: likewise
} Shares;

static Value *named(Value *value, const char *name) {
    value->name = name;
    return value;
}

/// Several programs for each owner, each with a slice of what there is to sum; `bounds`: NULL where there is but one owner.
static Shares slice_up(Differentiation *state, const Programs *programs, Builder *b,
                       const Bounds *bounds) {
    Type whole = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    Value *most = state->slices = backward_add_parameter(state, "SLICES", whole);
    Parameter *parameter = &state->backward->parameters[most->index];
    parameter->is_constexpr = true;
    parameter->default_text = str_from(most_slices);
    if (bounds) {
        Value *owners = build_trip_count(b, bounds->lower, bounds->upper, bounds->step);
        owners = named(build_binary(b, OP_MAXIMUM, owners, build_int(b, 1)), "owners");
        most = build_trip_count(b, build_int(b, 0), most, owners);
    }
    Value *slices = named(build_binary(b, OP_MINIMUM, programs->count, most), "slices");
    Shares shares = {.first = programs->own, .step = slices};
    if (!bounds) {
        open_if(b, build_binary(b, OP_LT, programs->own, slices));
        return shares;
    }
    shares.first = named(build_binary(b, OP_MOD, programs->own, slices), "slice");
    shares.own = named(build_binary(b, OP_FLOORDIV, programs->own, slices), "group");
    shares.count = named(build_binary(b, OP_FLOORDIV, programs->count, slices), "groups");
    open_if(b, build_binary(b, OP_LT, shares.own, shares.count));
    return shares;
}

/// Opens the loop of owners, where there is one, and says which programs are to be summed in it.
static bool open_owners(Nest *nest, Builder *b, const Programs *programs, Shares *shares) {
    const OwnerPlan *plan = nest->plan;
    Bounds bounds;
    if (plan->loop && !find_bounds(nest, b, &bounds)) return false;
    *shares = (Shares){programs->own, programs->count, build_int(b, 0), build_int(b, 1)};
    if (plan->is_sliced) *shares = slice_up(nest->state, programs, b, plan->loop ? &bounds : NULL);
    if (!plan->loop) return true;
    int64_t number;
    Value *start = build_binary(b, OP_MUL, shares->own, bounds.step);
    bool from_zero = value_is_int(bounds.lower, &number) && number == 0;
    if (!from_zero) start = build_binary(b, OP_ADD, bounds.lower, start);
    Value *stride = build_binary(b, OP_MUL, shares->count, bounds.step);
    Op *loop = open_for(b, start, bounds.upper, stride, &nest->turn);
    const Value *variable = plan->loop->regions[0]->arguments[0];
    nest->turn->type = variable->type;
    nest->turn->name = variable->name;
    loop->range = plan->loop->range;
    loop->note = "the owners: turns of the loop of line";
    find_first(nest, b, &shares->first);
    return true;
}

/// Moves the ops of a region in front of `place`; with a `plan` those alone that are the same for all programs.
static void move_before(Region *region, Op *place, const OwnerPlan *plan) {
    for (Op *op = region->first, *next; op && op->code != OP_YIELD; op = next) {
        next = op->next;
        bool is_alike = plan && op->result_count && (op_is_pure(op) || op->code == OP_LOAD);
        for (int i = 0; i < op->result_count && is_alike; i++)
            is_alike = !owners_differ(plan, op->results[i]);
        if (!plan || is_alike) op_move_before(op, place);
    }
}

/// The statements' loop gives way to the one turn of it that the owner has.
static void inline_loop(Nest *nest) {
    Op *loop = nest->plan->loop;
    if (!loop) return;
    Region *body = loop->regions[0];
    move_before(body, loop, nest->plan);
    region_replace_uses(nest->programs->regions[0], body->arguments[0], nest->turn);
    Builder b = {.function = nest->state->backward,
                 .region = loop->parent,
                 .before = loop,
                 .range = loop->range};
    if (nest->is_guarded) {
        open_if(&b, build_binary(&b, OP_LT, nest->turn, loop->operands[1]));
        nest->guard = b.region->parent;
    }
    move_before(body, b.before, NULL);
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

enum { DEPTH_MAX = 24 };

static bool sum_up(const Nest *nest, int index) {
    Function *function = nest->state->backward;
    Op *statement = nest->plan->statements.items[index]->statement.op;
    Region *path[DEPTH_MAX];
    Value *sums[DEPTH_MAX + 1];
    int depth = 0;
    for (Region *region = statement->parent; region->parent != nest->programs;
         region = region->parent->parent) {
        if (depth == DEPTH_MAX) return false;
        path[depth++] = region;
    }
    sums[depth] = nest->programs->regions[0]->arguments[1 + index];
    for (int i = depth - 1; i >= 0; i--) {
        Op *owner = path[i]->parent;
        sums[i] = sums[i + 1];
        if (owner->code != OP_FOR) continue;
        op_append_operand(function, owner, sums[i + 1]);
        sums[i] = region_add_argument(function, path[i], type_at_run_time(sums[i + 1]->type),
                                      sums[i + 1]->name);
    }
    Builder b = {.function = function,
                 .region = statement->parent,
                 .before = statement,
                 .range = statement->range};
    Value *term = statement->operands[1], *sum = build_binary(&b, OP_ADD, sums[0], term);
    sum = hand_out(nest, statement->parent, sum, sums);
    op_append_operand(function, region_terminator(nest->programs->regions[0]), sum);
    return true;
}

/// Puts what the backward does into the loop of programs.
static void move_in(const Nest *nest, Op *const *ops, int count) {
    Op *end = region_terminator(nest->programs->regions[0]);
    for (int i = 0; i < count; i++) op_move_before(ops[i], end);
}

static void open_sums(const Nest *nest, Builder *outside) {
    Function *function = nest->state->backward;
    Region *body = nest->programs->regions[0];
    for (LIST_EACH(int, i, nest->plan->statements)) {
        const SharedStatement *shared = nest->plan->statements.items[i];
        Value *term = shared->statement.op->operands[1];
        Value *zeros = adjoint_zeros(nest->state, outside, term->type, shared->statement.range);
        Type type = type_at_run_time(zeros->type);
        op_append_operand(function, nest->programs, zeros);
        region_add_argument(function, body, type, term->name);
        op_append_result(function, nest->programs, type)->name = term->name;
        term->name = NULL;  // the sum has it
    }
}

/// The builder moves below the branches that are around a statement. False where they cannot be asked for there.
static bool open_branches(const Nest *nest, Builder *b, const Op *statement, Map *copies) {
    const Op *branches[DEPTH_MAX];
    bool is_else[DEPTH_MAX];
    int depth = 0;
    for (const Region *region = statement->parent; region->parent != nest->programs;
         region = region->parent->parent) {
        const Op *branch = region->parent;
        if (branch->code != OP_IF || branch == nest->guard) continue;
        is_else[depth] = region == branch->regions[1];
        branches[depth++] = branch;
    }
    while (depth--) {
        Value *condition = copied(nest->state, b, branches[depth]->operands[0], copies);
        if (!condition) return false;
        open_if(b, is_else[depth] ? build_unary(b, OP_LOGICAL_NOT, condition) : condition);
    }
    return true;
}

/// Stores what an owner has summed, or adds it to what others have, behind the loop of programs.
static bool store_sums(const Nest *nest) {
    const OwnerPlan *plan = nest->plan;
    const Builder outside = behind(nest->state, nest->programs);
    for (LIST_EACH(int, i, plan->statements)) {
        Op *statement = plan->statements.items[i]->statement.op;
        Builder b = outside;
        Map copies = map_new(plan->arena);
        if (!open_branches(nest, &b, statement, &copies)) return false;
        Value *address = copied(nest->state, &b, statement->operands[0], &copies),
              *mask = copied(nest->state, &b, statement->operands[2], &copies);
        if (!address || (statement->operands[2] && !mask)) return false;
        b.range = statement->range;
        Value *sum = nest->programs->results[i];
        if (plan->is_sliced)
            build(&b, OP_ATOMIC_ADD, (Value *[]){address, sum, mask}, 3);
        else
            build(&b, OP_STORE, (Value *[]){address, sum, mask}, 3);
        op_remove(statement);
    }
    return true;
}

bool owners_take(Differentiation *state, const OwnerPlans *plans, int index) {
    const OwnerPlan *plan = &plans->items[index];
    Function *function = state->backward;
    read_kept(state, plans);
    drop_others(plan, function->body);
    function_drop_dead(function);
    LoopSearch loops = {.plan = plan};
    region_walk(function->body, visit_loop, &loops);
    if (loops.is_other) return false;
    IdSearch ids = {.plan = plan, .arena = state->arena};
    region_walk(function->body, visit_id, &ids);
    LIST(Op *) ops = {0};
    for (Op *op = function->body->first; op; op = op->next)
        if (!is_shared(op)) LIST_PUSH(state->arena, &ops, op);
    Nest nest = {.state = state, .plan = plan, .ids = &ids};
    Builder b = {.function = function, .region = function->body};
    Programs programs = programs_along(&b, plan);
    Shares shares;
    Value *program;
    if (!open_owners(&nest, &b, &programs, &shares)) return false;
    Builder outside = b;
    nest.programs = open_for(&b, shares.first, programs.count, shares.step, &program);
    outside.before = nest.programs;
    open_sums(&nest, &outside);
    move_in(&nest, ops.items, ops.count);
    inline_loop(&nest);
    for (int i = 0; i < plan->statements.count; i++)
        if (!sum_up(&nest, i)) return false;
    if (!store_sums(&nest)) return false;
    program->name = ids.name ? ids.name : "forward_program";
    replace_ids(state, plan, nest.programs->regions[0], &ids, program);
    for (LIST_EACH(int, i, plan->statements)) {
        Gradient *gradient = plan->statements.items[i]->gradient;
        gradient->is_atomic = gradient->is_sum = plan->is_sliced;
        gradient->why =
            arena_printf(state->arena, "%s, in %s parts at most", gradient->why, most_slices);
    }
    return true;
}
