// The bodies of two loops are matched value by value from what they carry out: what is the same in both is made once, operations that are
// alike of operands that differ are made of chosen operands, and the rest is chosen by a branch.
#include "autodiff/joins/joined_loops.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/value_poly.h"
#include "autodiff/joins/known_values.h"
#include "autodiff/joins/whole_steps.h"
#include "autodiff/rewrite/branches.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

/// Values that one pair of loops compares. Beyond: the loops stay two.
enum { MOST_STEPS = 20000, FIRST_CARRIED = 3 };

/// Two loops that are made one.
typedef struct Joining {
    Arena *arena;
    Function *function;
    Op *loops[2];
    Op *branch;       // whose two sides they are in; NULL: the second follows the first
    Builder outside;  // in front of the new loop
    Builder b;        // in its body
    Value *variable;
    Value *condition;  // whether an iteration is one of the first loop
    Map made[2];       // value of a body -> the joined loop's that stands for it
    Map outer[2];      // value of a side of the branch -> the same in front of the new loop
    int left;
    bool failed;
} Joining;

static Value *variable_of(const Joining *join, int side) {
    return join->loops[side]->regions[0]->arguments[0];
}

static bool is_inside(const Joining *join, int side, const Value *value) {
    return region_defines(join->loops[side]->regions[0], value);
}

/* ---- what is the same in both ---- */

static const Poly *with_variable(const Joining *join, int side, const Poly *number) {
    return poly_substitute(join->arena, number, variable_of(join, side),
                           poly_atom(join->arena, join->variable));
}

static bool numbers_are_equal(const Joining *join, const Poly *x, const Poly *z) {
    return poly_equal(with_variable(join, 0, x), with_variable(join, 1, z));
}

static bool forms_are_equal(const Joining *join, const Affine *x, const Affine *z) {
    bool same = x->known && z->known && !x->wrapped && !z->wrapped && x->rank == z->rank &&
                numbers_are_equal(join, x->base, z->base);
    for (int i = 0; same && i < x->rank; i++)
        same = numbers_are_equal(join, x->lane[i], z->lane[i]);
    return same;
}

static bool is_integer(const Value *value) {
    return value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element);
}

static bool constants_are_equal(const Value *x, const Value *z) {
    double a, b;
    if (value_is_none(x) && value_is_none(z)) return true;
    return value_is_number(x, &a) && value_is_number(z, &b) && a == b;
}

static Value *common(Joining *join, Value *x, Value *z);

static Value *note(Joining *join, Value *x, Value *z, Value *made) {
    map_set_pointer(&join->made[0], x, made);
    map_set_pointer(&join->made[1], z, made);
    return made;
}

/// A value of a side as it is in front of the new loop.
static Value *outside_value(Joining *join, int side, Value *value) {
    if (!join->branch || !region_defines(join->branch->regions[side], value)) return value;
    Value *copy = value_copied(&join->outside, value, &join->outer[side]);
    join->failed |= !copy;
    return copy ? copy : value;
}

typedef struct CopyPlace {
    Joining *join;
    Builder *b;
    int side;
    Map *values;
} CopyPlace;

static Value *copied(Joining *join, Builder *b, int side, Value *value, Map *values);

static bool copy_captured(void *context, Value *value) {
    const CopyPlace *into = context;
    Value *copy = copied(into->join, into->b, into->side, value, into->values);
    if (copy) map_set_pointer(into->values, value, copy);
    return copy != NULL;
}

/// A value of one body at the builder's place, in terms of `values`. NULL where it is made of more than operations without effects.
static Value *copied(Joining *join, Builder *b, int side, Value *value, Map *values) {
    if (!value) return NULL;
    Value *known = map_get_pointer(values, value);
    if (!known) known = map_get_pointer(&join->made[side], value);
    if (known) return known;
    if (!is_inside(join, side, value)) return outside_value(join, side, value);
    const Op *op = value->op;
    CopyPlace into = {join, b, side, values};
    bool is_apart =
        op && op->code == OP_LOAD && b->region != join->b.region;  // a branch loads nothing
    bool can_be = op && !is_apart && join->left-- > 0 &&
                  (op->code == OP_IF || op_is_stable_load(join->function, op) ||
                   (op_is_pure(op) && !op->region_count));
    if (!can_be || !op_walk_captured(op, copy_captured, &into)) {
        join->failed = true;
        return NULL;
    }
    op_clone(b, op, values);
    return value_mapped(values, value);
}

/// What is the same in both bodies, made of the first.
static Value *made_of_first(Joining *join, Value *x, Value *z) {
    Map values = map_new(join->arena);
    Value *made = copied(join, &join->b, 0, x, &values);
    return made ? note(join, x, z, made) : NULL;
}

static Value *op_in_common(Joining *join, Value *x, Value *z, const Op *a, const Op *b,
                           bool is_load) {
    Map values = map_new(join->arena);
    for (int i = 0; i < a->operand_count; i++) {
        if (!a->operands[i] || (i == 0 && is_load)) continue;
        Value *operand = common(join, a->operands[i], b->operands[i]);
        if (!operand) return NULL;
        map_set_pointer(&values, a->operands[i], operand);
    }
    if (is_load) {
        Value *address = copied(join, &join->b, 0, a->operands[0], &values);
        if (!address) return NULL;
        map_set_pointer(&values, a->operands[0], address);
    }
    op_clone(&join->b, a, &values);
    return note(join, x, z, value_mapped(&values, x));
}

static bool loads_are_alike(Joining *join, Op *a, Op *b) {
    if (!op_is_stable_load(join->function, a) || !op_is_stable_load(join->function, b))
        return false;
    Access x = access_of(join->arena, a), z = access_of(join->arena, b);
    return x.parameter && x.parameter == z.parameter && forms_are_equal(join, &x.offset, &z.offset);
}

/// The value that stands for both, or NULL where they are not known to be the same.
static Value *common(Joining *join, Value *x, Value *z) {
    if (!x || !z || join->left-- <= 0) return NULL;
    Value *made = map_get_pointer(&join->made[0], x);
    if (made && made == map_get_pointer(&join->made[1], z)) return made;
    if (x == z && !is_inside(join, 0, x)) return x;
    if (!type_equal(x->type, z->type)) return NULL;
    if (constants_are_equal(x, z)) return x;
    if (x->constant || z->constant) return NULL;
    if (is_integer(x)) {
        Affine a = affine_of(join->arena, x), b = affine_of(join->arena, z);
        if (forms_are_equal(join, &a, &b)) return made_of_first(join, x, z);
    }
    Op *a = x->op, *b = z->op;
    if (!a || !b || a->code != b->code || x->index != z->index || a->region_count ||
        b->region_count || a->operand_count != b->operand_count || a->keyword_count ||
        b->keyword_count)
        return NULL;
    for (int i = 0; i < a->operand_count; i++)
        if (!a->operands[i] != !b->operands[i]) return NULL;
    bool is_load = a->code == OP_LOAD;
    if (is_load ? !loads_are_alike(join, a, b) : !op_is_pure(a)) return NULL;
    return op_in_common(join, x, z, a, b, is_load);
}

/* ---- what differs ---- */

static Op *open_branch(Builder *b, Value *condition, Builder inner[2]) {
    Op *branch = op_append(b, OP_IF, &condition, 1, 0);
    for (int side = 0; side < 2; side++) {
        inner[side] = *b;
        inner[side].region = op_add_region(b, branch);
        inner[side].before = NULL;
    }
    return branch;
}

static Value *close_branch(Joining *join, Op *branch, Builder inner[2], Value *const ends[2],
                           const Value *like) {
    for (int side = 0; side < 2; side++) {
        Value *end = ends[side];
        op_append(&inner[side], OP_YIELD, &end, 1, 0);
    }
    Type type = like->type;
    type.is_constexpr = false;
    Value *result = op_append_result(join->function, branch, type);
    result->name = like->name;
    return result;
}

/// Where a body chooses itself, and one way is what the other body has: `if flag: if condition: ...`.
static Value *nested_choice(Joining *join, Value *x, Value *z, int side) {
    Value *both[2] = {x, z};
    const Op *own = both[side]->op;
    if (!own || own->code != OP_IF || !is_inside(join, side, both[side])) return NULL;
    for (int way = 0; way < 2; way++) {
        Value *end = region_terminator(own->regions[way])->operands[both[side]->index];
        Value *same = side == 0 ? common(join, end, z) : common(join, x, end);
        if (!same) continue;
        Map values = map_new(join->arena);
        Value *condition = copied(join, &join->b, side, own->operands[0], &values);
        if (!condition) return NULL;
        map_set_pointer(&join->made[side], own->operands[0], condition);
        Builder outer[2], inner[2];
        Op *flag = open_branch(&join->b, join->condition, outer);
        Op *branch = open_branch(&outer[side], condition, inner);
        Value *ends[2] = {same, same}, *sides[2] = {same, same};
        end = region_terminator(own->regions[1 - way])->operands[both[side]->index];
        ends[1 - way] = copied(join, &inner[1 - way], side, end, &values);
        if (!ends[1 - way]) return NULL;
        sides[side] = close_branch(join, branch, inner, ends, both[side]);
        return note(join, x, z, close_branch(join, flag, outer, sides, both[side]));
    }
    return NULL;
}

/// One of two values, by a branch.
static Value *choice(Joining *join, Value *x, Value *z) {
    Value *both[2] = {x, z};
    for (int side = 0; side < 2; side++) {
        Value *nested = nested_choice(join, x, z, side);
        if (nested || join->failed) return nested;
    }
    Builder inner[2];
    Op *branch = open_branch(&join->b, join->condition, inner);
    Value *ends[2];
    for (int side = 0; side < 2; side++) {
        Map values = map_new(join->arena);
        ends[side] = copied(join, &inner[side], side, both[side], &values);
        if (!ends[side]) return NULL;
    }
    return note(join, x, z, close_branch(join, branch, inner, ends, x->name ? x : z));
}

/// Whether both are the same operation, on operands of the same types.
static bool are_alike(const Value *x, const Value *z) {
    const Op *a = x->op, *b = z->op;
    bool alike = a && b && a->code == b->code && x->index == z->index && a->result_count == 1 &&
                 !a->region_count && op_is_pure(a) && a->operand_count == b->operand_count &&
                 !a->keyword_count && !b->keyword_count && a->operand_count > 0;
    for (int i = 0; alike && i < a->operand_count; i++) {
        const Value *p = a->operands[i], *q = b->operands[i];
        if (!p || !q)
            alike = p == q;
        else
            alike = type_equal(p->type, q->type) &&
                    (p->type.kind == TYPE_NUMBER
                         ? !p->type.is_constexpr || p == q || constants_are_equal(p, q)
                         : p == q || constants_are_equal(p, q));
    }
    return alike;
}

/// The value of the joined loop that is `x` in the iterations of the first, and `z` in those of the second.
static Value *joined(Joining *join, Value *x, Value *z) {
    Value *same = common(join, x, z);
    if (same || join->failed || join->left <= 0) return join->failed ? NULL : same;
    if (!type_equal(x->type, z->type) || x->type.kind != TYPE_NUMBER) {
        join->failed = true;
        return NULL;
    }
    if (!are_alike(x, z) || !is_inside(join, 0, x) || !is_inside(join, 1, z))
        return choice(join, x, z);
    Map values = map_new(join->arena);
    for (int i = 0; i < x->op->operand_count; i++) {
        if (!x->op->operands[i]) continue;
        Value *operand = joined(join, x->op->operands[i], z->op->operands[i]);
        if (!operand) return NULL;
        map_set_pointer(&values, x->op->operands[i], operand);
    }
    op_clone(&join->b, x->op, &values);
    return note(join, x, z, value_mapped(&values, x));
}

/* ---- the loop ---- */

static bool visit_effect(void *context, Op *op) {
    bool *acts = context;
    bool is_harmless = op->code == OP_YIELD || op->code == OP_IF || op_is_pure(op) ||
                       (op->code == OP_LOAD && !op->keyword_count);
    *acts = *acts || !is_harmless;
    return !*acts;
}

static bool acts(const Region *region) {
    bool found = false;
    region_walk(region, visit_effect, &found);
    return found;
}

/// A bound that the flag chooses.
static Value *bound(Joining *join, int index) {
    Value *both[2];
    for (int side = 0; side < 2; side++)
        both[side] = outside_value(join, side, join->loops[side]->operands[index]);
    if (join->failed) return NULL;
    if (both[0] == both[1] ||
        poly_equal(value_poly(join->arena, both[0]), value_poly(join->arena, both[1])))
        return both[0];
    Builder *b = &join->outside;
    Op *branch = op_append(b, OP_IF, &join->branch->operands[0], 1, 0);
    for (int side = 0; side < 2; side++) {
        Builder inner = {.function = join->function, .region = op_add_region(b, branch)};
        op_append(&inner, OP_YIELD, &both[side], 1, 0);
    }
    Type type = join->loops[0]->operands[index]->type;
    type.is_constexpr = false;
    type.element = dtype_of(DTYPE_INT32);
    Value *result = op_append_result(join->function, branch, type);
    result->name = index == 1 ? "end" : "start";
    return result;
}

/// For each value that the first loop carries, that of the second which goes on with it, or is given in its place.
typedef struct CarriedPair {
    int first, second;
    Value *result;  // of the second, or of the branch
} CarriedPair;

typedef LIST(CarriedPair) CarriedList;

static bool open_loop(Joining *join, const CarriedList *carried) {
    Op *first = join->loops[0], *second = join->loops[1];
    Value *operands[FIRST_CARRIED] = {first->operands[0], second->operands[1], first->operands[2]};
    if (join->branch) {
        for (int i = 0; i < FIRST_CARRIED; i++) operands[i] = bound(join, i);
        if (!operands[0] || !operands[1] || !operands[2]) return false;
    }
    Op *loop = op_append(&join->outside, OP_FOR, operands, FIRST_CARRIED, 0);
    loop->range = first->range;
    loop->keywords = first->keywords;
    loop->keyword_count = first->keyword_count;
    Region *body = op_add_region(&join->outside, loop);
    join->outside.before = loop;
    const Value *own = variable_of(join, 0);
    join->variable = region_add_argument(join->function, body, own->type, own->name);
    join->b = (Builder){.function = join->function, .region = body, .range = first->range};
    for (LIST_EACH(int, i, *carried)) {
        const CarriedPair *one = &carried->items[i];
        Value *start = outside_value(join, 0, first->operands[FIRST_CARRIED + one->first]);
        Value *argument = first->regions[0]->arguments[1 + one->first];
        op_append_operand(join->function, loop, start);
        Value *made = region_add_argument(join->function, body, argument->type, argument->name);
        note(join, argument, second->regions[0]->arguments[1 + one->second], made);
        op_append_result(join->function, loop, argument->type)->name = argument->name;
    }
    note(join, variable_of(join, 0), variable_of(join, 1), join->variable);
    join->condition = join->branch
                          ? join->branch->operands[0]
                          : build_binary(&join->b, OP_LT, join->variable, first->operands[1]);
    return !join->failed;
}

/// What both bodies load, and the products that both make of it: a branch computes with these, too.
static void pair_products(Joining *join) {
    for (Op *x = join->loops[0]->regions[0]->first; x; x = x->next) {
        if (x->code != OP_LOAD && !op_is_product(x->code)) continue;
        for (Op *z = join->loops[1]->regions[0]->first; z; z = z->next)
            if (z->code == x->code && common(join, x->results[0], z->results[0])) break;
    }
}

static bool join_bodies(Joining *join, const CarriedList *carried) {
    if (!open_loop(join, carried)) return false;
    pair_products(join);
    Op *loop = join->variable->region->parent;
    Value **next = ARENA_ARRAY(join->arena, Value *, carried->count + 1);
    for (LIST_EACH(int, i, *carried)) {
        next[i] = joined(
            join, region_terminator(join->loops[0]->regions[0])->operands[carried->items[i].first],
            region_terminator(join->loops[1]->regions[0])->operands[carried->items[i].second]);
        if (!next[i]) return false;
    }
    op_append(&join->b, OP_YIELD, next, carried->count, 0);
    for (LIST_EACH(int, i, *carried))
        region_replace_uses(join->function->body, carried->items[i].result, loop->results[i]);
    return true;
}

/// Both loops as one, or the function as it was.
static bool join_pair(Joining *join, const CarriedList *carried) {
    if (acts(join->loops[0]->regions[0]) || acts(join->loops[1]->regions[0])) return false;
    if (join_bodies(join, carried)) return true;
    if (join->variable) op_remove(join->variable->region->parent);
    return false;
}

static Joining joining_of(Differentiation *state, Op *first, Op *second, Op *branch) {
    Op *place = branch ? branch : second;
    Joining join = {.arena = state->arena,
                    .function = state->primal,
                    .loops = {first, second},
                    .branch = branch,
                    .left = MOST_STEPS};
    join.outside = (Builder){
        .function = state->primal, .region = place->parent, .before = place, .range = first->range};
    for (int side = 0; side < 2; side++) {
        join.made[side] = map_new(state->arena);
        join.outer[side] = map_new(state->arena);
    }
    return join;
}

/* ---- one behind the other ---- */

static bool is_of_parameters(const Function *function, const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++) {
            const Value *atom = number->terms[t].atoms[i];
            if (atom->op || atom->region != function->body ||
                !function->parameters[atom->index].is_constexpr)
                return false;
        }
    return true;
}

/// A constexpr block size of which the number is a multiple, whatever the rest of it is; or NULL.
static Value *block_within(Arena *arena, const Function *function, const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++) {
            Value *atom = number->terms[t].atoms[i];
            const Poly *block = poly_atom(arena, atom);
            if (is_of_parameters(function, block) && poly_divide_exact(arena, number, block))
                return atom;
        }
    return NULL;
}

/// Whether the second loop begins at the place where the first, of whole steps, ends; noted where it rests on block sizes.
static bool is_continued(Differentiation *state, const Op *first, const Op *second) {
    Arena *arena = state->arena;
    const Poly *step = value_poly(arena, first->operands[2]),
               *middle = value_poly(arena, first->operands[1]);
    if (!poly_equal(step, value_poly(arena, second->operands[2])) ||
        !poly_equal(middle, value_poly(arena, second->operands[0])))
        return false;
    const Poly *length = poly_subtract(arena, middle, value_poly(arena, first->operands[0]));
    if (poly_is_zero(length)) return false;
    if (poly_divide_exact(arena, length, step)) return true;
    Value *block = block_within(arena, state->primal, length);
    Value *by = first->operands[2];
    if (!block || !is_of_parameters(state->primal, step) || by->op || !by->region ||
        multiple_is_broken_by_launch(state->primal, block, by))
        return false;
    Multiple rests_on = {state->primal->parameters[block->index].name,
                         state->primal->parameters[by->index].name};
    LIST_PUSH(arena, &state->joins.multiples, rests_on);
    return true;
}

static bool join_following(Differentiation *state, const Map *readers, Op *second) {
    Op *first = NULL;
    for (int i = FIRST_CARRIED; i < second->operand_count && !first; i++) {
        Op *op = second->operands[i]->op;
        if (op && op->code == OP_FOR && op->parent == second->parent) first = op;
    }
    if (!first) return false;
    CarriedList carried = {0};
    for (int j = 0; j < second->result_count; j++) {
        const Value *start = second->operands[FIRST_CARRIED + j];
        if (start->op != first) return false;
        LIST_PUSH(state->arena, &carried, (CarriedPair){start->index, j, second->results[j]});
    }
    for (int i = 0; i < first->result_count; i++) {
        const OpList *list = value_readers(readers, first->results[i]);
        for (LIST_EACH(int, k, *list))
            if (list->items[k] != second) return false;
    }
    int known = state->joins.multiples.count;
    Joining join = joining_of(state, first, second, NULL);
    if (carried.count == first->result_count && is_continued(state, first, second) &&
        join_pair(&join, &carried))
        return true;
    state->joins.multiples.count = known;
    return false;
}

/* ---- in two branches of a flag ---- */

static Op *only_loop(const Region *region) {
    Op *loop = NULL;
    for (Op *op = region->first; op; op = op->next) {
        if (op->code == OP_YIELD || op_is_pure(op)) continue;
        if (op->code != OP_FOR || loop) return NULL;
        loop = op;
    }
    return loop;
}

/// The branches give nothing but what their loops carry out.
static bool gives_loops_alone(const Op *branch, Op *const loops[2], Arena *arena,
                              CarriedList *carried) {
    for (int i = 0; i < branch->result_count; i++) {
        const Value *ends[2];
        for (int side = 0; side < 2; side++) {
            ends[side] = region_terminator(branch->regions[side])->operands[i];
            if (ends[side]->op != loops[side]) return false;
        }
        LIST_PUSH(arena, carried,
                  (CarriedPair){ends[0]->index, ends[1]->index, branch->results[i]});
    }
    return carried->count == loops[0]->result_count && carried->count == loops[1]->result_count;
}

static bool starts_are_equal(const Joining *join, const CarriedList *carried) {
    for (LIST_EACH(int, i, *carried)) {
        const Value *x = join->loops[0]->operands[FIRST_CARRIED + carried->items[i].first],
                    *z = join->loops[1]->operands[FIRST_CARRIED + carried->items[i].second];
        if (x != z && !constants_are_equal(x, z)) return false;
    }
    return true;
}

static bool join_branches(Differentiation *state, Op *branch) {
    if (!branch->operands[0]->type.is_constexpr || !branch->result_count) return false;
    Op *loops[2] = {only_loop(branch->regions[0]), only_loop(branch->regions[1])};
    CarriedList carried = {0};
    if (!loops[0] || !loops[1] || !gives_loops_alone(branch, loops, state->arena, &carried))
        return false;
    Joining join = joining_of(state, loops[0], loops[1], branch);
    return starts_are_equal(&join, &carried) && join_pair(&join, &carried);
}

/* ---- one of them in a branch ---- */

/// The loop in front of a constexpr branch that alone reads what it carries out: in one side a loop goes on with it.
static Op *continued_loop(const Map *readers, const Op *branch, const Op *second) {
    Op *first = NULL;
    for (int i = FIRST_CARRIED; i < second->operand_count && !first; i++) {
        Op *op = second->operands[i]->op;
        if (op && op->code == OP_FOR && op->parent == branch->parent) first = op;
    }
    for (int i = 0; first && i < first->result_count; i++) {
        const OpList *list = value_readers(readers, first->results[i]);
        for (LIST_EACH(int, k, *list)) {
            const Region *at = list->items[k]->parent;
            while (at && at->parent != branch) at = at->parent ? at->parent->parent : NULL;
            if (!at) return NULL;
        }
    }
    return first;
}

/// What a number is on a side of the branch, where a branch on the same flag chose it.
static Value *number_on_side(const Op *branch, int side, Value *number) {
    const Op *chosen = number->op;
    if (!chosen || chosen->code != OP_IF || chosen->operands[0] != branch->operands[0])
        return number;
    Value *own = region_terminator(chosen->regions[side])->operands[number->index];
    return region_defines(chosen->regions[side], own) ? number : own;
}

/// A loop, and a branch of a flag in which another goes on with what it carried: both sides of the flag get the first loop.
static bool move_into_branch(Differentiation *state, const Map *readers, Op *branch) {
    Op *first = NULL;
    if (!branch->operands[0]->type.is_constexpr) return false;
    for (int side = 0; side < 2 && !first; side++)
        for (Op *op = branch->regions[side]->first; op && !first; op = op->next)
            if (op->code == OP_FOR) first = continued_loop(readers, branch, op);
    if (!first || acts(first->regions[0])) return false;
    for (int side = 0; side < 2; side++) {
        Region *region = branch->regions[side];
        Builder b = {.function = state->primal,
                     .region = region,
                     .before = region->first,
                     .range = first->range,
                     .call = first->call};
        Map values = map_new(state->arena);
        for (int i = 0; i < FIRST_CARRIED; i++)
            map_set_pointer(&values, first->operands[i],
                            number_on_side(branch, side, first->operands[i]));
        op_clone(&b, first, &values);
        for (int i = 0; i < first->result_count; i++)
            region_replace_uses(region, first->results[i],
                                map_get_pointer(&values, first->results[i]));
    }
    op_remove(first);
    return true;
}

/* ---- where ---- */

typedef struct JoinSearch {
    Arena *arena;
    OpList loops, branches;
} JoinSearch;

static bool visit(void *context, Op *op) {
    JoinSearch *search = context;
    if (op->code == OP_FOR && op->result_count) LIST_PUSH(search->arena, &search->loops, op);
    if (op->code == OP_IF) LIST_PUSH(search->arena, &search->branches, op);
    return true;
}

static bool join_one(Differentiation *state) {
    JoinSearch search = {.arena = state->arena};
    Map readers = function_readers(state->arena, state->primal);
    region_walk(state->primal->body, visit, &search);
    for (LIST_EACH(int, i, search.loops))
        if (join_following(state, &readers, search.loops.items[i])) return true;
    for (LIST_EACH(int, i, search.branches))
        if (join_branches(state, search.branches.items[i])) return true;
    for (LIST_EACH(int, i, search.branches))
        if (move_into_branch(state, &readers, search.branches.items[i])) return true;
    return false;
}

void loops_join(Differentiation *state) {
    JoinSearch search = {.arena = state->arena};
    region_walk(state->primal->body, visit, &search);
    if (search.loops.count < 2) return;
    known_values_settle(state);
    function_drop_dead(state->primal);
    while (join_one(state)) {
        function_drop_dead(state->primal);
        function_join_branches(state->primal);
        state->joins.any = true;
    }
}

static Value *parameter_named(const Function *function, const char *name) {
    for (int p = 0; p < function->parameter_count; p++)
        if (!strcmp(function->parameters[p].name, name)) return function->parameters[p].value;
    return NULL;
}

static void add_assertion(Builder *b, Value *condition, const char *message) {
    Value *operands[] = {condition, build_string(b, message)};
    while (b->before && op_stays_at_start(b->before)) b->before = b->before->next;
    op_append(b, OP_STATIC_ASSERT, operands, 2, 0);
}

static void assert_values(Builder *b, const KnownValues *known) {
    Value *parameter = parameter_named(b->function, known->name), *either[2];
    if (!parameter) return;
    for (int i = 0; i < 2; i++)
        either[i] = build_binary(b, OP_EQ, parameter, build_int(b, known->values[i]));
    add_assertion(b, build_binary(b, OP_LOGICAL_OR, either[0], either[1]),
                  arena_printf(b->function->arena, "this backward is for %s %lld and %lld alone",
                               known->name, (long long)known->values[0],
                               (long long)known->values[1]));
}

static void assert_multiple(Builder *b, const Multiple *multiple) {
    Value *size = parameter_named(b->function, multiple->size),
          *of = parameter_named(b->function, multiple->of);
    if (!size || !of) return;
    Value *rest = build_binary(b, OP_MOD, size, of);
    add_assertion(b, build_binary(b, OP_EQ, rest, build_int(b, 0)),
                  arena_printf(b->function->arena, "%s has to be a multiple of %s", multiple->size,
                               multiple->of));
}

static void assert_parts(Builder *b, const BlockParts *parts) {
    Value *whole = parameter_named(b->function, parts->whole),
          *part = parameter_named(b->function, parts->part),
          *count = parameter_named(b->function, parts->count ? parts->count : "");
    if (!parts->is_used || !whole || !part || (parts->count && !count)) return;
    Value *least = count ? build_binary(b, OP_MUL, count, part) : part;
    if (parts->times != 1) least = build_binary(b, OP_MUL, build_int(b, parts->times), least);
    const char *times = parts->count
                            ? parts->count
                            : arena_printf(b->function->arena, "%lld", (long long)parts->times);
    add_assertion(b, build_binary(b, OP_GE, whole, least),
                  arena_printf(b->function->arena, "%s has to have room for %s times %s",
                               parts->whole, times, parts->part));
}

static void assert_equal(Builder *b, const Multiple *equal) {
    Value *size = parameter_named(b->function, equal->size),
          *of = parameter_named(b->function, equal->of);
    if (!size || !of) return;
    add_assertion(b, build_binary(b, OP_EQ, size, of),
                  arena_printf(b->function->arena,
                               "%s has to equal %s, as blocks are stored with their mirror images",
                               equal->size, equal->of));
}

void joined_loops_assert(Differentiation *state) {
    Function *function = state->backward;
    Builder b = {.function = function, .region = function->body, .before = function->body->first};
    for (LIST_EACH(int, i, state->joins.values)) assert_values(&b, &state->joins.values.items[i]);
    for (LIST_EACH(int, i, state->joins.multiples))
        assert_multiple(&b, &state->joins.multiples.items[i]);
    for (int i = 0; i < function->part_count; i++) assert_parts(&b, &function->parts[i]);
    for (LIST_EACH(int, i, state->stores.equals)) assert_equal(&b, &state->stores.equals.items[i]);
}
